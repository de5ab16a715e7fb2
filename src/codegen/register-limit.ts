import { occupancyUnder, statedThreads } from '../analysis/registers/occupancy.ts';
import { dimensions } from '../ir/directives.ts';
import type { Fn } from '../ir/program.ts';

/**
 * The most registers that a kernel's threads may have: as `.maxnreg` states it, and so many that the blocks fit that `.minnctapersm` asks
 * for, or one.
 *
 * @param limits `limits` of the back end
 */
export function mostRegisters(fn: Fn, limits: Readonly<Record<string, unknown>>): number {
  const stated = dimensions(fn, '.maxnreg')?.[0] ?? Infinity;
  const threads = statedThreads(fn);
  const all = Math.min(stated, Number(limits['max-registers']));
  if (threads === undefined) return all;
  const blocks = dimensions(fn, '.minnctapersm')?.[0] ?? 1;
  const fits = (registers: number): boolean =>
    occupancyUnder(limits, { threads, registers, shared: 0 }).by.registers >= blocks;
  let most = all;
  while (most > Number(limits['min-registers']) && !fits(most)) most--;
  return most;
}
