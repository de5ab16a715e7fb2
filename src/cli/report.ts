import type { Journal, PhaseRecord } from '../engine/journal.ts';
import type { Opcode } from '../ir/opcode.ts';
import { OpFlag } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';
import { duration, grouped, pc, table } from './ui.ts';

/** Classes of instructions in reports, in this order. */
export const CLASSES = [
  'integer',
  'float',
  'convert',
  'move',
  'predicate',
  'memory',
  'warp',
  'control',
] as const;
export type InstrClass = (typeof CLASSES)[number];

/** The class an opcode is counted under. */
export function classOf(op: Opcode): InstrClass {
  if ((op.flags & OpFlag.Control) !== 0 || op.unit === 'control') return 'control';
  if ((op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0 || op.unit === 'lsu')
    return (op.flags & OpFlag.Convergent) !== 0 ? 'warp' : 'memory';
  if ((op.flags & OpFlag.Convergent) !== 0) return 'warp';
  if (/^(F2F|F2FP|F2I|I2F|I2I|FRND|CVTA)$/.test(op.name)) return 'convert';
  if (/^(MOV|SEL|PRMT|PAIR|UNPAIR|S2R|CS2R)$/.test(op.name)) return 'move';
  if (op.dsts[0]?.bank === 'p') return 'predicate';
  return /^[FDHM]/.test(op.name) && op.unit !== 'alu' ? 'float' : 'integer';
}

/** Instructions of a program by class. */
export function countByClass(p: Program): Record<InstrClass, number> {
  const n = Object.fromEntries(CLASSES.map((c) => [c, 0])) as Record<InstrClass, number>;
  for (const f of p.functions) for (const b of f.blocks) for (const i of b.ins) n[classOf(i.op)]++;
  return n;
}

/** Instructions before and after, by class; classes that occur in neither are left out. */
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
  const s = `${b > a ? '+' : ''}${b - a}${a > 0 ? ` (${(((b - a) / a) * 100).toFixed(1)} %)` : ''}`;
  return b < a ? pc.green(s) : pc.yellow(s);
}

/** The phases that changed something, one line each. */
export function changedPhases(journal: Journal): string {
  const rows = journal.records
    .filter((r) => r.blocksChanged > 0)
    .map((r) => [
      r.phase.index === null ? '' : String(r.phase.index),
      r.phase.id,
      `${r.blocksChanged} block${r.blocksChanged === 1 ? '' : 's'}`,
      `${r.instructionsBefore} -> ${r.instructionsAfter}`,
      duration(r.ms),
      remarkSummary(r),
    ]);
  if (rows.length === 0) return pc.dim('no phase changed anything');
  return table(
    [['#', 'phase', 'changed', 'instructions', 'time', 'what'].map((h) => pc.bold(h)), ...rows],
    'rlrrrl',
  );
}

/** `12 dead-removed, 3 branch-folded`: the passed remarks of a record by name. */
export function remarkSummary(r: PhaseRecord): string {
  const n = new Map<string, number>();
  for (const m of r.remarks) if (m.kind === 'passed') n.set(m.name, (n.get(m.name) ?? 0) + 1);
  return [...n].map(([k, v]) => `${v} ${k}`).join(', ');
}

/** The journal as plain data: stable order, no snapshots. */
export const journalJson = (j: Journal) => ({
  plan: j.plan.hash,
  order: j.plan.order,
  level: j.plan.level,
  sm: j.plan.sm,
  program: j.input.name,
  phases: j.records.map((r) => ({
    position: r.phase.position,
    id: r.phase.id,
    index: r.phase.index,
    outcome: r.outcome,
    why: r.why,
    shutFor: r.shutFor,
    level: r.level,
    ms: Math.round(r.ms * 1000) / 1000,
    bytes: r.bytes,
    cached: r.cached,
    knobsRead: r.knobsRead,
    factsRead: r.factsRead,
    functionsChanged: r.functionsChanged,
    blocksChanged: r.blocksChanged,
    instructionsBefore: r.instructionsBefore,
    instructionsAfter: r.instructionsAfter,
    remarks: r.remarks,
  })),
});
