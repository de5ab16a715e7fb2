import type { Isa } from '../opcode.ts';
import type { Fn } from '../program.ts';
import { Draft } from './draft.ts';
import { finish } from './finish.ts';

export { pinnedBlocks, reachable, removeUnreachable, splitEdge, splitPredecessors } from './blocks.ts';
export { type Clone, cloneBlocks } from './clone.ts';
export { Draft } from './draft.ts';
export { grown } from './grow.ts';
export type { BlockNo, Ins } from './instruction-list.ts';
export type { Watcher } from './instructions.ts';
export { dedicatedExits, existingPreheader, type LoopShape, preheader } from './loops.ts';
export { type Splice, spliceFunction } from './splice.ts';
export { readingInstead } from './use-lists.ts';

/**
 * Drafts in which nothing was changed, by function: the next edit of the function reuses the draft with its indexes. Most
 * passes change nothing in most functions, and opening a draft of a small function takes longer than the pass itself.
 */
let unchanged = new WeakMap<Fn, Draft>();

/** Drops all drafts kept for another edit of their function. */
export const dropUnchangedDrafts = (): void => {
  unchanged = new WeakMap();
};

/** Releases the draft kept for another edit of a function. Call it once that version will not be edited again. */
export function dropUnchangedDraft(fn: Fn): void {
  const d = unchanged.get(fn);
  if (d === undefined) return;
  unchanged.delete(fn);
  d.release();
}

/**
 * Opens a draft of `fn`, edits it with `change`, and returns the resulting function: `fn` itself if nothing changed. Blocks
 * that were not edited are shared.
 * @param isa needed if the edit creates branches
 */
export function edit(fn: Fn, change: (d: Draft) => void, isa: Isa | null = null): Fn {
  const spare = unchanged.get(fn);
  if (spare !== undefined) unchanged.delete(fn);
  const d = spare ?? new Draft(fn, isa);
  d.isa = isa;
  change(d);
  if (d.changed) {
    const out = finish(d);
    d.release();
    return out;
  }
  d.watcher = null;
  if (d.isAsOpened) unchanged.set(fn, d);
  else d.release();
  return fn;
}
