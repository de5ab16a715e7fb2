/** How much a judgement may take, worlds and instructions: what the last ones of each kind find is rarer and rarer. */
export interface Effort {
  /** Most worlds of a single thread with limits and special values; a third as many have values near each other. */
  readonly worlds: number;
  /**
   * Warp instructions that both versions may run with whole blocks, and as many with single threads; after that no further world is tried.
   * Or so many for each instruction of the kernel, if that is more.
   */
  readonly executed: number;
  readonly perInstruction: number;
  /**
   * Warp instructions that all kernels of a module may take together, in equal shares; where some take more all the same, those after that
   * are compared with low effort.
   */
  readonly module: number;
  /** Most warp instructions of a run of usual blocks, where the size of the kernel asks for no more. */
  readonly usual: number;
  /** Worlds of one large block, of the sizes that the kernel may be written for. */
  readonly large: number;
  /** Warp instructions that a run with thousands of rounds may take. */
  readonly long: number;
  /** Warp instructions, and runs, of the search in one version. */
  readonly searched: number;
  readonly searchRuns: number;
}

export type EffortName = 'low' | 'medium' | 'high';

/**
 * By name. Measured over the pairs of test/judge: `high` sees all that is seen at all; `medium` costs a third of it and misses one in
 * thirty of what `high` sees; `low` is for tests that judge thousands of small programs.
 */
export const EFFORTS: Readonly<Record<EffortName, Effort>> = {
  low: {
    worlds: 6,
    executed: 60_000,
    perInstruction: 0,
    module: Number.POSITIVE_INFINITY,
    usual: 20_000,
    large: 1,
    long: 0,
    searched: 0,
    searchRuns: 0,
  },
  medium: {
    worlds: 24,
    executed: 250_000,
    perInstruction: 200,
    module: 1_000_000,
    usual: 30_000,
    large: 1,
    long: 40_000,
    searched: 15_000,
    searchRuns: 120,
  },
  high: {
    worlds: 96,
    executed: 3_000_000,
    perInstruction: 2000,
    module: Number.POSITIVE_INFINITY,
    usual: 300_000,
    large: 3,
    long: 600_000,
    searched: 60_000,
    searchRuns: 600,
  },
};
