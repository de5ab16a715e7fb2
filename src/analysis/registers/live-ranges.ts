import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { isControl, isPhi } from '../../ir/flow.ts';
import type { Reg } from '../../ir/operand.ts';
import { cfgOf } from '../flow/cfg.ts';

/** A read of a register. */
export interface Use {
  readonly n: Ins;
  /** The block in which the register is read; for a phi operand, the predecessor that it comes from. */
  readonly block: BlockNo;
  /** Instructions above it in the block. */
  readonly at: number;
  /** Whether it is a phi operand, read at the end of the block. */
  readonly phi: boolean;
}

/** Where a value is live: from its definition to its last use in each block. */
export interface LiveRange {
  readonly home: BlockNo;
  /** The point at which it begins in its home block. */
  readonly begin: number;
  readonly into: ReadonlySet<BlockNo>;
  readonly outOf: ReadonlySet<BlockNo>;
  readonly last: ReadonlyMap<BlockNo, number>;
}

/**
 * Live ranges of single registers in SSA, and of subsets of their uses, for a pass that considers giving some uses a value of their
 * own. Places are those of the draft before any edit.
 */
export class LiveRanges {
  private readonly d: Draft;
  /** Number of blocks of the ranges walked so far, plus what callers add: a measure of cost that is the same on every machine. */
  spent = 0;

  constructor(d: Draft) {
    this.d = d;
  }

  /** First and last point of a block at which the range is live. */
  interval(range: LiveRange, b: BlockNo): readonly [number, number] | null {
    if (b !== range.home && !range.into.has(b)) return null;
    const from = b === range.home ? range.begin : 0;
    const to = range.outOf.has(b) ? this.lengthOf(b) : (range.last.get(b) ?? -1);
    return to < from ? null : [from, to];
  }

  /** Is the range live at a point of a block? */
  covers(range: LiveRange, b: BlockNo, at: number): boolean {
    if (b === range.home ? at < range.begin : !range.into.has(b)) return false;
    return at <= (range.outOf.has(b) ? this.lengthOf(b) : (range.last.get(b) ?? -1));
  }

  /** All reads of a register, in no particular order. */
  usesOf(r: Reg): Use[] {
    const { d } = this;
    const out: Use[] = [];
    for (const n of d.users(r)) {
      const x = d.at(n);
      if (!isPhi(x)) {
        out.push({ n, block: d.block(n), at: this.indexOf(n), phi: false });
        continue;
      }
      for (let k = 0; k + 1 < x.src.length; k += 2) {
        if (x.src[k + 1].reg !== r) continue;
        const block = d.blockById(x.src[k].lo);
        out.push({ n, block, at: this.lengthOf(block), phi: true });
      }
    }
    return out;
  }

  /** The live range of a value that is defined directly above a point, up to its uses. */
  walk(home: BlockNo, begin: number, uses: readonly Use[]): LiveRange {
    const { pred, predStart } = cfgOf(this.d.fn);
    const into = new Set<BlockNo>();
    const outOf = new Set<BlockNo>();
    const last = new Map<BlockNo, number>();
    const work: BlockNo[] = [];
    const reach = (b: BlockNo): void => {
      if (b === home || into.has(b)) return;
      into.add(b);
      work.push(b);
    };
    for (const u of uses) {
      if (u.phi) outOf.add(u.block);
      else last.set(u.block, Math.max(last.get(u.block) ?? -1, u.at));
      reach(u.block);
    }
    for (let b = work.pop(); b !== undefined; b = work.pop())
      for (let e = predStart[b]; e < predStart[b + 1]; e++) {
        outOf.add(pred[e]);
        reach(pred[e]);
      }
    this.spent += into.size + uses.length;
    return { home, begin, into, outOf, last };
  }

  /** Number of phis at the start of a block. */
  phisOf(b: BlockNo): number {
    const { ins } = this.d.fn.blocks[b];
    let phis = 0;
    while (phis < ins.length && isPhi(ins[phis])) phis++;
    return phis;
  }

  /** Number of instructions of a block, and its last point. */
  lengthOf(b: BlockNo): number {
    return this.d.fn.blocks[b].ins.length;
  }

  /** The point in front of the block's control operation, or at its end. */
  endOf(b: BlockNo): number {
    const { ins } = this.d.fn.blocks[b];
    return ins.length > 0 && isControl(ins[ins.length - 1]) ? ins.length - 1 : ins.length;
  }

  /** Number of instructions above one in its block. */
  indexOf(n: Ins): number {
    return n - this.d.first(this.d.block(n));
  }
}

/** Uses by block, from the first to the last. */
export function usesByBlock(uses: readonly Use[]): ReadonlyMap<BlockNo, readonly Use[]> {
  const out = new Map<BlockNo, Use[]>();
  for (const u of uses) {
    const list = out.get(u.block);
    if (list === undefined) out.set(u.block, [u]);
    else list.push(u);
  }
  for (const list of out.values()) list.sort((a, b) => a.at - b.at);
  return out;
}
