import { memo } from '../ir/memo.ts';
import { type Opcode, slotWidth } from '../ir/opcode.ts';
import { Kind, type Operand } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { addDown, addUp, type Bounds, finish, reduce } from './bounds.ts';
import { add, mul, sdiv, smulhBounds, srem, sub, udiv, umulhBounds, urem } from './bounds-arithmetic.ts';
import {
  and,
  brevBounds,
  clzBounds,
  concat,
  extract,
  lop3,
  not,
  or,
  popcBounds,
  prmtBounds,
  sext,
  shift,
  xor,
  zext,
} from './bounds-bits.ts';
import type { CoreOp, Graph } from './lang/graph.ts';
import { graphOf, isConstantSlot } from './meaning.ts';

/**
 * The meaning of an instruction as a program over slots of `Bounds`, for abstract interpretation: node n has slot n. Since there are
 * transfer functions for the operators of the meaning language, it serves every opcode that has a meaning.
 */
export interface BoundsProgram {
  readonly graph: Graph;
  readonly count: number;
  readonly ops: readonly CoreOp[];
  readonly widths: Uint8Array;
  /** Up to three arguments of each node. */
  readonly args: Int32Array;
  readonly n: Int32Array;
  /** Words of constants. */
  readonly low: Int32Array;
  readonly high: Int32Array;
  readonly aux: readonly string[];
  /** By source number: its node; -1 if it is not read. */
  readonly sources: Int32Array;
}

const MAX32 = 0xffffffffn;

function compile(graph: Graph): BoundsProgram {
  const { nodes } = graph;
  const count = nodes.length;
  const args = new Int32Array(3 * count);
  const sources = new Int32Array(graph.srcWidths.length).fill(-1);
  for (const [i, x] of nodes.entries()) {
    x.args.forEach((a, k) => (args[3 * i + k] = a));
    if (x.op === 'src') sources[x.n] = i;
  }
  return {
    graph,
    count,
    ops: nodes.map((x) => x.op),
    widths: Uint8Array.from(nodes, (x) => x.width),
    args,
    n: Int32Array.from(nodes, (x) => x.n),
    low: Int32Array.from(nodes, (x) => Number(x.value & MAX32) | 0),
    high: Int32Array.from(nodes, (x) => Number(x.value >> 32n) | 0),
    aux: nodes.map((x) => x.aux),
    sources,
  };
}

const byChoice = new WeakMap<Opcode, Map<number, BoundsProgram>>();

/** The program of a graph, cached. */
export const programOfGraph: (graph: Graph) => BoundsProgram = memo(compile);

/** The program of an instruction's meaning, cached; null if its opcode is a primitive. */
export function boundsProgram(x: Instr): BoundsProgram | null {
  const { op, src } = x;
  if (op.means === null) return null;
  // The modifiers of the instruction (31 bits), those of four sources (12) and one small constant (10) form a key of 53 bits, which a
  // double represents exactly.
  let key = x.mods;
  let constant = 0;
  let small = src.length <= 4;
  for (let k = 0; k < op.srcs.length; k++) {
    if (k < 4) key = key * 8 + (k < src.length ? src[k].mods : 0);
    if (!isConstantSlot(op.srcs[k])) continue;
    small &&= constant === 0 && k < src.length && src[k].lo >>> 10 === 0;
    if (k < src.length) constant = src[k].lo;
  }
  key = key * 1024 + constant;
  let known = byChoice.get(op);
  if (known === undefined) byChoice.set(op, (known = new Map()));
  let p = small ? known.get(key) : undefined;
  if (p === undefined) {
    const consts = op.srcs.map((s, k) => (isConstantSlot(s) ? operandOf(x, k).lo : null));
    p = programOfGraph(graphOf({ op, mods: x.mods, srcMods: src.map((o) => o.mods), consts }));
    if (small) known.set(key, p);
  }
  return p;
}

const NOTHING: Operand = { kind: Kind.Imm, reg: -1, lo: 0, hi: 0, sym: '', mods: 0 };
const TRUE: Operand = { ...NOTHING, lo: 1 };

/** Source `k` of an instruction, or its default if it was omitted. */
export function operandOf(x: Instr, k: number): Operand {
  if (k < x.src.length) return x.src[k];
  const s = x.op.srcs[k];
  return s.default ?? (s.bank === 'p' ? TRUE : NOTHING);
}

/** Width of source `k` in bits. */
export const sourceWidth = (x: Instr, k: number): number => slotWidth(x.op, x.mods, x.op.srcs[k]);

/** Number of scratch slots that `evaluate`, and users of `constrain`, need after the slots of the nodes. */
export const SPARE = 8;

/**
 * Computes the slots of all nodes from those of the sources, which the caller must have filled.
 * @param p must have at least `count + SPARE` slots
 */
export function evaluate(g: BoundsProgram, p: Bounds): void {
  for (let i = 0; i < g.count; i++) apply(g, p, i, i, g.args[3 * i], g.args[3 * i + 1], g.args[3 * i + 2]);
}

/** Computes node `i` with arguments in the slots `a`, `b` and `c` into slot `d`. */
function apply(g: BoundsProgram, p: Bounds, i: number, d: number, a: number, b: number, c: number): void {
  const w = g.widths[i];
  const n = g.n[i];
  switch (g.ops[i]) {
    case 'src':
      return;
    case 'const':
      return p.setConstant(d, w, g.low[i], g.high[i]);
    case 'add':
      return add(p, d, a, b, w);
    case 'sub':
      return sub(p, d, a, b, w);
    case 'mul':
      return mul(p, d, a, b, w);
    case 'umulh':
      return umulhBounds(p, d, a, b, w);
    case 'smulh':
      return smulhBounds(p, d, a, b, w);
    case 'udiv':
      return udiv(p, d, a, b, w);
    case 'sdiv':
      return sdiv(p, d, a, b, w);
    case 'urem':
      return urem(p, d, a, b, w);
    case 'srem':
      return srem(p, d, a, b, w);
    case 'and':
      return and(p, d, a, b, w);
    case 'or':
      return or(p, d, a, b, w);
    case 'xor':
      return xor(p, d, a, b, w);
    case 'not':
      return not(p, d, a, w);
    case 'shl':
      return shift(p, d, a, b, -1, w);
    case 'lshr':
      return shift(p, d, a, b, 0, w);
    case 'ashr':
      return shift(p, d, a, b, 1, w);
    case 'eq':
      return truth(p, d, equal(p, a, b));
    case 'ult':
      return truth(p, d, a === b ? 0 : p.most[a] < p.least[b] ? 1 : p.least[a] >= p.most[b] ? 0 : -1);
    case 'slt':
      return truth(
        p,
        d,
        a === b ? 0 : p.signedMost[a] < p.signedLeast[b] ? 1 : p.signedLeast[a] >= p.signedMost[b] ? 0 : -1,
      );
    case 'ite':
      return choose(g, p, d, a, b, c, w);
    case 'zext':
      return zext(p, d, a, w);
    case 'sext':
      return sext(p, d, a, n, w);
    case 'extract':
      return extract(p, d, a, n, w);
    case 'concat':
      return concat(p, d, a, b, n, w);
    case 'popc':
      return popcBounds(p, d, a, n);
    case 'clz':
      return clzBounds(p, d, a, n);
    case 'brev':
      return brevBounds(p, d, a, w);
    case 'lop3':
      return lop3(p, d, a, b, c, n, w);
    case 'prmt':
      return prmtBounds(p, d, a, b, c, g.aux[i]);
    case 'fabs':
      p.setTop(d, w);
      if (w <= 32) p.zeroLow[d] |= 1 << (w - 1);
      else p.zeroHigh[d] |= 1 << 31;
      return finish(p, d, w);
    default:
      // Other operations, those on floats: unbounded.
      p.setTop(d, w);
  }
}

const truth = (p: Bounds, d: number, v: -1 | 0 | 1): void => {
  if (v < 0) p.setTop(d, 1);
  else p.setConstant(d, 1, v, 0);
};

function equal(p: Bounds, a: number, b: number): -1 | 0 | 1 {
  if (a === b) return 1;
  if (
    p.most[a] < p.least[b] ||
    p.most[b] < p.least[a] ||
    p.signedMost[a] < p.signedLeast[b] ||
    p.signedMost[b] < p.signedLeast[a] ||
    ((p.zeroLow[a] & p.oneLow[b]) | (p.oneLow[a] & p.zeroLow[b])) !== 0 ||
    ((p.zeroHigh[a] & p.oneHigh[b]) | (p.oneHigh[a] & p.zeroHigh[b])) !== 0
  )
    return 0;
  return p.isConstant(a) && p.isConstant(b) ? 1 : -1;
}

/** A select: each alternative is narrowed by the condition under which it is selected. */
function choose(
  g: BoundsProgram,
  p: Bounds,
  d: number,
  cond: number,
  yes: number,
  no: number,
  w: number,
): void {
  if (p.isConstant(cond)) {
    p.copy(d, p, p.oneLow[cond] === 1 ? yes : no);
    return;
  }
  const spare = g.count;
  const first = arm(g, p, cond, 1, yes, spare, w);
  p.copy(d, p, first);
  p.join(d, w, p, arm(g, p, cond, 0, no, spare, w));
}

/**
 * Resolves a condition to the comparison below its negations and its comparisons with known truth values.
 * @returns the node of the comparison and the value that it must have; null if the condition is not a comparison
 */
export function comparisonOf(
  g: BoundsProgram,
  p: Bounds,
  cond: number,
  holds: 0 | 1,
): { readonly c: number; readonly want: 0 | 1 } | null {
  let c = cond;
  let want = holds;
  for (;;) {
    const a = g.args[3 * c];
    const b = g.args[3 * c + 1];
    if (g.ops[c] === 'not') want = want === 1 ? 0 : 1;
    else if (g.ops[c] === 'eq' && g.widths[a] === 1 && p.isConstant(b))
      want = (p.oneLow[b] & 1) === want ? 1 : 0;
    else break;
    c = a;
  }
  const op = g.ops[c];
  return op === 'ult' || op === 'slt' || op === 'eq' ? { c, want } : null;
}

/** The slot with the bounds of node `x` given that the condition has the value `holds`: a scratch slot if they are narrower. */
function arm(
  g: BoundsProgram,
  p: Bounds,
  cond: number,
  holds: 0 | 1,
  x: number,
  spare: number,
  w: number,
): number {
  const comparison = comparisonOf(g, p, cond, holds);
  if (comparison === null) return x;
  const { c, want } = comparison;
  const a = g.args[3 * c];
  const b = g.args[3 * c + 1];
  const takes = (i: number): boolean =>
    x === i || (g.args[3 * x] === i && arity(g, x) > 0) || (g.args[3 * x + 1] === i && arity(g, x) > 1);
  if (!takes(a) && !takes(b)) return x;
  p.copy(spare, p, a);
  p.copy(spare + 1, p, b);
  if (!constrain(g, p, c, want, spare, spare + 1)) return x;
  if (x === a) return spare;
  if (x === b) return spare + 1;
  if (g.ops[x] === 'ite') return x;
  const as = (i: number): number => (i === a ? spare : i === b ? spare + 1 : i);
  apply(g, p, x, spare + 2, as(g.args[3 * x]), as(g.args[3 * x + 1]), as(g.args[3 * x + 2]));
  return p.meet(spare + 2, w, p, x) ? spare + 2 : x;
}

const arity = (g: BoundsProgram, i: number): number => g.graph.nodes[i].args.length;

/**
 * Narrows slots `a` and `b`, which are copies of the operands of comparison `c`, to values for which it can have the value `holds`.
 * @returns false if there are no such values; the slots are then invalid
 */
export function constrain(
  g: BoundsProgram,
  p: Bounds,
  c: number,
  holds: 0 | 1,
  a: number,
  b: number,
): boolean {
  const w = g.widths[g.args[3 * c]];
  switch (g.ops[c]) {
    case 'eq':
      if (holds === 1) return p.meet(a, w, p, b) && p.meet(b, w, p, a);
      return differs(p, a, b, w) && differs(p, b, a, w);
    case 'ult':
      // a < b, or b <= a
      if (holds === 1) return below(p, a, b, w, 1);
      return below(p, b, a, w, 0);
    case 'slt':
      if (holds === 1) return signedBelow(p, a, b, w, 1);
      return signedBelow(p, b, a, w, 0);
    default:
      return true;
  }
}

/** Narrows by x + gap <= y, unsigned. */
function below(p: Bounds, x: number, y: number, w: number, gap: 0 | 1): boolean {
  p.most[x] = Math.min(p.most[x], addUp(p.most[y], -gap));
  p.least[y] = Math.max(p.least[y], addDown(p.least[x], gap));
  return reduce(p, x, w) && reduce(p, y, w);
}

function signedBelow(p: Bounds, x: number, y: number, w: number, gap: 0 | 1): boolean {
  p.signedMost[x] = Math.min(p.signedMost[x], addUp(p.signedMost[y], -gap));
  p.signedLeast[y] = Math.max(p.signedLeast[y], addDown(p.signedLeast[x], gap));
  return reduce(p, x, w) && reduce(p, y, w);
}

/** Narrows x by x != y if y is a constant that equals a bound of x. */
function differs(p: Bounds, x: number, y: number, w: number): boolean {
  if (!p.isConstant(y) || p.least[y] !== p.most[y]) return true;
  if (p.least[x] === p.least[y]) p.least[x] = addDown(p.least[x], 1);
  if (p.most[x] === p.most[y]) p.most[x] = addUp(p.most[x], -1);
  if (p.signedLeast[x] === p.signedLeast[y]) p.signedLeast[x] = addDown(p.signedLeast[x], 1);
  if (p.signedMost[x] === p.signedMost[y]) p.signedMost[x] = addUp(p.signedMost[x], -1);
  return reduce(p, x, w);
}
