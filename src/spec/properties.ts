import type { Issues } from './issues.ts';
import type { Entry } from './order.ts';
import { hasWork, neverRuns } from './phases.ts';
import type { Backend, PlanPhase } from './plan.ts';
import type { Specs } from './specs.ts';
import type { PhasesSpec } from './types.generated.ts';

/**
 * Follows the IR properties along the order: what a phase with something bound requires must hold from the start or have
 * been provided, and not have been destroyed since. A phase that cannot run at this level or on this target neither
 * provides nor destroys; one that has nothing bound yet counts by what its row declares.
 */
export function checkProperties(
  specs: Specs,
  phases: readonly PlanPhase[],
  entries: readonly Entry[],
  level: number,
  backend: Backend,
  issues: Issues,
): void {
  const table = specs.phases.data.properties as Readonly<Record<string, PhasesSpec.IRProperty>>;
  const have = new Set(Object.keys(table).filter((p) => table[p].initial === true));
  const lostAt = new Map<string, string>();
  const shut = phases.map((p) => neverRuns(p, level, backend));
  phases.forEach((p, i) => {
    if (shut[i] !== null) return;
    if (hasWork(p))
      for (const need of p.requires) {
        if (have.has(need)) continue;
        const providers = phases.flatMap((x, k) =>
          x.provides.includes(need)
            ? [
                `${x.id} (position ${x.position}${shut[k] === null ? '' : `, which does not run: ${shut[k]}`})`,
              ]
            : [],
        );
        const lost = lostAt.get(need);
        issues.error(
          entries[i].origin,
          'ir-property',
          `phase '${p.id}' needs the IR property '${need}', which does not hold there`,
          {
            label: table[need]?.means,
            notes: [
              lost === undefined ? 'nothing before it provides it' : `${lost} destroys it`,
              `provided by ${providers.join(', ') || 'no phase of this order'}`,
            ],
          },
        );
      }
    for (const d of p.destroys) {
      have.delete(d);
      lostAt.set(d, p.id);
    }
    for (const x of p.provides) have.add(x);
  });
}
