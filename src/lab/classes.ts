import type { Opcode } from '../ir/opcode.ts';
import { OpFlag } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';

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
