import { nearest } from '../../ir/diagnostic.ts';
import { conditionsOf, conditionText } from '../../spec/gates.ts';
import { type Plan, type PlanPhase, roundsText, type Step } from '../../spec/plan.ts';
import type { StepSpec } from '../../spec/steps.ts';
import { table, tableAbove } from '../terminal/table.ts';
import { failWith, out, pc, USUAL_COLUMNS } from '../terminal/ui.ts';

const PAINT: Readonly<Record<PlanPhase['status'], (s: string) => string>> = {
  implemented: pc.green,
  partial: pc.yellow,
  marker: pc.dim,
  'not-applicable': pc.dim,
  unbound: pc.red,
};

export interface PhasesOptions {
  readonly json?: boolean;
  readonly status?: string;
  readonly category?: string;
  readonly wide?: boolean;
}

/** Minimum terminal width at which categories, gates and steps fit next to the phase. */
const ALL_BESIDE = 140;
/** Indentation of the line of steps below a phase: the width of the number columns. */
const BELOW = 11;

/** The table of `orrery phases`: every row of the plan in order, with its steps. It is at most as wide as the terminal. */
export function printPhases(plan: Plan, opts: PhasesOptions): void {
  known('status', opts.status, Object.keys(PAINT));
  known('category', opts.category, [...new Set(plan.phases.map((p) => p.category))]);
  const rows = plan.phases.filter(
    (p) =>
      (opts.status === undefined || p.status === opts.status) &&
      (opts.category === undefined || p.category.toLowerCase() === opts.category.toLowerCase()),
  );
  if (opts.json === true) {
    out(JSON.stringify(rows.map(phaseJson), null, 2));
    return;
  }
  const width = opts.wide === true ? Number.POSITIVE_INFINITY : process.stdout.columns || USUAL_COLUMNS;
  out(width >= ALL_BESIDE ? wholeTable(rows, width) : narrowTable(rows, width));
  const count = (s: PlanPhase['status']) => plan.phases.filter((p) => p.status === s).length;
  out('');
  out(
    wrapped(
      `${plan.phases.length} rows in order '${plan.order}': ${count('implemented')} implemented, ${count('partial')} partial, ${count('marker')} markers, ${count('not-applicable')} not applicable, ${count('unbound')} with nothing bound yet`,
      width,
    ),
  );
  if (opts.wide === true) {
    for (const p of rows)
      if (p.status === 'partial' && p.statusNote !== '') out(`  ${p.id}: ${p.statusNote}`);
  } else if (rows.some((p) => p.status === 'partial'))
    out(
      pc.dim(
        wrapped(
          '`orrery phases PHASE` shows everything about one, such as what is missing in a partial one',
          width,
        ),
      ),
    );
  out(pc.dim("pos: position in this order; seed: number of the phase in order 'seed'"));
  if (opts.wide !== true) out(pc.dim('--wide: every column, however wide'));
}

/** Ends the command if a value is not among the known ones. */
function known(what: string, value: string | undefined, values: readonly string[]): void {
  if (value === undefined || values.some((v) => v.toLowerCase() === value.toLowerCase())) return;
  const near = nearest(value, values).map((n) => `did you mean '${n}'?`);
  failWith(`no phase has ${what} '${value}'`, ...near, `it is one of ${values.join(', ')}`);
}

const number = (n: number | null): string => (n === null ? '' : String(n));

function wholeTable(rows: readonly PlanPhase[], width: number): string {
  const head = ['pos', 'seed', 'true', 'phase', 'category', 'status', 'runs', 'gate'].map((h) => pc.bold(h));
  const body = rows.map((p) => [
    String(p.position),
    number(p.index),
    number(p.trueIndex),
    p.id,
    p.category,
    PAINT[p.status](p.status),
    workOf(p) || idle(p),
    gateText(p),
  ]);
  return table([head, ...body], 'rrrlllll', width);
}

/** A table with steps and reasons in a separate line below each phase. */
function narrowTable(rows: readonly PlanPhase[], width: number): string {
  const head = ['pos', 'seed', 'phase', 'status'].map((h) => pc.bold(h));
  const body = rows.map((p) => [
    String(p.position),
    number(p.index),
    p.id,
    `${PAINT[p.status](p.status)}${workOf(p) === '' ? ` ${idle(p)}` : ''}`,
  ]);
  const below = rows.map((p) => (p.disabled === null ? workOf(p) : `off: ${p.disabled.why}`));
  return tableAbove([head, ...body], 'rrll', below, BELOW, width);
}

/** Text for a phase without steps: that it is a no-op, and the kind of a hook. */
const idle = (p: PlanPhase): string =>
  pc.dim([...(p.noOp ? ['isNoOp'] : []), ...(p.hook === null ? [] : [`hook ${p.hook}`])].join(' '));

/** Wraps a text between words into lines of at most `columns` characters. */
export function wrapped(text: string, columns: number): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const last = lines[lines.length - 1];
    if (last !== '' && last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.join('\n');
}

/** Maximum number of rule groups that are named; of more, only the count is shown. */
const MOST_GROUPS = 3;

/** The steps of a phase in one line. */
export const workOf = (p: PlanPhase): string => p.steps.map(stepText).join(' + ');

/** The steps of a hook, as written in a recipe, in one line. */
export const stepsText = (steps: unknown): string =>
  (steps as readonly StepSpec[])
    .map((s) => {
      if (s.inherited === true) return 'inherited';
      if (s.use !== undefined) return `use ${s.use}`;
      if (s.repeat !== undefined) return `up to ${s.rounds ?? s.roundsBy} times (${stepsText(s.repeat)})`;
      return s.pass ?? (s.rules ?? []).map((g) => `rules:${g}`).join(' + ');
    })
    .join(' + ');

function stepText(s: Step): string {
  if (s.kind === 'pass') return s.pass;
  if (s.kind === 'repeat') return `up to ${roundsText(s)} times (${s.steps.map(stepText).join(' + ')})`;
  const shown = s.groups.length > MOST_GROUPS ? s.groups.slice(0, MOST_GROUPS - 1) : s.groups;
  const more = s.groups.length - shown.length;
  return [...shown.map((g) => `rules:${g}`), ...(more > 0 ? [`${more} more groups`] : [])].join(' + ');
}

const gateText = (p: PlanPhase): string =>
  [
    ...(p.disabled === null ? [] : [`off: ${p.disabled.why}`]),
    ...conditionsOf(p.gate).map(conditionText),
  ].join('; ');

const stepJson = (s: Step): object => {
  if (s.kind === 'pass') return { pass: s.pass, params: s.params };
  return s.kind === 'rules'
    ? { rules: s.groups }
    : {
        repeat: s.steps.map(stepJson),
        ...(s.rounds !== null && { rounds: s.rounds }),
        ...(s.roundsBy !== null && { roundsBy: s.roundsBy }),
        ...(s.leastCost !== null && { leastCost: s.leastCost, weights: s.weights }),
      };
};

/** One row as JSON. */
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
  isNoOp: p.noOp,
  roundAfter: p.roundAfter,
  required: p.required,
  disabled: p.disabled,
});
