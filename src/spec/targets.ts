import { meantNote, nearest } from '../ir/diagnostic.ts';
import type { Specs } from './specs.ts';

const numberOf = (sm: string): number => Number(sm.slice(3));

/** The targets that have a back end in any of the specs, in ascending order. */
export const targetsOf = (...specs: readonly Specs[]): string[] =>
  [...new Set(specs.flatMap((s) => [...s.backends.values()].map((f) => f.data.sm)))]
    .filter((sm): sm is string => typeof sm === 'string')
    .sort((a, b) => numberOf(a) - numberOf(b));

/** A hint for an unknown target: the one that was probably meant (sm_90 for `90` and `compute_90`), or a list of all. */
export function targetHint(name: string, targets: readonly string[]): string {
  const number = /^(?:sm|compute)?_?(\d+)[af]?$/i.exec(name)?.[1];
  const meant = targets.filter((sm) => sm === `sm_${number}`);
  return (
    meantNote(meant.length > 0 ? meant : nearest(name, targets))[0] ?? `targets are ${targets.join(', ')}`
  );
}
