import type { Diagnostic } from '../ir/diagnostic.ts';
import type { Isa } from '../ir/opcode.ts';
import type { KnobValue } from '../ir/pass.ts';
import type { GroupDoc } from '../rules/document.ts';
import type { Profile } from './profile.ts';

/** Where a resolved value came from. */
export interface Origin {
  /** 'catalog', 'backend', 'recipe', 'knob-set', 'command-line', 'phases', 'order'. */
  readonly source: string;
  readonly file: string;
  /** Path inside the file; its line is looked up only when needed. */
  readonly path: readonly (string | number)[];
}

export interface ResolvedKnob {
  readonly name: string;
  readonly index: number | null;
  readonly type: string;
  readonly value: KnobValue;
  readonly origin: Origin;
  /** Values that lost, first the weakest. */
  readonly overridden: readonly {
    readonly value: KnobValue;
    readonly origin: Origin;
    readonly when: string | null;
  }[];
  /** Applies only to kernels whose name matches (a `when` knob), others have the last value that lost; null: always. */
  readonly when: string | null;
  /** The catalog says that no code reads it yet. */
  readonly unread: boolean;
}

/** When a phase runs. All parts must hold. */
export interface Gate {
  /** Levels at which it runs, e.g. [2, 3, 4, 5]; null: all. Tested on the effective level. */
  readonly levels: readonly number[] | null;
  /** The gate asks the effective level, and so spends one unit of OptBudget. */
  readonly asksLevel: boolean;
  /** Knobs that must be unset (or false). */
  readonly unset: readonly string[];
  /** Knobs that must be set. */
  readonly set: readonly string[];
  /** Budget knobs; each run takes one unit of each. */
  readonly budget: readonly string[];
  /** Back-end facts that must hold: path -> value. */
  readonly facts: readonly { readonly path: string; readonly equals: unknown }[];
}

/** A registered pass, with the parameters that it gets here. */
export interface PassStep {
  readonly kind: 'pass';
  readonly pass: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly origin: Origin;
}

/** Rule groups that run together, as one set. */
export interface RulesStep {
  readonly kind: 'rules';
  readonly groups: readonly string[];
  readonly origin: Origin;
}

/** Steps that are repeated until nothing changes, at most `rounds` times. */
export interface RepeatStep {
  readonly kind: 'repeat';
  readonly rounds: number;
  readonly steps: readonly (PassStep | RulesStep)[];
  readonly origin: Origin;
}

export type Step = PassStep | RulesStep | RepeatStep;

/** What a step says, its place aside: equal for steps that do the same. */
export const stepData = (s: Step): unknown => {
  if (s.kind === 'repeat') return [s.rounds, s.steps.map(stepData)];
  return s.kind === 'pass' ? [s.pass, s.params] : [...s.groups];
};

/** Passes and rule groups of some steps, repeated ones too, in order. */
export const flatSteps = (steps: readonly Step[]): (PassStep | RulesStep)[] =>
  steps.flatMap((s) => (s.kind === 'repeat' ? s.steps : [s]));

/** Names of the passes that a phase runs. */
export const passesOf = (p: PlanPhase): string[] =>
  flatSteps(p.steps).flatMap((s) => (s.kind === 'pass' ? [s.pass] : []));

/** Rule groups that a phase runs, each once. */
export const groupsOf = (p: PlanPhase): string[] => [
  ...new Set(flatSteps(p.steps).flatMap((s) => (s.kind === 'rules' ? s.groups : []))),
];

export interface PlanPhase {
  /** Place in the phase index array, from 0. */
  readonly position: number;
  /** Seed number 0..158, or null for a named worker without one. */
  readonly index: number | null;
  readonly trueIndex: number | null;
  readonly name: string;
  /** Unique in the plan: `name`, or `name#2` for a second occurrence. */
  readonly id: string;
  readonly stage: number;
  readonly category: string;
  readonly status: 'implemented' | 'partial' | 'marker' | 'not-applicable' | 'unbound';
  readonly statusNote: string;
  /** What runs here, in turn; empty: nothing is bound. */
  readonly steps: readonly Step[];
  readonly gate: Gate;
  readonly knobs: readonly string[];
  /** Budget knob from which each rewrite by a rule takes one unit; null: none. */
  readonly ruleBudget: string | null;
  readonly facts: readonly string[];
  readonly requires: readonly string[];
  readonly provides: readonly string[];
  readonly destroys: readonly string[];
  /** Hook kind A, B, C; null for ordinary phases. */
  readonly hook: 'A' | 'B' | 'C' | null;
  /** Value written to the progress counter, or null. */
  readonly progress: number | null;
  /** isNoOp: the phase is skipped, yet leaves a record. */
  readonly noOp: boolean;
  /** May not be disabled. */
  readonly required: boolean;
  /** Set when the plan switches the phase off, with the reason and where it was said. */
  readonly disabled: { readonly why: string; readonly origin: Origin } | null;
  readonly origin: Origin;
}

/** Resolved back end: plain data by path. */
export interface Backend {
  readonly sm: string;
  readonly code: number;
  readonly class: string;
  /** Everything, families merged in: `facts.limits['max-registers']`. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Where each leaf of the facts was said, by path: 'limits.max-registers'. */
  readonly origins: ReadonlyMap<string, Origin>;
}

/** Specs resolved for one level, SM, knob set and recipe. */
export interface Plan {
  readonly hash: string;
  readonly level: number;
  readonly sm: string;
  readonly order: string;
  readonly recipe: string | null;
  readonly knobSet: string | null;
  readonly backend: Backend;
  readonly isa: Isa;
  readonly phases: readonly PlanPhase[];
  readonly knobs: ReadonlyMap<string, ResolvedKnob>;
  /** Rule groups that phases of the plan run: their documents, and a hash of each. */
  readonly rules: ReadonlyMap<string, GroupDoc>;
  /** Counts of blocks that phase 20 gives to the functions; null: none. */
  readonly profile: Profile | null;
  readonly warnings: readonly Diagnostic[];
}
