import { blockTime, type Times } from '../analysis/schedule/block-time.ts';
import type { Fn } from '../ir/program.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';

/** The parameters of the estimate for a target: `costs` and `latencies` of its back end, in cycles. */
export interface Timing extends Times {
  readonly subpartitions: number;
}

/** The parameters of a back end; null if it lacks them, as those of older commits do. */
export function timingOf(backend: Backend): Timing | null {
  const costs = factOf(backend, 'costs') as Timing['costs'] | undefined;
  const latencies = factOf(backend, 'latencies') as Timing['latencies'] | undefined;
  if (costs === undefined || latencies === undefined) return null;
  return { costs, latencies, subpartitions: Number(factOf(backend, 'limits.subpartitions')) };
}

/** Execution counts of a grid. */
export interface GridRun {
  readonly functions: readonly Fn[];
  /** How often warps ran each block, by function name and block id. */
  readonly blocks: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /** Number of warps that are resident on an SM at once. */
  readonly resident: number;
}

/**
 * Estimates the cycles that one SM takes for the whole grid: the larger of its throughput bound (the work of the busiest unit, which all
 * warps share) and its latency bound (the latency of all warps, divided by the number of resident warps, which wait at the same time). This
 * is the model of Hong and Kim, "An Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism Awareness",
 * 2009, without their bandwidth term. Every load has the latency of its space in `latencies`. Bank conflicts, bandwidth and the instruction
 * cache are ignored, so the estimate ranks versions of one kernel but does not predict a time.
 */
export function estimateCycles(run: GridRun, t: Timing): number {
  const busy: Record<string, number> = {};
  let issue = 0;
  let waited = 0;
  for (const fn of run.functions) {
    const counts = run.blocks[fn.name];
    if (counts === undefined) continue;
    for (let b = 0; b < fn.blocks.length; b++) {
      const n = counts[fn.blocks[b].id] ?? 0;
      if (n === 0) continue;
      const c = blockTime(fn.blocks[b], t);
      issue += n * c.instructions;
      waited += n * c.alone;
      for (const [unit, cycles] of Object.entries(c.units)) busy[unit] = (busy[unit] ?? 0) + n * cycles;
    }
  }
  const busiest = Math.max(issue, ...Object.values(busy)) / t.subpartitions;
  return Math.round(Math.max(busiest, waited / Math.max(1, run.resident)));
}
