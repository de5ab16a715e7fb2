// A thread that proves rules: it is sent their places among the rules of its options.
import { parentPort, workerData } from 'node:worker_threads';
import { prove, timesLimits } from '../rules/prove/prove.ts';
import type { Verdict } from '../rules/prove/verdict.ts';
import type { PlanOptions } from './options.ts';
import { bookFor } from './rules.ts';
import { openSolver } from './solver.ts';

/** What a worker is given when it starts. */
export interface ProveWork {
  readonly options: PlanOptions;
  readonly solver: string | undefined;
  readonly effort: number;
}

/** What a worker says of a rule: a verdict, or why the solver cannot be used. */
export type Proved = { readonly verdict: Verdict } | { readonly fault: string };

const { options, solver, effort } = workerData as ProveWork;
const { rules } = await bookFor(options);
const { solve, close } = openSolver(solver);
const limits = timesLimits(effort);

async function proved(at: number): Promise<Proved> {
  try {
    return { verdict: await prove(rules[at], solve, limits) };
  } catch (e) {
    return { fault: (e as Error).message };
  }
}

parentPort!.on('message', async (places: readonly number[] | null) => {
  if (places === null) {
    close();
    return parentPort!.close();
  }
  for (const at of places) parentPort!.postMessage([at, await proved(at)]);
});
