import { edit } from '../../ir/draft/index.ts';
import type { Pass } from '../pass.ts';
import { dropFrom, hasRegions } from './region-removal.ts';

/**
 * Removes convergence regions in which lanes no longer diverge, because their branches were removed, or lanes agree on them.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           BSSY B4, BB2                      @P3 BRA BB2
 *       @P3 BRA BB2                       BB1:
 *     BB1:                                      STG [RD1], R2
 *           STG [RD1], R2                 BB2:
 *     BB2:                                      EXIT
 *           BSYNC B4
 *           EXIT
 *
 * If no branch between BSSY and its BSYNC makes the lanes of a warp diverge, they need no meeting point: they arrived together.
 *
 * Requires: control-last. Guarantees: the same blocks and edges; equivalence. A second application changes nothing.
 * Bound: each region once, and each block once per region that contains it, of which at most `MOST_BLOCKS` (`region-removal.ts`) are
 * examined.
 */
export const dropRegions: Pass = (fn, ctx) => (hasRegions(fn) ? edit(fn, (d) => dropFrom(d, fn, ctx)) : fn);
