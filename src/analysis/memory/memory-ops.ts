import { hasMod, type ModGroup, OpFlag, type Space } from '../../ir/opcode.ts';
import type { Instr } from '../../ir/program.ts';

/** Disjoint kinds of memory, as a bit set. */
export const Mem = { Global: 1, Shared: 2, Local: 4, Const: 8, Param: 16 } as const;

/** Memory that other threads can observe. */
export const VISIBLE = Mem.Global | Mem.Shared;
/**
 * Memory that a running kernel may change. It cannot change the constant banks, which include the kernel's
 * parameters.
 */
export const MUTABLE = Mem.Global | Mem.Shared | Mem.Local | Mem.Param;

/**
 * Memory that an address of a space may point into. A generic address may point anywhere except the parameters of a
 * call, to which PTX gives no generic address (PTX ISA 9.0, cvta); the shared memory of a cluster includes that of
 * the block.
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

/** Does it order memory accesses of several threads: a barrier or a fence, whatever else it does? */
export const isBarrier = (ins: Instr): boolean => (ins.op.flags & OpFlag.Barrier) !== 0;

const chosen = (ins: Instr, g: ModGroup): string => g.values[(ins.mods >>> g.shift) & g.mask].name;

/**
 * Is it a strong operation in the sense of PTX (PTX ISA 9.0, chapter 8, operation types): volatile, relaxed, acquire,
 * release, mmio, or any atomic operation? Such an operation communicates with other threads, so it executes exactly
 * as often, and in the order, as it is written.
 */
export function isStrong(ins: Instr): boolean {
  const sem = ins.op.groupByName.get('sem');
  return sem !== undefined && ins.op.accesses.length > 0 && chosen(ins, sem) !== 'WEAK';
}

const ORDERING: ReadonlySet<string> = new Set(['ACQUIRE', 'RELEASE', 'ACQ_REL']);

/** Is it a strong operation that also orders the accesses around it (acquire, release)? */
export function isOrdering(ins: Instr): boolean {
  const sem = ins.op.groupByName.get('sem');
  return sem !== undefined && ins.op.accesses.length > 0 && ORDERING.has(chosen(ins, sem));
}

/** Is it a load from global memory that nothing writes while the kernel runs (PTX ISA 9.0, ld.global.nc)? */
export const isReadOnlyLoad = (ins: Instr): boolean => hasMod(ins.op, ins.mods, 'NC');

/**
 * May the result of a first execution replace a second one with the same address, if memory is unchanged in between?
 * Only for plain loads: volatile or strong operations, and those with another effect, execute each time.
 */
export const mayBeCommon = (ins: Instr): boolean =>
  (ins.op.flags & OpFlag.ReadsMemory) !== 0 &&
  (ins.op.flags &
    (OpFlag.WritesMemory | OpFlag.SideEffect | OpFlag.Barrier | OpFlag.Volatile | OpFlag.Control)) ===
    0 &&
  !isStrong(ins);
