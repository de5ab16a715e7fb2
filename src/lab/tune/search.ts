import { helps, isBetter, type Score } from './goal.ts';

/** A search: what can be changed, and what comes of it. */
export interface Search<C> {
  /** The score without any change. */
  readonly start: Score;
  /** Changes that may be added to those chosen; `stage` counts how often no other change helped any more. */
  readonly offers: (chosen: readonly C[], stage: number) => Promise<readonly C[]>;
  readonly stages: number;
  /** The score of changes together; null if they are no plan, or make a kernel wrong. */
  readonly judge: (chosen: readonly C[]) => Promise<Score | null>;
  /** Whether a score needs no improvement. */
  readonly enough: (score: Score) => boolean;
  /** Whether the time is up. */
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
 * Tuning", CGO 2006): every change is tried alone, the best is taken, then each other one that helped, the best first, if it still helps
 * beside those taken; and again, until none helps. In the end, changes without which the result is as good are left out. The
 * number of trials grows with the square of the number of changes, not exponentially, and the search is the same in every run that is
 * not cut short.
 */
export async function search<C>(s: Search<C>): Promise<Found<C>> {
  let [chosen, score]: [readonly C[], Score] = [[], s.start];
  let ended: Found<C>['ended'] = 'nothing helps';
  /** Takes changes if they make it better. */
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
      // What was tried before the time was up is still used, as far as it needs no further trial.
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
