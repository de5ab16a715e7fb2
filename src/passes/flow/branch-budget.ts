/** Knob 464: each rewrite of branches takes one unit; unset means no limit (seed 003, reference knobs). */
export const BUDGET = 'MergeEquivalentConditionalFlowBudget';
