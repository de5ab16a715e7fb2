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

/** What became of one file. */
export interface Optimized {
  readonly before: number;
  readonly after: number;
  readonly ms: number;
  /** Whether every check that was asked for found the program equal; null: none was. */
  readonly equal: boolean | null;
  /** Where it is equal in open worlds but did not run there in full: percent of its blocks that did, the least of all checks. */
  readonly ran: number | null;
  /** Decisions about recipes. */
  readonly decisions: DecisionCounts;
  /** Names of its functions. */
  readonly functions: readonly string[];
}

/** How the names of files of each form end. */
export const ENDING: Readonly<Record<string, string>> = { ptx: '.ptx', ori: '.ori', json: '.json' };
