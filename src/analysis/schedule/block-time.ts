import { isPhi } from '../../ir/flow.ts';
import { NO_REG, regIndex } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { spaceOf } from '../memory/address.ts';
import { reads } from '../registers/liveness.ts';
import { type Costs, instrCost } from './costs.ts';

/** The numbers of a target used to estimate times: `costs` and `latencies` of its back end. */
export interface Times {
  readonly costs: Costs;
  readonly latencies: Readonly<Record<string, number>>;
}

/** Cycles from the issue of an instruction to the use of its result. */
export function latency(ins: Instr, t: Times): number {
  const { op } = ins;
  const listed = t.latencies[op.name] ?? t.latencies[op.unit === 'lsu' ? spaceOf(ins) : op.unit] ?? 0;
  // An opcode that expands into several instructions takes at least their time.
  return Math.max(listed, instrCost(ins, t.costs));
}

/** Time of one execution of a block by one warp. */
export interface BlockTime {
  /** Cycles until its results are available if the warp runs alone. */
  readonly alone: number;
  /** Cycles for which it occupies a unit of its sub-partition, by unit. */
  readonly units: Readonly<Record<string, number>>;
  readonly instructions: number;
}

/**
 * Simulates a single warp issuing in order: an instruction issues when its operands are available and its unit is
 * free. The block ends when everything that it started has finished; overlap with later blocks is not counted.
 * @param starts extended by the cycle in which each instruction issues
 */
export function blockTime(b: { readonly ins: readonly Instr[] }, t: Times, starts?: number[]): BlockTime {
  const ready = new Map<number, number>();
  const units: Record<string, number> = {};
  const free: Record<string, number> = {};
  let now = 0;
  let end = 0;
  let instructions = 0;
  for (const ins of b.ins) {
    if (isPhi(ins)) {
      starts?.push(0);
      continue;
    }
    let start = Math.max(now, free[ins.op.unit] ?? 0);
    reads(ins, (r) => {
      start = Math.max(start, ready.get(regIndex(r)) ?? 0);
    });
    starts?.push(start);
    const cost = instrCost(ins, t.costs);
    // An instruction without cost only renames registers.
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
