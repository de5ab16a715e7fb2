import type { Journal, PhaseRecord } from '../../engine/journal.ts';
import type { DecisionCounts } from '../../engine/recipe-manager.ts';
import { sizeText, timingRecords } from '../../engine/report.ts';
import { counted, grouped } from '../../ir/counts.ts';
import type { Check } from '../check/checks.ts';
import { table } from '../terminal/table.ts';
import { duration, pc } from '../terminal/ui.ts';

const timeOf = (j: Journal): number => j.records.reduce((t, r) => t + r.ms, 0);

/** Phases that ran, by descending time; among equal ones, the earlier first. */
export const byCost = (j: Journal): PhaseRecord[] =>
  j.records
    .filter((r) => r.outcome === 'ran')
    .sort((a, b) => b.ms - a.ms || a.phase.position - b.phase.position);

const bytes = (n = 0): string => (n === 0 ? '' : sizeText(n));
const change = (from: number, to: number): string =>
  from === to ? '' : `${to > from ? '+' : ''}${grouped(to - from)}`;
const percent = (part: number, whole: number): string =>
  whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`;

/** Time and memory of the phases that ran, the most expensive first, and why the others did not run. */
export function costTable(j: Journal): string {
  const all = timeOf(j);
  const rows = byCost(j).map((r) => [
    r.phase.id,
    r.cached ? 'kept' : duration(r.ms),
    percent(r.ms, all),
    change(r.instructionsBefore, r.instructionsAfter),
    bytes(r.memory?.total),
    bytes(r.memory?.freeable),
    leftOut(r),
  ]);
  const head = ['phase', 'time', 'share', 'instr', 'new', 'dropped', ''];
  const first = j.records[0]?.instructionsBefore ?? 0;
  const last = j.records.at(-1)?.instructionsAfter ?? first;
  const total = [
    'all',
    duration(all),
    '',
    change(first, last),
    bytes(j.memory?.summary.total),
    bytes(j.memory?.summary.freeable),
    '',
  ];
  return [
    table([head.map((h) => pc.bold(h)), ...rows, total.map((c) => pc.bold(c))], 'lrrrrrl'),
    ...skipped(j),
    ...[decisionsText(j.decisions)].flatMap((text) => (text === '' ? [] : ['', text])),
  ].join('\n');
}

/** How decisions about recipes were made; '' if nothing had to be decided. */
export const decisionsText = ({ made, shared }: DecisionCounts): string =>
  made + shared === 0
    ? ''
    : `recipes decided for ${made} ${made === 1 ? 'function' : 'functions'}, and taken over for ${shared} equal ${shared === 1 ? 'one' : 'ones'}`;

/** The functions that a phase skipped, and why. */
const leftOut = (r: PhaseRecord): string =>
  r.shutFor.length === 0 ? '' : `not ${r.shutFor.map((x) => `${x.fn} (${x.why})`).join(', ')}`;

/** Counts of phases that did not run, by reason, the most common first. */
function skipped(j: Journal): string[] {
  const by = new Map<string, number>();
  for (const r of j.records) if (r.outcome === 'skipped') by.set(r.why, (by.get(r.why) ?? 0) + 1);
  const n = [...by.values()].reduce((t, x) => t + x, 0);
  if (n === 0) return [];
  const rows = [...by].sort((a, b) => b[1] - a[1]).map(([why, count]) => [`  ${count}`, why]);
  return ['', `${counted(n, 'phase')} did not run:`, table(rows, 'rl')];
}

/** The statistics as plain data (schemas/output/stat.schema.json). */
export const statJson = (j: Journal, checks: readonly Check[]) => {
  const ms = timeOf(j);
  return {
    version: 1,
    program: j.input.name,
    plan: j.plan.hash,
    order: j.plan.order,
    level: j.plan.level,
    sm: j.plan.sm,
    ms: rounded(ms),
    memory: j.memory,
    decisions: j.decisions,
    phases: byCost(j).map((r) => ({
      id: r.phase.id,
      index: r.phase.index,
      position: r.phase.position,
      ms: rounded(r.ms),
      share: ms === 0 ? 0 : rounded(r.ms / ms),
      cached: r.cached,
      functionsChanged: r.functionsChanged,
      blocksChanged: r.blocksChanged,
      instructionsBefore: r.instructionsBefore,
      instructionsAfter: r.instructionsAfter,
      memory: r.memory,
      heap: r.bytes,
    })),
    skipped: j.records
      .filter((r) => r.outcome === 'skipped')
      .map(({ phase: { id, index, position, noOp }, why }) => ({ id, index, position, isNoOp: noOp, why })),
    timing: timingRecords(j),
    checks,
  };
};

const rounded = (x: number): number => Math.round(x * 1e6) / 1e6;
