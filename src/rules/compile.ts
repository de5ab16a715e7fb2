import { nearest } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import { type Isa, type Opcode, OpFlag, type Slot } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import { defaultOperand } from '../ir/text.ts';
import { type Expr, MeaningError } from '../isa/lang/parse.ts';
import { isStatic, isStructural, partsOf, structuralFault } from './conditions.ts';
import { type Draft, enumerate, instanceOf, type LineDraft, type ModDraft } from './instances.ts';
import type { Instance, Line, Rule, RuleBody, RuleIssue, Source, Variable } from './rule.ts';
import { MOST_VARIANTS, orderCount } from './shape.ts';
import { type LineText, type ModText, type OperandText, parseLines, RuleTextError } from './syntax.ts';

/** One document of kind `rules`, already checked against its schema. */
export interface RulesDoc {
  readonly group: string;
  /** Of rules that state none. */
  readonly priority?: number;
  readonly owner?: readonly string[];
  readonly tables?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly when?: string;
  readonly rules: readonly {
    readonly id: string;
    readonly title: string;
    readonly match: string;
    readonly rewrite: string;
    readonly when?: string;
    readonly owner?: readonly string[];
    readonly priority?: number;
    readonly cost?: number;
    readonly holds?: string;
    readonly inexact?: string;
    readonly source: string;
  }[];
}

/** What the texts of a rule come to. */
export interface Compiled {
  /** null if the texts have faults. */
  readonly body: RuleBody | null;
  readonly issues: readonly RuleIssue[];
  /** What is wrong with a rule that has no instances, so that it can never fire; to find out takes most of the time. */
  readonly idle: () => RuleIssue | null;
}

/** Compiles one rule of a group: resolves opcodes, variables and modifiers. Instances are worked out when asked for. */
export const compileRule = (doc: RulesDoc, place: number, isa: Isa): Compiled =>
  new RuleCompiler(doc, place, isa).compile();

/** Stops the reading of one rule; what is wrong has been reported. */
class Stop extends Error {}

class RuleCompiler {
  private readonly doc: RulesDoc;
  private readonly place: number;
  private readonly isa: Isa;
  private readonly issues: RuleIssue[] = [];
  private readonly vars: {
    name: string;
    kind: Variable['kind'];
    line: number;
    dst: number;
    fresh: boolean;
  }[] = [];
  private readonly byName = new Map<string, number>();
  private readonly outputs: Expr[] = [];

  constructor(doc: RulesDoc, place: number, isa: Isa) {
    this.doc = doc;
    this.place = place;
    this.isa = isa;
  }

  compile(): Compiled {
    const { issues } = this;
    try {
      const draft = this.draft();
      if (draft !== null) return this.whole(draft);
    } catch (e) {
      if (!(e instanceof Stop)) throw e;
    }
    return { body: null, issues, idle: () => null };
  }

  private draft(): (Draft & { structural: readonly Expr[] }) | null {
    const match = this.lines('match').map((l, i, all) => this.line(l, 'match', i, i === all.length - 1));
    this.checkUsed(match);
    this.checkOrders(match);
    const rewrite = this.lines('rewrite').map((l, i) => this.line(l, 'rewrite', i, false));
    this.checkRewrite(match[match.length - 1], rewrite);
    const { constant, structural } = this.condition(this.doc.rules[this.place].when);
    const all = [...this.ofGroup(), ...structural];
    if (this.issues.length > 0) return null;
    const { vars, outputs } = this;
    const tables = this.doc.tables ?? {};
    return { vars, match, rewrite, tables, condition: constant, outputs, structural: all };
  }

  private whole(draft: Draft & { structural: readonly Expr[] }): Compiled {
    const { vars, match, rewrite, structural } = draft;
    const { issues } = this;
    const known = new Map<string, Instance | null>();
    let all: ReturnType<typeof enumerate> | null = null;
    let hash: string | null = null;
    const hashed = (): string => (hash ??= this.hashOf(match, rewrite));
    const enumerated = () => (all ??= enumerate(draft));
    const body: RuleBody = {
      vars,
      modVars: modVarsOf([...match, ...rewrite]),
      match: match.map(finish),
      rewrite: rewrite.map(finish),
      structural,
      get instances() {
        return enumerated().instances;
      },
      instanceFor: (mods) => {
        const key = mods.join();
        let i = known.get(key);
        if (i === undefined) known.set(key, (i = instanceOf(draft, mods)));
        return i;
      },
      get hash() {
        return hashed();
      },
    };
    const idle = (): RuleIssue | null => {
      const { instances, fault } = enumerated();
      return instances.length > 0 ? null : this.issue(fault.field, fault.code, fault.message, fault.notes);
    };
    return { body, issues, idle };
  }

  private hashOf(match: readonly LineDraft[], rewrite: readonly LineDraft[]): string {
    const spec = this.doc.rules[this.place];
    const text = textOf(spec);
    const ops = [...new Set([...match, ...rewrite].flatMap((l) => (l.op === null ? [] : [l.op])))];
    const meanings = ops.map((o) => [
      o.name,
      o.means,
      o.groups.map((g) => [g.name, g.values.map((v) => [v.name, v.width, v.type])]),
      [...o.dsts, ...o.srcs].map((s) => [s.name, s.bank, s.width, s.widthFrom, s.mods, s.default]),
    ]);
    const { holds, inexact } = spec;
    const used = new Set(
      [...match, ...rewrite].flatMap((l) => l.mods.flatMap((m) => (m.k === 'map' ? [m.table] : []))),
    );
    const tables = Object.entries(this.doc.tables ?? {}).filter(([name]) => used.has(name));
    return hashText(JSON.stringify([text, holds ?? null, inexact ?? null, tables, meanings]));
  }

  // ------------------------------------------------------------------ reports

  private report(
    field: RuleIssue['field'],
    code: string,
    message: string,
    notes: readonly string[] = [],
  ): void {
    this.issues.push(this.issue(field, code, message, notes));
  }

  private issue(
    field: RuleIssue['field'],
    code: string,
    message: string,
    notes: readonly string[],
  ): RuleIssue {
    return { severity: 'error', code, group: this.doc.group, rule: this.place, field, message, notes };
  }

  private fail(
    field: RuleIssue['field'],
    code: string,
    message: string,
    notes: readonly string[] = [],
  ): never {
    this.report(field, code, message, notes);
    throw new Stop();
  }

  /** Reports a fault in a line, with the line and a mark below it. */
  private at(
    field: 'match' | 'rewrite',
    line: LineText,
    at: number,
    code: string,
    message: string,
    notes: readonly string[] = [],
  ): void {
    this.report(field, code, message, [`  ${line.text}`, `  ${' '.repeat(at)}^`, ...notes]);
  }

  private lines(field: 'match' | 'rewrite'): LineText[] {
    const text = this.doc.rules[this.place][field];
    try {
      return parseLines(text);
    } catch (e) {
      if (!(e instanceof RuleTextError)) throw e;
      const line = text.split('\n')[e.line] ?? '';
      return this.fail(field, 'rule-syntax', e.message, [`  ${line}`, `  ${' '.repeat(e.at)}^`, ...e.notes]);
    }
  }

  // ------------------------------------------------------------------ lines

  private line(l: LineText, field: 'match' | 'rewrite', index: number, root: boolean): LineDraft {
    if (l.opcode === '*') return this.addressLine(l, field, root);
    const op = this.isa.byName.get(l.opcode);
    if (op === undefined) {
      const near = nearest(l.opcode, this.isa.byName.keys());
      this.at(field, l, l.at, 'rule-opcode', `unknown opcode '${l.opcode}'`, didYouMean(near));
      throw new Stop();
    }
    if (op.means === null || (op.flags & OpFlag.Pure) === 0) {
      this.at(
        field,
        l,
        l.at,
        'rule-opcode',
        `${op.name} does not only compute: rules are about pure instructions`,
      );
      throw new Stop();
    }
    const mods = this.modifiers(op, l, field);
    const nd = op.dsts.length;
    const ns = op.srcs.length;
    let missing = nd + ns - l.operands.length;
    let dsts = nd;
    while (missing > 0 && dsts > 0 && op.dsts[dsts - 1].optional) {
      dsts--;
      missing--;
    }
    let srcs = ns;
    while (missing > 0 && srcs > 0 && op.srcs[srcs - 1].optional) {
      srcs--;
      missing--;
    }
    if (missing !== 0) {
      const names = [...op.dsts, ...op.srcs].map((s) => s.name).join(', ');
      this.at(
        field,
        l,
        l.at,
        'rule-operands',
        `${op.name} takes ${nd + ns} operands (${names}), found ${l.operands.length}`,
      );
      throw new Stop();
    }
    // Sources first: a line of `match` may not use what it defines.
    const src = op.srcs.map(
      (slot, i): Source =>
        i < srcs ? this.source(l.operands[dsts + i], slot, l, field) : defaultSource(slot),
    );
    const dst = op.dsts.map((_, i) => (i < dsts ? this.destination(l.operands[i], l, field, index, i) : -1));
    return { op, dst, src, mods, text: l.text.trim() };
  }

  private addressLine(l: LineText, field: 'match' | 'rewrite', root: boolean): LineDraft {
    const o = l.operands[0];
    if ((field === 'match' && !root) || l.mods.length > 0 || l.operands.length !== 1 || o.k !== 'address') {
      this.at(
        field,
        l,
        l.at,
        'rule-syntax',
        "'*' stands for the root and takes one address: * [$base+#offset]",
      );
      throw new Stop();
    }
    const slot: Slot = { ...ADDRESS_PART };
    const base = this.source(o.base, { ...slot, kinds: 1 << Kind.Reg }, l, field);
    const offset = this.source(o.offset, { ...slot, kinds: 1 << Kind.Imm }, l, field);
    return { op: null, dst: [], src: [{ k: 'address', base, offset }], mods: [], text: l.text.trim() };
  }

  private modifiers(op: Opcode, l: LineText, field: 'match' | 'rewrite'): ModDraft[] {
    const out: ModDraft[] = op.groups.map((g) =>
      givesWidth(op, g.name) && !g.required ? { k: 'open' } : { k: 'fixed', index: 0 },
    );
    const written = new Set<number>();
    let from = 0;
    for (const m of l.mods) {
      const g = this.groupOf(op, m, from, written);
      if (g < 0) {
        const words = op.groups.map(
          (x) =>
            `${x.name}: ${x.values
              .map((v) => v.name)
              .filter((v) => v !== 'NONE')
              .join(' ')}`,
        );
        this.at(field, l, m.at, 'rule-modifier', `${op.name} has no modifier '${modName(m)}' here`, [
          words.length > 0 ? `it has ${words.join('; ')}` : 'it has none',
          ...(m.k === 'var'
            ? ['a modifier variable is named after its group, with digits where it occurs twice']
            : []),
        ]);
        throw new Stop();
      }
      written.add(g);
      from = m.k === 'value' ? g + 1 : from;
      const group = op.groups[g];
      if (m.k === 'value') out[g] = { k: 'fixed', index: group.values.findIndex((v) => v.name === m.name) };
      else if (m.k === 'var') out[g] = { k: 'var', name: m.name };
      else {
        if (this.doc.tables?.[m.table] === undefined) {
          const near = nearest(m.table, Object.keys(this.doc.tables ?? {}));
          this.at(
            field,
            l,
            m.at,
            'rule-table',
            `there is no table '${m.table}' in this file`,
            didYouMean(near),
          );
          throw new Stop();
        }
        out[g] = { k: 'map', table: m.table, name: m.name };
      }
    }
    op.groups.forEach((g, i) => {
      if (g.required && !written.has(i)) {
        this.at(field, l, l.at, 'rule-modifier', `${op.name} needs a modifier of the group '${g.name}'`, [
          `one of ${g.values.map((v) => v.name).join(', ')}, or $${g.name}`,
        ]);
        throw new Stop();
      }
    });
    return out;
  }

  /** The group that a written modifier belongs to, or -1. */
  private groupOf(op: Opcode, m: ModText, from: number, written: ReadonlySet<number>): number {
    if (m.k === 'value') {
      for (let g = from; g < op.groups.length; g++)
        if (!written.has(g) && op.groups[g].values.some((v) => v.name === m.name)) return g;
      return -1;
    }
    const stem = (n: string) => n.replace(/\d+$/, '');
    if (m.k === 'var')
      return op.groups.findIndex((g, i) => !written.has(i) && (g.name === m.name || g.name === stem(m.name)));
    const values = Object.values(this.doc.tables?.[m.table] ?? {});
    return op.groups.findIndex(
      (g, i) => !written.has(i) && values.some((x) => g.values.some((v) => v.name === x)),
    );
  }

  private variable(name: string, kind: Variable['kind']): number {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    this.vars.push({ name, kind, line: -1, dst: -1, fresh: false });
    this.byName.set(name, this.vars.length - 1);
    return this.vars.length - 1;
  }

  private destination(
    o: OperandText,
    l: LineText,
    field: 'match' | 'rewrite',
    index: number,
    dst: number,
  ): number {
    if (o.k === 'any') return -1;
    if (o.k !== 'var' || o.mods !== 0) {
      this.at(field, l, o.at, 'rule-operands', 'a destination is a variable: $name, or _');
      throw new Stop();
    }
    const fresh = !this.byName.has(o.name);
    const v = this.variable(o.name, 'value');
    if (field === 'match') {
      if (!fresh) {
        this.at(field, l, o.at, 'rule-variable', `$${o.name} is defined after it is used, or twice`, [
          'lines follow one another as in a program; each variable has one definition',
        ]);
        throw new Stop();
      }
      this.vars[v].line = index;
      this.vars[v].dst = dst;
    } else if (fresh) this.vars[v].fresh = true;
    return v;
  }

  private source(o: OperandText, slot: Slot, l: LineText, field: 'match' | 'rewrite'): Source {
    switch (o.k) {
      case 'any':
        if (field === 'match') return { k: 'any' };
        this.at(field, l, o.at, 'rule-operands', "'_' cannot be written: say which value");
        throw new Stop();
      case 'literal':
        if (o.predicate !== (slot.bank === 'p')) {
          this.at(
            field,
            l,
            o.at,
            'rule-operands',
            `operand ${slot.name} is ${slot.bank === 'p' ? 'a predicate' : 'no predicate'}`,
          );
          throw new Stop();
        }
        return { k: 'literal', value: o.value };
      case 'address':
        this.at(
          field,
          l,
          o.at,
          'rule-operands',
          'an address stands only in a line for any instruction: * [$a+#o]',
        );
        throw new Stop();
      case 'const':
        return this.constantSource(o, slot, l, field);
      case 'var': {
        if (field === 'rewrite' && !this.byName.has(o.name)) this.unknown(o.name, l, o.at, field);
        const v = this.variable(o.name, 'value');
        if (this.vars[v].kind !== 'value') {
          this.at(field, l, o.at, 'rule-variable', `#${o.name} is a constant; write it with '#'`);
          throw new Stop();
        }
        if ((slot.kinds & (1 << Kind.Reg)) === 0) {
          this.at(field, l, o.at, 'rule-operands', `operand ${slot.name} takes only a constant: #${o.name}`);
          throw new Stop();
        }
        if ((o.mods & ~(slot.bank === 'p' ? 4 : slot.mods)) !== 0) {
          this.at(field, l, o.at, 'rule-operands', `operand ${slot.name} does not take that sign`);
          throw new Stop();
        }
        return { k: 'var', v, mods: o.mods };
      }
    }
  }

  private constantSource(
    o: OperandText & { k: 'const' },
    slot: Slot,
    l: LineText,
    field: 'match' | 'rewrite',
  ): Source {
    if ((slot.kinds & (1 << Kind.Imm)) === 0) {
      this.at(field, l, o.at, 'rule-operands', `operand ${slot.name} takes no constant`);
      throw new Stop();
    }
    if (field === 'match') {
      if (o.name === '') {
        this.at(
          field,
          l,
          o.at,
          'rule-operands',
          "an expression cannot be matched: write #name, and a condition in 'when'",
        );
        throw new Stop();
      }
      const v = this.variable(o.name, 'const');
      if (this.vars[v].kind !== 'const') {
        this.at(field, l, o.at, 'rule-variable', `$${o.name} is an operand; a constant needs another name`);
        throw new Stop();
      }
      return { k: 'const', v };
    }
    const bound = o.name === '' ? undefined : this.byName.get(o.name);
    if (bound !== undefined && this.vars[bound].kind === 'const') return { k: 'const', v: bound };
    if (o.name !== '') this.unknown(o.name, l, o.at, field);
    this.outputs.push(o.expr);
    return { k: 'computed', x: this.outputs.length - 1 };
  }

  private unknown(name: string, l: LineText, at: number, field: 'match' | 'rewrite'): never {
    const near = nearest(name, this.byName.keys());
    this.at(field, l, at, 'rule-variable', `'${name}' is not defined by the match`, didYouMean(near));
    throw new Stop();
  }

  // ------------------------------------------------------------------ the rule as a whole

  /** Every inner line is used by a later one, else it would match anything anywhere. */
  private checkUsed(match: readonly LineDraft[]): void {
    const used = new Set(match.flatMap((l) => l.src.flatMap(varsIn)));
    for (const l of match.slice(0, -1))
      if (!l.dst.some((d) => d >= 0 && used.has(d)))
        this.report('match', 'rule-variable', 'no later line uses what this one defines', [`  ${l.text}`]);
  }

  /** Operands that may stand in any order multiply over the lines. */
  private checkOrders(match: readonly LineDraft[]): void {
    const orders = orderCount(match);
    if (orders > MOST_VARIANTS)
      this.report(
        'match',
        'rule-operands',
        `its operands can stand in ${orders} orders, more than ${MOST_VARIANTS}`,
        ['split the rule: each line whose operands may be exchanged multiplies them'],
      );
  }

  /** The rewrite defines the root's destinations, each once, and nothing that the match defined inside. */
  private checkRewrite(root: LineDraft, rewrite: readonly LineDraft[]): void {
    const last = rewrite[rewrite.length - 1];
    if ((root.op === null) !== (last.op === null) || rewrite.slice(0, -1).some((l) => l.op === null))
      return this.report('rewrite', 'rule-operands', "the root stays '*' in the rewrite, as its last line");
    const wanted = new Set(root.dst.filter((d) => d >= 0));
    const given = new Set<number>();
    for (const l of rewrite)
      for (const d of l.dst) {
        if (d < 0) continue;
        const name = this.vars[d].name;
        if (given.has(d))
          this.report('rewrite', 'rule-variable', `$${name} is defined twice`, [`  ${l.text}`]);
        else if (!wanted.has(d) && !this.vars[d].fresh)
          this.report('rewrite', 'rule-variable', `$${name} is not a destination of the root`, [
            `  ${l.text}`,
          ]);
        given.add(d);
      }
    for (const d of wanted)
      if (!given.has(d))
        this.report('rewrite', 'rule-variable', `the rewrite does not define $${this.vars[d].name}`);
  }

  /** The condition of the group: the same for all its rules, so it can only be about the target, the level and knobs. */
  private ofGroup(): Expr[] {
    const { constant, structural } = this.condition(this.doc.when);
    const fault = constant ?? structural.find((e) => !isStatic(e));
    if (fault !== undefined)
      this.report(
        'when',
        'rule-condition',
        "the group's condition can ask only about level, sm and knob(Name)",
        [`  ${this.doc.when}`, `  ${' '.repeat(fault.at)}^`],
      );
    return structural;
  }

  private condition(when: string | undefined): { constant: Expr | null; structural: Expr[] } {
    if (when === undefined) return { constant: null, structural: [] };
    let parts: Expr[];
    try {
      parts = partsOf(when);
    } catch (e) {
      if (!(e instanceof MeaningError)) throw e;
      return this.fail('when', 'rule-condition', e.message, [
        `  ${when}`,
        `  ${' '.repeat(e.at)}^`,
        ...e.notes,
      ]);
    }
    const structural = parts.filter(isStructural);
    for (const s of structural) {
      const fault = structuralFault(s, this.byName);
      if (fault !== null) this.report('when', 'rule-condition', fault.message, fault.notes);
    }
    const constant = parts
      .filter((p) => !isStructural(p))
      .reduce<Expr | null>((a, b) => (a === null ? b : { k: 'binary', at: b.at, op: '&&', a, b }), null);
    return { constant, structural };
  }
}

/** Part of an address: any width. */
const ADDRESS_PART: Slot = {
  name: 'address',
  bank: 'r',
  width: 0,
  widthFrom: null,
  kinds: 0,
  mods: 0,
  optional: false,
  variadic: false,
  default: null,
};

/** Does the modifier group decide the width of an operand? */
export const givesWidth = (op: Opcode, group: string): boolean =>
  op.dsts.some((s) => s.widthFrom === group) || op.srcs.some((s) => s.widthFrom === group);

/** The texts of a rule. */
export const textOf = ({ match, rewrite, when }: RulesDoc['rules'][number]): Rule['text'] => ({
  match,
  rewrite,
  when: when ?? null,
});

const defaultSource = (slot: Slot): Source => ({ k: 'literal', value: BigInt(defaultOperand(slot).lo) });

const modName = (m: ModText): string =>
  m.k === 'value' ? m.name : m.k === 'var' ? `$${m.name}` : `${m.table}(${m.name})`;

const didYouMean = (near: readonly string[]): string[] =>
  near.length > 0 ? [`did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`] : [];

function varsIn(s: Source): number[] {
  if (s.k === 'var') return [s.v];
  return s.k === 'address' ? [...varsIn(s.base), ...varsIn(s.offset)] : [];
}

const modVarsOf = (lines: readonly LineDraft[]): string[] => [
  ...new Set(lines.flatMap((l) => l.mods.flatMap((m) => (m.k === 'var' ? [m.name] : [])))),
];

const finish = (l: LineDraft): Line => ({
  op: l.op,
  dst: l.dst,
  src: l.src,
  fixed: l.mods.map((m) => (m.k === 'fixed' ? m.index : -1)),
  text: l.text,
});
