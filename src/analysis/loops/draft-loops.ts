import { type BlockNo, type Draft, type LoopShape, preheader } from '../../ir/draft/index.ts';
import type { Instr } from '../../ir/program.ts';
import { isControl } from '../flow/cfg.ts';
import { commonDominator, type DominatorTree, dominates, dominators } from '../flow/dominators.ts';
import { draftCfg } from '../flow/draft-cfg.ts';
import { edgeFrequency, type Frequency } from '../flow/static-frequency.ts';
import { inLoop, isNested, type Loop, type LoopForest, loopBlocks, loops } from './loops.ts';

/** A natural loop of a draft. */
export interface DraftLoop extends LoopShape {
  readonly id: number;
  /** The loop around it; -1 if there is none. */
  readonly parent: number;
  /** Whether it holds no other loop. */
  readonly innermost: boolean;
  /** The blocks that branch back to the header. */
  readonly latches: readonly BlockNo[];
  /** Number of blocks. */
  readonly size: number;
}

/**
 * The natural loops of a draft when this object was made, plus the preheaders made since, which belong to the
 * surrounding loop. Other edits of blocks are not tracked.
 */
export class DraftLoops {
  private readonly d: Draft;
  private readonly forest: LoopForest;
  private readonly dom: DominatorTree;
  /** By loop: its preheader, if it was requested. */
  private readonly preheaders = new Map<number, BlockNo>();
  /** Blocks made here: their innermost loop (or -1), and the header that they precede. */
  private readonly innermostOf = new Map<BlockNo, number>();
  private readonly headers = new Map<BlockNo, BlockNo>();
  /** By header: the block made in front of it. */
  private readonly made = new Map<BlockNo, BlockNo>();
  /** By loop: the lowest block that every iteration runs; see `isCertain`. */
  private certain: Int32Array | null = null;
  /** By loop: its blocks that are in no inner loop, in reverse post-order. */
  private readonly directly: BlockNo[][];

  constructor(d: Draft) {
    this.d = d;
    const g = draftCfg(d);
    this.forest = loops(g);
    this.dom = dominators(g);
    this.directly = this.forest.loops.map(() => []);
    for (const b of g.rpo) if (this.forest.innermost[b] >= 0) this.directly[this.forest.innermost[b]].push(b);
  }

  /** Every loop after the loops inside it. */
  *innermostFirst(): Generator<DraftLoop> {
    for (let id = this.forest.loops.length - 1; id >= 0; id--) yield this.loop(this.forest.loops[id]);
  }

  /** The blocks of a loop that are in no inner loop, including the preheaders made for inner loops, in the order of `place`. */
  blocksDirectlyIn(loop: DraftLoop): BlockNo[] {
    const made = this.forest.loops[loop.id].children.flatMap(
      (c) => this.made.get(this.forest.loops[c].header) ?? [],
    );
    const own = this.directly[loop.id];
    return made.length === 0 ? own : [...made, ...own].sort((a, b) => this.place(a) - this.place(b));
  }

  /** All blocks of a loop, inner loops included, without preheaders made since. */
  blocksIn(loop: DraftLoop): BlockNo[] {
    return loopBlocks(this.forest, loop.id);
  }

  /** A number for each block that is greater than those of the blocks that dominate it. */
  place(b: BlockNo): number {
    const header = this.headers.get(b);
    const { rpoNumber } = this.forest.cfg;
    return header === undefined ? 2 * rpoNumber[b] : 2 * rpoNumber[header] - 1;
  }

  /** The only block through which control enters the loop; made if there is none. */
  preheader(loop: DraftLoop): BlockNo {
    let b = this.preheaders.get(loop.id);
    if (b === undefined) {
      const before = this.d.blockNumbers;
      b = preheader(this.d, loop);
      this.preheaders.set(loop.id, b);
      if (b >= before) {
        this.innermostOf.set(b, this.forest.loops[loop.id].parent);
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
    this.certain ??= this.certainBlocks();
    // A block made in front of a header runs whenever the header does.
    return dominates(this.dom, this.headers.get(b) ?? b, this.certain[loop.id]);
  }

  /** By loop: the lowest block that dominates every place where control starts another iteration or leaves. */
  private certainBlocks(): Int32Array {
    const { d, dom, forest } = this;
    const { cfg, innermost } = forest;
    const certain = new Int32Array(forest.loops.length).fill(-1);
    // By loop: blocks from which control leaves it for a loop around it (-1: for no loop); by that loop, their common dominator.
    const ways = forest.loops.map(() => new Map<number, BlockNo>());
    const leads = (loop: number, to: number, b: BlockNo): void => {
      const known = ways[loop].get(to);
      ways[loop].set(to, known === undefined ? b : commonDominator(dom, known, b));
    };
    for (const b of cfg.rpo) {
      const l = innermost[b];
      if (l < 0) continue;
      const t = d.terminator(b);
      if (t >= 0 && mayLeave(d.at(t))) leads(l, -1, b);
      for (let e = cfg.succStart[b]; e < cfg.succStart[b + 1]; e++) {
        // Of the loops around the target, the block can only be outside the one whose header the target is.
        let around = innermost[cfg.succ[e]];
        while (around >= 0 && !isNested(forest, l, around)) around = forest.loops[around].parent;
        if (around !== l) leads(l, around, b);
      }
    }
    for (let id = certain.length - 1; id >= 0; id--) {
      const { latches, parent } = forest.loops[id];
      for (const b of [...latches, ...ways[id].values()])
        certain[id] = certain[id] < 0 ? b : commonDominator(dom, certain[id], b);
      for (const [to, b] of ways[id]) if (to !== parent) leads(parent, to, b);
    }
    return certain;
  }

  private loop(l: Loop): DraftLoop {
    const { forest, innermostOf } = this;
    return {
      id: l.id,
      parent: l.parent,
      innermost: l.children.length === 0,
      latches: l.latches,
      size: l.size,
      header: l.header,
      contains: (b) => {
        const inMade = innermostOf.get(b);
        if (inMade !== undefined) return isNested(forest, inMade, l.id);
        return b < forest.innermost.length && inLoop(forest, l.id, b);
      },
    };
  }
}

/** Control may end here, or leave without an edge: a return, an exit, a call. */
const mayLeave = (x: Instr): boolean =>
  isControl(x) && x.op.primitive !== 'branch' && x.op.primitive !== 'branch-table';
