import { host } from '../engine/pipeline.ts';
import { type Diagnostic, DiagnosticError, fileError } from '../ir/diagnostic.ts';
import { yamlScalar } from '../ir/quote.ts';
import { withSpec } from '../spec/collect.ts';
import type { SpecFile } from '../spec/document.ts';
import { loadShipped, makePlan, withFiles } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { PlanRequest, Specs } from '../spec/resolve.ts';
import { type Arm, armText, type Move, moveText } from './arms.ts';
import { isLaunched, type Module, readWhole } from './kernels.ts';
import { parseProfile } from './profile-file.ts';
import { specsOfPlace } from './refs.ts';

/** The request from which arms differ. A null target means that of the module. */
export interface Base extends Omit<PlanRequest, 'sm'> {
  readonly sm: string | null;
}

/** Target if neither the command nor the module names one: the oldest that ptxas 13 supports. */
export const DEFAULT_SM = 'sm_75';

/** Name for the order that results from an arm's moves; no file can have this name. */
const MOVED = '<moves>';

/** Resolves plans of arms, once for each target. */
export class Plans {
  private readonly base: Base;
  private readonly shipped: Promise<Specs>;
  private readonly refs = new Map<string, Promise<Specs>>();
  private readonly files = new Map<string, Promise<Specs>>();
  private readonly plans = new Map<string, Promise<{ plan: Plan | null; diagnostics: Diagnostic[] }>>();
  private readonly warned = new Map<string, Diagnostic>();

  private readonly judge: (plan: Plan) => readonly Diagnostic[];

  /** @param judge an additional check of plans; a plan for which it returns an error counts as illegal */
  constructor(
    base: Base,
    shipped: Promise<Specs> = loadShipped(),
    judge: (plan: Plan) => readonly Diagnostic[] = () => [],
  ) {
    this.base = base;
    this.shipped = shipped;
    this.judge = judge;
  }

  /** What was warned of files in the plans that were made so far, each warning once. */
  get warnings(): readonly Diagnostic[] {
    return [...this.warned.values()];
  }

  /**
   * The plan of an arm for a target.
   * @throws DiagnosticError with the reasons why it is illegal
   */
  async plan(arm: Arm, target: string | null): Promise<Plan> {
    const { plan, diagnostics } = await this.tryPlan(arm, target);
    if (plan !== null) return plan;
    throw new DiagnosticError(diagnostics.filter((d) => d.severity === 'error'));
  }

  /** The plan of an arm; null, with the reasons, if it is illegal. */
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

  /**
   * The request for an arm's plan.
   * @throws DiagnosticError if the arm's profile cannot be read
   */
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
      isa: base.isa ?? [],
      ...(base.wrongRules === undefined ? {} : { wrongRules: base.wrongRules }),
      profile: arm.profile === undefined ? null : parseProfile(readWhole(arm.profile), arm.profile).counts,
    };
  }

  /** The specs that an arm uses: the shipped ones, or those of its `ref`. */
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
      // Words of an arm are tried on purpose: a place that is unusual, a knob whose reader is switched off.
      for (const d of made.plan?.warnings ?? []) if (d.line > 0) this.warned.set(JSON.stringify(d), d);
      const faults = made.plan === null ? [] : this.judge(made.plan).filter((d) => d.severity === 'error');
      return faults.length === 0 ? made : { plan: null, diagnostics: [...made.diagnostics, ...faults] };
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      return { plan: null, diagnostics: [...e.diagnostics] };
    }
  }

  /**
   * The request of an arm, and its specs with the order that results from its moves and with the files that it names.
   * @throws DiagnosticError for files that cannot be read
   */
  async orderedSpecs(arm: Arm, sm: string): Promise<{ request: PlanRequest; specs: Specs }> {
    const request = this.request(arm, sm);
    const { moves = [] } = arm;
    // Arms with the same files share specs and everything that plans derive from them.
    const key = JSON.stringify([
      arm.ref,
      request.order,
      request.recipes,
      request.knobSets,
      request.rules,
      request.isa,
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
    // `makePlan` reports the faults of files together with all others.
    if (still) return faults.length > 0 ? base : specs;
    if (faults.length > 0) throw new DiagnosticError(faults);
    return withMoves(specs, request.order, arm.moves);
  }
}

/** True if launches run every kernel of all modules, lowered for the base plan. */
export async function allLaunched(modules: readonly Module[], plans: Plans): Promise<boolean> {
  for (const m of modules) if (!isLaunched(m, await plans.plan({ name: 'base' }, m.target))) return false;
  return true;
}

/** Specs with the order that results from moves. */
const withMoves = (specs: Specs, order: string, moves: readonly Move[]): Specs =>
  withSpec(specs, movedOrder(order, moves), MOVED);

/** The specs and the request for a plan in whose order phases are moved. */
export const movedRequest = (
  specs: Specs,
  request: PlanRequest,
  moves: readonly Move[],
): { readonly specs: Specs; readonly request: PlanRequest } =>
  moves.length === 0
    ? { specs, request }
    : { specs: withMoves(specs, request.order, moves), request: { ...request, order: MOVED } };

/** An order that extends another by moves. There is no file, so its faults are reported for the words of the arm. */
const movedOrder = (order: string, moves: readonly Move[]): SpecFile => ({
  file: moves.map(moveText).join(' '),
  text: '',
  kind: 'order',
  data: { kind: 'order', extends: order, edits: moves.map((m) => ({ move: m.phase, [m.at]: m.anchor })) },
});

/** The YAML of an order that extends another by moves. */
export const orderText = (order: string, moves: readonly Move[], title?: string): string =>
  [
    'kind: order',
    ...(title === undefined ? [] : [`title: ${yamlScalar(title)}`]),
    `extends: ${yamlScalar(order)}`,
    'edits:',
    ...moves.map((m) => `  - { move: ${m.phase}, ${m.at}: ${m.anchor} }`),
    '',
  ].join('\n');

/** A command-line error. */
export const usageFault = (message: string, ...notes: readonly string[]): DiagnosticError =>
  fileError('', message, notes);
