import { controlIsLast } from '../analysis/flow/cfg.ts';
import { loopsOf, preheader } from '../analysis/loops/loops.ts';
import { type DiagnosticError, fileError } from '../ir/diagnostic.ts';
import { isPhi } from '../ir/flow.ts';
import type { Fn, Program } from '../ir/program.ts';
import { dispatchPosition } from '../spec/phase-names.ts';
import { hasWork, neverRuns } from '../spec/phases.ts';
import type { Plan } from '../spec/plan.ts';
import { verifySsa } from '../ssa/verify.ts';

/** The state in which a run starts, including the effects of phases that it leaves out. */
export interface Start {
  /** Position of the first phase. */
  readonly first: number;
  /** IR properties that the program has. */
  readonly properties: ReadonlySet<string>;
  readonly progress: number;
  /** Ids of left-out phases that may have changed something. */
  readonly changed: ReadonlySet<string>;
}

const BEGIN: Start = { first: 0, properties: new Set(), progress: 0, changed: new Set() };

/** IR properties that can be checked on a program. */
const CHECKS: Readonly<Record<string, (fn: Fn) => boolean>> = {
  'control-last': controlIsLast,
  'phi-free': (fn) => !fn.blocks.some((b) => b.ins.some(isPhi)),
  ssa: (fn) => verifySsa(fn).length === 0,
  'loop-form': (fn) => {
    const forest = loopsOf(fn);
    const tangled = new Set(forest.irreducible.flatMap((r) => r.blocks));
    return forest.loops.every(
      (l) => tangled.has(l.header) || (l.latches.length === 1 && preheader(forest, l.id) >= 0),
    );
  },
};

/**
 * The start of a run that leaves out the phases before a given one: the program is taken for their output. Properties that later phases
 * require are checked on the program; properties that cannot be checked, such as `legal`, hold if the plan says so.
 *
 * @param name id of the phase to start with, ignoring case; undefined: the first; an unknown name means phase 158, which does nothing
 * @throws DiagnosticError if the program lacks a property that a phase requires
 */
export function startAt(plan: Plan, name: string | undefined, program: Program): Start {
  const first = name === undefined ? 0 : dispatchPosition(plan, name);
  if (first === 0) return BEGIN;
  const runs = plan.phases.map((p) => neverRuns(p, plan.level, plan.backend) === null);
  const have = new Set<string>();
  const skipped = plan.phases.slice(0, first).filter((_, i) => runs[i]);
  for (const p of skipped) {
    for (const d of p.destroys) have.delete(d);
    for (const x of p.provides) have.add(x);
  }
  for (const [property, holds] of Object.entries(CHECKS))
    if (program.functions.every(holds)) have.add(property);
    else have.delete(property);
  const properties = new Set(have);
  for (const [i, p] of plan.phases.entries()) {
    if (i < first || !runs[i]) continue;
    const lacking = hasWork(p) ? p.requires.find((r) => !have.has(r)) : undefined;
    if (lacking !== undefined) throw lack(plan, program, p.id, lacking, first);
    for (const d of p.destroys) have.delete(d);
    for (const x of p.provides) have.add(x);
  }
  const progress = skipped.reduce((n, p) => p.progress ?? n, 0);
  return { first, properties, progress, changed: new Set(skipped.map((p) => p.id)) };
}

function lack(plan: Plan, program: Program, phase: string, property: string, first: number): DiagnosticError {
  const providers = plan.phases.slice(0, first).filter((p) => p.provides.includes(property));
  const message = `the program lacks the IR property '${property}', which phase '${phase}' needs`;
  const names = providers.map((p) => `${p.id} (position ${p.position})`).join(' and ');
  const notes = providers.length === 0 ? [] : [`${names} would have provided it`];
  return fileError(program.name, message, notes, 'ir-property');
}
