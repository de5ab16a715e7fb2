import type { SpecFile } from '../spec/document.ts';
import type { Issues, Spot } from '../spec/issues.ts';
import type { RecipeSpec } from '../spec/types.generated.ts';
import { METRICS, type Metric, metricOf } from './metrics.ts';

/** Reports metrics under `measured` of a recipe that do not exist or are noisy. */
export function checkMeasured(spec: SpecFile, issues: Issues): void {
  const { measured } = spec.data as Partial<RecipeSpec.Recipe>;
  measured?.kernels.forEach(({ values }, i) => {
    for (const name of Object.keys(values)) {
      const at = { file: spec, path: ['measured', 'kernels', i, 'values', name] };
      const m = namedMetric(name, at, issues, true);
      if (m?.noisy === true)
        issues.error(at, 'metric-noisy', `'${name}' differs from run to run, so it cannot be reproduced`, {
          key: true,
        });
    }
  });
}

/** The metric that a spec names; undefined, with an issue, if it does not exist. */
function namedMetric(name: string, at: Spot, issues: Issues, key = false): Metric | undefined {
  const m = metricOf(name);
  if (m === undefined)
    issues.unknown(
      at,
      'unknown-metric',
      `there is no metric '${name}'`,
      name,
      METRICS.map((x) => x.name),
      '`orrery measure --json` has all',
      { key },
    );
  return m;
}

/**
 * The exact kernel metric that a spec names.
 *
 * @param code issue code for a metric that is noisy or describes a module
 * @returns a list of one metric; empty, with an issue, if there is no such metric or it is of another kind
 */
export function exactMetric(name: string, at: Spot, issues: Issues, code: string): Metric[] {
  const m = namedMetric(name, at, issues);
  if (m === undefined) return [];
  if (m.noisy || m.of === 'module') {
    issues.error(at, code, `'${name}' cannot decide here: it is not an exact metric of a kernel`);
    return [];
  }
  return [m];
}
