import { CARRY, type Type, unsignedOf } from '../values/types.ts';
import { type Case, computes, type Table } from './case.ts';

/*
 * Extended-precision arithmetic: PTX ISA, 9.7.2. CC.CF holds the carry of a sum. The text says that it holds the borrow of a difference,
 * which nothing but a difference reads then; ptxas 13.0.88 keeps the complement, the carry of a + ~b + 1, which is seen where a sum follows
 * a difference, and which is what CC.CF is here.
 */

/** The sum of numbers of a width, and its carry. */
const sum = (t: Type, ...of: readonly bigint[]): readonly bigint[] => {
  const s = of.reduce((x, y) => x + y);
  return [s, s >> BigInt(t.width)];
};

/** The difference of two numbers, and the complement of its borrow. */
const difference = (a: bigint, b: bigint): readonly bigint[] => [a - b, a < b ? 0n : 1n];

/** An addition or subtraction of two numbers that reads the carry if `reads`. Without `.cc` nothing is carried out. */
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
