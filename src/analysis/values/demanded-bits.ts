import { isPhi } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { isPredReg, NO_REG, type Reg, RegFile, regFile, regIndex, regWidth } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { highBelow, lowBelow } from '../../isa/bounds.ts';
import { boundsProgram } from '../../isa/bounds-program.ts';
import { DemandedBits } from '../../isa/demanded-bits.ts';
import { isValue } from '../calls/effects.ts';
import { storedElements } from '../memory/loads-stores.ts';
import { type DefUse, defUseOf } from './defuse.ts';

/** By register index: the bits whose change may be observed, as two words. */
export interface Demanded {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/**
 * Which bits of each register matter: a narrow store reads the lowest bits of its value, a mask those that it keeps, a sum nothing
 * above the highest demanded bit of its result. A backward data-flow analysis over definitions and uses, from instructions that are not
 * values (memory, branches, calls, guards), starting from "no bit" (LLVM's `DemandedBits` rests on the same equations).
 */
export const demandedOf: (fn: Fn) => Demanded = memo((fn) => new DemandSolver(fn).solve());

class DemandSolver {
  private readonly du: DefUse;
  private readonly low: Int32Array;
  private readonly high: Int32Array;
  private readonly bits = new DemandedBits();
  private readonly work: number[] = [];
  private readonly waits: Uint8Array;

  constructor(fn: Fn) {
    this.du = defUseOf(fn);
    this.low = new Int32Array(fn.regCount);
    this.high = new Int32Array(fn.regCount);
    this.waits = new Uint8Array(this.du.ins.length);
  }

  /** Must be called only once. */
  solve(): Demanded {
    const { low, high, work, waits } = this;
    const { ins, returned } = this.du;
    for (let i = 0; i < returned.length; i++) if (returned[i] === 1) low[i] = high[i] = -1;
    for (let n = ins.length - 1; n >= 0; n--) {
      const x = ins[n];
      if (x.guard !== NO_REG) {
        this.want(x.guard, -1, -1);
        for (const r of x.otherwise) this.want(r, -1, -1);
      }
      if (isTracked(x) && x.guard === NO_REG && !x.dst.some(isPredReg)) continue;
      const stored = storedElements(x);
      if (stored === null || stored.bytes >= 4) this.visit(x);
      else
        for (let k = 0; k < x.src.length; k++)
          if (k === 0) this.want(x.src[k].reg, -1, -1);
          else this.want(x.src[k].reg, lowBelow(8 * stored.bytes), highBelow(8 * stored.bytes));
    }
    for (let n = work.pop(); n !== undefined; n = work.pop()) {
      waits[n] = 0;
      this.visit(ins[n]);
    }
    return { low, high };
  }

  private want(r: Reg, wantedLow: number, wantedHigh: number): void {
    if (r === NO_REG) return;
    const { low, high, waits } = this;
    const { defStart, defs } = this.du;
    const i = regIndex(r);
    if ((wantedLow & ~low[i]) === 0 && (wantedHigh & ~high[i]) === 0) return;
    low[i] |= wantedLow;
    high[i] |= wantedHigh;
    for (let d = defStart[i]; d < defStart[i + 1]; d++)
      if (waits[defs[d]] === 0) {
        waits[defs[d]] = 1;
        this.work.push(defs[d]);
      }
  }

  private visit(x: Instr): void {
    const { low, high, bits } = this;
    const { dst, src } = x;
    if (isPhi(x)) {
      const i = regIndex(dst[0]);
      for (let k = 0; k < src.length; k++) this.want(src[k].reg, low[i], high[i]);
      return;
    }
    const g = isTracked(x) ? boundsProgram(x) : null;
    if (g === null) {
      for (let k = 0; k < src.length; k++) this.want(src[k].reg, -1, -1);
      return;
    }
    bits.open(g, x);
    for (let k = 0; k < dst.length; k++) {
      const r = dst[k];
      if (r === NO_REG) continue;
      if (isPredReg(r)) bits.want(g.graph.dsts[k], -1, -1);
      else bits.want(g.graph.dsts[k], low[regIndex(r)], high[regIndex(r)]);
    }
    bits.back();
    for (let k = 0; k < src.length; k++) {
      const node = g.sources[k];
      if (src[k].reg !== NO_REG && node >= 0) this.want(src[k].reg, bits.low[node], bits.high[node]);
    }
  }
}

/** Is it a value whose operands matter only as far as its results do? Barrier registers and 128-bit groups matter as a whole. */
const isTracked = (x: Instr): boolean =>
  isPhi(x) || (isValue(x) && x.dst.every(hasMask) && x.src.every((o) => hasMask(o.reg)));

const hasMask = (r: Reg): boolean => r === NO_REG || (regWidth(r) <= 64 && regFile(r) !== RegFile.B);
