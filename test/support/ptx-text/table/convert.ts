import {
  canonicalNaN,
  decode,
  F32,
  type Format,
  finite,
  flushed,
  largestFinite,
  type Real,
  type Rounding,
  realOf,
  round,
  toInteger,
  withSign,
} from '../values/floats.ts';
import { bitsOf, clamp, type Type } from '../values/types.ts';
import {
  type Case,
  type Choices,
  type Computation,
  computes,
  type Modifiers,
  type Table,
  Unsupported,
} from './case.ts';
import { finished } from './float.ts';

/*
 * Conversions: PTX ISA, 6.5 and 9.7.9.21.
 */

const INTEGER_ROUNDING: Readonly<Record<string, Rounding>> = { rni: 'rn', rzi: 'rz', rmi: 'rm', rpi: 'rp' };

interface How {
  /** Rounding to an integer, or to an integer value in a float; null if the instruction gives none. */
  readonly toInteger: Rounding | null;
  readonly mode: Rounding | null;
  readonly ftz: boolean;
  readonly sat: boolean;
  readonly relu: boolean;
  readonly satfinite: boolean;
}

function howOf(m: Modifiers): How {
  const integer = m.oneOf(Object.keys(INTEGER_ROUNDING));
  return {
    toInteger: integer === null ? null : INTEGER_ROUNDING[integer],
    mode: m.oneOf(['rn', 'rz', 'rm', 'rp']),
    ftz: m.flag('ftz'),
    sat: m.flag('sat'),
    relu: m.flag('relu'),
    satfinite: m.flag('satfinite'),
  };
}

/** The source operand; `.ftz` flushes only f32. */
const source = (f: Format, bits: bigint, how: How): bigint =>
  how.ftz && f === F32 ? flushed(f, bits) : bits;

/** Rounds a number to a format; `nan` is the result for NaN if no modifier determines it. */
function toFloat(f: Format, x: Real, how: How, open: Choices): bigint {
  const mode = how.mode ?? 'rn';
  if (how.satfinite || f.finiteOnly) {
    if (x.kind === 'nan') return canonicalNaN(f);
    const negative = x.negative;
    if (how.relu && negative) return 0n;
    const bits = x.kind === 'infinite' ? largestFinite(f) : round(f, x, mode);
    const magnitude = withSign(f, bits, false);
    return withSign(f, magnitude > largestFinite(f) ? largestFinite(f) : magnitude, negative);
  }
  return finished(f, x, { mode, ftz: how.ftz && f === F32, sat: how.sat, relu: how.relu }, open);
}

/** The result of converting NaN to an integer. */
const integerOfNaN = (d: Type, a: Type): bigint =>
  a.name !== 'f64' && d.width < 64 ? 0n : 1n << BigInt(d.width - 1);

function floatToInteger(d: Type, a: Type, how: How): Computation {
  const mode = how.toInteger;
  if (mode === null) throw new Unsupported(`cvt.${d.name}.${a.name} without a rounding to integers`);
  const f = a.format!;
  return computes([d], [a], ([bits]) => {
    const x = decode(f, source(f, bits, how));
    if (x.kind === 'nan') return integerOfNaN(d, a);
    return x.kind === 'infinite' ? clamp(d, (x.negative ? -1n : 1n) << 70n) : clamp(d, toInteger(x, mode));
  });
}

function floatToFloat(d: Type, a: Type, how: How): Computation {
  const [from, to] = [a.format!, d.format!];
  const whole = how.toInteger;
  return computes([d], [a], ([bits], open) => {
    const x = decode(from, source(from, bits, how));
    if (whole === null || x.kind !== 'finite') return toFloat(to, x, how, open);
    const n = toInteger(x, whole);
    // The sign is kept if the integer is 0.
    return toFloat(to, finite(x.negative, n < 0n ? -n : n, 0), how, open);
  });
}

/** Packs two numbers into one word; the first becomes the upper element. */
function packs(d: Type, a: Type, how: How): Computation {
  const [from, to] = [a.format!, d.format!];
  const one = (bits: bigint, open: Choices): bigint =>
    toFloat(to, decode(from, source(from, bits, how)), how, open);
  const both = (high: bigint, low: bigint, open: Choices): bigint =>
    (one(high, open) << BigInt(to.width)) | one(low, open);
  if (a.kind === 'float') return computes([bitsOf(d)], [a, a], ([high, low], open) => both(high, low, open));
  const width = BigInt(from.width);
  return computes([bitsOf(d)], [bitsOf(a)], ([x], open) =>
    both(x >> width, BigInt.asUintN(from.width, x), open),
  );
}

const cvt: Case = (m) => {
  const how = howOf(m);
  if (m.has('tf32')) throw new Unsupported('cvt to .tf32, whose layout is up to the implementation');
  const [d, a] = [m.type(), m.type()];
  if (d.kind === 'packed') {
    if (how.mode === null) throw new Unsupported(`cvt.${d.name} without a rounding`);
    return packs(d, a, how);
  }
  if (a.kind === 'packed') throw new Unsupported(`cvt.${d.name}.${a.name}`);
  const toFloatType = d.format !== undefined;
  if (a.format !== undefined) return toFloatType ? floatToFloat(d, a, how) : floatToInteger(d, a, how);
  if (toFloatType) return computes([d], [a], ([x], open) => toFloat(d.format!, realOf(x), how, open));
  return computes([d], [a], ([x]) => (how.sat ? clamp(d, x) : x));
};

export const conversions: Table = { cvt };
