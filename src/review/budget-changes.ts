import { type Budget, type Limit, limitText } from './budget.ts';
import { type Change, onNothing } from './changes.ts';

/** The limits of both sides; null for a side without limits. */
export interface Budgets {
  readonly base: Budget | null;
  readonly head: Budget | null;
}

/** Limits that were added, removed or changed; one that allows more than before is an alarm. */
export function budgetChanges({ base, head }: Budgets): Change[] {
  const [a, b] = [byKey(base), byKey(head)];
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((key): Change[] => {
    const [x, y] = [a.get(key), b.get(key)];
    const texts = [x, y].map((l) => (l === undefined ? 'nothing' : limitText(l)));
    if (texts[0] === texts[1]) return [];
    const looser = x !== undefined && (y === undefined || allowsMore(x, y));
    return [
      {
        kind: 'budget',
        name: `limit ${(x ?? y)!.metric.name}`,
        before: texts[0],
        after: texts[1],
        note: looser ? 'the limit allows more than before' : '',
        place: y?.place ?? '',
        basePlace: y === undefined ? x!.place : '',
        where: [],
        alarm: looser,
        acts: looser ? { on: 'limit', limit: x } : onNothing('the effect is judged by it'),
      },
    ];
  });
}

/** Limits by metric, scope, kernels and kind; several limits with the same of these are numbered. */
function byKey(budget: Budget | null): Map<string, Limit> {
  const out = new Map<string, Limit>();
  for (const l of budget?.limits ?? []) {
    const kind = l.bound.most !== undefined ? 'most' : l.bound.least !== undefined ? 'least' : 'worse';
    for (let n = 1; ; n++) {
      const key = `${l.metric.name} ${l.of} ${l.kernels} ${kind} ${n}`;
      if (out.has(key)) continue;
      out.set(key, l);
      break;
    }
  }
  return out;
}

/** True if the new limit permits what the old one does not. */
function allowsMore({ bound: x, unless: before }: Limit, { bound: y, unless }: Limit): boolean {
  // The new limit exempts kernels to which the old one applies.
  if (unless !== null && unless.name !== before?.name) return true;
  if (x.most !== undefined) return y.most! > x.most;
  if (x.least !== undefined) return y.least! < x.least;
  // A limit with two bounds is broken only if both are exceeded, so a missing bound permits nothing by itself.
  const more = (a = 0, b = 0): boolean => b > a;
  return more(x.percent, y.percent) || more(x.by, y.by);
}
