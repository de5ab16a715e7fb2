import { host } from '../engine/pipeline.ts';
import type { Diagnostic } from '../ir/diagnostic.ts';
import { makePlan } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import type { PlanRequest, Specs } from '../spec/specs.ts';

/** A plan, or why there is none. */
export interface MadePlan {
  readonly plan: Plan | null;
  readonly diagnostics: readonly Diagnostic[];
}

const plansBySpecs = new WeakMap<Specs, Map<string, Promise<MadePlan>>>();

/** The plan of a request; resolved once for the same specs object. */
export function madePlan(specs: Specs, request: PlanRequest): Promise<MadePlan> {
  let plans = plansBySpecs.get(specs);
  if (plans === undefined) plansBySpecs.set(specs, (plans = new Map()));
  const key = JSON.stringify(request);
  let made = plans.get(key);
  if (made === undefined) plans.set(key, (made = makePlan(request, host, specs)));
  return made;
}
