import type { Plan } from '../../spec/plan.ts';

/** Rule groups that functions run in a plan. */
export const rulesOf = (plan: Plan): Plan['rules'] =>
  new Map([plan, ...plan.cases.map((c) => plan.variant(c))].flatMap((p) => [...p.rules]));

/** Whether a plan runs rules that do not ship. */
export const runsForeign = (plan: Plan): boolean =>
  [...rulesOf(plan).values()].some((doc) => doc.wholeFor === null);
