import { memo } from '../../ir/memo.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, endsFlow, invert, isControl } from './cfg.ts';

/**
 * Blocks cut after every control operation. From phase 6 on each block is one segment. Before phase 6 a branch in the
 * middle of a block is an additional exit, and data flow is exact only between the cuts.
 */
export interface Segments {
  readonly fn: Fn;
  readonly count: number;
  /** Position of the block, first instruction and one past the last, by segment. */
  readonly block: Int32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** First segment of each block position. */
  readonly first: Int32Array;
  readonly succStart: Int32Array;
  readonly succ: Int32Array;
  readonly predStart: Int32Array;
  readonly pred: Int32Array;
  /**
   * Segments in an order suited to backward problems: blocks by descending reverse post-order, then the unreachable
   * ones.
   */
  readonly backward: Int32Array;
}

/** Segments of a snapshot and the edges between them. */
export const segmentsOf: (fn: Fn) => Segments = memo(build);

/** What the segments of functions with one flow graph have in common, if each block is one segment. */
const whole = memo((g: Cfg) => {
  const { count } = g;
  const first = Int32Array.from({ length: count + 1 }, (_, b) => b);
  const backward = new Int32Array(count);
  let n = 0;
  for (let i = g.rpo.length - 1; i >= 0; i--) backward[n++] = g.rpo[i];
  for (let b = count - 1; b >= 0; b--) if (g.rpoNumber[b] < 0) backward[n++] = b;
  return { first, block: first.subarray(0, count), from: new Int32Array(count), backward };
});

function build(fn: Fn): Segments {
  const g = cfgOf(fn);
  const { blocks } = fn;
  if (!g.midBlockControl) {
    const { first, block, from, backward } = whole(g);
    const { count, succStart, succ, predStart, pred } = g;
    const to = new Int32Array(count);
    for (let b = 0; b < count; b++) to[b] = blocks[b].ins.length;
    return { fn, count, block, from, to, first, succStart, succ, predStart, pred, backward };
  }
  const block: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  const first = new Int32Array(g.count + 1);
  for (let b = 0; b < g.count; b++) {
    first[b] = block.length;
    const { ins } = blocks[b];
    let start = 0;
    for (let i = 0; i < ins.length - 1; i++) {
      if (!isControl(ins[i])) continue;
      block.push(b);
      from.push(start);
      to.push(i + 1);
      start = i + 1;
    }
    block.push(b);
    from.push(start);
    to.push(ins.length);
  }
  const count = block.length;
  first[g.count] = count;

  const succStart = new Int32Array(count + 1);
  const edges: number[] = [];
  const seenBy = new Int32Array(count).fill(-1);
  for (let s = 0; s < count; s++) {
    const add = (t: number): void => {
      if (seenBy[t] === s) return;
      seenBy[t] = s;
      edges.push(t);
    };
    const { ins } = blocks[block[s]];
    const last = to[s] > from[s] ? ins[to[s] - 1] : null;
    if (last !== null && isControl(last)) {
      const jump = (id: number): void => {
        const p = id < g.positionOf.length ? g.positionOf[id] : -1;
        if (p >= 0) add(first[p]);
      };
      for (const o of last.src) {
        if (o.kind === Kind.Label) jump(o.lo);
        else if (o.kind === Kind.Table) for (const id of fn.tables[o.lo] ?? []) jump(id);
      }
    }
    if ((last === null || !endsFlow(last)) && s + 1 < count) add(s + 1);
    succStart[s + 1] = edges.length;
  }
  const succ = Int32Array.from(edges);
  const { start: predStart, items: pred } = invert(count, succStart, succ);

  const backward = new Int32Array(count);
  let n = 0;
  for (let i = g.rpo.length - 1; i >= 0; i--)
    for (let s = first[g.rpo[i] + 1] - 1; s >= first[g.rpo[i]]; s--) backward[n++] = s;
  for (let s = count - 1; s >= 0; s--) if (g.rpoNumber[block[s]] < 0) backward[n++] = s;
  return {
    fn,
    count,
    block: Int32Array.from(block),
    from: Int32Array.from(from),
    to: Int32Array.from(to),
    first,
    succStart,
    succ,
    predStart,
    pred,
    backward,
  };
}
