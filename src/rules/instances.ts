import { type ModGroup, type Opcode, type Slot, slotWidth } from '../ir/opcode.ts';
import { TextError } from '../ir/text-error.ts';
import { elaborate } from '../isa/lang/elaborate.ts';
import type { Graph } from '../isa/lang/graph.ts';
import type { Assign, Expr } from '../isa/lang/parse.ts';
import { floatTypeOf } from '../isa/meaning.ts';
import type { Instance, RuleIssue, Source, Variable } from './rule.ts';

/**
 * How the value of a modifier group of a line is chosen: fixed by the text, equal to a modifier variable, or looked up in a table. `open`:
 * the text does not mention the group, which decides widths; any value under which the widths agree is taken.
 */
export type ModDraft =
  | { readonly k: 'fixed'; readonly index: number }
  | { readonly k: 'open' }
  | { readonly k: 'var'; readonly name: string }
  | { readonly k: 'map'; readonly table: string; readonly name: string };

/** A line of a rule with its variables resolved. `op` is null for the root `*`. */
export interface LineDraft {
  readonly op: Opcode | null;
  readonly dst: readonly number[];
  readonly src: readonly Source[];
  readonly mods: readonly ModDraft[];
  readonly text: string;
}

/** A rule whose lines are resolved, but whose modifiers are not yet chosen. */
export interface Draft {
  readonly vars: readonly Variable[];
  readonly match: readonly LineDraft[];
  readonly rewrite: readonly LineDraft[];
  readonly tables: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly condition: Expr | null;
  /** Expressions of computed sources. */
  readonly outputs: readonly Expr[];
}

interface Fault {
  readonly field: RuleIssue['field'];
  readonly code: string;
  readonly message: string;
  readonly notes: readonly string[];
}

/** Maximum number of modifier choices of a rule: with more, it could be neither proved nor understood. */
const MOST_CHOICES = 4096;
/** Maximum number of search steps, most of which end where widths disagree or a table has no entry. They take about a second. */
const MOST_STEPS = 2 ** 22;
/** Remaining search steps. */
interface Effort {
  left: number;
}
/** Width of an address offset, and of its base, if the pattern gives no width. */
const ADDRESS_WIDTH = 64;

/**
 * State of the search: by variable, its width in bits (0: unknown) and how it is read (float type or 'integer'); the variables that are
 * read in several ways; the values of modifier variables.
 */
interface Choice {
  readonly widths: number[];
  readonly readings: (string | null)[];
  readonly plain: Set<number>;
  readonly names: Map<string, string>;
}

/**
 * Enumerates the choices of modifiers of a rule and keeps those under which all widths agree and the condition is satisfiable as far as
 * constant folding can tell.
 * @returns the instances, and the fault to report if there are none
 */
export function enumerate(d: Draft): { instances: Instance[]; fault: Fault } {
  const instances: Instance[] = [];
  let fault: Fault = {
    field: 'match',
    code: 'rule-width',
    message: 'no choice of modifiers makes the widths agree',
    notes: d.match.map((l) => `  ${l.text}`),
  };
  let tried = 0;
  const effort: Effort = { left: MOST_STEPS };

  const finish = (mods: number[], c: Choice): void => {
    const r = complete(d, mods, c, effort);
    if ('fault' in r) fault = r.fault;
    else instances.push(r);
  };

  const overMatch = (line: number, mods: number[], c: Choice): void => {
    if (tried > MOST_CHOICES) return;
    if (line === d.match.length) {
      tried++;
      finish(mods, c);
      return;
    }
    for (const m of choicesOf(d.match[line], c, d.tables, effort)) {
      if (tried > MOST_CHOICES) return;
      const next = copy(c, m.names);
      if (agree(d.match[line], m.mods, next) === null) overMatch(line + 1, [...mods, m.mods], next);
    }
  };
  overMatch(0, [], nothingKnown(d));
  if (tried > MOST_CHOICES || effort.left <= 0)
    return {
      instances: [],
      fault: {
        ...fault,
        code: 'rule-modifier',
        message: `more than ${MOST_CHOICES} choices of modifiers`,
        notes: ['fix some of them, or split the rule'],
      },
    };
  return { instances, fault };
}

/** The instance for the given modifier words of the matched lines; null if widths disagree or the condition cannot hold. */
export function instanceOf(d: Draft, mods: readonly number[]): Instance | null {
  let c = nothingKnown(d);
  for (let i = 0; i < d.match.length; i++) {
    const names = namesFor(d.match[i], mods[i], c, d.tables);
    if (names === null) return null;
    c = copy(c, names);
    if (agree(d.match[i], mods[i], c) !== null) return null;
  }
  const r = complete(d, mods, c, { left: MOST_STEPS });
  return 'fault' in r ? null : r;
}

const nothingKnown = (d: Draft): Choice => ({
  widths: d.vars.map(() => 0),
  readings: d.vars.map(() => null),
  plain: new Set(),
  names: new Map(),
});

/** The values of modifier variables after a line with the given modifier word; null if the line does not match that word. */
function namesFor(
  line: LineDraft,
  mods: number,
  c: Choice,
  tables: Draft['tables'],
): Map<string, string> | null {
  if (line.op === null) return c.names;
  let { names } = c;
  for (let g = 0; g < line.op.groups.length; g++) {
    const group: ModGroup = line.op.groups[g];
    const index = (mods >>> group.shift) & group.mask;
    const { name } = group.values[index];
    const m = line.mods[g];
    if (m.k === 'fixed' && m.index !== index) return null;
    if (m.k === 'map' && tables[m.table]?.[names.get(m.name) ?? ''] !== name) return null;
    if (m.k !== 'var') continue;
    const known = names.get(m.name);
    if (known === undefined) names = new Map(names).set(m.name, name);
    else if (known !== name) return null;
  }
  return names;
}

/** Completes an instance: chooses the modifiers of the rewrite and elaborates the condition and the computed constants. */
function complete(d: Draft, mods: readonly number[], c: Choice, effort: Effort): Instance | { fault: Fault } {
  const r = chooseRewrite(d, c, effort);
  if ('fault' in r) return r;
  try {
    const constants = constantsOf(d, r.choice, r.outputWidths);
    const first = constants.nodes[constants.dsts[0]];
    if (first.op === 'const' && first.value === 0n)
      return {
        fault: { field: 'when', code: 'rule-condition', message: 'the condition never holds', notes: [] },
      };
    return {
      match: mods,
      rewrite: r.mods,
      widths: r.choice.widths,
      plain: [...r.choice.plain],
      modNames: [...c.names.values()],
      constants,
      always: first.op === 'const',
    };
  } catch (e) {
    if (!(e instanceof TextError)) throw e;
    const field = d.condition === null ? 'rewrite' : 'when';
    return { fault: { field, code: 'rule-expression', message: e.message, notes: e.notes } };
  }
}

const copy = (c: Choice, names: Map<string, string>): Choice => ({
  widths: [...c.widths],
  readings: [...c.readings],
  plain: new Set(c.plain),
  names,
});

/** Every choice of the modifiers of a line that is consistent with earlier choices, until no steps are left. */
function* choicesOf(
  line: LineDraft,
  c: Choice,
  tables: Draft['tables'],
  effort: Effort,
): Generator<{ mods: number; names: Map<string, string> }> {
  const { op } = line;
  if (op === null) {
    yield { mods: 0, names: c.names };
    return;
  }
  const walk = function* (
    g: number,
    mods: number,
    names: Map<string, string>,
  ): Generator<{ mods: number; names: Map<string, string> }> {
    if (effort.left <= 0) return;
    effort.left--;
    if (g === op.groups.length) {
      yield { mods: mods >>> 0, names };
      return;
    }
    const group = op.groups[g];
    const m = line.mods[g];
    const set = (index: number) => mods | (index << group.shift);
    switch (m.k) {
      case 'fixed':
        yield* walk(g + 1, set(m.index), names);
        return;
      case 'open':
        for (let i = 0; i < group.values.length; i++) yield* walk(g + 1, set(i), names);
        return;
      case 'map': {
        const to = tables[m.table]?.[names.get(m.name) ?? ''];
        const i = group.values.findIndex((v) => v.name === to);
        if (i >= 0) yield* walk(g + 1, set(i), names);
        return;
      }
      case 'var': {
        const known = names.get(m.name);
        for (let i = 0; i < group.values.length; i++) {
          const { name } = group.values[i];
          if (known !== undefined && known !== name) continue;
          yield* walk(g + 1, set(i), known !== undefined ? names : new Map(names).set(m.name, name));
        }
      }
    }
  };
  yield* walk(0, 0, c.names);
}

/** Records widths and readings of a line's variables; returns a message if a width contradicts an earlier one. */
function agree(line: LineDraft, mods: number, c: Choice): string | null {
  const { op } = line;
  const see = (v: number, width: number): string | null => {
    if (c.widths[v] === 0) c.widths[v] = width;
    return width === 0 || c.widths[v] === width ? null : `${c.widths[v]} and ${width} bits`;
  };
  if (op === null) {
    const a = line.src[0];
    if (a.k !== 'address') return null;
    const base = a.base.k === 'var' ? see(a.base.v, c.widths[a.base.v] || ADDRESS_WIDTH) : null;
    return base ?? (a.offset.k === 'const' ? see(a.offset.v, c.widths[a.offset.v] || ADDRESS_WIDTH) : null);
  }
  for (let i = 0; i < line.dst.length; i++)
    if (line.dst[i] >= 0) {
      const w = see(line.dst[i], slotWidth(op, mods, op.dsts[i]));
      if (w !== null) return w;
    }
  for (let i = 0; i < line.src.length; i++) {
    const s = line.src[i];
    if (s.k !== 'var' && s.k !== 'const') continue;
    const w = see(s.v, slotWidth(op, mods, op.srcs[i]));
    if (w !== null) return w;
    const reading = floatTypeOf(op, mods, i) ?? 'integer';
    if (c.readings[s.v] === null) c.readings[s.v] = reading;
    else if (c.readings[s.v] !== reading) c.plain.add(s.v);
  }
  return null;
}

/** The modifiers of the rewrite: those that are written; for open groups, the first values under which the widths agree. */
function chooseRewrite(
  d: Draft,
  from: Choice,
  effort: Effort,
): { mods: number[]; choice: Choice; outputWidths: number[] } | { fault: Fault } {
  const mods: number[] = [];
  const outputWidths = d.outputs.map(() => 0);
  let c = from;
  for (const line of d.rewrite) {
    let found: Choice | null = null;
    let why = '';
    for (const m of choicesOf(line, c, d.tables, effort)) {
      const next = copy(c, m.names);
      const w = agree(line, m.mods, next);
      if (w !== null) {
        why = w;
        continue;
      }
      found = next;
      mods.push(m.mods);
      break;
    }
    if (found === null)
      return {
        fault: {
          field: 'rewrite',
          code: 'rule-width',
          message: why === '' ? 'no modifiers fit this line' : `widths disagree: ${why}`,
          notes: [`  ${line.text}`],
        },
      };
    c = found;
    line.src.forEach((s, i) => {
      if (s.k === 'computed' && line.op !== null)
        outputWidths[s.x] = slotWidth(line.op, mods[mods.length - 1], line.op.srcs[i]);
      else if (s.k === 'address' && s.offset.k === 'computed') outputWidths[s.offset.x] = ADDRESS_WIDTH;
    });
  }
  return { mods, choice: c, outputWidths };
}

/**
 * Elaborates the condition and the computed constants, as the meaning of a made-up opcode whose sources are the variables.
 * @throws TextError if an expression is ill-typed or reads an operand that is not a constant
 */
function constantsOf(d: Draft, c: Choice, outputWidths: readonly number[]): Graph {
  if (d.condition === null && d.outputs.length === 0) return NO_CONSTANTS;
  const slot = (name: string, width: number): Slot => ({
    name,
    bank: width === 1 ? 'p' : 'r',
    width: width || 32,
    widthFrom: null,
    kinds: 1,
    mods: 0,
    optional: false,
    variadic: false,
    default: null,
  });
  const groups: ModGroup[] = [];
  for (const [name, value] of c.names) {
    const group = groupNamed(d, name);
    if (group === null) continue;
    // The chosen value comes first and so has index 0: no group needs bits of the modifier word.
    const chosen = group.values.filter((v) => v.name === value);
    const values = [...chosen, ...group.values.filter((v) => v.name !== value)];
    groups.push({ ...group, name, values, shift: 0, mask: 0 });
  }
  const op: Opcode = {
    id: -1,
    name: 'rule',
    title: '',
    dsts: [slot('condition holds', 1), ...outputWidths.map((w, x) => slot(`output ${x}`, w))],
    srcs: d.vars.map((v, i) => slot(v.name, c.widths[i])),
    groups,
    modByName: new Map(),
    groupByName: new Map(groups.map((g) => [g.name, g])),
    flags: 0,
    space: null,
    accesses: [],
    unit: '',
    class: 'integer',
    lanes: [],
    special: [],
    observed: null,
    primitive: null,
    means: null,
  };
  const text: Assign[] = [
    { at: 0, name: 'condition holds', value: d.condition ?? { k: 'name', at: 0, name: 'true' } },
    ...d.outputs.map((value, x) => ({ at: 0, name: `output ${x}`, value })),
  ];
  const graph = elaborate(text, { op, mods: 0, srcMods: [], consts: [] });
  const used = new Set<number>();
  const work = [...graph.dsts];
  while (work.length > 0) {
    const id = work.pop()!;
    if (used.has(id)) continue;
    used.add(id);
    const n = graph.nodes[id];
    if (n.op === 'src' && d.vars[n.n].kind !== 'const')
      throw new TextError(`'${d.vars[n.n].name}' is not a constant: its value is not known here`, 0, 1, [
        `write #${d.vars[n.n].name} in the match to ask for a constant`,
      ]);
    work.push(...n.args);
  }
  return graph;
}

/** The graph of a rule without condition and computed constants: its condition is true. */
const NO_CONSTANTS: Graph = {
  nodes: [{ op: 'const', width: 1, args: [], fmt: '', aux: '', n: 0, value: 1n }],
  dsts: [0],
  srcWidths: [],
};

/** The modifier group of the match that a modifier variable stands for. */
function groupNamed(d: Draft, name: string): ModGroup | null {
  for (const l of d.match)
    for (let g = 0; g < l.mods.length; g++) {
      const m = l.mods[g];
      if (m.k === 'var' && m.name === name && l.op !== null) return l.op.groups[g];
    }
  return null;
}
