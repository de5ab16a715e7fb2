import { dimensions } from '../../ir/directives.ts';
import type { Fn } from '../../ir/program.ts';

/** The resources of an SM that a block of threads uses. */
export interface BlockUse {
  readonly threads: number;
  /** 32-bit registers of a thread. */
  readonly registers: number;
  /** Bytes of shared memory, static and dynamic. */
  readonly shared: number;
}

/** The blocks and warps of a kernel that an SM holds. */
export interface Occupancy {
  readonly blocks: number;
  readonly warps: number;
  /** Most warps that the SM can hold. */
  readonly most: number;
  /** Blocks that each limit alone would allow. */
  readonly by: { readonly threads: number; readonly registers: number; readonly shared: number };
}

/** `limits` of a back end. */
export type Limits = Readonly<Record<string, unknown>>;

/** Threads of a block if neither the kernel nor a launch states it. */
export const USUAL_BLOCK = 256;

/** Threads of a block as the directives of a kernel state it. */
export function statedThreads(kernel: Fn): number | undefined {
  const shape = dimensions(kernel, '.reqntid') ?? dimensions(kernel, '.maxntid');
  return shape === null ? undefined : shape[0] * shape[1] * shape[2];
}

/**
 * Blocks of a kernel that one SM holds at once, by its limits on threads, warps, blocks, registers and shared memory.
 * Registers are allocated per warp in units, from the file of its sub-partition (cuda_occupancy.h of CUDA 13.0).
 */
export function occupancyUnder(limits: Limits, use: BlockUse): Occupancy {
  const limit = (name: string): number => {
    const v = limits[name];
    return Array.isArray(v) ? Math.max(...(v as number[])) : Number(v ?? 0);
  };
  const up = (n: number, unit: number) => Math.ceil(n / Math.max(1, unit)) * Math.max(1, unit);
  const most = limit('warps-per-sm');
  const warps = Math.ceil(use.threads / limit('warp-size'));
  const registers = Math.min(Math.max(use.registers, limit('min-registers')), limit('max-registers'));
  const perWarp = up(registers * limit('warp-size'), limit('register-allocation-unit'));
  const parts = limit('subpartitions');
  const byRegisters = Math.floor(limit('registers-per-sm') / parts / perWarp) * parts;
  const shared = up(use.shared, limit('shared-allocation-unit')) + limit('reserved-shared-per-cta');
  const bytes = limit('shared-kb') * 1024;
  const by = {
    threads: Math.min(
      limit('ctas-per-sm'),
      Math.floor(limit('threads-per-sm') / use.threads),
      Math.floor(most / warps),
    ),
    registers: Math.floor(byRegisters / warps),
    shared: use.shared === 0 ? Infinity : Math.floor(bytes / shared),
  };
  const blocks = Math.min(by.threads, by.registers, by.shared);
  return { blocks, warps: blocks * warps, most, by };
}

/**
 * The maximum number of registers per thread with which an SM still holds as many blocks of a kernel as with the fewest: saving more
 * registers than that gains no warps. Infinite if the limits do not say.
 */
export function freeRegisters(limits: Limits, use: Omit<BlockUse, 'registers'>): number {
  const most = Number(limits['max-registers'] ?? 0);
  if (most === 0) return Number.POSITIVE_INFINITY;
  const { threads, shared } = use;
  const blocks = (registers: number): number => occupancyUnder(limits, { threads, registers, shared }).blocks;
  let registers = Number(limits['min-registers'] ?? 1);
  const all = blocks(registers);
  // More registers never allow more blocks.
  for (let above = most + 1; registers + 1 < above; ) {
    const middle = (registers + above) >> 1;
    if (blocks(middle) === all) registers = middle;
    else above = middle;
  }
  return registers;
}

/**
 * The maximum number of registers per thread that the directives `.maxnreg` and `.minnctapersm` of a kernel allow. Infinite if the
 * limits do not say.
 */
export function registersAllowed(limits: Limits, kernel: Fn): number {
  const all = Number(limits['max-registers'] ?? Number.POSITIVE_INFINITY);
  let most = Math.min(all, dimensions(kernel, '.maxnreg')?.[0] ?? all);
  const together = dimensions(kernel, '.minnctapersm')?.[0] ?? 1;
  if (together <= 1 || all === Number.POSITIVE_INFINITY) return most;
  const threads = statedThreads(kernel) ?? USUAL_BLOCK;
  const least = Number(limits['min-registers'] ?? 1);
  while (most > least && occupancyUnder(limits, { threads, registers: most, shared: 0 }).blocks < together)
    most--;
  return most;
}
