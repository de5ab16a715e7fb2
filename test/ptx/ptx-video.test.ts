import { describe, it } from 'vitest';
import { operandValue, Random } from '../support/meaning.ts';
import { runPtx } from '../support/run-ptx.ts';

/**
 * Scalar video instructions, compared with their definition (PTX ISA 9.0, 9.7.18), written here on exact integers. ptxas expands them after
 * constant folding, so it is of no help.
 */
interface Form {
  readonly op: string;
  readonly dt: string;
  readonly at: string;
  readonly bt: string;
  readonly sat: boolean;
  readonly second: string;
  readonly mode: string;
  /** Parts of destination, a and b, '' for the whole. */
  readonly parts: readonly [string, string, string];
  readonly minus: readonly [boolean, boolean, boolean];
}

const clampTo = (v: bigint, signed: boolean, bits: number): bigint => {
  const n = BigInt(bits);
  const [low, high] = signed ? [-(1n << (n - 1n)), (1n << (n - 1n)) - 1n] : [0n, (1n << n) - 1n];
  return v < low ? low : v > high ? high : v;
};
const typed = (v: bigint, type: string, bits = 32): bigint =>
  type === 's32' ? BigInt.asIntN(bits, v) : BigInt.asUintN(bits, v);
const place = (part: string): readonly [bigint, number] => {
  const bits = part === '' ? 32 : part[0] === 'b' ? 8 : 16;
  return [part === '' ? 0n : BigInt(Number(part[1]) * bits), bits];
};
function part(v: bigint, name: string, type: string): bigint {
  const [at, bits] = place(name);
  return typed(v >> at, type, bits);
}

function multiplyAdd(f: Form, a: bigint, b: bigint, c: bigint): bigint {
  const minus = f.minus[0] !== f.minus[1];
  const signed = f.at === 's32' || f.bt === 's32' || minus || f.minus[2];
  const product = minus ? -(a * b) : a * b;
  let addend = typed(c, signed ? 's32' : 'u32');
  if (f.minus[2] && !minus) addend = -addend;
  let r = product + addend + (f.mode.includes('po') ? 1n : 0n);
  r >>= f.mode.includes('shr7') ? 7n : f.mode.includes('shr15') ? 15n : 0n;
  return BigInt.asUintN(32, f.sat ? clampTo(r, signed, 32) : r);
}

function define(f: Form, x: bigint, y: bigint, c: bigint): bigint {
  const a = part(x, f.parts[1], f.at);
  const b = part(y, f.parts[2], f.bt);
  if (f.op === 'vmad') return multiplyAdd(f, a, b, c);
  const n = f.mode === 'wrap' ? b & 31n : b > 32n ? 32n : b;
  const results: Record<string, () => bigint> = {
    vadd: () => a + b,
    vsub: () => a - b,
    vabsdiff: () => (a > b ? a - b : b - a),
    vmin: () => (a < b ? a : b),
    vmax: () => (a > b ? a : b),
    vshl: () => a << n,
    vshr: () => a >> n,
    vset: () => {
      const r: Record<string, boolean> = {
        eq: a === b,
        ne: a !== b,
        lt: a < b,
        le: a <= b,
        gt: a > b,
        ge: a >= b,
      };
      return r[f.mode] ? 1n : 0n;
    },
  };
  let v = results[f.op]();
  const type = f.op === 'vset' ? 'u32' : f.dt;
  const [at, bits] = place(f.parts[0]);
  if (f.sat) v = clampTo(v, type === 's32', bits);
  const t = typed(v, type);
  const third = typed(c, type);
  const mask = ((1n << BigInt(bits)) - 1n) << at;
  let r = t;
  if (f.second === 'add') r = t + third;
  else if (f.second === 'min') r = t < third ? t : third;
  else if (f.second === 'max') r = t > third ? t : third;
  else if (bits < 32) r = (BigInt.asUintN(32, c) & ~mask) | ((v << at) & mask);
  return BigInt.asUintN(32, r);
}

function text(f: Form, d: string, [a, b, c]: readonly string[]): string {
  const types = f.op === 'vset' ? [f.at, f.bt] : [f.dt, f.at, f.bt];
  const mods = [...types, ...(f.op === 'vset' ? [f.mode] : [])];
  if (f.sat) mods.push('sat');
  if (f.op !== 'vset' && f.mode !== '') mods.push(f.mode);
  if (f.second !== '') mods.push(f.second);
  const dot = (p: string) => (p === '' ? '' : `.${p}`);
  const sign = (k: number) => (f.minus[k] ? '-' : '');
  const third = f.op === 'vmad' || f.second !== '' || f.parts[0] !== '' ? `, ${sign(2)}${c}` : '';
  return `${f.op}.${mods.join('.')} ${d}${dot(f.parts[0])}, ${sign(0)}${a}${dot(f.parts[1])}, ${sign(1)}${b}${dot(f.parts[2])}${third};`;
}

const OPS = ['vadd', 'vsub', 'vabsdiff', 'vmin', 'vmax', 'vshl', 'vshr', 'vset', 'vmad'];
const PARTS = ['', '', 'b0', 'b1', 'b2', 'b3', 'h0', 'h1'];

function randomForm(op: string, rnd: Random): Form {
  const pick = <T>(of: readonly T[]): T => of[rnd.below(of.length)];
  const type = () => pick(['u32', 's32']);
  const shift = op === 'vshl' || op === 'vshr';
  const mad = op === 'vmad';
  const second = mad ? '' : pick(['', '', 'add', 'min', 'max']);
  const into = mad || second !== '' ? '' : pick(PARTS);
  const plus = mad && rnd.below(4) === 0;
  const scale = mad ? pick(['', 'shr7', 'shr15']) : '';
  const mode = mad
    ? [plus ? 'po' : '', scale].filter((x) => x !== '').join('.')
    : shift
      ? pick(['clamp', 'wrap'])
      : op === 'vset'
        ? pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge'])
        : '';
  const k = mad && !plus ? rnd.below(4) : 0;
  return {
    op,
    dt: mad ? 's32' : type(),
    at: type(),
    bt: shift ? 'u32' : type(),
    sat: op !== 'vset' && rnd.below(2) === 0,
    second,
    mode,
    parts: [into, pick(PARTS), pick(PARTS)],
    minus: [k === 1, k === 2, k === 3],
  };
}

const word = (rnd: Random): bigint => operandValue(rnd, 32);

describe('scalar video instructions', () => {
  it.each(OPS)('%s is what the definition says', (op) => {
    const rnd = new Random(op);
    for (let k = 0; k < 40; k++) {
      const f = randomForm(op, rnd);
      const rows = Array.from({ length: 32 }, () => [word(rnd), word(rnd), word(rnd)]);
      const code = text(f, '%o0', ['%i0', '%i1', '%i2']);
      const got = runPtx(
        code,
        rows.map((r) => r.map((v) => Number(BigInt.asIntN(32, v)))),
      );
      rows.forEach(([a, b, c], i) => {
        const want = Number(BigInt.asIntN(32, define(f, a, b, c)));
        if (got[i][0] !== want)
          throw new Error(`${code} of ${a}, ${b}, ${c}: ${got[i][0]}, expected ${want}`);
      });
    }
  });
});
