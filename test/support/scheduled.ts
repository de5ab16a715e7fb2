import type { Fn } from '../../src/ir/program.ts';
import { Machine } from '../../src/sim/machine.ts';
import { OpenMemory } from '../../src/sim/memory.ts';
import { programOf } from './context.ts';

/** What each thread of two blocks of 80 stores, in order, under a schedule; without a seed, in fixed turns. */
export function stores(fn: Fn, schedule: number | undefined, budget = 40_000): string {
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
  const memory = new OpenMemory(1);
  const m = new Machine(programOf(fn), fn, opts, memory, new DataView(new ArrayBuffer(0x1000)));
  const end = m.run(fn);
  memory.flush();
  return `${end} ${JSON.stringify(m.logs.map((l) => [...l]))}`;
}
