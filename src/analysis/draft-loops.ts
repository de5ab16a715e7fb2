import { type BlockNo, type Draft, type Ins, type LoopShape, preheader } from '../ir/draft/index.ts';
import type { Instr } from '../ir/program.ts';
import { isControl } from './cfg.ts';
import { commonDominator, type DominatorTree, dominates, dominators } from './dominators.ts';
import { draftCfg } from './draft-cfg.ts';
import { inLoop, type Loop, type LoopForest, loopBlocks, loops } from './loops.ts';
import { edgeFrequency, type Frequency } from './static-frequency.ts';

/** A natural loop of a draft. */
export interface DraftLoop extends LoopShape {
  readonly id: number;
  /** Its blocks, each after those that dominate it, including preheaders of inner loops. */
  readonly blocks: readonly BlockNo[];
}

/**
 * The natural loops of a draft when this object was made, plus the preheaders made since, which belong to the
 * surrounding loop. Other edits of blocks are not tracked.
 */
export class DraftLoops {
  private readonly d: Draft;
  private readonly forest: LoopForest;
  private readonly dom: DominatorTree;
  /** By loop: its preheader, if it was asked for. */
  private readonly preheaders = new Map<number, BlockNo>();
  /** Blocks made here: the loop that they belong to (or -1), and the header that they precede. */
  private readonly homes = new Map<BlockNo, number>();
  private readonly headers = new Map<BlockNo, BlockNo>();
  /** By header: the block made in front of it. */
  private readonly made = new Map<BlockNo, BlockNo>();
  /** By loop: the lowest block that every iteration runs; see `isCertain`. */
  private readonly certain = new Map<number, BlockNo>();

  constructor(d: Draft) {
    this.d = d;
    const g = draftCfg(d);
    this.forest = loops(g);
    this.dom = dominators(g);
  }

  /** Every loop after the loops inside it. */
  *innermostFirst(): Generator<DraftLoop> {
    for (let id = this.forest.loops.length - 1; id >= 0; id--) yield this.loop(this.forest.loops[id]);
  }

  /** The only block through which control enters the loop; made if there is none. */
  preheader(loop: DraftLoop): BlockNo {
    let b = this.preheaders.get(loop.id);
    if (b === undefined) {
      const before = this.d.blockNumbers;
      b = preheader(this.d, loop);
      this.preheaders.set(loop.id, b);
      if (b >= before) {
        this.homes.set(b, this.forest.loops[loop.id].parent);
        this.headers.set(b, loop.header);
        this.made.set(loop.header, b);
      }
    }
    return b;
  }

  /** How often control enters the loop, by the frequencies of the snapshot from which the draft was opened. */
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

  /**
   * Does every iteration of the loop, including the first, run the block before control can leave? If so, the block's
   * unguarded instructions run whenever the loop is entered. A guarded exit or return inside the loop leaves it, and
   * a call may.
   */
  isCertain(loop: DraftLoop, b: BlockNo): boolean {
    let down = this.certain.get(loop.id);
    if (down === undefined) this.certain.set(loop.id, (down = this.certainDown(loop)));
    // A block made in front of a header runs whenever the header does.
    return dominates(this.dom, this.headers.get(b) ?? b, down);
  }

  /** The lowest block that dominates every place where control starts another iteration or leaves. */
  private certainDown(loop: DraftLoop): BlockNo {
    const { d, dom } = this;
    let down = -1;
    const leads = (b: BlockNo): void => {
      down = down < 0 ? b : commonDominator(dom, down, b);
    };
    for (const l of this.forest.loops[loop.id].latches) leads(l);
    for (const b of loop.blocks) {
      if (this.headers.has(b)) continue;
      const t = d.terminator(b);
      if ((t >= 0 && mayLeave(d.at(t))) || d.successors(b).some((to) => !loop.contains(to))) leads(b);
    }
    return down;
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

/** Control may end here, or leave without an edge: a return, an exit, a call. */
const mayLeave = (x: Instr): boolean =>
  isControl(x) && x.op.primitive !== 'branch' && x.op.primitive !== 'branch-table';

/** Visits the instructions of some blocks in order; the visited one may be moved or removed. */
export function eachInstruction(d: Draft, blocks: readonly BlockNo[], visit: (n: Ins) => void): void {
  for (const b of blocks)
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      visit(n);
    }
}
