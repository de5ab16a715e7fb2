import type { Isa } from '../ir/opcode.ts';
import type { KnobValue, PassContext, Remark, RemarkPlace } from '../ir/pass.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { factOf } from '../spec/backend.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { countsIn } from '../spec/profile.ts';
import type { Budgets } from './budgets.ts';
import type { FunctionPlans } from './function-plans.ts';
import { Report } from './journal.ts';
import { declaresFact, type Read, recipesFor } from './reads.ts';
import type { RewriteCounter } from './rewrites.ts';

/** The error if a pass reads something that its phase does not declare: a mistake in `phases.yaml` or in the pass. */
const undeclaredRead = (phase: string, what: string, name: string): Error =>
  new Error(
    `phase ${phase} read the ${what} '${name}' without declaring it: add it to '${what}s' of that row in ` +
      'pipelines/phases.yaml, or of the pass in src/passes/registry.ts',
  );

/** Collects what a phase reads and reports. */
export interface PhaseLog {
  /** Names of knobs that the gate read. */
  readonly knobs: Set<string>;
  /** Paths of facts that the gate read. */
  readonly facts: Set<string>;
  /** Everything that the passes read besides the program (`reads.ts`). */
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

/** An empty log. */
export const newLog = (): PhaseLog => ({
  knobs: new Set(),
  facts: new Set(),
  reads: new Set(),
  taken: new Map(),
  remarks: [],
  reports: [],
});

/** The parts of a pass's context that are the same for all functions of one phase and plan group. */
export interface PhaseScope {
  readonly plans: FunctionPlans;
  /** The phase as the plan of these functions has it. */
  readonly phase: PlanPhase;
  readonly budgets: Budgets;
  readonly log: PhaseLog;
  /** Counts rewrites; null: any number is allowed. */
  readonly rewrites: RewriteCounter | null;
}

/**
 * The context of one step of a phase on one function. It is a class because one is created for each function, phase and step: creating
 * closures for every method would take more time than most passes.
 */
export class FunctionContext implements PassContext {
  readonly program: Program;
  readonly params: PassContext['params'];
  private readonly scope: PhaseScope;
  private readonly plan: Plan;
  private readonly fn: string;
  private readonly given: Fn;
  private readonly levelHere: number;
  /** Source location of each block, by block id; computed when a remark first names a block without an instruction. */
  private locs: ReadonlyMap<number, number> | null = null;

  /** @param level the effective level of the function */
  constructor(scope: PhaseScope, program: Program, fn: Fn, params: PassContext['params'], level: number) {
    this.program = program;
    this.params = params;
    this.scope = scope;
    this.plan = scope.plans.of(fn.name);
    this.fn = fn.name;
    this.given = fn;
    this.levelHere = level;
  }

  get isa(): Isa {
    return this.plan.isa;
  }

  get phase(): string {
    return this.scope.phase.id;
  }

  get ruleBudget(): string | null {
    return this.scope.phase.ruleBudget;
  }

  get level(): number {
    this.scope.log.reads.add('level');
    return this.levelHere;
  }

  get sm(): string {
    this.scope.log.reads.add('sm');
    return this.plan.sm;
  }

  knob(name: string): KnobValue {
    this.declare(name);
    this.scope.log.reads.add(`knob ${name}`);
    return this.plan.knobs.get(name)?.value ?? null;
  }

  budgetLeft(name: string): boolean {
    this.declare(name);
    this.scope.log.reads.add(`budget ${name}`);
    return this.scope.budgets.left(name, this.fn) > 0;
  }

  budget(name: string): boolean {
    const { fn } = this;
    const { budgets, log } = this.scope;
    this.declare(name);
    log.reads.add(`budget ${name}`);
    const limited = budgets.left(name, fn) !== Infinity;
    const ok = budgets.take(name, fn);
    if (ok && limited) {
      const key = `${name} ${fn}`;
      const t = log.taken.get(key);
      if (t === undefined) log.taken.set(key, { knob: name, fn, units: 1 });
      else t.units++;
    }
    return ok;
  }

  recipes(): ReturnType<PassContext['recipes']> {
    this.scope.log.reads.add('recipes');
    return recipesFor(this.scope.plans, this.fn);
  }

  profile(): ReadonlyMap<number, number> | null {
    this.scope.log.reads.add('profile');
    return countsIn(this.plan.profile, this.fn);
  }

  mayRewrite(name: string, block = -1, ins?: Instr): boolean {
    const { rewrites } = this.scope;
    return rewrites === null || rewrites.take(this.fn, name, block, ins ?? null);
  }

  fact(path: string): unknown {
    const { phase, log } = this.scope;
    if (!declaresFact(phase, path)) throw undeclaredRead(phase.name, 'fact', path);
    log.reads.add(`fact ${path}`);
    return factOf(this.plan.backend, path);
  }

  remark(kind: Remark['kind'], name: string, message: string, at?: RemarkPlace): void {
    const { fn } = this;
    const block = at?.block ?? -1;
    const loc = at?.ins?.loc ?? this.locOf(block);
    this.scope.log.remarks.push({ kind, name, message, fn, block, loc, count: at?.count ?? 1 });
  }

  /** Location of a block: that of its last instruction that has one, usually the branch; 0 if the pass did not get the block as input. */
  private locOf(block: number): number {
    if (block < 0) return 0;
    this.locs ??= new Map(this.given.blocks.map((b) => [b.id, b.ins.findLast((i) => i.loc > 0)?.loc ?? 0]));
    return this.locs.get(block) ?? 0;
  }

  report(make: () => string): void {
    this.scope.log.reports.push(new Report(make));
  }

  private declare(name: string): void {
    const { phase } = this.scope;
    if (!phase.knobs.includes(name)) throw undeclaredRead(phase.name, 'knob', name);
    if (this.plan.knobs.get(name)?.unread === true)
      throw new Error(
        `phase ${phase.name} read the knob '${name}', which knobs/catalog.yaml marks as unread: remove that mark`,
      );
  }
}
