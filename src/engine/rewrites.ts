import type { Instr } from '../ir/program.ts';

/**
 * How many rewrites one phase may make; later ones are refused, so that a search can find the first rewrite that breaks something. This
 * applies the idea of LLVM's `-opt-bisect-limit` and GCC's debug counters to single rewrites.
 *
 * Runs are deterministic, and once one rewrite is refused, all later ones are. So the programs under the limits n and n + 1 differ by one
 * rewrite and its consequences in passes that do not ask for permission.
 */
export interface RewriteLimit {
  /** Id of the phase. */
  readonly phase: string;
  /** Maximum number of rewrites; Infinity only counts them. */
  readonly count: number;
  /** Count only rewrites of this function and do not limit others; null: all functions. */
  readonly fn?: string | null;
}

/** One rewrite for which a pass or a rule asked permission. */
export interface Rewrite {
  /** Id of the rule, or the pass's name for the rewrite. */
  readonly name: string;
  readonly fn: string;
  /** Block id, -1 for none. */
  readonly block: number;
  /** The original instruction at which it starts; null for none. */
  readonly ins: Instr | null;
}

/** Counts the rewrites of a phase, and refuses those beyond its limit. */
export class RewriteCounter {
  /** Number of allowed rewrites. */
  made = 0;
  /** True once a rewrite was refused. */
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

  /** Requests one rewrite; false if it is refused. */
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
