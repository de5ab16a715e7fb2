import { workerData } from 'node:worker_threads';
import { prove, timesLimits } from '../../rules/prove/prove.ts';
import type { Verdict } from '../../rules/prove/verdict.ts';
import type { PlanOptions } from '../input/options.ts';
import { serveTasks } from '../server/serve.ts';
import { bookFor } from './rules.ts';
import { openSolver } from './solver.ts';

/** Settings of a worker thread that proves rules. */
export interface ProveWorker {
  readonly role: 'prove';
  readonly options: PlanOptions;
  readonly solver: string | undefined;
  readonly effort: number;
}

/** Result of a worker for a rule: a verdict, or the reason why the solver cannot be used. */
export type Proved = { readonly verdict: Verdict } | { readonly fault: string };

/** Proves rules in this thread: it receives their indices among the rules of its options. */
export async function serveRules(): Promise<void> {
  const { options, solver, effort } = workerData as ProveWorker;
  const { rules } = await bookFor(options);
  const { solve, close } = openSolver(solver);
  const limits = timesLimits(effort);

  const proved = async (at: number): Promise<Proved> => {
    try {
      return { verdict: await prove(rules[at], solve, limits) };
    } catch (e) {
      return { fault: (e as Error).message };
    }
  };

  serveTasks(proved, close);
}
