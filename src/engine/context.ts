import type { Fn, Program } from '../ir/program.ts';
import type { PassContext, Remark } from '../passes/pass.ts';
import { factOf } from '../spec/backend.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { countsIn } from '../spec/profile.ts';
import type { Budgets } from './budgets.ts';
import type { FunctionPlans } from './function-plans.ts';
import { Report } from './journal.ts';
import { declaresFact, type Read, recipesFor } from './reads.ts';
import { anyRewrite, type RewriteCounter } from './rewrites.ts';

/** A pass read something that its phase does not declare: a mistake in `phases.yaml` or in the pass. */
export class UndeclaredRead extends Error {
  constructor(phase: string, what: string, name: string) {
    super(
      `phase ${phase} read the ${what} '${name}' without declaring it: add it to '${what}s' of that row in pipelines/phases.yaml`,
    );
    this.name = 'UndeclaredRead';
  }
}

/** Collects what a phase reads and reports. */
export interface PhaseLog {
  /** What the gate read. */
  readonly knobs: Set<string>;
  readonly facts: Set<string>;
  /** What the passes read (`reads.ts`). */
  readonly reads: Set<Read>;
  /** Units of limited budgets that the passes took, by knob and function. */
  readonly taken: Map<string, Taken>;
  readonly remarks: Remark[];
  readonly reports: Report[];
}

/** Units that a function took from a budget. */
export interface Taken {
  readonly knob: string;
  readonly fn: string;
  units: number;
}

export const newLog = (): PhaseLog => ({
  knobs: new Set(),
  facts: new Set(),
  reads: new Set(),
  taken: new Map(),
  remarks: [],
  reports: [],
});

/**
 * The context of one phase over one function.
 *
 * @param phase the phase as this function's plan has it
 */
export function makeContext(
  plans: FunctionPlans,
  phase: PlanPhase,
  program: Program,
  fn: Fn,
  params: PassContext['params'],
  level: number,
  budgets: Budgets,
  log: PhaseLog,
  rewrites: RewriteCounter | null = null,
): PassContext {
  const plan: Plan = plans.of(fn.name);
  const declare = (name: string) => {
    if (!phase.knobs.includes(name)) throw new UndeclaredRead(phase.name, 'knob', name);
    if (plan.knobs.get(name)?.unread === true)
      throw new Error(
        `phase ${phase.name} read the knob '${name}', which knobs/catalog.yaml calls unread: take that away`,
      );
  };
  return {
    program,
    isa: plan.isa,
    phase: phase.id,
    params,
    ruleBudget: phase.ruleBudget,
    get level() {
      log.reads.add('level');
      return level;
    },
    get sm() {
      log.reads.add('sm');
      return plan.sm;
    },
    knob(name) {
      declare(name);
      log.reads.add(`knob ${name}`);
      return plan.knobs.get(name)?.value ?? null;
    },
    budgetLeft(name) {
      declare(name);
      log.reads.add(`budget ${name}`);
      return budgets.left(name, fn.name) > 0;
    },
    budget(name) {
      declare(name);
      log.reads.add(`budget ${name}`);
      const limited = budgets.left(name, fn.name) !== Infinity;
      const ok = budgets.take(name, fn.name);
      if (ok && limited) {
        const key = `${name} ${fn.name}`;
        const t = log.taken.get(key);
        if (t === undefined) log.taken.set(key, { knob: name, fn: fn.name, units: 1 });
        else t.units++;
      }
      return ok;
    },
    recipes() {
      log.reads.add('recipes');
      return recipesFor(plans, fn.name);
    },
    profile() {
      log.reads.add('profile');
      return countsIn(plan.profile, fn.name);
    },
    mayRewrite:
      rewrites === null
        ? anyRewrite
        : (name, block = -1, ins) => rewrites.take(fn.name, name, block, ins ?? null),
    fact(path) {
      if (!declaresFact(phase, path)) throw new UndeclaredRead(phase.name, 'fact', path);
      log.reads.add(`fact ${path}`);
      return factOf(plan.backend, path);
    },
    remark(kind, name, message, at) {
      log.remarks.push({
        kind,
        name,
        message,
        fn: fn.name,
        block: at?.block ?? -1,
        loc: at?.ins?.loc ?? 0,
      });
    },
    report(make) {
      log.reports.push(new Report(make));
    },
  };
}
