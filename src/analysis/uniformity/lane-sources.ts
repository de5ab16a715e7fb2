import { memo } from '../../ir/memo.ts';
import { Lanes, type Opcode, OpFlag, type SpecialRegister } from '../../ir/opcode.ts';
import { Kind } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { type BlockShape, WARP_SIZE } from '../flow/block-shape.ts';

/** How far lanes agree on a special register, in blocks of this shape. */
export function specialLanes(s: SpecialRegister | null, shape: BlockShape): number {
  if (s === null) return Lanes.Varying;
  if (s.thread < 0 || shape.extent === null) return s.level;
  // Threads are numbered along x first. A warp lies in one row or plane if rows or planes are whole warps.
  let below = 1;
  for (let a = 0; a < s.thread; a++) below *= shape.extent[a];
  if (shape.extent[s.thread] === 1) return Lanes.Block;
  return below % WARP_SIZE === 0 ? Lanes.Warp : s.level;
}

/** Which memory spaces a function, or anything that it calls, may write. */
export interface Written {
  readonly all: boolean;
  readonly spaces: ReadonlySet<string>;
}

/**
 * Memory that a function writes, by space only. A device function may run while any other code writes, so it counts
 * as writing everything.
 */
export const writtenBy: (fn: Fn) => Written = memo((fn) => {
  const spaces = new Set<string>();
  let all = fn.kind !== 'entry';
  for (const b of fn.blocks)
    for (const x of b.ins) {
      if ((x.op.flags & OpFlag.WritesMemory) === 0) continue;
      if (x.op.space === null) all = true;
      else spaces.add(x.op.space);
    }
  return { all, spaces };
});

/** May the memory that the instruction loads from have been written since the kernel began? */
export function loadsMutable(op: Opcode, w: Written): boolean {
  if (w.all) return true;
  const { space } = op;
  if (space === null || space === 'generic')
    // It may lie in any space that is written; in local memory it is another place in each thread.
    return w.spaces.size > 0;
  if (w.spaces.has(space) || w.spaces.has('generic')) return true;
  return space === 'shared' && w.spaces.has('cluster');
}

/** The opcode's rule for result `k` (or, for -1, for the branch target); null if there is none. */
export function laneRule(ins: Instr, k: number): Opcode['lanes'][number] | null {
  if (ins.op.primitive === 'barrier' && !isForAll(ins)) return null;
  for (const rule of ins.op.lanes) {
    if (rule.dst >= 0 && rule.dst !== k) continue;
    if (rule.group !== null && ((ins.mods >>> rule.group.shift) & rule.group.mask) !== rule.index) continue;
    return rule;
  }
  return null;
}

/**
 * Does a barrier wait for all threads of the block? One with a count completes for some of them before others arrive, which start
 * another reduction.
 */
const isForAll = ({ src }: Instr): boolean =>
  src.length < 2 || (src[1].kind === Kind.Imm && src[1].lo === 0 && src[1].hi === 0);

/** Do the results depend only on the operands? */
export const isDetermined = (ins: Instr): boolean => (ins.op.flags & OpFlag.Pure) !== 0;
