import { relative } from 'node:path';
import { firstNames } from '../ir/listed.ts';
import { markdownBlock, markdownCode, markdownText, visible } from '../ir/quote.ts';
import { tableRows } from '../lab/render/markdown.ts';
import { plural } from '../lab/render/table.ts';
import type { Change } from './changes.ts';
import { kernelsOf, type OneKernel, oneEach, type Row } from './effect.ts';
import { diffLinesOf, MOST_DIFFS } from './render-text.ts';
import {
  doneRows,
  hurtKernels,
  isAlarm,
  otherKernels,
  type Review,
  refutedRules,
  wrongRows,
} from './reviewed.ts';
import { whereText } from './where.ts';
import {
  AT_BASE,
  alsoText,
  becauseText,
  breakers,
  changeEffectTexts,
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

/** Escapes plain text for Markdown. `->` becomes an arrow, which needs no escaping. */
const text = (s: string): string => markdownText(s.replaceAll(' -> ', ' → '));

/** Maximum number of rows of a table; the rest are folded. */
const MOST_ROWS = 10;
/** Maximum number of kernels that are named for a broken limit. */
const MOST_BROKEN = 5;

/**
 * A review as a comment on a pull request, in Markdown: a status line, a table of measures, changes, the kernels that are hurt most,
 * correctness, and what is not known. Details are folded.
 */
export function reviewMarkdown(r: Review): string {
  const out = [`**${text(reviewLine(r))}**`, '', `${markdownCode(r.base)} → ${markdownCode(r.head)}`];
  const problems = [...r.faults, ...r.warnings].flatMap((f) => ['', ...markdownBlock(f.text)]);
  // What refutes rules is the cause of errors in them, and stands first.
  const isCause = refutedRules(r).length > 0;
  if (!isCause) out.push(...problems);
  if (r.effect !== null && doneRows(r.effect).some((x) => x.changed)) out.push('', ...measures(r));
  out.push(...limits(r), ...changes(r), ...(isCause ? problems : []));
  if (r.effect !== null) out.push(...hurt(r), ...right(r));
  if (r.unknown.length > 0) out.push('', '**Not known**', '', ...r.unknown.map((u) => `- ${text(u)}`));
  if (r.effect !== null) out.push(...diffs(r), ...others(r));
  out.push(...reasons(r));
  return `${out.join('\n')}\n`;
}

function measures(r: Review): string[] {
  const { totals, measures: all } = r.effect!;
  return tableRows(
    ['', 'of the kernels that changed', 'HURT', 'helped', 'worst'],
    totals.map((t) => [
      t.measure.title,
      text(totalText(t, totals)),
      t.values === null ? '' : String(t.worse),
      t.values === null ? '' : String(t.better),
      text(worstText(t, all)),
    ]),
    'llrrl',
  );
}

function limits(r: Review): string[] {
  if (r.broken.length === 0) return [];
  const lines = limitsOf(r.broken).map(({ limit, by }) => {
    const who = firstNames(breakers(by), MOST_BROKEN, '; ');
    return `- **${text(limit)}**: ${text(who)} (${text(shortened(r, limitAt(by[0])))})`;
  });
  return ['', `**${plural(lines.length, 'broken limit')}**`, '', ...lines];
}

/** A location without the name of its side, which the comment has at its top. */
const shortened = ({ base, head }: Review, place: string): string => {
  const [at, side] = place.startsWith(AT_BASE) ? [AT_BASE, base] : ['', head];
  const path = place.slice(at.length);
  // Places are named from the folder of the command where that is shorter.
  const name = [`${side}:`, `${side}/`, `${relative('.', side)}/`].find(
    (s) => s !== '/' && path.startsWith(s),
  );
  return name === undefined ? place : at + path.slice(name.length);
};

function changes(r: Review): string[] {
  if (r.changes.length === 0) return [];
  const effects = changeEffectTexts(r);
  const row = ([c, i]: readonly [Change, number]): string[] => {
    const e = r.effects[i];
    const at = shortened(r, statedAt(c));
    return [
      `${isAlarm(c, e) ? '**ALARM** ' : ''}${c.kind}`,
      [markdownCode(c.name), ...(at === '' || at === c.name ? [] : [text(at)])].join('<br>'),
      text(c.before),
      text(c.after),
      text(whereText(c.where, r.plans)),
      r.faults.length > 0 ? '' : text(effects[i]),
    ];
  };
  return [
    '',
    '**What changed**',
    '',
    ...tableRows(['', 'what', 'before', 'after', 'where', 'effect'], toldChanges(r).map(row), 'llllll'),
    ...followingLines(r).flatMap((l) => ['', text(l)]),
  ];
}

function hurt(r: Review): string[] {
  const worse = hurtKernels(r.effect!);
  if (worse.length === 0) return [];
  const shown = kernelTable(r, worse.slice(0, MOST_ROWS));
  const rest = worse.slice(MOST_ROWS);
  return [
    '',
    '**Worst first**',
    '',
    ...shown,
    ...(rest.length === 0
      ? []
      : [
          '',
          ...folded(
            `${plural(kernelsOf(rest.map((k) => k.row)), 'more kernel')} worse`,
            kernelTable(r, rest),
          ),
        ]),
  ];
}

/**
 * A table of kernels over all plans. A kernel that is worse under several plans is shown with the worst one and the names of the others.
 */
function kernelTable(r: Review, kernels: readonly OneKernel[]): string[] {
  const { measures: all } = r.effect!;
  const reasons = new Set<string>();
  // What differs may be long, and is the same for most kernels.
  const reasonOnce = (row: Row): string => {
    const reason = reasonOf(row);
    if (reason.length <= LONG_REASON) return reason;
    const known = reasons.has(reason);
    reasons.add(reason);
    return known ? `${text(row.effect!.why!.phase)} (as above)` : reason;
  };
  return tableRows(
    ['kernel', 'plan', ...all.map((m) => m.title), 'differs first after'],
    kernels.map(({ row, also }) => [
      markdownCode(row.label),
      text(`${row.comparison.name}${alsoText(also)}`),
      ...all.map((m, i) => {
        const reading = row.readings[i];
        return reading === null ? '' : text(readingText(m, reading));
      }),
      reasonOnce(row),
    ]),
    `ll${'r'.repeat(all.length)}l`,
  );
}

/** Length of a reason from which on a table has it only once. */
const LONG_REASON = 80;

function reasonOf({ effect }: Row): string {
  const why = effect?.why;
  return why == null ? '' : text(`${why.phase}${becauseText(why.because)}`);
}

function right(r: Review): string[] {
  const wrong = oneEach(wrongRows(r));
  const found = rightText(r);
  return [
    '',
    `**Still right?** ${wrong.length === 0 ? '' : `**${plural(wrong.length, 'kernel')} WRONG.** `}${text(found)}`,
    ...(wrong.length === 0
      ? []
      : ['', ...wrong.slice(0, MOST_ROWS).map((x) => `- **WRONG** ${text(wrongText(x))}`)]),
    ...(wrong.length > MOST_ROWS
      ? folded(
          `${wrong.length - MOST_ROWS} more`,
          wrong.slice(MOST_ROWS).map((x) => `- ${text(wrongText(x))}`),
        )
      : []),
  ];
}

const folded = (title: string, lines: readonly string[], isOpen = false): string[] => [
  `<details${isOpen ? ' open' : ''}><summary>${text(title)}</summary>`,
  '',
  ...lines,
  '',
  '</details>',
];

/** Folded diffs of the worst kernels, wrong ones first. */
function diffs(r: Review): string[] {
  const rows = oneEach([...wrongRows(r), ...hurtKernels(r.effect!).map((k) => k.row)]);
  const shown = rows.flatMap(({ row }) => (row.effect?.why == null ? [] : [row])).slice(0, MOST_DIFFS);
  return shown.flatMap((row) => {
    const why = row.effect!.why!;
    return [
      '',
      ...folded(`${row.label} (${row.comparison.name}): after ${why.phase}`, [
        text([`base ${why.a}; head ${why.b}`, ...why.because].join('; ')),
        '',
        ...markdownBlock(diffLinesOf(row).map(visible).join('\n'), 'diff'),
      ]),
    ];
  });
}

/** A folded table of kernels that changed and are not worse, the best first. */
function others(r: Review): string[] {
  const better = otherKernels(r.effect!);
  if (better.length === 0) return [];
  return ['', ...folded(`${plural(better.length, 'kernel')} changed and not worse`, kernelTable(r, better))];
}

/** Notes on changes, folded if none is an alarm. Those of several lines, such as counterexamples, become code blocks. */
function reasons(r: Review): string[] {
  const lines = toldChanges(r).flatMap(([{ name, note }]) => {
    if (note === '') return [];
    const [first, ...more] = note.split('\n');
    const item = `- ${markdownCode(name)}: ${text(first)}`;
    return more.length === 0 ? [item] : [item, '', ...markdownBlock(more.join('\n'), 'text', '  '), ''];
  });
  const isOpen = r.changes.some((c, i) => isAlarm(c, r.effects[i]));
  return lines.length === 0 ? [] : ['', ...folded('Reasons', lines, isOpen)];
}
