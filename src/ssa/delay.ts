import { isValue } from '../analysis/effects.ts';
import { isLiveBehind, livenessOf, reads } from '../analysis/liveness.ts';
import type { Draft, Ins } from '../ir/draft/index.ts';
import { isControl } from '../ir/flow.ts';
import { NO_REG, type Reg } from '../ir/operand.ts';
import { inSsa } from './registers.ts';

/** Instructions that are looked through for one phi: what stands further apart costs a copy rather than time. */
const REACH = 128;

/**
 * Puts the next value of a phi behind the last use of the present one in its block, so that both can have one register.
 *
 *     before                              after
 *     BB1:                                BB1:
 *           MOVPHI R1, {BB0: R0, BB1: R2}       MOVPHI R1, {BB0: R0, BB1: R2}
 *           SHR.U32 R2, R1, 1                   ISETP.GE.U32 P3, R1, 2
 *           ISETP.GE.U32 P3, R1, 2              SHR.U32 R2, R1, 1
 *       @P3 BRA BB1                         @P3 BRA BB1
 *
 * What hangs on the next value goes along with it. Only values move, because they may stand anywhere behind what they read; nothing
 * moves where the present value lives on behind the block, where its last use needs the next one, or where another phi would then
 * need the copy that this one saves.
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
  // A phi may have many ways and many uses: what is read more often than is looked through cannot be delayed.
  for (const [present, values] of next)
    if (d.useCount(present) <= REACH) for (const value of values) delay(present, value);

  function delay(present: Reg, value: Reg): void {
    const def = d.def(value);
    if (def < 0 || !isValue(d.at(def))) return;
    const b = d.block(def);
    if (isLiveBehind(live, present, b)) return;
    const last = lastUse(present, def, b);
    if (last < 0 || isControl(d.at(last))) return;
    const along = dependents(def, last);
    if (along === null) return;
    const behind = d.next(last);
    for (const n of along)
      if (behind >= 0) d.move(n, behind);
      else d.moveToEnd(n, b);
  }

  /** The last instruction of the block behind `def` that reads the register, -1 if none does. */
  function lastUse(r: Reg, def: Ins, b: number): Ins {
    let last = -1;
    d.eachUse(r, (n) => {
      if (d.block(n) === b && n !== def && d.precedes(def, n) && (last < 0 || d.precedes(last, n))) last = n;
    });
    return last;
  }

  /** `def` and what hangs on it down to `last`, in order; null where they cannot all stand behind `last`. */
  function dependents(def: Ins, last: Ins): Ins[] | null {
    const along = [def];
    const made = new Set<Reg>(d.at(def).dst);
    const stays = new Set<Reg>();
    let left = REACH;
    for (let n = d.next(def); ; n = d.next(n)) {
      if (n < 0 || left-- === 0) return null;
      const x = d.at(n);
      let hangs = false;
      reads(x, (r) => {
        if (made.has(r)) hangs = true;
      });
      if (hangs) {
        if (n === last || !isValue(x)) return null;
        along.push(n);
      }
      for (const r of x.dst) (hangs ? made : stays).add(r);
      if (n === last) break;
    }
    // What they read would outlive its own next value, if that is made between them.
    for (const n of along) {
      let outlives = false;
      reads(d.at(n), (r) => {
        const values = next.get(r);
        if (values !== undefined) for (const s of stays) if (values.has(s)) outlives = true;
      });
      if (outlives) return null;
    }
    return along;
  }
}
