import type { Journal, PhaseRecord } from '../engine/journal.ts';
import { timingRecords } from '../engine/report.ts';
import { CLASSES } from '../ir/opcode.ts';
import { type Program, sourceOf } from '../ir/program.ts';
import { countByClass } from '../lab/classes.ts';
import { percent } from '../lab/render/table.ts';
import { clipped, duration, grouped, pc, TABLE_GAP, table, tableWidth } from './ui.ts';

/** Instructions before and after, by class; classes that occur in neither are omitted. */
export function classTable(before: Program, after: Program): string {
  const a = countByClass(before);
  const b = countByClass(after);
  const rows = [['class', 'before', 'after', 'change'].map((h) => pc.bold(h))];
  let ta = 0;
  let tb = 0;
  for (const c of CLASSES) {
    ta += a[c];
    tb += b[c];
    if (a[c] + b[c] > 0) rows.push([c, grouped(a[c]), grouped(b[c]), change(a[c], b[c])]);
  }
  rows.push(['all', grouped(ta), grouped(tb), change(ta, tb)].map((c) => pc.bold(c)));
  return table(rows, 'lrrr');
}

function change(a: number, b: number): string {
  if (a === b) return '';
  const s = `${b > a ? '+' : ''}${b - a}${a > 0 ? ` (${percent(b / a)})` : ''}`;
  return b < a ? pc.green(s) : pc.yellow(s);
}

/**
 * The phases that changed something, one line each.
 * @param columns of a line: what does not fit is counted
 */
export function changedPhases(journal: Journal, columns: number): string {
  const changed = journal.records.filter((r) => r.blocksChanged > 0);
  if (changed.length === 0) return pc.dim('no phase changed anything');
  const rows = [
    ['#', 'phase', 'changed', 'instructions', 'time'].map((h) => pc.bold(h)),
    ...changed.map((r) => [
      r.phase.index === null ? '' : String(r.phase.index),
      r.phase.id,
      `${r.blocksChanged} block${r.blocksChanged === 1 ? '' : 's'}`,
      `${r.instructionsBefore} -> ${r.instructionsAfter}`,
      duration(r.ms),
    ]),
  ];
  const room = columns - tableWidth(rows) - TABLE_GAP;
  const what = [pc.bold('what'), ...changed.map((r) => listed(workOf(r), room))];
  return table(
    rows.map((row, i) => [...row, what[i]]),
    'rlrrrl',
  );
}

/** `12 dead-removed`: what the passed remarks of a record tell of, by name. */
function workOf(r: Pick<PhaseRecord, 'remarks'>): string[] {
  const n = new Map<string, number>();
  for (const m of r.remarks) if (m.kind === 'passed') n.set(m.name, (n.get(m.name) ?? 0) + m.count);
  return [...n].map(([k, v]) => `${v} ${k}`);
}

/** `12 dead-removed, 3 branch-folded`: what the passed remarks of a record tell of. */
export const remarkSummary = (r: Pick<PhaseRecord, 'remarks'>): string => workOf(r).join(', ');

/** Items between commas, as many as fit, with the count of the others. */
function listed(items: readonly string[], columns: number): string {
  for (let n = items.length; n > 0; n--) {
    const more = n === items.length ? '' : `, ${items.length - n} more`;
    const text = `${items.slice(0, n).join(', ')}${more}`;
    if (text.length <= columns) return text;
  }
  return clipped(items.join(', '), columns);
}

/**
 * Where a remark applies: `line 47 (saxpy.cu:7)`, the line of the PTX and what `.loc` says of it; '' if no line is known.
 * @param loc index into `Program.locs`
 */
export function lineText(program: Program, loc: number): string {
  const line = program.locs[loc]?.line ?? 0;
  const source = sourceOf(program, loc);
  return line === 0 ? '' : `line ${line}${source === null ? '' : ` (${source.file}:${source.line})`}`;
}

/** The journal as plain data: stable order, no snapshots. */
export const journalJson = (j: Journal) => ({
  plan: j.plan.hash,
  order: j.plan.order,
  level: j.plan.level,
  sm: j.plan.sm,
  program: j.input.name,
  decisions: j.decisions,
  phases: j.records.map((r) => ({
    position: r.phase.position,
    id: r.phase.id,
    progress: r.progress,
    index: r.phase.index,
    isNoOp: r.phase.noOp,
    outcome: r.outcome,
    why: r.why,
    shutFor: r.shutFor,
    level: r.level,
    ms: Math.round(r.ms * 1000) / 1000,
    bytes: r.bytes,
    memory: r.memory,
    cached: r.cached,
    knobsRead: r.knobsRead,
    factsRead: r.factsRead,
    functionsChanged: r.functionsChanged,
    blocksChanged: r.blocksChanged,
    instructionsBefore: r.instructionsBefore,
    instructionsAfter: r.instructionsAfter,
    remarks: r.remarks.map((m) => ({
      ...m,
      line: j.last.locs[m.loc]?.line ?? 0,
      source: sourceOf(j.last, m.loc),
    })),
  })),
  memory: j.memory,
  timing: timingRecords(j),
});
