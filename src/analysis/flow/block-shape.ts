import { dimensions } from '../../ir/directives.ts';
import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';

/** Lanes of a warp (PTX ISA 9.0, 10: WARP_SZ is 32 on all targets). */
export const WARP_SIZE = 32;

/** What the directives of a kernel say about its launch blocks. */
export interface BlockShape {
  /** Threads along x, y and z if `.reqntid` states them, else null. */
  readonly extent: readonly number[] | null;
  /** Most threads of a block. */
  readonly mostThreads: number;
}

/** Most threads of a block on any target (PTX ISA 9.0, 10: `%ntid`; the CUDA limits of all compute capabilities). */
const MOST_THREADS = 1024;

/**
 * The blocks that a kernel may be launched with. `.maxntid` limits the number of threads, not the extent along an
 * axis (PTX ISA 9.0, 11.4). A device function may be called from any kernel.
 */
export const blockShapeOf: (fn: Fn) => BlockShape = memo((fn) => {
  const [required, most] = ['.reqntid', '.maxntid'].map((name) =>
    fn.kind === 'entry' ? dimensions(fn, name) : null,
  );
  const threads = [required, most].map((size) =>
    size === null ? MOST_THREADS : size[0] * size[1] * size[2],
  );
  return { extent: required, mostThreads: Math.min(MOST_THREADS, ...threads) };
});
