import { memo } from '../../ir/memo.ts';
import { OpFlag } from '../../ir/opcode.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { loopsOf } from '../loops/loops.ts';
import { isCall, isStrong } from '../memory/memory-ops.ts';

/** Is it an atomic or strong read? Only such a read can be waited on (PTX ISA 9.0, chapter 8). */
export const isStrongRead = (x: Instr): boolean => (x.op.flags & OpFlag.ReadsMemory) !== 0 && isStrong(x);

/**
 * May the function have a loop in which a thread waits for another thread's write: one with an atomic or strong read, or with a call,
 * which may contain one? There a new meeting point of lanes can cause a deadlock or livelock: a lane that holds a lock and waits at the
 * meeting point does not release it, and lanes that no longer wait where they did use up its turns. (A plain read cannot be waited on:
 * PTX ISA 9.0, chapter 8.)
 */
export const mayWaitInLoops: (fn: Fn) => boolean = memo((fn) => {
  const waits = (b: number): boolean => fn.blocks[b].ins.some((x) => isCall(x) || isStrongRead(x));
  if (!fn.blocks.some((_, b) => waits(b))) return false;
  const { innermost, irreducible } = loopsOf(fn);
  return (
    fn.blocks.some((_, b) => innermost[b] >= 0 && waits(b)) || irreducible.some((r) => r.blocks.some(waits))
  );
});
