import { cfgOf, fallsThrough } from '../../analysis/flow/cfg.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { loopDepth, loopsOf } from '../../analysis/loops/loops.ts';
import { Pool } from '../../analysis/registers/liveness.ts';
import { pressureOf } from '../../analysis/registers/pressure.ts';
import { flowEdges } from '../../analysis/render/flow-edges.ts';
import { divergenceOf } from '../../analysis/uniformity/divergence.ts';
import { Lanes } from '../../ir/opcode.ts';
import type { Fn } from '../../ir/program.ts';
import type { FlowRow } from '../recording.ts';

/** Control flow of a function, with frequencies and divergence of its blocks. */
export function flowOf(fn: Fn): FlowRow {
  const cfg = cfgOf(fn);
  const forest = loopsOf(fn);
  const headers = new Set(forest.loops.map((l) => l.header));
  const { branch } = divergenceOf(fn);
  const frequency = frequencyOf(fn);
  const pressure = pressureOf(fn);
  const { order, edges } = flowEdges(fn);
  return {
    order,
    edges: edges.map(({ from, to, back, way }) => ({
      from,
      to,
      back,
      kind: way === 'only' ? '' : way === 'next' && fallsThrough(fn.blocks[from]) ? 'falls' : 'taken',
    })),
    blocks: fn.blocks.map((_, b) => ({
      depth: loopDepth(forest, b),
      header: headers.has(b),
      reachable: cfg.rpoNumber[b] >= 0,
      parts: branch[b] === Lanes.Varying,
      frequency: Math.round(frequency.block[b] * 1000) / 1000,
      pressure: pressure.inBlock(b, Pool.R),
    })),
  };
}
