import type { AbResult, KernelPair } from '../ab.ts';
import { METRICS } from '../metrics.ts';
import { planHashes } from './ab-words.ts';
import { csvOf, type Field } from './csv.ts';

/**
 * An A/B result as CSV: a row for each kernel, with each exact metric under A and B, the verdict by the deciding metric, and whether the
 * kernel behaves as before any phase. The last columns say what the figures are of.
 *
 * @param makers the programs behind the figures
 */
export function abCsv(r: AbResult, makers: string): string {
  const metrics = METRICS.filter((m) => r.kernels.some((k) => k.values[m.name] !== undefined)).map(
    (m) => m.name,
  );
  const arms = [0, 1] as const;
  const head = [
    'file',
    'kernel',
    `by ${r.by.name}`,
    ...metrics.flatMap((m) => [`${m} A`, `${m} B`]),
    ...['A', 'B'].flatMap((arm) => [`right ${arm}`, `judged by ${arm}`, `note ${arm}`]),
    'plan A',
    'plan B',
    'made by',
  ];
  const row = (k: KernelPair): Field[] => [
    k.file,
    k.kernel,
    k.verdict,
    ...metrics.flatMap((m) => arms.map((i) => k.values[m]?.[i] ?? '')),
    ...arms.flatMap((i) => [k.equal[i].ok, k.equal[i].by, k.equal[i].note]),
    ...r.arms.map(planHashes),
    makers,
  ];
  return csvOf([head, ...r.kernels.map(row)]);
}
