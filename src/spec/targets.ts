import { meantNote, nearest } from '../ir/diagnostic.ts';
import type { Specs } from './specs.ts';

const numberOf = (sm: string): number => Number(sm.slice(3));

/** The targets that have a back end, the oldest first. */
export const targetsOf = (...specs: readonly Specs[]): string[] =>
  [...new Set(specs.flatMap((s) => [...s.backends.values()].map((f) => f.data.sm)))]
    .filter((sm): sm is string => typeof sm === 'string')
    .sort((a, b) => numberOf(a) - numberOf(b));

/** Which target may be meant by a name of none: `90` and `compute_90` by sm_90. */
export function targetHint(name: string, targets: readonly string[]): string {
  const number = /^(?:sm|compute)?_?(\d+)[af]?$/i.exec(name)?.[1];
  const meant = targets.filter((sm) => sm === `sm_${number}`);
  return (
    meantNote(meant.length > 0 ? meant : nearest(name, targets))[0] ?? `targets are ${targets.join(', ')}`
  );
}
