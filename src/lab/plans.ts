import { host } from '../engine/pipeline.ts';
import { type Diagnostic, DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import type { SpecFile } from '../spec/document.ts';
import { loadShipped, makePlan, withFiles } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { PlanRequest, Specs } from '../spec/resolve.ts';
import { type Arm, armText, type Move } from './arms.ts';
import { readWhole } from './kernels.ts';
import { parseProfile } from './profile-file.ts';
import { specsOfPlace } from './refs.ts';

/** The plan that arms differ from: a request without a target, which is the module's unless it is given. */
export interface Base extends Omit<PlanRequest, 'sm'> {
  readonly sm: string | null;
}

/** Target where neither the command nor the module names one: the oldest that ptxas 13 knows. */
export const DEFAULT_SM = 'sm_75';

/** Name of the order that an arm's moves make; no file can have it. */
const MOVED = '<moves>';

/** Plans of arms, each resolved once for each target. */
export class Plans {
  private readonly base: Base;
  private readonly shipped: Promise<Specs>;
  private readonly refs = new Map<string, Promise<Specs>>();
  private readonly files = new Map<string, Promise<Specs>>();
  private readonly plans = new Map<string, Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }>>();

  private readonly judge: (plan: Plan) => readonly Diagnostic[];

  /** @param judge what else is wrong with a plan; with an error of it, there is no plan */
  constructor(
    base: Base,
    shipped: Promise<Specs> = loadShipped(),
    judge: (plan: Plan) => readonly Diagnostic[] = () => [],
  ) {
    this.base = base;
    this.shipped = shipped;
    this.judge = judge;
  }

  /**
   * The plan of an arm for a target.
   * @throws DiagnosticError with what makes it illegal
   */
  async plan(arm: Arm, target: string | null): Promise<Plan> {
    const { plan, diagnostics } = await this.tryPlan(arm, target);
    if (plan !== null) return plan;
    throw new DiagnosticError(diagnostics.filter((d) => d.severity === 'error'));
  }

  /** The plan of an arm, null with the reasons where it is illegal. */
  tryPlan(arm: Arm, target: string | null): Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }> {
    const sm = arm.sm ?? this.base.sm ?? target ?? DEFAULT_SM;
    const key = `${sm}|${armText(arm)}`;
    let p = this.plans.get(key);
    if (p === undefined) {
      p = this.resolve(arm, sm);
      this.plans.set(key, p);
    }
    return p;
  }

  /** What the arm asks for. */
  request(arm: Arm, sm: string): PlanRequest {
    const { base } = this;
    return {
      level: arm.level ?? base.level,
      sm,
      order: arm.order ?? base.order,
      recipes: arm.recipe ?? base.recipes ?? [],
      ...(base.nvopt === undefined ? {} : { nvopt: base.nvopt }),
      knobSets: [...base.knobSets, ...(arm.knobs ?? [])],
      set: [...base.set, ...(arm.set ?? [])],
      disable: [...base.disable, ...(arm.disable ?? [])],
      rules: [...(base.rules ?? []), ...(arm.rules ?? [])],
      ...(base.wrongRules === undefined ? {} : { wrongRules: base.wrongRules }),
      profile: arm.profile === undefined ? null : parseProfile(readWhole(arm.profile), arm.profile).counts,
    };
  }

  /** The specs that an arm is made of. */
  specs(arm: Arm): Promise<Specs> {
    if (arm.ref === undefined) return this.shipped;
    let s = this.refs.get(arm.ref);
    if (s === undefined) this.refs.set(arm.ref, (s = specsOfPlace(arm.ref)));
    return s;
  }

  private async resolve(arm: Arm, sm: string): Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }> {
    try {
      const { request, specs } = await this.orderedSpecs(arm, sm);
      const made = await makePlan(request, host, specs);
      const faults = made.plan === null ? [] : this.judge(made.plan).filter((d) => d.severity === 'error');
      return faults.length === 0 ? made : { plan: null, diagnostics: [...made.diagnostics, ...faults] };
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      return { plan: null, diagnostics: [...e.diagnostics] };
    }
  }

  /**
   * What an arm asks for, and the specs with the order that its moves make, and with the files that it names.
   * @throws DiagnosticError for files that cannot be read
   */
  async orderedSpecs(arm: Arm, sm: string): Promise<{ request: PlanRequest; specs: Specs }> {
    const request = this.request(arm, sm);
    const { moves = [] } = arm;
    // Arms with the same files have the same specs, and what is made of these is shared by their plans.
    const key = JSON.stringify([
      arm.ref,
      request.order,
      request.recipes,
      request.knobSets,
      request.rules,
      moves,
    ]);
    let specs = this.files.get(key);
    if (specs === undefined) this.files.set(key, (specs = this.withFiles(arm, request)));
    return { request: moves.length === 0 ? request : { ...request, order: MOVED }, specs: await specs };
  }

  private async withFiles(arm: Arm, request: PlanRequest): Promise<Specs> {
    const base = await this.specs(arm);
    const { specs, faults } = await withFiles(base, request);
    const still = arm.moves === undefined || arm.moves.length === 0;
    // What is wrong with a file is told with what else is wrong, by whoever makes the plan.
    if (still) return faults.length > 0 ? base : specs;
    if (faults.length > 0) throw new DiagnosticError(faults);
    const orders = new Map(specs.orders).set(MOVED, movedOrder(request.order, arm.moves));
    return { ...specs, orders };
  }
}

/** An order that extends another by moves; its text is what its places point into. */
function movedOrder(order: string, moves: readonly Move[]): SpecFile {
  const edits = moves.map((m) => ({ move: m.phase, [m.at]: m.anchor }));
  const text = orderText(order, moves);
  return { file: MOVED, text, kind: 'order', data: { kind: 'order', extends: order, edits } };
}

/** The YAML of an order that extends another by moves. */
export const orderText = (order: string, moves: readonly Move[], title?: string): string =>
  [
    'kind: order',
    ...(title === undefined ? [] : [`title: ${title}`]),
    `extends: ${order}`,
    'edits:',
    ...moves.map((m) => `  - { move: ${m.phase}, ${m.at}: ${m.anchor} }`),
    '',
  ].join('\n');

/** An error of the command line. */
export const usageFault = (message: string, ...notes: readonly string[]): DiagnosticError =>
  new DiagnosticError([fileFault('', message, notes)]);
