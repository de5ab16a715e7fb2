import { Kind, regWidth } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { addScaled, constantOf } from '../values/form-arithmetic.ts';
import type { LinearForm, LinearTerm } from '../values/linear.ts';
import { rangeAt, rangesOf } from '../values/ranges.ts';
import type { SymbolicCount } from './exit-iteration.ts';
import { loopsOf } from './loops.ts';
import { tripCountsOf } from './trip-count.ts';

/** Least and greatest of some integers. */
interface Extent {
  readonly least: number;
  readonly most: number;
}

/** Larger numbers are not exact doubles. */
const LARGEST = 2 ** 53;

/**
 * The maximum number of iterations of a loop per entry, one more than its trip count: from the count itself, or from the ranges of the
 * values in its formula. Infinity if nothing is known.
 */
export function mostRounds(fn: Fn, loop: number): number {
  const { most, symbolic } = tripCountsOf(fn).of(loop);
  const known = most === null ? Number.POSITIVE_INFINITY : Number(most) + 1;
  const count = symbolic === null ? null : mostOf(fn, symbolic, loop);
  return count === null ? known : Math.min(known, count + 1);
}

/** The greatest value of a count; null if nothing is known. */
function mostOf(fn: Fn, s: SymbolicCount, loop: number): number | null {
  const { width } = s.start;
  const constant = constantOf(s.step);
  if (constant === null) return null;
  const step = Number(BigInt.asIntN(width, constant));
  const size = Math.abs(step);
  const up = step > 0;
  if (s.relation === '!=') {
    // It is reached after the distance modulo 2^width, and neither sign of the values matters.
    const way = extentOf(fn, addScaled(s.bound, s.start, -1n), loop);
    return (way && within(up ? way : { least: -way.most, most: -way.least }, width, false))?.most ?? null;
  }
  const integers = (f: LinearForm): Extent | null => {
    const all = extentOf(fn, f, loop);
    return all && within(all, width, s.signed);
  };
  const start = integers(s.start);
  const bound = integers(s.bound);
  if (start === null || bound === null) return null;
  const orEqual = s.relation === '<=' || s.relation === '>=';
  const last = (up ? bound.most : bound.least) + (orEqual ? step : step - Math.sign(step));
  if (!s.always && within({ least: last, most: last }, width, s.signed)?.most !== last) return null;
  const way = up ? bound.most - start.least : start.most - bound.least;
  return Math.max(0, orEqual ? Math.floor(way / size) + 1 : Math.ceil(way / size));
}

/** The same numbers modulo 2^width as integers of that width; null if they are not contiguous there. */
function within({ least, most }: Extent, width: number, signed: boolean): Extent | null {
  const size = 2 ** width;
  const low = signed ? -size / 2 : 0;
  const shift = least < low ? size : most >= low + size ? -size : 0;
  const out = { least: least + shift, most: most + shift };
  return out.least >= low && out.most < low + size && isExact(out) ? out : null;
}

/** Range of a form where the loop begins, modulo 2^width; null if nothing is known about one of its terms. */
function extentOf(fn: Fn, { width, terms, constant }: LinearForm, loop: number): Extent | null {
  let least = Number(BigInt.asIntN(width, constant));
  let most = least;
  for (const t of terms) {
    const term = extentOfTerm(fn, t, width, loop);
    if (term === null) return null;
    const by = Number(BigInt.asIntN(width, t.coefficient));
    least += by * (by > 0 ? term.least : term.most);
    most += by * (by > 0 ? term.most : term.least);
  }
  return isExact({ least, most }) ? { least, most } : null;
}

function extentOfTerm(
  fn: Fn,
  { operand, bits, signed }: LinearTerm,
  width: number,
  loop: number,
): Extent | null {
  if (operand.kind !== Kind.Reg || regWidth(operand.reg) !== bits) return null;
  const k = rangeAt(rangesOf(fn), operand.reg, loopsOf(fn).loops[loop].header);
  const asSigned = { least: k.signedLeast, most: k.signedMost };
  const asUnsigned = { least: k.least, most: k.most };
  if (bits < width) return signed ? asSigned : asUnsigned;
  return asSigned.most - asSigned.least < asUnsigned.most - asUnsigned.least ? asSigned : asUnsigned;
}

const isExact = ({ least, most }: Extent): boolean => least > -LARGEST && most < LARGEST;
