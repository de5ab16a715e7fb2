import type { Fn } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';

/** An edge from one block to another, by position. */
export interface FlowEdge {
  readonly from: number;
  readonly to: number;
  /** Whether it leads against the order. */
  readonly back: boolean;
  /** Whether it is the only edge out of its block, the last of several (taken if no branch is), or another. */
  readonly way: 'only' | 'next' | 'other';
}

/** The contents of a drawing of a flow graph: an order of the blocks, and the edges; all edges except back edges follow the order. */
export function flowEdges(fn: Fn): {
  readonly order: readonly number[];
  readonly edges: readonly FlowEdge[];
} {
  const cfg = cfgOf(fn);
  // Unreachable blocks come first: their edges lead into the flow, none leads out of it to them.
  const order = fn.blocks.map((_, b) => b).filter((b) => cfg.rpoNumber[b] < 0);
  for (const b of cfg.rpo) order.push(b);
  const place = new Int32Array(cfg.count);
  order.forEach((b, i) => {
    place[b] = i;
  });
  const edges: FlowEdge[] = [];
  for (let b = 0; b < cfg.count; b++) {
    const [first, end] = [cfg.succStart[b], cfg.succStart[b + 1]];
    for (let e = first; e < end; e++) {
      const to = cfg.succ[e];
      const way = end - first === 1 ? 'only' : e === end - 1 ? 'next' : 'other';
      edges.push({ from: b, to, back: place[to] <= place[b], way });
    }
  }
  return { order, edges };
}
