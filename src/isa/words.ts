import { memo } from '../ir/memo.ts';
import {
  brev,
  out,
  popc,
  prmt,
  sdiv,
  sdiv64,
  selectorOf,
  smulh,
  smulh64,
  srem,
  srem64,
  udiv,
  udiv64,
  umulh,
  umulh64,
  urem,
  urem64,
} from './ints.ts';
import { evalNode } from './lang/evaluate.ts';
import type { CoreOp, Graph, Node } from './lang/graph.ts';

/**
 * Evaluates graphs on machine words, for conditions and constants that are computed millions of times. A value is two signed 32-bit words,
 * zero above its width. Nodes without a short implementation on words (floats, some products of odd widths) are evaluated by the exact
 * reference, so that results equal those of the reference for every graph.
 */
export class WordGraph {
  readonly graph: Graph;
  /** Low and high word of each node, after `run`. */
  readonly lo: Int32Array;
  readonly hi: Int32Array;
  private readonly ops: Int32Array;
  private readonly widths: Int32Array;
  /** Three arguments per node. */
  private readonly args: Int32Array;
  private readonly ns: Int32Array;

  constructor(graph: Graph) {
    const { nodes } = graph;
    this.graph = graph;
    this.lo = new Int32Array(nodes.length);
    this.hi = new Int32Array(nodes.length);
    this.ops = Int32Array.from(nodes, (n) => codeOf(n, nodes));
    this.widths = Int32Array.from(nodes, (n) => n.width);
    this.args = new Int32Array(nodes.length * 3);
    this.ns = Int32Array.from(nodes, (n) => n.n);
    nodes.forEach((n, i) => {
      for (let k = 0; k < n.args.length; k++) this.args[3 * i + k] = n.args[k];
      if (n.op === 'const') this.set(i, n.value);
    });
  }

  /**
   * Computes every node.
   * @param srcs two words for each source, low first; bits above a source's width are ignored
   */
  run(srcs: Int32Array): void {
    const { ops, widths, args, ns, lo, hi } = this;
    for (let i = 0; i < ops.length; i++) {
      const w = widths[i];
      const n = ns[i];
      const a = args[3 * i];
      const b = args[3 * i + 1];
      const c = args[3 * i + 2];
      const al = lo[a];
      const ah = hi[a];
      const bl = lo[b];
      const bh = hi[b];
      let l = 0;
      let h = 0;
      switch (ops[i]) {
        case CODES.const:
          continue;
        case CODES.src:
          l = srcs[2 * n];
          h = srcs[2 * n + 1];
          break;
        case CODES.add:
          l = (al + bl) | 0;
          h = ah + bh + (l >>> 0 < al >>> 0 ? 1 : 0);
          break;
        case CODES.sub:
          l = (al - bl) | 0;
          h = ah - bh - (al >>> 0 < bl >>> 0 ? 1 : 0);
          break;
        case CODES.mul:
          l = Math.imul(al, bl);
          if (w > 32) h = umulh(al, bl) + Math.imul(al, bh) + Math.imul(ah, bl);
          break;
        case CODES.umulh:
          if (w === 32) l = umulh(al, bl);
          else {
            umulh64(al, ah, bl, bh);
            l = out[0];
            h = out[1];
          }
          break;
        case CODES.smulh:
          if (w === 32) l = smulh(al, bl);
          else {
            smulh64(al, ah, bl, bh);
            l = out[0];
            h = out[1];
          }
          break;
        case CODES.udiv:
        case CODES.urem:
          if (w <= 32) l = ops[i] === CODES.udiv ? udiv(al, bl) : urem(al, bl);
          else {
            if (ops[i] === CODES.udiv) udiv64(al, ah, bl, bh);
            else urem64(al, ah, bl, bh);
            l = out[0];
            h = out[1];
          }
          break;
        case CODES.sdiv:
        case CODES.srem:
          if (w <= 32) {
            const x = extended(al, w);
            const y = extended(bl, w);
            l = ops[i] === CODES.sdiv ? sdiv(x, y) : srem(x, y);
          } else {
            if (ops[i] === CODES.sdiv) sdiv64(al, ah, bl, bh);
            else srem64(al, ah, bl, bh);
            l = out[0];
            h = out[1];
          }
          break;
        case CODES.and:
          l = al & bl;
          h = ah & bh;
          break;
        case CODES.or:
          l = al | bl;
          h = ah | bh;
          break;
        case CODES.xor:
          l = al ^ bl;
          h = ah ^ bh;
          break;
        case CODES.not:
          l = ~al;
          h = ~ah;
          break;
        case CODES.shl: {
          const s = bh !== 0 || bl >>> 0 >= w ? w : bl;
          if (s >= w) break;
          if (w <= 32) l = al << s;
          else if (s >= 32) h = al << (s - 32);
          else {
            l = al << s;
            h = s === 0 ? ah : (ah << s) | (al >>> (32 - s));
          }
          break;
        }
        case CODES.lshr: {
          const s = bh !== 0 || bl >>> 0 >= w ? w : bl;
          if (s >= w) break;
          l = lowShifted(al, ah, s);
          h = s >= 32 ? 0 : ah >>> s;
          break;
        }
        case CODES.ashr: {
          const s = bh !== 0 || bl >>> 0 >= w ? w : bl;
          if (w <= 32) l = extended(al, w) >> Math.min(s, 31);
          else if (s >= 32) {
            l = ah >> Math.min(s - 32, 31);
            h = ah >> 31;
          } else {
            l = lowShifted(al, ah, s);
            h = ah >> s;
          }
          break;
        }
        case CODES.eq:
          l = al === bl && ah === bh ? 1 : 0;
          break;
        case CODES.ult:
          l = ah === bh ? (al >>> 0 < bl >>> 0 ? 1 : 0) : ah >>> 0 < bh >>> 0 ? 1 : 0;
          break;
        case CODES.slt:
          if (n <= 32) l = extended(al, n) < extended(bl, n) ? 1 : 0;
          else l = ah === bh ? (al >>> 0 < bl >>> 0 ? 1 : 0) : ah < bh ? 1 : 0;
          break;
        case CODES.ite:
          l = al === 1 ? bl : lo[c];
          h = al === 1 ? bh : hi[c];
          break;
        case CODES.zext:
          l = al;
          h = ah;
          break;
        case CODES.sext:
          l = extended(al, n);
          h = l >> 31;
          break;
        case CODES.extract:
          l = lowShifted(al, ah, n);
          h = n >= 32 ? 0 : ah >>> n;
          break;
        case CODES.concat:
          if (n >= 32) {
            l = bl;
            h = al;
          } else {
            l = (al << n) | bl;
            h = n === 0 ? ah : (ah << n) | (al >>> (32 - n));
          }
          break;
        case CODES.popc:
          l = popc(al) + popc(ah);
          break;
        case CODES.clz:
          l = n > 32 ? (ah === 0 ? 32 + Math.clz32(al) : Math.clz32(ah)) : Math.clz32(al) - (32 - n);
          break;
        case CODES.brev:
          if (w <= 32) l = brev(al) >>> (32 - w);
          else {
            l = brev(ah);
            h = brev(al);
          }
          break;
        case CODES.lop3:
          l = lop3(n, al, bl, lo[c]);
          if (w > 32) h = lop3(n, ah, bh, hi[c]);
          break;
        case CODES.prmt:
          l = prmt(al, bl, selectorOf(this.graph.nodes[i].aux, lo[c]));
          break;
        default:
          this.reference(i);
          continue;
      }
      if (w <= 32) {
        lo[i] = w === 32 ? l : l & ((1 << w) - 1);
        hi[i] = 0;
      } else {
        lo[i] = l;
        hi[i] = h;
      }
    }
  }

  /** The value of a node, unsigned, as the reference gives it. */
  value(node: number): bigint {
    const low = BigInt(this.lo[node] >>> 0);
    return this.widths[node] > 32 ? (BigInt(this.hi[node] >>> 0) << 32n) | low : low;
  }

  private reference(i: number): void {
    const n = this.graph.nodes[i];
    this.set(
      i,
      evalNode(
        n,
        n.args.map((a) => this.value(a)),
      ),
    );
  }

  private set(i: number, v: bigint): void {
    this.lo[i] = Number(BigInt.asIntN(32, v));
    this.hi[i] = Number(BigInt.asIntN(32, v >> 32n));
  }
}

/** Numbers of the operations that are implemented on words. */
const CODES = {
  const: 0,
  src: 1,
  add: 2,
  sub: 3,
  mul: 4,
  umulh: 5,
  smulh: 6,
  udiv: 7,
  sdiv: 8,
  urem: 9,
  srem: 10,
  and: 11,
  or: 12,
  xor: 13,
  not: 14,
  shl: 15,
  lshr: 16,
  ashr: 17,
  eq: 18,
  ult: 19,
  slt: 20,
  ite: 21,
  zext: 22,
  sext: 23,
  extract: 24,
  concat: 25,
  popc: 26,
  clz: 27,
  brev: 28,
  lop3: 29,
  prmt: 30,
} as const satisfies Partial<Record<CoreOp, number>>;

const REFERENCE = -1;

function codeOf(n: Node, nodes: readonly Node[]): number {
  if (n.fmt !== '' || !(n.op in CODES)) return REFERENCE;
  const high = n.op === 'umulh' || n.op === 'smulh';
  if (high && n.width !== 32 && n.width !== 64) return REFERENCE;
  // Sign extensions and concatenations across the word boundary are left to the reference.
  if (n.op === 'sext' && n.n > 32) return REFERENCE;
  if (n.op === 'concat' && n.n > 32) return REFERENCE;
  if (n.op === 'concat' && n.n === 32 && nodes[n.args[0]].width > 32) return REFERENCE;
  return CODES[n.op as keyof typeof CODES];
}

/** The low `width` bits of a word, sign-extended. */
const extended = (x: number, width: number): number =>
  width >= 32 ? x : (x << (32 - width)) >> (32 - width);

/** Low word of a pair shifted right by 0 to 63. */
const lowShifted = (lo: number, hi: number, s: number): number =>
  s >= 32 ? hi >>> (s - 32) : s === 0 ? lo : (lo >>> s) | (hi << (32 - s));

/** A truth table applied to words: the disjunction of its minterms. */
function lop3(lut: number, a: number, b: number, c: number): number {
  let r = 0;
  if ((lut & 1) !== 0) r |= ~a & ~b & ~c;
  if ((lut & 2) !== 0) r |= ~a & ~b & c;
  if ((lut & 4) !== 0) r |= ~a & b & ~c;
  if ((lut & 8) !== 0) r |= ~a & b & c;
  if ((lut & 16) !== 0) r |= a & ~b & ~c;
  if ((lut & 32) !== 0) r |= a & ~b & c;
  if ((lut & 64) !== 0) r |= a & b & ~c;
  if ((lut & 128) !== 0) r |= a & b & c;
  return r;
}

/** The evaluator of a graph, cached by graph. */
export const wordsOf = memo((g: Graph): WordGraph => new WordGraph(g));
