import type { PassNeeds } from '../ir/pass.ts';
import { factOf } from './backend.ts';
import type { SpecFile } from './document.ts';
import type { Entry, Row } from './entries.ts';
import type { HookFilling } from './hooks.ts';
import type { Issues } from './issues.ts';
import type { PhaseToggles } from './phase-toggles.ts';
import { type Backend, flatSteps, type Gate, type PlanPhase, type Step } from './plan.ts';
import { eachStep, stepsOf, withGroups } from './steps.ts';

/** A row for an inserted pass or rule group, which has none in the phase table. */
const insertedRow = (x: Entry): Row => ({
  index: null,
  trueIndex: -1,
  name: x.name,
  stage: 0,
  category: 'Optimization',
  status: 'implemented',
});

/** What phase rows declare for their passes; a step that runs such a pass elsewhere needs the same. */
type Declared = Required<Pick<Row, 'knobs' | 'facts' | 'requires' | 'destroys'>>;

/** Declarations by pass. Only rows that run a single pass count: a row with several does not say which of them needs what. */
function declarations(rows: readonly Row[], phases: SpecFile): ReadonlyMap<string, Declared> {
  const users = new Map<string, Row[]>();
  for (const r of rows) {
    const names = new Set<string>();
    let rules = false;
    eachStep(r.steps ?? [], phases, (s) => {
      if (s.pass !== undefined) names.add(s.pass);
      else rules = true;
    });
    if (rules || names.size > 1) continue;
    for (const n of names) users.set(n, [...(users.get(n) ?? []), r]);
  }
  return new Map(
    [...users].map(([n, list]) => [
      n,
      {
        knobs: union(...list.map((r) => r.knobs)),
        facts: union(...list.map((r) => r.facts)),
        requires: union(...list.map((r) => r.requires)),
        destroys: union(...list.map((r) => r.destroys)),
      },
    ]),
  );
}

function union(...lists: readonly (readonly string[] | undefined)[]): string[] {
  const all = new Set<string>();
  for (const l of lists) if (l !== undefined) for (const x of l) all.add(x);
  return [...all];
}

/** Results cached for a phase table; valid while host and rules are the same objects. */
interface KnownRows {
  readonly host: unknown;
  readonly rules: unknown;
  readonly declared: ReadonlyMap<string, Declared>;
  /** By row index: the phase of a row to which nothing is added. Position and other fields of the entry are those of its first use. */
  readonly alone: Map<number, PlanPhase>;
}

const knownRows = new WeakMap<SpecFile, KnownRows>();

/** What the passes and rules of steps read. */
interface Reads {
  /** What a pass reads and requires, independent of the phase that runs it. */
  readonly pass: (name: string) => PassNeeds;
  /** The knobs that a rule group reads in a phase; null: one that runs all its rules, whoever owns them. */
  readonly group: (name: string, phase: string | null) => readonly string[];
  /** The objects that determine the results of `pass` and `group`; used to validate cached results. */
  readonly host: unknown;
  readonly rules: unknown;
  /** Rule groups that the request adds to a row. */
  readonly extra: (row: Row, runsRules: boolean) => readonly string[];
}

/**
 * Builds the phases of a plan: combines each entry of the order with its row, the steps that fill its hook, and its switches. A row with a
 * `slot` has no steps of its own: the phase that dispatches the worker runs them.
 */
export function planPhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  phasesFile: SpecFile,
  reads: Reads,
  hooks: ReadonlyMap<string, HookFilling>,
  switches: Pick<PhaseToggles, 'off' | 'enabled'>,
  issues: Issues,
  /** Reasons why the order needs a row, given by index; one line each. */
  whyNeeded: (row: number) => readonly string[],
): PlanPhase[] {
  let known = knownRows.get(phasesFile);
  if (known === undefined || known.host !== reads.host || known.rules !== reads.rules) {
    known = {
      host: reads.host,
      rules: reads.rules,
      declared: declarations(rows, phasesFile),
      alone: new Map(),
    };
    knownRows.set(phasesFile, known);
  }
  const { declared, alone } = known;
  const listed = new Set(entries.map((x) => x.name));
  return entries.map((x, position) => {
    const row = x.row < 0 ? insertedRow(x) : rows[x.row];
    const origin = { source: 'order', file: x.origin.file.file, path: x.origin.path };
    const filling = hooks.get(x.id);
    const enabled = switches.enabled.has(x.id);
    const ofEntry = {
      position,
      id: x.id,
      roundAfter: x.roundAfter ?? null,
      disabled: offOf(x, row, enabled, switches, issues, whyNeeded),
      origin,
    };
    const asTheRowSays = x.row >= 0 && filling === undefined && !enabled && row.worker === undefined;
    const before = asTheRowSays ? alone.get(x.row) : undefined;
    if (before !== undefined) {
      const runsRules = flatSteps(before.steps).some((s) => s.kind === 'rules');
      if (reads.extra(row, runsRules).length === 0) return phaseOf(before, ofEntry);
    }
    const faults = issues.list.length;
    const own = row.slot !== undefined ? [] : (row.steps ?? []);
    const rowAt = { file: phasesFile, path: ['phases', x.row, 'steps'] };
    const inserted: Step[] = [];
    if (x.pass !== undefined) inserted.push({ kind: 'pass', ...x.pass, origin });
    if (x.rules !== undefined) inserted.push({ kind: 'rules', groups: [x.rules], origin });
    const added = [...(filling?.steps ?? []), ...dispatched(row, x, listed, rows, phasesFile, issues)];
    const bound = [...stepsOf(own, phasesFile, rowAt, 'phases', issues), ...inserted];
    const runsRules = flatSteps(bound).some((s) => s.kind === 'rules') && x.row >= 0;
    const extra = reads.extra(row, runsRules);
    const steps = [...withGroups(bound, extra, COMMAND), ...added];
    const ofRow = rowFields(
      row,
      steps,
      enabled,
      flatSteps([...inserted, ...added]),
      added.length === 0,
      declared,
      reads,
    );
    const phase = phaseOf(ofRow, ofEntry);
    if (asTheRowSays && extra.length === 0 && issues.list.length === faults) alone.set(x.row, phase);
    return phase;
  });
}

/** Fields of a phase that come from its entry in the order. */
type OfEntry = Pick<PlanPhase, 'position' | 'id' | 'roundAfter' | 'disabled' | 'origin'>;
type OfRow = Omit<PlanPhase, keyof OfEntry>;

/**
 * The fields of a phase that come from its row and its steps.
 *
 * @param foreign steps that an edit or a recipe adds; their passes need what the row does not declare
 * @param asDeclared whether nothing is added to the row's own steps
 * @param declared what the rows of the phase table declare for a pass
 */
function rowFields(
  row: Row,
  steps: readonly Step[],
  enabled: boolean,
  foreign: readonly Step[],
  asDeclared: boolean,
  declared: ReturnType<typeof declarations>,
  reads: Reads,
): OfRow {
  const flat = flatSteps(steps);
  const passes = flat.flatMap((s) => (s.kind === 'pass' ? [s.pass] : []));
  const groups = flat.flatMap((s) => (s.kind === 'rules' ? s.groups : []));
  const others = foreign.flatMap((s) =>
    s.kind === 'pass' && declared.has(s.pass) ? [declared.get(s.pass)!] : [],
  );
  const needs = passes.map(reads.pass);
  return {
    index: row.index,
    trueIndex: row.trueIndex < 0 ? null : row.trueIndex,
    name: row.name,
    stage: row.stage,
    category: row.category,
    status: row.status,
    statusNote: row.note ?? '',
    steps,
    gate: gateOf(row, enabled),
    knobs: union(
      row.knobs,
      row.ruleBudget === undefined ? [] : [row.ruleBudget],
      steps.flatMap((s) => (s.kind === 'repeat' ? [s.roundsBy, s.leastCost].filter((k) => k !== null) : [])),
      ...others.map((d) => d.knobs),
      ...needs.map((n) => n.knobs),
      ...groups.map((g) => reads.group(g, row.hook === undefined && row.index !== null ? row.name : null)),
    ),
    ruleBudget: row.ruleBudget ?? null,
    facts: union(row.facts, ...others.map((d) => d.facts), ...needs.map((n) => n.facts)),
    requires: union(row.requires, ...others.map((d) => d.requires), ...needs.map((n) => n.requires)),
    provides: row.provides ?? [],
    destroys: union(row.destroys, ...others.map((d) => d.destroys)),
    hook: row.hook ?? null,
    progress: row.progress ?? null,
    noOp: row.noOp === true && asDeclared,
    required: row.required ?? false,
  };
}

/** Creates a phase. All phases are created here, so that all have the same hidden class. */
const phaseOf = (row: OfRow, entry: OfEntry): PlanPhase => ({
  position: entry.position,
  index: row.index,
  trueIndex: row.trueIndex,
  name: row.name,
  id: entry.id,
  stage: row.stage,
  category: row.category,
  status: row.status,
  statusNote: row.statusNote,
  steps: row.steps,
  gate: row.gate,
  knobs: row.knobs,
  ruleBudget: row.ruleBudget,
  facts: row.facts,
  requires: row.requires,
  provides: row.provides,
  destroys: row.destroys,
  hook: row.hook,
  progress: row.progress,
  roundAfter: entry.roundAfter,
  noOp: row.noOp,
  required: row.required,
  disabled: entry.disabled,
  origin: entry.origin,
});

/** The steps of the worker that a hook of kind A dispatches; empty if the worker has a place of its own in the order. */
function dispatched(
  row: Row,
  entry: Entry,
  listed: ReadonlySet<string>,
  rows: readonly Row[],
  phasesFile: SpecFile,
  issues: Issues,
): Step[] {
  if (row.worker === undefined || listed.has(row.worker) || entry.row < 0) return [];
  const k = rows.findIndex((r) => r.name === row.worker && r.slot === undefined);
  const at = { file: phasesFile, path: ['phases', k, 'steps'] };
  return k < 0 ? [] : stepsOf(rows[k].steps ?? [], phasesFile, at, 'phases', issues);
}

const COMMAND = { source: 'command-line', file: '', path: [] };

function gateOf(row: Row, enabled: boolean): Gate {
  const g = row.gate ?? {};
  return {
    levels: enabled ? null : (g.levels ?? null),
    asksLevel: enabled ? false : (g.asksLevel ?? false),
    only: g.only ?? null,
    also: g.also ?? null,
    unset: g.unset ?? [],
    set: g.set ?? [],
    nonzero: g.nonzero ?? [],
    budget: g.budget ?? [],
    facts: g.facts ?? [],
    order: g.order ?? [],
  };
}

function offOf(
  x: Entry,
  row: Row,
  enabled: boolean,
  switches: Pick<PhaseToggles, 'off' | 'enabled'>,
  issues: Issues,
  whyNeeded: (row: number) => readonly string[],
): PlanPhase['disabled'] {
  const off =
    switches.off.get(x.id) ??
    (x.dropped === null || enabled
      ? undefined
      : {
          why: x.dropped,
          origin: { source: 'order', file: x.origin.file.file, path: x.origin.path },
          at: x.origin,
        });
  if (off === undefined) return null;
  if (row.required === true)
    issues.error(
      off.at,
      'required-phase',
      `phase '${x.id}' is required and cannot be switched off (${off.why})`,
      { notes: whyNeeded(x.row) },
    );
  return { why: off.why, origin: off.origin };
}

/** True if any step is bound to the phase. */
export const hasWork = (p: PlanPhase): boolean => p.steps.length > 0;

/**
 * Why a phase can never run under a plan; null if it can. OptBudget, knobs and budgets are not considered, since they are known only while
 * the plan runs.
 */
export function neverRuns(p: PlanPhase, level: number, backend: Backend): string | null {
  if (p.disabled !== null) return p.disabled.why;
  if (p.gate.levels !== null && !p.gate.levels.includes(level) && !p.gate.also?.levels.includes(level))
    return `its gate is shut at level ${level} (open at ${p.gate.levels.join(', ')})`;
  const fact = p.gate.facts.find((f) => factOf(backend, f.path) !== f.equals);
  if (fact !== undefined) return `on ${backend.sm}, ${fact.path} is not ${JSON.stringify(fact.equals)}`;
  return null;
}
