import { negated, product, quotient, root, sum } from '../values/arithmetic.ts';
import {
  canonicalNaN,
  compare,
  decode,
  F64,
  type Format,
  finite,
  flushed,
  isInfinite,
  isNegative,
  isNotANumber,
  isSubnormal,
  isZero,
  NAN,
  one,
  type Real,
  type Rounding,
  round,
  withSign,
} from '../values/floats.ts';
import { bitsOf, PREDICATE, type Type, type } from '../values/types.ts';
import {
  type Case,
  type Choices,
  type Computation,
  computes,
  type Modifiers,
  type Table,
  Unsupported,
} from './case.ts';

/*
 * Floating-point arithmetic: PTX ISA, 9.7.3 to 9.7.5.
 */

/** How a result is rounded and adjusted to its format. */
export interface Finish {
  readonly mode: Rounding;
  /** Subnormal operands and results are flushed to zeros of the same sign. */
  readonly ftz: boolean;
  /** The result is clamped to [0, 1], and NaN becomes 0. */
  readonly sat: boolean;
  /** A negative result becomes 0, and NaN becomes canonical. */
  readonly relu: boolean;
}

/** Reads the modifiers that affect the result. */
export function finishOf(m: Modifiers, byDefault: Rounding | null = 'rn'): Finish {
  const modes = ['rn', 'rz', 'rm', 'rp'] as const;
  const mode = byDefault === null ? m.need(modes) : (m.oneOf(modes) ?? byDefault);
  return { mode, ftz: m.flag('ftz'), sat: m.flag('sat'), relu: m.flag('relu') };
}

/** The bits of a result, rounded and adjusted. */
export function finished(f: Format, x: Real, how: Finish, open: Choices): bigint {
  if (x.kind === 'nan') return how.sat ? 0n : how.relu ? canonicalNaN(f) : open.nan(f);
  if ((how.sat || how.relu) && x.negative) return 0n;
  const rounded = x.kind === 'infinite' ? infinityOf(f, x.negative) : round(f, x, how.mode);
  const bits = how.ftz ? flushed(f, rounded) : rounded;
  return how.sat && bits > one(f) ? one(f) : bits;
}

export const infinityOf = (f: Format, negative: boolean): bigint =>
  withSign(f, ((1n << BigInt(f.exponentBits)) - 1n) << BigInt(f.fractionBits), negative);

/** An operation on `n` numbers of a type, elementwise for packed types. */
export function onFloats(
  t: Type,
  n: number,
  of: (f: Format, a: readonly bigint[], open: Choices) => bigint,
  approximate = false,
): Computation {
  const f = t.format;
  if (f === undefined) throw new Unsupported(`floating-point arithmetic of .${t.name}`);
  const operands = Array.from({ length: n }, () => (t.kind === 'packed' ? bitsOf(t) : t));
  if (t.kind !== 'packed') return { ...computes([t], operands, (a, open) => of(f, a, open)), approximate };
  const width = BigInt(f.width);
  const element = (x: bigint, k: bigint): bigint => BigInt.asUintN(f.width, x >> (k * width));
  return {
    ...computes([bitsOf(t)], operands, (a, open) => {
      const low = of(
        f,
        a.map((x) => element(x, 0n)),
        open,
      );
      const high = of(
        f,
        a.map((x) => element(x, 1n)),
        open,
      );
      return low | (high << width);
    }),
    approximate,
  };
}

/** The value of a number, flushed first if `ftz`. */
const real = (f: Format, bits: bigint, ftz: boolean): Real => decode(f, ftz ? flushed(f, bits) : bits);

/** Arithmetic on `n` numbers with a single rounding. */
const arithmetic =
  (n: number, of: (x: readonly Real[], mode: Rounding) => Real, byDefault: Rounding | null = 'rn'): Case =>
  (m) => {
    const how = finishOf(m, byDefault);
    const t = m.type();
    const narrow = m.peek();
    if (narrow !== undefined) return mixed(m.type(), t, n, how, of);
    return onFloats(t, n, (f, a, open) =>
      finished(
        f,
        of(
          a.map((x) => real(f, x, how.ftz)),
          how.mode,
        ),
        how,
        open,
      ),
    );
  };

/** Arithmetic in which all operands except the last have a narrower type (PTX ISA, 9.7.5). */
function mixed(
  narrow: Type,
  t: Type,
  n: number,
  how: Finish,
  of: (x: readonly Real[], mode: Rounding) => Real,
): Computation {
  const types = Array.from({ length: n }, (_, k) => (k < n - 1 ? narrow : t));
  return computes([t], types, (a, open) => {
    const numbers = a.map((x, k) => decode(types[k].format!, x));
    return finished(t.format!, of(numbers, how.mode), how, open);
  });
}

const fused: Case = arithmetic(3, ([a, b, c], mode) => sum(product(a, b), c, mode));

/** A function of one f32 or f64 for which the PTX ISA permits an error: the result of JavaScript, rounded to the type. */
const approximated =
  (of: (x: number) => number): Case =>
  (m) => {
    m.need(['approx']);
    const ftz = m.flag('ftz');
    const t = m.type();
    if (t.name === 'f64' && ftz) return gross(of);
    const how: Finish = { mode: 'rn', ftz, sat: false, relu: false };
    return onFloats(
      t,
      1,
      (f, [a], open) =>
        finished(f, decode(F64, bitsOfNumber(of(numberOf(f, ftz ? flushed(f, a) : a)))), how, open),
      true,
    );
  };

/** rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 use only the upper half of their operand, and compute only that of the result. */
function gross(of: (x: number) => number): Computation {
  const f64 = type('f64');
  const upper = (x: bigint): bigint => (x >> 32n) << 32n;
  return {
    ...computes([f64], [f64], ([a]) => {
      const x = flushed(F64, upper(a));
      const y = of(numberOf(F64, x));
      return y !== y ? 0x7fffffff00000000n : upper(flushed(F64, bitsOfNumber(y)));
    }),
    approximate: true,
  };
}

const view = new DataView(new ArrayBuffer(8));
/** The bits of a JavaScript number as f64. */
export function bitsOfNumber(x: number): bigint {
  view.setFloat64(0, x);
  return view.getBigUint64(0);
}
/** The JavaScript number with the value of a number of a format. */
export function numberOf(f: Format, bits: bigint): number {
  const x = decode(f, bits);
  if (x.kind === 'nan') return Number.NaN;
  view.setBigUint64(0, x.kind === 'infinite' ? infinityOf(F64, x.negative) : round(F64, x, 'rn'));
  return view.getFloat64(0);
}

/** A division, reciprocal or square root: correctly rounded if a modifier says so, approximate otherwise. */
const roundedOr =
  (exact: Case, near: Case): Case =>
  (m) =>
    m.has('approx') || m.has('full') ? near(m) : exact(m);

const nearQuotient: Case = (m) => {
  const full = m.need(['approx', 'full']) === 'full';
  const how: Finish = { mode: 'rn', ftz: m.flag('ftz'), sat: false, relu: false };
  const limit = finite(false, 1n, 126);
  return onFloats(
    m.type(),
    2,
    (f, [x, y], open) => {
      const [a, b] = [real(f, x, how.ftz), real(f, y, how.ftz)];
      // The reciprocal of a divisor this large is flushed to zero.
      const huge = !full && b.kind === 'finite' && compare({ ...b, negative: false }, limit) === 1;
      const q = !huge ? quotient(a, b) : a.kind === 'finite' ? product(a, { ...b, magnitude: 0n }) : NAN;
      return finished(f, q, how, open);
    },
    true,
  );
};

/** Changes only the sign; the result for NaN is not specified. */
const signChange =
  (of: (negative: boolean) => boolean): Case =>
  (m) => {
    const ftz = m.flag('ftz');
    return onFloats(m.type(), 1, (f, [a], open) =>
      isNotANumber(f, a) ? open.nan(f) : withSign(f, ftz ? flushed(f, a) : a, of(isNegative(f, a))),
    );
  };

/** The minimum or maximum of two numbers; -0 is less than +0. */
function chosen(f: Format, greater: boolean, a: bigint, b: bigint): bigint {
  const order = compare(decode(f, a), decode(f, b));
  const aIsLess = order === 0 ? isNegative(f, a) : order === -1;
  return aIsLess !== greater ? a : b;
}

const extreme =
  (greater: boolean): Case =>
  (m) => {
    const [ftz, keepsNaN, xorsign, abs] = [m.flag('ftz'), m.flag('NaN'), m.flag('xorsign'), m.flag('abs')];
    const two = (f: Format, a: bigint, b: bigint, open: Choices): bigint => {
      if (keepsNaN && (isNotANumber(f, a) || isNotANumber(f, b))) return canonicalNaN(f);
      if (isNotANumber(f, a)) return isNotANumber(f, b) ? open.nan(f) : b;
      return isNotANumber(f, b) ? a : chosen(f, greater, a, b);
    };
    return onFloats(m.type(), m.sources, (f, raw, open) => {
      const sign = isNegative(f, raw[0]) !== isNegative(f, raw[1]);
      const inputs = raw.map((x) => (abs ? withSign(f, x, false) : x)).map((x) => (ftz ? flushed(f, x) : x));
      const d = inputs.reduce((x, y) => two(f, x, y, open));
      return xorsign && !isNotANumber(f, d) ? withSign(f, d, sign) : d;
    });
  };

const PROPERTIES: Readonly<Record<string, (f: Format, x: bigint) => boolean>> = {
  finite: (f, x) => !isNotANumber(f, x) && !isInfinite(f, x),
  infinite: isInfinite,
  number: (f, x) => !isNotANumber(f, x),
  notanumber: isNotANumber,
  normal: (f, x) => !isNotANumber(f, x) && !isInfinite(f, x) && !isSubnormal(f, x),
  subnormal: (f, x) => isSubnormal(f, x) && !isZero(f, x),
};

export const float: Table = {
  'add.float': arithmetic(2, ([a, b], mode) => sum(a, b, mode)),
  'sub.float': arithmetic(2, ([a, b], mode) => sum(a, negated(b), mode)),
  'mul.float': arithmetic(2, ([a, b]) => product(a, b)),
  fma: fused,
  'mad.float': fused,
  'div.float': roundedOr(
    arithmetic(2, ([a, b]) => quotient(a, b), null),
    nearQuotient,
  ),
  rcp: roundedOr(
    arithmetic(1, ([a]) => quotient(finite(false, 1n, 0), a), null),
    approximated((x) => 1 / x),
  ),
  sqrt: roundedOr(
    arithmetic(1, ([a]) => root(a), null),
    approximated(Math.sqrt),
  ),
  rsqrt: approximated((x) => (Object.is(x, -0) ? -Infinity : 1 / Math.sqrt(x))),
  sin: approximated(Math.sin),
  cos: approximated(Math.cos),
  lg2: approximated(Math.log2),
  ex2: approximated((x) => 2 ** x),
  tanh: approximated(Math.tanh),
  'abs.float': signChange(() => false),
  'neg.float': signChange((negative) => !negative),
  'min.float': extreme(false),
  'max.float': extreme(true),
  copysign: (m) => onFloats(m.type(), 2, (f, [a, b]) => withSign(f, b, isNegative(f, a))),
  testp: (m) => {
    const holds = PROPERTIES[m.need(Object.keys(PROPERTIES))];
    const t = m.type();
    return computes([PREDICATE], [t], ([a]) => (holds(t.format!, a) ? 1n : 0n));
  },
};
