import { firstLines, firstNames } from '../ir/listed.ts';
import { visible } from '../ir/quote.ts';
import { diffLineText } from '../lab/lines.ts';
import { type Cell, columns, type Paint, plural, WIDTH, wrapped } from '../lab/render/table.ts';
import { kernelsOf, mainReading, oneEach, type Row } from './effect.ts';
import {
  doneRows,
  hurtKernels,
  isAlarm,
  isRefused,
  otherKernels,
  type Review,
  refutedRules,
  wrongRows,
} from './reviewed.ts';
import { whereText } from './where.ts';
import {
  alsoText,
  becauseText,
  breakers,
  changeEffectTexts,
  changeLine,
  followingLines,
  limitAt,
  limitsOf,
  readingText,
  reviewLine,
  rightText,
  statedAt,
  toldChanges,
  totalText,
  worstText,
  wrongText,
} from './words.ts';

/** Maximum number of kernels that are listed; the rest are counted. */
const MOST_KERNELS = 10;
/** Maximum number of kernels that are named for a broken limit. */
const MOST_BROKEN = 3;
/** Maximum number of lines of a note on a change; the rest are counted. */
const MOST_NOTE = 20;
/** Maximum number of kernels for which the command that shows the diff is printed. */
export const MOST_DIFFS = 3;

/**
 * A review for a terminal: measures, changes, the kernels that are hurt most, correctness, and what is not known.
 *
 * @param again returns the command that shows the diff of a kernel, or a text that says why there is none
 * @param width width in characters
 */
export function reviewText(r: Review, paint: Paint, again: (row: Row) => string, width = WIDTH): string {
  const mark = isRefused(r) ? paint.bad : paint.bold;
  const out = [
    `${paint.bold('base')}  ${r.base}`,
    `${paint.bold('head')}  ${r.head}`,
    '',
    ...wrapped(visible(reviewLine(r)), width).map(mark),
  ];
  const problems = [...r.faults, ...r.warnings].flatMap((f) => ['', f.text]);
  // What refutes rules is the cause of errors in them, and stands first.
  const isCause = refutedRules(r).length > 0;
  if (!isCause) out.push(...problems);
  if (r.effect !== null && doneRows(r.effect).some((x) => x.changed))
    out.push('', ...measureLines(r, paint, width));
  for (const { limit, by } of limitsOf(r.broken)) out.push('', ...limitLines(limit, by, paint, width));
  const effects = changeEffectTexts(r);
  for (const [c, i] of toldChanges(r)) {
    const e = r.effects[i];
    out.push(
      '',
      ...wrapped(visible(changeLine(c)), width - 2).map((l, n) =>
        (isAlarm(c, e) ? paint.bad : paint.bold)(n === 0 ? l : `  ${l}`),
      ),
    );
    const note = c.note === '' ? [] : c.note.split('\n');
    for (const l of note.slice(0, MOST_NOTE)) out.push(...indented(l, width));
    if (note.length > MOST_NOTE)
      out.push(`    ... ${note.length - MOST_NOTE} more lines: \`orrery rules prove\` prints them`);
    const at = [statedAt(c), whereText(c.where, r.plans)].filter((x) => x !== '').join(', ');
    if (at !== '') out.push(...indented(at, width).map(paint.dim));
    if (r.faults.length === 0) out.push(...indented(effects[i], width));
  }
  for (const l of followingLines(r)) out.push('', ...wrapped(visible(l), width).map(paint.bad));
  if (isCause) out.push(...problems);
  if (r.effect !== null)
    out.push(
      ...hurtLines(r, paint, again, width),
      ...otherLines(r, paint, again, width),
      ...rightLines(r, paint, again, width),
    );
  if (r.unknown.length > 0) {
    out.push('', paint.bold('Not known'));
    for (const u of r.unknown) out.push(...indented(u, width));
  }
  return out.join('\n');
}

const indented = (text: string, width: number): string[] =>
  wrapped(visible(text), width - 4).map((l, i) => (i === 0 ? `  ${l}` : `    ${l}`));

/** A table with a line for each measure: its change over all kernels that changed, and the worst kernel. */
function measureLines(r: Review, paint: Paint, width: number): string[] {
  const { totals, measures } = r.effect!;
  const head = ['', 'of the kernels that changed', 'HURT', 'helped', 'worst'].map((text) => ({
    text,
    paint: paint.bold,
  }));
  const rows = totals.map((t): Cell[] => [
    t.measure.title,
    totalText(t, totals),
    t.values === null ? '' : { text: String(t.worse), paint: t.worse > 0 ? paint.bad : paint.dim },
    t.values === null ? '' : { text: String(t.better), paint: t.better > 0 ? paint.good : paint.dim },
    visible(worstText(t, measures)),
  ]);
  return columns([head, ...rows], 'llrrl', width).split('\n');
}

function limitLines(limit: string, by: Review['broken'], paint: Paint, width: number): string[] {
  return [
    ...wrapped(visible(`broken: ${limit}`), width).map(paint.bad),
    ...firstLines(breakers(by), MOST_BROKEN).flatMap((l) => indented(l, width)),
    ...indented(limitAt(by[0]), width).map(paint.dim),
  ];
}

/** The kernels that became worse, the worst first, each with all measures that changed. */
function hurtLines(r: Review, paint: Paint, again: (row: Row) => string, width: number): string[] {
  const { measures } = r.effect!;
  const hurt = hurtKernels(r.effect!);
  if (hurt.length === 0) return [];
  const out = ['', paint.bold('Worst first')];
  for (const [i, { row, also }] of hurt.slice(0, MOST_KERNELS).entries()) {
    const main = mainReading(row, measures);
    const [first, ...rest] = indented(`${row.label} (${row.comparison.name}${alsoText(also)})`, width);
    out.push(first.replace(visible(row.label), paint.bold), ...rest);
    const readings = measures.flatMap((m, n) => {
      const reading = row.readings[n];
      return reading !== null && (reading.worse !== 0 || m === main?.measure)
        ? [`${m.title} ${readingText(m, reading)}`]
        : [];
    });
    out.push(...indented(readings.join(', '), width - 2).map((l) => `  ${l}`));
    const why = row.effect?.why;
    if (why != null) {
      const because = becauseText(why.because);
      out.push(...indented(`differs first after ${why.phase}${because}`, width - 2).map((l) => `  ${l}`));
    }
    if (i < MOST_DIFFS) out.push(paint.dim(`    its diff: ${again(row)}`));
  }
  const rest = hurt.slice(MOST_KERNELS);
  if (rest.length > 0) out.push(`  and ${kernelsOf(rest.map((k) => k.row))} more`);
  return out;
}

/** Names of kernels that changed and are not worse; if no kernel is worse, also the command that shows the diff of the first one. */
function otherLines(r: Review, paint: Paint, again: (row: Row) => string, width: number): string[] {
  const kernels = otherKernels(r.effect!);
  if (kernels.length === 0) return [];
  const names = kernels.map((k) => k.row.label);
  const alone = hurtKernels(r.effect!).length === 0 && kernels[0].row.effect!.why !== null;
  return [
    '',
    paint.bold('Changed and not worse'),
    ...indented(firstNames(names, MOST_KERNELS), width),
    ...(alone ? [paint.dim(`    its diff: ${again(kernels[0].row)}`)] : []),
  ];
}

function rightLines(r: Review, paint: Paint, again: (row: Row) => string, width: number): string[] {
  const wrong = oneEach(wrongRows(r));
  const right = rightText(r);
  return [
    '',
    paint.bold('Still right?'),
    ...(wrong.length === 0
      ? []
      : [
          paint.bad(
            `  ${plural(wrong.length, 'kernel')} WRONG: they do not do what they did before any phase`,
          ),
        ]),
    ...wrong
      .slice(0, MOST_KERNELS)
      .flatMap((x, i) => [
        ...indented(wrongText(x), width),
        ...(i < MOST_DIFFS && x.row.effect?.why != null ? [paint.dim(`    its diff: ${again(x.row)}`)] : []),
      ]),
    ...(wrong.length > MOST_KERNELS ? [`  and ${wrong.length - MOST_KERNELS} more`] : []),
    ...(right === '' ? [] : indented(right, width)),
  ];
}

/** Maximum number of lines shown of a diff. */
const MOST_LINES = 60;

/** The diff of a kernel's code after the first phase that differs; omitted lines are counted in the last line. */
export function diffLinesOf(row: Row): readonly string[] {
  const diff = row.effect?.why?.diff ?? [];
  const shown = diff.slice(0, MOST_LINES).map(diffLineText);
  return diff.length > shown.length ? [...shown, `  ... ${diff.length - shown.length} more lines`] : shown;
}
