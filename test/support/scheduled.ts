import { expect } from 'vitest';
import type { Fn } from '../../src/ir/program.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { Machine } from '../../src/sim/machine.ts';
import { contentsFor, OpenMemory, PIECE } from '../../src/sim/open-memory.ts';
import { programOf } from './context.ts';

/** Runs two blocks of 80 threads under a seeded schedule, or with fixed turns. */
function run(
  fn: Fn,
  schedule: number | undefined,
  budget: number,
): { end: string; m: Machine; memory: OpenMemory } {
  expect(verifyFn(fn)).toEqual([]);
  const opts = {
    grid: [2, 1, 1],
    block: [20, 4, 1],
    dynamicShared: 4096,
    budget,
    counters: null,
    open: true,
    seed: 1,
    ...(schedule === undefined ? {} : { schedule }),
  } as const;
  const memory = new OpenMemory(contentsFor(1));
  const m = new Machine(programOf(fn), fn, opts, memory, new DataView(new ArrayBuffer(0x1000)));
  const end = m.run(fn);
  memory.flush();
  return { end, m, memory };
}

/** Stores of each thread, in order. */
export function stores(fn: Fn, schedule: number | undefined, budget = 40_000): string {
  const { end, m } = run(fn, schedule, budget);
  return `${end} ${JSON.stringify(m.logs)}`;
}

/** Final contents of global memory where something was written. */
export function memoryAfter(fn: Fn, schedule: number | undefined, budget = 40_000): string {
  const { end, memory } = run(fn, schedule, budget);
  const pieces = [...memory.pieces]
    .sort((a, b) => a[0] - b[0])
    .map(([key, { bytes, written, from }]) => [
      key,
      [...bytes.subarray(from, from + PIECE)].flatMap((v, i) => (written[from + i] === 1 ? [i, v] : [])),
    ]);
  return `${end} ${JSON.stringify(pieces)}`;
}
