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
  /** Path inside the file; its line is looked up on demand. */
  readonly path: readonly (string | number)[];
}

/** A knob with its effective value. */
export interface ResolvedKnob {
  readonly name: string;
  readonly index: number | null;
  readonly type: string;
  readonly value: KnobValue;
  readonly origin: Origin;
  /** Overridden values, the weakest first. */
  readonly overridden: readonly {
    readonly value: KnobValue;
    readonly origin: Origin;
    readonly when: string | null;
  }[];
  /** The functions that the value applies to, as text; null: all. Not null only in the plans of these functions (`Plan.variant`). */
  readonly when: string | null;
  /** True if the catalog marks the knob as not read by any code yet. */
  readonly unread: boolean;
  /** True if each function has units of this budget of its own. */
  readonly perFunction: boolean;
}

/** A part of a gate, by the key that it has in a row. */
export type GatePart = 'levels' | 'only' | 'unset' | 'set' | 'nonzero' | 'facts' | 'budget';

/** The conditions under which a phase runs; all must hold. */
export interface Gate {
  /** Levels at which it runs, e.g. [2, 3, 4, 5]; null: all. Tested on the effective level. */
  readonly levels: readonly number[] | null;
  /** True if the gate queries the effective level; each query takes one unit of OptBudget. */
  readonly asksLevel: boolean;
  /** Levels to which a knob restricts it, if it is set; null: no knob does. */
  readonly only: { readonly knob: string; readonly levels: readonly number[] } | null;
  /** Levels that the value of a knob adds; null: none. */
  readonly also: {
    readonly knob: string;
    readonly equals: number | boolean;
    readonly levels: readonly number[];
  } | null;
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
  /** Parts that are tested before the others, in this order (`conditionsOf`). */
  readonly order: readonly GatePart[];
}

/** A registered pass with its parameters. */
export interface PassStep {
  readonly kind: 'pass';
  readonly pass: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly origin: Origin;
}

/** Rule groups that run together, as one rule set. */
export interface RulesStep {
  readonly kind: 'rules';
  readonly groups: readonly string[];
  readonly origin: Origin;
}

/** Weights of the instructions that a round of a repetition changed. */
export interface RoundWeights {
  /** Weight of an instruction that is not cheap. */
  readonly full: number;
  /** Opcodes that are cheap when they copy a value. */
  readonly cheap: readonly string[];
  /** A copy whose value has more uses than this is not cheap. */
  readonly 'many-uses': number;
}

/** Steps that run repeatedly until nothing changes, at most `rounds` times. */
export interface RepeatStep {
  readonly kind: 'repeat';
  /** Null: `roundsBy` alone has the number. */
  readonly rounds: number | null;
  /** Knob: its value is the maximum in place of `rounds`, or no maximum if it is not above 0; null: no knob changes it. */
  readonly roundsBy: string | null;
  /** Knob: the repetition ends if the changes of a round weigh less; null: it goes on while anything changes. */
  readonly leastCost: string | null;
  /** Weights of changes; null if and only if `leastCost` is. */
  readonly weights: RoundWeights | null;
  readonly steps: readonly (PassStep | RulesStep)[];
  readonly origin: Origin;
}

export type Step = PassStep | RulesStep | RepeatStep;

/** The content of a step without its origin; equal for steps that do the same. */
export const stepData = (s: Step): unknown => {
  if (s.kind === 'repeat')
    return [
      s.rounds,
      ...(s.roundsBy === null ? [] : [s.roundsBy]),
      ...(s.leastCost === null ? [] : [s.leastCost, s.weights]),
      s.steps.map(stepData),
    ];
  return s.kind === 'pass' ? [s.pass, s.params] : [...s.groups];
};

/** How often at most a repetition runs, as text: `16`, `16 (Knob862)` if a knob changes that, or `Knob862` if it alone has the number. */
export const roundsText = ({ rounds, roundsBy }: RepeatStep): string => {
  if (rounds === null) return String(roundsBy);
  return roundsBy === null ? String(rounds) : `${rounds} (${roundsBy})`;
};

/** The pass and rule steps in order, including those inside repetitions. */
export const flatSteps = (steps: readonly Step[]): (PassStep | RulesStep)[] =>
  steps.flatMap((s) => (s.kind === 'repeat' ? s.steps : [s]));

/** Names of the passes that a phase runs, in order, with repetitions. */
export const passesOf = (p: PlanPhase): string[] =>
  flatSteps(p.steps).flatMap((s) => (s.kind === 'pass' ? [s.pass] : []));

/** Rule groups that a phase runs, each once. */
export const groupsOf = (p: PlanPhase): string[] => [
  ...new Set(flatSteps(p.steps).flatMap((s) => (s.kind === 'rules' ? s.groups : []))),
];

/** A phase of a plan. */
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
  /** The steps that it runs, in order; empty: nothing is bound to it. */
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
  /** For a later round of a repetition: ids of the phases of the previous round. It runs only if one of them changed something. */
  readonly roundAfter: readonly string[] | null;
  /** isNoOp: the phase is skipped, but recorded in the journal. */
  readonly noOp: boolean;
  /** True if it must not be disabled. */
  readonly required: boolean;
  /** If the plan switches the phase off: why, and where. */
  readonly disabled: { readonly why: string; readonly origin: Origin } | null;
  readonly origin: Origin;
}

/** A test that is applied to each function before the first phase: from a `when` clause or an application mode. */
export interface ConditionTest {
  /** Pattern for the name of the function; null: any name. */
  readonly kernel: string | null;
  /** Permitted hashes of the function (`functionHash`); null: any. */
  readonly hashes: readonly string[] | null;
  /** Application mode (`MODES`); 1: any function. */
  readonly mode: number;
  /** The test as shown, such as 'kernel gemm*'; unique in a plan. */
  readonly text: string;
}

/** A setting of a recipe or back end other than a knob, with the values that it overrides. */
export interface Setting {
  readonly what: 'hook' | 'phase' | 'level' | 'nvopt';
  /** Id of the phase; '' for levels. */
  readonly name: string;
  /** 'enabled', 'disabled', a level, or the steps of a hook as data. */
  readonly value: unknown;
  readonly origin: Origin;
  /** Overridden values, the weakest first. */
  readonly overridden: readonly { readonly value: unknown; readonly origin: Origin }[];
}

/** A recipe, or a part of one, that a plan applies. */
export interface AppliedRecipe {
  readonly name: string;
  readonly origin: Origin;
  /** Indices in `Plan.tests` of the tests that must all hold; empty: all functions. */
  readonly tests: readonly number[];
}

/** Resolved back end: plain data by path. */
export interface Backend {
  readonly sm: string;
  readonly code: number;
  readonly class: string;
  /** All facts, inherited ones included: `facts.limits['max-registers']`. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Origin of each leaf of the facts, by path, such as 'limits.max-registers'. */
  readonly origins: ReadonlyMap<string, Origin>;
}

/** Specs resolved for one level, SM, knob set and recipe. */
export interface Plan {
  readonly hash: string;
  readonly level: number;
  readonly sm: string;
  readonly order: string;
  /** Names of the requested recipes, separated by '+'; null: none. */
  readonly recipe: string | null;
  /** The applied recipes and parts, including those that they extend, weakest first. */
  readonly recipes: readonly AppliedRecipe[];
  readonly nvopt: number | null;
  readonly settings: readonly Setting[];
  /** Tests that are applied to each function before the first phase runs. */
  readonly tests: readonly ConditionTest[];
  /** Distinct, non-empty sets of tests that some layer requires together. Their plans are legal. */
  readonly cases: readonly (readonly number[])[];
  /**
   * The plan for functions for which exactly these tests hold; this plan itself is for functions for which none holds. It has the same
   * phases at the same positions, but their steps and gates, and knob values, may differ.
   *
   * @param tests indices in `tests`, ascending
   * @throws DiagnosticError if that plan is illegal; never for a single test or for a case
   */
  readonly variant: (tests: readonly number[]) => Plan;
  readonly knobSet: string | null;
  readonly backend: Backend;
  readonly isa: Isa;
  readonly phases: readonly PlanPhase[];
  readonly knobs: ReadonlyMap<string, ResolvedKnob>;
  /** Rule groups that phases of the plan run: the document of each, with its hash. */
  readonly rules: ReadonlyMap<string, GroupDoc>;
  /** Execution counts of blocks that phase 20 attaches to functions; null: none. */
  readonly profile: Profile | null;
  readonly warnings: readonly Diagnostic[];
}
