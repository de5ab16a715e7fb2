import { reads } from '../analysis/liveness.ts';
import { isPhi } from '../ir/flow.ts';
import { NO_REG, regIndex } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { instrCost } from '../rules/cost.ts';
import { factOf } from '../spec/backend.ts';
import type { Backend } from '../spec/plan.ts';

/** The numbers of a target that the estimate goes by: `costs` and `latencies` of its back end. */
export interface Timing {
  readonly costs: Readonly<Record<string, number>>;
  readonly latencies: Readonly<Record<string, number>>;
  readonly subpartitions: number;
}

/** The numbers of a back end; null where its specs (those of an older commit) have none. */
export function timingOf(backend: Backend): Timing | null {
  const costs = factOf(backend, 'costs') as Timing['costs'] | undefined;
  const latencies = factOf(backend, 'latencies') as Timing['latencies'] | undefined;
  if (costs === undefined || latencies === undefined) return null;
  return { costs, latencies, subpartitions: Number(factOf(backend, 'limits.subpartitions')) };
}

/** Cycles from the issue of an instruction to the use of its result. */
function latency(ins: Instr, t: Timing): number {
  const { op } = ins;
  const known = t.latencies[op.name] ?? t.latencies[op.unit === 'lsu' ? (op.space ?? '') : op.unit] ?? 0;
  // What is made of several instructions takes at least their time.
  return Math.max(known, instrCost(ins, t.costs));
}

/** What one run of a block by one warp takes. */
interface BlockCost {
  /** Cycles until its results are there, if the warp were alone. */
  readonly alone: number;
  /** Cycles in which it has a unit of its sub-partition, by unit. */
  readonly units: Readonly<Record<string, number>>;
  readonly instructions: number;
}

/**
 * A warp alone issues in order, an instruction when what it reads is there and its unit is free. The block ends when all that
 * it began is done: what a later block could overlap is not counted as overlapped.
 */
function blockCost(fn: Fn, b: number, t: Timing): BlockCost {
  const ready = new Map<number, number>();
  const units: Record<string, number> = {};
  const free: Record<string, number> = {};
  let now = 0;
  let end = 0;
  let instructions = 0;
  for (const ins of fn.blocks[b].ins) {
    if (isPhi(ins)) continue;
    let start = Math.max(now, free[ins.op.unit] ?? 0);
    reads(ins, (r) => {
      start = Math.max(start, ready.get(regIndex(r)) ?? 0);
    });
    const cost = instrCost(ins, t.costs);
    // What costs nothing is a name for registers, no instruction.
    if (cost === 0) {
      for (const r of ins.dst) if (r !== NO_REG) ready.set(regIndex(r), start);
      continue;
    }
    instructions++;
    units[ins.op.unit] = (units[ins.op.unit] ?? 0) + cost;
    free[ins.op.unit] = start + cost;
    now = start + 1;
    const done = start + latency(ins, t);
    for (const r of ins.dst) if (r !== NO_REG) ready.set(regIndex(r), done);
    end = Math.max(end, ins.dst.length > 0 ? done : now);
  }
  return { alone: Math.max(end, now), units, instructions };
}

/** What a run of a grid is made of: how often warps ran each block, and how many warps share an SM. */
export interface GridRun {
  readonly functions: readonly Fn[];
  /** Runs of blocks by warps: function, block id. */
  readonly blocks: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /** Warps that are on the SM at once. */
  readonly resident: number;
}

/**
 * Cycles that one SM takes for the whole grid: the longer of what its busiest unit needs (all warps share it) and of what
 * the warps wait (the resident ones wait at the same time). A bound from both sides of the usual kind (Hong and Kim, "An
 * Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism Awareness", 2009, without their
 * bandwidth term). Loads count as found where `latencies` says; bank conflicts, bandwidth and the instruction cache are left
 * out, so this ranks versions of one kernel, it does not predict a time.
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
      const c = blockCost(fn, b, t);
      issue += n * c.instructions;
      waited += n * c.alone;
      for (const [unit, cycles] of Object.entries(c.units)) busy[unit] = (busy[unit] ?? 0) + n * cycles;
    }
  }
  const busiest = Math.max(issue, ...Object.values(busy)) / t.subpartitions;
  return Math.round(Math.max(busiest, waited / Math.max(1, run.resident)));
}
