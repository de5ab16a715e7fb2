import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, completeCfg } from './cfg.ts';
import { type Segments, segmentsOf } from './segments.ts';

/**
 * A flow graph in which control leaves a node only at its end. From phase 6 on its nodes are the blocks. Before phase
 * 6 they are segments, because a branch may occur in the middle of a block.
 */
export interface FlowNodes {
  /** The graph of nodes: `cfgOf(fn)` itself if every block is one node. */
  readonly cfg: Cfg;
  /** Node n is segment n. */
  readonly segments: Segments;
  /** Node of each instruction, numbered as in `defUseOf`. */
  readonly nodeAt: Int32Array;
}

/** Nodes of a snapshot. */
export const flowNodesOf: (fn: Fn) => FlowNodes = memo((fn) => {
  const segments = segmentsOf(fn);
  const blocks = cfgOf(fn);
  const { count, from, to, block, succStart, succ } = segments;
  const cfg = blocks.midBlockControl ? completeCfg(count, new Int32Array(0), succStart, succ, false) : blocks;
  let total = 0;
  for (const b of fn.blocks) total += b.ins.length;
  const nodeAt = new Int32Array(total);
  let n = 0;
  for (let s = 0; s < count; s++) {
    const end = n + to[s] - from[s];
    nodeAt.fill(blocks.midBlockControl ? s : block[s], n, end);
    n = end;
  }
  return { cfg, segments, nodeAt };
});

/** The node at whose end control leaves the block at position `b`; phis of its successors read there. */
export const lastNode = (f: FlowNodes, b: number): number => f.segments.first[b + 1] - 1;
