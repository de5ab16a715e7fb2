import type { PlanPhase } from '../../src/spec/plan.ts';
import type { Specs } from '../../src/spec/resolve.ts';
import type { ConstraintsSpec, PhasesSpec } from '../../src/spec/types.generated.ts';

/** Numbers from 0 to 1 from a seed (mulberry32). */
function random(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Number of restarts when a partial order cannot be completed. */
const MOST_TRIES = 200;

/**
 * All phases in a random order that satisfies the constraints of severity error, and in which each bound phase finds the IR properties that
 * it needs: phases are drawn one after another from those that may come next. Constraints that are warnings are ignored, since results stay
 * right without them.
 *
 * @param phases of a plan of the order whose constraints apply
 * @returns ids; null if all attempts ended in dead ends
 */
export function shuffledOrder(
  specs: Specs,
  order: string,
  phases: readonly PlanPhase[],
  seed: number,
): string[] | null {
  const next = random(seed);
  const firsts = new Map<string, number>();
  phases.forEach((p, i) => {
    if (!firsts.has(p.name)) firsts.set(p.name, i);
  });
  const before: number[][] = phases.map(() => []);
  for (const c of specs.constraints.data.constraints as readonly ConstraintsSpec.Constraint[]) {
    if (c.severity === 'warning' || c.orders?.includes(order) === false) continue;
    const [a, b] = [firsts.get(c.before), firsts.get(c.after)];
    if (a !== undefined && b !== undefined) before[b].push(a);
  }
  const initial = Object.entries(
    specs.phases.data.properties as Readonly<Record<string, PhasesSpec.IRProperty>>,
  ).flatMap(([name, p]) => (p.initial === true ? [name] : []));
  for (let k = 0; k < MOST_TRIES; k++) {
    const found = attempt(phases, before, initial, next);
    if (found !== null) return found.map((i) => phases[i].id);
  }
  return null;
}

function attempt(
  phases: readonly PlanPhase[],
  before: readonly (readonly number[])[],
  initial: readonly string[],
  next: () => number,
): number[] | null {
  const holds = new Set(initial);
  const left = new Set(phases.keys());
  const out: number[] = [];
  const needs = (i: number): readonly string[] => (phases[i].steps.length > 0 ? phases[i].requires : []);
  while (left.size > 0) {
    const may = [...left].filter(
      (i) =>
        before[i].every((b) => !left.has(b)) &&
        needs(i).every((p) => holds.has(p)) &&
        phases[i].destroys.every((p) => leavesAWay(p, i, left, phases, needs)),
    );
    if (may.length === 0) return null;
    const i = may[Math.floor(next() * may.length)];
    left.delete(i);
    out.push(i);
    for (const p of phases[i].destroys) holds.delete(p);
    for (const p of phases[i].provides) holds.add(p);
  }
  return out;
}

/** A property may be lost if no remaining phase needs it, or a remaining phase restores it. */
function leavesAWay(
  property: string,
  by: number,
  left: ReadonlySet<number>,
  phases: readonly PlanPhase[],
  needs: (i: number) => readonly string[],
): boolean {
  const rest = [...left].filter((i) => i !== by);
  return (
    phases[by].provides.includes(property) ||
    rest.every((i) => !needs(i).includes(property)) ||
    rest.some((i) => phases[i].provides.includes(property))
  );
}
