import { mustStay } from '../analysis/effects.ts';
import { memo } from '../analysis/memo.ts';
import { neededOf } from '../analysis/needed.ts';
import { OpFlag } from '../ir/opcode.ts';
import type { Fn, Instr } from '../ir/program.ts';

const NONE: ReadonlySet<Instr> = new Set();
const meets = (ins: Instr): boolean => (ins.op.flags & OpFlag.Convergent) !== 0 && !mustStay(ins);

/**
 * Operations between lanes (votes, shuffles, ...) whose results are unused. An optimizer may drop them, as ptxas
 * does, and then no lane waits there for others.
 */
export const deadMeetingsOf: (fn: Fn) => ReadonlySet<Instr> = memo((fn) => {
  if (!fn.blocks.some((b) => b.ins.some(meets))) return NONE;
  const dead = new Set<Instr>();
  const needed = neededOf(fn, mustStay);
  let n = 0;
  for (const b of fn.blocks) for (const ins of b.ins) if (needed[n++] === 0 && meets(ins)) dead.add(ins);
  return dead;
});
