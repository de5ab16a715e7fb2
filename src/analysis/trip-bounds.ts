import { Kind } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';
import { constantOf } from './form-arithmetic.ts';
import type { LinearForm } from './linear.ts';
import { loopsOf } from './loops.ts';
import { rangeAt, rangesOf } from './ranges.ts';
import { tripCountsOf } from './trip-count.ts';

/**
 * The most rounds of a loop for each entry, one more than its trip count: from the count itself, or from what is known of the
 * values that it is a formula of. Infinity if nothing is known.
 */
export function mostRounds(fn: Fn, loop: number): number {
  const { most, symbolic: s } = tripCountsOf(fn).of(loop);
  const known = most === null ? Number.POSITIVE_INFINITY : Number(most) + 1;
  const step = s === null ? null : constantOf(s.step);
  if (s === null || step === null) return known;
  const by = Number(BigInt.asIntN(s.start.width, step));
  const start = extent(fn, s.start, loop, s.signed);
  const bound = extent(fn, s.bound, loop, s.signed);
  if (start === null || bound === null) return known;
  const way = by > 0 ? bound.most - start.least : start.most - bound.least;
  // What is counted until it is equal would come around if it started behind its bound.
  const isBehind = by > 0 ? start.most > bound.least : start.least < bound.most;
  if (s.relation === '!=' && isBehind) return known;
  const size = Math.abs(by);
  const again =
    s.relation === '<=' || s.relation === '>=' ? Math.floor(way / size) + 1 : Math.ceil(way / size);
  return Math.min(known, Math.max(0, again) + 1);
}

/** Least and greatest value of a form that is a constant, a register, or their sum, where the loop begins. */
function extent(
  fn: Fn,
  { width, terms, constant }: LinearForm,
  loop: number,
  signed: boolean,
): { least: number; most: number } | null {
  const added = BigInt.asIntN(width, constant);
  if (terms.length === 0) {
    const value = Number(signed ? added : constant);
    return { least: value, most: value };
  }
  const [t] = terms;
  if (terms.length > 1 || t.coefficient !== 1n || t.bits !== width || t.operand.kind !== Kind.Reg)
    return null;
  const k = rangeAt(rangesOf(fn), t.operand.reg, loopsOf(fn).loops[loop].header);
  const least = (signed ? k.signedLeast : k.least) + Number(added);
  const most = (signed ? k.signedMost : k.most) + Number(added);
  const [low, high] = signed ? [-(2 ** (width - 1)), 2 ** (width - 1)] : [0, 2 ** width];
  return least >= low && most < high ? { least, most } : null;
}
