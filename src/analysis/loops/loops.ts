import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf } from '../flow/cfg.ts';
import { type DominatorTree, dominates, dominators } from '../flow/dominators.ts';
import { componentsOf } from '../structures/components.ts';

/** A loop: its header and the blocks from which a latch can be reached without passing the header. */
export interface Loop {
  /** Index in `Forest.loops`. */
  readonly id: number;
  /** Position of the block that comes first in reverse post-order; in a natural loop it dominates the others. */
  readonly header: number;
  /** Positions of the blocks that branch back to the header, ascending. */
  readonly latches: readonly number[];
  /** Index of the enclosing loop, -1 for none. */
  readonly parent: number;
  readonly children: readonly number[];
  /** 1 for an outermost loop. */
  readonly depth: number;
  /** Number of blocks, inner loops included. */
  readonly size: number;
}

/** A cycle that no single block dominates. */
export interface IrreducibleRegion {
  /** Positions of the blocks, ascending. */
  readonly blocks: readonly number[];
  /** The blocks entered from outside (at least two, or the function's entry and another). */
  readonly entries: readonly number[];
}

/** Loops and their nesting, of either kind: natural ones (`loopsOf`) or those of a nesting forest (`nestingOf`). */
export interface Forest<L extends Loop = Loop> {
  readonly cfg: Cfg;
  /** Outer loops before inner ones (ascending reverse post-order number of the header). */
  readonly loops: readonly L[];
  /** Innermost loop by position, -1 for none. */
  readonly innermost: Int32Array;
  /** By loop: its number and the last number inside it, when nests are numbered depth first. */
  readonly first: Int32Array;
  readonly last: Int32Array;
}

/**
 * Natural loops: cycles that one block dominates. A cycle without such a block is in no loop here but listed under
 * `irreducible`; `nestingOf` finds a loop for every cycle. In reducible graphs both have the same loops with the same
 * ids.
 */
export interface LoopForest extends Forest {
  readonly irreducible: readonly IrreducibleRegion[];
}

/** Natural loops of a snapshot and how they nest. */
export const loopsOf = (fn: Fn): LoopForest => loops(cfgOf(fn));

/** Natural loops of a flow graph. */
export const loops: (g: Cfg) => LoopForest = memo((g) => find(g, dominators(g)));

/** Loop depth of a block; 0 outside loops. */
export const loopDepth = (f: Forest, b: number): number =>
  f.innermost[b] < 0 ? 0 : f.loops[f.innermost[b]].depth;

/** Is loop `inner` (or -1) loop `outer`, or nested in it? */
export const isNested = (f: Forest, inner: number, outer: number): boolean =>
  inner >= 0 && f.first[inner] >= f.first[outer] && f.first[inner] <= f.last[outer];

/** Is block `b` inside loop `id` (or in a loop inside it)? */
export const inLoop = (f: Forest, id: number, b: number): boolean => isNested(f, f.innermost[b], id);

/** Blocks of a loop in reverse post-order, inner loops included. */
export function loopBlocks(f: Forest, id: number): number[] {
  const { rpo, rpoNumber } = f.cfg;
  const { header, size } = f.loops[id];
  const out: number[] = [];
  for (let i = rpoNumber[header]; out.length < size; i++) if (inLoop(f, id, rpo[i])) out.push(rpo[i]);
  return out;
}

/** Edges (from, to) that leave the loop. */
export function loopExits(f: Forest, id: number): { from: number; to: number }[] {
  const { succStart, succ } = f.cfg;
  const out: { from: number; to: number }[] = [];
  for (const from of loopBlocks(f, id))
    for (let e = succStart[from]; e < succStart[from + 1]; e++)
      if (!inLoop(f, id, succ[e])) out.push({ from, to: succ[e] });
  return out;
}

/** The contents of one loop, as `loopContents` returns them. */
export interface LoopContents {
  /** In reverse post-order, including inner loops; at most as many as requested. */
  readonly blocks: readonly number[];
  readonly exits: readonly { readonly from: number; readonly to: number }[];
}

/** Blocks and exits of every loop in one walk, so that nests of any depth cost no more than the output. */
export function loopContents(f: Forest, mostBlocks: number): LoopContents[] {
  const { rpo, succStart, succ } = f.cfg;
  const out = f.loops.map(() => ({ blocks: [] as number[], exits: [] as { from: number; to: number }[] }));
  for (const b of rpo) {
    // Loops around a full loop are full too.
    for (let l = f.innermost[b]; l >= 0 && out[l].blocks.length < mostBlocks; l = f.loops[l].parent)
      out[l].blocks.push(b);
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      const to = succ[e];
      let around = f.innermost[to];
      for (let l = f.innermost[b]; l >= 0; l = f.loops[l].parent) {
        // Inner loops have larger indices than the loops around them.
        while (around > l) around = f.loops[around].parent;
        if (around === l) break;
        out[l].exits.push({ from: b, to });
      }
    }
  }
  return out;
}

/** The header's only predecessor outside the loop, if it leads nowhere else; -1 if there is none. */
export function preheader(f: Forest, id: number): number {
  const { predStart, pred, rpoNumber, succStart } = f.cfg;
  const { header } = f.loops[id];
  let found = -1;
  for (let e = predStart[header]; e < predStart[header + 1]; e++) {
    const p = pred[e];
    if (rpoNumber[p] < 0 || inLoop(f, id, p)) continue;
    if (found >= 0) return -1;
    found = p;
  }
  return found >= 0 && succStart[found + 1] - succStart[found] === 1 ? found : -1;
}

/** What distinguishes a kind of loop. */
export interface LoopRules {
  /** Does the retreating edge from `from` to `header` close a loop of this kind? */
  readonly closes: (header: number, from: number) => boolean;
  /** Called before the loop of a header is collected, innermost header first. */
  readonly before: ((header: number, rootOf: (b: number) => number) => void) | null;
  /** Pushes the predecessors of `b` that may belong to the loop being collected. */
  readonly predecessors: (b: number, push: number[]) => void;
}

interface Draft {
  header: number;
  latches: number[];
  parent: number;
  children: number[];
  depth: number;
  size: number;
}

/**
 * Finds the loops of a graph. Headers are processed from the innermost outwards. Each body is collected backwards from its latches; an
 * inner loop on the way is stepped over as one node (union-find), so each block is visited only for its own loop.
 */
export function collectLoops(g: Cfg, rules: LoopRules): Forest {
  const { count, rpo, rpoNumber, predStart, pred } = g;
  const innermost = new Int32Array(count).fill(-1);
  const drafts: Draft[] = [];
  const top = new Int32Array(count);
  for (let b = 0; b < count; b++) top[b] = b;
  const root = (b: number): number => rootIn(top, b);
  const loopAt = new Int32Array(count).fill(-1);
  const work: number[] = [];
  for (let i = rpo.length - 1; i >= 0; i--) {
    const h = rpo[i];
    rules.before?.(h, root);
    const latches: number[] = [];
    for (let e = predStart[h]; e < predStart[h + 1]; e++)
      if (rpoNumber[pred[e]] >= i && rules.closes(h, pred[e])) latches.push(pred[e]);
    if (latches.length === 0) continue;
    const id = drafts.length;
    const draft: Draft = { header: h, latches, parent: -1, children: [], depth: 0, size: 1 };
    drafts.push(draft);
    loopAt[h] = id;
    if (innermost[h] < 0) innermost[h] = id;
    for (const l of latches) work.push(l);
    while (work.length > 0) {
      const b = root(work.pop()!);
      if (b === h) continue;
      top[b] = h;
      const inner = loopAt[b];
      if (inner >= 0) {
        drafts[inner].parent = id;
        draft.children.push(inner);
        draft.size += drafts[inner].size;
      } else {
        innermost[b] = id;
        draft.size++;
      }
      rules.predecessors(b, work);
    }
  }
  return outermostFirst(g, drafts, innermost);
}

/** Representative of `b` in a union-find forest, with path halving. */
export function rootIn(top: Int32Array, b: number): number {
  while (top[b] !== b) {
    top[b] = top[top[b]];
    b = top[b];
  }
  return b;
}

function find(g: Cfg, dom: DominatorTree): LoopForest {
  const { rpoNumber, predStart, pred } = g;
  let retreating = false;
  const forest = collectLoops(g, {
    closes: (h, from) => {
      if (dominates(dom, h, from)) return true;
      retreating = true;
      return false;
    },
    before: null,
    predecessors: (b, push) => {
      for (let e = predStart[b]; e < predStart[b + 1]; e++) if (rpoNumber[pred[e]] >= 0) push.push(pred[e]);
    },
  });
  const { cfg, loops: found, innermost, first, last } = forest;
  const irreducible = retreating ? irreducibleRegions(g, dom) : [];
  return { cfg, loops: found, innermost, first, last, irreducible };
}

/** Renumbers loops so that outer ones come first. */
function outermostFirst(cfg: Cfg, drafts: Draft[], innermost: Int32Array): Forest {
  const n = drafts.length;
  const flip = (i: number): number => (i < 0 ? -1 : n - 1 - i);
  for (let i = n - 1; i >= 0; i--) {
    const d = drafts[i];
    d.depth = d.parent < 0 ? 1 : drafts[d.parent].depth + 1;
  }
  const loops = drafts.toReversed().map((d, id) => ({
    id,
    header: d.header,
    latches: d.latches,
    parent: flip(d.parent),
    children: d.children.map(flip).sort((a, b) => a - b),
    depth: d.depth,
    size: d.size,
  }));
  const first = new Int32Array(n);
  const last = new Int32Array(n);
  const within = new Int32Array(n).fill(1);
  for (let i = n - 1; i >= 0; i--) if (loops[i].parent >= 0) within[loops[i].parent] += within[i];
  // The number that the next loop directly inside gets, or the next outermost one.
  const next = new Int32Array(n);
  let top = 0;
  for (const { id, parent } of loops) {
    first[id] = parent < 0 ? top : next[parent];
    last[id] = first[id] + within[id] - 1;
    next[id] = first[id] + 1;
    if (parent < 0) top = last[id] + 1;
    else next[parent] = last[id] + 1;
  }
  return { cfg, loops, innermost: innermost.map(flip), first, last };
}

/** Without its natural back edges a reducible graph is acyclic. Any strongly connected component that remains is irreducible. */
function irreducibleRegions(g: Cfg, dom: DominatorTree): IrreducibleRegion[] {
  const { rpo, rpoNumber, succStart, succ, predStart, pred } = g;
  const { members, of } = componentsOf(
    succStart,
    succ,
    rpo,
    (from, to) => rpoNumber[to] >= 0 && !dominates(dom, to, from),
  );
  return members.flatMap((all, id) => {
    if (all.length < 2) return [];
    const blocks = all.sort((a, b) => a - b);
    const entries = blocks.filter((b) => {
      if (b === rpo[0]) return true;
      for (let e = predStart[b]; e < predStart[b + 1]; e++)
        if (rpoNumber[pred[e]] >= 0 && of[pred[e]] !== id) return true;
      return false;
    });
    return [{ blocks, entries }];
  });
}
