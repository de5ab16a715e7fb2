import type { Isa } from '../opcode.ts';
import type { Fn } from '../program.ts';
import { Draft } from './draft.ts';
import { finish } from './finish.ts';

export { pinnedBlocks, reachable, removeUnreachable, splitEdge, splitPredecessors } from './blocks.ts';
export { type Clone, cloneBlocks } from './clone.ts';
export { Draft } from './draft.ts';
export type { BlockNo, Ins } from './instruction-list.ts';
export type { Watcher } from './instructions.ts';
export { dedicatedExits, existingPreheader, type LoopShape, preheader } from './loops.ts';
export { readingInstead } from './use-lists.ts';

/**
 * Opens a draft of `fn`, lets `change` edit it, and returns the resulting function: `fn` itself if nothing changed.
 * Blocks that were not edited are shared.
 * @param isa needed if the edit creates branches
 */
export function edit(fn: Fn, change: (d: Draft) => void, isa: Isa | null = null): Fn {
  const d = new Draft(fn, isa);
  change(d);
  return d.changed ? finish(d) : fn;
}
