import type { Diagnostic } from '../ir/diagnostic.ts';
import { renderDiagnostic } from '../ir/diagnostic.ts';
import { type PlacedDifference, type PlanDifference, placedDifferences } from '../lab/plan-differences.ts';
import type { SpecFile } from '../spec/document.ts';
import type { Plan } from '../spec/plan.ts';
import type { Specs } from '../spec/specs.ts';
import type { ConstraintsSpec, KnobsSpec } from '../spec/types.generated.ts';
import { canonical, dataChanges, valueText } from './data-diff.ts';
import { filesOf, Places } from './places.ts';

/** Kinds of changes, in display order. */
export const KINDS = [
  'order',
  'phase',
  'knob',
  'rules',
  'recipe',
  'fact',
  'opcodes',
  'constraint',
  'level',
  'target',
] as const;
export type ChangeKind = (typeof KINDS)[number];

/** One change in what plans mean. */
export interface Change {
  readonly kind: ChangeKind;
  /** Phase, knob, rule, recipe, fact, opcode. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** Further information for a reviewer: default and readers of a knob, verdict of a rule, reason of a constraint. */
  readonly note: string;
  /** Where the head states it: `file:line`; '' if it is gone. */
  readonly place: string;
  /** Where the base stated what is gone: `file:line`; '' if it is not gone. */
  readonly basePlace: string;
  /** Targets and levels, orders, recipes to which it applies; empty if it does not depend on any. */
  readonly where: readonly string[];
  /** Whether it may break something: a refuted rule, a removed constraint. */
  readonly alarm: boolean;
}

/** A plan of both sides, or its faults. */
export interface PlanPair {
  /** sm_90 -O3, or 'recipe X'. */
  readonly where: string;
  readonly base: Plan | null;
  readonly head: Plan | null;
  readonly faults: readonly Diagnostic[];
}

/** A fault of the head. */
export interface Fault {
  readonly message: string;
  /** `file:line`; '' if it has none. */
  readonly place: string;
  /** The whole message, with its frame. */
  readonly text: string;
}

type OfKind = PlanDifference & { readonly kind: ChangeKind };
const isKind = (d: PlanDifference): d is OfKind => (KINDS as readonly string[]).includes(d.kind);

/** The differences between the plans of both sides, each once with all plans that have it. */
export function planChanges(pairs: readonly PlanPair[], base: Specs, head: Specs): Change[] {
  const places = new Places(base, head);
  const found = new Map<
    string,
    { placed: PlacedDifference; difference: OfKind; plans: [Plan, Plan]; where: string[] }
  >();
  for (const { where, base: a, head: b } of pairs) {
    if (a === null || b === null) continue;
    for (const placed of placedDifferences(a, b)) {
      const d = placed.difference;
      // Rules and opcodes are reported individually.
      if (
        !isKind(d) ||
        d.kind === 'opcodes' ||
        (d.kind === 'level' && where.startsWith('recipe ')) ||
        (d.kind === 'rules' && d.b === 'changed')
      )
        continue;
      const key = canonical(d);
      const known = found.get(key);
      if (known === undefined) found.set(key, { placed, difference: d, plans: [a, b], where: [where] });
      else known.where.push(where);
    }
  }
  return [...found.values()].map(({ placed, difference: d, plans, where }) => ({
    kind: d.kind,
    name: d.name,
    before: d.a,
    after: d.b,
    note: d.kind === 'knob' ? knobNote(d.name, base, head) : d.kind === 'phase' ? phaseNote(d, plans[1]) : '',
    ...places.ofDifference(placed, ...plans),
    where,
    alarm: false,
  }));
}

/** Default and readers of a knob. */
function knobNote(name: string, base: Specs, head: Specs): string {
  const rowOf = (s: Specs) => (s.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>)[name];
  const [was, row] = [rowOf(base), rowOf(head)];
  const readers = row?.readers ?? was?.readers ?? [];
  const [x, y] = [was, row].map((r) =>
    r === undefined ? 'none' : r.default === null ? 'unset' : JSON.stringify(r.default),
  );
  return [
    x === y ? `default ${y}` : `default ${x} -> ${y}`,
    readers.length > 0 ? `read by ${readers.join(', ')}` : 'no phase says that it reads it',
  ].join('; ');
}

const phaseNote = (d: PlanDifference, plan: Plan): string =>
  plan.phases.find((p) => p.id === d.name)?.disabled?.why ?? '';

/** Recipes, knob sets and orders that were added, removed or changed. */
export function documentChanges(base: Specs, head: Specs): Change[] {
  const out: Change[] = [];
  const places = new Places(base, head);
  const kinds = [
    ['recipe', base.recipes, head.recipes],
    ['knob set', base.knobSets, head.knobSets],
    ['order', base.orders, head.orders],
  ] as const;
  for (const [what, a, b] of kinds)
    for (const name of new Set([...a.keys(), ...b.keys()])) {
      const [x, y] = [a.get(name), b.get(name)];
      const row = (path: readonly string[], before: unknown, after: unknown): Change => ({
        kind: 'recipe',
        name: [`${what} ${name}`, ...path].join('.'),
        before: valueText(before),
        after: valueText(after),
        note: '',
        ...places.of(y && { file: y.file, path }, x && { file: x.file, path }),
        where: [],
        alarm: false,
      });
      if (x === undefined || y === undefined) {
        out.push(row([], x === undefined ? undefined : 'there', y === undefined ? undefined : 'new'));
        continue;
      }
      if (what === 'order' && x.data.phases !== undefined) continue;
      for (const c of dataChanges(x.data, y.data))
        if (c.path[0] !== 'title') out.push(row(c.path, c.before, c.after));
    }
  return out;
}

/** The parts of an opcode on which proofs of rules depend. */
const PROVED_BY: ReadonlySet<string> = new Set(['means', 'form', 'modifiers']);

/**
 * Opcodes whose form or meaning changed.
 *
 * @param provedAgain the new verdicts of the rules with an opcode, by its name
 */
export function opcodeChanges(base: Specs, head: Specs, provedAgain: ReadonlyMap<string, string>): Change[] {
  const of = (s: Specs) =>
    new Map(
      s.isa.flatMap((f) =>
        Object.entries(f.data.opcodes as Record<string, Record<string, unknown>>).map(
          ([name, op]) => [name, { file: f, op }] as const,
        ),
      ),
    );
  const [a, b] = [of(base), of(head)];
  const places = new Places(base, head);
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) =>
    dataChanges(a.get(name)?.op, b.get(name)?.op, [name])
      .filter((c) => c.path[1] !== 'title')
      .map((c): Change => {
        const at = (file: SpecFile | undefined) => file && { file: file.file, path: ['opcodes', ...c.path] };
        return {
          kind: 'opcodes',
          name: c.path.join('.'),
          before: valueText(c.before),
          after: valueText(c.after),
          note: PROVED_BY.has(c.path[1]) ? (provedAgain.get(name) ?? '') : '',
          ...places.of(at(b.get(name)?.file), at(a.get(name)?.file)),
          where: [],
          alarm: false,
        };
      }),
  );
}

/** Constraints that were added, removed or relaxed, with their reasons. */
export function constraintChanges(base: Specs, head: Specs): Change[] {
  const of = (s: Specs) =>
    new Map(
      (s.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]).map((c, i) => [
        `${c.before} before ${c.after}${c.orders === undefined ? '' : ` (${c.orders.join(', ')})`}`,
        { c, i },
      ]),
    );
  const [a, b] = [of(base), of(head)];
  const force = (x: { c: ConstraintsSpec.Constraint } | undefined): string =>
    x === undefined ? 'nothing' : (x.c.severity ?? 'error');
  const at = (s: Specs, x: { i: number } | undefined) =>
    x && { file: s.constraints.file, path: ['constraints', x.i] };
  const places = new Places(base, head);
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) => {
    const [x, y] = [a.get(name), b.get(name)];
    if (force(x) === force(y)) return [];
    const waived = force(y) !== 'error';
    return [
      {
        kind: 'constraint' as const,
        name,
        before: force(x),
        after: force(y),
        note: `${waived ? 'waived; it was there because ' : ''}${(x ?? y)!.c.why}`,
        ...places.of(at(head, y), at(base, x)),
        where: [],
        alarm: waived,
      },
    ];
  });
}

/** Faults of the head's plans, each once. */
export function faultsOf(pairs: readonly PlanPair[], head: Specs): Fault[] {
  const files = filesOf(head);
  const seen = new Map<string, Diagnostic>();
  for (const p of pairs) for (const d of p.faults) seen.set(`${d.file}:${d.line}:${d.message}`, d);
  return [...seen.values()].map((d) => ({
    message: d.message,
    place: d.file === '' ? '' : `${d.file}${d.line > 0 ? `:${d.line}` : ''}`,
    text: renderDiagnostic(d, files.get(d.file)?.text || undefined),
  }));
}
