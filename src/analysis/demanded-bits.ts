import { isPhi } from '../ir/flow.ts';
import { isPredReg, NO_REG, type Reg, RegFile, regFile, regIndex, regWidth } from '../ir/operand.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { boundsProgram } from '../isa/bounds-program.ts';
import { DemandedBits, highBelow, lowBelow } from '../isa/demanded-bits.ts';
import { defUseOf } from './defuse.ts';
import { isValue } from './effects.ts';
import { storedElements } from './loads-stores.ts';
import { memo } from './memo.ts';

/** By register index: the bits of which a change may be seen, as two words. */
export interface Demanded {
  readonly low: Int32Array;
  readonly high: Int32Array;
}

/**
 * Which bits of each register matter: a narrow store sees the lowest bits of its value, a mask those that it keeps, a sum nothing
 * above the highest bit that is wanted of it. A backward data-flow analysis from what is not a value (memory, branches, calls, guards)
 * over definitions and uses, starting from "no bit" (LLVM's `DemandedBits`, which rests on the same equations).
 */
export const demandedOf: (fn: Fn) => Demanded = memo(build);

function build(fn: Fn): Demanded {
  const low = new Int32Array(fn.regCount);
  const high = new Int32Array(fn.regCount);
  const { ins, defStart, defs, returned } = defUseOf(fn);
  const bits = new DemandedBits();
  const work: number[] = [];
  const waits = new Uint8Array(ins.length);

  const want = (r: Reg, wantedLow: number, wantedHigh: number): void => {
    if (r === NO_REG) return;
    const i = regIndex(r);
    if ((wantedLow & ~low[i]) === 0 && (wantedHigh & ~high[i]) === 0) return;
    low[i] |= wantedLow;
    high[i] |= wantedHigh;
    for (let d = defStart[i]; d < defStart[i + 1]; d++)
      if (waits[defs[d]] === 0) {
        waits[defs[d]] = 1;
        work.push(defs[d]);
      }
  };

  const visit = (x: Instr): void => {
    if (isPhi(x)) {
      const i = regIndex(x.dst[0]);
      for (const o of x.src) want(o.reg, low[i], high[i]);
      return;
    }
    const g = isTracked(x) ? boundsProgram(x) : null;
    if (g === null) {
      for (const o of x.src) want(o.reg, -1, -1);
      return;
    }
    bits.open(g, x);
    for (const [k, r] of x.dst.entries()) {
      if (r === NO_REG) continue;
      if (isPredReg(r)) bits.want(g.graph.dsts[k], -1, -1);
      else bits.want(g.graph.dsts[k], low[regIndex(r)], high[regIndex(r)]);
    }
    bits.back();
    for (const [k, o] of x.src.entries()) {
      const node = g.sources[k];
      if (o.reg !== NO_REG && node >= 0) want(o.reg, bits.low[node], bits.high[node]);
    }
  };

  for (let i = 0; i < returned.length; i++) if (returned[i] === 1) low[i] = high[i] = -1;
  for (let n = ins.length - 1; n >= 0; n--) {
    const x = ins[n];
    if (x.guard !== NO_REG) {
      want(x.guard, -1, -1);
      for (const r of x.otherwise) want(r, -1, -1);
    }
    if (isTracked(x) && x.guard === NO_REG && !x.dst.some(isPredReg)) continue;
    const stored = storedElements(x);
    if (stored === null || stored.bytes >= 4) visit(x);
    else
      for (const [k, o] of x.src.entries())
        if (k === 0) want(o.reg, -1, -1);
        else want(o.reg, lowBelow(8 * stored.bytes), highBelow(8 * stored.bytes));
  }
  for (let n = work.pop(); n !== undefined; n = work.pop()) {
    waits[n] = 0;
    visit(ins[n]);
  }
  return { low, high };
}

/** Is it a value whose operands matter only as far as its results do? Barrier registers and 128-bit groups matter as a whole. */
const isTracked = (x: Instr): boolean =>
  isPhi(x) || (isValue(x) && x.dst.every(hasMask) && x.src.every((o) => hasMask(o.reg)));

const hasMask = (r: Reg): boolean => r === NO_REG || (regWidth(r) <= 64 && regFile(r) !== RegFile.B);
