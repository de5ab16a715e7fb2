import { html } from '../../ir/quote.ts';
import type { AbResult, KernelPair } from '../ab.ts';
import { diffLineText } from '../lines.ts';
import {
  changedMetrics,
  differenceText,
  equalityWords,
  faults,
  interval,
  metricHeading,
  metricLabel,
  movement,
  planHashes,
  sorted,
  statusLine,
} from './ab-words.ts';
import { madeBy, page } from './html.ts';
import { change, number, percent } from './table.ts';

const BAR = 16;
const NAME = 260;
const HALF = 280;
/** Relative change at which a bar reaches its full length. */
const LONGEST = 0.5;

/** An A/B result as a self-contained HTML page with a bar for each kernel, sorted by change, and diffs. */
export function abHtml(r: AbResult, makers: readonly string[] = []): string {
  const kernels = sorted(r);
  const differences = r.differences
    .map(
      (d) => `<li>${html(differenceText(d))}${r.unread.includes(d.name) ? ' (no phase read it)' : ''}</li>`,
    )
    .join('');
  return page(
    `${r.arms[0].name} against ${r.arms[1].name}`,
    '',
    `<p class="status ${r.equal ? '' : 'bad'}">${html(statusLine(r))}</p>
<p>A: <code>${html(r.arms[0].name)}</code><br>B: <code>${html(r.arms[1].name)}</code></p>
<ul>${differences}</ul>
${r.status === 'no effect' ? '' : measured(r, kernels)}
${madeBy([...makers, ...r.arms.map((arm, i) => `plan ${'AB'[i]}: ${planHashes(arm)}`)])}`,
  );
}

function measured(r: AbResult, kernels: readonly KernelPair[]): string {
  const wrong = faults(r)
    .map((w) => `<li class="bad">${html(`${w.kernel} under ${w.arm}, by ${w.by}: ${w.note}`)}</li>`)
    .join('');
  const rows = changedMetrics(r).map((m) => {
    const cells = [
      number(m.total[0]),
      number(m.total[1]),
      change(...m.total),
      m.ratio === null ? '' : percent(m.ratio),
      m.helped,
      m.hurt,
      m.unchanged,
    ];
    const name = `<td title="${html(m.metric.title)}">${metricLabel(m.metric, kernels.length)}</td>`;
    return `<tr>${name}${cells.map((c) => `<td>${c}</td>`).join('')}</tr>`;
  });
  const heads = [
    metricHeading(kernels.length),
    'A',
    'B',
    'change',
    'geometric mean',
    'helped',
    'HURT',
    'unchanged',
  ];
  const head = heads.map((h) => `<th>${h}</th>`).join('');
  const noisy = r.noisy.map(
    (n) =>
      `<tr><td>${n.metric.name}</td><td>${number(n.total[0])}</td><td>${number(n.total[1])}</td><td>${percent(n.ratio)}</td><td>${interval(n)}</td><td>${n.significant ? 'yes' : 'no'}</td></tr>`,
  );
  const diffs = kernels.flatMap((k) => (k.why === null ? [] : [details(k)]));
  return `<p>${wrong === '' ? `Equal: ${html(equalityWords(r))}.` : ''}</p><ul>${wrong}</ul>
<div class="scroll"><table><tr>${head}</tr>${rows.join('')}</table></div>
${noisy.length === 0 ? '' : `<div class="scroll"><table><tr><th>noisy metric</th><th>A</th><th>B</th><th>change</th><th>95 % interval</th><th>significant</th></tr>${noisy.join('')}</table></div>`}
<h2>${html(r.by.title)}, kernel by kernel</h2>
${bars(r, kernels)}
${diffs.length === 0 ? '' : `<h2>What differs first</h2>${diffs.join('\n')}`}`;
}

/** Shortens a text in the middle, because names mostly differ at the start or the end. */
function shortened(text: string, width: number): string {
  const chars = [...text];
  if (chars.length <= width) return text;
  const left = Math.ceil((width - 1) / 2);
  return `${chars.slice(0, left).join('')}…${chars.slice(chars.length - (width - 1 - left)).join('')}`;
}

/** A bar for each kernel: to the left if it was helped, to the right if it was hurt. */
function bars(r: AbResult, kernels: readonly KernelPair[]): string {
  const height = kernels.length * (BAR + 4) + 10;
  const middle = NAME + HALF;
  const lines = kernels.map((k, i) => {
    const y = i * (BAR + 4) + 5;
    const off = Math.max(-LONGEST, Math.min(LONGEST, movement(r, k) - 1));
    const w = off === 0 ? 1 : Math.max(2, (Math.abs(off) / LONGEST) * (HALF - 70));
    const fill = off < 0 ? 'var(--helped)' : off > 0 ? 'var(--hurt)' : 'var(--same)';
    const pair = k.values[r.by.name];
    const label = k.verdict === 'WRONG' ? 'WRONG' : pair === undefined ? '' : change(...pair);
    const name = `<text x="0" y="${y + 12}"><title>${html(`${k.file}: ${k.kernel}`)}</title>${html(shortened(k.label, 38))}</text>`;
    const bar = `<rect x="${off < 0 ? middle - w : middle}" y="${y}" width="${w.toFixed(1)}" height="${BAR}" style="fill: ${fill}"><title>${html(pair === undefined ? k.label : `${k.label}: ${number(pair[0])} to ${number(pair[1])}`)}</title></rect>`;
    const text = `<text x="${off < 0 ? middle - w - 4 : middle + w + 4}" y="${y + 12}" text-anchor="${off < 0 ? 'end' : 'start'}">${label}</text>`;
    return k.why === null ? name + bar + text : `<a href="#${anchor(k)}">${name}</a>${bar}${text}`;
  });
  return `<svg role="img" viewBox="0 0 ${NAME + 2 * HALF} ${height}" width="100%"><line x1="${middle}" y1="0" x2="${middle}" y2="${height}" stroke="var(--same)"/>${lines.join('\n')}</svg>`;
}

const anchor = (k: KernelPair): string => `diff-${k.label.replace(/[^\w-]/g, '-')}`;

function details(k: KernelPair): string {
  const { phase, a, b, because, diff } = k.why!;
  const lines = diff.map((l) => {
    const text = html(diffLineText(l));
    return l.tag === ' ' || l.tag === '@'
      ? text
      : `<span class="${l.tag === '-' ? 'bad' : 'good'}">${text}</span>`;
  });
  return `<details id="${anchor(k)}"><summary>${html(`${k.label}: ${phase}`)}</summary><p>${html(`A ${a}; B ${b}`)}${because.map((x) => `<br>${html(x)}`).join('')}</p><pre>${lines.join('\n')}</pre></details>`;
}
