import type { SpecIssue, Spot } from './issues.ts';
import { hasWork, neverRuns } from './phases.ts';
import type { Backend, PlanPhase } from './plan.ts';
import type { OrderWalk } from './walk.ts';

/** An IR property that does not hold where phases require it. */
export interface Lack {
  readonly property: string;
  /** Positions of the phases that require it, in order. */
  readonly needy: number[];
  /** Position of the phase that destroyed it; null if no phase has provided it. */
  readonly lost: number | null;
  /** The location to blame. */
  readonly blamed: Spot;
}

/** For each phase, why it cannot run at a level and on a target; null if it can. */
export const shutOf = (
  phases: readonly PlanPhase[],
  level: number,
  backend: Backend,
): readonly (string | null)[] =>
  phases.map((p) => (p.required && p.disabled !== null ? null : neverRuns(p, level, backend)));

/** The issue that reports a missing property. */
export function lackIssue({ property, needy, lost, blamed }: Lack, walk: OrderWalk): SpecIssue {
  const { phases, shut, table } = walk;
  const [first, ...others] = needy.map((i) => `'${phases[i].id}'`);
  const providers = phases.flatMap((x, k) => {
    const why = shut?.[k] ?? null;
    return x.provides.includes(property)
      ? [`${x.id} (position ${k}${why === null ? '' : `, which does not run: ${why}`})`]
      : [];
  });
  return {
    severity: 'error',
    code: 'ir-property',
    message: `phase ${first} (position ${needy[0]}) needs the IR property '${property}', which does not hold there`,
    file: blamed.file,
    path: blamed.path,
    subject: property,
    label: table[property]?.means,
    notes: [
      ...(others.length === 0 ? [] : [`so do ${others.join(', ')}`]),
      lost === null ? 'nothing before it provides it' : `${phases[lost].id} (position ${lost}) destroys it`,
      `provided by ${providers.join(', ') || 'no phase of this order'}`,
    ],
  };
}

/**
 * Tracks the IR properties along the order. A property that a phase requires must hold initially or be provided by an earlier phase, and no
 * phase in between may destroy it. Phases with nothing bound require nothing, but provide and destroy what their rows declare. A phase that
 * cannot run at this level or on this target has no effect. A required phase that is switched off counts as running, because switching it
 * off is an error of its own.
 */
export function findLacks(walk: OrderWalk): Lack[] {
  const { phases, shut, table } = walk;
  if (shut === null) return [];
  const have = new Set(Object.keys(table).filter((p) => table[p].initial === true));
  const lostAt = new Map<string, number>();
  const lacks: Lack[] = [];
  phases.forEach((p, i) => {
    if (shut[i] !== null) return;
    for (const property of hasWork(p) ? p.requires : []) {
      if (have.has(property)) continue;
      const lost = lostAt.get(property) ?? null;
      const blamed = blame(property, i, lost, walk);
      const known = lacks.find((x) => x.property === property && sameSpot(x.blamed, blamed));
      if (known === undefined) lacks.push({ property, needy: [i], lost, blamed });
      else known.needy.push(i);
    }
    for (const d of p.destroys) {
      have.delete(d);
      lostAt.set(d, i);
    }
    for (const x of p.provides) {
      have.add(x);
      lostAt.delete(x);
    }
  });
  return lacks;
}

/**
 * The location that caused a missing property. The first that exists of: what fills the hook that requires or destroys it; the edit that
 * placed the requiring phase, the destroying phase or a provider; the setting that switched a provider off; the requiring phase itself.
 */
function blame(
  property: string,
  needy: number,
  lost: number | null,
  { phases, entries, off, hooks }: OrderWalk,
): Spot {
  const providers = phases.flatMap((p, k) => (p.provides.includes(property) ? [k] : []));
  const suspects = [needy, ...(lost === null ? [] : [lost]), ...providers];
  const filled = [needy, ...(lost === null ? [] : [lost])]
    .map((k) => hooks.get(phases[k].id))
    .find((x) => x !== undefined);
  if (filled !== undefined) return filled.at;
  const edited = suspects.find((k) => entries[k].origin.path[0] === 'edits');
  if (edited !== undefined) return entries[edited].origin;
  const switched = providers.map((k) => off.get(phases[k].id)).find((x) => x !== undefined);
  return switched?.at ?? entries[needy].origin;
}

/** True if two locations have the same file and path. */
export const sameSpot = (a: Spot, b: Spot): boolean =>
  a.file === b.file && a.path.join('\n') === b.path.join('\n');
