import type { Verdict } from './judge.ts';

/** Judges the state with a number between a good and a bad one. */
export type Ask = (state: number) => Promise<Verdict>;

/** A good state and a higher bad state; all states between them are unclear. */
export interface Boundary {
  readonly good: number;
  readonly bad: number;
  /** The verdict on the bad state. */
  readonly verdict: Verdict;
}

/**
 * Finds a good state and a bad one after it with only unclear states in between.
 *
 * Without unclear states, bisection needs log2(bad - good) tests. If states become good again, it may not find the first such pair; testing
 * in turn does, with up to as many tests as there are states.
 *
 * @param good a state known to be good
 * @param bad a higher state known to be bad
 * @param verdict the verdict on `bad`
 * @param inTurn true to test states in ascending order instead of by bisection
 */
export async function boundary(
  good: number,
  bad: number,
  verdict: Verdict,
  ask: Ask,
  inTurn = false,
): Promise<Boundary> {
  let found: Boundary = { good, bad, verdict };
  const unclear = new Set<number>();
  for (;;) {
    const next = inTurn ? firstOf(found, unclear) : middleOf(found, unclear);
    if (next === null) return found;
    const v = await ask(next);
    if (v.state === 'unclear') unclear.add(next);
    else if (v.state === 'good') found = { ...found, good: next };
    else found = { ...found, bad: next, verdict: v };
  }
}

function firstOf({ good, bad }: Boundary, unclear: ReadonlySet<number>): number | null {
  for (let i = good + 1; i < bad; i++) if (!unclear.has(i)) return i;
  return null;
}

/** The untested state closest to the middle. */
function middleOf({ good, bad }: Boundary, unclear: ReadonlySet<number>): number | null {
  const middle = (good + bad) >> 1;
  for (let d = 0; d < bad - good; d++)
    for (const i of [middle - d, middle + d]) if (i > good && i < bad && !unclear.has(i)) return i;
  return null;
}
