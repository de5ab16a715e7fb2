import type { Journal, PhaseRecord } from '../../engine/journal.ts';
import { entryOf } from '../../ir/entry-of.ts';
import { memo } from '../../ir/memo.ts';
import type { Program } from '../../ir/program.ts';
import { gateText, outline } from '../../lab/plan-differences.ts';
import { knobValueText } from '../../lab/why.ts';
import type { RuleHit } from '../../rules/engine.ts';
import { type Verdicts, verdictText } from '../../rules/prove/verdict.ts';
import type { Rule } from '../../rules/rule.ts';
import { type Plan, roundsText, type Step } from '../../spec/plan.ts';
import type { Specs } from '../../spec/specs.ts';
import type { HitRow, KnobRow, PhaseRow, RuleRow, RunRow, Source } from '../recording.ts';
import type { Recorder } from './recorder.ts';

/** Details of a phase beyond its record: kept with its result, because results from the cache do not have them. */
export interface PhaseExtra {
  readonly hits: readonly RuleHit[];
  readonly ms: number;
}

/** Converts a run to rows for a page. */
export function runRow(
  source: Source,
  journal: Journal,
  extras: ReadonlyMap<PhaseRecord, PhaseExtra>,
  recorder: Recorder,
  specs: Specs,
  verdicts: Verdicts,
  warnings: readonly string[],
): RunRow {
  const { plan } = journal;
  const texts = purposes(specs.phases);
  const input = recorder.program(journal.input);
  const rules = new Map<string, Rule>();
  let before = journal.input;
  const phases = journal.records.map((r): PhaseRow => {
    const changed = r.program !== before;
    const { hits = [], ms = r.ms } = extras.get(r) ?? {};
    for (const h of hits) rules.set(h.rule.id, h.rule);
    const row = phaseRow(r, ms, changed, hitRows(hits, before, recorder), recorder, texts);
    before = r.program;
    return row;
  });
  const { hash, level, sm, order, recipe } = plan;
  return {
    source,
    plan: { hash, level, sm, order, recipe },
    input,
    phases,
    knobs: knobRows(plan, specs, new Set(phases.flatMap((p) => p.knobs))),
    rules: [...rules.values()].map((r) => ruleRow(r, verdicts)),
    warnings,
    ms: journal.records.reduce((t, r) => t + r.ms, 0),
  };
}

type Purposes = ReadonlyMap<string, { readonly purpose: string; readonly note: string }>;

/** Purpose of each phase from the phase table, by name; of rows with the same name, the first. */
const purposes = memo(({ data }: Specs['phases']): Purposes => {
  const rows = data.phases as readonly { name: string; purpose: string; note?: string }[];
  const all = rows.map((r) => [r.name, { purpose: r.purpose, note: r.note ?? '' }] as const);
  return new Map(all.reverse());
});

function phaseRow(
  r: PhaseRecord,
  ms: number,
  changed: boolean,
  hits: readonly HitRow[],
  recorder: Recorder,
  texts: Purposes,
): PhaseRow {
  const { phase } = r;
  const program = recorder.program(r.program);
  const { purpose = '', note = '' } = texts.get(phase.name) ?? {};
  return {
    id: phase.id,
    name: phase.name,
    index: phase.index,
    position: phase.position,
    stage: phase.stage,
    category: phase.category,
    status: phase.status,
    purpose,
    note,
    required: phase.required,
    ran: r.outcome === 'ran',
    why: r.outcome === 'ran' ? gateText(phase) : r.why,
    shutFor: r.shutFor,
    level: r.level,
    steps: stepLines(phase.steps),
    ms: Math.round(ms * 1000) / 1000,
    cached: r.cached,
    before: r.instructionsBefore,
    after: r.instructionsAfter,
    blocksChanged: r.blocksChanged,
    pressure: program.reduce((most, f) => Math.max(most, recorder.pressure(f)), 0),
    program: changed ? program : null,
    remarks: r.remarks.map(({ kind, name, message, fn, block, loc }) => ({
      kind,
      name,
      message,
      fn,
      block,
      line: r.program.locs[loc]?.line ?? 0,
    })),
    hits,
    knobs: r.knobsRead,
    facts: r.factsRead,
  };
}

const stepLines = (steps: readonly Step[]): string[] =>
  steps.flatMap((s) =>
    s.kind === 'rules' ? [`rules ${s.groups.join(', ')}`] : s.kind === 'repeat' ? repeated(s) : [outline(s)],
  );

const repeated = (s: Extract<Step, { kind: 'repeat' }>): string[] => [
  `up to ${roundsText(s)} rounds of`,
  ...stepLines(s.steps).map((l) => `  ${l}`),
];

const hitRows = (hits: readonly RuleHit[], p: Program, recorder: Recorder): HitRow[] =>
  hits.map((h) => ({
    rule: h.rule.id,
    fn: h.fn,
    before: recorder.instruction(h.before, p),
    after: h.after.map((i) => recorder.instruction(i, p)),
  }));

function ruleRow(r: Rule, verdicts: Verdicts): RuleRow {
  const verdict = entryOf(verdicts, r.id);
  return {
    id: r.id,
    title: r.title,
    group: r.group,
    match: r.text.match.trimEnd(),
    when: r.text.when?.trimEnd() ?? null,
    rewrite: r.text.rewrite.trimEnd(),
    source: r.source,
    verdict:
      verdict === undefined || verdict.hash !== r.hash
        ? null
        : { kind: verdict.verdict, text: verdictText(verdict) },
  };
}

/** Knobs that were read, and those with another value than their default. */
function knobRows(plan: Plan, specs: Specs, read: ReadonlySet<string>): KnobRow[] {
  const catalog = specs.knobs.data.knobs as Readonly<Record<string, { readonly effect?: string }>>;
  return [...plan.knobs.values()]
    .filter((k) => read.has(k.name) || k.origin.source !== 'catalog')
    .map((k) => ({
      name: k.name,
      index: k.index,
      type: k.type,
      value: knobValueText(plan, k.name),
      origin: k.origin.source,
      effect: catalog[k.name]?.effect ?? '',
    }));
}
