import type { Barrier, BlockState } from './state.ts';

/**
 * Releases the warps that wait at a barrier once every expected thread has arrived, and resets the barrier for its next use. Until then it
 * does nothing.
 */
export function tryRelease(b: BlockState, bar: Barrier): void {
  if (bar.expected > 0) {
    if (bar.arrived < bar.expected) return;
  } else {
    if (bar.lanes.size === 0) return;
    for (const w of b.warps) if ((~w.exited & ~(bar.lanes.get(w) ?? 0)) !== 0) return;
  }
  for (const r of bar.reductions) r.finish(bar.and, bar.or, bar.count);
  b.onOpen?.(bar);
  for (const { warp, path } of bar.waiting) {
    path.wait = null;
    warp.state = 'ready';
  }
  bar.arrived = 0;
  bar.expected = 0;
  bar.lanes.clear();
  bar.waiting.length = 0;
  bar.reductions.length = 0;
  bar.and = true;
  bar.or = false;
  bar.count = 0;
}
