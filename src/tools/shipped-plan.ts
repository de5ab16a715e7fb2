import { host } from '../engine/pipeline.ts';
import { makePlan } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { DEFAULT_ORDER, type PlanRequest, type Specs } from '../spec/specs.ts';

/**
 * The shipped plan for a target: level 3, the default order, and no settings.
 *
 * @param changes request fields that replace these
 * @throws Error if the shipped specs do not resolve
 */
export async function shippedPlan(
  specs: Specs,
  sm: string,
  changes: Partial<PlanRequest> = {},
): Promise<Plan> {
  const { plan } = await makePlan(
    { level: 3, sm, order: DEFAULT_ORDER, knobSets: [], set: [], disable: [], ...changes },
    host,
    specs,
  );
  if (plan === null) throw new Error(`the shipped plan for ${sm} does not resolve`);
  return plan;
}
