import type { Plan } from '../../spec/plan.ts';
import { beforeEachCommand } from '../command-state.ts';
import type { PlanOptions } from './options.ts';

/** What a command was about when it failed, beside the files that it read. */
export interface Situation {
  /** Text of standard input; null where it was not read. */
  stdin: string | null;
  /** The last plan that was made, and from what. */
  plan: Plan | null;
  options: PlanOptions;
}

/** Of the command that runs now. */
export const situation: Situation = { stdin: null, plan: null, options: {} };
beforeEachCommand(() => Object.assign(situation, { stdin: null, plan: null, options: {} }));
