import type { Match, Miss } from './bind.ts';
import type { Variant } from './shape.ts';

/**
 * How the matcher under study selects a rule (reference, peephole 2): every matcher of the opcode runs, in file
 * order. A matcher that passes its guards, and whose own priority is at least the best so far, becomes the choice and
 * raises the best to its priority plus one. So among equal priorities the first wins, and a later rule needs a higher
 * priority to displace it.
 */
export function priorityBands(
  candidates: readonly Variant[],
  bind: (v: Variant) => Match | Miss,
): Match | null {
  const inFileOrder = [...candidates].sort(
    (a, b) => a.rule.group.localeCompare(b.rule.group) || a.rule.place - b.rule.place,
  );
  let best = Number.NEGATIVE_INFINITY;
  let chosen: Match | null = null;
  for (const v of inFileOrder) {
    if (v.rule.priority < best) continue;
    const m = bind(v);
    if (typeof m === 'string') continue;
    best = v.rule.priority + 1;
    chosen = m;
  }
  return chosen;
}
