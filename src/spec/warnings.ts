import type { HookFilling } from './hooks.ts';
import type { Issues, Spot } from './issues.ts';
import { type KnobTable, MANAGER_KNOB } from './knobs.ts';
import { hasWork, neverRuns } from './phases.ts';
import type { Backend, PlanPhase } from './plan.ts';
import { KEEP_FAULTS } from './ptxas-faults.ts';
import { REPORT_KNOBS } from './report-knobs.ts';

/** Knobs that the resolver, the dispatcher and the PTX output read. */
const READ_HERE = ['DisablePhases', 'NamedPhases', MANAGER_KNOB, ...REPORT_KNOBS, KEEP_FAULTS];

/** Names of the knobs that the resolver or a phase that runs may read. */
export function knobsReadBy(
  phases: readonly PlanPhase[],
  level: number,
  backend: Backend,
): ReadonlySet<string> {
  const read = new Set(READ_HERE);
  for (const p of phases)
    if (hasWork(p) && neverRuns(p, level, backend) === null) {
      for (const k of p.knobs) read.add(k);
      for (const g of [p.gate.only, p.gate.also]) if (g !== null) read.add(g.knob);
      for (const k of [...p.gate.unset, ...p.gate.set, ...p.gate.nonzero, ...p.gate.budget]) read.add(k);
    }
  return read;
}

/**
 * Warns about knobs that are set although no phase that runs may read them. Knobs of back ends are exempt.
 *
 * @param read the result of `knobsReadBy` for the phases
 */
export function warnUnread(
  phases: readonly PlanPhase[],
  read: ReadonlySet<string>,
  table: KnobTable,
  issues: Issues,
): void {
  for (const [name, at] of table.spots) {
    const k = table.knobs.get(name)!;
    if (k.origin.source === 'backend') continue;
    if (k.unread) {
      issues.warning(
        at,
        'knob-unread',
        `knob ${name} is set (${k.origin.source}), but nothing reads it yet`,
        {
          key: true,
        },
      );
      continue;
    }
    if (read.has(name)) continue;
    const readers = phases.filter((p) => p.knobs.includes(name)).map((p) => p.id);
    issues.warning(
      at,
      'knob-unread',
      `knob ${name} is set (${k.origin.source}), but no phase that runs reads it`,
      { key: true, notes: readers.length > 0 ? [`${readers.join(', ')} may read it, but does not run`] : [] },
    );
  }
}

/**
 * Warns about filled hooks in phases that cannot run on this target or at this level, unless another phase that can provides the same, as
 * row 116 does at level 0 for row 115.
 */
export function warnIdleHooks(
  phases: readonly PlanPhase[],
  hooks: ReadonlyMap<string, HookFilling>,
  level: number,
  backend: Backend,
  issues: Issues,
): void {
  for (const p of phases) {
    const filling = hooks.get(p.id);
    const why = filling === undefined ? null : neverRuns(p, level, backend);
    if (
      why !== null &&
      !phases.some((q) => providesAll(q, p) && hasWork(q) && neverRuns(q, level, backend) === null)
    )
      issues.warning(filling!.at, 'hook-idle', `hook '${p.id}' is filled, but never runs: ${why}`, {
        key: true,
      });
  }
}

/** True if a phase provides all that another does, which is something. */
const providesAll = (p: PlanPhase, other: PlanPhase): boolean =>
  p !== other && other.provides.length > 0 && other.provides.every((x) => p.provides.includes(x));

/** Warns about phases that a recipe enables but in which nothing would run. */
export function warnIdleSwitches(
  phases: readonly PlanPhase[],
  enabled: ReadonlyMap<string, Spot>,
  level: number,
  backend: Backend,
  issues: Issues,
): void {
  for (const p of phases) {
    const at = enabled.get(p.id);
    if (at === undefined) continue;
    const why = hasWork(p) ? neverRuns(p, level, backend) : 'nothing is bound to it';
    if (why !== null)
      issues.warning(at, 'switch-idle', `phase '${p.id}' is enabled, but never runs: ${why}`, {
        subject: p.id,
      });
  }
}
