import type { Fn } from '../ir/program.ts';
import type { Plan } from '../spec/plan.ts';
import { functionHash } from './content.ts';

/** Indices of the plan's tests that hold for a function. They select the plan of the function (`Plan.variant`). */
export type Decision = readonly number[];

/** How many decisions were made, and how many were reused because an equal function had been decided before. */
export interface DecisionCounts {
  readonly made: number;
  readonly shared: number;
}

/**
 * Decisions about recipes, shared by all programs that one process optimizes (library mode). A decision is keyed by the contents and name
 * of the function and by the hash of the plan. So equal kernels in several PTX files are decided once, even if each file has a plan object
 * of its own.
 *
 * Users acquire the manager and release it at the end; the last release drops all decisions. Every run with this manager does so itself, so
 * a single run leaves nothing behind. To share decisions in a batch, acquire before the first run and release after the last.
 */
export class RecipeManager {
  private readonly decisions = new Map<string, Decision>();
  private open = 0;
  private made = 0;
  private shared = 0;

  /** Number of decisions held. */
  get size(): number {
    return this.decisions.size;
  }

  /** Number of users that have not released. */
  get users(): number {
    return this.open;
  }

  /** Counts since the manager was created. */
  get counts(): DecisionCounts {
    return { made: this.made, shared: this.shared };
  }

  /** Adds a user; decisions are kept until all users have released. */
  acquire(): RecipeUser {
    this.open++;
    return new RecipeUser(this.decisions, this.counter, () => {
      if (--this.open === 0) this.decisions.clear();
    });
  }

  private readonly counter = (shared: boolean): void => {
    if (shared) this.shared++;
    else this.made++;
  };
}

/** One user of a `RecipeManager`. */
export class RecipeUser {
  private readonly decisions: Map<string, Decision>;
  private readonly count: (shared: boolean) => void;
  private readonly end: () => void;
  private released = false;

  constructor(decisions: Map<string, Decision>, count: (shared: boolean) => void, end: () => void) {
    this.decisions = decisions;
    this.count = count;
    this.end = end;
  }

  /**
   * The decision for a function, made by `decide` unless it is known.
   *
   * @returns the decision, and whether it was known
   * @throws Error after `release`
   */
  decision(
    plan: Plan,
    fn: Fn,
    decide: () => Decision,
  ): { readonly tests: Decision; readonly known: boolean } {
    if (this.released) throw new Error('a user of the recipe manager asked for a decision after its release');
    // The name comes last: the hashes before it have a fixed length.
    const key = `${plan.hash} ${functionHash(fn)} ${fn.name}`;
    const before = this.decisions.get(key);
    const tests = before ?? decide();
    if (before === undefined) this.decisions.set(key, tests);
    this.count(before !== undefined);
    return { tests, known: before !== undefined };
  }

  /** Ends the use. If it was the last, the manager drops its decisions. A second call does nothing. */
  release(): void {
    if (this.released) return;
    this.released = true;
    this.end();
  }
}
