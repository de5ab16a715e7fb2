import { hasMod, type ModGroup, OpFlag, type Space } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';

/** Disjoint kinds of memory, as a bit set. */
export const Mem = { Global: 1, Shared: 2, Local: 4, Const: 8, Param: 16 } as const;

/** Memory that other threads see. */
export const VISIBLE = Mem.Global | Mem.Shared;
/** Memory that a running kernel may change: the constant banks and with them the kernel's parameters it may not. */
export const MUTABLE = Mem.Global | Mem.Shared | Mem.Local | Mem.Param;

/**
 * Memory that an address of a space may lie in. A generic address may lie anywhere but in the parameters of a call, of which
 * PTX gives no generic address (PTX ISA 9.0, cvta); the shared memory of a cluster holds that of the block.
 */
export const MEMORY_OF: Readonly<Record<Space, number>> = {
  generic: Mem.Global | Mem.Shared | Mem.Local | Mem.Const,
  global: Mem.Global,
  shared: Mem.Shared,
  cluster: Mem.Shared,
  local: Mem.Local,
  const: Mem.Const,
  param: Mem.Param,
};

/** Does it call a function? */
export const isCall = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.Control) !== 0 && (ins.op.flags & (OpFlag.ReadsMemory | OpFlag.WritesMemory)) !== 0;

/** Orders memory accesses of several threads: a barrier or a fence, whatever it does beside. */
export const isBarrier = (ins: Instr): boolean => (ins.op.flags & OpFlag.Barrier) !== 0;

const chosen = (ins: Instr, g: ModGroup): string => g.values[(ins.mods >>> g.shift) & g.mask].name;

/**
 * A strong operation in the sense of PTX (PTX ISA 9.0, chapter 8, operation types): volatile, relaxed, acquire, release, mmio, and every atomic
 * operation. It communicates with other threads, so it is done as often as it is written and in the order in which it is
 * written.
 */
export function isStrong(ins: Instr): boolean {
  const sem = ins.op.groupByName.get('sem');
  return sem !== undefined && ins.op.accesses.length > 0 && chosen(ins, sem) !== 'WEAK';
}

const ORDERING: ReadonlySet<string> = new Set(['ACQUIRE', 'RELEASE', 'ACQ_REL']);

/** A strong operation that orders the accesses around it as well (acquire, release). */
export function isOrdering(ins: Instr): boolean {
  const sem = ins.op.groupByName.get('sem');
  return sem !== undefined && ins.op.accesses.length > 0 && ORDERING.has(chosen(ins, sem));
}

/** A load from global memory that nobody writes while the kernel runs (PTX ISA 9.0, ld.global.nc). */
export const isReadOnlyLoad = (ins: Instr): boolean => hasMod(ins.op, ins.mods, 'NC');

/**
 * May a second execution with the same address be replaced by the result of the first, where memory is unchanged in between?
 * Only plain loads: what is volatile, strong or has an effect of its own is done each time.
 */
export const mayBeCommon = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.ReadsMemory) !== 0 &&
  (ins.op.flags &
    (OpFlag.WritesMemory | OpFlag.SideEffect | OpFlag.Barrier | OpFlag.Volatile | OpFlag.Control)) ===
    0 &&
  !isStrong(ins);
