import { isControl } from '../analysis/cfg.ts';
import {
  LiveClass,
  type Liveness,
  LiveWalker,
  liveClassOf,
  livenessOf,
  reads,
} from '../analysis/liveness.ts';
import { FILE_WIDTH, NO_REG, type Reg } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';

/** Most registers in use at one place, in 32-bit units, by file. */
export interface Pressure {
  readonly R: number;
  readonly UR: number;
  readonly P: number;
}

const units = (r: Reg): number => Math.max(1, FILE_WIDTH[r & 7] >>> 5);

/** The highest register pressure of a function by file. */
export function pressureByFile(fn: Fn): Pressure {
  const live = livenessOf(fn);
  const walker = new LiveWalker(live);
  const most = { R: 0, UR: 0, P: 0 };
  let uniform = 0;
  let predicates = 0;
  const note = (): void => {
    if (walker.pressure > most.R) most.R = walker.pressure;
    if (uniform > most.UR) most.UR = uniform;
    if (predicates > most.P) most.P = predicates;
  };
  const count = (r: Reg, sign: number): void => {
    const c = liveClassOf(r);
    if (c === LiveClass.UR) uniform += sign * units(r);
    else if (c === LiveClass.P) predicates += sign;
  };
  const step = (ins: Instr): void => {
    const seen = mentioned(ins);
    for (const r of seen) if (walker.isLive(r)) count(r, -1);
    walker.step(ins);
    for (const r of seen) if (walker.isLive(r)) count(r, 1);
  };
  /** Behind control all that is live crosses a border, so the names that can are all there is to ask. */
  const recount = (more: readonly Reg[]): void => {
    uniform = 0;
    predicates = 0;
    for (const r of crossing(live)) if (walker.isLive(r)) count(r, 1);
    for (const r of more) if (live.globals.slot[r >>> 3] < 0 && walker.isLive(r)) count(r, 1);
  };
  for (let b = 0; b < fn.blocks.length; b++) {
    walker.enter(b);
    recount([]);
    note();
    const { ins } = fn.blocks[b];
    for (let i = ins.length - 1; i >= 0; i--) {
      if (isControl(ins[i])) {
        walker.step(ins[i]);
        recount(mentioned(ins[i]));
      } else step(ins[i]);
      note();
    }
  }
  return most;
}

/** Uniform registers and predicates that can be live across a border. */
const crossing = (l: Liveness): readonly Reg[] => [
  ...l.globals.names[LiveClass.UR],
  ...l.globals.names[LiveClass.P],
];

/** Uniform registers and predicates that an instruction reads or writes, each once. */
function mentioned(ins: Instr): Reg[] {
  const out: Reg[] = [];
  const add = (r: Reg): void => {
    if (r === NO_REG) return;
    const c = liveClassOf(r);
    if ((c === LiveClass.UR || c === LiveClass.P) && !out.includes(r)) out.push(r);
  };
  for (const r of ins.dst) add(r);
  reads(ins, add);
  return out;
}
