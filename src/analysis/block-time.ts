import { isPhi } from '../ir/flow.ts';
import { NO_REG, regIndex } from '../ir/operand.ts';
import type { Block, Instr } from '../ir/program.ts';
import { type Costs, instrCost } from './costs.ts';
import { reads } from './liveness.ts';

/** The numbers of a target that times are estimated by: `costs` and `latencies` of its back end. */
export interface Times {
  readonly costs: Costs;
  readonly latencies: Readonly<Record<string, number>>;
}

/** Cycles from the issue of an instruction to the use of its result. */
function latency(ins: Instr, t: Times): number {
  const { op } = ins;
  const known = t.latencies[op.name] ?? t.latencies[op.unit === 'lsu' ? (op.space ?? '') : op.unit] ?? 0;
  // What is made of several instructions takes at least their time.
  return Math.max(known, instrCost(ins, t.costs));
}

/** What one run of a block by one warp takes. */
export interface BlockTime {
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
export function blockTime(b: Block, t: Times): BlockTime {
  const ready = new Map<number, number>();
  const units: Record<string, number> = {};
  const free: Record<string, number> = {};
  let now = 0;
  let end = 0;
  let instructions = 0;
  for (const ins of b.ins) {
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
