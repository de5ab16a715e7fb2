import { mustStay } from '../analysis/effects.ts';
import { LiveWalker } from '../analysis/liveness.ts';
import { memo } from '../analysis/memo.ts';
import { strongLivenessOf } from '../analysis/strong-liveness.ts';
import { OpFlag } from '../ir/opcode.ts';
import type { Fn, Instr } from '../ir/program.ts';

const NONE: ReadonlySet<Instr> = new Set();
const meets = (ins: Instr): boolean => (ins.op.flags & OpFlag.Convergent) !== 0 && !mustStay(ins);

/**
 * Operations between lanes (votes, shuffles, ...) that nobody needs the results of. An optimizer may drop them, as ptxas
 * does, and then no lane waits there for others.
 */
export const deadMeetingsOf: (fn: Fn) => ReadonlySet<Instr> = memo((fn) => {
  if (!fn.blocks.some((b) => b.ins.some(meets))) return NONE;
  const dead = new Set<Instr>();
  const walker = new LiveWalker(strongLivenessOf(fn, mustStay));
  for (const [position, b] of fn.blocks.entries()) {
    walker.enter(position);
    for (let i = b.ins.length - 1; i >= 0; i--) {
      const ins = b.ins[i];
      if (mustStay(ins) || walker.anyResultLive(ins)) walker.step(ins);
      else if (meets(ins)) dead.add(ins);
    }
  }
  return dead;
});
