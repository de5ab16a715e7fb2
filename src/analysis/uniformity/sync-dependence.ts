import type { Cfg } from '../flow/cfg.ts';
import { type DominatorTree, dominates, dominators, postDominators } from '../flow/dominators.ts';
import { inLoop, type LoopForest, loops } from '../loops/loops.ts';
import { Heap } from '../structures/heap.ts';

/** Receives the results of a sweep. */
export interface SyncSink {
  /**
   * Lanes that took different paths, at `level`, meet at the node.
   * @param onTheWay nodes that some of them may have passed since they diverged
   */
  join(node: number, level: number, onTheWay: (node: number) => boolean): void;
  /** Lanes leave the loop, which consists of these nodes, in different iterations and reach the exits. */
  loop(id: number, level: number, nodes: readonly number[], exits: readonly number[]): void;
  /** Lanes diverged inside the irreducible region or before it, so they may meet at any of its nodes. */
  region(nodes: readonly number[], level: number): void;
}

/**
 * Where lanes that diverged at a branch meet again. A node is a join of a branch if two paths lead to it from different successors of
 * the branch and have no other node in common; the values of its phis then depend on the lane. Paths are followed as labels, up to the
 * immediate post-dominator of the branch, where all lanes arrive: a node that two labels reach is a join and passes on a label of its
 * own. Rosemann, Moll and Hack, "An Abstract Interpretation for SPMD Divergence on Reducible Control Flow Graphs" (POPL 2021); LLVM's
 * SyncDependenceAnalysis labels in the same way.
 *
 * Labels do not go around loops. If lanes may leave a loop in different iterations, its exits count as the successors of a branch in
 * the surrounding loop. Levels are those of `Lanes`: a branch at which the warps of a block diverge is not one at which the lanes of a
 * warp do.
 *
 * Beyond the paper: lanes that wait for each other at the post-dominator may have passed the header of a loop in between a different
 * number of times. The headers of such loops count as joins. So do all nodes of an irreducible region that is touched, and each of its
 * exits is a separate path.
 */
export class SyncDependence {
  /** Levels of the branches, set by `part`; levels at which a node is a join; levels at which only some lanes may run it. */
  readonly branch: Uint8Array;
  readonly joins: Uint8Array;
  readonly control: Uint8Array;
  /** By loop: level at which lanes leave it in different iterations. */
  readonly loop: Uint8Array;
  readonly forest: LoopForest;
  private readonly cfg: Cfg;
  private readonly dom: DominatorTree;
  private readonly post: DominatorTree;
  private readonly sink: SyncSink;
  /** Irreducible region by node, -1 for none. */
  private readonly region: Int32Array;
  private someLoop = false;

  /** Of the current sweep: label by node, valid where the stamp is `epoch`; the same for labels on back edges. */
  private readonly label: Int32Array;
  private readonly stamp: Int32Array;
  private readonly back: Int32Array;
  private readonly backStamp: Int32Array;
  private readonly queued: Uint8Array;
  private readonly queue = new Heap();
  private readonly walked: Int32Array;
  private walk = 0;
  private readonly touched: Int32Array;
  /** By irreducible region: the level that was reported to the sink. */
  private readonly reported: Uint8Array;
  /** By irreducible region: the last sweep that began there, as `isAnother` names it. */
  private readonly begun: string[];
  /** Counts how often the level of a loop, at which lanes leave it in different iterations, was raised. */
  private partedLoops = 0;
  private epoch = 0;
  private level = 0;
  private within = -1;
  private stop = -1;
  private stopLabel = -1;
  private around = false;
  private left = false;
  private readonly found: number[] = [];
  /** The sweep batch, and its loop, that last passed a node. */
  private readonly sweptBy: Int32Array;
  private readonly sweptIn: Int32Array;
  private batch = 0;

  constructor(cfg: Cfg, sink: SyncSink) {
    const { count } = cfg;
    this.cfg = cfg;
    this.sink = sink;
    this.dom = dominators(cfg);
    this.post = postDominators(cfg);
    this.forest = loops(cfg);
    this.branch = new Uint8Array(count);
    this.joins = new Uint8Array(count);
    this.control = new Uint8Array(count);
    this.loop = new Uint8Array(this.forest.loops.length);
    this.region = new Int32Array(count).fill(-1);
    for (const [id, r] of this.forest.irreducible.entries()) for (const b of r.blocks) this.region[b] = id;
    this.label = new Int32Array(count);
    this.stamp = new Int32Array(count);
    this.back = new Int32Array(count);
    this.backStamp = new Int32Array(count);
    this.queued = new Uint8Array(count);
    this.walked = new Int32Array(count);
    this.touched = new Int32Array(this.forest.irreducible.length);
    this.reported = new Uint8Array(this.forest.irreducible.length);
    this.begun = new Array<string>(this.forest.irreducible.length).fill('');
    this.sweptBy = new Int32Array(count);
    this.sweptIn = new Int32Array(count);
  }

  /** Raises the level of the branches at the ends of the nodes to `level`. */
  part(nodes: readonly number[], level: number): void {
    const { rpoNumber } = this.cfg;
    for (const b of nodes) this.branch[b] = level;
    this.batch++;
    for (const b of [...nodes].sort((x, y) => rpoNumber[x] - rpoNumber[y])) {
      const r = this.region[b];
      let stop = this.post.idom[b];
      let within = this.forest.innermost[b];
      if (r >= 0) {
        while (stop < this.cfg.count && this.region[stop] === r) stop = this.post.idom[stop];
        while (within >= 0 && this.region[this.forest.loops[within].header] === r)
          within = this.forest.loops[within].parent;
      }
      // A sweep that passed a branch also followed its paths: they end where the others do, or before.
      if (
        r >= 0
          ? this.isAnother(r, within, stop)
          : this.sweptBy[b] !== this.batch || this.sweptIn[b] !== within
      ) {
        this.begin(level, within, stop);
        if (r >= 0) this.touch(r);
        else this.seed(b);
        this.sweep(true);
        this.checkIterations();
      }
      this.partLoops(within, level, stop);
    }
  }

  /** Whether a sweep from a region differs from the last one: all branches of a region begin at all of its nodes. */
  private isAnother(r: number, within: number, stop: number): boolean {
    const key = `${this.batch} ${within} ${stop} ${this.partedLoops}`;
    if (this.begun[r] === key) return false;
    this.begun[r] = key;
    return true;
  }

  /** Lanes that diverged in loop `l` and meet at `stop`, outside it, leave it in different iterations. */
  private partLoops(l: number, level: number, stop: number): void {
    const { loops } = this.forest;
    while (l >= 0 && (stop >= this.cfg.count || !inLoop(this.forest, l, stop))) {
      this.partLoop(l, level, stop);
      l = loops[l].parent;
    }
  }

  private partLoop(l: number, level: number, stop: number): void {
    if (this.loop[l] >= level) return;
    this.loop[l] = level;
    this.partedLoops++;
    this.someLoop = true;
    const { succStart, succ, count } = this.cfg;
    const nodes = this.nodesOf(l);
    const exits: number[] = [];
    for (const b of nodes) {
      this.raise(b, level);
      for (let e = succStart[b]; e < succStart[b + 1]; e++)
        if (!inLoop(this.forest, l, succ[e])) exits.push(b, e);
    }
    this.sink.loop(
      l,
      level,
      nodes,
      exits.filter((_, i) => i % 2 === 1).map((e) => succ[e]),
    );
    this.begin(level, this.forest.loops[l].parent, stop);
    for (let i = 0; i < exits.length; i += 2) this.reach(exits[i], succ[exits[i + 1]], count + exits[i + 1]);
    this.sweep(false);
    this.checkIterations();
  }

  /** Nodes of a loop, found from its latches, because other nodes may lie between them in reverse post-order. */
  private nodesOf(l: number): number[] {
    const { predStart, pred, rpoNumber } = this.cfg;
    const { header, latches } = this.forest.loops[l];
    const seen = ++this.walk;
    const nodes = [header];
    this.walked[header] = seen;
    const add = (b: number): void => {
      if (this.walked[b] === seen || rpoNumber[b] < 0) return;
      this.walked[b] = seen;
      nodes.push(b);
    };
    for (const b of latches) add(b);
    for (let i = 1; i < nodes.length; i++)
      for (let e = predStart[nodes[i]]; e < predStart[nodes[i] + 1]; e++) add(pred[e]);
    return nodes;
  }

  /**
   * Lanes meet at a node of a loop after going around it, or after leaving and re-entering it: in different
   * iterations.
   */
  private checkIterations(): void {
    const { stop, within: l, level, left, around } = this;
    const { loops } = this.forest;
    if (l < 0 || stop >= this.cfg.count || !inLoop(this.forest, l, stop)) return;
    if (around && stop !== loops[l].header) this.mix(l, level);
    if (!left) return;
    for (let a = l; a >= 0; a = loops[a].parent) {
      this.mix(a, level);
      this.partLoop(a, level, stop);
    }
  }

  private mix(l: number, level: number): void {
    const { header } = this.forest.loops[l];
    if (this.joins[header] < level) this.joins[header] = level;
    this.sink.join(header, level, (b) => inLoop(this.forest, l, b));
  }

  // ---------------------------------------------------------------------- one sweep

  private begin(level: number, within: number, stop: number): void {
    this.epoch++;
    this.level = level;
    this.within = within;
    this.stop = stop;
    this.stopLabel = -1;
    this.around = false;
    this.left = false;
    this.found.length = 0;
  }

  private seed(b: number): void {
    const { succStart, succ, count } = this.cfg;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) this.reach(b, succ[e], count + e);
  }

  /** Control takes the edge from `u` to `v` with a label. */
  private reach(u: number, v: number, label: number): void {
    const { rpoNumber } = this.cfg;
    if (v === this.stop) {
      if (this.stopLabel < 0) this.stopLabel = label;
      else if (this.stopLabel !== label) this.joinAt(v);
      return;
    }
    if (this.within >= 0 && !inLoop(this.forest, this.within, v)) {
      this.left = true;
      return;
    }
    if (rpoNumber[v] <= rpoNumber[u] && dominates(this.dom, v, u)) {
      if (this.within >= 0 && v === this.forest.loops[this.within].header) this.around = true;
      if (this.backStamp[v] !== this.epoch) {
        this.backStamp[v] = this.epoch;
        this.back[v] = label;
      } else if (this.back[v] !== label) this.joinAt(v);
      return;
    }
    if (this.stamp[v] !== this.epoch) {
      this.stamp[v] = this.epoch;
      this.label[v] = label;
    } else {
      if (this.label[v] === label || this.label[v] === v) return;
      this.label[v] = v;
      this.joinAt(v);
    }
    if (this.queued[v] === 1) return;
    this.queued[v] = 1;
    this.queue.push(rpoNumber[v]);
  }

  private joinAt(v: number): void {
    if (this.joins[v] < this.level) this.joins[v] = this.level;
    this.found.push(v);
  }

  /** @param counts whether the branches passed need no sweep of their own */
  private sweep(counts: boolean): void {
    const { rpo, succStart, succ, count } = this.cfg;
    const { label, branch, level } = this;
    for (let next = this.queue.pop(); next >= 0; next = this.queue.pop()) {
      const v = rpo[next];
      this.queued[v] = 0;
      this.raise(v, level);
      if (counts) {
        this.sweptBy[v] = this.batch;
        this.sweptIn[v] = this.within;
      }
      if (this.region[v] >= 0) {
        this.touch(this.region[v]);
        continue;
      }
      const parts = branch[v] >= level;
      for (let e = succStart[v]; e < succStart[v + 1]; e++)
        this.reach(v, succ[e], parts || this.leavesPartedLoop(v, succ[e]) ? count + e : label[v]);
    }
    const onTheWay = (b: number): boolean => this.stamp[b] === this.epoch;
    for (const v of this.found) this.sink.join(v, level, onTheWay);
  }

  /** Does the edge leave a loop, inside the loop being swept, that lanes leave in different iterations? */
  private leavesPartedLoop(u: number, v: number): boolean {
    if (!this.someLoop) return false;
    const { innermost, loops } = this.forest;
    for (let l = innermost[u]; l >= 0 && l !== this.within && !inLoop(this.forest, l, v); l = loops[l].parent)
      if (this.loop[l] >= this.level) return true;
    return false;
  }

  private touch(r: number): void {
    if (this.touched[r] === this.epoch) return;
    this.touched[r] = this.epoch;
    const { succStart, succ, count } = this.cfg;
    const { blocks } = this.forest.irreducible[r];
    for (const b of blocks) {
      this.stamp[b] = this.epoch;
      this.label[b] = b;
      this.raise(b, this.level);
      if (this.joins[b] < this.level) this.joins[b] = this.level;
    }
    if (this.reported[r] < this.level) {
      this.reported[r] = this.level;
      this.sink.region(blocks, this.level);
    }
    for (const b of blocks)
      for (let e = succStart[b]; e < succStart[b + 1]; e++)
        if (this.region[succ[e]] !== r) this.reach(b, succ[e], count + e);
  }

  private raise(b: number, level: number): void {
    if (this.control[b] < level) this.control[b] = level;
  }
}
