import {
  kills,
  LiveClass,
  liveClassOf,
  livenessOf,
  liveOutOf,
  Pool,
  reads,
  unitsIn,
} from '../../analysis/registers/liveness.ts';
import {
  type Limits,
  occupancyUnder,
  statedThreads,
  USUAL_BLOCK,
} from '../../analysis/registers/occupancy.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { isPhi } from '../../ir/flow.ts';
import { NO_REG, type Reg, regName } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import type { LiveRange, LiveRanges } from '../protocol.ts';

/** Live ranges of the general registers of a function. */
export function liveRanges(fn: Fn, limits: Limits): LiveRanges {
  const found = new Map<Reg, Range>();
  const pressure: number[] = [];
  const live = livenessOf(fn);
  const pressures = pressureOf(fn);
  let base = 0;
  fn.blocks.forEach((b, k) => {
    const at = pressures.at(k, Pool.R);
    // At an instruction, what it reads and what it makes count, whichever is more.
    b.ins.forEach((_, i) => pressure.push(Math.max(at[i], at[i + 1])));
    blockRanges(b.ins, base, new Set(liveOutOf(live, k, LiveClass.R)), found);
    base += b.ins.length;
  });
  const ranges = [...found].map(([r, x]) => ({
    ...x,
    register: regName(r),
    units: unitsIn(r),
    parts: joined(x.rows),
  }));
  const threads = statedThreads(fn);
  return {
    pressure,
    ...inLanes(ranges),
    threads: threads ?? USUAL_BLOCK,
    stated: threads !== undefined,
    cliffs: cliffsOf(limits, threads ?? USUAL_BLOCK),
  };
}

interface Range {
  /** Instructions at which it is live, in any order. */
  readonly rows: number[];
  readonly defined: number[];
  readonly used: number[];
}

/** Adds where registers are live in a block, from its end to its beginning. */
function blockRanges(ins: Fn['blocks'][0]['ins'], base: number, now: Set<Reg>, found: Map<Reg, Range>): void {
  const rangeOf = (r: Reg): Range => {
    let x = found.get(r);
    if (x === undefined) found.set(r, (x = { rows: [], defined: [], used: [] }));
    return x;
  };
  for (let i = ins.length - 1; i >= 0; i--) {
    const row = base + i;
    const here = new Set(now);
    for (const r of ins[i].dst) {
      if (r === NO_REG || liveClassOf(r) !== LiveClass.R) continue;
      here.add(r);
      rangeOf(r).defined.push(row);
      if (kills(ins[i])) now.delete(r);
    }
    if (!isPhi(ins[i]))
      reads(ins[i], (r) => {
        if (liveClassOf(r) !== LiveClass.R) return;
        now.add(r);
        here.add(r);
        const { used } = rangeOf(r);
        if (used.at(-1) !== row) used.push(row);
      });
    for (const r of here) rangeOf(r).rows.push(row);
  }
}

/** Rows as ranges of consecutive ones. */
function joined(rows: readonly number[]): (readonly [number, number])[] {
  const out: [number, number][] = [];
  for (const r of [...new Set(rows)].sort((a, b) => a - b)) {
    const last = out.at(-1);
    if (last !== undefined && last[1] === r - 1) last[1] = r;
    else out.push([r, r]);
  }
  return out;
}

type Placed = Omit<LiveRange, 'lane'> & { readonly rows: readonly number[] };

/** Gives each range the first lane that is free wherever it is live, in the order in which they begin. */
function inLanes(ranges: readonly Placed[]): { readonly ranges: LiveRange[]; readonly lanes: number } {
  const lanes: Set<number>[] = [];
  const inOrder = [...ranges].sort((a, b) => a.parts[0][0] - b.parts[0][0]);
  const out = inOrder.map(({ rows, register, units, parts, defined, used }): LiveRange => {
    let lane = lanes.findIndex((l) => rows.every((r) => !l.has(r)));
    if (lane < 0) lane = lanes.push(new Set()) - 1;
    for (const r of rows) lanes[lane].add(r);
    return { register, units, lane, parts, defined: [...defined].reverse(), used: [...used].reverse() };
  });
  return { ranges: out, lanes: lanes.length };
}

/** The numbers of registers at which an SM begins to hold fewer warps. */
function cliffsOf(limits: Limits, threads: number): { readonly registers: number; readonly warps: number }[] {
  const most = Number(limits['max-registers'] ?? 0);
  const out: { registers: number; warps: number }[] = [];
  for (let registers = Number(limits['min-registers'] ?? 1); registers <= most; registers++) {
    const { warps } = occupancyUnder(limits, { threads, registers, shared: 0 });
    const last = out.at(-1);
    if (last?.warps === warps) last.registers = registers;
    else out.push({ registers, warps });
  }
  return out;
}
