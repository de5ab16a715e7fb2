import type { DominatorTree } from '../analysis/flow/dominators.ts';

/** If one class has at most `FEW` members and the other at least `MANY`, the few are searched for by bisection instead of walking both. */
const FEW = 8;
const MANY = 64;

/**
 * Congruence classes: sets of values that will share a register. Classes are only merged, never split. No two values of a
 * class are live at once, unless one is a copy of the other. Members are kept in dominance order.
 *
 * One walk over two classes in dominance order finds whether they interfere. It suffices to compare each value with
 * the nearest one above it in the dominator tree, because members of one class do not interfere (Budimlic, Cooper,
 * Harvey, Kennedy, Oberg and Reeves, "Fast Copy Coalescing and Live-Range Identification", PLDI 2002). Copies of one
 * value do not interfere even if both are live (Boissinot and others, CGO 2009). With copies, checking only the nearest
 * value would not suffice. But any other value of its class that is live here was also live where the nearest one was
 * defined, so it is a copy of the nearest one and lies directly below it on the stack.
 */
export class Congruence {
  private readonly tree: DominatorTree;
  private readonly liveAfter: (value: number, block: number, place: number) => boolean;
  /** By value. */
  private readonly parent: number[] = [];
  private readonly block: number[] = [];
  private readonly place: number[] = [];
  /** By value: the original value that it is a copy of; itself if it is not a copy. */
  private readonly origin: number[] = [];
  /** By value: the nearest member of its class that dominates it, -1 if there is none. */
  private readonly up: number[] = [];
  /** By representative: members in dominance order, and the register that the class must use, or -1. */
  private readonly members: number[][] = [];
  private readonly pinned: number[] = [];

  /** @param liveAfter is the value live after `place` in the block? Called only if its definition dominates that place */
  constructor(tree: DominatorTree, liveAfter: (value: number, block: number, place: number) => boolean) {
    this.tree = tree;
    this.liveAfter = liveAfter;
  }

  /**
   * Adds a value in a class of its own.
   * @param block position of the block that defines it
   * @param place position of the definition in the block; see `values.ts`
   * @param pin the register that it must use, or -1
   * @param copied the value that it is a copy of, or -1
   * @returns the value's number, counting from 0
   */
  add(block: number, place: number, pin = -1, copied = -1): number {
    const v = this.parent.length;
    this.parent.push(v);
    this.block.push(block);
    this.place.push(place);
    this.origin.push(copied < 0 ? v : this.origin[copied]);
    this.up.push(-1);
    this.members.push([v]);
    this.pinned.push(pin);
    return v;
  }

  /** The class of a value, represented by one of its members. */
  find(v: number): number {
    const { parent } = this;
    while (parent[v] !== v) {
      parent[v] = parent[parent[v]];
      v = parent[v];
    }
    return v;
  }

  /** The register that a class must use, or -1. */
  pin(v: number): number {
    return this.pinned[this.find(v)];
  }

  /** Joins the classes of two values unless they interfere. @returns whether they share a class now */
  tryJoin(a: number, b: number): boolean {
    const x = this.find(a);
    const y = this.find(b);
    if (x === y) return true;
    if (this.pinned[x] >= 0 && this.pinned[y] >= 0 && this.pinned[x] !== this.pinned[y]) return false;
    const few = this.members[x].length < this.members[y].length ? this.members[x] : this.members[y];
    const many = few === this.members[x] ? this.members[y] : this.members[x];
    if (few.length <= FEW && many.length >= MANY) {
      for (const v of few) if (!this.fits(v, many)) return false;
      for (const v of few) this.insert(v, many);
      this.unite(x, y, many);
      return true;
    }
    const merged = this.merged(this.members[x], this.members[y]);
    if (merged === null) return false;
    this.unite(x, y, merged);
    this.linkUp(merged);
    return true;
  }

  /** Joins the classes of values known not to interfere. */
  join(values: readonly number[]): void {
    const classes = [...new Set(values.map((v) => this.find(v)))];
    if (classes.length < 2) return;
    const merged = classes.flatMap((c) => this.members[c]).sort((v, w) => this.compare(v, w));
    let all = classes[0];
    for (let i = 1; i < classes.length; i++) {
      this.unite(all, classes[i], merged);
      all = this.find(all);
    }
    this.linkUp(merged);
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

  /** Finds the nearest dominating member for each member of a class. */
  private linkUp(members: readonly number[]): void {
    let above = -1;
    for (const v of members) {
      while (above >= 0 && !this.dominates(above, v)) above = this.up[above];
      this.up[v] = above;
      above = v;
    }
  }

  /**
   * Does a value of another class interfere with no member of a large class? Because of binary search, the time depends on
   * the value's live range and hardly on the size of the class. The class of a phi with ten thousand operands has that many
   * members.
   */
  private fits(v: number, members: readonly number[]): boolean {
    const { origin, up } = this;
    const at = this.search(v, members);
    const nearest = this.nearest(v, members, at);
    if (nearest >= 0 && origin[nearest] !== origin[v])
      for (let w = nearest; w >= 0 && origin[w] === origin[nearest]; w = up[w])
        if (this.interfere(w, v)) return false;
    for (let i = at; i < members.length && this.dominates(v, members[i]); ) {
      const w = members[i++];
      if (origin[w] === origin[v]) continue;
      if (this.interfere(v, w)) return false;
      // `v` is dead where `w` is defined, so it is dead wherever `w` dominates.
      i = this.below(w, members, i);
    }
    return true;
  }

  /** Inserts a value into a large class. */
  private insert(v: number, members: number[]): void {
    const at = this.search(v, members);
    this.up[v] = this.nearest(v, members, at);
    for (let i = at; i < members.length && this.dominates(v, members[i]); ) {
      const w = members[i];
      this.up[w] = v;
      i = this.below(w, members, i + 1);
    }
    members.splice(at, 0, v);
  }

  /** The first index whose member comes after `v` in dominance order. */
  private search(v: number, members: readonly number[]): number {
    let low = 0;
    let high = members.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.compare(members[mid], v) < 0) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  /** The nearest member that dominates `v`, which would be at index `at`; -1 if there is none. */
  private nearest(v: number, members: readonly number[], at: number): number {
    let w = at > 0 ? members[at - 1] : -1;
    while (w >= 0 && !this.dominates(w, v)) w = this.up[w];
    return w;
  }

  /** The first index, starting at `from`, whose member `w` does not dominate. */
  private below(w: number, members: readonly number[], from: number): number {
    let low = from;
    let high = members.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.dominates(w, members[mid])) low = mid + 1;
      else high = mid;
    }
    return low;
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

  /** `a` dominates `b`: is `a` live where `b` is defined? Values defined at the same place are live together. */
  private interfere(a: number, b: number): boolean {
    const block = this.block[b];
    const place = this.place[b];
    if (this.block[a] === block && this.place[a] === place) return true;
    return this.liveAfter(a, block, place);
  }
}
