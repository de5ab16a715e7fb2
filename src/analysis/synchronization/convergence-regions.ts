import { memo } from '../../ir/memo.ts';
import { Lanes } from '../../ir/opcode.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, terminator } from '../flow/cfg.ts';
import {
  commonDominator,
  type DominatorTree,
  dominates,
  dominatorsOf,
  postDominators,
} from '../flow/dominators.ts';
import { inLoop, loopsOf } from '../loops/loops.ts';
import { divergenceOf } from '../uniformity/divergence.ts';

/** A region that lanes of a warp may enter together, execute independently, and leave together. Blocks are positions. */
export interface ConvergenceRegion {
  /** Block at whose end it begins; with `aroundLoop`, the header of the loop in front of which it begins. */
  readonly start: number;
  readonly aroundLoop: boolean;
  /** Block in front of which lanes wait for each other. */
  readonly join: number;
  /** Predecessors of `join` that belong to it, including `start` if it has an edge to `join`. */
  readonly leaves: readonly number[];
  /** Blocks between start and join; with `aroundLoop`, they include the header. */
  readonly blocks: ReadonlySet<number>;
  /** Branches whose lanes meet at its join. */
  readonly branches: readonly number[];
  /** Number of other regions around it. */
  readonly level: number;
}

/** Convergence regions of a function, and the divergent branches that have none, with the reason. */
export interface ConvergenceRegions {
  readonly regions: readonly ConvergenceRegion[];
  readonly without: readonly { readonly branch: number; readonly why: string }[];
  /** Maximum number of regions around one place. */
  readonly depth: number;
}

/** Blocks are visited once for each region around them; this average is deeper than any target has barriers. */
const MOST_VISITS_EACH = 64;

/** Maximum number of exits among which the one that most blocks reach is chosen; with more, among the last ones. */
const MOST_ENDS = 16;

/** How often a start may be moved up before the region is given up: above a side entry, then in front of the loop around it. */
const MOST_MOVES = 8;

/**
 * Where lanes that diverge should reconverge: each divergent branch has a region from it to its immediate post-dominator. Paths on
 * which the thread ends do not count (no thread waits for one that has exited), so an early exit does not delay the others. A region
 * inside another one that ends at the same place is merged with it. If lanes leave a loop at different times, the region begins in
 * front of the loop, so that those that left it first wait for all.
 *
 * A region is entered only at its start and left only at its join. If there is no such start (for a cycle with several entries, say),
 * the branches have no region, which costs time but is not wrong.
 *
 * Cost: each block once for each region around it, with a bound.
 */
export const convergenceRegionsOf: (fn: Fn) => ConvergenceRegions = memo((fn) => new Finder(fn).find());

interface Candidate {
  start: number;
  aroundLoop: boolean;
  readonly join: number;
  leaves: number[];
  blocks: Set<number>;
  readonly branches: number[];
}

class Finder {
  private readonly fn: Fn;
  private readonly cfg: Cfg;
  private readonly dead: Uint8Array;
  private readonly post: DominatorTree;
  private readonly without: { branch: number; why: string }[] = [];
  private visits: number;

  constructor(fn: Fn) {
    this.fn = fn;
    this.cfg = cfgOf(fn);
    this.dead = endings(fn, this.cfg);
    this.post = postDominators(withoutEndings(this.cfg, this.dead));
    this.visits = MOST_VISITS_EACH * this.cfg.count;
  }

  find(): ConvergenceRegions {
    const { branch } = divergenceOf(this.fn);
    const { rpo, count } = this.cfg;
    const all = new Set<Candidate>();
    /** By join: the region of a block, and the one that begins there. */
    const byJoin = new Map<number, { inside: Map<number, Candidate>; starts: Map<number, Candidate> }>();
    for (const b of rpo) {
      if (branch[b] !== Lanes.Varying || this.livingSuccessors(b) < 2) continue;
      const join = this.post.idom[b];
      if (join < 0 || join >= count) {
        this.without.push({ branch: b, why: 'its paths do not join before the threads exit' });
        continue;
      }
      if (!byJoin.has(join)) byJoin.set(join, { inside: new Map(), starts: new Map() });
      const { inside, starts } = byJoin.get(join)!;
      const around = inside.get(b);
      if (around !== undefined) {
        around.branches.push(b);
        continue;
      }
      const c = this.candidate(b, join);
      if (typeof c === 'string') {
        this.without.push({ branch: b, why: c });
        continue;
      }
      for (const at of c.blocks) {
        inside.set(at, c);
        const within = starts.get(at);
        if (within === undefined) continue;
        c.branches.unshift(...within.branches);
        starts.delete(at);
        all.delete(within);
      }
      starts.set(c.start, c);
      all.add(c);
    }
    return this.nested([...all]);
  }

  /** Number of successors from which threads do not only exit. */
  private livingSuccessors(b: number): number {
    const { succStart, succ } = this.cfg;
    let n = 0;
    for (let e = succStart[b]; e < succStart[b + 1]; e++)
      if (this.dead[b] === 1 || this.dead[succ[e]] === 0) n++;
    return n;
  }

  /** The smallest region of branch `b` that is entered only at its start, or why there is none. */
  private candidate(b: number, join: number): Candidate | string {
    const { idom } = dominatorsOf(this.fn);
    const c: Candidate = { start: b, aroundLoop: false, join, leaves: [], blocks: new Set(), branches: [b] };
    for (let moves = 0; moves < MOST_MOVES; moves++) {
      this.leaveLoops(c);
      const side = this.fill(c);
      if (side === TOO_MANY) return 'there are too many blocks in the regions around it';
      if (side < 0) return this.returns(c) ? 'some lanes return from inside its region' : c;
      const up = commonDominator(dominatorsOf(this.fn), c.start, side);
      c.start = up === c.start ? idom[up] : up;
      c.aroundLoop = false;
      if (c.start < 0 || !dominates(this.post, join, c.start)) break;
    }
    return `control enters its region, which ends at BB${this.fn.blocks[join].id}, not only at its start`;
  }

  /** May lanes return to the caller from inside the region? The others would wait for them, although they continue. */
  private returns({ blocks }: Candidate): boolean {
    if (this.fn.kind === 'entry') return false;
    for (const b of blocks) if (terminator(this.fn.blocks[b])?.op.primitive === 'return') return true;
    return false;
  }

  /** Moves the start in front of the outermost loop around it that does not contain the join. */
  private leaveLoops(c: Candidate): void {
    const forest = loopsOf(this.fn);
    for (
      let l = forest.innermost[c.start];
      l >= 0 && !inLoop(forest, l, c.join);
      l = forest.loops[l].parent
    ) {
      c.start = forest.loops[l].header;
      c.aroundLoop = true;
    }
  }

  /**
   * Finds blocks and leaves of a region.
   * @returns a block outside with an edge into it past its start, or the start if a cycle leads back to it; -1 if there is none;
   * `TOO_MANY`
   */
  private fill(c: Candidate): number {
    const { succStart, succ, predStart, pred, rpoNumber } = this.cfg;
    c.blocks = new Set();
    const work: number[] = [];
    const enter = (b: number): void => {
      if (b === c.join || c.blocks.has(b)) return;
      c.blocks.add(b);
      work.push(b);
    };
    const follow = (b: number): void => {
      for (let e = succStart[b]; e < succStart[b + 1]; e++) enter(succ[e]);
    };
    if (c.aroundLoop) enter(c.start);
    else follow(c.start);
    for (let b = work.pop(); b !== undefined; b = work.pop()) {
      if (--this.visits < 0) return TOO_MANY;
      follow(b);
    }
    if (!c.aroundLoop && c.blocks.has(c.start)) return c.start;
    const own = (b: number): boolean => c.blocks.has(b) || (!c.aroundLoop && b === c.start);
    for (const b of c.blocks) {
      if (c.aroundLoop && b === c.start) continue;
      for (let e = predStart[b]; e < predStart[b + 1]; e++)
        // Blocks from which threads only exit may be entered from anywhere.
        if (rpoNumber[pred[e]] >= 0 && !own(pred[e]) && (this.dead[b] === 0 || this.dead[c.join] === 1))
          return pred[e];
    }
    const leads = (b: number): boolean => {
      for (let e = succStart[b]; e < succStart[b + 1]; e++) if (succ[e] === c.join) return true;
      return false;
    };
    c.leaves = [...(c.aroundLoop ? [] : [c.start]), ...c.blocks].filter(leads).sort((a, b) => a - b);
    return -1;
  }

  /** Assigns levels to regions, and drops those that end outside a region that they begin in. */
  private nested(all: readonly Candidate[]): ConvergenceRegions {
    const { rpoNumber, count } = this.cfg;
    const around = new Int32Array(count);
    const heads = new Map<number, Candidate>();
    for (const c of all) {
      for (const b of c.blocks) around[b]++;
      if (c.aroundLoop) heads.set(c.start, c);
    }
    // Lanes that enter a loop from outside wait in front of it, where the region around the loop has not begun.
    const level = (c: Candidate): number => {
      const loop = heads.get(c.join);
      return around[c.join] - (loop !== undefined && !loop.blocks.has(c.leaves[0]) ? 1 : 0);
    };
    const regions = all.filter((c) => {
      if (around[c.start] - (c.aroundLoop ? 1 : 0) <= level(c)) return true;
      for (const b of c.blocks) around[b]--;
      for (const branch of c.branches)
        this.without.push({ branch, why: 'its region would end outside of one around it' });
      return false;
    });
    const levels = regions
      .map((c): ConvergenceRegion => ({ ...c, level: level(c) }))
      .sort((a, b) => rpoNumber[a.start] - rpoNumber[b.start] || a.level - b.level);
    return {
      regions: levels,
      without: this.without,
      depth: levels.reduce((most, r) => Math.max(most, r.level + 1), 0),
    };
  }
}

const TOO_MANY = -2;

/**
 * By position: 1 for blocks from which every path ends the thread elsewhere than where most threads end. Returns from a device function
 * end no thread. Blocks from which control may never reach an end do not count.
 */
function endings(fn: Fn, g: Cfg): Uint8Array {
  const { rpo, succStart } = g;
  const ends: number[] = [];
  const returns: number[] = [];
  for (const b of rpo) {
    if (succStart[b] !== succStart[b + 1]) continue;
    const t = terminator(fn.blocks[b]);
    (fn.kind !== 'entry' && t?.op.primitive === 'return' ? returns : ends).push(b);
  }
  const dead = new Uint8Array(g.count);
  if (ends.length === 0 || ends.length + returns.length === 1) return dead;
  let main = reaching(g, returns);
  if (returns.length === 0) {
    let most = -1;
    for (const end of ends.sort((a, b) => a - b).slice(-MOST_ENDS)) {
      const from = reaching(g, [end]);
      const n = from.reduce((sum, x) => sum + x, 0);
      if (n < most) continue;
      most = n;
      main = from;
    }
  }
  const ending = reaching(g, [...ends, ...returns]);
  const endless = reaching(
    g,
    [...rpo].filter((b) => ending[b] === 0),
  );
  for (const b of rpo) dead[b] = main[b] === 1 || endless[b] === 1 ? 0 : 1;
  return dead;
}

/** By position: 1 for blocks from which one of these is reachable. */
function reaching(g: Cfg, to: readonly number[]): Uint8Array {
  const reaches = new Uint8Array(g.count);
  const work = [...to];
  for (const b of to) reaches[b] = 1;
  for (let b = work.pop(); b !== undefined; b = work.pop())
    for (let e = g.predStart[b]; e < g.predStart[b + 1]; e++) {
      const p = g.pred[e];
      if (reaches[p] === 1 || g.rpoNumber[p] < 0) continue;
      reaches[p] = 1;
      work.push(p);
    }
  return reaches;
}

/** The graph without the edges from other blocks to blocks in `dead`. */
function withoutEndings(g: Cfg, dead: Uint8Array): Cfg {
  if (!dead.includes(1)) return g;
  const rows = (start: Int32Array, items: Int32Array, keep: (from: number, to: number) => boolean) => {
    const out: number[] = [];
    const starts = new Int32Array(g.count + 1);
    for (let b = 0; b < g.count; b++) {
      for (let e = start[b]; e < start[b + 1]; e++) if (keep(b, items[e])) out.push(items[e]);
      starts[b + 1] = out.length;
    }
    return [starts, Int32Array.from(out)] as const;
  };
  const stays = (from: number, to: number): boolean => dead[to] === 0 || dead[from] === 1;
  const [succStart, succ] = rows(g.succStart, g.succ, stays);
  const [predStart, pred] = rows(g.predStart, g.pred, (to, from) => stays(from, to));
  return { ...g, succStart, succ, predStart, pred };
}
