import { nestingOf } from '../analysis/loops/nesting.ts';
import { covers } from '../ir/glob.ts';
import type { KnobValue } from '../ir/pass.ts';
import type { Fn, Program } from '../ir/program.ts';
import {
  isWhen,
  MODE_DEVICE,
  MODE_KERNELS,
  MODE_LOOPS,
  MODE_REST,
  MODE_STRAIGHT,
} from '../spec/conditions.ts';
import type { ConditionTest, Plan, PlanPhase } from '../spec/plan.ts';
import { functionHash } from './content.ts';
import type { Decision, DecisionCounts, RecipeUser } from './recipe-manager.ts';

/** Functions over which a phase runs in the same way: their plans share the phase and its rules. */
export interface PlanGroup {
  /** The plan of the first function. */
  readonly plan: Plan;
  readonly phase: PlanPhase;
  /** Names of the functions; null: all. */
  readonly functions: ReadonlySet<string> | null;
}

/**
 * Assigns each function its plan. The `when` conditions of recipes and knob sets are evaluated once, on the program
 * before any phase. Functions added later are matched by name only.
 */
export class FunctionPlans {
  readonly base: Plan;
  /** How many decisions for functions of the input were made, and how many were shared. */
  readonly decisions: DecisionCounts;
  private readonly plansByFunction = new Map<string, { readonly plan: Plan; readonly tests: Decision }>();

  /**
   * @param recipes decisions shared with other programs; absent: all decisions are made here
   * @throws DiagnosticError if the plan of a function is illegal, which is possible if several `when`s hold for it
   */
  constructor(base: Plan, input: Program, recipes?: RecipeUser) {
    this.base = base;
    let shared = 0;
    const functions = this.vary ? input.functions : [];
    for (const f of functions) {
      const decide = (): Decision => heldBy(base.tests, f.name, f);
      const { tests, known } = recipes?.decision(base, f, decide) ?? { tests: decide(), known: false };
      this.plansByFunction.set(f.name, { plan: base.variant(tests), tests });
      if (known) shared++;
    }
    this.decisions = { made: functions.length - shared, shared };
  }

  /** True if functions may have different plans. */
  get vary(): boolean {
    return this.base.tests.length > 0;
  }

  /** The plan of a function. */
  of(name: string): Plan {
    return this.vary ? this.decided(name).plan : this.base;
  }

  /** Indices of the plan's tests that hold for a function. */
  testsOf(name: string): Decision {
    return this.vary ? this.decided(name).tests : [];
  }

  /** A phase as a function's plan has it. */
  phase(name: string, at: number): PlanPhase {
    return this.of(name).phases[at];
  }

  /** Value of a knob for a function. */
  knob(name: string, fn: string): KnobValue {
    return this.of(fn).knobs.get(name)?.value ?? null;
  }

  /** Functions of a program grouped by plan, for the phase at a position. */
  groups(at: number, program: Program): readonly PlanGroup[] {
    const { base } = this;
    if (!this.vary) return [{ plan: base, phase: base.phases[at], functions: null }];
    // Plans that differ only in knobs share their phases and rules.
    const by = new Map<PlanPhase, { readonly plan: Plan; readonly functions: Set<string> }[]>();
    const out: { readonly plan: Plan; readonly phase: PlanPhase; readonly functions: Set<string> }[] = [];
    for (const f of program.functions) {
      const plan = this.of(f.name);
      const phase = plan.phases[at];
      const alike = by.get(phase) ?? [];
      let group = alike.find((g) => g.plan.rules === plan.rules);
      if (group === undefined) {
        const made = { plan, phase, functions: new Set<string>() };
        out.push(made);
        by.set(phase, [...alike, made]);
        group = made;
      }
      group.functions.add(f.name);
    }
    return out;
  }

  private decided(name: string): { readonly plan: Plan; readonly tests: Decision } {
    let d = this.plansByFunction.get(name);
    if (d === undefined) {
      const tests = heldBy(this.base.tests, name, undefined);
      this.plansByFunction.set(name, (d = { plan: this.base.variant(tests), tests }));
    }
    return d;
  }
}

/** Indices of the tests that hold for a function; `fn` is undefined for one that was not in the input. */
function heldBy(tests: readonly ConditionTest[], name: string, fn: Fn | undefined): Decision {
  const out = tests.flatMap((t, i) => (t.mode !== MODE_REST && holds(t, name, fn) ? [i] : []));
  const whens = out.some((i) => isWhen(tests[i]));
  if (!whens) tests.forEach((t, i) => t.mode === MODE_REST && out.push(i));
  return out.sort((a, b) => a - b);
}

function holds(t: ConditionTest, name: string, fn: Fn | undefined): boolean {
  if (t.kernel !== null && !covers(t.kernel, name)) return false;
  if (t.hashes !== null && (fn === undefined || !t.hashes.includes(functionHash(fn)))) return false;
  switch (t.mode) {
    case MODE_KERNELS:
      return fn?.kind === 'entry';
    case MODE_DEVICE:
      return fn?.kind === 'func';
    case MODE_LOOPS:
      return fn !== undefined && hasLoop(fn);
    case MODE_STRAIGHT:
      return fn !== undefined && !hasLoop(fn);
    default:
      return true;
  }
}

const hasLoop = (fn: Fn): boolean => fn.blocks.length > 0 && nestingOf(fn).loops.length > 0;
