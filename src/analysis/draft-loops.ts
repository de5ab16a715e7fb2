import { type BlockNo, type Draft, type Ins, type LoopShape, preheader } from '../ir/draft/index.ts';
import { type DominatorTree, dominates, dominators } from './dominators.ts';
import { draftCfg } from './draft-cfg.ts';
import { edgeFrequency, type Frequency } from './frequency.ts';
import { inLoop, type Loop, type LoopForest, loopBlocks, loops } from './loops.ts';

/** A natural loop of a draft. */
export interface DraftLoop extends LoopShape {
  readonly id: number;
  /** Its blocks so that each comes behind those that dominate it, preheaders of inner loops among them. */
  readonly blocks: readonly BlockNo[];
}

/**
 * The natural loops of a draft as they were when this was made, with the preheaders that are made since: those belong to the loop
 * around. Other edits of blocks are not followed.
 */
export class DraftLoops {
  private readonly d: Draft;
  private readonly forest: LoopForest;
  private readonly dom: DominatorTree;
  /** By loop: its preheader, once somebody has asked. */
  private readonly preheaders = new Map<number, BlockNo>();
  /** Blocks made here: the loop that they belong to, or -1. */
  private readonly homes = new Map<BlockNo, number>();
  /** Header -> the preheader that was made here for its loop. */
  private readonly made = new Map<BlockNo, BlockNo>();

  constructor(d: Draft) {
    this.d = d;
    const g = draftCfg(d);
    this.forest = loops(g);
    this.dom = dominators(g);
  }

  /** Every loop behind the loops inside it. */
  *innermostFirst(): Generator<DraftLoop> {
    for (let id = this.forest.loops.length - 1; id >= 0; id--) yield this.loop(this.forest.loops[id]);
  }

  /** The block through which alone control enters the loop; made if there is none. */
  preheader(loop: DraftLoop): BlockNo {
    let b = this.preheaders.get(loop.id);
    if (b === undefined) {
      const before = this.d.blockNumbers;
      b = preheader(this.d, loop);
      this.preheaders.set(loop.id, b);
      if (b >= before) {
        this.homes.set(b, this.forest.loops[loop.id].parent);
        this.made.set(loop.header, b);
      }
    }
    return b;
  }

  /** How often control enters the loop, by the frequencies of the snapshot that the draft was opened on. */
  entries(loop: DraftLoop, f: Frequency): number {
    const { predStart, pred, succStart, succ } = this.forest.cfg;
    let sum = 0;
    for (let e = predStart[loop.header]; e < predStart[loop.header + 1]; e++) {
      const p = pred[e];
      if (loop.contains(p)) continue;
      for (let s = succStart[p]; s < succStart[p + 1]; s++)
        if (succ[s] === loop.header) sum += edgeFrequency(f, p, s);
    }
    return sum;
  }

  /** Does every run of the loop that ends run the block, and each of its rounds? Then it runs whenever the loop is entered. */
  isCertain(loop: DraftLoop, b: BlockNo): boolean {
    const { latches } = this.forest.loops[loop.id];
    if (!latches.every((l) => dominates(this.dom, b, l))) return false;
    return loop.blocks.every(
      (from) => dominates(this.dom, b, from) || this.d.successors(from).every((to) => loop.contains(to)),
    );
  }

  private loop(l: Loop): DraftLoop {
    const { forest, homes, made } = this;
    return {
      id: l.id,
      header: l.header,
      contains: (b) => {
        const home = homes.get(b);
        if (home === undefined) return b < forest.innermost.length && inLoop(forest, l.id, b);
        for (let up = home; up >= l.id; up = forest.loops[up].parent) if (up === l.id) return true;
        return false;
      },
      blocks: loopBlocks(forest, l.id).flatMap((b) => {
        const p = b === l.header ? undefined : made.get(b);
        return p === undefined ? [b] : [p, b];
      }),
    };
  }
}

/** Instructions of some blocks, in order; the one that is visited may be moved or removed. */
export function eachInstruction(d: Draft, blocks: readonly BlockNo[], visit: (n: Ins) => void): void {
  for (const b of blocks)
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      visit(n);
    }
}
