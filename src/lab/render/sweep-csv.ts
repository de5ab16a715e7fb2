import type { Experiment } from '../experiment.ts';
import type { FinishedCell } from '../sweep.ts';
import type { SweepReport } from '../sweep-report.ts';
import { csvOf, type Field } from './csv.ts';

/**
 * The results of a sweep as CSV: a row for each kernel under each arm, with the level of each factor, the value of each metric, and whether
 * the kernel behaves correctly. The last columns describe the whole arm: totals, and geometric mean ratios to the base. For a module under
 * an arm without a legal plan there is one row without a kernel.
 *
 * @param makers the programs behind the figures
 */
export function sweepCsv(
  e: Experiment,
  cells: readonly FinishedCell[],
  r: SweepReport,
  makers: string,
): string {
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
    ...metrics.flatMap((m) => [`arm total ${m}`, `arm ratio ${m}`]),
    'made by',
  ];
  const rows = [...cells]
    .sort((a, b) => a.arm - b.arm || (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
    .flatMap(({ arm, file, result }): Field[][] => {
      const { choice } = e.arms[arm];
      const about = [
        arm,
        r.scores[arm].name,
        front.has(arm),
        r.scores[arm].refused,
        ...factors.map((f) => choice.get(f)?.name ?? ''),
        file,
      ];
      const { total, ratio } = r.scores[arm];
      const ofArm = metrics.flatMap((m) => [total[m], ratio[m]]);
      if ('illegal' in result)
        return [
          [...about, '', ...metrics.map(() => ''), '', '', result.illegal, ...ofArm.map(() => ''), makers],
        ];
      return result.kernels.map((k) => [
        ...about,
        k.kernel,
        ...metrics.map((m) => k.values[m] ?? ''),
        k.equal.ok,
        k.equal.by,
        k.equal.note,
        ...ofArm,
        makers,
      ]);
    });
  return csvOf([head, ...rows]);
}
