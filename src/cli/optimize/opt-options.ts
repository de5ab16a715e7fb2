import type { DecisionCounts } from '../../engine/recipe-manager.ts';
import type { PlanOptions } from '../input/options.ts';
import type { WatchOptions } from '../input/watch.ts';
import type { CacheOptions } from './cache.ts';

/** Options of `orrery opt`. */
export interface OptOptions extends PlanOptions, CacheOptions, WatchOptions {
  readonly emit?: string;
  readonly output?: string;
  readonly verifyEach?: boolean;
  readonly check?: readonly string[];
  readonly checkLimit?: readonly string[];
  readonly checkEach?: boolean;
  readonly counterexample?: string;
  readonly remarks?: boolean;
  readonly startAt?: string;
  readonly until?: string;
  readonly rewriteLimit?: string;
  readonly strict?: boolean;
  readonly retarget?: boolean;
  readonly lowestVersion?: boolean;
  readonly ptxas?: boolean;
  readonly maxLoss?: string;
  readonly json?: boolean;
  readonly stat?: boolean;
  readonly why?: string;
  readonly traceEvents?: string;
  readonly quiet?: boolean;
  readonly jobs?: string;
}

/** Result for one file. */
export interface Optimized {
  readonly before: number;
  readonly after: number;
  readonly ms: number;
  /** Whether every requested check found the program equal; null: none was requested. */
  readonly equal: boolean | null;
  /** If it is equal in open worlds but did not run there completely: percentage of its blocks that ran, the minimum over all checks. */
  readonly ran: number | null;
  /** Whether a comparison in open worlds ended at a limit before all was compared. */
  readonly stopped: boolean;
  /** Regions that phases changed, and how many of them are proved; null: `--check prove` was not asked for. */
  readonly proof: { readonly regions: number; readonly proved: number } | null;
  /** Whether everything that was found comes from the proof, and nothing was run. */
  readonly unrun: boolean;
  /** Counts of decisions about recipes. */
  readonly decisions: DecisionCounts;
  /** Names of its functions. */
  readonly functions: readonly string[];
}

/** Extensions of file names by format. */
export const ENDING: Readonly<Record<string, string>> = {
  ptx: '.ptx',
  ori: '.ori',
  json: '.json',
  cubin: '.cubin',
};
