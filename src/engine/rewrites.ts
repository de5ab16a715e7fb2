import type { Instr } from '../ir/program.ts';

/**
 * How many rewrites one phase may make: what comes after them is refused, so that the first rewrite after which something is
 * wrong can be searched for. The idea is that of `-opt-bisect-limit` of LLVM and of debug counters of GCC, for single rewrites.
 *
 * A run is deterministic, and once one rewrite is refused all that follow are, so the program under a limit of n + 1 differs from that
 * under n by one rewrite and by what passes that do not ask make of it.
 */
export interface RewriteLimit {
  /** Id of the phase. */
  readonly phase: string;
  /** Rewrites that it may make; Infinity only counts them. */
  readonly count: number;
  /** Count those of this function alone, and leave others as many as they like; null: all functions. */
  readonly fn?: string | null;
}

/** One rewrite that a pass or a rule asked for. */
export interface Rewrite {
  /** Id of the rule, or the pass's name for what it does. */
  readonly name: string;
  readonly fn: string;
  /** Block id, -1 for none. */
  readonly block: number;
  /** The instruction it begins at, as it was; null for none. */
  readonly ins: Instr | null;
}

/** Counts the rewrites of a phase, and refuses those beyond its limit. */
export class RewriteCounter {
  /** Rewrites that were allowed. */
  made = 0;
  /** Anything was refused. */
  refused = false;
  /** The last rewrite that was allowed. */
  last: Rewrite | null = null;
  /** The first one that was refused. */
  next: Rewrite | null = null;
  private readonly limit: RewriteLimit;

  constructor(limit: RewriteLimit) {
    this.limit = limit;
  }

  /** Asks for one rewrite. */
  take(fn: string, name: string, block: number, ins: Instr | null): boolean {
    const { count, fn: only = null } = this.limit;
    if (only !== null && only !== fn) return true;
    if (this.refused) return false;
    const r = { name, fn, block, ins };
    if (this.made >= count) {
      this.refused = true;
      this.next = r;
      return false;
    }
    this.made++;
    this.last = r;
    return true;
  }
}

/** What is asked where nothing is counted. */
export const anyRewrite = (): boolean => true;
