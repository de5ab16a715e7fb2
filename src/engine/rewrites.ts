import type { Instr } from '../ir/program.ts';

/**
 * How many rewrites one phase may make; later ones are refused, so that a search can find the first rewrite after
 * which something is wrong. This applies the idea of LLVM's `-opt-bisect-limit` and GCC's debug counters to single
 * rewrites.
 *
 * A run is deterministic, and once one rewrite is refused all later ones are. So the program under a limit of n + 1
 * differs from the program under n by one rewrite and its consequences in passes that do not ask.
 */
export interface RewriteLimit {
  /** Id of the phase. */
  readonly phase: string;
  /** Rewrites that it may make; Infinity only counts them. */
  readonly count: number;
  /** Count only rewrites of this function and do not limit others; null: all functions. */
  readonly fn?: string | null;
}

/** One rewrite that a pass or a rule asked for. */
export interface Rewrite {
  /** Id of the rule, or the pass's name for what it does. */
  readonly name: string;
  readonly fn: string;
  /** Block id, -1 for none. */
  readonly block: number;
  /** The original instruction at which it begins; null for none. */
  readonly ins: Instr | null;
}

/** Counts the rewrites of a phase, and refuses those beyond its limit. */
export class RewriteCounter {
  /** Number of allowed rewrites. */
  made = 0;
  /** Whether any rewrite was refused. */
  refused = false;
  /** The last allowed rewrite. */
  last: Rewrite | null = null;
  /** The first refused rewrite. */
  next: Rewrite | null = null;
  private readonly limit: RewriteLimit;
  private readonly onRewrite: ((r: Rewrite) => void) | undefined;

  /** @param onRewrite called for each allowed rewrite, before it is made */
  constructor(limit: RewriteLimit, onRewrite?: (r: Rewrite) => void) {
    this.limit = limit;
    this.onRewrite = onRewrite;
  }

  /** Asks permission for one rewrite. */
  take(fn: string, name: string, block: number, ins: Instr | null): boolean {
    const { count, fn: only = null } = this.limit;
    const r = { name, fn, block, ins };
    if (only !== null && only !== fn) {
      this.onRewrite?.(r);
      return true;
    }
    if (this.refused) return false;
    if (this.made >= count) {
      this.refused = true;
      this.next = r;
      return false;
    }
    this.made++;
    this.last = r;
    this.onRewrite?.(r);
    return true;
  }
}
