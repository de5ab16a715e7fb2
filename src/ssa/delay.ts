import { isValue } from '../analysis/calls/effects.ts';
import { isLiveBehind, livenessOf, reads } from '../analysis/registers/liveness.ts';
import type { Draft, Ins } from '../ir/draft/index.ts';
import { isControl } from '../ir/flow.ts';
import { NO_REG, type Reg } from '../ir/operand.ts';
import { inSsa } from './registers.ts';

/** Maximum number of instructions searched, and of uses, for one phi: beyond it a copy costs less than the search. */
const REACH = 128;

/**
 * Moves the definition of a phi operand (the next value) below the last use of the phi's result (the current value) in its
 * block, so that both can share a register.
 *
 *     before                              after
 *     BB1:                                BB1:
 *           MOVPHI R1, {BB0: R0, BB1: R2}       MOVPHI R1, {BB0: R0, BB1: R2}
 *           SHR.U32 R2, R1, 1                   ISETP.GE.U32 P3, R1, 2
 *           ISETP.GE.U32 P3, R1, 2              SHR.U32 R2, R1, 1
 *       @P3 BRA BB1                         @P3 BRA BB1
 *
 * Instructions that depend on the next value move with it. An instruction moves only if its results depend on its operands
 * alone, because it may then be anywhere below them. Nothing moves if the current value is live after the block, if its
 * last use depends on the next value, or if another phi would then need a copy instead.
 */
export function delaySteps(d: Draft): void {
  const live = livenessOf(d.fn);
  const next = new Map<Reg, Set<Reg>>();
  for (const b of d.layout())
    for (const n of d.phis(b)) {
      const { dst, src } = d.at(n);
      for (let k = 1; k < src.length; k += 2)
        if (src[k].reg !== NO_REG && inSsa(src[k].reg)) {
          const values = next.get(dst[0]);
          if (values === undefined) next.set(dst[0], new Set([src[k].reg]));
          else values.add(src[k].reg);
        }
    }
  // A phi may have many operands and many uses: those with more uses than the search limit are skipped.
  for (const [present, values] of next)
    if (d.useCount(present) <= REACH) for (const value of values) delay(present, value);

  function delay(present: Reg, value: Reg): void {
    const def = d.def(value);
    if (def < 0 || !isValue(d.at(def))) return;
    const b = d.block(def);
    if (isLiveBehind(live, present, b)) return;
    const last = lastUse(present, def, b);
    if (last < 0 || isControl(d.at(last))) return;
    const moving = dependents(def, last);
    if (moving === null) return;
    const behind = d.next(last);
    for (const n of moving)
      if (behind >= 0) d.move(n, behind);
      else d.moveToEnd(n, b);
  }

  /** The last instruction of the block after `def` that reads the register, -1 if there is none. */
  function lastUse(r: Reg, def: Ins, b: number): Ins {
    let last = -1;
    d.eachUse(r, (n) => {
      if (d.block(n) === b && n !== def && d.precedes(def, n) && (last < 0 || d.precedes(last, n))) last = n;
    });
    return last;
  }

  /** `def` and its dependents up to `last`, in order; null if they cannot all move below `last`. */
  function dependents(def: Ins, last: Ins): Ins[] | null {
    const moving = [def];
    const moved = new Set<Reg>(d.at(def).dst);
    const passed = new Set<Reg>();
    let left = REACH;
    for (let n = d.next(def); ; n = d.next(n)) {
      if (n < 0 || left-- === 0) return null;
      const x = d.at(n);
      let depends = false;
      reads(x, (r) => {
        if (moved.has(r)) depends = true;
      });
      if (depends) {
        if (n === last || !isValue(x)) return null;
        moving.push(n);
      }
      for (const r of x.dst) (depends ? moved : passed).add(r);
      if (n === last) break;
    }
    // Another phi that they read would stay live past its own next value, if that is computed in between.
    for (const n of moving) {
      let outlives = false;
      reads(d.at(n), (r) => {
        const values = next.get(r);
        if (values !== undefined) for (const s of passed) if (values.has(s)) outlives = true;
      });
      if (outlives) return null;
    }
    return moving;
  }
}
