import type { Journal, PhaseRecord } from '../../engine/journal.ts';
import { timingRecords } from '../../engine/report.ts';
import { counted, grouped } from '../../ir/counts.ts';
import { CLASSES } from '../../ir/opcode.ts';
import { type Program, sourceOf } from '../../ir/program.ts';
import { countByClass } from '../../lab/classes.ts';
import { percent } from '../../lab/render/table.ts';
import { ROOMY, table, tableAbove } from '../terminal/table.ts';
import { duration, pc } from '../terminal/ui.ts';

/** Indentation of the line below a phase: the width of its position column. */
const BELOW = 5;

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
 *
 * @param columns maximum line width, beyond which text is wrapped
 */
export function changedPhases(journal: Journal, columns: number): string {
  const changed = journal.records.filter((r) => r.blocksChanged > 0);
  if (changed.length === 0) return pc.dim('no phase changed anything');
  const rows = [
    ['pos', 'phase', 'changed', 'instructions', 'time'].map((h) => pc.bold(h)),
    ...changed.map((r) => [
      String(r.phase.position),
      r.phase.id,
      counted(r.blocksChanged, 'block'),
      `${r.instructionsBefore} -> ${r.instructionsAfter}`,
      duration(r.ms),
    ]),
  ];
  const did = changed.map(remarkSummary);
  if (columns < ROOMY) return tableAbove(rows, 'rlrrr', did, BELOW, columns);
  const what = [pc.bold('what'), ...did];
  return table(
    rows.map((row, i) => [...row, what[i]]),
    'rlrrrl',
    columns,
  );
}

/** Counts of the passed remarks of a record, by name. */
export function passedOf(r: Pick<PhaseRecord, 'remarks'>): ReadonlyMap<string, number> {
  const n = new Map<string, number>();
  for (const m of r.remarks) if (m.kind === 'passed') n.set(m.name, (n.get(m.name) ?? 0) + m.count);
  return n;
}

/** `12 dead-removed, 3 branch-folded`: summary of the passed remarks of a record. */
export const remarkSummary = (r: Pick<PhaseRecord, 'remarks'>): string =>
  [...passedOf(r)].map(([name, n]) => `${n} ${name}`).join(', ');

/**
 * Location of a remark: `line 47 (saxpy.cu:7)`, the line of the PTX and the source line from `.loc`; '' if no line is known.
 *
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
