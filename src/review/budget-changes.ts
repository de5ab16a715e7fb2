import { type Budget, type Limit, limitsByKey, limitText } from './budget.ts';
import { type Change, onNothing } from './changes.ts';

/** The word for `--accept`, beside rules, by which the limits of the head replace those of the base. */
export const BUDGET = 'budget';

/** The limits of both sides; null for a side without limits. */
export interface Budgets {
  readonly base: Budget | null;
  readonly head: Budget | null;
}

/**
 * Limits that were added, removed or changed; one that allows more than before is an alarm.
 *
 * @param accepted whether a person has accepted the limits of the head
 */
export function budgetChanges({ base, head }: Budgets, accepted = false): Change[] {
  const [a, b] = [base, head].map((x) => limitsByKey(x?.limits ?? []));
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((key): Change[] => {
    const [x, y] = [a.get(key), b.get(key)];
    const texts = [x, y].map((l) => (l === undefined ? 'nothing' : limitText(l)));
    if (texts[0] === texts[1]) return [];
    const looser = x !== undefined && (y === undefined || allowsMore(x, y));
    const more = 'the limit allows more than before';
    return [
      {
        kind: 'budget',
        name: `limit ${(x ?? y)!.metric.name}`,
        before: texts[0],
        after: texts[1],
        note: !looser
          ? ''
          : accepted
            ? `${more}, which a person has accepted`
            : `${more}: the old one holds until a person accepts it (--accept ${BUDGET})`,
        place: y?.place ?? '',
        basePlace: y === undefined ? x!.place : '',
        where: [],
        alarm: looser && !accepted,
        acts: looser ? { on: 'limit', limit: x } : onNothing('the effect is judged by it'),
      },
    ];
  });
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
