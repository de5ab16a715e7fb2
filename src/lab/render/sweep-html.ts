import { html } from '../../ir/quote.ts';
import type { Effect } from '../effects.ts';
import type { Experiment } from '../experiment.ts';
import type { Metric } from '../metrics.ts';
import type { ArmScore, SweepReport } from '../sweep-report.ts';
import { madeBy, page } from './html.ts';
import {
  headline,
  howText,
  isSame,
  levelsText,
  ratioText,
  reasons,
  sizeText,
  tellsOfEffects,
} from './sweep.ts';
import { parallel, scatter } from './sweep-plots.ts';
import { plural } from './table.ts';

/** Maximum number of arms in the table of all arms. */
const MOST_ARMS = 500;
/** Maximum number of scatter plots; each shows the first metric against another one. */
const MOST_PLOTS = 4;
/** Change of the deciding metric at which a bar has its full length, unless a level changes it more. */
const LEAST_SCALE = 0.01;

const STYLE = `
body { max-width: 78rem; }
.plots { display: flex; flex-wrap: wrap; gap: 1rem; }
.plots figure { flex: 1 1 320px; max-width: 460px; margin: 0; }
figure { margin: 1rem 0; } figcaption { color: var(--dim); font-size: 13px; }
svg { display: block; width: 100%; height: auto; }
.wide svg { width: auto; max-width: none; }
.axis { stroke: var(--dim); } .grid { stroke: var(--line); }
.dot { fill: var(--same); fill-opacity: .7; } .dot.front { fill: var(--mark); fill-opacity: 1; }
.dot.refused { fill: none; stroke: var(--hurt); } .dot.base { fill: none; stroke: var(--text); stroke-width: 2; }
.front-line { fill: none; stroke: var(--mark); stroke-width: 1.5; }
.arm-line { fill: none; stroke: var(--same); stroke-opacity: .35; }
.arm-line.front { stroke: var(--mark); stroke-opacity: 1; stroke-width: 2; }
.arm-line.refused { stroke: var(--hurt); stroke-dasharray: 2 3; }
.arm-line.base { stroke: var(--text); stroke-opacity: 1; stroke-dasharray: 6 3; }
.arm-line:hover { stroke-opacity: 1; stroke-width: 3; }
.keys span { white-space: nowrap; margin-right: .9em; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .3em; vertical-align: -.05em; }
.key.front { background: var(--mark); } .key.other { background: var(--same); }
.key.base { border: 2px solid var(--text); } .key.refused { border: 2px solid var(--hurt); }
.factor { margin: 1rem 0; } .factor h3 { font-size: 1rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
.level { display: grid; grid-template-columns: minmax(5rem, 12rem) 1fr 6.5rem; gap: .6rem; align-items: center; }
.level { font-variant-numeric: tabular-nums; }
.level > :first-child { overflow-wrap: anywhere; } .level > :last-child { text-align: right; white-space: nowrap; }
.track { position: relative; height: .9rem; background: linear-gradient(var(--dim), var(--dim)) center / 1px 100% no-repeat; }
.track i { position: absolute; top: .1rem; bottom: .1rem; }
.track i.helped { background: var(--helped); } .track i.hurt { background: var(--hurt); } .track i.same { background: var(--same); }
@media (max-width: 600px) { .level { grid-template-columns: 1fr 5.5rem; } .level > :first-child { grid-column: 1 / -1; } }
td.name { text-align: left; overflow-wrap: anywhere; min-width: 10rem; }`;

/** The report of a sweep as a self-contained HTML page. */
export function sweepHtml(e: Experiment, r: SweepReport, makers: readonly string[] = []): string {
  const others = r.metrics.slice(1, 1 + MOST_PLOTS);
  const title = e.title === '' ? 'sweep' : e.title;
  const refused = r.scores.filter((s) => s.refused !== '');
  return page(
    title,
    STYLE,
    [
      `<h1>${html(title)}</h1>`,
      `<p class="status">${headline(e, r, html, html)}</p>`,
      `<p class="dim">${html(e.spec.file)}: design ${e.design}, ${plural(e.factors.length, 'factor')}, ${plural(e.arms.length, 'arm')}${refused.length > 0 ? `, ${refused.length} of which ${refused.length === 1 ? 'does' : 'do'} not count` : ''}. Every figure is a change against the base: the geometric mean over all kernels.</p>`,
      '<h2>Pareto front</h2>',
      '<p>No arm is better in one metric without being worse in another.</p>',
      armTable(r.front, r.metrics),
      ...(others.length === 0 ? [] : [plots(r, others)]),
      ...(!tellsOfEffects(r)
        ? []
        : [
            `<h2>Effect of each factor on ${html(r.metrics[0].name)}</h2>`,
            `<p class="dim">${html(howText(r).replaceAll('\n', ' '))}</p>`,
            ...effects(r.effects, r.metrics[0]),
          ]),
      ...(e.factors.length === 0 ? [] : [lines(e, r)]),
      ...(refused.length === 0 ? [] : [notCounted(refused)]),
      `<details><summary>${r.scores.length > MOST_ARMS ? `The first ${MOST_ARMS} of ${plural(r.scores.length, 'arm')}` : `All ${plural(r.scores.length, 'arm')}`}</summary>${armTable(r.scores.slice(0, MOST_ARMS), r.metrics)}</details>`,
      madeBy(makers),
    ].join('\n'),
  );
}

function armTable(scores: readonly ArmScore[], metrics: readonly Metric[]): string {
  const cell = (s: ArmScore, m: Metric): string => {
    const v = s.ratio[m.name];
    const mark = isSame(v) ? 'dim' : v < 1 === (m.better === 'less') ? 'good' : 'bad';
    return `<td class="${mark}">${ratioText(v)}</td>`;
  };
  const rows = scores.map(
    (s) =>
      `<tr><td class="name"><code>${html(s.name)}</code></td>${metrics.map((m) => cell(s, m)).join('')}</tr>`,
  );
  return `<div class="scroll"><table><tr><th>arm</th>${metrics.map((m) => `<th title="${html(m.title)}">${html(m.name)}</th>`).join('')}</tr>${rows.join('')}</table></div>`;
}

const KEY = [
  ['front', 'Pareto front'],
  ['other', 'other arms'],
  ['base', 'base'],
  ['refused', 'does not count'],
]
  .map(([kind, text]) => `<span><i class="key ${kind}"></i>${text}</span>`)
  .join(' ');

const plots = (r: SweepReport, others: readonly Metric[]): string =>
  `<h2>Arms by two metrics</h2><p class="dim keys">${KEY}</p><p class="dim">A larger point stands for several arms with the same values.</p><div class="plots">${others
    .map(
      (m) =>
        `<figure>${scatter(r, r.metrics[0], m)}<figcaption>${html(r.metrics[0].name)} (across) and ${html(m.name)} (up); ${better(r.metrics[0], m)} is better</figcaption></figure>`,
    )
    .join('')}</div>`;

const better = (x: Metric, y: Metric): string =>
  `${x.better === 'less' ? 'further left' : 'further right'} and ${y.better === 'less' ? 'down' : 'up'}`;

function lines(e: Experiment, r: SweepReport): string {
  const { svg, left } = parallel(e, r);
  const some = left === 0 ? '' : ` ${plural(left, 'arm')} of no front ${left === 1 ? 'is' : 'are'} left out.`;
  return `<h2>Arms by all factors and metrics</h2><p class="dim keys">${KEY}</p><p class="dim">A line is an arm: its level of each factor, then what came of it.${some}</p><figure class="wide scroll">${svg}</figure>`;
}

/** For each factor, a bar for each level: to the left if the deciding metric falls, to the right if it rises. */
function effects(list: readonly Effect[], by: Metric): string[] {
  const most = Math.max(
    LEAST_SCALE,
    ...list.flatMap((f) => f.levels.map((l) => (l.ratio === null ? 0 : Math.abs(l.ratio - 1)))),
  );
  return list.map((f) => {
    const rows = f.levels.map(({ name, ratio, arms }) => {
      if (ratio === null)
        return `<div class="level"><span>${html(name)}</span><span class="dim">not determined by the design</span><span></span></div>`;
      const off = ratio - 1;
      const half = (50 * Math.min(1, Math.abs(off) / most)).toFixed(2);
      const kind = isSame(ratio) ? 'same' : off < 0 === (by.better === 'less') ? 'helped' : 'hurt';
      const place = off < 0 ? `right: 50%; width: ${half}%` : `left: 50%; width: ${half}%`;
      return `<div class="level"><span>${html(name)}</span><span class="track" title="${plural(arms, 'arm')}"><i class="${kind}" style="${place}"></i></span><span>${isSame(ratio) ? '0' : ratioText(ratio)}</span></div>`;
    });
    const summary = f.size === null ? levelsText(f) : `effect ${sizeText(f)}`;
    return `<div class="factor"><h3>${html(f.factor)} <span class="dim">${html(summary)}</span></h3>${rows.join('')}</div>`;
  });
}

const notCounted = (refused: readonly ArmScore[]): string =>
  `<h2>${plural(refused.length, 'arm')} ${refused.length === 1 ? 'does' : 'do'} not count</h2><ul>${reasons(
    refused,
  )
    .map(
      ([why, names]) =>
        `<li>${html(why)}: <code>${html(names[0])}</code>${names.length > 1 ? ` and ${names.length - 1} more` : ''}</li>`,
    )
    .join('')}</ul>`;
