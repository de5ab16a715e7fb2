import { firstLines } from '../../ir/listed.ts';
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
  noisyWords,
  sorted,
  statusLine,
} from './ab-words.ts';
import {
  type Cell,
  change,
  columns,
  number,
  numbers,
  type Paint,
  percent,
  plural,
  WIDTH,
  wrapped,
} from './table.ts';

/** Maximum number of helped and of hurt kernels that are listed; the rest are counted. */
const MOVERS = 12;

/**
 * An A/B result for a terminal.
 *
 * @param again the command that shows the diff of a kernel, or a text that says why there is none
 * @param width width in characters
 */
export function abText(r: AbResult, paint: Paint, again: (k: KernelPair) => string, width = WIDTH): string {
  const out: string[] = [
    `${paint.bold('A')}  ${r.arms[0].name}`,
    `${paint.bold('B')}  ${r.arms[1].name}`,
    '',
    ...wrapped(statusLine(r), width).map(r.equal ? paint.bold : paint.bad),
  ];
  const read = r.differences.filter((d) => !r.unread.includes(d.name));
  if (read.length > 0)
    out.push(
      '',
      paint.bold('differs in'),
      ...read.slice(0, 20).map((d) => `  ${wrapped(differenceText(d), width - 4).join('\n    ')}`),
    );
  if (read.length > 20) out.push(`  and ${read.length - 20} more`);
  for (const name of r.unread) out.push(`  knob ${name}: no phase read it`);
  if (r.status === 'no effect') return out.join('\n');
  out.push('', totals(r, paint, width));
  const wrong = faults(r);
  if (wrong.length > 0) {
    out.push('', paint.bad('WRONG: these do not do what they did before any phase'));
    for (const w of wrong)
      out.push(`  ${wrapped(`${w.kernel} under ${w.arm}, by ${w.by}: ${w.note}`, width - 4).join('\n    ')}`);
  } else {
    const [first, ...more] = wrapped(`equal: ${equalityWords(r)}`, width - 2);
    out.push(
      '',
      first.replace('equal', () => paint.good('equal')),
      ...more.map((l) => `  ${l}`),
    );
  }
  out.push('', movers(r, paint, again, width));
  return out.join('\n');
}

function totals(r: AbResult, paint: Paint, width: number): string {
  const all = r.kernels.length;
  const titles = [metricHeading(all), 'A', 'B', 'change', 'geo. mean', 'helped', 'HURT', 'same'];
  const head = titles.map((text) => ({ text, paint: paint.bold }));
  const rows: Cell[][] = changedMetrics(r).map((m) => {
    const better = m.ratio === null || m.ratio === 1 ? null : m.ratio < 1 === (m.metric.better === 'less');
    const mark = better === null ? paint.dim : better ? paint.good : paint.bad;
    return [
      `${metricLabel(m.metric, all)}${m.metric.of === 'module' ? ' (modules)' : ''}`,
      number(m.total[0]),
      number(m.total[1]),
      { text: change(...m.total), paint: mark },
      { text: m.ratio === null ? '' : m.ratio === 1 ? '0' : percent(m.ratio), paint: mark },
      number(m.helped),
      number(m.hurt),
      number(m.unchanged),
    ];
  });
  const noisy = r.noisy.map(
    (n) =>
      `${n.metric.name}: ${number(n.total[0])} -> ${number(n.total[1])} ${n.metric.unit}, ${noisyWords(n)}` +
      (n.significant ? '' : ` (95 %: ${interval(n)}; counts from ${(100 * r.minEffect).toFixed(1)} % on)`),
  );
  const more = noisy.flatMap((n) => wrapped(n, width));
  return [columns([head, ...rows], 'lrrrrrrr', width), ...(more.length > 0 ? ['', ...more] : [])].join('\n');
}

function movers(r: AbResult, paint: Paint, again: (k: KernelPair) => string, width: number): string {
  const moved = sorted(r).filter((k) => k.verdict === 'helped' || k.verdict === 'HURT');
  const other = r.kernels.filter((k) => k.verdict === 'unchanged' && k.why !== null);
  const out: string[] = [];
  const helped = moved.filter((k) => k.verdict === 'helped');
  const hurt = moved.filter((k) => k.verdict === 'HURT').reverse();
  if (moved.length > 0) {
    const head = ['kernel', r.by.name, 'change', 'first phase that differs'].map((text) => ({
      text,
      paint: paint.bold,
    }));
    const rows: Cell[][] = [head];
    for (const k of helped.slice(0, MOVERS)) rows.push(row(r, k, paint.good));
    if (helped.length > MOVERS) rows.push([`and ${helped.length - MOVERS} more helped`, '', '', '']);
    for (const k of hurt.slice(0, MOVERS)) rows.push(row(r, k, paint.bad));
    if (hurt.length > MOVERS) rows.push([`and ${hurt.length - MOVERS} more HURT`, '', '', '']);
    out.push(columns(rows, 'lrrl', width));
  }
  if (other.length > 0) {
    const names = firstLines(
      other.map((k) => k.label),
      MOVERS,
    );
    out.push(...wrapped(`${plural(other.length, 'kernel')} changed otherwise: ${names.join(', ')}`, width));
  }
  const most = [...helped.slice(0, 1), ...hurt.slice(0, 1), ...other.slice(0, 1)].filter(
    (k) => k.why !== null,
  );
  for (const k of most.slice(0, 2)) {
    out.push('', `${paint.bold(k.label)}: ${k.why!.phase}`, `  A ${k.why!.a}`, `  B ${k.why!.b}`);
    for (const b of k.why!.because) out.push(`  ${b}`);
    out.push(`  ${paint.dim(`its diff: ${again(k)}`)}`);
  }
  if (out.length === 0) return 'every kernel has the same code under both arms';
  return out.join('\n');
}

function row(r: AbResult, k: KernelPair, mark: (s: string) => string): Cell[] {
  const [a, b] = k.values[r.by.name];
  return [
    k.label,
    numbers(a, b).join(' -> '),
    { text: change(a, b), paint: mark },
    k.why === null ? '' : `${k.why.phase}${k.why.because.length > 0 ? ` (${k.why.because[0]})` : ''}`,
  ];
}

/** The code of one kernel under A and B after the first phase that differs. */
export function diffText(k: KernelPair, paint: Paint): string {
  if (k.why === null) return `${k.label}: the code is the same under both arms after every phase`;
  return [
    `${paint.bold(k.label)}: after ${k.why.phase}: A ${k.why.a}; B ${k.why.b}`,
    ...k.why.because.map((b) => `  ${b}`),
    ...k.why.diff.map((l) =>
      (l.tag === '-' ? paint.bad : l.tag === '+' ? paint.good : paint.dim)(diffLineText(l)),
    ),
  ].join('\n');
}
