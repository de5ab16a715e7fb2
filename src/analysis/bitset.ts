import { popc } from '../isa/ints.ts';

/**
 * Dense bit sets over 32-bit words, the sets of every data-flow analysis here.
 *
 * A set may own its words or be a view of one row of a `BitMatrix`. Binary operations expect equal sizes.
 */
export class BitSet {
  words: Uint32Array;
  /** Number of bits that the set can hold. */
  size: number;

  constructor(size: number, words: Uint32Array = new Uint32Array((size + 31) >>> 5)) {
    this.size = size;
    this.words = words;
  }

  set(i: number): void {
    this.words[i >>> 5] |= 1 << (i & 31);
  }

  clear(i: number): void {
    this.words[i >>> 5] &= ~(1 << (i & 31));
  }

  test(i: number): boolean {
    return (this.words[i >>> 5] & (1 << (i & 31))) !== 0;
  }

  /** Empties the set. */
  reset(): void {
    this.words.fill(0);
  }

  copy(from: BitSet): void {
    this.words.set(from.words);
  }

  /** Makes room for `size` bits; never shrinks. Must not be called on a row of a matrix. */
  grow(size: number): void {
    if (size <= this.size) return;
    const words = (size + 31) >>> 5;
    if (words > this.words.length) {
      const bigger = new Uint32Array(Math.max(words, this.words.length + (this.words.length >>> 1)));
      bigger.set(this.words);
      this.words = bigger;
    }
    this.size = size;
  }

  or(b: BitSet): void {
    for (let w = 0; w < this.words.length; w++) this.words[w] |= b.words[w];
  }

  /** `this |= b`; true if that added a bit. */
  orIfChanged(b: BitSet): boolean {
    let added = 0;
    for (let w = 0; w < this.words.length; w++) {
      const old = this.words[w];
      added |= b.words[w] & ~old;
      this.words[w] = old | b.words[w];
    }
    return added !== 0;
  }

  and(b: BitSet): void {
    for (let w = 0; w < this.words.length; w++) this.words[w] &= b.words[w];
  }

  /** `this &= b`; true if that removed a bit. */
  andIfChanged(b: BitSet): boolean {
    let removed = 0;
    for (let w = 0; w < this.words.length; w++) {
      const old = this.words[w];
      removed |= old & ~b.words[w];
      this.words[w] = old & b.words[w];
    }
    return removed !== 0;
  }

  xor(b: BitSet): void {
    for (let w = 0; w < this.words.length; w++) this.words[w] ^= b.words[w];
  }

  /** `this = a & b`. */
  assignAnd(a: BitSet, b: BitSet): void {
    for (let w = 0; w < this.words.length; w++) this.words[w] = a.words[w] & b.words[w];
  }

  /** `this |= gen | (through & ~kill)`, the transfer function of a backward problem; true if that added a bit. */
  orTransfer(gen: BitSet, through: BitSet, kill: BitSet): boolean {
    let added = 0;
    for (let w = 0; w < this.words.length; w++) {
      const old = this.words[w];
      const now = old | gen.words[w] | (through.words[w] & ~kill.words[w]);
      added |= now & ~old;
      this.words[w] = now;
    }
    return added !== 0;
  }

  /** Number of members. */
  popcount(): number {
    let n = 0;
    for (let w = 0; w < this.words.length; w++) n += popc(this.words[w]);
    return n;
  }

  /** Number of members that are also in `b`. */
  countCommon(b: BitSet): number {
    let n = 0;
    for (let w = 0; w < this.words.length; w++) n += popc(this.words[w] & b.words[w]);
    return n;
  }

  isSubset(of: BitSet): boolean {
    for (let w = 0; w < this.words.length; w++) if ((this.words[w] & ~of.words[w]) !== 0) return false;
    return true;
  }

  isEmpty(): boolean {
    for (let w = 0; w < this.words.length; w++) if (this.words[w] !== 0) return false;
    return true;
  }

  equals(b: BitSet): boolean {
    for (let w = 0; w < this.words.length; w++) if (this.words[w] !== b.words[w]) return false;
    return true;
  }

  /** Calls `visit` with every member, ascending. */
  forEach(visit: (i: number) => void): void {
    for (let w = 0; w < this.words.length; w++) {
      let x = this.words[w];
      while (x !== 0) {
        visit((w << 5) + 31 - Math.clz32(x & -x));
        x &= x - 1;
      }
    }
  }

  /** Members, ascending. */
  toArray(): number[] {
    const out: number[] = [];
    this.forEach((i) => {
      out.push(i);
    });
    return out;
  }
}

/** `rows` bit sets of `columns` bits over one buffer. */
export class BitMatrix {
  readonly rows: readonly BitSet[];

  constructor(rows: number, columns: number) {
    const words = (columns + 31) >>> 5;
    const buffer = new Uint32Array(rows * words);
    this.rows = Array.from(
      { length: rows },
      (_, r) => new BitSet(columns, buffer.subarray(r * words, (r + 1) * words)),
    );
  }
}
