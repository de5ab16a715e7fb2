import type { Plan } from '../../spec/plan.ts';
import { beforeEachCommand } from '../command-state.ts';
import type { PlanOptions } from './options.ts';

/** State of a command for a failure report, in addition to the files that it read. */
export interface Situation {
  /** Text of standard input; null where it was not read. */
  stdin: string | null;
  /** The last plan that was made, and its source. */
  plan: Plan | null;
  options: PlanOptions;
}

/** Situation of the current command. */
export const situation: Situation = { stdin: null, plan: null, options: {} };
beforeEachCommand(() => Object.assign(situation, { stdin: null, plan: null, options: {} }));
