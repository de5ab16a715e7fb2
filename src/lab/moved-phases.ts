import type { Plan } from '../spec/plan.ts';

/**
 * A smallest set of phases whose moves turn the order of one plan into that of the other. If either of two phases may have moved, it is the
 * one that an edit of an order has placed.
 */
export function movedPhases(a: Plan, b: Plan): string[] {
  const place = new Map(b.phases.map((p, i) => [p.id, i]));
  const common = a.phases.map((p) => p.id).filter((id) => place.has(id));
  const origins = [a, b].map((plan) => new Map(plan.phases.map((p) => [p.id, p.origin])));
  const isEdited = (id: string): boolean => {
    const [x, y] = origins.map((o) => o.get(id)!);
    return (x.path[0] === 'edits' || y.path[0] === 'edits') && JSON.stringify(x) !== JSON.stringify(y);
  };
  const kept = inOrder(
    common.filter((id) => !isEdited(id)),
    place,
  );
  // An edit that changes nothing moves nothing.
  common.forEach((id, i) => {
    const fits = common.every((x, j) => !kept.has(x) || i < j === place.get(id)! < place.get(x)!);
    if (isEdited(id) && fits) kept.add(id);
  });
  return common.filter((id) => !kept.has(id));
}

/** A longest subsequence of names whose places ascend (patience sorting). */
function inOrder(names: readonly string[], place: ReadonlyMap<string, number>): Set<string> {
  const at = names.map((id) => place.get(id)!);
  const tails: number[] = [];
  const before = new Int32Array(at.length).fill(-1);
  for (let i = 0; i < at.length; i++) {
    let lo = 0;
    for (let hi = tails.length; lo < hi; ) {
      const mid = (lo + hi) >> 1;
      if (at[tails[mid]] < at[i]) lo = mid + 1;
      else hi = mid;
    }
    if (lo > 0) before[i] = tails[lo - 1];
    tails[lo] = i;
  }
  const kept = new Set<string>();
  for (let i = tails.at(-1) ?? -1; i >= 0; i = before[i]) kept.add(names[i]);
  return kept;
}
