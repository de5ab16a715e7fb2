import type { Verdict } from './judge.ts';

/** Judges a state between a good and a bad one, by number. */
export type Ask = (state: number) => Promise<Verdict>;

/** Two states, the lower good and the higher bad; all states between them are unclear. */
export interface Boundary {
  readonly good: number;
  readonly bad: number;
  /** The verdict on the bad one. */
  readonly verdict: Verdict;
}

/**
 * Finds adjacent states of which the lower is good and the higher is bad.
 *
 * Bisection finds such a pair with log2(bad - good) tests, whatever the states between do; if states become good
 * again, it may not be the first pair. Testing in turn finds the first, with as many tests as states.
 *
 * @param good a state known to be good
 * @param bad a higher state known to be bad, by `verdict`
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
