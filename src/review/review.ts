import { host } from '../engine/pipeline.ts';
import { DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import type { AbResult } from '../lab/ab.ts';
import { makePlan } from '../spec/node.ts';
import { DEFAULT_ORDER, MAX_LEVEL, type PlanRequest, type Specs } from '../spec/specs.ts';
import { targetHint, targetsOf } from '../spec/targets.ts';
import { type BrokenLimit, type Budget, brokenLimits } from './budget.ts';
import {
  type Change,
  constraintChanges,
  documentChanges,
  type Fault,
  faultsOf,
  KINDS,
  opcodeChanges,
  type PlanPair,
  planChanges,
} from './changes.ts';
import { catalogChanges, declarationChanges, equalExceptTexts, groupChanges } from './declarations.ts';
import { type Jury, type RuleSide, ruleChanges } from './rules.ts';

/** The difference between two states of the specs. */
export interface Review {
  readonly base: string;
  readonly head: string;
  readonly changes: readonly Change[];
  /** Faults of the head: plans that do not resolve. */
  readonly faults: readonly Fault[];
  /** Names of all resolved plans, to tell what applies to all of them. */
  readonly plans: readonly string[];
  /** Whether some plan of the head means something different from the base's; null if faults of the head leave it open. */
  readonly differs: boolean | null;
  /** Effect on kernels; null if it was not requested or nothing differs. */
  readonly kernels: AbResult | null;
  /** Limits of the repository that the head breaks. */
  readonly broken: readonly BrokenLimit[];
}

/** The plans to compare: every shipped target and level, and the plans that specs add to them. */
export interface Scope {
  /** Only this target. */
  readonly sm: string | null;
  readonly level: number | null;
}

const PLAIN: PlanRequest = {
  level: null,
  sm: '',
  order: DEFAULT_ORDER,
  knobSets: [],
  set: [],
  disable: [],
  // A review tells of wrong rules itself.
  wrongRules: 'run',
};

/**
 * A scope without plans would find no difference, whatever differs.
 *
 * @throws DiagnosticError if there is no such level, or neither side has the target
 */
export function checkScope(base: Specs, head: Specs, { sm, level }: Scope): void {
  const fault = (message: string, notes: readonly string[] = []): never => {
    throw new DiagnosticError([fileFault('', message, notes)]);
  };
  if (level !== null && !(Number.isInteger(level) && level >= 0 && level <= MAX_LEVEL))
    fault(`optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const targets = targetsOf(base, head);
  if (sm === null || targets.includes(sm)) return;
  fault(`there is no back end for '${sm}'`, [targetHint(sm, targets)]);
}

/** Every plan request that follows from the specs of both sides, by name. */
function requestsOf(base: Specs, head: Specs, scope: Scope): Map<string, PlanRequest> {
  const out = new Map<string, PlanRequest>();
  const targets = targetsOf(base, head).filter((sm) => scope.sm === null || sm === scope.sm);
  const levels = Array.from({ length: MAX_LEVEL + 1 }, (_, i) => i).filter(
    (l) => scope.level === null || l === scope.level,
  );
  for (const sm of targets) for (const level of levels) out.set(`${sm} -O${level}`, { ...PLAIN, sm, level });
  const usual = targets.includes('sm_90') ? 'sm_90' : targets[0];
  if (usual === undefined) return out;
  for (const order of new Set([...base.orders.keys(), ...head.orders.keys()]))
    if (order !== DEFAULT_ORDER) out.set(`order ${order}`, { ...PLAIN, sm: usual, order });
  for (const [name, f] of new Map([...base.recipes, ...head.recipes])) {
    const sms = (f.data.sm as readonly string[] | undefined) ?? [usual];
    for (const sm of sms.filter((x) => targets.includes(x)).slice(0, 1))
      out.set(`recipe ${name}`, { ...PLAIN, sm, recipes: [name] });
  }
  for (const name of new Set([...base.knobSets.keys(), ...head.knobSets.keys()]))
    out.set(`knob set ${name}`, { ...PLAIN, sm: usual, knobSets: [name] });
  return out;
}

/** Does a side have everything that a request names? */
const has = (specs: Specs, r: PlanRequest): boolean =>
  specs.orders.has(r.order) &&
  (r.recipes ?? []).every((n) => specs.recipes.has(n)) &&
  r.knobSets.every((k) => specs.knobSets.has(k)) &&
  [...specs.backends.values()].some((f) => f.data.sm === r.sm);

/**
 * Compares the meaning of two states of the specs.
 *
 * @param jury says whether rules hold
 * @param effect measures the effect on kernels; called if some plan differs and all resolve
 * @param budget limits that the head must keep, if there are any
 * @param tell is told what is being done
 * @throws DiagnosticError if the scope names a target or a level that there is not
 */
export async function review(
  names: readonly [base: string, head: string],
  base: Specs,
  head: Specs,
  scope: Scope,
  jury: Jury,
  effect: () => Promise<AbResult | null>,
  budget: Budget | null,
  tell: (text: string) => void = () => undefined,
): Promise<Review> {
  checkScope(base, head, scope);
  const pairs: PlanPair[] = [];
  const requests = requestsOf(base, head, scope);
  for (const [where, request] of requests) {
    tell(`plan ${pairs.length + 1} of ${requests.size}: ${where}`);
    const side = async (specs: Specs) => (has(specs, request) ? makePlan(request, host, specs) : null);
    const [a, b] = [await side(base), await side(head)];
    pairs.push({
      where,
      base: a?.plan ?? null,
      head: b?.plan ?? null,
      faults: b?.diagnostics.filter((d) => d.severity === 'error') ?? [],
    });
  }
  const side = (of: 'base' | 'head', specs: Specs): RuleSide => ({
    specs,
    isa: pairs.map((p) => p[of]).find((p) => p !== null)?.isa ?? null,
  });
  const faults = faultsOf(pairs, head);
  const inPlans = planChanges(pairs, base, head);
  const rules = await ruleChanges(side('base', base), side('head', head), jury);
  const changes = [
    ...inPlans,
    ...catalogChanges(base, head, new Set(inPlans.filter((c) => c.kind === 'knob').map((c) => c.name))),
    ...declarationChanges(base, head),
    ...groupChanges(base, head, rules.provedAgain),
    ...rules.changes,
    ...documentChanges(base, head),
    ...opcodeChanges(base, head, rules.provedAgain),
    ...constraintChanges(base, head),
  ].sort((x, y) => KINDS.indexOf(x.kind) - KINDS.indexOf(y.kind));
  const other = pairs.some((p) => p.base !== null && p.head !== null && p.base.hash !== p.head.hash);
  const moved = other && !(changes.length === 0 && equalExceptTexts(base, head));
  const kernels = moved && faults.length === 0 ? await effect() : null;
  return {
    base: names[0],
    head: names[1],
    changes,
    faults,
    plans: pairs.map((p) => p.where),
    differs: moved || changes.length > 0 ? true : faults.length > 0 ? null : false,
    kernels,
    broken: budget === null || kernels === null ? [] : brokenLimits(budget, kernels),
  };
}
