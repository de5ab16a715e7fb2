import { compare, decode, type Format, flushed, one } from '../values/floats.ts';
import { bitsOf, isFloat, PREDICATE, S32, type Type } from '../values/types.ts';
import { type Case, computes, type Modifiers, type Table, Unsupported } from './case.ts';

/*
 * Comparisons: PTX ISA, 9.3.1, 9.7.6 and 9.7.7.
 */

/** For each relation, whether it holds if the first number is less, equal, greater. */
const RELATIONS: Readonly<Record<string, readonly [boolean, boolean, boolean]>> = {
  eq: [false, true, false],
  ne: [true, false, true],
  lt: [true, false, false],
  le: [true, true, false],
  gt: [false, false, true],
  ge: [false, true, true],
};
/** Synonyms of the relations on unsigned numbers. */
const UNSIGNED: Readonly<Record<string, string>> = { lo: 'lt', ls: 'le', hi: 'gt', hs: 'ge' };

const WORDS = [
  ...Object.keys(RELATIONS),
  ...Object.keys(UNSIGNED),
  ...Object.keys(RELATIONS).map((r) => `${r}u`),
  'num',
  'nan',
];

/** Whether a relation holds; `order` is -1, 0 or 1, or null if either number is NaN. */
function holds(relation: string, order: -1 | 0 | 1 | null): boolean {
  if (relation === 'num' || relation === 'nan') return (order === null) === (relation === 'nan');
  const unordered = RELATIONS[relation] === undefined && UNSIGNED[relation] === undefined;
  if (order === null) return unordered;
  return RELATIONS[UNSIGNED[relation] ?? (unordered ? relation.slice(0, -1) : relation)][order + 1];
}

const orderOf = (a: bigint, b: bigint): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0);

/** The order of two numbers of a type. */
function order(t: Type, ftz: boolean, a: bigint, b: bigint): -1 | 0 | 1 | null {
  const f = t.format;
  if (f === undefined) return orderOf(a, b);
  return compare(decode(f, ftz ? flushed(f, a) : a), decode(f, ftz ? flushed(f, b) : b));
}

type Combine = (t: bigint, c: bigint) => bigint;
const COMBINATIONS: Readonly<Record<string, Combine>> = {
  and: (t, c) => t & c,
  or: (t, c) => t | c,
  xor: (t, c) => t ^ c,
};

interface Comparison {
  readonly relation: string;
  readonly ftz: boolean;
  /** Combines the result with the predicate c; null if there is none. */
  readonly combine: Combine | null;
}

function comparison(m: Modifiers): Comparison {
  const relation = m.need(WORDS);
  const word = m.oneOf(Object.keys(COMBINATIONS));
  return { relation, ftz: m.flag('ftz'), combine: word === null ? null : COMBINATIONS[word] };
}

/** The two elements of a packed number. */
const elements = (f: Format, x: bigint): readonly [bigint, bigint] => [
  BigInt.asUintN(f.width, x),
  x >> BigInt(f.width),
];

/** Compares two numbers; of packed numbers both pairs of elements, which gives two results. */
function compared(c: Comparison, t: Type): (a: bigint, b: bigint) => readonly bigint[] {
  const one = (e: Type) => (a: bigint, b: bigint) => (holds(c.relation, order(e, c.ftz, a, b)) ? 1n : 0n);
  if (t.kind !== 'packed') return (a, b) => [one(t)(a, b)];
  const f = t.format;
  if (f === undefined) throw new Unsupported(`a comparison of .${t.name}`);
  const element: Type = { ...t, kind: 'float', width: f.width };
  return (a, b) => {
    const [p, q] = [elements(f, a), elements(f, b)];
    return [one(element)(p[0], q[0]), one(element)(p[1], q[1])];
  };
}

const operandType = (t: Type): Type => (t.kind === 'packed' ? bitsOf(t) : t);

const setp: Case = (m) => {
  const c = comparison(m);
  const t = m.type();
  const test = compared(c, t);
  const o = operandType(t);
  const operands = c.combine === null ? [o, o] : [o, o, PREDICATE];
  return computes([PREDICATE, PREDICATE], operands, ([a, b, p]) => {
    const [x, second] = test(a, b);
    // For packed numbers, q is the result of the other element; for others, the complement.
    const y = second ?? 1n - x;
    return c.combine === null ? [x, y] : [c.combine(x, p), c.combine(y, p)];
  });
};

/** What `set` writes for true: 1.0, or all ones. */
const truth = (d: Type, width: number): bigint =>
  d.format !== undefined ? one(d.format) : (1n << BigInt(width)) - 1n;

const set: Case = (m) => {
  const c = comparison(m);
  const [d, t] = [m.type(), m.type()];
  const test = compared(c, t);
  const o = operandType(t);
  const packed = t.kind === 'packed';
  const width = packed ? 16 : d.width;
  const value = truth(d, width);
  return computes([operandType(d)], c.combine === null ? [o, o] : [o, o, PREDICATE], ([a, b, p]) =>
    test(a, b)
      .map((x) => (c.combine === null ? x : c.combine(x, p)))
      .reduce((sum, x, k) => sum | ((x !== 0n ? value : 0n) << BigInt(k * width)), 0n),
  );
};

const slct: Case = (m) => {
  const ftz = m.flag('ftz');
  const t = bitsOf(m.type());
  const c = m.type();
  if (c !== S32 && !isFloat(c)) throw new Unsupported(`slct by .${c.name}`);
  return computes([t], [t, t, c], ([a, b, x]) => {
    const o = order(c, ftz, x, 0n);
    return o !== null && o >= 0 ? a : b;
  });
};

export const comparisons: Table = { setp, set, slct };
