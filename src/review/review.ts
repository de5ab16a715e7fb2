import { host } from '../engine/pipeline.ts';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { REFUTED } from '../rules/prove/refute.ts';
import { ownFaults } from '../spec/node-check.ts';
import { groupsOf, type Plan } from '../spec/plan.ts';
import { DEFAULT_ORDER, type PlanRequest, type Specs } from '../spec/specs.ts';
import { BUDGET, type Budgets, budgetChanges } from './budget-changes.ts';
import { type Change, type Fault, faultsOf, KINDS, type PlanPair, planChanges } from './changes.ts';
import { canonical } from './data-diff.ts';
import { catalogChanges, declarationChanges, equalExceptTexts, groupChanges } from './declarations.ts';
import { constraintChanges, documentChanges, opcodeChanges, otherChanges } from './documents.ts';
import { NO_FILES, type OtherFiles } from './files.ts';
import { madePlan } from './made-plans.ts';
import { filesOf } from './places.ts';
import { checkScope, hasAll, mainParts, type Requested, requestsOf, type Scope } from './requests.ts';
import { type Jury, type RuleSide, ruleChanges } from './rules.ts';

/** The difference between two states of the specs, before anything is measured. */
export interface Differences {
  readonly base: string;
  readonly head: string;
  readonly changes: readonly Change[];
  /** Faults of the head: plans that do not resolve, and errors of changed specs. */
  readonly faults: readonly Fault[];
  /** Warnings of the head's plans that the base's do not have. */
  readonly warnings: readonly Fault[];
  /** Names of all compared plans, to recognize changes that apply to all of them. */
  readonly plans: readonly string[];
  /** True if the two sides differ; null if none differs so far but faults of the head leave it open. */
  readonly differs: boolean | null;
  /** Names of the plans that both sides have and that changed. */
  readonly differing: readonly string[];
  readonly requests: readonly Requested[];
  /** Paths of files that differ and that nothing here judges: code, what builds and runs it, and kernels. */
  readonly unread: readonly string[];
}

/**
 * Compares the meaning of two states of the specs.
 *
 * @param jury decides whether rules hold
 * @param budgets limits, whose changes are reported too
 * @param tell called with a description of each step
 * @param files differing files beside the specs of plans
 * @throws DiagnosticError if the scope names a target or a level that does not exist
 */
export async function differences(
  names: readonly [base: string, head: string],
  base: Specs,
  head: Specs,
  scope: Scope,
  jury: Jury,
  budgets: Budgets,
  tell: (text: string) => void = () => undefined,
  files: OtherFiles = NO_FILES,
): Promise<Differences> {
  checkScope(base, head, scope);
  const requests = requestsOf(base, head, scope);
  const pairs: PlanPair[] = [];
  for (const r of requests) {
    tell(`plan ${pairs.length + 1} of ${requests.length}: ${r.name}`);
    pairs.push(await pairOf(r, base, head));
  }
  const isaOf = (of: 'base' | 'head') => pairs.map((p) => p[of]).find((p) => p !== null)?.isa ?? null;
  const sides: [RuleSide, RuleSide] = [
    { specs: base, isa: isaOf('base') },
    { specs: head, isa: isaOf('head') },
  ];
  tell('faults of specs and rules');
  const faults = faultsOf(
    [...pairs.flatMap((p) => p.faults), ...(await ownFaultsOf(base, head, pairs))],
    head,
  );
  const warnings = faultsOf(
    pairs.flatMap((p) => p.warnings),
    head,
  );
  const differing = whereBoth(pairs, (a, b) => a.hash !== b.hash);
  const inPlans = planChanges(pairs, base, head);
  const whereOf = (group: string) =>
    whereBoth(pairs, (a, b) => a.rules.get(group)?.hash !== b.rules.get(group)?.hash);
  const rules = await ruleChanges(...sides, whereMeant(pairs, whereOf), jury);
  const changes = [
    ...inPlans,
    ...catalogChanges(base, head, new Set(inPlans.filter((c) => c.kind === 'knob').map((c) => c.name))),
    ...declarationChanges(base, head, differing),
    ...groupChanges(base, head, whereOf, rules.provedAgain),
    ...rules.changes,
    ...documentChanges(base, head, pairs, inPlans),
    ...opcodeChanges(
      base,
      head,
      whereBoth(pairs, (a, b) => a.isa.hash !== b.isa.hash),
      rules.provedAgain,
    ),
    ...constraintChanges(base, head),
    ...otherChanges(base, head, inPlans, mains(pairs)),
    ...budgetChanges(budgets, jury.accepted.has(BUDGET)),
    ...files.changes,
  ].sort(
    (x, y) =>
      Number(x.cause !== undefined) - Number(y.cause !== undefined) ||
      (x.cause === undefined ? 0 : Number(y.refuted === true) - Number(x.refuted === true)) ||
      KINDS.indexOf(x.kind) - KINDS.indexOf(y.kind),
  );
  const moved = differing.length > 0 && !(changes.length === 0 && equalExceptTexts(base, head));
  return {
    base: names[0],
    head: names[1],
    changes,
    faults,
    warnings,
    plans: pairs.map((p) => p.where),
    differs: moved || changes.length > 0 ? true : faults.length > 0 ? null : false,
    differing: moved ? differing : [],
    requests,
    unread: files.unread,
  };
}

/** Errors in specs of the head that no plan shows, because none uses them or because only all rules together have them. */
async function ownFaultsOf(base: Specs, head: Specs, pairs: readonly PlanPair[]): Promise<Diagnostic[]> {
  // What rules do to one another takes seconds to find. It depends on rules and opcodes, on the groups of each phase, and on costs.
  const texts = (s: Specs) => [...(s.rules?.values() ?? []), ...s.isa].map((f) => [f.kind, f.data]);
  const use = (p: Plan) => canonical([p.phases.map(groupsOf), p.backend.facts.costs]);
  const isSame =
    canonical(texts(base)) === canonical(texts(head)) &&
    whereBoth(pairs, (a, b) => use(a) !== use(b)).length === 0;
  const found: Diagnostic[] = [];
  for (const f of filesOf(head).values())
    found.push(...(await ownFaults(f, head, isSame ? new Set<string>() : host)));
  // A refuted rule is reported as an alarm, with its counterexample.
  return found.filter((d) => d.severity === 'error' && d.code !== REFUTED);
}

/** The plans of both sides for a request; a side that lacks something that the request names has none. */
async function pairOf({ name, request, of }: Requested, base: Specs, head: Specs): Promise<PlanPair> {
  const side = async (specs: Specs, r = request) => (hasAll(specs, r) ? madePlan(specs, r) : null);
  const [a, b] = [await side(base), await side(head)];
  // Lines move, and positions in notes with them.
  const messagesBefore = new Set(a?.diagnostics.map((d) => d.message));
  const other =
    of !== null && a === null && b?.plan != null ? withoutAdded({ name, request, of }, head) : null;
  return {
    where: name,
    base: a?.plan ?? null,
    head: b?.plan ?? null,
    without: other === null ? null : ((await side(head, other))?.plan ?? null),
    faults: b?.diagnostics.filter((d) => d.severity === 'error') ?? [],
    warnings: b?.diagnostics.filter((d) => d.severity === 'warning' && !messagesBefore.has(d.message)) ?? [],
  };
}

/** The request without its document; an order is replaced by the one that it extends. Null if that order does not exist. */
export function withoutAdded({ request, of }: Requested, specs: Specs): PlanRequest | null {
  if (of?.what !== 'order') return { ...request, recipes: [], knobSets: [], set: [] };
  const order = String(specs.orders.get(of.name)?.data.extends ?? DEFAULT_ORDER);
  return specs.orders.has(order) ? { ...request, order } : null;
}

/** Names of the plans that both sides have and for which something holds. */
const whereBoth = (pairs: readonly PlanPair[], holds: (a: Plan, b: Plan) => boolean): string[] =>
  pairs.flatMap(({ where, base, head }) =>
    base !== null && head !== null && holds(base, head) ? [where] : [],
  );

/** Names of the plans in which a rule group changed, or in which it is present and the instruction set changed. */
const whereMeant =
  (pairs: readonly PlanPair[], whereOf: (group: string) => readonly string[]) =>
  (group: string): readonly string[] => [
    ...new Set([
      ...whereOf(group),
      ...whereBoth(pairs, (a, b) => b.rules.has(group) && a.isa.hash !== b.isa.hash),
    ]),
  ];

/** Names of the plans of targets and levels that both sides have. */
const mains = (pairs: readonly PlanPair[]): string[] =>
  whereBoth(pairs, () => true).filter((name) => mainParts(name) !== null);
