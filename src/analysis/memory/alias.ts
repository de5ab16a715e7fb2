import { stepBetween } from '../values/linear-expressions.ts';
import { type Accesses, Does, rowsOf } from './address.ts';
import { isStrong, MUTABLE } from './memory-ops.ts';
import { objectsMayMeet } from './objects.ts';
import { Origin } from './provenance.ts';

/** How two accesses relate: they never touch a common byte, they may, or they touch exactly the same bytes. */
export const Alias = { No: 0, May: 1, Must: 2 } as const;

/**
 * Do two accesses (rows of `Accesses`) touch common memory?
 *
 * Two accesses are distinguished by the memory that their opcodes and objects name; by the objects that their addresses are derived
 * from (two variables never overlap, but unsized shared arrays begin at the same place); by a constant distance, if the register parts
 * are equal; and by the residue of the distance, if everything that varies is a multiple of a power of two (element k of a structure in
 * an array is not element j of any other).
 *
 * @param apart the accesses may belong to different executions of their blocks, such as two iterations of a loop;
 * registers that change in between count as unknown. Without it, both belong to the latest execution of everything
 * that their addresses are derived from.
 */
export function alias(a: Accesses, x: number, y: number, apart = false): number {
  if ((a.memory[x] & a.memory[y]) === 0) return Alias.No;
  const ox = a.object[x];
  const oy = a.object[y];
  if (isPrivateTo(a, x, y) || isPrivateTo(a, y, x)) return Alias.No;
  if (ox >= 0 && oy >= 0 && ox !== oy && !objectsMayMeet(a.objects[ox], a.objects[oy])) return Alias.No;
  return byDistance(a, x, y, apart);
}

/**
 * Is the first access to a variable whose address stays in this function, and the other one through an address from elsewhere, or by a
 * callee? A kernel parameter plus an offset may be such an address, with the parameter as the offset: nothing more is known about the
 * sum.
 */
function isPrivateTo(a: Accesses, mine: number, other: number): boolean {
  const m = a.object[mine];
  const o = a.object[other];
  if (m < 0 || a.unshared[m] !== 1) return false;
  return (
    o === Origin.Foreign ||
    (a.does[other] & Does.Anywhere) !== 0 ||
    (o >= 0 && a.objects[o].kind === 'parameter')
  );
}

function byDistance(a: Accesses, x: number, y: number, apart: boolean): number {
  const fx = a.form[x];
  const fy = a.form[y];
  const bx = a.bytes[x];
  const by = a.bytes[y];
  if (fx < 0 || fy < 0 || bx === 0 || by === 0) return Alias.May;
  const p = a.forms[fx];
  const q = a.forms[fy];
  const width = p.width === 0 ? q.width : p.width;
  if (q.width !== 0 && q.width !== width) return Alias.May;
  let distance = a.offset[y] - a.offset[x];
  if (width === 32) distance |= 0;
  const step = fx === fy && (!apart || p.home < 0) ? 0 : stepBetween(p, q, apart);
  if (step > 0) {
    const residue = ((distance % step) + step) % step;
    return residue >= bx && step - residue >= by ? Alias.No : Alias.May;
  }
  if (distance === 0 && bx === by) return Alias.Must;
  return distance >= bx || distance <= -by ? Alias.No : Alias.May;
}

/**
 * Bytes from the first access to the second if that is a constant, else null; both as in `alias` without `apart`. A
 * pass uses it to see that one access covers another, or that two are adjacent.
 */
export function distanceOf(a: Accesses, x: number, y: number): number | null {
  const f = a.form[x];
  if (f < 0 || f !== a.form[y]) return null;
  const d = a.offset[y] - a.offset[x];
  return a.forms[f].width === 32 ? d | 0 : d;
}

/**
 * Must two instructions of a function stay in order, as far as memory is concerned? Yes if one of them may write what
 * the other touches, and between any two strong operations, which other threads may observe.
 *
 * @param apart see `alias`
 */
export function staysInOrder(a: Accesses, n: number, m: number, apart = false): boolean {
  if (isStrong(a.du.ins[n]) && isStrong(a.du.ins[m])) return true;
  const p = rowsOf(a, n);
  const q = rowsOf(a, m);
  for (let x = p.first; x < p.end; x++)
    for (let y = q.first; y < q.end; y++)
      if (((a.does[x] | a.does[y]) & Does.Write) !== 0 && conflicts(a, x, y, apart)) return true;
  return false;
}

/** May the write of one row touch what the other row accesses? Memory that a kernel cannot change has no writes. */
const conflicts = (a: Accesses, x: number, y: number, apart: boolean): boolean =>
  (a.memory[x] & a.memory[y] & MUTABLE) !== 0 && alias(a, x, y, apart) !== Alias.No;
