import { firstNames } from '../ir/listed.ts';
import { plural } from '../lab/render/table.ts';
import { type BrokenLimit, type Budget, brokenLimits } from './budget.ts';
import { type ChangeEffect, changeEffects } from './change-effects.ts';
import type { Change } from './changes.ts';
import { type Effect, type OneKernel, oneEach, type Row, worsening } from './effect.ts';
import { limitedKernels } from './limited.ts';
import { mainParts } from './requests.ts';
import type { Differences } from './review.ts';
import { restText } from './where.ts';

/** The difference between two states of the specs, and its measured effect. */
export interface Review extends Differences {
  /** The effect of each change, in the order of `changes`. */
  readonly effects: readonly ChangeEffect[];
  /** The measured effect on kernels; null if no kernel was measured. */
  readonly effect: Effect | null;
  /** Limits that the head breaks. */
  readonly broken: readonly BrokenLimit[];
  /** What could not be determined, one line each. */
  readonly unknown: readonly string[];
}

/** How the effect was measured. */
export interface Circumstances {
  /** Why no kernel was measured; '' if some were. */
  readonly none: string;
  /** Version of ptxas; null if it was not called. */
  readonly ptxas: string | null;
  /** Number of limits that were not checked because they need ptxas. */
  readonly leftOut: number;
  /** Further things that could not be determined, one line each. */
  readonly more: readonly string[];
}

/** Combines the difference, its measured effect and the budget into a review. */
export function reviewed(
  found: Differences,
  effect: Effect | null,
  budget: Budget | null,
  how: Circumstances,
): Review {
  const none = found.faults.length > 0 ? 'the specs of the head have errors' : how.none;
  const effects = changeEffects(found.changes, effect, none);
  return {
    ...found,
    effects,
    effect,
    broken: budget === null || effect === null ? [] : brokenLimits(budget, limitedKernels(effect)),
    unknown: found.differs === false ? how.more : unknownOf(found, effects, effect, how),
  };
}

/** Rows for what the head does; those for orders that it merely permits are left out. */
export const doneRows = (effect: Effect): Row[] => effect.rows.filter((r) => r.comparison.kind !== 'allowed');

/** Rows of kernels that do not behave as before any phase. */
export const wrongRows = (r: Review): Row[] =>
  r.effect === null ? [] : doneRows(r.effect).filter((x) => x.wrong[1] !== '');

/**
 * Kernels that became worse, the worst by a ranking measure first, followed by those that became worse only by other measures. The worst
 * row of each measure has an entry of its own.
 */
export const hurtKernels = (effect: Effect): OneKernel[] =>
  oneEach(
    doneRows(effect)
      .filter((x) => worsening(x) > 0)
      .sort((x, y) => more(x.severity, y.severity) || more(worsening(x), worsening(y))),
    new Set(effect.totals.flatMap((t) => t.worst ?? [])),
  );

/** Order of two amounts, the greater first; infinite ones are the same. */
const more = (x: number, y: number): number => (x === y ? 0 : y - x);

/** Kernels that changed and did not become worse, the best first. */
export const otherKernels = (effect: Effect): OneKernel[] => {
  const hurt = new Set(hurtKernels(effect).map((k) => k.row.label));
  const least = (row: Row): number => Math.min(0, ...row.readings.map((x) => x?.worse ?? 0));
  return oneEach(
    doneRows(effect)
      .filter((x) => x.changed && x.effect !== null && x.wrong[1] === '' && !hurt.has(x.label))
      .sort((x, y) => least(x) - least(y)),
  );
};

/** True if the change must not be merged as it is. */
export const isRefused = (r: Review): boolean =>
  r.faults.length > 0 || refutedRules(r).length > 0 || wrongRows(r).length > 0 || r.broken.length > 0;

/** The changes that add a refuted rule, or make an existing one unsound. */
export const refutedRules = (r: Review): Change[] => r.changes.filter((c) => c.refuted === true);

/** Exit code if the two sides differ. (`diff` uses 1, but 1 means an error in all commands here.) */
const DIFFERS = 2;

/**
 * The exit code of a review: 0 if nothing differs, 2 if something does, 1 if the change must not be merged. Files beside the specs count,
 * since nothing here judges them.
 *
 * @param failOnAlarm whether changes that are an `ALARM` must not be merged either
 */
export const exitCode = (r: Review, failOnAlarm = false): number =>
  isRefused(r) || (failOnAlarm && r.changes.some((c, i) => isAlarm(c, r.effects[i])))
    ? 1
    : r.differs === true || r.unread.length > 0
      ? DIFFERS
      : 0;

/** Rows of kernels whose meaning an opcode change altered, if the change was measured. */
export const changedMeanings = (e: ChangeEffect): Row[] =>
  e.state === 'measured' ? e.rows.filter((r) => (r.effect?.meaning ?? '') !== '') : [];

/** True if a change may break something. */
export const isAlarm = (c: Change, e: ChangeEffect): boolean => c.alarm || changedMeanings(e).length > 0;

function unknownOf(
  found: Differences,
  effects: readonly ChangeEffect[],
  effect: Effect | null,
  how: Circumstances,
): string[] {
  const reasons = new Map<string, string[]>();
  found.changes.forEach((c, i) => {
    const e = effects[i];
    if (e.state === 'not measured') reasons.set(e.why, [...(reasons.get(e.why) ?? []), c.name]);
  });
  const out = [...reasons].map(([why, names]) => `not measured, ${why}: ${listed(names)}`);
  if (effect === null) return [...out, ...how.more];
  const measured = new Set(effect.comparisons.map((c) => c.plan));
  const rest = found.differing.filter((p) => !measured.has(p));
  const mains = rest.filter((p) => mainParts(p) !== null);
  if (mains.length > 0)
    out.push(`not measured: ${restText(mains, [...measured])} (--sm and -O choose a target and a level)`);
  if (how.ptxas === null)
    out.push(
      'what ptxas makes of it: code size, registers and occupancy are estimates, and spills are not known',
    );
  if (found.changes.some((c) => c.kind === 'fact' && c.name.startsWith('limits.')))
    out.push('occupancy: the limits of a multiprocessor differ between the two sides');
  if (how.leftOut > 0)
    out.push(`${plural(how.leftOut, 'limit')} on what ptxas makes: not checked without it`);
  const refused = effect.results.filter((x) => x.result.refused !== '');
  if (refused.length > 0)
    out.push(
      `what ptxas makes of ${plural(refused.length, 'file')}: it refuses them at the base too (${refused[0].cell.file}: ${refused[0].result.refused})`,
    );
  const notes = new Map<string, number>();
  for (const r of doneRows(effect)) {
    const e = r.effect?.equal?.[1];
    if (e?.ok === true && e.by === 'open world' && e.note !== '')
      notes.set(e.note, (notes.get(e.note) ?? 0) + 1);
  }
  for (const [note, times] of notes) out.push(`${plural(times, 'kernel')} compared only ${note}`);
  if (doneRows(effect).some((r) => r.changed)) out.push('how long kernels take on a GPU');
  return [...out, ...how.more];
}

/** Maximum number of names that are listed; the rest are counted. */
const MOST_NAMES = 6;

const listed = (names: readonly string[]): string => firstNames(names, MOST_NAMES);
