import type { Diagnostic } from '../ir/diagnostic.ts';
import { renderDiagnostic } from '../ir/diagnostic.ts';
import { foldedRounds } from '../lab/folded-rounds.ts';
import { type PlacedDifference, type PlanDifference, placedDifferences } from '../lab/plan-differences.ts';
import { hasWork } from '../spec/phases.ts';
import type { Plan } from '../spec/plan.ts';
import type { Specs } from '../spec/specs.ts';
import type { KnobsSpec } from '../spec/types.generated.ts';
import type { Limit } from './budget.ts';
import { canonical } from './data-diff.ts';
import { filesOf, Places } from './places.ts';

/** Kinds of changes, in display order. */
export const KINDS = [
  'order',
  'phase',
  'knob',
  'knob set',
  'rules',
  'recipe',
  'fact',
  'opcodes',
  'constraint',
  'budget',
  'spec',
  'level',
  'target',
] as const;
/** The kind of a change. */
export type ChangeKind = (typeof KINDS)[number];

/** One change in the meaning of specs. */
export interface Change {
  readonly kind: ChangeKind;
  /** Name of the phase, knob, rule, recipe, fact, opcode or similar that changed. */
  readonly name: string;
  readonly before: string;
  readonly after: string;
  /** Further information for a reviewer, such as default and readers of a knob, verdict of a rule, reason of a constraint. */
  readonly note: string;
  /** Where the head states it, as `file:line`; '' if it was removed. */
  readonly place: string;
  /** If it was removed: where the base states it, as `file:line`; otherwise ''. */
  readonly basePlace: string;
  /** Names of the plans to which it applies (`Requested.name`); empty if it belongs to none. */
  readonly where: readonly string[];
  /** True if it may break something, such as a refuted rule or a removed constraint. */
  readonly alarm: boolean;
  /** True if a counterexample refutes the changed rule. */
  readonly refuted?: boolean;
  /** If its text is unchanged but its meaning changed: the opcodes or the table that caused it. Absent: it was changed itself. */
  readonly cause?: string;
  /** What it can affect. */
  readonly acts: Acts;
}

/** What a change can affect, and so how its effect is measured. */
export type Acts =
  /** The plans of `where`. */
  | { readonly on: 'plans' }
  /** In the plans of `where`, kernels to which the rule is applied or that have the opcode. */
  | { readonly on: 'rule' | 'opcode'; readonly name: string }
  /** Orders with `second` before `first`, which a constraint forbade. */
  | { readonly on: 'order'; readonly first: string; readonly second: string }
  /** Kernels that the limit of the base, which permits less, would reject. */
  | { readonly on: 'limit'; readonly limit: Limit }
  /** Nothing that can be measured. */
  | { readonly on: 'nothing'; readonly why: string };

/** The change affects the plans in `where`. */
export const ON_PLANS: Acts = { on: 'plans' };

/** The effect of the change cannot be measured, for the given reason. */
export const onNothing = (why: string): Acts => ({ on: 'nothing', why });

/** A plan on both sides, or the errors of the head. */
export interface PlanPair {
  /** Name of the plan: `sm_90 -O3`, or `recipe X`. */
  readonly where: string;
  readonly base: Plan | null;
  readonly head: Plan | null;
  /** For a plan that only the head has: the head's plan without the new document; otherwise null. */
  readonly without: Plan | null;
  readonly faults: readonly Diagnostic[];
  /** What is warned of the head's plan, and was not of the base's. */
  readonly warnings: readonly Diagnostic[];
}

/** A fault of the head, or a warning. */
export interface Fault {
  readonly message: string;
  /** `file:line`; '' if it has none. */
  readonly place: string;
  /** The whole message, with a source excerpt. */
  readonly text: string;
}

type OfKind = PlanDifference & { readonly kind: ChangeKind };
const isKind = (d: PlanDifference): d is OfKind => (KINDS as readonly string[]).includes(d.kind);

/** The distinct differences between the plans of both sides, each with all plans that have it. */
export function planChanges(pairs: readonly PlanPair[], base: Specs, head: Specs): Change[] {
  const places = new Places(base, head);
  const found = new Map<string, { placed: PlacedDifference; difference: OfKind; where: string[] }>();
  for (const { where, base: a, head: b } of pairs) {
    if (a === null || b === null) continue;
    for (const placed of foldedRounds(placedDifferences(a, b))) {
      const d = placed.difference;
      // Changes of rules and opcodes are reported individually elsewhere.
      if (
        !isKind(d) ||
        d.kind === 'opcodes' ||
        (d.kind === 'level' && where.startsWith('recipe ')) ||
        (d.kind === 'rules' && d.b === 'changed')
      )
        continue;
      const key = canonical(d);
      const known = found.get(key);
      if (known === undefined) found.set(key, { placed, difference: d, where: [where] });
      else known.where.push(where);
    }
  }
  return [...found.values()].map(({ placed, difference: d, where }) => ({
    kind: d.kind,
    name: d.name,
    before: d.a,
    after: d.b,
    note:
      d.kind === 'knob'
        ? knobNote(d.name, base, head, placed.plans[1])
        : d.kind === 'phase'
          ? phaseNote(d, placed.plans[1])
          : '',
    ...places.ofDifference(placed),
    where,
    alarm: false,
    acts: ON_PLANS,
  }));
}

/** Default of a knob, and the phases of the head's plan that do something and may read it, as text. */
function knobNote(name: string, base: Specs, head: Specs, plan: Plan): string {
  const rowOf = (s: Specs) => (s.knobs.data.knobs as Readonly<Record<string, KnobsSpec.Knob>>)[name];
  const [was, row] = [rowOf(base), rowOf(head)];
  const readers = plan.phases.filter((p) => hasWork(p) && p.knobs.includes(name)).map((p) => p.id);
  const [x, y] = [was, row].map((r) =>
    r === undefined ? 'none' : r.default === null ? 'unset' : JSON.stringify(r.default),
  );
  return [
    x === y ? `default ${y}` : `default ${x} -> ${y}`,
    readers.length > 0 ? `read by ${readers.join(', ')}` : 'no phase with work may read it',
  ].join('; ');
}

const phaseNote = (d: PlanDifference, plan: Plan): string =>
  plan.phases.find((p) => p.id === d.name)?.disabled?.why ?? '';

/** The distinct faults or warnings of the head. */
export function faultsOf(found: readonly Diagnostic[], head: Specs): Fault[] {
  const files = filesOf(head);
  const seen = new Map<string, Diagnostic>();
  for (const d of found) {
    const key = `${d.file}:${d.line}:${d.message}`;
    if (!seen.has(key)) seen.set(key, d);
  }
  return [...seen.values()].map((d) => ({
    message: d.message,
    place: d.file === '' ? '' : `${d.file}${d.line > 0 ? `:${d.line}` : ''}`,
    text: renderDiagnostic(d, files.get(d.file)?.text || undefined),
  }));
}
