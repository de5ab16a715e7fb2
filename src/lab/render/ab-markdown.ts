import { markdownBlock, markdownCode, markdownText, visible } from '../../ir/quote.ts';
import type { AbResult } from '../ab.ts';
import { diffLineText } from '../lines.ts';
import {
  changedMetrics,
  differenceText,
  equalityWords,
  faults,
  interval,
  metricHeading,
  metricLabel,
  sorted,
  statusLine,
  valuesText,
} from './ab-words.ts';
import { tableRows } from './markdown.ts';
import { change, number, percent } from './table.ts';

/** Maximum number of lines shown of a diff. */
const MOST_LINES = 60;

/** An A/B result as Markdown: a status line, short tables, and folded details with kernels from the most hurt to the most helped. */
export function abMarkdown(r: AbResult): string {
  const out: string[] = [
    `**${markdownText(statusLine(r))}**`,
    '',
    `A: ${markdownCode(r.arms[0].name)}, B: ${markdownCode(r.arms[1].name)}`,
    '',
  ];
  for (const d of r.differences)
    out.push(`- ${markdownText(differenceText(d))}${r.unread.includes(d.name) ? ' (no phase read it)' : ''}`);
  if (r.status === 'no effect') return `${out.join('\n')}\n`;
  out.push('');
  for (const w of faults(r))
    out.push(
      `- **WRONG**: ${markdownCode(w.kernel)} under ${markdownCode(w.arm)}, by ${w.by}: ${markdownText(w.note)}`,
    );
  if (r.equal) out.push(`Equal: ${equalityWords(r)}.`);
  out.push(
    '',
    ...tableRows(
      [metricHeading(r.kernels.length), 'A', 'B', 'change', 'geometric mean', 'helped', 'HURT', 'unchanged'],
      changedMetrics(r).map((m) => [
        metricLabel(m.metric, r.kernels.length),
        number(m.total[0]),
        number(m.total[1]),
        change(...m.total),
        m.ratio === null ? '' : percent(m.ratio),
        String(m.helped),
        String(m.hurt),
        String(m.unchanged),
      ]),
      'lrrrrrrr',
    ),
  );
  if (r.noisy.length > 0)
    out.push(
      '',
      ...tableRows(
        ['noisy metric', 'A', 'B', 'change', '95 % interval', 'significant'],
        r.noisy.map((n) => [
          `${n.metric.name}, ${n.metric.unit}`,
          number(n.total[0]),
          number(n.total[1]),
          percent(n.ratio),
          interval(n),
          n.significant ? 'yes' : 'no',
        ]),
        'lrrrrr',
      ),
    );
  const moved = sorted(r)
    .filter((k) => k.verdict !== 'unchanged' || k.why !== null)
    .reverse();
  if (moved.length > 0) {
    out.push('', '<details><summary>Kernel by kernel</summary>', '');
    out.push(
      ...tableRows(
        ['kernel', r.by.name, 'change', '', 'first phase that differs'],
        moved.map((k) => [
          markdownCode(k.label),
          valuesText(r, k).replace('->', '→'),
          k.values[r.by.name] === undefined ? '' : change(...k.values[r.by.name]),
          k.verdict,
          k.why === null
            ? ''
            : markdownText(`${k.why.phase}${k.why.because.length > 0 ? ` (${k.why.because[0]})` : ''}`),
        ]),
        'lrrll',
      ),
      '',
      '</details>',
    );
    for (const k of moved.slice(0, 3))
      if (k.why !== null) {
        const shown = k.why.diff.slice(0, MOST_LINES);
        out.push(
          '',
          `<details><summary>${markdownText(k.label)}: after ${markdownText(k.why.phase)}</summary>`,
          '',
          `A ${markdownText(k.why.a)}; B ${markdownText(k.why.b)}`,
          '',
          ...markdownBlock(
            [
              ...shown.map((l) => visible(diffLineText(l))),
              ...(k.why.diff.length > shown.length
                ? [`  ... ${k.why.diff.length - shown.length} more lines`]
                : []),
            ].join('\n'),
            'diff',
          ),
          '',
          '</details>',
        );
      }
  }
  return `${out.join('\n')}\n`;
}
