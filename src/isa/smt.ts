import type { Opcode } from '../ir/opcode.ts';
import { FORMATS, type FormatName, type Relation, type Rounding } from './formats.ts';
import type { Graph, Node } from './lang/graph.ts';
import { graphOf } from './meaning.ts';
import { bigFromInt, type Format } from './softfloat.ts';

/**
 * A meaning in SMT-LIB 2 over bit vectors and floating point (logic QF_BVFP; QF_UFBVFP if it contains an approximate function, which
 * becomes an uninterpreted function of its operand). All values are bit vectors; truth values are `(_ BitVec 1)`. Only standard functions
 * are used, so that any solver can read it.
 */
export interface SmtTerms {
  /** Commands that define the terms, in order. */
  readonly commands: readonly string[];
  /** Declarations of uninterpreted functions. Several instructions may share one, which must be declared only once. */
  readonly functions: readonly string[];
  /** The term of each destination. */
  readonly dsts: readonly string[];
}

/**
 * Translates the meaning of an instruction.
 * @param srcs a term for each source before its modifiers: bit vectors of the slots' widths
 * @param prefix prefix of all names that the result defines
 * @throws Error if the opcode is a primitive
 */
export function toSmt(
  op: Opcode,
  mods: number,
  srcs: readonly string[],
  prefix: string,
  srcMods: readonly number[] = [],
  consts: readonly (number | null)[] = [],
): SmtTerms {
  return graphToSmt(graphOf({ op, mods, srcMods, consts }), srcs, prefix);
}

/**
 * Translates a graph of the meaning language.
 * @param srcs a term for each source, by the number in its source node
 * @param prefix prefix of all names that the result defines
 */
export function graphToSmt(g: Graph, srcs: readonly string[], prefix: string): SmtTerms {
  const w = new SmtWriter(g.nodes, srcs, prefix);
  g.nodes.forEach((n, id) => w.node(n, id));
  return { commands: w.commands, functions: [...w.functions], dsts: g.dsts.map((d) => w.terms[d]) };
}

/** The sort of values of `width` bits. */
export const smtSort = (width: number): string => `(_ BitVec ${width})`;

/** A bit-vector constant. */
export const smtConst = (value: bigint, width: number): string =>
  `(_ bv${BigInt.asUintN(width, value)} ${width})`;

const ROUNDING: Readonly<Record<Rounding, string>> = {
  RN: 'RNE',
  RZ: 'RTZ',
  RM: 'RTN',
  RP: 'RTP',
  RNA: 'RNA',
};

const BINARY: Readonly<Record<string, string>> = {
  add: 'bvadd',
  sub: 'bvsub',
  mul: 'bvmul',
  udiv: 'bvudiv',
  urem: 'bvurem',
  srem: 'bvsrem',
  and: 'bvand',
  or: 'bvor',
  xor: 'bvxor',
};
const FLOAT: Readonly<Record<string, string>> = {
  fadd: 'fp.add',
  fmul: 'fp.mul',
  fdiv: 'fp.div',
  ffma: 'fp.fma',
  fsqrt: 'fp.sqrt',
  frint: 'fp.roundToIntegral',
};

/** Exponent and significand bits of a format for SMT-LIB, which counts the hidden bit. */
const shape = (f: FormatName): string => {
  const { mant } = FORMATS[f];
  return `${f === 'tf32' ? 8 : FORMATS[f].bits - 1 - mant} ${mant + 1}`;
};

const bool = (term: string): string => `(ite ${term} #b1 #b0)`;
const extract = (hi: number, lo: number, x: string): string => `((_ extract ${hi} ${lo}) ${x})`;
const zext = (n: number, x: string): string => (n === 0 ? x : `((_ zero_extend ${n}) ${x})`);
const sext = (n: number, x: string): string => (n === 0 ? x : `((_ sign_extend ${n}) ${x})`);
const float = (f: FormatName, x: string): string => `((_ to_fp ${shape(f)}) ${x})`;

class SmtWriter {
  readonly commands: string[] = [];
  readonly functions = new Set<string>();
  /** Term of each node. */
  readonly terms: string[] = [];
  private readonly nodes: readonly Node[];
  private readonly srcs: readonly string[];
  private readonly prefix: string;

  constructor(nodes: readonly Node[], srcs: readonly string[], prefix: string) {
    this.nodes = nodes;
    this.srcs = srcs;
    this.prefix = prefix;
  }

  node(n: Node, id: number): void {
    if (n.op === 'const') this.terms.push(smtConst(n.value, n.width));
    else if (n.op === 'src') this.terms.push(this.srcs[n.n]);
    else {
      const name = `${this.prefix}${id}`;
      const args = n.args.map((a) => this.terms[a]);
      if (n.fmt === '') this.define(name, n.width, this.integer(n, args));
      else this.floating(name, n, args, n.fmt);
      this.terms.push(name);
    }
  }

  private define(name: string, width: number, term: string): void {
    this.commands.push(`(define-fun ${name} () ${smtSort(width)} ${term})`);
  }

  // ------------------------------------------------------------------ bit vectors

  private integer(n: Node, x: readonly string[]): string {
    const w = n.width;
    const [a, b, c] = x;
    const zero = smtConst(0n, w);
    const from = n.args.length > 0 ? this.nodes[n.args[0]].width : 0;
    if (n.op in BINARY) return `(${BINARY[n.op]} ${a} ${b})`;
    switch (n.op) {
      case 'umulh':
        return extract(2 * w - 1, w, `(bvmul ${zext(w, a)} ${zext(w, b)})`);
      case 'smulh':
        return extract(2 * w - 1, w, `(bvmul ${sext(w, a)} ${sext(w, b)})`);
      case 'sdiv':
        return `(ite (= ${b} ${zero}) (bvnot ${zero}) (bvsdiv ${a} ${b}))`;
      case 'not':
        return `(bvnot ${a})`;
      case 'shl':
      case 'lshr':
      case 'ashr':
        return this.shift(n.op, w, a, b, this.nodes[n.args[1]].width);
      case 'eq':
        return bool(`(= ${a} ${b})`);
      case 'ult':
        return bool(`(bvult ${a} ${b})`);
      case 'slt':
        return bool(`(bvslt ${a} ${b})`);
      case 'ite':
        return `(ite (= ${a} #b1) ${b} ${c})`;
      case 'zext':
        return zext(w - from, a);
      case 'sext':
        return sext(w - from, a);
      case 'extract':
        return extract(n.n + w - 1, n.n, a);
      case 'concat':
        return `(concat ${a} ${b})`;
      case 'popc':
        return `(bvadd ${bits(from)
          .map((i) => zext(31, extract(i, i, a)))
          .join(' ')} ${zero})`;
      case 'clz':
        return bits(from).reduce(
          (rest, i) => `(ite (= ${extract(i, i, a)} #b1) ${smtConst(BigInt(from - 1 - i), 32)} ${rest})`,
          smtConst(BigInt(from), 32),
        );
      case 'brev':
        return w === 1
          ? a
          : `(concat ${bits(w)
              .map((i) => extract(i, i, a))
              .join(' ')})`;
      case 'lop3':
        return lop3(n.n, w, a, b, c);
      case 'prmt':
        return prmt(n.aux, a, b, c);
      default:
        throw new Error(`no SMT term for core operation '${n.op}'`);
    }
  }

  private shift(op: string, w: number, a: string, n: string, wn: number): string {
    const name = op === 'shl' ? 'bvshl' : op === 'lshr' ? 'bvlshr' : 'bvashr';
    if (wn <= w) return `(${name} ${a} ${zext(w - wn, n)})`;
    const wide = zext(wn - w, a);
    if (op !== 'ashr') return extract(w - 1, 0, `(${name} ${wide} ${n})`);
    return extract(w - 1, 0, `(bvashr ${sext(wn - w, a)} ${n})`);
  }

  // ------------------------------------------------------------------ floating point

  private floating(name: string, n: Node, x: readonly string[], fmt: FormatName): void {
    const bitwise = this.bitwise(n, x, fmt);
    if (bitwise !== null) {
      this.define(name, n.width, bitwise);
      return;
    }
    const [to, mode] =
      n.op === 'f2f' ? (n.aux.split(':') as [FormatName, Rounding]) : [fmt, n.aux as Rounding];
    const args = x.map((v) => float(fmt, v)).join(' ');
    let term: string;
    if (n.op === 'f2f') term = `((_ to_fp ${shape(to)}) ${ROUNDING[mode]} ${args})`;
    else if (n.op === 'i2f') {
      const fn = n.aux.startsWith('s') ? 'to_fp' : 'to_fp_unsigned';
      term = `((_ ${fn} ${shape(fmt)}) ${ROUNDING[n.aux.slice(1) as Rounding]} ${x[0]})`;
    } else term = `(${FLOAT[n.op]} ${ROUNDING[mode]} ${args})`;
    this.pattern(name, to, term);
  }

  /** Defines the bit pattern of a float term; a NaN gets the canonical pattern. */
  private pattern(name: string, f: FormatName, term: string): void {
    const pad = f === 'tf32' ? 13 : 0;
    const w = FORMATS[f].bits - pad;
    const raw = `${name}_p`;
    this.commands.push(
      `(declare-fun ${raw} () ${smtSort(w)})`,
      `(assert (= ((_ to_fp ${shape(f)}) ${raw}) ${term}))`,
      `(assert (=> (fp.isNaN ((_ to_fp ${shape(f)}) ${raw})) (= ${raw} ${smtConst(FORMATS[f].nan >> BigInt(pad), w)})))`,
    );
    const nan = smtConst(FORMATS[f].nan, w + pad);
    const padded = `(ite (fp.isNaN ((_ to_fp ${shape(f)}) ${raw})) ${nan} (concat ${raw} ${smtConst(0n, Math.max(1, pad))}))`;
    this.define(name, w + pad, pad === 0 ? raw : padded);
  }

  /** The term of a float operation whose result needs no rounding to a pattern; null for other operations. */
  private bitwise(n: Node, x: readonly string[], fmt: FormatName): string | null {
    const f = FORMATS[fmt];
    const sign = 1n << BigInt(f.bits - 1);
    const [a, b] = x;
    switch (n.op) {
      case 'fneg':
        return `(bvxor ${a} ${smtConst(sign, f.bits)})`;
      case 'fabs':
        return `(bvand ${a} ${smtConst(sign - 1n, f.bits)})`;
      case 'ftz':
        return `(ite (fp.isSubnormal ${float(fmt, a)}) (bvand ${a} ${smtConst(sign, f.bits)}) ${a})`;
      case 'fcmp':
        return bool(relation(n.aux as Relation, float(fmt, a), float(fmt, b)));
      case 'fmin':
      case 'fmax':
        return extremum(n, a, b, fmt);
      case 'f2i':
        return toInteger(n, float(fmt, a), fmt);
      case 'approx': {
        const name = `approx_${n.aux.toLowerCase()}_${fmt}`;
        this.functions.add(`(declare-fun ${name} (${smtSort(f.bits)}) ${smtSort(f.bits)})`);
        return `(${name} ${a})`;
      }
      default:
        return null;
    }
  }
}

/** The numbers from 0 to w - 1. */
const bits = (w: number): number[] => Array.from({ length: w }, (_, i) => i);

function lop3(table: number, w: number, a: string, b: string, c: string): string {
  const inverted = (x: string, on: boolean): string => (on ? x : `(bvnot ${x})`);
  const minterms = bits(8)
    .filter((k) => ((table >> k) & 1) !== 0)
    .map(
      (k) =>
        `(bvand ${inverted(a, (k & 4) !== 0)} ${inverted(b, (k & 2) !== 0)} ${inverted(c, (k & 1) !== 0)})`,
    );
  const zero = smtConst(0n, w);
  return minterms.length === 0 ? zero : `(bvor ${minterms.join(' ')} ${zero})`;
}

/** Byte permutation: each byte is selected by a shift of the concatenated words. */
function prmt(mode: string, a: string, b: string, sel: string): string {
  const word = `(concat ${b} ${a})`;
  const two = zext(1, extract(1, 0, sel));
  const at = (k: number): string => smtConst(BigInt(k), 3);
  const byte = (index: string): string =>
    extract(7, 0, `(bvlshr ${word} ${zext(58, `(concat ${index} #b000)`)})`);
  const pick = (k: number): string => {
    switch (mode) {
      case 'F4E':
        return byte(`(bvadd ${two} ${at(k)})`);
      case 'B4E':
        return byte(`(bvsub ${two} ${at(k)})`);
      case 'RC8':
        return byte(two);
      case 'ECL':
        return byte(`(ite (bvult ${two} ${at(k)}) ${at(k)} ${two})`);
      case 'ECR':
        return byte(`(ite (bvult ${two} ${at(k)}) ${two} ${at(k)})`);
      case 'RC16':
        return byte(`(concat #b0 ${extract(0, 0, sel)} ${(k & 1) === 1 ? '#b1' : '#b0'})`);
      default: {
        const x = byte(extract(4 * k + 2, 4 * k, sel));
        return `(ite (= ${extract(4 * k + 3, 4 * k + 3, sel)} #b1) ${sext(7, extract(7, 7, x))} ${x})`;
      }
    }
  };
  return `(concat ${[3, 2, 1, 0].map(pick).join(' ')})`;
}

function relation(rel: Relation, a: string, b: string): string {
  const unordered = `(or (fp.isNaN ${a}) (fp.isNaN ${b}))`;
  if (rel === 'NAN') return unordered;
  if (rel === 'NUM') return `(not ${unordered})`;
  const ordered: Readonly<Record<string, string>> = {
    EQ: 'fp.eq',
    LT: 'fp.lt',
    LE: 'fp.leq',
    GT: 'fp.gt',
    GE: 'fp.geq',
  };
  const base = rel.length === 3 ? rel.slice(0, 2) : rel;
  const holds = base === 'NE' ? `(not (or (fp.eq ${a} ${b}) ${unordered}))` : `(${ordered[base]} ${a} ${b})`;
  return rel.length === 3 ? `(or ${unordered} ${holds})` : holds;
}

function extremum(n: Node, a: string, b: string, fmt: FormatName): string {
  const f = FORMATS[fmt];
  const [fa, fb] = [float(fmt, a), float(fmt, b)];
  const nan = smtConst(f.nan, f.bits);
  const negative = `(= ${extract(f.bits - 1, f.bits - 1, a)} #b1)`;
  const below = `(or (fp.lt ${fa} ${fb}) (and (fp.eq ${fa} ${fb}) ${negative}))`;
  const numbers = n.op === 'fmin' ? `(ite ${below} ${a} ${b})` : `(ite ${below} ${b} ${a})`;
  const both = `(and (fp.isNaN ${fa}) (fp.isNaN ${fb}))`;
  if (n.n === 1) return `(ite (or (fp.isNaN ${fa}) (fp.isNaN ${fb})) ${nan} ${numbers})`;
  return `(ite ${both} ${nan} (ite (fp.isNaN ${fa}) ${b} (ite (fp.isNaN ${fb}) ${a} ${numbers})))`;
}

/** Float to integer: rounded, then compared with the limits, which are powers of two, or infinity if the format cannot represent them. */
function toInteger(n: Node, x: string, fmt: FormatName): string {
  const w = n.width;
  const signed = n.aux.startsWith('s');
  const r = `(fp.roundToIntegral ${ROUNDING[n.aux.slice(1) as Rounding]} ${x})`;
  const f: Format = FORMATS[fmt];
  const power = (neg: boolean, k: number): string =>
    float(fmt, smtConst(bigFromInt(f, (neg ? -1n : 1n) << BigInt(k), 'RN'), f.bits));
  const high = signed ? w - 1 : w;
  const max = smtConst((1n << BigInt(high)) - 1n, w);
  const min = smtConst(signed ? 1n << BigInt(w - 1) : 0n, w);
  const nan = smtConst(fmt === 'f64' || w === 64 ? 1n << BigInt(w - 1) : 0n, w);
  const limit = signed ? power(true, w - 1) : float(fmt, smtConst(0n, f.bits));
  const low = `(or (fp.lt ${r} ${limit}) (fp.isInfinite ${r}))`;
  const inside = `((_ ${signed ? 'fp.to_sbv' : 'fp.to_ubv'} ${w}) RTZ ${r})`;
  return `(ite (fp.isNaN ${x}) ${nan} (ite (fp.geq ${r} ${power(false, high)}) ${max} (ite ${low} ${min} ${inside})))`;
}
