import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { dominators } from './dominators.ts';
import { draftCfg } from './draft-cfg.ts';

/**
 * Visits the reachable blocks along the dominator tree: `enter` before the blocks that a block dominates, `leave`
 * after them. It uses an explicit stack, so a chain of blocks may be long. The flow graph must not be edited during
 * the walk.
 */
export function dominatorWalk(
  d: Draft,
  enter: (b: BlockNo) => void,
  leave: (b: BlockNo) => void = () => {},
): void {
  const { idom, preorder } = dominators(draftCfg(d));
  const path: BlockNo[] = [];
  for (const b of preorder) {
    while (path.length > 0 && path[path.length - 1] !== idom[b]) leave(path.pop()!);
    path.push(b);
    enter(b);
  }
  while (path.length > 0) leave(path.pop()!);
}
