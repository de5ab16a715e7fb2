import { visible } from '../../ir/quote.ts';
import type { Experiment } from '../experiment.ts';
import type { FinishedCell } from '../sweep.ts';
import type { SweepReport } from '../sweep-report.ts';

/** A text that is a number, such as the level of a factor. */
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i;

/**
 * A value as a field of CSV (RFC 4180). Names come from files of others, and a spreadsheet runs what begins as a formula: an apostrophe
 * before it makes it a text there.
 */
const field = (v: string | number | boolean): string => {
  const text = visible(String(v));
  const s = /^\s*[-=+@]/.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
};

/**
 * The results of a sweep as a table: a row for each kernel under each arm, with the level of each factor, the value of each metric and
 * whether the kernel is right. An arm that is no plan has one row, without a kernel.
 */
export function sweepCsv(e: Experiment, cells: readonly FinishedCell[], r: SweepReport): string {
  const front = new Set(r.front.map((s) => s.arm));
  const factors = e.factors.map((f) => f.name);
  const metrics = r.metrics.map((m) => m.name);
  const head = [
    'arm',
    'name',
    'front',
    'refused',
    ...factors.map((f) => `factor ${f}`),
    'file',
    'kernel',
    ...metrics,
    'right',
    'judged by',
    'note',
  ];
  const rows = [...cells]
    .sort((a, b) => a.arm - b.arm || (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
    .flatMap(({ arm, file, result }): (string | number | boolean)[][] => {
      const { choice } = e.arms[arm];
      const about = [
        arm,
        r.scores[arm].name,
        front.has(arm),
        r.scores[arm].refused,
        ...factors.map((f) => choice.get(f)?.name ?? ''),
        file,
      ];
      if ('illegal' in result) return [[...about, '', ...metrics.map(() => ''), '', '', result.illegal]];
      return result.kernels.map((k) => [
        ...about,
        k.kernel,
        ...metrics.map((m) => k.values[m] ?? ''),
        k.equal.ok,
        k.equal.by,
        k.equal.note,
      ]);
    });
  return `${[head, ...rows].map((row) => row.map(field).join(',')).join('\r\n')}\r\n`;
}
