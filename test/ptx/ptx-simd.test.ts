import { describe, expect, it } from 'vitest';
import { Random } from '../support/meaning.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx, writtenPtx } from '../support/run-ptx.ts';

/*
 * SIMD video instructions and packed 16-bit integers, compared with their definition (PTX ISA 9.0, 9.7.18 and 9.7.1), written here on exact
 * integers.
 */

interface Form {
  readonly op: string;
  readonly lanes: 2 | 4;
  readonly types: readonly string[];
  readonly sat: boolean;
  readonly add: boolean;
  readonly mask: string;
  readonly asel: string;
  readonly bsel: string;
}

const lanesOf = (word: number, n: number): number[] =>
  Array.from({ length: n }, (_, k) => (word >>> ((32 / n) * k)) & (2 ** (32 / n) - 1));

/** Elements of {b, a} that a selector names; by default the word's own. */
function picked(a: number, b: number, f: Form, sel: string, own: number): number[] {
  const all = [...lanesOf(a, f.lanes), ...lanesOf(b, f.lanes)];
  if (sel === '') return all.slice(own, own + f.lanes);
  return [...sel.slice(1)].reverse().map((x) => all[Number(x)]);
}

const extended = (v: number, type: string, bits: number): number =>
  type === 's32' && v >= 2 ** (bits - 1) ? v - 2 ** bits : v;

const COMPARE: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  eq: (x, y) => x === y,
  ne: (x, y) => x !== y,
  lt: (x, y) => x < y,
  le: (x, y) => x <= y,
  gt: (x, y) => x > y,
  ge: (x, y) => x >= y,
};

function one(f: Form, x: number, y: number, bits: number): number {
  const compare = COMPARE[f.op];
  if (compare !== undefined) return compare(x, y) ? 1 : 0;
  const results: Readonly<Record<string, () => number>> = {
    vadd: () => x + y,
    vsub: () => x - y,
    vavrg: () => Math.floor((x + y + (x + y >= 0 ? 1 : 0)) / 2),
    vabsdiff: () => Math.abs(x - y),
    vmin: () => Math.min(x, y),
    vmax: () => Math.max(x, y),
  };
  const v = results[f.op]();
  if (!f.sat) return v;
  const [low, high] = f.types[0] === 's32' ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  return Math.min(Math.max(v, low), high);
}

function define(f: Form, a: number, b: number, c: number): number {
  const bits = 32 / f.lanes;
  const [at, bt] = f.types.slice(-2);
  const x = picked(a, b, f, f.asel, 0).map((v) => extended(v, at, bits));
  const y = picked(a, b, f, f.bsel, f.lanes).map((v) => extended(v, bt, bits));
  const inMask = (k: number) => f.mask === '' || f.mask.slice(1).includes(String(k));
  const t = x.map((v, k) => one(f, v, y[k], bits));
  if (f.add) return t.reduce((sum, v, k) => (sum + (inMask(k) ? v : 0)) | 0, c | 0);
  const old = lanesOf(c, f.lanes);
  return t.reduce((d, v, k) => d | (((inMask(k) ? v : old[k]) & (2 ** bits - 1)) << (bits * k)), 0);
}

function spell(f: Form, to: string): string {
  const name = COMPARE[f.op] === undefined ? f.op : 'vset';
  const mods = [
    ...f.types,
    ...(name === 'vset' ? [f.op] : []),
    ...(f.sat ? ['sat'] : []),
    ...(f.add ? ['add'] : []),
  ];
  const part = (p: string) => (p === '' ? '' : `.${p}`);
  return `${name}${f.lanes}.${mods.join('.')} ${to}${part(f.mask)}, %i0${part(f.asel)}, %i1${part(f.bsel)}, %i2;`;
}

const rnd = new Random('simd');
const pick = <T>(list: readonly T[]): T => list[(rnd.next() >>> 0) % list.length];
const TYPE = ['u32', 's32'];
const MASKS = {
  2: ['', '', 'h0', 'h1', 'h10'],
  4: ['', '', ...'b0 b1 b10 b2 b20 b21 b210 b3 b30 b31 b310 b32 b320 b321 b3210'.split(' ')],
};
const selector = (lanes: number): string =>
  (rnd.next() >>> 0) % 3 > 0
    ? ''
    : (lanes === 4 ? 'b' : 'h') +
      Array.from({ length: lanes }, () => (rnd.next() >>> 0) % (2 * lanes)).join('');

/** Forms of an operation: every choice of types, and saturation, sum, mask and selectors drawn. */
function formsOf(op: string, lanes: 2 | 4): Form[] {
  const compares = COMPARE[op] !== undefined;
  return Array.from({ length: 24 }, (_, k): Form => {
    const types = [k & 1, (k >> 1) & 1, (k >> 2) & 1].map((x) => TYPE[x]);
    return {
      op,
      lanes,
      types: compares ? types.slice(1) : types,
      sat: !compares && k % 3 === 0,
      add: k % 3 === 1,
      mask: k < 8 ? '' : pick(MASKS[lanes]),
      asel: k < 16 ? '' : selector(lanes),
      bsel: k < 16 ? '' : selector(lanes),
    };
  });
}

const CORNERS = [0, -1, 0x80808080 | 0, 0x7f7f7f7f, 0x80007fff | 0, 0x00ff01fe, 0x80ff7f01 | 0];
const rows = Array.from({ length: 96 }, (_, k) =>
  [0, 1, 2].map((j) =>
    k < CORNERS.length ** 2 ? CORNERS[Math.floor(k / CORNERS.length ** j) % 7] : rnd.next() | 0,
  ),
);

const OPS = ['vadd', 'vsub', 'vavrg', 'vabsdiff', 'vmin', 'vmax', ...Object.keys(COMPARE)];

describe.each([2, 4] as const)('SIMD video of %i lanes', (lanes) => {
  it.each(OPS)('%s', (op) => {
    const forms = formsOf(op, lanes);
    const body = forms.map((f, k) => spell(f, `%o${k}`)).join('\n');
    const got = runPtx(body, rows, forms.length);
    expect(got).toEqual(rows.map(([a, b, c]) => forms.map((f) => define(f, a, b, c))));
  });

  it('stays one instruction where nothing is selected', () => {
    const forms = OPS.flatMap((op) => formsOf(op, lanes)).filter((f) => f.asel === '' && f.bsel === '');
    const { text } = writtenPtx(forms.map((f, k) => spell(f, `%o${k}`)).join('\n'), 3, forms.length, '');
    const names = (t: string) =>
      [...t.matchAll(/\bv[a-z]+[24][.\w]+/g)].map((m) => m[0].replace(/\.[bh]\d+/, ''));
    const sorted = (name: string) => name.split('.').sort().join('.');
    expect(names(text).map(sorted)).toEqual(forms.map((f) => sorted(spell(f, '%o0').split(' ')[0])));
  });
});

/** Pairs of 16 bits and words, with their definition. */
const PAIRS: Readonly<Record<string, (a: number[], b: number[]) => number[]>> = {
  'add.u16x2': (a, b) => a.map((x, k) => x + b[k]),
  'add.s16x2': (a, b) => a.map((x, k) => x + b[k]),
  'min.u16x2': (a, b) => a.map((x, k) => Math.min(x, b[k])),
  'max.u16x2': (a, b) => a.map((x, k) => Math.max(x, b[k])),
  'min.s16x2': (a, b) => a.map((x, k) => Math.min(signed(x), signed(b[k]))),
  'max.s16x2': (a, b) => a.map((x, k) => Math.max(signed(x), signed(b[k]))),
  'min.relu.s16x2': (a, b) => a.map((x, k) => Math.max(0, Math.min(signed(x), signed(b[k])))),
  'max.relu.s16x2': (a, b) => a.map((x, k) => Math.max(0, signed(x), signed(b[k]))),
};
const signed = (v: number): number => (v << 16) >> 16;

describe('pairs of 16 bits, and .relu', () => {
  it.each(Object.keys(PAIRS))('%s', (name) => {
    const got = runPtx(`${name} %o0, %i0, %i1;`, rows);
    const words = rows.map(([a, b]) => PAIRS[name](lanesOf(a, 2), lanesOf(b, 2)));
    expect(got).toEqual(words.map(([lo, hi]) => [(lo & 0xffff) | (hi << 16)]));
    expect(writtenPtx(`${name} %o0, %i0, %i1;`, 3, 1, '').text).toContain(name);
  });
  it.each(['min', 'max'])('%s.relu.s32', (op) => {
    const got = runPtx(`${op}.relu.s32 %o0, %i0, %i1;`, rows);
    expect(got).toEqual(rows.map(([a, b]) => [Math.max(0, op === 'min' ? Math.min(a, b) : Math.max(a, b))]));
  });
});

it.skipIf(!hasPtxas('ptx-simd.test.ts'))('ptxas takes what is written', () => {
  const forms = OPS.flatMap((op) => [...formsOf(op, 2), ...formsOf(op, 4)]);
  const body = [
    ...forms.map((f, k) => spell(f, `%o${k}`)),
    ...Object.keys(PAIRS).map((name) => `${name} %o0, %i0, %o0;`),
  ].join('\n');
  // What it takes does not depend on how it optimizes, which is most of its work.
  expect(ptxas(writtenPtx(body, 3, forms.length, '').text, 'sm_90', '-O0').errors).toBe('');
});
