/** Limits on the worlds and instructions of a judgement. The last worlds of each kind find ever less. */
export interface Effort {
  /**
   * Maximum number of single-thread worlds with limits and special values (twice that for short kernels without loops); near values get a
   * third as many.
   */
  readonly worlds: number;
  /**
   * Warp instructions that both versions together may run in whole blocks, and the same again in single threads; after that no further
   * world is tried. `perInstruction` times the kernel's instructions, if that is more.
   */
  readonly executed: number;
  readonly perInstruction: number;
  /**
   * Warp instructions for all kernels of a module together, in equal shares. If some kernels exceed their share and use this up, the
   * remaining ones are compared with low effort.
   */
  readonly module: number;
  /**
   * True: also tries worlds, and random schedules in worlds, that detect no pair of test/judge that is not detected elsewhere too, and
   * gives runs that rarely end twice the budget.
   */
  readonly all: boolean;
  /** Maximum warp instructions of a run of usual blocks, unless the size of the kernel requires more. */
  readonly usual: number;
  /** Number of worlds of one large block, in the sizes that the kernel is probably written for. */
  readonly large: number;
  /** Maximum warp instructions of a run with thousands of iterations. */
  readonly long: number;
  /** Maximum warp instructions, and runs, of the input search in one version. */
  readonly searched: number;
  readonly searchRuns: number;
}

export type EffortName = 'low' | 'medium' | 'high';

/**
 * Limits by name. Measured over the pairs of test/judge: `high` finds all that is found, 455 of 473; `medium` costs a third of
 * that and misses 7 of these; `low` is for tests that judge thousands of small programs.
 */
export const EFFORTS: Readonly<Record<EffortName, Effort>> = {
  low: {
    worlds: 6,
    executed: 60_000,
    perInstruction: 0,
    module: Number.POSITIVE_INFINITY,
    all: false,
    usual: 20_000,
    large: 1,
    long: 0,
    searched: 0,
    searchRuns: 0,
  },
  medium: {
    worlds: 16,
    executed: 250_000,
    perInstruction: 200,
    module: 600_000,
    all: false,
    usual: 18_000,
    large: 1,
    long: 40_000,
    searched: 8_000,
    searchRuns: 120,
  },
  high: {
    worlds: 96,
    executed: 3_000_000,
    perInstruction: 2000,
    module: Number.POSITIVE_INFINITY,
    all: true,
    usual: 300_000,
    large: 3,
    long: 600_000,
    searched: 60_000,
    searchRuns: 600,
  },
};
