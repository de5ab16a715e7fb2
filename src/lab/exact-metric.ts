import type { Issues, Spot } from '../spec/issues.ts';
import { METRICS, type Metric, metricOf } from './metrics.ts';

/**
 * The exact kernel metric that a spec names.
 *
 * @param code issue code for a metric of another kind
 * @returns one metric, or none and an issue
 */
export function exactMetric(name: string, at: Spot, issues: Issues, code: string): Metric[] {
  const m = metricOf(name);
  if (m === undefined) {
    const names = METRICS.map((x) => x.name);
    const message = `there is no metric '${name}'`;
    issues.unknown(at, 'unknown-metric', message, name, names, '`orrery measure --json` has all');
    return [];
  }
  if (m.noisy || m.of === 'module') {
    issues.error(at, code, `'${name}' decides nothing here: it is not an exact metric of a kernel`);
    return [];
  }
  return [m];
}
