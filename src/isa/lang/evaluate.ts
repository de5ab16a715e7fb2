import { approximate, approximateHigh } from '../approx.ts';
import type { Approximation, FormatName, Relation, Rounding } from '../formats.ts';
import {
  BF16,
  bigAdd,
  bigCompare,
  bigConvert,
  bigDiv,
  bigFma,
  bigFromInt,
  bigIntegral,
  bigSqrt,
  decode,
  F16,
  F32,
  F64,
  type Format,
  fromNumber,
  roundInt,
  TF32,
  toNumber,
} from '../softfloat.ts';
import type { Graph, Node } from './graph.ts';

const SOFT: Readonly<Record<FormatName, Format>> = { f16: F16, bf16: BF16, f32: F32, tf32: TF32, f64: F64 };

const signed = (x: bigint, width: number): bigint => BigInt.asIntN(width, x);

/** Truncated quotient and remainder; for a divisor of zero, the quotient is all ones and the remainder is the dividend. */
const quotient = (a: bigint, b: bigint): bigint => (b === 0n ? -1n : a / b);
const remainder = (a: bigint, b: bigint): bigint => (b === 0n ? a : a % b);

/** Exact value of a node from the values of its arguments; arguments and result are unsigned. */
export function evalNode(n: Node, v: readonly bigint[]): bigint {
  return n.fmt === '' ? BigInt.asUintN(n.width, evalInteger(n, v)) : evalFloat(n, v, n.fmt);
}

function evalInteger(n: Node, v: readonly bigint[]): bigint {
  const w = n.width;
  const [a, b, c] = v;
  switch (n.op) {
    case 'const':
      return n.value;
    case 'add':
      return a + b;
    case 'sub':
      return a - b;
    case 'mul':
      return a * b;
    case 'umulh':
      return (a * b) >> BigInt(w);
    case 'smulh':
      return (signed(a, w) * signed(b, w)) >> BigInt(w);
    case 'udiv':
      return quotient(a, b);
    case 'sdiv':
      return quotient(signed(a, w), signed(b, w));
    case 'urem':
      return remainder(a, b);
    case 'srem':
      return remainder(signed(a, w), signed(b, w));
    case 'and':
      return a & b;
    case 'or':
      return a | b;
    case 'xor':
      return a ^ b;
    case 'not':
      return ~a;
    case 'shl':
      return b >= BigInt(w) ? 0n : a << b;
    case 'lshr':
      return b >= BigInt(w) ? 0n : a >> b;
    case 'ashr':
      return signed(a, w) >> (b >= BigInt(w) ? BigInt(w) : b);
    case 'eq':
      return a === b ? 1n : 0n;
    case 'ult':
      return a < b ? 1n : 0n;
    case 'slt':
      return signed(a, n.n) < signed(b, n.n) ? 1n : 0n;
    case 'ite':
      return a === 1n ? b : c;
    case 'zext':
      return a;
    case 'sext':
      return signed(a, n.n);
    case 'extract':
      return a >> BigInt(n.n);
    case 'concat':
      return (a << BigInt(n.n)) | b;
    case 'popc':
      return BigInt([...a.toString(2)].filter((d) => d === '1').length);
    case 'clz':
      return a === 0n ? BigInt(n.n) : BigInt(n.n - a.toString(2).length);
    case 'brev':
      return BigInt(`0b${[...a.toString(2).padStart(w, '0')].reverse().join('')}`);
    case 'lop3':
      return lop3(n.n, a, b, c);
    case 'prmt':
      return prmt(n.aux, a, b, c);
    default:
      throw new Error(`no value for core operation '${n.op}'`);
  }
}

/** Disjunction of the minterms of the truth table: bit 4a+2b+c of the table is the result for the bits a, b, c. */
function lop3(lut: number, a: bigint, b: bigint, c: bigint): bigint {
  let r = 0n;
  for (let k = 0; k < 8; k++)
    if (((lut >> k) & 1) !== 0)
      r |= ((k & 4) !== 0 ? a : ~a) & ((k & 2) !== 0 ? b : ~b) & ((k & 1) !== 0 ? c : ~c);
  return r;
}

/** Byte permutation; bytes 0 to 3 are a's, 4 to 7 are b's (PTX ISA 9.0, `prmt`). */
function prmt(mode: string, a: bigint, b: bigint, sel: bigint): bigint {
  const byte = (k: number): bigint => (((b << 32n) | a) >> BigInt(8 * k)) & 0xffn;
  const s = Number(sel & 3n);
  let r = 0n;
  for (let k = 0; k < 4; k++) {
    let x: bigint;
    switch (mode) {
      case 'F4E':
        x = byte(s + k);
        break;
      case 'B4E':
        x = byte((8 + s - k) & 7);
        break;
      case 'RC8':
        x = byte(s);
        break;
      case 'ECL':
        x = byte(Math.max(s, k));
        break;
      case 'ECR':
        x = byte(Math.min(s, k));
        break;
      case 'RC16':
        x = byte((s & 1) * 2 + (k & 1));
        break;
      default: {
        const nibble = Number((sel >> BigInt(4 * k)) & 15n);
        x = byte(nibble & 7);
        if ((nibble & 8) !== 0) x = (x & 0x80n) !== 0n ? 0xffn : 0n;
      }
    }
    r |= x << BigInt(8 * k);
  }
  return r;
}

function evalFloat(n: Node, v: readonly bigint[], name: FormatName): bigint {
  const f = SOFT[name];
  const [a, b, c] = v;
  const sign = 1n << BigInt(f.bits - 1);
  const mode = n.aux as Rounding;
  switch (n.op) {
    case 'fneg':
      return a ^ sign;
    case 'fabs':
      return a & ~sign;
    case 'ftz':
      return isSubnormal(f, a) ? a & sign : a;
    case 'fadd':
      return bigAdd(f, a, b, mode);
    case 'fmul':
      return bigFma(f, a, b, null, mode);
    case 'ffma':
      return bigFma(f, a, b, c, mode);
    case 'fdiv':
      return bigDiv(f, a, b, mode);
    case 'fsqrt':
      return bigSqrt(f, a, mode);
    case 'frint':
      return bigIntegral(f, a, mode);
    case 'fmin':
    case 'fmax':
      return extremum(f, a, b, n.op === 'fmin', n.n === 1);
    case 'fcmp':
      return holds(n.aux as Relation, bigCompare(f, a, b)) ? 1n : 0n;
    case 'approx':
      return approx(f, n.aux as Approximation, a);
    case 'f2f': {
      const [to, rnd] = n.aux.split(':') as [FormatName, Rounding];
      const r = bigConvert(SOFT[to], f, a, rnd);
      return to !== 'tf32' ? r : r === TF32.nan ? F32.nan : r << 13n;
    }
    case 'f2i':
      return toInteger(n, f, a);
    case 'i2f': {
      const value = n.aux.startsWith('s') ? signed(a, n.n) : a;
      return bigFromInt(f, value, n.aux.slice(1));
    }
    default:
      throw new Error(`no value for core operation '${n.op}'`);
  }
}

function isSubnormal(f: Format, a: bigint): boolean {
  const x = decode(f, a);
  return x.kind === 'finite' && x.m !== 0n && x.m >> BigInt(f.mant) === 0n;
}

/** The lesser or the greater operand; -0 is less than +0 (PTX ISA 9.0, `min`). */
function extremum(f: Format, a: bigint, b: bigint, least: boolean, nanWins: boolean): bigint {
  const nanA = decode(f, a).kind === 'nan';
  const nanB = decode(f, b).kind === 'nan';
  if (nanA || nanB) return nanWins || (nanA && nanB) ? f.nan : nanA ? b : a;
  const order = bigCompare(f, a, b)!;
  const below = order !== 0 ? order < 0 : decode(f, a).neg;
  return below === least ? a : b;
}

function holds(rel: Relation, order: number | null): boolean {
  if (order === null) return rel.endsWith('U') || rel === 'NAN';
  switch (rel) {
    case 'EQ':
    case 'EQU':
      return order === 0;
    case 'NE':
    case 'NEU':
      return order !== 0;
    case 'LT':
    case 'LTU':
      return order < 0;
    case 'LE':
    case 'LEU':
      return order <= 0;
    case 'GT':
    case 'GTU':
      return order > 0;
    case 'GE':
    case 'GEU':
      return order >= 0;
    case 'NUM':
      return true;
    case 'NAN':
      return false;
  }
}

function approx(f: Format, fn: Approximation, a: bigint): bigint {
  if (f === F64) return fromNumber(F64, approximateHigh(fn, toNumber(F64, a)));
  const x = toNumber(F64, bigConvert(F64, f, a, 'RN'));
  return bigConvert(f, F64, fromNumber(F64, approximate(fn, x)), 'RN');
}

/**
 * Float to integer, clamped. NaN gives 0, or the pattern 1000...0 if the source is f64 or the result has 64 bits (PTX
 * ISA 9.0, `cvt`).
 */
function toInteger(n: Node, f: Format, a: bigint): bigint {
  const w = n.width;
  const x = decode(f, a);
  if (x.kind === 'nan') return f === F64 || w === 64 ? 1n << BigInt(w - 1) : 0n;
  const isSigned = n.aux.startsWith('s');
  const max = (1n << BigInt(isSigned ? w - 1 : w)) - 1n;
  const min = isSigned ? -max - 1n : 0n;
  const v = x.kind === 'inf' ? (x.neg ? min : max) : roundInt(x, n.aux.slice(1));
  return BigInt.asUintN(w, v < min ? min : v > max ? max : v);
}

/** Values of the destinations of a graph for the given source values (unsigned). */
export function evalGraph(g: Graph, srcs: readonly bigint[]): bigint[] {
  const values: bigint[] = [];
  for (const n of g.nodes)
    values.push(
      n.op === 'src'
        ? BigInt.asUintN(n.width, srcs[n.n])
        : evalNode(
            n,
            n.args.map((a) => values[a]),
          ),
    );
  return g.dsts.map((d) => values[d]);
}
