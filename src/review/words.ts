import { firstLines } from '../ir/listed.ts';
import { fileWord } from '../ir/quote.ts';
import { change, number, plural } from '../lab/render/table.ts';
import { type BrokenLimit, brokenBy } from './budget.ts';
import type { ChangeEffect } from './change-effects.ts';
import type { Change } from './changes.ts';
import { type Effect, kernelsOf, mainReading, type OneKernel, type Row, type Total } from './effect.ts';
import { isShare, type Measure, type Reading } from './measures.ts';
import { changedMeanings, doneRows, isAlarm, type Review, refutedRules, wrongRows } from './reviewed.ts';

/*
 * Texts of a review that the terminal, Markdown and annotation outputs share.
 */

/** A summary of the review in one line. */
export function reviewLine(r: Review): string {
  if (r.faults.length > 0)
    return [
      ...refutedBy(r),
      `${plural(r.faults.length, 'error')} in the specs of the head: nothing is measured`,
    ].join('; ');
  const others = otherFilesText(r);
  if (r.differs !== true)
    return others.length === 0
      ? 'no effect: every plan is the same'
      : ['every plan is the same', ...others].join('; ');
  const made = r.changes.filter((c) => c.cause === undefined);
  const alarms = r.changes.filter((c, i) => c.cause === undefined && isAlarm(c, r.effects[i])).length;
  const wrong = kernelsOf(wrongRows(r));
  const refuted = refutedRules(r).length;
  const open = r.changes.filter((c) => c.cause !== undefined && c.refuted !== true).length;
  const unmeasured = r.changes.filter(
    (c, i) => c.cause === undefined && r.effects[i].state === 'not measured',
  ).length;
  return [
    made.length === 0 ? 'plans differ' : plural(made.length, 'change'),
    ...(alarms > 0 ? [plural(alarms, 'ALARM')] : []),
    ...(r.warnings.length > 0 ? [plural(r.warnings.length, 'warning')] : []),
    ...(refuted > 0 ? [`${plural(refuted, 'rule')} REFUTED`] : []),
    ...(open > 0 ? [`${plural(open, 'rule')} NOT PROVED any more`] : []),
    ...(wrong > 0 ? [`${plural(wrong, 'kernel')} WRONG`] : []),
    ...(r.broken.length > 0 ? [`${plural(limitsOf(r.broken).length, 'LIMIT')} broken`] : []),
    ...(r.effect === null ? [] : [effectLine(r.effect)]),
    ...(r.effect !== null && wrong === 0 && doneRows(r.effect).length > 0 ? ['results equal'] : []),
    ...(unmeasured > 0 ? [unmeasured === made.length ? 'not measured' : `${unmeasured} not measured`] : []),
    ...others,
  ].join('; ');
}

/** A count of the files that a person must read; empty if there are none. */
export const otherFilesText = ({ unread }: Pick<Review, 'unread'>): string[] =>
  unread.length === 0
    ? []
    : [
        `${plural(unread.length, 'file')} beside the specs ${unread.length === 1 ? 'DIFFERS' : 'DIFFER'}, which only a person can judge`,
      ];

/** Maximum number of files that are named; further ones are counted. */
const MOST_FILES = 20;

/** Names of the files that a person must read. */
export const unreadNames = (files: readonly string[]): string =>
  [
    ...files.slice(0, MOST_FILES).map(fileWord),
    ...(files.length > MOST_FILES ? [`${files.length - MOST_FILES} more`] : []),
  ].join(', ');

/** Counts of refuted rules by what changed, such as `IMNMX changed: 25 rules REFUTED`. */
function refutedBy(r: Review): string[] {
  const counts = new Map<string, number>();
  for (const { cause = '' } of refutedRules(r)) counts.set(cause, (counts.get(cause) ?? 0) + 1);
  return [...counts].map(
    ([cause, n]) => `${cause === '' ? '' : `${cause} changed: `}${plural(n, 'rule')} REFUTED`,
  );
}

/** A summary of the effect: how many kernels are hurt and helped by the deciding measure, and the worst kernel by any measure. */
function effectLine(effect: Effect): string {
  const rows = doneRows(effect);
  if (rows.length === 0) return 'no plan of a kernel differs';
  const all = kernelsOf(rows);
  if (!rows.some((r) => r.changed)) return sameCode(all);
  const [first] = effect.measures;
  const worst = worstOf(rows);
  const estimated = rows.some((r) => r.changed && r.readings[0]?.estimate === true)
    ? ', estimated in part'
    : '';
  return [
    `of ${plural(all, 'kernel')} ${hurtAndHelped(rows)} by ${first.title}${estimated}`,
    ...(worst === null ? [] : [`worst ${worst.label}: ${mainText(worst, effect.measures)}`]),
  ].join('; ');
}

/** How many kernels are hurt and helped by the deciding measure. A kernel may be both, under different targets. */
function hurtAndHelped(rows: readonly Row[]): string {
  const of = (sign: 1 | -1) => rows.filter((r) => sign * (r.readings[0]?.worse ?? 0) > 0);
  const hurt = new Set(of(1).map((r) => r.label));
  const both = kernelsOf(of(-1).filter((r) => hurt.has(r.label)));
  const mixed = both > 0 ? ` (${both} of them ${both === 1 ? 'differs' : 'differ'} by target)` : '';
  return `${hurt.size} HURT, ${kernelsOf(of(-1))} helped${mixed}`;
}

const sameCode = (kernels: number): string =>
  kernels === 1 ? 'the code of its one kernel is the same' : `the code of all ${kernels} kernels is the same`;

/** The row with the highest severity; null if none became worse. */
const worstOf = (rows: readonly Row[]): Row | null =>
  rows.reduce((most, r) => (r.severity > (most?.severity ?? 0) ? r : most), null as Row | null);

/** The largest worsening of a row: `code size +28.00 % (sm_90 -O3)`. */
export function mainText(row: Row, measures: readonly Measure[]): string {
  const main = mainReading(row, measures);
  return main === null ? '' : `${main.measure.title} ${readingChange(main.reading)} (${row.comparison.name})`;
}

/** The change of a measure: `+28.00 %`, or `+16` if the base is 0. */
export const readingChange = ({ values: [a, b] }: Reading): string => change(a, b);

/** A measure before and after: `1,024 -> 1,536 bytes (+50.00 %)`. */
export const readingText = (m: Measure, r: Reading): string =>
  r.values[0] === r.values[1]
    ? `${number(r.values[0])}${m.unit}`
    : `${number(r.values[0])} -> ${number(r.values[1])}${m.unit} (${readingChange(r)})${r.estimate ? ', estimated' : ''}`;

/**
 * The total of a measure over all kernels that changed, as text.
 *
 * @param all the totals of all measures: if none has a value, every kernel that changed is wrong, and ptxas is not to blame
 */
export function totalText(t: Total, all: readonly Total[]): string {
  if (t.values === null)
    return t.measure.instead.length === 0 && all.some((o) => o.values !== null)
      ? 'not measured: no ptxas'
      : 'not measured';
  const [a, b] = t.values;
  const unit = t.measure.unit;
  const value = a === b ? `${number(a)}${unit}` : `${number(a)} -> ${number(b)}${unit} (${change(a, b)})`;
  const only =
    t.estimates === t.measured ? ', estimated' : t.estimates > 0 ? ` (${t.estimates} more estimated)` : '';
  return `${isShare(t.measure) ? 'mean ' : ''}${value}${only}`;
}

/** The worst kernel by a measure, as text; '' if none became worse. */
export function worstText(t: Total, measures: readonly Measure[]): string {
  if (t.worst === null) return '';
  const reading = t.worst.readings[measures.indexOf(t.measure)]!;
  return `${t.worst.label}, ${t.worst.comparison.name}: ${readingText(t.measure, reading)}`;
}

/** The effect of a change, as text. */
export function changeEffectText(e: ChangeEffect, measures: readonly Measure[]): string {
  if (e.state === 'not measured') return `not measured: ${e.why}`;
  const where = listOf(e.by);
  if (e.rows.length === 0)
    return e.refused.length === 0
      ? `${where}: nothing breaks the limit as it was`
      : `${where}: as it was, the limit refuses ${plural(e.refused.length, 'kernel')}, worst ${brokenBy(worstBroken(e.refused))}`;
  const kernels = kernelsOf(e.rows);
  const changed = e.rows.filter((r) => r.changed);
  const first =
    e.first === null ? '' : `, ${e.first.length === 0 ? 'none' : kernelsOf(e.first)} of them first by it`;
  const parts = [
    changed.length === 0
      ? sameCode(kernels)
      : `${kernelsOf(changed)} of ${plural(kernels, 'kernel')} changed${first}`,
    ...changeParts({ ...e, rows: e.first ?? e.rows }, measures),
  ];
  const with_ =
    e.together > 0 && changed.length > 0 ? `, together with ${plural(e.together, 'other change')}` : '';
  return `${where}: ${parts.join('; ')}${with_}`;
}

/** The effects of all changes, as texts; one that equals the previous effect is replaced by 'as above'. */
export const changeEffectTexts = (r: Review): string[] =>
  r.effects.map((e, i) => {
    const text = changeEffectText(e, r.effect?.measures ?? []);
    const before = i === 0 ? null : changeEffectText(r.effects[i - 1], r.effect?.measures ?? []);
    return text === before ? 'as above' : text;
  });

/** Texts on the kernels that a change breaks, hurts or helps, and on the worst one. */
function changeParts(e: ChangeEffect & { state: 'measured' }, measures: readonly Measure[]): string[] {
  const wrong = e.rows.filter((r) => r.wrong[1] !== '');
  const worst = worstOf(e.rows);
  const other = changedMeanings(e);
  return [
    ...(other.length > 0
      ? [
          `${plural(kernelsOf(other), 'kernel')} then have another meaning, as ${other[0].label}: ${other[0].effect!.meaning}`,
        ]
      : []),
    ...(wrong.length > 0 ? [`${kernelsOf(wrong)} WRONG, as ${wrong[0].label}: ${wrong[0].wrong[1]}`] : []),
    ...(e.rows.some((r) => (r.readings[0]?.worse ?? 0) !== 0) ? [hurtAndHelped(e.rows)] : []),
    ...(worst === null ? [] : [`worst ${worst.label}: ${mainText(worst, measures)}`]),
  ];
}

/** Names of comparisons as a short text; targets at one level are combined. */
function listOf(names: readonly string[]): string {
  const parts = names.map((n) => /^(sm_\d+) (-O\d)$/.exec(n));
  const levels = new Set(parts.map((p) => p?.[2]));
  return names.length > 1 && parts.every((p) => p !== null) && levels.size === 1
    ? `${parts.map((p) => p![1]).join(', ')} ${parts[0]![2]}`
    : names.join(', ');
}

/** Groups broken limits by limit; what breaks each is sorted, the worst first. */
export function limitsOf(
  broken: readonly BrokenLimit[],
): { readonly limit: string; readonly by: readonly BrokenLimit[] }[] {
  const out = new Map<string, BrokenLimit[]>();
  for (const b of broken) {
    const key = `${b.place} ${b.basePlace} ${b.metric} ${b.limit}`;
    out.set(key, [...(out.get(key) ?? []), b]);
  }
  return [...out.values()].map((by) => ({
    limit: `limit ${by[0].metric} ${by[0].limit}`,
    by: by.every((b) => b.values !== null) ? [...by].sort((x, y) => excess(y) - excess(x)) : by,
  }));
}

/** What breaks a limit, one text for each kernel, with its worst plan first; `by` is sorted as by `limitsOf`. */
export function breakers(by: readonly BrokenLimit[]): string[] {
  if (by[0].values === null) return ['no kernel was measured by it'];
  return [...new Set(by.map((b) => b.kernel))].map((kernel) => {
    const [worst, ...also] = by.filter((b) => b.kernel === kernel);
    return brokenBy(
      worst,
      also.map((b) => b.plan),
    );
  });
}

/** The relative change of the value that breaks a limit. */
const excess = ({ values }: BrokenLimit): number => {
  const [a, b] = values!;
  return a === 0 ? Number.POSITIVE_INFINITY : Math.abs(b - a) / Math.abs(a);
};

const worstBroken = (broken: readonly BrokenLimit[]): BrokenLimit =>
  broken.reduce((most, b) => (excess(b) > excess(most) ? b : most));

const refutedText = (rules: readonly Change[]): string[] =>
  rules.length > MOST_FOLLOWING
    ? [`${rules.length} rules REFUTED by values`]
    : rules.map((c) => `rule ${c.name} REFUTED by values`);

/** Texts for the ways in which results were found to be correct. */
const HOW = [
  ['launch', 'right by launch'],
  ['open world', 'equal in open worlds'],
  ['unchanged', 'left as they came'],
] as const;

/** How results were found to be correct, as text. A kernel counts once for all targets, or once for each way if ways differ by target. */
export function rightText(r: Review): string {
  if (r.effect === null) return 'not known: no kernel was run';
  const done = doneRows(r.effect);
  if (done.length === 0) return 'no plan of a kernel differs';
  const rows = done.filter((x) => x.effect !== null);
  const run = rows.filter((x) => x.effect!.equal?.[1].ok === true);
  const count = (list: readonly Row[]): string => plural(kernelsOf(list), 'kernel');
  const by = (how: string) => run.filter((x) => x.effect!.equal![1].by === how);
  const mended = rows.filter((x) => x.wrong[0] !== '' && x.wrong[1] === '');
  const notes = new Map<string, number>();
  for (const x of run) {
    const { by: how, note } = x.effect!.equal![1];
    if (note !== '' && how === 'launch') notes.set(note, (notes.get(note) ?? 0) + 1);
  }
  return [
    ...refutedText(refutedRules(r)),
    classesText(done),
    ...HOW.flatMap(([how, text]) => (by(how).length > 0 ? [`${count(by(how))} ${text}`] : [])),
    ...(mended.length > 0 ? [`${count(mended)} wrong at the base, and right now`] : []),
    ...[...notes].map(([note, times]) => `${times} ${note}`),
  ].join('; ');
}

/** Counts of kernels by class, each kernel counted once: changed, same code but run again, same code and not run. */
function classesText(rows: readonly Row[]): string {
  const labels = (list: readonly Row[]): Set<string> => new Set(list.map((x) => x.label));
  const changed = labels(rows.filter((x) => x.changed));
  const run = labels(rows.filter((x) => !changed.has(x.label) && x.effect?.equal !== null));
  const still = labels(rows.filter((x) => !changed.has(x.label) && !run.has(x.label)));
  const classes = [
    ...(changed.size > 0 ? [`${changed.size} changed`] : []),
    ...(run.size > 0 ? [`${run.size} with the same code run again`] : []),
    ...(still.size > 0 ? [`${still.size} with the same code not run`] : []),
  ];
  return `of ${plural(kernelsOf(rows), 'kernel')} ${classes.join(', ')}`;
}

/** A wrong kernel, as one line. */
export function wrongText({ row, also }: OneKernel): string {
  const since = row.wrong[0] === '' ? '' : ', at the base already';
  return `${row.label}, ${row.comparison.name}${alsoText(also)} (${row.file})${since}: ${row.wrong[1]}`;
}

/** Text that names further comparisons with the same finding; '' if there are none. */
export const alsoText = (also: readonly Row[]): string =>
  also.length === 0 ? '' : `, also ${also.map((x) => x.comparison.name).join(', ')}`;

const KIND_WORD: Readonly<Partial<Record<Change['kind'], string>>> = {
  rules: 'rule',
  opcodes: 'opcode',
  spec: '',
};

/** Maximum number of rules with a changed meaning that are reported in full; the rest are only named. */
const MOST_FOLLOWING = 3;

/** The changes that are reported in full, with their indices in the list of all. */
export const toldChanges = (r: Review): readonly (readonly [Change, number])[] => {
  let following = 0;
  return r.changes.flatMap((c, i) =>
    c.cause === undefined || ++following <= MOST_FOLLOWING ? [[c, i] as const] : [],
  );
};

/** Lines for the other changes, all of rules with a changed meaning: one for those that are refuted, one for the rest. */
export function followingLines(r: Review): string[] {
  const inFull = new Set(toldChanges(r).map(([c]) => c));
  const rest = r.changes.filter((c) => !inFull.has(c));
  const line = (refuted: boolean, text: string): string[] => {
    const some = rest.filter((c) => (c.refuted === true) === refuted);
    if (some.length === 0) return [];
    return [`and ${plural(some.length, 'more rule')} ${text}: ${some.map((c) => c.name).join(', ')}`];
  };
  return [
    ...line(true, 'REFUTED, because the same changed'),
    ...line(false, 'not proved since the same changed'),
  ];
}

/** Maximum number of reasons that are named for a difference. */
const MOST_REASONS = 3;

/** The reasons for a difference, in parentheses; '' if there are none. */
export function becauseText(because: readonly string[]): string {
  return because.length === 0 ? '' : ` (${firstLines(because, MOST_REASONS).join('; ')})`;
}

/** A change as one line. */
export const changeLine = (c: Change): string =>
  `${KIND_WORD[c.kind] ?? c.kind} ${c.name}: ${c.before} -> ${c.after}`.trim();

/** What stands before a location at the base. */
export const AT_BASE = 'at the base: ';

/** Where a broken limit is stated; a location at the base is marked as such. */
export const limitAt = ({ place, basePlace }: BrokenLimit): string =>
  basePlace === '' ? place : `${AT_BASE}${basePlace}`;

/** Where a change is stated; a location at the base is marked as such. */
export const statedAt = (c: Change): string => (c.basePlace === '' ? c.place : `${AT_BASE}${c.basePlace}`);
