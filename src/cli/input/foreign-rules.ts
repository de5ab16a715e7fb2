import type { Plan } from '../../spec/plan.ts';

/** Rule groups that functions run by a plan. */
export const rulesOf = (plan: Plan): Plan['rules'] =>
  new Map([plan, ...plan.cases.map((c) => plan.variant(c))].flatMap((p) => [...p.rules]));

/** Whether functions run rules by a plan that do not ship. */
export const runsForeign = (plan: Plan): boolean =>
  [...rulesOf(plan).values()].some((doc) => doc.wholeFor === null);
