import type { Fn } from '../../ir/program.ts';
import { analyzeControlFlow } from '../flow/control-flow.ts';
import { loopDepth, loopsOf, preheader } from '../loops/loops.ts';
import type { CfgChanges } from './cfg-changes.ts';
import { type CfgRenderOptions, flagNames } from './cfg-text.ts';

/**
 * Control flow of a function as plain data (schemas/output/cfg.schema.json). Blocks are named by their ids. The blocks of a loop are
 * those whose `loop` is it or a loop inside it, so the size is linear however deep loops nest.
 */
export function cfgData(fn: Fn, opts: CfgRenderOptions = {}) {
  const cf = analyzeControlFlow(fn, opts);
  const { cfg } = cf;
  const forest = loopsOf(fn);
  const id = (b: number): number => fn.blocks[b].id;
  const idOrNull = (b: number): number | null => (b < 0 ? null : id(b));
  const ids = (list: readonly number[]): number[] => list.map(id);
  const row = (start: Int32Array, items: Int32Array, b: number): number[] =>
    Array.from(items.subarray(start[b], start[b + 1]), id);
  const headerOf = (loop: number): number | null => (loop < 0 ? null : id(forest.loops[loop].header));
  return {
    name: fn.name,
    blocks: fn.blocks.map((block, b) => ({
      id: block.id,
      label: block.name,
      instructions: block.ins.length,
      rpo: cf.rpoNumber[b] < 0 ? null : cf.rpoNumber[b],
      predecessors: row(cfg.predStart, cfg.pred, b),
      successors: row(cfg.succStart, cfg.succ, b),
      depth: loopDepth(forest, b),
      loop: headerOf(forest.innermost[b]),
      flags: flagNames(cf, b),
    })),
    loops: forest.loops.map((l) => ({
      header: id(l.header),
      parent: headerOf(l.parent),
      depth: l.depth,
      size: l.size,
      latches: ids(l.latches),
      preheader: idOrNull(preheader(forest, l.id)),
    })),
    irreducible: forest.irreducible.map((r) => ({ blocks: ids(r.blocks), entries: ids(r.entries) })),
    violation: cf.rpoViolation ? cf.violation : null,
  };
}

/** Control flow before and after as plain data, with the ids of blocks and edges that are in only one of the two. */
export function cfgChangesData({ before, after, block, edge }: CfgChanges) {
  const [from, to] = [cfgData(before), cfgData(after)];
  const blocks = (f: typeof from): number[] => f.blocks.map((b) => b.id).filter(block);
  const edges = (f: typeof from): (readonly [number, number])[] =>
    f.blocks.flatMap((b) =>
      [...new Set(b.successors)].filter((s) => edge(b.id, s)).map((s) => [b.id, s] as const),
    );
  return {
    name: after.name,
    before: from,
    after: to,
    blocks: { removed: blocks(from), added: blocks(to) },
    edges: { removed: edges(from), added: edges(to) },
  };
}
