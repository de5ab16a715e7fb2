import { edit } from '../../ir/draft/index.ts';
import type { Pass } from '../pass.ts';
import { dropFrom, hasRegions } from './region-removal.ts';

/**
 * Removes regions of convergence that nothing parts any more: their branches went, or lanes agree on them.
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
 * A region between BSSY and its BSYNC in which no branch parts the lanes of a warp needs no meeting point: who is there came together.
 *
 * Requires: control-last. Guarantees: the same blocks and edges; equivalence. A second application changes nothing.
 * Bound: each region once, and each block as often as regions contain it, of which at most `MOST_BLOCKS` (`region-removal.ts`) are looked
 * at.
 */
export const dropRegions: Pass = (fn, ctx) => (hasRegions(fn) ? edit(fn, (d) => dropFrom(d, fn, ctx)) : fn);
