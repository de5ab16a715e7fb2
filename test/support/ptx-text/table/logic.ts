import { B32, bitsOf, PREDICATE, type Type, U32 } from '../values/types.ts';
import { type Case, computes, type Modifiers, type Table } from './case.ts';

/*
 * Logic and shifts: PTX ISA, 9.7.8; prmt: 9.7.9.7; selections: 9.7.6.3 and 9.7.6.4.
 */

const bitwise =
  (of: (a: bigint, b: bigint) => bigint): Case =>
  (m) => {
    const t = m.type();
    return computes([t], [t, t], ([a, b]) => of(a, b));
  };

/** The bitwise function of three words given by an 8-bit table: each result bit is bit 4a + 2b + c of the table. */
function lookUp(a: bigint, b: bigint, c: bigint, table: bigint): bigint {
  let d = 0n;
  for (let k = 0n; k < 32n; k++) {
    const row = 4n * ((a >> k) & 1n) + 2n * ((b >> k) & 1n) + ((c >> k) & 1n);
    d |= ((table >> row) & 1n) << k;
  }
  return d;
}

const lop3: Case = (m) => {
  const combine = m.oneOf(['or', 'and']);
  m.need(['b32']);
  if (combine === null)
    return computes([B32], [B32, B32, B32, U32], ([a, b, c, table]) => lookUp(a, b, c, table));
  return computes([B32, PREDICATE], [B32, B32, B32, U32, PREDICATE], ([a, b, c, table, q]) => {
    const d = lookUp(a, b, c, table);
    const p = d !== 0n ? 1n : 0n;
    return [d, combine === 'or' ? p | q : p & q];
  });
};

/** A shift amount, clamped to the width. */
const atMost = (t: Type, amount: bigint): bigint => (amount > BigInt(t.width) ? BigInt(t.width) : amount);

const shf: Case = (m) => {
  const left = m.need(['l', 'r']) === 'l';
  const clamp = m.need(['clamp', 'wrap']) === 'clamp';
  m.need(['b32']);
  return computes([B32], [B32, B32, U32], ([low, high, c]) => {
    const n = clamp ? atMost(U32, c) : c & 31n;
    const both = (high << 32n) | low;
    return left ? (both << n) >> 32n : both >> n;
  });
};

/** The bytes of {b, a} that each mode of prmt selects, lowest byte of the result first, by the two low bits of c. */
const PERMUTATIONS: Readonly<Record<string, (c: number) => readonly number[]>> = {
  f4e: (c) => [0, 1, 2, 3].map((k) => c + k),
  b4e: (c) => [0, 1, 2, 3].map((k) => (c - k) & 7),
  rc8: (c) => [c, c, c, c],
  ecl: (c) => [0, 1, 2, 3].map((k) => Math.max(c, k)),
  ecr: (c) => [0, 1, 2, 3].map((k) => Math.min(c, k)),
  rc16: (c) => [0, 1, 0, 1].map((k) => 2 * (c & 1) + k),
};

const prmt: Case = (m) => {
  const mode = m.oneOf(Object.keys(PERMUTATIONS));
  m.need(['b32']);
  return computes([B32], [B32, B32, B32], ([a, b, c]) => {
    const byte = (k: number): bigint => (((b << 32n) | a) >> BigInt(8 * k)) & 0xffn;
    const bytes =
      mode !== null
        ? PERMUTATIONS[mode](Number(c & 3n)).map(byte)
        : [0, 1, 2, 3].map((k) => {
            const select = Number((c >> BigInt(4 * k)) & 0xfn);
            const chosen = byte(select & 7);
            return select < 8 ? chosen : chosen >= 0x80n ? 0xffn : 0n;
          });
    return bytes.reduce((d, x, k) => d | (x << BigInt(8 * k)), 0n);
  });
};

const shift =
  (of: (a: bigint, n: bigint) => bigint): Case =>
  (m) => {
    const t = m.type();
    return computes([t], [t, U32], ([a, n]) => of(a, atMost(t, n)));
  };

/** The type of the selected operands; only its width matters. */
const selected = (m: Modifiers): Type => bitsOf(m.type());

export const logic: Table = {
  and: bitwise((a, b) => a & b),
  or: bitwise((a, b) => a | b),
  xor: bitwise((a, b) => a ^ b),
  not: (m) => {
    const t = m.type();
    return computes([t], [t], ([a]) => ~a);
  },
  cnot: (m) => {
    const t = m.type();
    return computes([t], [t], ([a]) => (a === 0n ? 1n : 0n));
  },
  lop3,
  shf,
  shl: shift((a, n) => a << n),
  shr: shift((a, n) => a >> n),
  prmt,
  selp: (m) => {
    const t = selected(m);
    return computes([t], [t, t, PREDICATE], ([a, b, p]) => (p !== 0n ? a : b));
  },
};
