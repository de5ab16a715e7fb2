import type { Diagnostic } from '../ir/diagnostic.ts';
import type { Isa } from '../ir/opcode.ts';
import type { KnobValue } from '../ir/pass.ts';
import type { GroupDoc } from '../rules/document.ts';
import type { Profile } from './profile.ts';

/** Where a resolved value comes from. */
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
  /** Where the value is for some functions only: which. Stands in the plans of these functions alone (`Plan.variant`). */
  readonly when: string | null;
  /** Marked in the catalog as not read by any code yet. */
  readonly unread: boolean;
}

/** When a phase runs: all conditions must hold. */
export interface Gate {
  /** Levels at which it runs, e.g. [2, 3, 4, 5]; null: all. Tested on the effective level. */
  readonly levels: readonly number[] | null;
  /** Whether the gate queries the effective level, each query of which takes one unit of OptBudget. */
  readonly asksLevel: boolean;
  /** Knobs that must be unset (or false). */
  readonly unset: readonly string[];
  /** Knobs that must be set. */
  readonly set: readonly string[];
  /** Knobs that must not be 0; unset is not 0. */
  readonly nonzero: readonly string[];
  /** Budget knobs; each run takes one unit of each. */
  readonly budget: readonly string[];
  /** Back-end facts that must hold: path -> value. */
  readonly facts: readonly { readonly path: string; readonly equals: unknown }[];
}

/** A registered pass with its parameters. */
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

/** What the instructions that a round changed cost. */
export interface RoundWeights {
  /** Of an instruction that is not cheap. */
  readonly full: number;
  /** Opcodes that are cheap where they copy. */
  readonly cheap: readonly string[];
  /** A copy whose value has more uses is not cheap. */
  readonly 'many-uses': number;
}

/** Steps that are repeated until nothing changes, at most `rounds` times. */
export interface RepeatStep {
  readonly kind: 'repeat';
  readonly rounds: number;
  /** Knob: rounds end if what one changed costs less; null: they go on while anything changes. */
  readonly leastCost: string | null;
  /** What a round costs; null exactly if `leastCost` is. */
  readonly weights: RoundWeights | null;
  readonly steps: readonly (PassStep | RulesStep)[];
  readonly origin: Origin;
}

export type Step = PassStep | RulesStep | RepeatStep;

/** The content of a step without its origin: equal for steps that do the same. */
export const stepData = (s: Step): unknown => {
  if (s.kind === 'repeat')
    return [s.rounds, ...(s.leastCost === null ? [] : [s.leastCost, s.weights]), s.steps.map(stepData)];
  return s.kind === 'pass' ? [s.pass, s.params] : [...s.groups];
};

/** The passes and rule groups of steps in order, those inside repetitions included. */
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
  /** The steps it runs in order; empty: nothing is bound. */
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
  /** Of a later round of phases that are repeated: it runs only if one of these, the round before, changed something. */
  readonly roundAfter: readonly string[] | null;
  /** isNoOp: the phase is skipped, yet leaves a record. */
  readonly noOp: boolean;
  /** May not be disabled. */
  readonly required: boolean;
  /** Set if the plan switches the phase off: why, and where. */
  readonly disabled: { readonly why: string; readonly origin: Origin } | null;
  readonly origin: Origin;
}

/** A question to a function before any phase has run: what `when` and the application mode of a recipe ask. */
export interface ConditionTest {
  /** Pattern on its name; null: any. */
  readonly kernel: string | null;
  /** Hashes of which it must have one (`functionHash`); null: any. */
  readonly hashes: readonly string[] | null;
  /** Application mode, 1: any function. */
  readonly mode: number;
  /** As it is shown: 'kernel gemm*'. No two tests of a plan have the same. */
  readonly text: string;
}

/** What a recipe or back end says beside knobs, and what it wins over. */
export interface Setting {
  readonly what: 'hook' | 'phase' | 'level' | 'nvopt';
  /** Id of the phase; '' for levels. */
  readonly name: string;
  /** 'enabled', 'disabled', a level, or what runs, as data. */
  readonly value: unknown;
  readonly origin: Origin;
  /** Values that lost, first the weakest. */
  readonly overridden: readonly { readonly value: unknown; readonly origin: Origin }[];
}

/** A recipe, or a part of one, that a plan is made of. */
export interface AppliedRecipe {
  readonly name: string;
  readonly origin: Origin;
  /** Tests (places in `Plan.tests`) that must all hold; none: all functions. */
  readonly tests: readonly number[];
}

/** Resolved back end: plain data by path. */
export interface Backend {
  readonly sm: string;
  readonly code: number;
  readonly class: string;
  /** Everything, families merged in: `facts.limits['max-registers']`. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Origin of each leaf of the facts, by path: 'limits.max-registers'. */
  readonly origins: ReadonlyMap<string, Origin>;
}

/** Specs resolved for one level, SM, knob set and recipe. */
export interface Plan {
  readonly hash: string;
  readonly level: number;
  readonly sm: string;
  readonly order: string;
  /** Names of the recipes that were asked for, '+' between them; null: none. */
  readonly recipe: string | null;
  /** What is applied of them, and of those that they extend, weakest first. */
  readonly recipes: readonly AppliedRecipe[];
  readonly nvopt: number | null;
  readonly settings: readonly Setting[];
  /** What is asked of each function before the first phase runs. */
  readonly tests: readonly ConditionTest[];
  /** Sets of tests that something asks for together, each once and not empty. The plans of these are legal. */
  readonly cases: readonly (readonly number[])[];
  /**
   * The plan of the functions for which just these tests hold; this plan is for those for which none does. It has the same phases at the
   * same positions, but what they run, their gates, and knobs may differ.
   *
   * @param tests places in `tests`, ascending
   * @throws DiagnosticError where that plan is illegal, which none is for one test alone, or for a case
   */
  readonly variant: (tests: readonly number[]) => Plan;
  readonly knobSet: string | null;
  readonly backend: Backend;
  readonly isa: Isa;
  readonly phases: readonly PlanPhase[];
  readonly knobs: ReadonlyMap<string, ResolvedKnob>;
  /** Rule groups that phases of the plan run: their documents, and a hash of each. */
  readonly rules: ReadonlyMap<string, GroupDoc>;
  /** Block counts that phase 20 attaches to the functions; null: none. */
  readonly profile: Profile | null;
  readonly warnings: readonly Diagnostic[];
}
