import { cfgOf } from '../analysis/flow/cfg.ts';
import { isLiveBehind, isReturn, type Liveness, livenessOf } from '../analysis/registers/liveness.ts';
import { isControl, isPhi } from '../ir/flow.ts';
import { NO_REG, type Reg, regIndex } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';

/*
 * Places in a block, for liveness queries. Instruction i is at 8 i. The copies that replace phis are parallel: after the
 * phis, or at the end before the terminator. Copies for one instruction are right before it.
 */
/** The place of instruction `i`. */
export const placeOf = (i: number): number => 8 * i;
/** The place where the phis of a block get their values, before any instruction. */
export const AT_ENTRY = -1;
/** The place of the copies after the phis. @param phis number of phis of the block */
export const behindPhis = (phis: number): number => 8 * phis - 4;
/** The place of the copies at the end of a block. @param terminator see `terminatorAt` */
export const atEnd = (terminator: number): number => 8 * terminator - 2;
/** The place of the copies for instruction `i`. */
export const justBefore = (i: number): number => 8 * i - 1;

/** Where each register of a function in SSA is defined and live, for coalescing. */
export class SsaRanges {
  readonly fn: Fn;
  private readonly live: Liveness;
  private readonly defBlockOf: Int32Array;
  private readonly defPlaceOf: Int32Array;
  /** By register index: blocks in which it is used, ascending, and the place of the last use in each. */
  private readonly useBlocks: (number[] | undefined)[] = [];
  private readonly usePlaces: (number[] | undefined)[] = [];

  /** @param queried by register index: 1 if `liveAfter` will be called for it */
  constructor(fn: Fn, queried: Uint8Array) {
    this.fn = fn;
    this.live = livenessOf(fn);
    const { positionOf } = cfgOf(fn);
    this.defBlockOf = new Int32Array(fn.regCount).fill(-1);
    this.defPlaceOf = new Int32Array(fn.regCount).fill(AT_ENTRY);
    for (const p of fn.params) if (p.reg !== NO_REG) this.defBlockOf[regIndex(p.reg)] = 0;
    const atEndOf: Reg[][] = fn.blocks.map(() => []);
    for (const b of fn.blocks)
      for (let i = 0; i < b.ins.length && isPhi(b.ins[i]); i++) {
        const { src } = b.ins[i];
        for (let k = 0; k + 1 < src.length; k += 2)
          if (src[k + 1].reg !== NO_REG) atEndOf[positionOf[src[k].lo]].push(src[k + 1].reg);
      }
    for (let b = 0; b < fn.blocks.length; b++) this.enter(b, atEndOf[b], queried);
  }

  /** Records the definitions and uses in a block, including the phi operands that are read at its end. */
  private enter(b: number, takenAtEnd: readonly Reg[], queried: Uint8Array): void {
    const { ins } = this.fn.blocks[b];
    const phis = phiCount(this.fn, b);
    for (let i = 0; i < ins.length; i++) {
      const x = ins[i];
      const place = i < phis ? behindPhis(phis) : placeOf(i);
      for (let k = 0; k < x.dst.length; k++) {
        const r = x.dst[k];
        if (r === NO_REG) continue;
        this.defBlockOf[regIndex(r)] = b;
        this.defPlaceOf[regIndex(r)] = place;
      }
      if (i < phis) continue;
      // A returned value is copied before the return, and a value under a false guard before its instruction.
      const read = isReturn(x) ? justBefore(i) : place;
      for (let k = 0; k < x.src.length; k++)
        if (x.src[k].reg !== NO_REG) this.use(x.src[k].reg, b, read, queried);
      if (x.guard === NO_REG) continue;
      this.use(x.guard, b, place, queried);
      for (const r of x.otherwise) if (r !== NO_REG) this.use(r, b, justBefore(i), queried);
    }
    for (const r of takenAtEnd) this.use(r, b, atEnd(terminatorAt(this.fn, b)), queried);
  }

  private use(r: Reg, b: number, place: number, queried: Uint8Array): void {
    const i = regIndex(r);
    if (queried[i] === 0) return;
    const blocks = (this.useBlocks[i] ??= []);
    const places = (this.usePlaces[i] ??= []);
    const last = blocks.length - 1;
    if (last >= 0 && blocks[last] === b) places[last] = Math.max(places[last], place);
    else {
      blocks.push(b);
      places.push(place);
    }
  }

  /** Position of the block that defines the register; -1 if none does. */
  defBlock(r: Reg): number {
    return this.defBlockOf[regIndex(r)];
  }

  /** Place of the definition in its block; `AT_ENTRY` for a parameter. */
  defPlace(r: Reg): number {
    return this.defPlaceOf[regIndex(r)];
  }

  /** Is the register live after a place of a block? */
  liveAfter(r: Reg, b: number, place: number): boolean {
    const i = regIndex(r);
    if (isLiveBehind(this.live, r, b)) return true;
    const blocks = this.useBlocks[i];
    if (blocks === undefined) return false;
    let low = 0;
    let high = blocks.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (blocks[mid] < b) low = mid + 1;
      else high = mid;
    }
    return blocks[low] === b && this.usePlaces[i]![low] > place;
  }
}

/** Number of phis of a block. */
export function phiCount(fn: Fn, b: number): number {
  const { ins } = fn.blocks[b];
  let k = 0;
  while (k < ins.length && isPhi(ins[k])) k++;
  return k;
}

/** Index of the block's terminator, or one past its last instruction. */
export function terminatorAt(fn: Fn, b: number): number {
  const { ins } = fn.blocks[b];
  const n = ins.length;
  return n > 0 && isControl(ins[n - 1]) ? n - 1 : n;
}
