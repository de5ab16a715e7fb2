import { firstNames } from '../../ir/listed.ts';
import { markdownCode, markdownText } from '../../ir/quote.ts';
import { type Effect, type Interaction, MOST_COLUMNS } from '../effects.ts';
import type { Experiment } from '../experiment.ts';
import { decidedBy, type Metric } from '../metrics.ts';
import type { ArmScore, SweepReport } from '../sweep-report.ts';
import { metricsJson, OUTPUT_VERSION } from './json.ts';
import { type Cell, columns, number, type Paint, percent, plural, stacked, WIDTH, wrapped } from './table.ts';

/** Maximum number of arms of the front and of interactions that are shown. */
const MOST = 12;
/** Maximum number of arms in the table of all arms. */
const MOST_ARMS = 20;
/** Smaller relative changes are shown as none. */
const SMALL = 5e-6;

/** True if a ratio is too close to 1 to be shown as a change. */
export const isSame = (r: number): boolean => Math.abs(r - 1) < SMALL;
/** A ratio as a change: `+1.23 %` or `0`. */
export const ratioText = (r: number): string => (isSame(r) ? '0' : percent(r));

/**
 * The result in one line.
 *
 * @param text escapes plain text for the output format
 * @param code escapes and marks up a name
 */
export function headline(
  e: Experiment,
  { metrics: [first, ...others], scores, best }: SweepReport,
  text: (s: string) => string,
  code: (s: string) => string,
): string {
  const arms = `${plural(scores.length, 'arm')}${e.title === '' ? '' : ` of ${e.title}`}`;
  const changed = (isBetter: boolean): string[] =>
    others.flatMap((m) => {
      const ratio = best.ratio[m.name];
      const differs = !isSame(ratio) && (ratio < 1 === (m.better === 'less')) === isBetter;
      return differs ? [`${m.name} ${ratioText(ratio)}`] : [];
    });
  // What made it the best of arms that are equal by the first metric.
  const better = isSame(best.ratio[first.name]) ? changed(true) : [];
  const price = [['better', better] as const, ['worse', changed(false)] as const]
    .flatMap(([word, list]) => (list.length === 0 ? [] : [`; ${word} by ${list.join(', ')}`]))
    .join('');
  return `${text(`${arms}; best ${decidedBy(first)}:`)} ${code(best.name)} (${ratioText(best.ratio[first.name])}${text(price)})`;
}

const asIs = (text: string): string => text;

/** The report of a sweep for a terminal. */
export function sweepText(e: Experiment, r: SweepReport, paint: Paint, width = WIDTH): string {
  const first = r.metrics[0];
  const refused = r.scores.filter((s) => s.refused !== '');
  const out = [
    ...wrapped(headline(e, r, asIs, asIs), width).map(paint.bold),
    '',
    paint.bold('Pareto front: no arm is better in one without being worse in another'),
    scoreTable(r.front.slice(0, MOST), r, paint, width),
    ...(r.front.length > MOST ? [`and ${r.front.length - MOST} more`] : []),
  ];
  const counted = countedArms(r);
  if (counted.length > r.front.length) {
    out.push('', paint.bold(`${ARMS}: totals and mean changes; * is on the front`));
    out.push(totalTable(counted.slice(0, MOST_ARMS), r, paint, width));
    if (counted.length > MOST_ARMS)
      out.push(`and ${counted.length - MOST_ARMS} more: --csv, --html and --json have all`);
  }
  if (tellsOfEffects(r))
    out.push(
      '',
      // Arms that do not count are included: without them, the design could not separate the factors.
      paint.bold(
        `Effect of each factor on ${first.name}${refused.length > 0 ? ', over all arms that have a plan' : ''}`,
      ),
      ...howText(r)
        .split('\n')
        .flatMap((l) => wrapped(l, width)),
      effectTable(r.effects, width),
    );
  if (r.interactions.length + r.untold.length > 0)
    out.push('', paint.bold('Interactions'), interactionText(r, width));
  if (refused.length > 0) {
    out.push(
      '',
      paint.bold(`${plural(refused.length, 'arm')} ${refused.length === 1 ? 'does' : 'do'} not count`),
    );
    for (const [why, names] of reasons(refused).slice(0, MOST))
      out.push(...wrapped(why, width), `  ${wrapped(firstNames(names, 1), width - 2).join('\n  ')}`);
  }
  return out.join('\n');
}

/** The reasons why arms are excluded, each with the names of its arms, the most frequent first. */
export function reasons(refused: readonly ArmScore[]): (readonly [string, readonly string[]])[] {
  const by = new Map<string, string[]>();
  for (const s of refused) by.set(s.refused, [...(by.get(s.refused) ?? []), s.name]);
  return [...by].sort((a, b) => b[1].length - a[1].length);
}

function ratioCell(s: ArmScore, m: Metric, paint: Paint): Cell {
  const v = s.ratio[m.name];
  const mark = isSame(v) ? paint.dim : v < 1 === (m.better === 'less') ? paint.good : paint.bad;
  return { text: ratioText(v), paint: mark };
}

function scoreTable(scores: readonly ArmScore[], r: SweepReport, paint: Paint, width: number): string {
  const head: Cell[] = ['arm', ...r.metrics.map((m) => m.name)].map((text) => ({ text, paint: paint.bold }));
  const rows = scores.map((s): Cell[] => [s.name, ...r.metrics.map((m) => ratioCell(s, m, paint))]);
  return columns([head, ...rows], `l${'r'.repeat(r.metrics.length)}`, width);
}

/** Title of the table of all arms that count. */
const ARMS = 'All arms that count, the best first';

/** The arms that are not excluded, the best by the first metric first. */
function countedArms({ scores, metrics: [first] }: SweepReport): readonly ArmScore[] {
  const sign = first.better === 'less' ? 1 : -1;
  return scores
    .filter((s) => s.refused === '')
    .sort((a, b) => sign * (a.ratio[first.name] - b.ratio[first.name]) || a.arm - b.arm);
}

function totalTable(scores: readonly ArmScore[], r: SweepReport, paint: Paint, width: number): string {
  const head: Cell[] = ['arm', ...r.metrics.flatMap((m) => [m.name, 'change'])].map((text) => ({
    text,
    paint: paint.bold,
  }));
  const rows = scores.map((s): Cell[] => [
    r.front.includes(s) ? `${s.name} *` : s.name,
    ...r.metrics.flatMap((m) => [number(s.total[m.name]), ratioCell(s, m, paint)]),
  ]);
  return stacked([head, ...rows], width, 2);
}

/** True if there are effects to show, or a reason why there are none. */
export const tellsOfEffects = ({ effects, effectsBy }: SweepReport): boolean =>
  effects.length > 0 || effectsBy === 'nothing';

/** How the effects were estimated, and how reliable they are. */
export function howText({ effectsBy, deviation }: SweepReport): string {
  if (effectsBy === 'base') return 'each level against the base, all else as there';
  if (effectsBy === 'nothing')
    return `not determined: the design is not balanced, and has more than ${MOST_COLUMNS} levels to fit jointly`;
  if (effectsBy === 'means') return 'means of the arms with each level; the design is balanced';
  return [
    'fitted jointly by least squares, as the design is not balanced;',
    deviation === null
      ? 'there are too few arms to tell how well'
      : `arms deviate from the product of these by ${
          deviation < SMALL ? 'nothing' : `${percent(1 + deviation).slice(1)} (standard deviation)`
        }`,
  ].join('\n');
}

/** The size of an effect, as text. */
export const sizeText = ({ size }: Effect): string =>
  size === null ? 'unknown' : size < SMALL ? 'none' : percent(1 + size).slice(1);

/** The levels with their changes, or why there are none. */
export function levelsText({ levels, size }: Effect): string {
  if (size !== null) return inRuns(levels).join(', ');
  return levels.length === 0
    ? 'no arm with another level has a plan'
    : levels.length === 1
      ? `only arms with ${levels[0].name} have a plan`
      : 'the arms do not separate it from other factors';
}

/** Texts for levels in order. Three or more adjacent levels with the same change are shown as the first and the last. */
function inRuns(levels: Effect['levels']): string[] {
  const runs: { text: string; names: string[] }[] = [];
  for (const { name, ratio } of levels) {
    const text = ratio === null ? 'unknown' : isSame(ratio) ? '0 %' : percent(ratio);
    const last = runs.at(-1);
    if (last?.text === text) last.names.push(name);
    else runs.push({ text, names: [name] });
  }
  return runs.flatMap(({ text, names }) =>
    names.length < FEW ? names.map((n) => `${n}: ${text}`) : [`${names[0]} ... ${names.at(-1)}: ${text}`],
  );
}

/** Runs of fewer levels are not shortened. */
const FEW = 3;

const effectTable = (effects: readonly Effect[], width: number): string =>
  columns(
    effects.map((f) => [f.factor, sizeText(f), f.size !== null && f.size < SMALL ? '' : levelsText(f)]),
    'lrl',
    width,
  );

function interactionText({ effectsBy, interactions, untold }: SweepReport, width: number): string {
  const strong = interactions.filter((i) => i.size >= SMALL);
  const lines =
    interactions.length === 0
      ? []
      : [
          strong.length === 0
            ? 'none: the factors work independently'
            : interactionTable(strong.slice(0, MOST), width),
        ];
  if (untold.length === 0) return lines.join('\n');
  const why =
    effectsBy === 'base' ? 'one factor varies at a time' : 'a grid, more arms, or fewer levels would';
  const which = interactions.length === 0 ? 'them' : `${plural(untold.length, 'other pair')}`;
  return [...lines, `the design does not determine ${which}: ${why}`].join('\n');
}

const interactionTable = (list: readonly Interaction[], width: number): string =>
  columns(
    list.map((i) => [
      i.factors.join(' and '),
      percent(1 + i.size).slice(1),
      `most at ${i.levels.join(', ')}`,
    ]),
    'lrl',
    width,
  );

/** The report of a sweep as Markdown. */
export function sweepMarkdown(e: Experiment, r: SweepReport): string {
  const first = r.metrics[0];
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const out = [
    `**${headline(e, r, markdownText, markdownCode)}**`,
    '',
    row(['Pareto front', ...r.metrics.map((m) => m.name)]),
    `|---|${r.metrics.map(() => '---:|').join('')}`,
    ...r.front.map((s) => row([markdownCode(s.name), ...r.metrics.map((m) => ratioText(s.ratio[m.name]))])),
    '',
    `<details><summary>${ARMS}</summary>`,
    '',
    row(['arm', 'on the front', ...r.metrics.flatMap((m) => [m.name, 'change'])]),
    `|---|---|${r.metrics.map(() => '---:|---:|').join('')}`,
    ...countedArms(r).map((s) =>
      row([
        markdownCode(s.name),
        r.front.includes(s) ? 'yes' : '',
        ...r.metrics.flatMap((m) => [number(s.total[m.name]), ratioText(s.ratio[m.name])]),
      ]),
    ),
    '',
    '</details>',
    '',
    ...(r.effects.length === 0
      ? []
      : [
          row(['factor', `effect on ${first.name}`, 'levels']),
          '|---|---:|---|',
          ...r.effects.map((f) => row([f.factor, sizeText(f), levelsText(f)].map(markdownText))),
        ]),
    ...(!tellsOfEffects(r) ? [] : ['', `Effects: ${howText(r).replaceAll('\n', ' ')}.`]),
  ];
  const refused = r.scores.filter((s) => s.refused !== '');
  if (refused.length > 0)
    out.push(
      '',
      `<details><summary>${plural(refused.length, 'arm')} ${refused.length === 1 ? 'does' : 'do'} not count</summary>`,
      '',
      ...refused.map((s) => `- ${markdownCode(s.name)}: ${markdownText(s.refused)}`),
      '',
      '</details>',
    );
  return `${out.join('\n')}\n`;
}

/** The report of a sweep as plain data (schemas/output/sweep.schema.json). */
export const sweepJson = (e: Experiment, r: SweepReport) => ({
  version: OUTPUT_VERSION,
  kind: 'sweep-report',
  title: e.title,
  metrics: metricsJson(r.metrics),
  arms: r.scores.map((s) => ({
    ...s,
    choice: Object.fromEntries([...e.arms[s.arm].choice].map(([f, l]) => [f, l.name])),
  })),
  front: r.front.map((s) => s.arm),
  best: r.best.arm,
  effectsBy: r.effectsBy,
  deviation: r.deviation,
  effects: r.effects,
  interactions: r.interactions,
  untold: r.untold,
});
