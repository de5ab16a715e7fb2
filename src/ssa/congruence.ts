import type { DominatorTree } from '../analysis/dominators.ts';

/**
 * Values that are to share a register, as classes that only ever grow together. A class holds values of which no two are live at
 * once, unless one is a copy of the other, in dominance order.
 *
 * Whether two classes interfere is found in one walk over both in dominance order: it is enough to compare each value with the nearest
 * one above it in the dominator tree, because no two of one class interfere (Budimlic, Cooper, Harvey, Kennedy, Oberg and Reeves,
 * "Fast Copy Coalescing and Live-Range Identification", PLDI 2002). Copies of one value do not interfere though both live (Boissinot and
 * others, CGO 2009). Then the nearest one is not enough; but whatever else lives here also lived where the nearest one was defined, so
 * it is a copy of that, and stands right below it on the stack.
 */
export class Congruence {
  private readonly tree: DominatorTree;
  private readonly liveAfter: (value: number, block: number, place: number) => boolean;
  /** By value. */
  private readonly parent: number[] = [];
  private readonly block: number[] = [];
  private readonly place: number[] = [];
  /** What it is in the end a copy of; itself if it is none. */
  private readonly origin: number[] = [];
  /** By representative: members in dominance order, and the register that the class must be in, or -1. */
  private readonly members: number[][] = [];
  private readonly pinned: number[] = [];

  /** @param liveAfter is the value live behind `place` in the block? Asked only where its definition dominates that place */
  constructor(tree: DominatorTree, liveAfter: (value: number, block: number, place: number) => boolean) {
    this.tree = tree;
    this.liveAfter = liveAfter;
  }

  /**
   * Adds a value in a class of its own.
   * @param block position of the block that defines it
   * @param place order of definitions and uses in the block
   * @param pin the register that it must be in, or -1
   * @param copied the value that it is a copy of, or -1
   * @returns the value's number; they count from 0
   */
  add(block: number, place: number, pin = -1, copied = -1): number {
    const v = this.parent.length;
    this.parent.push(v);
    this.block.push(block);
    this.place.push(place);
    this.origin.push(copied < 0 ? v : this.origin[copied]);
    this.members.push([v]);
    this.pinned.push(pin);
    return v;
  }

  /** The class of a value, named by one of its members. */
  find(v: number): number {
    const { parent } = this;
    while (parent[v] !== v) {
      parent[v] = parent[parent[v]];
      v = parent[v];
    }
    return v;
  }

  /** The register that a class must be in, or -1. */
  pin(v: number): number {
    return this.pinned[this.find(v)];
  }

  /** Puts two values into one class where nothing speaks against it. */
  tryJoin(a: number, b: number): boolean {
    const x = this.find(a);
    const y = this.find(b);
    if (x === y) return true;
    if (this.pinned[x] >= 0 && this.pinned[y] >= 0 && this.pinned[x] !== this.pinned[y]) return false;
    const merged = this.merged(this.members[x], this.members[y]);
    if (merged === null) return false;
    this.unite(x, y, merged);
    return true;
  }

  /** Puts values into one class that are known not to interfere: one sort, however many they are. */
  join(values: readonly number[]): void {
    const classes = [...new Set(values.map((v) => this.find(v)))];
    if (classes.length < 2) return;
    const merged = classes.flatMap((c) => this.members[c]).sort((v, w) => this.compare(v, w));
    const [to] = classes;
    for (const c of classes) {
      this.parent[c] = to;
      this.members[c] = [];
      this.pinned[to] = Math.max(this.pinned[to], this.pinned[c]);
    }
    this.members[to] = merged;
  }

  private unite(x: number, y: number, merged: number[]): void {
    const [to, from] = this.members[x].length >= this.members[y].length ? [x, y] : [y, x];
    this.parent[from] = to;
    this.members[to] = merged;
    this.members[from] = [];
    this.pinned[to] = Math.max(this.pinned[x], this.pinned[y]);
  }

  /** Members of both classes in dominance order; null if a value of one is live where one of the other is defined. */
  private merged(xs: readonly number[], ys: readonly number[]): number[] | null {
    const out: number[] = [];
    const above: number[] = [];
    const side: number[] = [];
    let i = 0;
    let j = 0;
    while (i < xs.length || j < ys.length) {
      const fromX = j === ys.length || (i < xs.length && this.compare(xs[i], ys[j]) <= 0);
      const v = fromX ? xs[i++] : ys[j++];
      while (above.length > 0 && !this.dominates(above[above.length - 1], v)) {
        above.pop();
        side.pop();
      }
      const nearest = above.length > 0 ? this.origin[above[above.length - 1]] : this.origin[v];
      if (nearest !== this.origin[v])
        for (let k = above.length - 1; k >= 0 && this.origin[above[k]] === nearest; k--)
          if (side[k] !== Number(fromX) && this.interfere(above[k], v)) return null;
      above.push(v);
      side.push(Number(fromX));
      out.push(v);
    }
    return out;
  }

  private compare(a: number, b: number): number {
    const { first } = this.tree;
    return first[this.block[a]] - first[this.block[b]] || this.place[a] - this.place[b] || a - b;
  }

  private dominates(a: number, b: number): boolean {
    const { first, last } = this.tree;
    const x = first[this.block[a]];
    const y = first[this.block[b]];
    if (x === y) return this.place[a] <= this.place[b];
    return x < y && y <= last[this.block[a]];
  }

  /** `a` dominates `b`: does it live where `b` is defined? What is defined at once is live at once. */
  private interfere(a: number, b: number): boolean {
    const block = this.block[b];
    const place = this.place[b];
    if (this.block[a] === block && this.place[a] === place) return true;
    return this.liveAfter(a, block, place);
  }
}
