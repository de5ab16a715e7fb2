import { OpFlag } from '../ir/opcode.ts';
import { popc } from '../isa/ints.ts';
import type { Decoded } from './decode.ts';
import type { Frame, Path } from './state.ts';

/** Events counted during a run. */
export interface Counters {
  warpInstructions: number;
  threadInstructions: number;
  readonly byUnit: Record<string, { warp: number; thread: number }>;
  divergentBranches: number;
  deepestStack: number;
  readonly transactions: Record<string, number>;
  barrierWaits: number;
  /** Number of times warps enter each block, by function name and block id. */
  readonly blocks: Record<string, Record<number, number>>;
}

/** Counters before a run: all zero. */
export const newCounters = (): Counters => ({
  warpInstructions: 0,
  threadInstructions: 0,
  byUnit: {},
  divergentBranches: 0,
  deepestStack: 0,
  transactions: {},
  barrierWaits: 0,
  // No prototype: a function may be named `__proto__`.
  blocks: Object.create(null),
});

/** Counts one instruction that the lanes `mask` of a path execute. */
export function count(c: Counters, d: Decoded, f: Frame, mask: number, path: Path): void {
  const n = popc(mask);
  c.warpInstructions++;
  c.threadInstructions += n;
  const u = d.ins.op.unit;
  c.byUnit[u] ??= { warp: 0, thread: 0 };
  c.byUnit[u].warp++;
  c.byUnit[u].thread += n;
  const before = f.code.ins[path.pc - 1];
  if (before === undefined || before.block !== d.block || (before.ins.op.flags & OpFlag.Control) !== 0) {
    c.blocks[f.code.fn.name] ??= {};
    const blocks = c.blocks[f.code.fn.name];
    blocks[d.block] = (blocks[d.block] ?? 0) + 1;
  }
}
