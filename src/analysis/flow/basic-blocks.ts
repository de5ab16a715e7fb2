import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isControl } from '../../ir/flow.ts';
import type { Fn } from '../../ir/program.ts';
import { controlIsLast } from './cfg.ts';

/**
 * Cuts the blocks of a draft so that a control operation is always last. The first piece keeps id and name, so that no target changes;
 * each further piece is a new block after it, reached by falling through.
 *
 * @param onCut called with the id of each block that is cut, and the number of its pieces
 */
export function cutBehindControl(d: Draft, onCut: (block: number, pieces: number) => void = () => {}): void {
  for (const b of d.layout()) {
    const behind: Ins[] = [];
    for (let n = d.first(b); n >= 0 && n !== d.last(b); n = d.next(n))
      if (isControl(d.at(n))) behind.push(d.next(n));
    if (behind.length === 0) continue;
    d.cut(b, behind);
    onCut(d.id(b), behind.length + 1);
  }
}

/** The function with control operations only at the ends of its blocks: itself if that holds already, as after phase 6. */
export const inBasicBlocks = (fn: Fn): Fn => (controlIsLast(fn) ? fn : edit(fn, (d) => cutBehindControl(d)));
