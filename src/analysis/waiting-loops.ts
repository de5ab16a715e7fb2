import { OpFlag } from '../ir/opcode.ts';
import type { Fn, Instr } from '../ir/program.ts';
import { loopsOf } from './loops.ts';
import { memo } from './memo.ts';
import { isCall, isStrong } from './memory-ops.ts';

const reads = (x: Instr): boolean => (x.op.flags & OpFlag.ReadsMemory) !== 0 && isStrong(x);

/**
 * May the function have a loop in which a thread waits for what another one writes: one with an atomic or strong read, or with a call,
 * which may hold that? There lanes of a warp that meet may be what lets one of them go on: a lane that held a lock and stands
 * still at a new meeting has not freed it, and lanes that no longer wait for it where they did take its turns (plain reads may not be
 * waited on: PTX ISA 9.0, chapter 8).
 */
export const mayWaitInLoops: (fn: Fn) => boolean = memo((fn) => {
  const waits = (b: number): boolean => fn.blocks[b].ins.some((x) => isCall(x) || reads(x));
  if (!fn.blocks.some((_, b) => waits(b))) return false;
  const { innermost, irreducible } = loopsOf(fn);
  return (
    fn.blocks.some((_, b) => innermost[b] >= 0 && waits(b)) || irreducible.some((r) => r.blocks.some(waits))
  );
});
