import type { Fn } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { frequencyOf } from '../flow/frequency.ts';
import { loopsOf } from '../loops/loops.ts';
import { type Limits, type Occupancy, occupancyUnder } from '../registers/occupancy.ts';
import { blockTime, type Times } from './block-time.ts';

/** The numbers of a target used to estimate a function. */
export interface Target extends Times {
  readonly limits: Limits;
  /** Bytes of an encoded instruction. */
  readonly instructionBytes: number;
}

/**
 * The target that a back end's facts describe.
 *
 * @param fact returns a fact by its path, like `factOf` and `PassContext.fact`
 */
export const targetBy = (fact: (path: string) => unknown): Target => ({
  costs: (fact('costs') ?? {}) as Target['costs'],
  latencies: (fact('latencies') ?? {}) as Target['latencies'],
  limits: (fact('limits') ?? {}) as Limits,
  instructionBytes: Number(fact('encoding.instruction-bytes') ?? 0),
});

/** Estimated time of a function, for one warp alone, in cycles. */
export interface FunctionTime {
  /** Sum of the times of all blocks, weighted by how often they run (`frequencyOf`). */
  readonly average: number;
  /** Time of the slowest path, where every loop on the path runs as often as on average. */
  readonly worst: number;
  /** Instructions issued, and cycles of each unit, weighted by how often blocks run. */
  readonly issued: number;
  readonly units: Readonly<Record<string, number>>;
}

/**
 * Estimates a function with a target's tables. What `blockTime` ignores is ignored here too. The worst case is a
 * longest path in the flow graph without the edges that go backwards in reverse post-order, so cycles with several
 * entries count once on it; it is never less than the average.
 */
export function functionTime(fn: Fn, target: Target): FunctionTime {
  const g = cfgOf(fn);
  const { block: runs } = frequencyOf(fn);
  const rounds = roundsOf(fn);
  const longest = new Float64Array(g.count);
  const units: Record<string, number> = {};
  let average = 0;
  let worst = 0;
  let issued = 0;
  for (const b of g.rpo) {
    const t = blockTime(fn.blocks[b], target);
    average += runs[b] * t.alone;
    issued += runs[b] * t.instructions;
    for (const [unit, cycles] of Object.entries(t.units)) units[unit] = (units[unit] ?? 0) + runs[b] * cycles;
    let before = 0;
    for (let e = g.predStart[b]; e < g.predStart[b + 1]; e++) {
      const p = g.pred[e];
      if (g.rpoNumber[p] >= 0 && g.rpoNumber[p] < g.rpoNumber[b]) before = Math.max(before, longest[p]);
    }
    longest[b] = before + rounds[b] * t.alone;
    worst = Math.max(worst, longest[b]);
  }
  return { average, worst: Math.max(worst, average), issued, units };
}

/** By position: how often a block runs on a path through it, given the loops around it. */
function roundsOf(fn: Fn): Float64Array {
  const g = cfgOf(fn);
  const { block: runs, probability } = frequencyOf(fn);
  const forest = loopsOf(fn);
  const of = new Float64Array(forest.loops.length);
  for (const { id, header, latches, parent } of forest.loops) {
    const back = new Set(latches);
    let entered = 0;
    for (let i = g.predStart[header]; i < g.predStart[header + 1]; i++) {
      const p = g.pred[i];
      if (back.has(p)) continue;
      for (let e = g.succStart[p]; e < g.succStart[p + 1]; e++)
        if (g.succ[e] === header) entered += runs[p] * probability[e];
    }
    // The function's entry is entered once without an edge.
    if (g.rpo[0] === header) entered += 1;
    of[id] = (parent < 0 ? 1 : of[parent]) * (entered > 0 ? runs[header] / entered : 1);
  }
  return Float64Array.from(forest.innermost, (l) => (l < 0 ? 1 : of[l]));
}

/** The limits on the throughput of an SM for a kernel, in warps completed per cycle, each as if it were the only limit. */
export interface Throughput {
  readonly issue: number;
  /** By unit. */
  readonly unit: (unit: string) => number;
  /** With as many warps resident as one resource allows, each as fast as a warp alone. */
  readonly registers: number;
  readonly warps: number;
  readonly shared: number;
  readonly occupancy: Occupancy;
}

/** Throughputs of a kernel; infinite for a resource that it does not use. */
export function throughputOf(
  time: FunctionTime,
  target: Target,
  use: { readonly threads: number; readonly registers: number; readonly shared: number },
): Throughput {
  const parts = Number(target.limits.subpartitions ?? 1);
  const over = (n: number, cycles: number): number => (cycles > 0 ? n / cycles : Infinity);
  const occupancy = occupancyUnder(target.limits, use);
  const warps = Math.ceil(use.threads / Number(target.limits['warp-size'] ?? 32));
  const resident = (blocks: number): number => over(blocks * warps, time.average);
  return {
    issue: over(parts, time.issued),
    unit: (unit) => over(parts, time.units[unit] ?? 0),
    registers: resident(occupancy.by.registers),
    warps: resident(occupancy.by.threads),
    shared: resident(occupancy.by.shared),
    occupancy,
  };
}
