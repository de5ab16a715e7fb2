import { CARRY, type Type, unsignedOf } from '../values/types.ts';
import { type Case, computes, type Table } from './case.ts';

/*
 * Extended-precision arithmetic: PTX ISA, 9.7.2. After a sum, CC.CF holds the carry. After a difference it holds the borrow, according to
 * the text; ptxas 13.0.88 stores the complement instead, the carry of a + ~b + 1, as can be observed when a sum reads the CC.CF of a
 * difference. This table follows ptxas.
 */

/** The sum of numbers of a width, and its carry. */
const sum = (t: Type, ...of: readonly bigint[]): readonly bigint[] => {
  const s = of.reduce((x, y) => x + y);
  return [s, s >> BigInt(t.width)];
};

/** The difference of two numbers, and the complement of its borrow. */
const difference = (a: bigint, b: bigint): readonly bigint[] => [a - b, a < b ? 0n : 1n];

/** An addition or subtraction of two numbers; it reads CC.CF if `reads`, and writes it only with `.cc`. */
const ofTwo =
  (reads: boolean, of: (t: Type, a: bigint, b: bigint, carry: bigint) => readonly bigint[]): Case =>
  (m) => {
    const writes = m.flag('cc');
    const t = unsignedOf(m.type());
    return computes(writes ? [t, CARRY] : [t], reads ? [t, t, CARRY] : [t, t], ([a, b, carry]) =>
      of(t, a, b, reads ? carry : 0n).slice(0, writes ? 2 : 1),
    );
  };

const multiplyAdd =
  (reads: boolean): Case =>
  (m) => {
    const high = m.need(['hi', 'lo']) === 'hi';
    const writes = m.flag('cc');
    const t = m.type();
    const u = unsignedOf(t);
    return computes(writes ? [u, CARRY] : [u], reads ? [t, t, u, CARRY] : [t, t, u], ([a, b, c, carry]) => {
      const taken = BigInt.asUintN(t.width, high ? (a * b) >> BigInt(t.width) : a * b);
      return sum(u, taken, c, reads ? carry : 0n).slice(0, writes ? 2 : 1);
    });
  };

export const carry: Table = {
  'add.cc': ofTwo(false, (t, a, b) => sum(t, a, b)),
  addc: ofTwo(true, (t, a, b, c) => sum(t, a, b, c)),
  'sub.cc': ofTwo(false, (_, a, b) => difference(a, b)),
  subc: ofTwo(true, (_, a, b, c) => difference(a, b + 1n - c)),
  'mad.cc': multiplyAdd(false),
  madc: multiplyAdd(true),
};
