import type { Entry } from './entries.ts';
import type { HookFilling } from './hooks.ts';
import type { Issues, Spot } from './issues.ts';
import { hasWork, neverRuns } from './phases.ts';
import type { Backend, PlanPhase } from './plan.ts';
import type { Specs } from './specs.ts';
import type { Off } from './switches.ts';
import type { PhasesSpec } from './types.generated.ts';

/** A property that does not hold where phases need it. */
interface Lack {
  readonly property: string;
  /** Positions of the phases that need it, in order. */
  readonly needy: number[];
  /** Position of the phase that destroyed it; null where nothing has provided it. */
  readonly lost: number | null;
  /** Line to blame. */
  readonly blamed: Spot;
}

/** The phases of an order, position by position, and what says which of them run and what fills them. */
interface Walk {
  readonly phases: readonly PlanPhase[];
  readonly entries: readonly Entry[];
  readonly off: ReadonlyMap<string, Off>;
  readonly hooks: ReadonlyMap<string, HookFilling>;
  /** Why a phase cannot run at this level or on this target. */
  readonly shut: readonly (string | null)[];
  readonly table: Readonly<Record<string, PhasesSpec.IRProperty>>;
}

/**
 * Follows the IR properties along the order. What a phase requires must hold from the start or be provided by an earlier phase, with
 * nothing in between that destroys it; phases with nothing bound require nothing, but provide and destroy what their rows declare.
 * A phase that cannot run at this level or on this target does neither. A required phase that is switched off counts as if it
 * ran, because switching it off is already an error.
 */
export function checkProperties(
  specs: Specs,
  phases: readonly PlanPhase[],
  entries: readonly Entry[],
  off: ReadonlyMap<string, Off>,
  hooks: ReadonlyMap<string, HookFilling>,
  pairs: readonly (readonly [before: string, after: string])[],
  level: number,
  backend: Backend,
  issues: Issues,
): void {
  const table = specs.phases.data.properties as Readonly<Record<string, PhasesSpec.IRProperty>>;
  const shut = phases.map((p) => (p.required && p.disabled !== null ? null : neverRuns(p, level, backend)));
  const walk = { phases, entries, off, hooks, shut, table };
  for (const lack of findLacks(walk)) {
    const [first, ...others] = lack.needy.map((i) => `'${phases[i].id}'`);
    const providers = phases.flatMap((x, k) =>
      x.provides.includes(lack.property)
        ? [`${x.id} (position ${k}${shut[k] === null ? '' : `, which does not run: ${shut[k]}`})`]
        : [],
    );
    const also = others.length === 0 ? [] : [`so do ${others.join(', ')}`];
    issues.error(
      lack.blamed,
      'ir-property',
      `phase ${first} (position ${lack.needy[0]}) needs the IR property '${lack.property}', which does not hold there`,
      {
        label: table[lack.property]?.means,
        notes: [
          ...also,
          lack.lost === null
            ? 'nothing before it provides it'
            : `${phases[lack.lost].id} (position ${lack.lost}) destroys it`,
          `provided by ${providers.join(', ') || 'no phase of this order'}`,
          ...nearestLegal(lack.blamed, walk, pairs),
        ],
      },
    );
  }
}

/** For a phase that an edit has put somewhere: the nearest place where it would do, if it is that edit alone that is wrong. */
function nearestLegal(
  blamed: Spot,
  walk: Walk,
  pairs: readonly (readonly [before: string, after: string])[],
): string[] {
  const { phases, entries, shut } = walk;
  const at = entries.findIndex((x) => x.origin.path[0] === 'edits' && sameSpot(x.origin, blamed));
  if (at < 0) return [];
  const rest = [...entries.keys()].filter((i) => i !== at);
  const keeps = (order: readonly number[]): boolean => {
    const first = new Map<string, number>();
    order.forEach((i, k) => {
      if (entries[i].dropped === null && !first.has(entries[i].name)) first.set(entries[i].name, k);
    });
    const kept = pairs.every(
      ([b, a]) => !((first.get(b) ?? -1) > (first.get(a) ?? Number.POSITIVE_INFINITY)),
    );
    const of = <T>(list: readonly T[]): T[] => order.map((i) => list[i]);
    const moved = { ...walk, phases: of(phases), entries: of(entries), shut: of(shut) };
    return kept && findLacks(moved).length === 0;
  };
  for (let d = 1; d < entries.length; d++)
    for (const to of [at - d, at + d]) {
      if (to < 0 || to > rest.length || !keeps([...rest.slice(0, to), at, ...rest.slice(to)])) continue;
      const place = to < at ? `before ${entries[rest[to]].id}` : `after ${entries[rest[to - 1]].id}`;
      return [`nearest legal place: ${place} (position ${to < at ? rest[to] : rest[to - 1]})`];
    }
  return ['no place of this order is legal for it'];
}

function findLacks(walk: Walk): Lack[] {
  const { phases, shut, table } = walk;
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

/** What caused it: what fills the phase, a hook; the edit that placed it, or what destroys, or a provider; a provider's switch; else its line. */
function blame(
  property: string,
  needy: number,
  lost: number | null,
  { phases, entries, off, hooks }: Walk,
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

const sameSpot = (a: Spot, b: Spot): boolean => a.file === b.file && a.path.join('\n') === b.path.join('\n');
