import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { endsFlow } from '../../ir/flow.ts';
import { Kind } from '../../ir/operand.ts';

/**
 * Blocks of a draft that only pass control on: empty ones, and those with only an unguarded branch. Chains of them are kept in a
 * union-find, so that the first block that does something is found in nearly constant time, however long the chain is.
 *
 * A block in front of phis is not one of them: it determines which operand the phis take. An endless ring of such blocks keeps one as
 * its end, one that branches, so that the empty ones can be removed.
 */
export class Forwarding {
  private readonly d: Draft;
  private readonly to: BlockNo[];
  /** Called with every block from which control may now continue elsewhere. */
  private readonly reopen: (b: BlockNo) => void;
  private ready = false;

  constructor(d: Draft, reopen: (b: BlockNo) => void) {
    this.d = d;
    this.reopen = reopen;
    this.to = Array.from({ length: d.blockNumbers }, (_, b) => b);
    for (const b of d.layout()) this.update(b);
    this.ready = true;
  }

  /** The block at which control that enters `b` first does something. */
  target(b: BlockNo): BlockNo {
    const { to } = this;
    let root = b;
    while (to[root] !== root) root = to[root];
    while (to[b] !== root) {
      const up = to[b];
      to[b] = root;
      b = up;
    }
    return root;
  }

  /**
   * Would control that falls out of `b` first do something at `end`? If `b` itself only passes control on, only empty
   * blocks may lie between, because a jump there could lead back through `b`, which would then go elsewhere.
   */
  fallsTo(b: BlockNo, end: BlockNo): boolean {
    let n = this.fallFrom(b);
    if (this.to[b] === b) return n >= 0 && end !== b && this.target(n) === end;
    while (n >= 0 && n !== end && this.d.first(n) < 0) n = this.fallFrom(n);
    return n === end;
  }

  /** Where control goes from `b` without a jump; after an unguarded branch, where it would go without the branch. */
  fallFrom(b: BlockNo): BlockNo {
    const fall = this.d.fall(b);
    return fall >= 0 ? fall : this.d.below(b);
  }

  /** Checks whether a block now passes control on, and if so notifies the blocks whose control comes through it. */
  update(b: BlockNo): void {
    const { d, to } = this;
    const first = d.first(b);
    if (first !== d.last(b) || to[b] !== b) return;
    let next = d.fall(b);
    if (first >= 0) {
      const x = d.at(first);
      if (x.op.primitive !== 'branch' || !endsFlow(x) || x.src[0].kind !== Kind.Label) return;
      next = d.blockById(x.src[0].lo);
    }
    if (next < 0 || d.phis(next).length > 0) return;
    if (this.target(next) === b) {
      if (first >= 0) return;
      while (d.first(next) < 0) next = d.fall(next);
      to[next] = next;
    }
    to[b] = next;
    if (this.ready) this.reopenBefore(b);
  }

  /** Reopens every block whose control ends up in `b`, including through blocks that only pass it on. */
  private reopenBefore(b: BlockNo): void {
    const stack = [b];
    const visited = new Set(stack);
    const visit = (p: BlockNo): void => {
      if (p < 0 || visited.has(p)) return;
      visited.add(p);
      this.reopen(p);
      if (this.to[p] !== p) stack.push(p);
    };
    while (stack.length > 0) {
      const t = stack.pop()!;
      for (const p of this.d.predecessors(t)) visit(p);
      visit(this.d.above(t));
    }
  }
}
