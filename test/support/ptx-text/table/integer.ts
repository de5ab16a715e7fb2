import { B32, clamp, S32, type Type, twice, U32 } from '../values/types.ts';
import { type Case, computes, type Modifiers, type Table } from './case.ts';

/*
 * Integer arithmetic: PTX ISA, 9.7.1.
 */

const bit = (x: bigint, k: number): bigint => (x >> BigInt(k)) & 1n;
const ones = (n: number): bigint => (1n << BigInt(n)) - 1n;
const magnitude = (x: bigint): bigint => (x < 0n ? -x : x);
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The two 16-bit elements of a word, the low one first. */
const halves = (x: bigint, signed: boolean): [bigint, bigint] => {
  const half = (v: bigint) => (signed ? BigInt.asIntN(16, v) : BigInt.asUintN(16, v));
  return [half(x), half(x >> 16n)];
};

/** An operation on two numbers of a type, elementwise for packed types. */
function onElements(t: Type, of: (a: bigint, b: bigint) => bigint) {
  if (t.kind !== 'packed') return computes([t], [t, t], ([a, b]) => of(a, b));
  return computes([B32], [B32, B32], ([a, b]) => {
    const [p, q] = [halves(a, t.signed === true), halves(b, t.signed === true)];
    return BigInt.asUintN(16, of(p[0], q[0])) | (BigInt.asUintN(16, of(p[1], q[1])) << 16n);
  });
}

const sumOrDifference =
  (of: (a: bigint, b: bigint) => bigint): Case =>
  (m) => {
    const sat = m.flag('sat');
    const t = m.type();
    return onElements(t, (a, b) => (sat ? clamp(t, of(a, b)) : of(a, b)));
  };

const extreme =
  (of: (a: bigint, b: bigint) => bigint): Case =>
  (m) => {
    const relu = m.flag('relu');
    return onElements(m.type(), (a, b) => (relu ? greatest(0n, of(a, b)) : of(a, b)));
  };

/** Which part of a product is used: the upper half, the lower half, or all of it. */
type Part = 'hi' | 'lo' | 'wide';
const part = (m: Modifiers): Part => m.need(['hi', 'lo', 'wide']);
const partOf = (t: Type, mode: Part, product: bigint): bigint =>
  mode === 'hi' ? product >> BigInt(t.width) : mode === 'lo' ? BigInt.asUintN(t.width, product) : product;
const typeOfPart = (t: Type, mode: Part): Type => (mode === 'wide' ? twice(t) : t);

/** The low 24 bits of a number, the operands of mul24 and mad24. */
const low24 = (t: Type, x: bigint): bigint =>
  t.kind === 'signed' ? BigInt.asIntN(24, x) : BigInt.asUintN(24, x);

/** The elements of a word for a dot product, sign- or zero-extended by the type. */
const extended = (x: bigint, width: number, n: number, t: Type): bigint[] =>
  Array.from({ length: n }, (_, k) => {
    const e = x >> BigInt(k * width);
    return t.kind === 'signed' ? BigInt.asIntN(width, e) : BigInt.asUintN(width, e);
  });

/** The accumulator type of a dot product: unsigned if both factors are. */
const dotType = (a: Type, b: Type): Type => (a.kind === 'unsigned' && b.kind === 'unsigned' ? U32 : S32);

/** Position of the highest bit that differs from the sign; -1 if there is none. */
function highestBit(t: Type, x: bigint): number {
  const v = x < 0n ? ~x : x;
  for (let k = t.width - 1; k >= 0; k--) if (bit(v, k) === 1n) return k;
  return -1;
}

/** Positions and lengths of bit fields are 0 to 255; results for others are not specified (PTX ISA 9.0, 9.7.1.20, bfe). */
const isByte = (...numbers: readonly bigint[]): boolean => numbers.every((n) => n <= 255n);

/** Position of the n-th set bit of a word, counting up from `base`, or down if `offset` is negative; all ones if there is none. */
function nthSet(mask: bigint, base: number, offset: bigint): bigint {
  if (offset === 0n) return bit(mask, base) === 1n ? BigInt(base) : -1n;
  const step = offset > 0n ? 1 : -1;
  let left = magnitude(offset);
  for (let k = base; k >= 0 && k < 32; k += step) if (bit(mask, k) === 1n && --left === 0n) return BigInt(k);
  return -1n;
}

function extract(t: Type, x: bigint, start: number, length: number): bigint {
  const last = Math.min(start + length - 1, t.width - 1);
  const fill = t.kind === 'unsigned' || length === 0 ? 0n : bit(x, last);
  let d = 0n;
  for (let k = 0; k < t.width; k++)
    d |= (k < length && start + k < t.width ? bit(x, start + k) : fill) << BigInt(k);
  return d;
}

function insert(t: Type, field: bigint, into: bigint, start: number, length: number): bigint {
  let d = into;
  for (let k = 0; k < length && start + k < t.width; k++) {
    const at = BigInt(start + k);
    d = (d & ~(1n << at)) | (bit(field, k) << at);
  }
  return d;
}

export const integer: Table = {
  add: sumOrDifference((a, b) => a + b),
  sub: sumOrDifference((a, b) => a - b),
  mul: (m) => {
    const mode = part(m);
    const t = m.type();
    return computes([typeOfPart(t, mode)], [t, t], ([a, b]) => partOf(t, mode, a * b));
  },
  mad: (m) => {
    const mode = part(m);
    const sat = m.flag('sat');
    const t = m.type();
    const d = typeOfPart(t, mode);
    return computes([d], [t, t, d], ([a, b, c]) => {
      const sum = partOf(t, mode, a * b) + c;
      return sat ? clamp(t, sum) : sum;
    });
  },
  mul24: (m) => {
    const mode = m.need(['hi', 'lo']);
    const t = m.type();
    return computes([t], [t, t], ([a, b]) => (low24(t, a) * low24(t, b)) >> (mode === 'hi' ? 16n : 0n));
  },
  mad24: (m) => {
    const mode = m.need(['hi', 'lo']);
    const sat = m.flag('sat');
    const t = m.type();
    return computes([t], [t, t, t], ([a, b, c]) => {
      const product = low24(t, a) * low24(t, b);
      // The 32 bits of the product that are added are interpreted in the type.
      const taken = mode === 'hi' ? product >> 16n : product;
      const number = t.kind === 'signed' ? BigInt.asIntN(32, taken) : BigInt.asUintN(32, taken);
      return sat ? clamp(t, number + c) : number + c;
    });
  },
  sad: (m) => {
    const t = m.type();
    return computes([t], [t, t, t], ([a, b, c]) => c + magnitude(a - b));
  },
  div: (m) => {
    const t = m.type();
    return computes([t], [t, t], ([a, b], open) => (b === 0n ? open.unspecified(t) : a / b));
  },
  rem: (m) => {
    const t = m.type();
    return computes([t], [t, t], ([a, b], open) => (b === 0n ? open.unspecified(t) : a % b));
  },
  abs: (m) => {
    const t = m.type();
    return computes([t], [t], ([a]) => magnitude(a));
  },
  neg: (m) => {
    const t = m.type();
    return computes([t], [t], ([a]) => -a);
  },
  min: extreme(least),
  max: extreme(greatest),
  popc: (m) => {
    const t = m.type();
    return computes([U32], [t], ([a]) => BigInt(a.toString(2).replaceAll('0', '').length));
  },
  clz: (m) => {
    const t = m.type();
    return computes([U32], [t], ([a]) => BigInt(t.width - 1 - highestBit(t, a)));
  },
  bfind: (m) => {
    const shift = m.flag('shiftamt');
    const t = m.type();
    return computes([U32], [t], ([a]) => {
      const k = highestBit(t, a);
      return BigInt(k >= 0 && shift ? t.width - 1 - k : k);
    });
  },
  fns: (m) => {
    m.need(['b32']);
    return computes([B32], [B32, U32, S32], ([mask, base, offset], open) =>
      base > 31n ? open.unspecified(B32) : nthSet(mask, Number(base), offset),
    );
  },
  brev: (m) => {
    const t = m.type();
    return computes([t], [t], ([a]) =>
      BigInt(`0b${[...a.toString(2).padStart(t.width, '0')].reverse().join('')}`),
    );
  },
  bfe: (m) => {
    const t = m.type();
    return computes([t], [t, U32, U32], ([a, start, length], open) =>
      isByte(start, length) ? extract(t, a, Number(start), Number(length)) : open.unspecified(t),
    );
  },
  bfi: (m) => {
    const t = m.type();
    return computes([t], [t, t, U32, U32], ([field, into, start, length], open) =>
      isByte(start, length) ? insert(t, field, into, Number(start), Number(length)) : open.unspecified(t),
    );
  },
  szext: (m) => {
    const mode = m.need(['clamp', 'wrap']);
    const t = m.type();
    return computes([t], [t, U32], ([a, b]) => {
      if (mode === 'clamp' && b >= 32n) return a;
      const n = Number(b & 31n);
      if (n === 0) return 0n;
      return t.kind === 'signed' ? BigInt.asIntN(n, a) : BigInt.asUintN(n, a);
    });
  },
  bmsk: (m) => {
    const mode = m.need(['clamp', 'wrap']);
    m.need(['b32']);
    return computes([B32], [U32, U32], ([a, b]) => {
      if (mode === 'clamp' && a >= 32n) return 0n;
      const width = mode === 'clamp' ? Number(least(b, 32n)) : Number(b & 31n);
      return ones(width) << (a & 31n);
    });
  },
  dp4a: (m) => {
    const [at, bt] = [m.type(), m.type()];
    const d = dotType(at, bt);
    return computes([d], [B32, B32, d], ([a, b, c]) => {
      const [p, q] = [extended(a, 8, 4, at), extended(b, 8, 4, bt)];
      return p.reduce((sum, x, k) => sum + x * q[k], c);
    });
  },
  dp2a: (m) => {
    const from = m.need(['lo', 'hi']) === 'lo' ? 0 : 2;
    const [at, bt] = [m.type(), m.type()];
    const d = dotType(at, bt);
    return computes([d], [B32, B32, d], ([a, b, c]) => {
      const [p, q] = [extended(a, 16, 2, at), extended(b, 8, 4, bt)];
      return p.reduce((sum, x, k) => sum + x * q[from + k], c);
    });
  },
  'cvt.pack': (m) => {
    m.need(['sat']);
    const word = m.need(['u16', 's16', 'u8', 's8', 'u4', 's4', 'u2', 's2']);
    m.need(['s32']);
    const width = Number(word.slice(1));
    const [low, high] = word[0] === 's' ? [-(1n << BigInt(width - 1)), ones(width - 1)] : [0n, ones(width)];
    const fit = (x: bigint): bigint => BigInt.asUintN(width, greatest(low, least(high, x)));
    const packed = (a: bigint, b: bigint): bigint => fit(b) | (fit(a) << BigInt(width));
    if (width === 16) return computes([U32], [S32, S32], ([a, b]) => packed(a, b));
    m.need(['b32']);
    return computes([U32], [S32, S32, B32], ([a, b, c]) => packed(a, b) | (c << BigInt(2 * width)));
  },
};
