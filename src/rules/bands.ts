import type { Match, Miss } from './bind.ts';
import type { Variant } from './shape.ts';

/**
 * Selects one of the candidate rules as the matcher under study does (reference, peephole 2). Rules are tried in file order. A rule that
 * binds, and whose priority is at least the current threshold, becomes the choice and raises the threshold to its priority plus one. So the
 * first of several rules of equal priority wins, and a later rule displaces it only with a higher priority.
 * @param bind binds a variant at the instruction
 * @returns the match of the chosen rule; null if no rule binds
 */
export function priorityBands(
  candidates: readonly Variant[],
  bind: (v: Variant) => Match | Miss,
): Match | null {
  const inFileOrder = [...candidates].sort(
    (a, b) => a.rule.group.localeCompare(b.rule.group) || a.rule.place - b.rule.place,
  );
  let threshold = Number.NEGATIVE_INFINITY;
  let chosen: Match | null = null;
  for (const v of inFileOrder) {
    if (v.rule.priority < threshold) continue;
    const m = bind(v);
    if (typeof m === 'string') continue;
    threshold = v.rule.priority + 1;
    chosen = m;
  }
  return chosen;
}
