import { memo } from '../ir/memo.ts';
import { AND, OR, XOR } from '../ir/truth-tables.ts';
import type { Bounds } from './bounds.ts';
import { highBelow, lowBelow, POWER } from './bounds.ts';
import { type BoundsProgram, comparisonOf, constrain } from './bounds-program.ts';
import { bitsOf, type DemandedBits } from './demanded-bits.ts';
import { selectorOf } from './ints.ts';
import type { CoreOp } from './lang/graph.ts';

/** Operators that are the identity for operands in certain ranges, which rules alone cannot detect. */
const NARROWS: ReadonlySet<CoreOp> = new Set([
  'and',
  'or',
  'xor',
  'lop3',
  'prmt',
  'ite',
  'sext',
  'extract',
  'urem',
]);

/** Can a result of the program equal one of its operands, depending on the bounds of the operands? */
export const mayEqualSource = memo(
  (g: BoundsProgram): boolean => g.sources.some((s) => s >= 0) && g.ops.some((op) => NARROWS.has(op)),
);

/**
 * Finds results of an instruction that equal one of its source operands, given the bounds of the operands: a mask that clears only zero
 * bits, an extension of a value that fits, a minimum with a value that is never less.
 *
 * A forward pass over the graph finds for each node a source to which it is equal modulo 2^width of the node.
 */
export class EqualSource {
  /** By node: the node of a source to which it is equal; -1 if none was found. */
  private same = new Int32Array(64);
  /** The demanded bits of each node; null if all bits are demanded. */
  private wanted: DemandedBits | null = null;

  /**
   * @param p bounds of the nodes (`evaluate`), with the scratch slots behind them
   * @param wanted demanded bits of the nodes (`DemandedBits.back`); a node need equal the source only in these
   * @returns by destination: the number of the source operand that it equals; -1 if there is none
   */
  of(g: BoundsProgram, p: Bounds, wanted: DemandedBits | null = null): number[] {
    this.wanted = wanted;
    if (this.same.length < g.count) this.same = new Int32Array(2 * g.count);
    for (let i = 0; i < g.count; i++) {
      const s = this.node(g, p, i);
      this.same[i] = s >= 0 && this.isWantedWith(s, i) ? s : -1;
    }
    return g.graph.dsts.map((d) => {
      const s = this.same[d];
      return s >= 0 && g.widths[s] === g.widths[d] ? g.n[s] : -1;
    });
  }

  /**
   * Is every demanded bit of node `i` a demanded bit of node `x`? Only then does a source that equals `x` in the demanded bits of `x` equal
   * `i` too: bits that are known to be clear in `x` are not demanded of it, and may be set in the source.
   */
  private isWantedWith(x: number, i: number): boolean {
    const w = this.wanted;
    return w === null || ((w.low[i] & ~w.low[x]) | (w.high[i] & ~w.high[x])) === 0;
  }

  private node(g: BoundsProgram, p: Bounds, i: number): number {
    const a = g.args[3 * i];
    const b = g.args[3 * i + 1];
    const c = g.args[3 * i + 2];
    switch (g.ops[i]) {
      case 'src':
        return i;
      case 'add':
        return this.ifNone(p, i, b, a) ?? this.ifNone(p, i, a, b) ?? -1;
      case 'sub':
        return this.ifNone(p, i, b, a) ?? -1;
      case 'shl':
        return this.ifZero(p, b, a) ?? -1;
      case 'lshr':
        return this.ifZero(p, b, a) ?? this.shiftedBack(g, p, i, false);
      case 'ashr':
        return this.ifZero(p, b, a) ?? this.shiftedBack(g, p, i, true);
      case 'urem':
        return p.most[a] < p.least[b] ? this.same[a] : -1;
      case 'and':
        return this.bitwise(p, i, AND, a, b, b);
      case 'or':
        return this.bitwise(p, i, OR, a, b, b);
      case 'xor':
        return this.bitwise(p, i, XOR, a, b, b);
      case 'lop3':
        return this.bitwise(p, i, g.n[i], a, b, c);
      case 'prmt':
        return this.permuted(p, i, g.aux[i], a, b, c);
      case 'extract':
        return g.n[i] === 0 ? this.same[a] : -1;
      case 'zext':
        return this.extended(g, p, i, a, g.widths[a], false);
      case 'sext':
        return this.extended(g, p, i, a, g.n[i], true);
      case 'ite':
        return this.chosen(g, p, a, b, c);
      default:
        return -1;
    }
  }

  /** The source that `x` equals, if `zero` is 0. */
  private ifZero(p: Bounds, zero: number, x: number): number | undefined {
    return p.most[zero] === 0 && this.same[x] >= 0 ? this.same[x] : undefined;
  }

  /** The source that `x` equals, if `none` has no set bit at or below the highest demanded bit, so that adding it has no effect. */
  private ifNone(p: Bounds, i: number, none: number, x: number): number | undefined {
    const bits = this.wanted === null ? 64 : bitsOf(this.wanted.low[i], this.wanted.high[i]);
    const low = ~p.zeroLow[none] & lowBelow(bits);
    const high = ~p.zeroHigh[none] & highBelow(bits);
    return (low | high) === 0 && this.same[x] >= 0 ? this.same[x] : undefined;
  }

  /** An extension from `bits` bits is the identity on a source that fits in them, or if no higher bit is demanded. */
  private extended(g: BoundsProgram, p: Bounds, i: number, a: number, bits: number, signed: boolean): number {
    const s = this.same[a];
    if (s < 0 || g.widths[i] > g.widths[s]) return -1;
    const fits = signed
      ? p.signedLeast[s] >= -POWER[bits - 1] && p.signedMost[s] < POWER[bits - 1]
      : p.most[s] < POWER[bits];
    return fits || (this.wanted !== null && bitsOf(this.wanted.low[i], this.wanted.high[i]) <= bits) ? s : -1;
  }

  /** A left shift and a right shift by the same amount extend the low bits. */
  private shiftedBack(g: BoundsProgram, p: Bounds, i: number, signed: boolean): number {
    const left = g.args[3 * i];
    const by = g.args[3 * i + 1];
    if (
      g.ops[left] !== 'shl' ||
      g.args[3 * left + 1] !== by ||
      !p.isConstant(by) ||
      p.most[by] >= g.widths[i]
    )
      return -1;
    const kept = g.widths[i] - p.most[by];
    const a = g.args[3 * left];
    return this.extended(g, p, i, a, kept, signed);
  }

  /** A truth table equals one of its operands if they do not differ in any demanded bit, for all possible bits of the operands. */
  private bitwise(p: Bounds, i: number, table: number, a: number, b: number, c: number): number {
    const wantedLow = this.wanted === null ? -1 : this.wanted.low[i];
    const wantedHigh = this.wanted === null ? -1 : this.wanted.high[i];
    for (const x of [a, b, c]) {
      if (this.same[x] < 0 || !this.isWantedWith(x, i)) continue;
      let low = 0;
      let high = 0;
      for (let row = 0; row < 8; row++) {
        const wanted = x === a ? row >> 2 : x === b ? (row >> 1) & 1 : row & 1;
        if (((table >> row) & 1) === wanted) continue;
        low |= canLow(p, a, row >> 2) & canLow(p, b, (row >> 1) & 1) & canLow(p, c, row & 1);
        high |= canHigh(p, a, row >> 2) & canHigh(p, b, (row >> 1) & 1) & canHigh(p, c, row & 1);
      }
      if ((low & wantedLow) === 0 && (high & wantedHigh) === 0) return this.same[x];
    }
    return -1;
  }

  /** A byte permutation equals an operand if each demanded byte is the same byte of it, or known to be equal. */
  private permuted(p: Bounds, i: number, mode: string, a: number, b: number, sel: number): number {
    if (!p.isConstant(sel)) return -1;
    const s = selectorOf(mode, p.oneLow[sel]);
    for (const [x, first] of [
      [a, 0],
      [b, 4],
    ]) {
      if (this.same[x] < 0) continue;
      let stays = true;
      for (let k = 0; stays && k < 4; k++) {
        const from = (s >>> (4 * k)) & 15;
        const wanted = this.wanted === null ? 0xff : (this.wanted.low[i] >>> (8 * k)) & 0xff;
        if (from === first + k || wanted === 0) continue;
        const y = (from & 7) < 4 ? a : b;
        const at = 8 * (from & 3);
        const zero = (p.zeroLow[x] >>> (8 * k)) & (p.zeroLow[y] >>> at) & 0xff;
        const one = (p.oneLow[x] >>> (8 * k)) & (p.oneLow[y] >>> at) & 0xff;
        stays = from < 8 && (zero | one) === 0xff;
      }
      if (stays) return this.same[x];
    }
    return -1;
  }

  /** A select equals a source if each alternative that can be selected does. */
  private chosen(g: BoundsProgram, p: Bounds, cond: number, yes: number, no: number): number {
    if (p.isConstant(cond)) return this.same[p.oneLow[cond] === 1 ? yes : no];
    const s = this.same[yes] >= 0 ? this.same[yes] : this.same[no];
    return s >= 0 && this.arm(g, p, cond, 1, yes, s) && this.arm(g, p, cond, 0, no, s) ? s : -1;
  }

  /** Does an alternative equal the source, or is it a constant to which the condition narrows the source? */
  private arm(g: BoundsProgram, p: Bounds, cond: number, holds: 0 | 1, x: number, s: number): boolean {
    if (this.same[x] === s) return true;
    const comparison = p.isConstant(x) ? comparisonOf(g, p, cond, holds) : null;
    if (comparison === null) return false;
    const { c, want } = comparison;
    const a = g.args[3 * c];
    const b = g.args[3 * c + 1];
    const first = g.count;
    p.copy(first, p, a);
    p.copy(first + 1, p, b);
    if (!constrain(g, p, c, want, first, first + 1)) return true;
    for (const [node, slot] of [
      [a, first],
      [b, first + 1],
    ])
      if (this.same[node] === s && g.widths[node] === g.widths[x] && p.same(slot, p, x)) return true;
    return false;
  }
}

/** The bits of a slot that may have the value `bit`. */
const canLow = (p: Bounds, i: number, bit: number): number => (bit === 1 ? ~p.zeroLow[i] : ~p.oneLow[i]);
const canHigh = (p: Bounds, i: number, bit: number): number => (bit === 1 ? ~p.zeroHigh[i] : ~p.oneHigh[i]);
