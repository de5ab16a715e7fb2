import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { inLoop, type LoopForest, loopsOf } from '../loops/loops.ts';
import { type Cfg, cfgOf } from './cfg.ts';

/*
 * The annotations of AnalyzeControlFlow (phase 3; seed 002), which every loop- or order-aware pass reads. The
 * original keeps them in fields of the block and recomputes them in 131 places; here they are a pure function of the
 * snapshot, computed once for each. The original's algorithm assumes, then confirms: every block is a header
 * candidate until no edge comes back to it.
 *
 * The page contradicts itself on two points. Loop intervals end at the exit in its table, and begin at the number in
 * the latch field in its pseudocode; here they go from the header to the last latch, which makes them the natural loops.
 * It calls block numbers reverse post-order, but its pseudocode counts blocks in list order; here they are reverse
 * post-order.
 */

/** Bits of `ControlFlow.flags`. */
export const BlockFlag = {
  /** An edge leads back to the block (seed 002: +280 bit 4). */
  LoopHeader: 1 << 0,
  /** A predecessor stands before it in reverse post-order (+280 bit 5). */
  HasPredecessor: 1 << 1,
  /** Its number lies in the interval of a loop, from header to last latch (+280 bit 23). */
  InLoop: 1 << 2,
  /** Its terminator can close a loop: a jump to a block that is not later in the order (+280 bit 18, +292 bit 3). */
  BackEdgeCandidate: 1 << 3,
  /** It can end the thread or the function (a guarded or unguarded EXIT or RET). */
  Leaves: 1 << 4,
} as const;

/** The annotations of a snapshot. Blocks are positions, numbers are places in reverse post-order. */
export interface ControlFlow {
  readonly fn: Fn;
  readonly cfg: Cfg;
  readonly force: boolean;
  /** `BlockFlag` bits by position; 0 for unreachable blocks. */
  readonly flags: Uint8Array;
  /** Number in reverse post-order by position, the entry being 0; -1 for unreachable blocks. */
  readonly rpoNumber: Int32Array;
  /**
   * Smallest number among the predecessors, -1 for none: the first meaning of the original's dual-use field +152,
   * which tells from where above the block control may come.
   */
  readonly firstPredecessor: Int32Array;
  /** For headers: the largest number among the latches, i.e. the end of the loop's interval; -1 otherwise. */
  readonly latch: Int32Array;
  /**
   * For headers: the largest number that an edge out of the interval reaches beyond it; -1 if no edge goes past the
   * last latch (an endless loop, or one left only to an outer header) and for other blocks. The second meaning of
   * +152.
   */
  readonly exit: Int32Array;
  /** Innermost interval by position: the number of its header, -1 outside loops. */
  readonly intervalHeader: Int32Array;
  /** Some edge or block does not fit the intervals (code object +1377 bit 5): use `loopsOf` instead of `InLoop`. */
  readonly rpoViolation: boolean;
  /** The first thing that did not fit, for the report; '' if everything fits. */
  readonly violation: string;
}

const incremental: (fn: Fn) => ControlFlow = memo((fn) => analyze(fn, false));
const forced: (fn: Fn) => ControlFlow = memo((fn) => analyze(fn, true));

/**
 * Annotates the control flow of a snapshot.
 *
 * @param opts.force marks every reachable block as loop header with predecessors, the conservative start of the
 *   original's force mode, for passes that are about to restructure loops; intervals and numbers are the same
 */
export function analyzeControlFlow(fn: Fn, opts: { readonly force?: boolean } = {}): ControlFlow {
  return opts.force === true ? forced(fn) : incremental(fn);
}

/** Has the block at position `b` the flag (a `BlockFlag`)? */
export const hasFlag = (cf: ControlFlow, b: number, flag: number): boolean => (cf.flags[b] & flag) !== 0;

function analyze(fn: Fn, force: boolean): ControlFlow {
  const cfg = cfgOf(fn);
  const { count, rpo, rpoNumber, succStart, succ } = cfg;
  const flags = new Uint8Array(count);
  const firstPredecessor = new Int32Array(count).fill(-1);
  const latch = new Int32Array(count).fill(-1);
  for (let i = 0; i < rpo.length; i++) {
    const b = rpo[i];
    if (force) flags[b] |= BlockFlag.LoopHeader | BlockFlag.HasPredecessor;
    for (const x of fn.blocks[b].ins)
      if (x.op.primitive === 'exit' || x.op.primitive === 'return') flags[b] |= BlockFlag.Leaves;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      const t = succ[e];
      const n = rpoNumber[t];
      if (firstPredecessor[t] < 0 || i < firstPredecessor[t]) firstPredecessor[t] = i;
      if (n > i) flags[t] |= BlockFlag.HasPredecessor;
      else {
        flags[b] |= BlockFlag.BackEdgeCandidate;
        flags[t] |= BlockFlag.LoopHeader;
        if (i > latch[t]) latch[t] = i;
      }
    }
  }
  const intervalHeader = intervals(cfg, latch, flags);
  const exit = exits(cfg, latch);
  const violation = firstViolation(fn, cfg, loopsOf(fn), latch, intervalHeader);
  return {
    fn,
    cfg,
    force,
    flags,
    rpoNumber,
    firstPredecessor,
    latch,
    exit,
    intervalHeader,
    rpoViolation: violation !== '',
    violation,
  };
}

/** Marks every block of [header, last latch], and finds its innermost interval with a stack of open ones. */
function intervals(cfg: Cfg, latch: Int32Array, flags: Uint8Array): Int32Array {
  const header = new Int32Array(cfg.count).fill(-1);
  const open: number[] = [];
  for (let i = 0; i < cfg.rpo.length; i++) {
    const b = cfg.rpo[i];
    while (open.length > 0 && latch[cfg.rpo[open[open.length - 1]]] < i) open.pop();
    if (latch[b] >= 0) open.push(i);
    if (open.length === 0) continue;
    flags[b] |= BlockFlag.InLoop;
    header[b] = open[open.length - 1];
  }
  return header;
}

/**
 * The farthest block that an edge out of each interval reaches. Edges are charged to their innermost interval and
 * passed outwards, so each nesting level costs one step.
 */
function exits(cfg: Cfg, latch: Int32Array): Int32Array {
  const { rpo, rpoNumber, succStart, succ } = cfg;
  const exit = new Int32Array(cfg.count).fill(-1);
  const open: number[] = [];
  const far: number[] = [];
  const close = (): void => {
    const h = open.pop()!;
    const reach = far.pop()!;
    if (reach > latch[h]) exit[h] = reach;
    if (far.length > 0 && reach > far[far.length - 1]) far[far.length - 1] = reach;
  };
  for (let i = 0; i < rpo.length; i++) {
    const b = rpo[i];
    while (open.length > 0 && latch[open[open.length - 1]] < i) close();
    if (latch[b] >= 0) {
      open.push(b);
      far.push(-1);
    }
    if (open.length === 0) continue;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      const n = rpoNumber[succ[e]];
      if (n > far[far.length - 1]) far[far.length - 1] = n;
    }
  }
  while (open.length > 0) close();
  return exit;
}

/**
 * The consistency check at the end of the analysis: an interval must be exactly its natural loop. It differs if the
 * graph is irreducible, if two intervals cross, or if a block outside the loop was numbered inside it.
 */
function firstViolation(fn: Fn, cfg: Cfg, forest: LoopForest, latch: Int32Array, header: Int32Array): string {
  const { rpo } = cfg;
  const name = (b: number): string => `BB${fn.blocks[b].id}`;
  if (forest.irreducible.length > 0)
    return `irreducible region entered at ${forest.irreducible[0].entries.map(name).join(' and ')}`;
  const loopAt = new Map(forest.loops.map((l) => [l.header, l]));
  const open: number[] = [];
  for (let i = 0; i < rpo.length; i++) {
    const b = rpo[i];
    while (open.length > 0 && latch[open[open.length - 1]] < i) open.pop();
    if (open.length > 0 && latch[b] > latch[open[open.length - 1]])
      return `the loops of ${name(open[open.length - 1])} and ${name(b)} cross`;
    if (latch[b] >= 0) open.push(b);
    const h = header[b];
    if (h < 0) continue;
    const loop = loopAt.get(rpo[h]);
    if (loop !== undefined && !inLoop(forest, loop.id, b))
      return `${name(b)} is numbered inside the loop of ${name(rpo[h])} but does not belong to it`;
  }
  return '';
}
