import { Kind, NO_REG, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';

/** The source of SHFL that names the lanes which take part. */
export const MASK = 3;

/** Least number of shuffles of halves in a block that share a constant mask in a register: those of the two halves of one value. */
const LEAST = 2;

/**
 * Finds shuffles of halves of 64-bit values whose constant mask is written to a register first, once in a block, as nvcc writes it.
 *
 *     UNPAIR R1, R2, RD1                         mov.b64 {%r1, %r2}, %rd1;
 *     SHFL.DOWN R3, _, R1, 8, 31, -1             mov.b32 %t, 4294967295;
 *     SHFL.DOWN R4, _, R2, 8, 31, -1      ->     shfl.sync.down.b32 %r3, %r1, 8, 31, %t;
 *                                                shfl.sync.down.b32 %r4, %r2, 8, 31, %t;
 *
 * Shuffles whose masks are immediates form one region in ptxas 13.0.88, with one branch for lanes that have parted and one cold path; where
 * the mask is a register, the first shuffle of a block has a region of its own, and the allocator finds registers for each. In reductions
 * of doubles (reduction of the CUDA samples, sm_80), the long region takes 1 or 2 registers more than nvcc's text, and the two take the
 * same, with 2 to 5 instructions more than the one. For words it is the same registers or one, and the code is longer too, so their masks
 * stay immediates.
 */
export function sharedMasks(fn: Fn): ReadonlySet<Instr> {
  const shared = new Set<Instr>();
  if (!fn.blocks.some((b) => b.ins.some(hasConstantMask))) return shared;
  const halves = new Set<number>();
  for (const b of fn.blocks)
    for (const x of b.ins)
      if (x.op.name === 'UNPAIR') for (const r of x.dst) if (r !== NO_REG) halves.add(regIndex(r));
  for (const b of fn.blocks) {
    const byMask = new Map<number, Instr[]>();
    for (const x of b.ins) {
      if (!hasConstantMask(x) || x.src[0].kind !== Kind.Reg || !halves.has(regIndex(x.src[0].reg))) continue;
      const mask = x.src[MASK].lo;
      byMask.set(mask, [...(byMask.get(mask) ?? []), x]);
    }
    for (const list of byMask.values()) if (list.length >= LEAST) for (const x of list) shared.add(x);
  }
  return shared;
}

const hasConstantMask = (x: Instr): boolean => x.op.name === 'SHFL' && x.src[MASK].kind === Kind.Imm;
