import { blockTime, type Times } from '../analysis/schedule/block-time.ts';
import type { Fn } from '../ir/program.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';

/** The numbers of a target that the estimate uses: `costs` and `latencies` of its back end. */
export interface Timing extends Times {
  readonly subpartitions: number;
}

/** The numbers of a back end; null if its specs (those of an older commit) lack them. */
export function timingOf(backend: Backend): Timing | null {
  const costs = factOf(backend, 'costs') as Timing['costs'] | undefined;
  const latencies = factOf(backend, 'latencies') as Timing['latencies'] | undefined;
  if (costs === undefined || latencies === undefined) return null;
  return { costs, latencies, subpartitions: Number(factOf(backend, 'limits.subpartitions')) };
}

/** A run of a grid: how often warps ran each block, and how many warps share an SM. */
export interface GridRun {
  readonly functions: readonly Fn[];
  /** Runs of blocks by warps: function, block id. */
  readonly blocks: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /** Warps that are on the SM at once. */
  readonly resident: number;
}

/**
 * Cycles that one SM takes for the whole grid: the larger of the work of its busiest unit (shared by all warps) and
 * the latency of the warps (resident warps wait at the same time). A standard two-sided bound (Hong and Kim, "An
 * Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism Awareness", 2009, without
 * their bandwidth term). Loads hit where `latencies` says. Bank conflicts, bandwidth and the instruction cache are
 * ignored, so this ranks versions of one kernel but does not predict a time.
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
