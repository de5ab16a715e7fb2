import type { Plan, PlanPhase } from '../spec/plan.ts';
import type { PlacedDifference } from './plan-differences.ts';
import { plural } from './render/table.ts';

/**
 * Differences for a reader: the phases that an edit of an order adds or takes away as further rounds of others are one difference, which
 * says how many rounds there are.
 */
export function foldedRounds(all: readonly PlacedDifference[]): PlacedDifference[] {
  const out: PlacedDifference[] = [];
  for (let i = 0; i < all.length; ) {
    const end = endOfRounds(all, i);
    out.push(end > i + 1 ? fold(all.slice(i, end)) : all[i]);
    i = end;
  }
  return out;
}

/** The phase of a later round that only one of the plans has; null for every other difference. */
function roundOnly({ phase }: PlacedDifference): PlanPhase | null {
  if (phase === null || (phase.a === undefined) === (phase.b === undefined)) return null;
  const only = (phase.a ?? phase.b)!;
  return only.roundAfter === null ? null : only;
}

/** The end of the run of differences from `from` on that are rounds of the same phases; `from + 1` if it is none. */
function endOfRounds(all: readonly PlacedDifference[], from: number): number {
  const first = roundOnly(all[from]);
  let end = from + 1;
  if (first === null) return end;
  const isNext = (d: PlacedDifference): boolean => {
    const p = roundOnly(d);
    return (
      p !== null &&
      d.plans[0] === all[from].plans[0] &&
      d.plans[1] === all[from].plans[1] &&
      (d.phase!.a === undefined) === (all[from].phase!.a === undefined) &&
      p.roundAfter!.length === first.roundAfter!.length &&
      p.origin.file === first.origin.file &&
      JSON.stringify(p.origin.path) === JSON.stringify(first.origin.path)
    );
  };
  while (end < all.length && isNext(all[end])) end++;
  const plan = all[from].plans[all[from].phase!.a === undefined ? 1 : 0];
  const beginsRound = phaseOf(plan, first.roundAfter![0])?.name === first.name;
  return beginsRound && (end - from) % first.roundAfter!.length === 0 ? end : from + 1;
}

function fold(rounds: readonly PlacedDifference[]): PlacedDifference {
  const [one] = rounds;
  const isNew = one.phase!.a === undefined;
  const plan = one.plans[isNew ? 1 : 0];
  const [first, last] = [roundOnly(one)!, roundOnly(rounds.at(-1)!)!];
  const before = plural(roundsBefore(plan, first), 'round');
  const after = plural(roundsBefore(plan, last) + 1, 'round');
  const ids = firstRound(plan, first.roundAfter!);
  return {
    ...one,
    difference: {
      ...one.difference,
      name: ids.length === 1 ? ids[0] : `${ids[0]} to ${ids.at(-1)}`,
      a: isNew ? before : after,
      b: isNew ? after : before,
    },
  };
}

const phaseOf = (plan: Plan, id: string): PlanPhase | undefined => plan.phases.find((p) => p.id === id);

/** Number of rounds before that of a phase. */
function roundsBefore(plan: Plan, phase: PlanPhase): number {
  let n = 0;
  for (let p: PlanPhase | undefined = phase; p?.roundAfter != null; p = phaseOf(plan, p.roundAfter[0])) n++;
  return n;
}

/** The phases of the first round, from those of a later one. */
function firstRound(plan: Plan, ids: readonly string[]): readonly string[] {
  const before = phaseOf(plan, ids[0])?.roundAfter ?? null;
  return before === null ? ids : firstRound(plan, before);
}
