import type { Plan } from '../spec/plan.ts';
import type { PlanOptions } from './options.ts';

/** What a command was about when it failed, beside the files that it read. */
export interface Situation {
  /** Text of standard input; null where it was not read. */
  stdin: string | null;
  /** The last plan that was made, and from what. */
  plan: Plan | null;
  options: PlanOptions;
}

/** Of this process. */
export const situation: Situation = { stdin: null, plan: null, options: {} };
