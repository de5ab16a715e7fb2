import { CLASSES, type InstrClass } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';

/** Number of instructions of a program by class. */
export function countByClass(p: Program): Record<InstrClass, number> {
  const n = Object.fromEntries(CLASSES.map((c) => [c, 0])) as Record<InstrClass, number>;
  for (const f of p.functions) for (const b of f.blocks) for (const i of b.ins) n[i.op.class]++;
  return n;
}
