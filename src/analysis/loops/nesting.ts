import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, reversePostOrder } from '../flow/cfg.ts';
import { collectLoops, type Forest, inLoop, type Loop, rootIn } from './loops.ts';

/** A loop of the nesting forest. */
export interface NestedLoop extends Loop {
  /** Positions of the blocks through which control enters from outside, ascending; the function's entry counts. */
  readonly entries: readonly number[];
  /** Whether the header is the only entry, so that it dominates the loop, which is then a natural loop. */
  readonly reducible: boolean;
}

/**
 * A loop for every cycle of the graph: every strongly connected region is a loop. Its header is the block that the
 * depth-first search of `Cfg.rpo` finds first; cycles that remain without the header are the inner loops. In a
 * reducible graph these are the natural loops of `loopsOf`, with the same ids. Otherwise headers depend on the
 * search: a loop with several entries has one of them as its header.
 */
export interface NestingForest extends Forest<NestedLoop> {
  /** Whether every cycle has a block that dominates it. */
  readonly reducible: boolean;
}

/** The loop-nesting forest of a snapshot. */
export const nestingOf = (fn: Fn): NestingForest => nesting(cfgOf(fn));

/**
 * The loop-nesting forest of a flow graph: Havlak's ("Nesting of Reducible and Irreducible Loops", 1997) in the
 * near-linear form of Ramalingam ("Identifying Loops in Almost Linear Time", 1999). A cross edge can only be part of
 * a loop whose header is an ancestor of both its ends in the search tree, so it is added when their nearest common
 * ancestor is reached.
 */
export const nesting: (g: Cfg) => NestingForest = memo((g) => {
  const { count, rpoNumber, succStart, succ } = g;
  const parent = new Int32Array(count).fill(-1);
  reversePostOrder(count, succStart, succ, 0, parent);
  const waiting = new EdgeLists(count);
  const added = new EdgeLists(count);
  // Finished blocks are linked to their parents, so the root of a block is its nearest ancestor that the search has
  // not left (Tarjan's off-line common ancestors; the walk is in post-order).
  const open = new Int32Array(count);
  for (let b = 0; b < count; b++) open[b] = b;
  const forest = collectLoops(g, {
    closes: () => true,
    before: (h, rootOf) => {
      waiting.each(h, (from, to) => added.add(rootOf(to), from, to));
      for (let e = succStart[h]; e < succStart[h + 1]; e++) {
        const to = succ[e];
        if (rpoNumber[to] <= rpoNumber[h] || parent[to] === h) continue;
        const common = rootIn(open, to);
        if (common !== h) waiting.add(common, h, to);
      }
      if (parent[h] >= 0) open[h] = parent[h];
    },
    predecessors: (b, push) => {
      push.push(parent[b]);
      added.each(b, (from) => push.push(from));
    },
  });
  const loops = withEntries(forest, g);
  const { cfg, innermost, first, last } = forest;
  return { cfg, loops, innermost, first, last, reducible: loops.every((l) => l.reducible) };
});

/** Climbs from the target of each edge through the loops that the edge enters: as many steps as entries are found. */
function withEntries(f: Forest, { count, rpo, rpoNumber, pred, predStart }: Cfg): NestedLoop[] {
  const entries = f.loops.map((): number[] => []);
  for (let b = 0; b < count; b++) {
    if (rpoNumber[b] < 0) continue;
    if (b === rpo[0]) enter(f, -1, b, entries);
    for (let e = predStart[b]; e < predStart[b + 1]; e++)
      if (rpoNumber[pred[e]] >= 0) enter(f, pred[e], b, entries);
  }
  return f.loops.map(({ id, header, latches, parent, children, depth, size }) => ({
    id,
    header,
    latches,
    parent,
    children,
    depth,
    size,
    entries: entries[id],
    reducible: entries[id].length === 1,
  }));
}

/** Adds the target of an edge to the entries of the loops that the edge enters; a `from` of -1 stands for outside the function. */
function enter(f: Forest, from: number, to: number, entries: readonly number[][]): void {
  for (let l = f.innermost[to]; l >= 0 && (from < 0 || !inLoop(f, l, from)); l = f.loops[l].parent)
    if (entries[l].at(-1) !== to) entries[l].push(to);
}

/** Lists of edges by block: links in one growing pool. */
class EdgeLists {
  private readonly head: Int32Array;
  private readonly next: number[] = [];
  private readonly from: number[] = [];
  private readonly to: number[] = [];

  constructor(count: number) {
    this.head = new Int32Array(count).fill(-1);
  }

  add(list: number, from: number, to: number): void {
    this.next.push(this.head[list]);
    this.head[list] = this.from.length;
    this.from.push(from);
    this.to.push(to);
  }

  each(list: number, visit: (from: number, to: number) => void): void {
    for (let e = this.head[list]; e >= 0; e = this.next[e]) visit(this.from[e], this.to[e]);
  }
}
