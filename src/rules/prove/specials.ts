/** Special values, at which operations change behaviour, by width and format; and pairs of them for the operands of a rule. */

import { memoPair } from '../../ir/memo.ts';
import { FORMATS, type FormatName } from '../../isa/formats.ts';
import type { Instance, Rule } from '../rule.ts';
import { constantsFor } from '../witness.ts';
import { goalOf } from './goal.ts';

/** Exponents of powers of two at which widths of operands, bytes, shifts and significands end. */
const ENDS = [3, 4, 5, 7, 8, 15, 16, 24, 31, 32, 53, 63];

/**
 * Special integers of a width, those that reveal most first: small numbers; the numbers of a rule with their neighbours and largest
 * multiples; both ends, signed and unsigned; powers of two and their neighbours; mixed bits.
 * @param named the numbers that occur in the rule
 */
export function integerSpecials(width: number, named: readonly bigint[] = []): readonly bigint[] {
  const ones = (1n << BigInt(width)) - 1n;
  const lowest = 1n << BigInt(width - 1);
  const beside = ENDS.filter((k) => k < width - 1).flatMap((k) => {
    const p = 1n << BigInt(k);
    return [p - 1n, p, p + 1n, -p];
  });
  // Quotients by a number change at its multiples; rounding errors show at the largest of them.
  const multiples = named
    .map((c) => BigInt.asUintN(width, c))
    .filter((c) => c > 2n)
    .flatMap((c) => [
      ones - (ones % c),
      ones - (ones % c) - 1n,
      lowest - (lowest % c),
      lowest - (lowest % c) - 1n,
    ]);
  const mixed = [0x5555555555555555n, 0xaaaaaaaaaaaaaaaan, 0x00ff00ff00ff00ffn, 0x0123456789abcdefn];
  const all = [
    0n,
    1n,
    2n,
    3n,
    ones,
    ones - 1n,
    ones - 2n,
    lowest,
    lowest - 1n,
    lowest + 1n,
    ...beside,
    ...mixed,
  ];
  const near = named.flatMap((c) => [c, c - 1n, c + 1n, -c, ~c]);
  return unique([...all.slice(0, 4), ...near, ...multiples, ...all.slice(4)], width);
}

/**
 * Special values of a float format, those that reveal most first, and all numbers with both signs: zeros, the ends of subnormal and normal
 * numbers, infinities, quiet and signalling NaNs with and without a payload, one and its neighbours, ties of narrower formats, numbers
 * whose product is a tie, tiny numbers that decide a tie, and the ends of integer types.
 */
export function floatSpecials(fmt: FormatName): readonly bigint[] {
  const { bits, mant, bias, nan } = FORMATS[fmt];
  const m = BigInt(mant);
  const sign = 1n << BigInt(bits - 1);
  const infinity = BigInt(2 * bias + 1) << m;
  const low = 1n << m;
  /** 2^exponent * (1 + fraction / 2^mant); nothing if the exponent is out of range. */
  const number = (exponent: number, fraction = 0n): bigint[] =>
    exponent > -bias && exponent <= bias ? [(BigInt(exponent + bias) << m) | fraction] : [];
  // For each narrower format, the bit just below its significand: alone, it is half a unit in the last place.
  const halves = [7, 10, 23].filter((k) => k < mant).map((k) => 1n << BigInt(mant - k - 1));
  const root = 1n << BigInt(mant - Math.floor((mant + 1) / 2));
  const finest = [0n, infinity, ...number(0), 1n, low, infinity - 1n, ...number(0, 1n), low - 1n];
  const nans = [
    nan,
    infinity | (low >> 1n) | 1n,
    infinity | 1n,
    sign | infinity | 5n,
    sign | infinity | (low >> 1n),
  ];
  const rest = [
    2n,
    low + 1n,
    low >> 1n,
    ...number(0, 2n),
    ...number(0, low - 1n),
    ...number(-1, low - 1n),
    ...number(0, low >> 1n),
    // The square of 1 + 2^-k is a tie if 2k is one more than the number of explicit significand bits.
    ...number(0, root),
    ...number(0, root << 1n),
    ...halves.flatMap((h) => [
      ...number(0, h),
      ...number(0, h + 1n),
      ...number(0, h - 1n),
      ...number(0, 3n * h),
    ]),
    ...[-1, 1].flatMap((e) => number(e)),
    ...number(mant),
    ...number(mant, 1n),
    ...number(mant + 1, 1n),
    ...number(mant - 1, 1n),
    ...number(-mant - 1),
    ...number(-mant - 2),
    // A number whose square underflows, one whose square overflows, and the ends of formats with narrower exponents.
    ...number(-Math.floor((2 * bias) / 3)),
    ...number(Math.floor(bias / 2) + 1),
    ...[
      2, 10, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, -14, -15, -24, -25, -126, -127, -149, -150, 127, 128,
    ].flatMap((e) => number(e)),
  ];
  const signed = (x: bigint): bigint[] => [x, x | sign];
  return unique(
    [
      ...finest.slice(0, 3).flatMap(signed),
      nan,
      ...finest.slice(3).flatMap(signed),
      ...nans,
      ...rest.flatMap(signed),
    ],
    bits,
  );
}

const unique = (values: readonly bigint[], width: number): bigint[] => [
  ...new Set(values.map((v) => BigInt.asUintN(width, v))),
];

/** The numbers that occur in a rule's lines, conditions and computed constants. */
export function numbersOf(rule: Rule, instance: Instance): readonly bigint[] {
  const computed = instance.constants.nodes
    .filter((n) => n.op === 'const' && n.width > 1)
    .map((n) => n.value);
  const literals = [...rule.match, ...rule.rewrite].flatMap((l) =>
    l.src.flatMap((s) => (s.k === 'literal' ? [s.value] : [])),
  );
  return [...new Set([...computed, ...literals])];
}

/** How a variable is read: as a float, as a pair of floats, or as an integer. */
type Reading = { readonly fmt: FormatName; readonly pair: boolean };

/** Operations whose result still counts as the variable, or a half of it, when it is the operand of a float operation. */
const THROUGH: ReadonlySet<string> = new Set(['ftz', 'fneg', 'fabs', 'extract', 'xor', 'and', 'lop3']);

/** The reading of each variable that is an operand of a float operation. */
function readings(rule: Rule, instance: Instance): ReadonlyMap<number, Reading> {
  const out = new Map<number, Reading>();
  const { nodes, inputs } = goalOf(rule, instance);
  const origin = (x: number): number => {
    const n = nodes[x];
    return n.op === 'src' ? inputs[n.n].v : THROUGH.has(n.op) ? origin(n.args[0]) : -1;
  };
  for (const n of nodes) {
    if (n.fmt === '' || n.op === 'i2f') continue;
    const { bits } = FORMATS[n.fmt];
    for (const a of n.args) {
      const v = origin(a);
      const width = v < 0 ? 0 : instance.widths[v] || 32;
      if (v >= 0 && !out.has(v) && (width === bits || width === 2 * bits))
        out.set(v, { fmt: n.fmt, pair: width === 2 * bits });
    }
  }
  return out;
}

/** The special values of a variable with the given width and reading. */
function specialsOf(
  width: number,
  reading: Reading | undefined,
  named: readonly bigint[],
): readonly bigint[] {
  if (reading === undefined) return integerSpecials(width, named);
  const one = floatSpecials(reading.fmt);
  if (!reading.pair) return one;
  // Each half takes every value once, paired with a different one.
  const half = BigInt(FORMATS[reading.fmt].bits);
  return one.map((x, i) => (one[(i * 5 + 3) % one.length] << half) | x);
}

/** A unit of choice: one variable, or all constants of a rule with a condition, which are chosen together. */
interface Part {
  readonly vars: readonly number[];
  readonly choices: readonly (readonly bigint[])[];
}

/** The special values of each variable of a rule, by variable; computed variables are included. */
export function specialsByVariable(rule: Rule, instance: Instance): readonly (readonly bigint[])[] {
  const read = readings(rule, instance);
  const named = numbersOf(rule, instance);
  return rule.vars.map((_, i) => specialsOf(instance.widths[i] || 32, read.get(i), named));
}

/** Maximum number of solutions of a condition that are combined with the special values of operands. */
const MOST_CONSTANTS = 24;

const partsOf = memoPair((rule: Rule, instance: Instance): readonly Part[] => {
  const read = readings(rule, instance);
  const named = numbersOf(rule, instance);
  const parts: Part[] = [];
  const together: number[] = [];
  rule.vars.forEach((v, i) => {
    if (v.fresh || v.line >= 0) return;
    if (v.kind === 'const' && !instance.always) together.push(i);
    else
      parts.push({
        vars: [i],
        choices: specialsOf(instance.widths[i] || 32, read.get(i), named).map((x) => [x]),
      });
  });
  if (together.length === 0) return parts;
  const choices: bigint[][] = [];
  for (let k = 0; k < MOST_CONSTANTS; k++) {
    const found = constantsFor(rule, instance, k);
    if (found === null) break;
    choices.push(together.map((i) => found[i]));
  }
  return choices.length === 0 ? parts : [...parts, { vars: together, choices }];
});

/** A prime stride: steps of it modulo the number of pairs visit them in mixed order. */
const STRIDE = 1_000_003;

/** One combination: two parts, with an index into the choices of each. */
type Pair = readonly [x: number, i: number, y: number, j: number];

/** All pairs of indexes into two lists: alternately a pair of equal indexes, and the next other pair by ascending sum. */
function pairsOf(x: number, a: number, y: number, b: number): readonly Pair[] {
  const equal = Array.from({ length: Math.min(a, b) }, (_, i): Pair => [x, i, y, i]);
  const rest = Array.from({ length: a * b }, (_, k): Pair => [x, k % a, y, Math.floor(k / a)])
    .filter(([, i, , j]) => i !== j)
    .sort((p, q) => p[1] + p[3] - q[1] - q[3]);
  return alternate([equal, rest]);
}

/** Interleaves several lists. */
function alternate<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(...lists.map((l) => l.length));
  const turns = Array.from({ length: longest }, (_, k) => lists.flatMap((l) => l.slice(k, k + 1)));
  return turns.flat();
}

const orders = new Map<string, readonly Pair[]>();

/** All combinations of two parts with lists of these lengths, those with low indexes first. */
function orderOf(lengths: readonly number[]): readonly Pair[] {
  const key = lengths.join();
  let order = orders.get(key);
  if (order === undefined) {
    order =
      lengths.length === 1
        ? Array.from({ length: lengths[0] }, (_, i): Pair => [0, i, 0, i])
        : alternate(
            lengths.flatMap((a, x) => lengths.slice(x + 1).map((b, k) => pairsOf(x, a, x + 1 + k, b))),
          );
    orders.set(key, order);
  }
  return order;
}

/** The part of `Draw` that is needed here. */
interface Drawn {
  next(): number;
  value(width: number, constant: boolean): bigint;
}

/**
 * Generates values by variable: pairs of special values for every two operands, with random special values for the others. If there are
 * more pairs than `most`, half of the samples are the first pairs, and half are spread over the rest, depending on `start`.
 */
export function* specialValues(
  rule: Rule,
  instance: Instance,
  draw: Drawn,
  most: number,
  start: number,
): Generator<bigint[]> {
  const parts = partsOf(rule, instance);
  if (parts.length === 0) return;
  const order = orderOf(parts.map((p) => p.choices.length));
  const first = order.length <= most ? order.length : Math.floor(most / 2);
  for (let n = 0; n < Math.min(most, order.length); n++) {
    const values = rule.vars.map((v, i) => draw.value(instance.widths[i] || 32, v.kind === 'const'));
    const put = (x: number, choice: number): void =>
      parts[x].vars.forEach((v, k) => {
        values[v] = parts[x].choices[choice][k];
      });
    parts.forEach((p, x) => put(x, draw.next() % p.choices.length));
    const at = n < first ? n : first + (((start * most + n) * STRIDE) % (order.length - first));
    const [x, i, y, j] = order[at];
    put(x, i);
    put(y, j);
    yield values;
  }
}
