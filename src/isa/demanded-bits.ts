import { Kind } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { AND, OR, XOR } from '../ir/truth-tables.ts';
import { highBelow, lowBelow } from './bounds.ts';
import { type BoundsProgram, operandOf } from './bounds-program.ts';
import { selectorOf } from './ints.ts';

/*
 * Demanded bits: backward transfer functions over the meaning of an instruction, from its results to its operands. A mask is two words of
 * 32 bits; bits that are clear in it have no effect on the demanded bits of the results.
 */

/** One past the highest bit of a mask, 0 if it is empty. */
export const bitsOf = (low: number, high: number): number =>
  high !== 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(low);

/** Truth tables of operators with two operands, as functions of three bits. */
const TABLES: Partial<Record<string, number>> = { and: AND, or: OR, xor: XOR };

/** The masks of demanded bits of the nodes of a meaning. Use: `open`, then `want` for the results, then `back`. */
export class DemandedBits {
  low = new Int32Array(64);
  high = new Int32Array(64);
  private g!: BoundsProgram;
  private x!: Instr;
  /** The constant that `isConstant` found last. */
  private constLow = 0;
  private constHigh = 0;

  /** Starts with an instruction; no bits of its nodes are demanded yet. */
  open(g: BoundsProgram, x: Instr): void {
    this.g = g;
    this.x = x;
    if (this.low.length < g.count) {
      this.low = new Int32Array(2 * g.count);
      this.high = new Int32Array(2 * g.count);
    } else {
      this.low.fill(0, 0, g.count);
      this.high.fill(0, 0, g.count);
    }
  }

  /** Adds demanded bits of a node; bits above its width are ignored. */
  want(i: number, low: number, high: number): void {
    const w = this.g.widths[i];
    this.low[i] |= low & lowBelow(w);
    this.high[i] |= high & highBelow(w);
  }

  /** Propagates demanded bits from the results, for which `want` was called, to the operands. */
  back(): void {
    const { g } = this;
    for (let i = g.count - 1; i >= 0; i--) if ((this.low[i] | this.high[i]) !== 0) this.node(i);
  }

  private all(i: number): void {
    this.want(i, -1, -1);
  }

  /** Is a node a constant? If so, sets `constLow` and `constHigh`. */
  private isConstant(i: number): boolean {
    const { g } = this;
    if (g.ops[i] === 'const') {
      this.constLow = g.low[i];
      this.constHigh = g.high[i];
      return true;
    }
    if (g.ops[i] !== 'src') return false;
    const o = operandOf(this.x, g.n[i]);
    this.constLow = o.lo;
    this.constHigh = o.hi;
    return o.kind === Kind.Imm;
  }

  private node(i: number): void {
    const { g } = this;
    const [low, high] = [this.low[i], this.high[i]];
    const a = g.args[3 * i];
    const b = g.args[3 * i + 1];
    const c = g.args[3 * i + 2];
    const width = g.widths[i];
    const most = bitsOf(low, high);
    switch (g.ops[i]) {
      case 'const':
      case 'src':
        return;
      // A bit of a sum or product depends only on bits of the operands that are not above it.
      case 'add':
      case 'sub':
      case 'mul':
        this.want(a, lowBelow(most), highBelow(most));
        this.want(b, lowBelow(most), highBelow(most));
        return;
      case 'not':
        return this.want(a, low, high);
      case 'and':
      case 'or':
      case 'xor':
        this.bitwise(TABLES[g.ops[i]]!, [a, b], low, high);
        return;
      case 'lop3':
        this.bitwise(g.n[i], [a, b, c], low, high);
        return;
      case 'shl':
        this.all(b);
        if (!this.isConstant(b)) this.want(a, lowBelow(most), highBelow(most));
        else if (this.amount() < width) this.down(a, low, high, this.amount());
        return;
      case 'lshr':
      case 'ashr': {
        this.all(b);
        if (!this.isConstant(b)) return this.all(a);
        const by = this.amount();
        if (by < width) this.up(a, low, high, by);
        // The bits shifted in are copies of the sign.
        if (g.ops[i] === 'ashr' && most > width - by) this.bit(a, width - 1);
        return;
      }
      case 'zext':
        return this.want(a, low, high);
      case 'sext':
        this.want(a, low & lowBelow(g.n[i]), high & highBelow(g.n[i]));
        if (most > g.n[i]) this.bit(a, g.n[i] - 1);
        return;
      case 'extract':
        return this.up(a, low, high, g.n[i]);
      case 'concat':
        this.want(b, low & lowBelow(g.n[i]), high & highBelow(g.n[i]));
        return this.down(a, low, high, g.n[i]);
      case 'ite':
        this.all(a);
        this.want(b, low, high);
        this.want(c, low, high);
        return;
      case 'prmt':
        return this.permuted(i, low);
      default:
        for (let k = 0; k < g.graph.nodes[i].args.length; k++) this.all(g.args[3 * i + k]);
    }
  }

  /** The constant as a shift amount; 64 for all larger ones. */
  private amount(): number {
    return this.constHigh === 0 && this.constLow >>> 0 < 64 ? this.constLow : 64;
  }

  private bit(i: number, k: number): void {
    this.want(i, k < 32 ? 1 << k : 0, k < 32 ? 0 : 1 << (k - 32));
  }

  /** Demands the bits of a mask, shifted right. */
  private down(i: number, low: number, high: number, by: number): void {
    if (by === 0) this.want(i, low, high);
    else if (by >= 64) return;
    else if (by >= 32) this.want(i, high >>> (by - 32), 0);
    else this.want(i, (low >>> by) | (high << (32 - by)), high >>> by);
  }

  /** Demands the bits of a mask, shifted left. */
  private up(i: number, low: number, high: number, by: number): void {
    if (by === 0) this.want(i, low, high);
    else if (by >= 64) return;
    else if (by >= 32) this.want(i, 0, low << (by - 32));
    else this.want(i, low << by, (high << by) | (low >>> (32 - by)));
  }

  /** Demands those bits of each operand on which the result depends for some possible bits of the other operands. */
  private bitwise(table: number, operands: readonly number[], low: number, high: number): void {
    const canLow: number[] = [];
    const canHigh: number[] = [];
    for (const o of [...operands, -1].slice(0, 3)) {
      // A missing third operand counts as the constant 0; the table does not depend on it.
      const known = o < 0 || this.isConstant(o);
      const [l, h] = o < 0 ? [0, 0] : [this.constLow, this.constHigh];
      canLow.push(known ? ~l : -1, known ? l : -1);
      canHigh.push(known ? ~h : -1, known ? h : -1);
    }
    operands.forEach((o, k) => {
      const shift = 2 - k;
      let l = 0;
      let h = 0;
      for (let row = 0; row < 8; row++) {
        if ((row >> shift) & 1 || ((table >> row) & 1) === ((table >> (row | (1 << shift))) & 1)) continue;
        let rowLow = -1;
        let rowHigh = -1;
        for (let other = 0; other < 3; other++) {
          if (other === k) continue;
          const bit = (row >> (2 - other)) & 1;
          rowLow &= canLow[2 * other + bit];
          rowHigh &= canHigh[2 * other + bit];
        }
        l |= rowLow;
        h |= rowHigh;
      }
      this.want(o, l & low, h & high);
    });
  }

  private permuted(i: number, low: number): void {
    const { g } = this;
    const [a, b, sel] = [g.args[3 * i], g.args[3 * i + 1], g.args[3 * i + 2]];
    this.all(sel);
    if (!this.isConstant(sel)) {
      this.all(a);
      this.all(b);
      return;
    }
    const s = selectorOf(g.aux[i], this.constLow);
    for (let k = 0; k < 4; k++) {
      const wanted = (low >>> (8 * k)) & 0xff;
      if (wanted === 0) continue;
      const from = (s >>> (4 * k)) & 15;
      // Bit 3 of the selector replicates the sign of the byte.
      const bits = from >= 8 ? 0x80 : wanted;
      this.want((from & 7) < 4 ? a : b, bits << (8 * (from & 3)), 0);
    }
  }
}
