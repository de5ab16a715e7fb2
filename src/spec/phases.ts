import { match, P } from 'ts-pattern';
import { factOf } from './backend.ts';
import type { HookFilling } from './hooks.ts';
import type { Issues } from './issues.ts';
import type { Entry, Row } from './order.ts';
import type { Backend, Gate, Origin, PlanPhase } from './plan.ts';
import type { Switches } from './switches.ts';

/** Row of an inserted pass or rule group: what the rows that are bound to the same pass declare for it. */
function insertedRow(x: Entry, rows: readonly Row[]): Row {
  return {
    index: null,
    trueIndex: -1,
    name: x.name,
    stage: 0,
    category: 'Optimization',
    status: 'implemented',
    ...(x.pass === undefined ? {} : declaredFor(rows, x.pass.pass)),
  };
}

/** Knobs, facts and properties that the rows bound to a pass declare for it. */
function declaredFor(
  rows: readonly Row[],
  pass: string,
): { knobs: string[]; facts: string[]; requires: string[]; destroys: string[] } {
  const users = rows.filter((r) => r.passes?.some((p) => p.pass === pass));
  return {
    knobs: union(...users.map((r) => r.knobs)),
    facts: union(...users.map((r) => r.facts)),
    requires: union(...users.map((r) => r.requires)),
    destroys: union(...users.map((r) => r.destroys)),
  };
}

const union = (...lists: readonly (readonly string[] | undefined)[]): string[] => [
  ...new Set(lists.flatMap((l) => l ?? [])),
];

/**
 * The phases of the plan: each entry of the order with its row, what fills its hook, and what switches it. The row of a
 * worker stays empty, because its slot runs the work.
 */
export function planPhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  phasesFile: string,
  rulesFor: {
    readonly knobs: (group: string) => readonly string[];
    readonly extra: (row: Row) => readonly string[];
  },
  hooks: ReadonlyMap<string, HookFilling>,
  switches: Switches,
  issues: Issues,
): PlanPhase[] {
  return entries.map((x, position) => {
    const row = x.row < 0 ? insertedRow(x, rows) : rows[x.row];
    const origin = { source: 'order', file: x.origin.file.file, path: x.origin.path };
    const filling = hooks.get(x.id);
    const own = (row.slot !== undefined ? [] : (row.passes ?? [])).map((p, i) =>
      binding(p, { source: 'phases', file: phasesFile, path: ['phases', x.row, 'passes', i] }),
    );
    const inserted = x.pass === undefined ? [] : [binding(x.pass, origin)];
    const hooked: Binding[] = [];
    const hookedRules: string[] = [];
    filling?.items.forEach((item, i) => {
      const at = { file: filling.at.file?.file ?? '', path: [...filling.at.path, i] };
      match(item)
        .with({ pass: P.string }, (p) => hooked.push(binding(p, { source: 'recipe', ...at })))
        .with({ rules: P.string }, (r) => hookedRules.push(r.rules))
        .exhaustive();
    });
    const declared = hooked.map((e) => declaredFor(rows, e.pass));
    const rules = union(x.rules === undefined ? [] : [x.rules], row.rules, hookedRules, rulesFor.extra(row));
    const enabled = switches.enabled.has(x.id);
    return {
      position,
      index: row.index,
      trueIndex: row.trueIndex < 0 ? null : row.trueIndex,
      name: row.name,
      id: x.id,
      stage: row.stage,
      category: row.category,
      status: row.status,
      statusNote: row.note ?? '',
      passes: [...own, ...inserted, ...hooked],
      rules,
      gate: gateOf(row, enabled),
      knobs: union(
        row.knobs,
        row.ruleBudget === undefined ? [] : [row.ruleBudget],
        ...declared.map((d) => d.knobs),
        ...rules.map(rulesFor.knobs),
      ),
      ruleBudget: row.ruleBudget ?? null,
      facts: union(row.facts, ...declared.map((d) => d.facts)),
      requires: union(row.requires, ...declared.map((d) => d.requires)),
      provides: row.provides ?? [],
      destroys: union(row.destroys, ...declared.map((d) => d.destroys)),
      hook: row.hook ?? null,
      progress: row.progress ?? null,
      noOp: row.noOp === true && filling === undefined,
      required: row.required ?? false,
      disabled: offOf(x, row, enabled, switches, issues),
      origin,
    };
  });
}

type Binding = PlanPhase['passes'][number];

const binding = (
  p: { readonly pass: string; readonly params?: Readonly<Record<string, unknown>> },
  origin: Origin,
): Binding => ({ pass: p.pass, params: p.params ?? {}, origin });

function gateOf(row: Row, enabled: boolean): Gate {
  const g = row.gate ?? {};
  return {
    levels: enabled ? null : (g.levels ?? null),
    asksLevel: enabled ? false : (g.asksLevel ?? false),
    unset: g.unset ?? [],
    set: g.set ?? [],
    budget: g.budget ?? [],
    facts: g.facts ?? [],
  };
}

function offOf(
  x: Entry,
  row: Row,
  enabled: boolean,
  switches: Switches,
  issues: Issues,
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
    );
  return { why: off.why, origin: off.origin };
}

/** Something runs in the phase. */
export const hasWork = (p: PlanPhase): boolean => p.passes.length > 0 || p.rules.length > 0;

/**
 * Why a phase cannot run under this plan whatever happens before it; null where it may. A spent OptBudget, knobs and
 * budgets are settled only while running.
 */
export function neverRuns(p: PlanPhase, level: number, backend: Backend): string | null {
  if (p.disabled !== null) return p.disabled.why;
  if (p.gate.levels !== null && !p.gate.levels.includes(level))
    return `its gate is shut at level ${level} (open at ${p.gate.levels.join(', ')})`;
  const fact = p.gate.facts.find((f) => factOf(backend, f.path) !== f.equals);
  if (fact !== undefined) return `on ${backend.sm}, ${fact.path} is not ${JSON.stringify(fact.equals)}`;
  return null;
}
