import { B32, clamp, S32, type Type, type, U32 } from '../values/types.ts';
import { type Case, type Choices, computes, type Modifiers, type Table, Unsupported } from './case.ts';

/*
 * Video instructions: PTX ISA, 9.7.18. Their operands select bytes or half-words; a result may replace a part of a third operand.
 */

type Two = (a: bigint, b: bigint) => bigint;

const least: Two = (a, b) => (a < b ? a : b);
const greatest: Two = (a, b) => (a > b ? a : b);

const PRIMARY: Readonly<Record<string, Two>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  absdiff: (a, b) => (a > b ? a - b : b - a),
  min: least,
  max: greatest,
  avrg: (a, b) => (a + b >= 0n ? a + b + 1n : a + b) >> 1n,
};
const SECONDARY: Readonly<Record<string, Two>> = { add: (a, b) => a + b, min: least, max: greatest };

const RELATIONS: Readonly<Record<string, (a: bigint, b: bigint) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** The integer type with this width and the signedness of `t`. */
const narrow = (t: Type, width: number): Type => type(`${t.name[0]}${width}`);
const number = (t: Type, bits: bigint, width: number): bigint =>
  t.kind === 'signed' ? BigInt.asIntN(width, bits) : BigInt.asUintN(width, bits);

/** The lowest bit and the width of a selector such as `b2` or `h1`; an empty selector selects the whole word. */
function place(selector: string): { readonly at: number; readonly width: number } {
  const m = /^([bh])(\d)$/.exec(selector);
  if (m === null) return { at: 0, width: 32 };
  const width = m[1] === 'b' ? 8 : 16;
  return { at: width * Number(m[2]), width };
}

/** The selected part of an operand as a number. */
function part(t: Type, bits: bigint, selector: string): bigint {
  const { at, width } = place(selector);
  return number(t, bits >> BigInt(at), width);
}

/**
 * The last steps of a scalar operation: saturation, then either a secondary operation on c or a merge into c. The minimum and maximum with
 * a result outside of the type's range are not specified: in the text, the value has 34 bits and a sign that depends on the type.
 */
function combined(m: Modifiers, d: Type, sat: boolean, word: string | null) {
  const { at, width } = place(m.selectors[0]);
  const merges = m.selectors[0] !== '';
  return (x: bigint, c: bigint, open: Choices): bigint => {
    const t = sat ? clamp(narrow(d, width), x) : x;
    if (merges) {
      const mask = ((1n << BigInt(width)) - 1n) << BigInt(at);
      return (BigInt.asUintN(32, c) & ~mask) | ((t << BigInt(at)) & mask);
    }
    if (word === null) return t;
    return word !== 'add' && clamp(d, t) !== t ? open.unspecified(d) : SECONDARY[word](t, c);
  };
}

/** A scalar operation (9.7.18.1); its third operand is present if there is a secondary operation or a merge. */
const scalar =
  (of: (m: Modifiers) => Two): Case =>
  (m) => {
    const shift = m.opcode === 'vshl' || m.opcode === 'vshr';
    const [d, at, bt] = m.opcode === 'vset' ? [U32, m.type(), m.type()] : [m.type(), m.type(), m.type()];
    const sat = m.flag('sat');
    const primary = of(m);
    const word = m.oneOf(Object.keys(SECONDARY));
    const finish = combined(m, d, sat, word);
    const three = m.sources === 3;
    if (shift && bt.kind !== 'unsigned') throw new Unsupported(`${m.opcode} by .${bt.name}`);
    return computes([d], three ? [B32, B32, d] : [B32, B32], ([a, b, c], open) =>
      finish(primary(part(at, a, m.selectors[1]), part(bt, b, m.selectors[2])), c ?? 0n, open),
    );
  };

/** A shift by a clamped or wrapped amount. */
const shifts =
  (of: Two) =>
  (m: Modifiers): Two => {
    const clamped = m.need(['clamp', 'wrap']) === 'clamp';
    return (a, b) => of(a, clamped ? least(b, 32n) : b & 31n);
  };

const compares = (m: Modifiers): Two => {
  const holds = RELATIONS[m.need(Object.keys(RELATIONS))];
  return (a, b) => (holds(a, b) ? 1n : 0n);
};

/** vmad (9.7.18.1.3); operands may be negated, by a minus in their selector. */
const vmad: Case = (m) => {
  const [d, at, bt] = [m.type(), m.type(), m.type()];
  const [po, sat] = [m.flag('po'), m.flag('sat')];
  const scale = m.oneOf(['shr7', 'shr15']);
  const negates = (k: number): boolean => m.selectors[k].startsWith('-');
  const selector = (k: number): string => m.selectors[k].replace('-', '');
  const minus = negates(1) !== negates(2);
  const isSigned = at.kind === 'signed' || bt.kind === 'signed' || minus || negates(3);
  const final = isSigned ? S32 : U32;
  return computes([d], [B32, B32, B32], ([a, b, c]) => {
    const product = part(at, a, selector(1)) * part(bt, b, selector(2));
    const addend = number(final, c, 32);
    const sum = (minus ? -product : product) + (negates(3) ? -addend : addend) + (po ? 1n : 0n);
    const result = sum >> (scale === 'shr7' ? 7n : scale === 'shr15' ? 15n : 0n);
    return sat ? clamp(final, result) : result;
  });
};

/** The elements of {b, a} that an operand of a SIMD operation selects, lowest first; by default `n` elements from `first`. */
function lanesOf(selector: string, n: number, first: number): readonly number[] {
  if (selector === '') return Array.from({ length: n }, (_, k) => first + k);
  return [...selector.slice(1)].map(Number).reverse();
}

/** The elements of the result that a SIMD operation writes. */
const maskOf = (selector: string, n: number): readonly boolean[] =>
  Array.from({ length: n }, (_, k) => selector === '' || selector.slice(1).includes(String(k)));

/** A SIMD operation on 2 half-words or 4 bytes (9.7.18.2). */
const simd =
  (n: 2 | 4, of: (m: Modifiers) => Two): Case =>
  (m) => {
    const width = 32 / n;
    const primary = of(m);
    const [d, at, bt] = m.opcode.startsWith('vset')
      ? [U32, m.type(), m.type()]
      : [m.type(), m.type(), m.type()];
    const [sat, accumulates] = [m.flag('sat'), m.flag('add')];
    const mask = maskOf(m.selectors[0], n);
    const [as, bs] = [lanesOf(m.selectors[1], n, 0), lanesOf(m.selectors[2], n, n)];
    return computes([d], [B32, B32, d], ([a, b, c]) => {
      const both = (b << 32n) | a;
      const element = (t: Type, k: number): bigint => number(t, both >> BigInt(k * width), width);
      const results = as.map((k, i) => {
        const x = primary(element(at, k), element(bt, bs[i]));
        return sat ? clamp(narrow(d, width), x) : x;
      });
      if (accumulates) return results.reduce((sum, x, i) => sum + (mask[i] ? x : 0n), c);
      return results.reduce((word, x, i) => {
        const e = mask[i] ? x : c >> BigInt(i * width);
        return word | (BigInt.asUintN(width, e) << BigInt(i * width));
      }, 0n);
    });
  };

const always = (of: Two) => () => of;

const entries: [string, Case][] = [];
for (const [name, of] of Object.entries(PRIMARY)) {
  if (name !== 'avrg') entries.push([`v${name}`, scalar(always(of))]);
  for (const n of [2, 4] as const) entries.push([`v${name}${n}`, simd(n, always(of))]);
}

export const video: Table = {
  ...Object.fromEntries(entries),
  vshl: scalar(shifts((a, n) => a << n)),
  vshr: scalar(shifts((a, n) => a >> n)),
  vset: scalar(compares),
  vset2: simd(2, compares),
  vset4: simd(4, compares),
  vmad,
};
