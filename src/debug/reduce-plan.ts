import { host } from '../engine/pipeline.ts';
import { withSpec } from '../spec/collect.ts';
import type { SpecFile } from '../spec/document.ts';
import { APPLY_PHASE } from '../spec/manager.ts';
import type { Plan, PlanPhase } from '../spec/plan.ts';
import { type PlanRequest, resolve, type Specs } from '../spec/resolve.ts';
import { attempt } from './attempt.ts';
import type { Subject } from './judge.ts';
import { fewest, type Limits } from './parts.ts';
import { type Failing, isFault, stillFails, undefinedIn } from './reduce.ts';

/** The request for a plan, and specs that include the files that it names. */
export interface PlanSource {
  readonly specs: Specs;
  readonly request: PlanRequest;
}

/** A plan with a minimal set of phases and settings that still shows the failure. */
export interface ReducedPlan {
  readonly plan: Plan;
  readonly request: PlanRequest;
  /** The reduced order, as data of a spec; null if the requested order is kept. */
  readonly order: Readonly<Record<string, unknown>> | null;
  /** Number of phases that run something, in the reduced and in the original plan. */
  readonly phases: number;
  readonly of: number;
  readonly tests: number;
}

/** Name of the order being tried; no file can have this name. */
const REDUCED = '<reduced>';

/** The plan with an order given as data, or with the requested one; null if it is illegal. */
function planWith(
  { specs, request }: PlanSource,
  data: Readonly<Record<string, unknown>> | null,
): Plan | null {
  if (data === null) return resolve(specs, request, host).plan;
  const file: SpecFile = { file: REDUCED, text: '', kind: 'order', data };
  return resolve(withSpec(specs, file), { ...request, order: REDUCED, disable: [] }, host).plan;
}

/** The given phases, all required ones, and those that provide the IR properties that these need, transitively. */
function withProviders({ phases }: Plan, ids: readonly string[]): ReadonlySet<string> {
  const out = new Set(ids);
  for (const p of phases) if (p.required) out.add(p.id);
  /** For each property, the last phase so far that provides it. */
  const provider = new Map<string, PlanPhase>();
  const add = (p: PlanPhase): void => {
    out.add(p.id);
    for (const need of p.requires) {
      const by = provider.get(need);
      if (by !== undefined && !out.has(by.id)) add(by);
    }
  };
  for (const p of phases) {
    if (p.disabled !== null) continue;
    if (out.has(p.id)) add(p);
    for (const x of p.provides) provider.set(x, p);
  }
  return out;
}

/** Orders that run only the given phases and those that they need, the more readable form first: a full list, or edits that drop others. */
function ordersOf(
  ids: readonly string[],
  plan: Plan,
  request: PlanRequest,
): readonly Readonly<Record<string, unknown>>[] {
  const title = 'the fewest phases that still go wrong';
  const all = withProviders(plan, ids);
  const kept = plan.phases.filter((p) => all.has(p.id)).map((p) => p.id);
  const dropped = plan.phases.filter((p) => !all.has(p.id)).map((p) => ({ drop: p.id }));
  return [
    { kind: 'order', title, phases: kept },
    { kind: 'order', title, extends: request.order, edits: dropped },
  ];
}

/**
 * Removes phases from a plan, then recipes, knob sets, knobs and rules, as long as the program fails in the same way. Required phases are
 * kept, and every intermediate plan is legal.
 *
 * @param tell called with a description of each test
 */
export async function reducePlan(
  subject: Subject,
  source: PlanSource,
  failing: Failing,
  limits: Limits,
  tell: (text: string) => void = () => {},
): Promise<ReducedPlan> {
  const undef = undefinedIn(subject.program);
  const { plan } = subject;
  let tests = 0;
  const fails = async (p: Plan | null): Promise<boolean> => {
    if (p === null) return false;
    tests++;
    tell(`plan, test ${tests}`);
    return stillFails({ ...subject, plan: p }, failing, undef);
  };

  const run = attempt(subject, { verify: isFault(failing.failure) });
  const busy = new Set(run.records.filter((r) => r.blocksChanged > 0).map((r) => r.phase.id));
  // A phase that threw has no record.
  if (run.where !== null) busy.add(run.where.phase);
  // Phases whose steps recipes bind for some functions only count too, as does the phase that applies recipes.
  const plans = [plan, ...plan.cases.map((c) => plan.variant(c))];
  const running = plan.phases.filter((_, i) => plans.some((x) => runs(x.phases[i])));
  if (plan.recipes.length > 0) busy.add(APPLY_PHASE);
  let best: ReducedPlan = {
    plan,
    request: source.request,
    order: null,
    phases: running.length,
    of: running.length,
    tests,
  };
  /** Tries a plan with only these phases; it becomes the best one if it fails. */
  const tryPhases = async (ids: readonly string[]): Promise<boolean> => {
    for (const order of ordersOf(ids, plan, source.request)) {
      const p = planWith(source, order);
      if (!(await fails(p))) continue;
      const phases = p!.phases.filter((x) => x.steps.length > 0 && x.disabled === null).length;
      best = { ...best, plan: p!, order, phases, request: { ...best.request, disable: [] } };
      return true;
    }
    return false;
  };
  const optional = running.filter((p) => !p.required).map((p) => p.id);
  const those = optional.filter((id) => busy.has(id));
  // Phases that changed nothing are usually not needed, so they are removed first; if that loses the failure, all phases are considered.
  const start = (await tryPhases(those)) ? those : (await tryPhases(optional)) ? optional : [];
  await fewest(start, tryPhases, limits);

  const settings = settingsOf(best.request);
  await fewest(
    settings,
    async (kept) => {
      const request = withSettings(best.request, kept);
      const p = planWith({ specs: source.specs, request }, best.order);
      if (!(await fails(p))) return false;
      best = { ...best, plan: p!, request };
      return true;
    },
    limits,
  );
  return { ...best, tests };
}

const runs = (p: PlanPhase): boolean => p.steps.length > 0 && p.disabled === null;

/** A part of a request that may be removed. */
type Setting = readonly ['recipes' | 'knobSets' | 'set' | 'rules' | 'disable', string];

const settingsOf = (r: PlanRequest): Setting[] => [
  ...(r.recipes ?? []).map((x) => ['recipes', x] as const),
  ...r.knobSets.map((x) => ['knobSets', x] as const),
  ...r.set.map((x) => ['set', x] as const),
  ...(r.rules ?? []).map((x) => ['rules', x] as const),
  ...r.disable.map((x) => ['disable', x] as const),
];

function withSettings(r: PlanRequest, kept: readonly Setting[]): PlanRequest {
  const of = (kind: Setting[0]): string[] => kept.filter((s) => s[0] === kind).map((s) => s[1]);
  return {
    ...r,
    recipes: of('recipes'),
    knobSets: of('knobSets'),
    set: of('set'),
    rules: of('rules'),
    disable: of('disable'),
  };
}
