import { helps, isBetter, type Score } from './goal.ts';

/** The problem of a search: the possible changes, and how to judge them. */
export interface Search<C> {
  /** The score without any change. */
  readonly start: Score;
  /** Changes that may be added to the chosen ones; `stage` is the number of times that no further change helped. */
  readonly offers: (chosen: readonly C[], stage: number) => Promise<readonly C[]>;
  readonly stages: number;
  /** The score of a set of changes; null if they give no legal plan or break a kernel. */
  readonly judge: (chosen: readonly C[]) => Promise<Score | null>;
  /** True if a score needs no improvement. */
  readonly enough: (score: Score) => boolean;
  /** True if the time is up. */
  readonly late: () => boolean;
}

/** What a search found. */
export interface Found<C> {
  readonly chosen: readonly C[];
  readonly score: Score;
  /** Why it ended. */
  readonly ended: 'enough' | 'nothing helps' | 'time';
}

/**
 * Combined elimination (Z. Pan and R. Eigenmann, "Fast and Effective Orchestration of Compiler Optimizations for Automatic Performance
 * Tuning", CGO 2006). Each iteration tries every change alone, takes the best one, and then takes the other helpful ones, the best first,
 * as long as they still help. Iterations end when no change helps. Finally, changes without which the result is as good are dropped. The
 * number of trials is quadratic in the number of changes, not exponential, and the search is deterministic unless the time runs out.
 */
export async function search<C>(s: Search<C>): Promise<Found<C>> {
  let [chosen, score]: [readonly C[], Score] = [[], s.start];
  let ended: Found<C>['ended'] = 'nothing helps';
  /** Adopts a set of changes if it improves the score. */
  const take = async (next: readonly C[]): Promise<boolean> => {
    const made = await s.judge(next);
    if (made === null || !helps(made, score)) return false;
    [chosen, score] = [next, made];
    return true;
  };
  let stage = 0;
  while (!s.enough(score) && stage < s.stages && ended !== 'time') {
    const before = chosen;
    const helped: { readonly change: C; readonly score: Score }[] = [];
    for (const change of await s.offers(before, stage)) {
      if (s.late()) {
        ended = 'time';
        break;
      }
      const made = await s.judge([...before, change]);
      if (made !== null && helps(made, score)) helped.push({ change, score: made });
    }
    helped.sort((a, b) => (isBetter(a.score, b.score) ? -1 : isBetter(b.score, a.score) ? 1 : 0));
    for (const { change } of helped) {
      // When the time is up, the best single change is still adopted, since it needs no further trial.
      if (s.enough(score) || (chosen !== before && s.late())) break;
      await take([...chosen, change]);
    }
    if (chosen === before) stage++;
  }
  if (s.enough(score)) ended = 'enough';
  for (const change of [...chosen].reverse()) {
    if (s.late()) break;
    const without = chosen.filter((c) => c !== change);
    const made = without.length === 0 ? s.start : await s.judge(without);
    if (made !== null && !isBetter(score, made)) [chosen, score] = [without, made];
  }
  return { chosen, score, ended };
}
