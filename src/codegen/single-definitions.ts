import { NO_REG, type Reg } from '../ir/operand.ts';
import type { Fn } from '../ir/program.ts';

/** Registers of Ori that one instruction defines, without a guard. */
export function singleDefinitions(fn: Fn): Set<Reg> {
  const [once, more] = [new Set<Reg>(), new Set<Reg>()];
  for (const b of fn.blocks)
    for (const i of b.ins)
      for (const r of i.dst)
        if (once.has(r) || i.guard !== NO_REG) more.add(r);
        else once.add(r);
  for (const r of more) once.delete(r);
  return once;
}
