import { rangeText } from '../engine/gate.ts';
import { nearest } from '../ir/diagnostic.ts';
import type { Plan, PlanPhase, Step } from '../spec/plan.ts';
import type { StepSpec } from '../spec/steps.ts';
import { failWith, out, pc, table } from './ui.ts';

const PAINT: Readonly<Record<PlanPhase['status'], (s: string) => string>> = {
  implemented: pc.green,
  partial: pc.yellow,
  marker: pc.dim,
  'not-applicable': pc.dim,
  unbound: pc.red,
};

/** The table of `orrery phases`: every row of the plan in order, and what runs there. */
export function printPhases(plan: Plan, opts: { json?: boolean; status?: string }): void {
  if (opts.status !== undefined && PAINT[opts.status as PlanPhase['status']] === undefined) {
    const near = nearest(opts.status, Object.keys(PAINT)).map((n) => `did you mean '${n}'?`);
    failWith(
      `no phase has status '${opts.status}'`,
      ...near,
      `it is one of ${Object.keys(PAINT).join(', ')}`,
    );
  }
  const rows = plan.phases.filter((p) => opts.status === undefined || p.status === opts.status);
  if (opts.json === true) {
    out(JSON.stringify(rows.map(phaseJson), null, 2));
    return;
  }
  const head = ['pos', '#', 'true', 'phase', 'category', 'status', 'runs', 'gate'].map((h) => pc.bold(h));
  const body = rows.map((p) => [
    String(p.position),
    p.index === null ? '' : String(p.index),
    p.trueIndex === null ? '' : String(p.trueIndex),
    p.id,
    p.category,
    PAINT[p.status](p.status),
    workOf(p) || pc.dim('-'),
    gateText(p),
  ]);
  out(table([head, ...body], 'rrrlllll'));
  const count = (s: PlanPhase['status']) => plan.phases.filter((p) => p.status === s).length;
  out(
    `\n${plan.phases.length} rows in order '${plan.order}': ${count('implemented')} implemented, ${count('partial')} partial, ${count('marker')} markers, ${count('not-applicable')} not applicable, ${count('unbound')} with nothing bound yet`,
  );
  for (const p of rows) if (p.status === 'partial' && p.statusNote !== '') out(`  ${p.id}: ${p.statusNote}`);
}

/** Rule groups that are named; of more the number is said. */
const MOST_GROUPS = 3;

/** What a phase runs, in a line. */
export const workOf = (p: PlanPhase): string => p.steps.map(stepText).join(' + ');

/** What steps of a hook, as a recipe writes them, run. */
export const stepsText = (steps: unknown): string =>
  (steps as readonly StepSpec[])
    .map((s) => {
      if (s.inherited === true) return 'inherited';
      if (s.use !== undefined) return `use ${s.use}`;
      if (s.repeat !== undefined) return `up to ${s.rounds} times (${stepsText(s.repeat)})`;
      return s.pass ?? (s.rules ?? []).map((g) => `rules:${g}`).join(' + ');
    })
    .join(' + ');

function stepText(s: Step): string {
  if (s.kind === 'pass') return s.pass;
  if (s.kind === 'repeat') return `up to ${s.rounds} times (${s.steps.map(stepText).join(' + ')})`;
  const shown = s.groups.length > MOST_GROUPS ? s.groups.slice(0, MOST_GROUPS - 1) : s.groups;
  const more = s.groups.length - shown.length;
  return [...shown.map((g) => `rules:${g}`), ...(more > 0 ? [`${more} more groups`] : [])].join(' + ');
}

function gateText(p: PlanPhase): string {
  const parts: string[] = [];
  if (p.disabled !== null) parts.push(pc.yellow(`off: ${p.disabled.why}`));
  if (p.gate.levels !== null) parts.push(`level ${rangeText(p.gate.levels)}`);
  if (p.gate.unset.length > 0) parts.push(`unset ${p.gate.unset.join(', ')}`);
  if (p.gate.set.length > 0) parts.push(`set ${p.gate.set.join(', ')}`);
  for (const f of p.gate.facts) parts.push(`${f.path} = ${JSON.stringify(f.equals)}`);
  if (p.gate.budget.length > 0) parts.push(`budget ${p.gate.budget.join(', ')}`);
  return parts.join('; ');
}

const stepJson = (s: Step): object => {
  if (s.kind === 'pass') return { pass: s.pass, params: s.params };
  return s.kind === 'rules' ? { rules: s.groups } : { repeat: s.steps.map(stepJson), rounds: s.rounds };
};

/** One row for scripts. */
export const phaseJson = (p: PlanPhase) => ({
  position: p.position,
  id: p.id,
  index: p.index,
  trueIndex: p.trueIndex,
  category: p.category,
  status: p.status,
  statusNote: p.statusNote,
  steps: p.steps.map(stepJson),
  gate: p.gate,
  knobs: p.knobs,
  ruleBudget: p.ruleBudget,
  facts: p.facts,
  requires: p.requires,
  provides: p.provides,
  destroys: p.destroys,
  hook: p.hook,
  required: p.required,
  disabled: p.disabled,
});
