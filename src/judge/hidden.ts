import { hasMod } from '../ir/opcode.ts';
import type { Instr } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { Seen } from '../sim/watch.ts';
import { SHARED_PLACES } from './accesses.ts';
import type { Difference } from './difference.ts';
import { type Run, VARIABLES } from './run.ts';

// Checks beyond equal memory: races, broken promises, and accesses to memory that need not exist.

/**
 * Finds a word that threads access without ordering only in the second run; null if there is none. If any word of a memory kind raced
 * before, that kind is skipped. So are races within a warp in machine code: ptxas needs no instruction for a bar.warp.sync in a converged
 * warp.
 */
export function newRace(a: Run, b: Run): Difference | null {
  const [x, y] = [a.watcher.races, b.watcher.races];
  if (x === null || y === null || x.isPartial || y.isPartial) return null;
  const shared = (word: number): boolean => word * 4 >= SHARED_PLACES;
  const raced = new Set([...x.words.keys()].map(shared));
  for (const [word, how] of y.words) {
    if (raced.has(shared(word)) || (b.machine && !y.ofWarps.has(word))) continue;
    const where = shared(word)
      ? `shared memory at 0x${((word * 4) % 2 ** 26).toString(16)}`
      : `0x${(word * 4).toString(16)}`;
    return {
      kind: 'a race',
      text: `${where}: ${how}, and nothing orders the two accesses any more`,
    };
  }
  return null;
}

/** Memory that the second run writes and reads through ld.global.nc; null if there is none or the first run did so too. */
export const newPromise = (a: Run, b: Run): Difference | null =>
  b.watcher.brokePromise && !a.watcher.brokePromise
    ? {
        kind: 'a false promise',
        text: 'memory that the kernel writes is read by ld.global.nc, and was not before',
      }
    : null;

/** A branch marked uniform at which lanes diverge in the second run; null if there is none or the first run had one too. */
export function falselyUniform(a: Run, b: Run): Difference | null {
  const parts = (r: Run): Instr | null => {
    for (const [code, bits] of r.watcher.seen)
      for (let pc = 0; pc < bits.length; pc++)
        if ((bits[pc] & Seen.Parted) !== 0 && hasMod(code.ins[pc].ins.op, code.ins[pc].ins.mods, 'U'))
          return code.ins[pc].ins;
    return null;
  };
  const ins = parts(b);
  if (ins === null || parts(a) !== null) return null;
  return {
    kind: 'a false promise',
    text: `${printInstr(ins)} is marked uniform, but lanes diverge`,
    ins,
  };
}

/** A word that the second run loads and the first neither loads nor stores, so that it need not exist; null if there is none. */
export function readsElsewhere(a: Run, b: Run): string | null {
  for (const word of b.watcher.read) {
    if (a.watcher.read.has(word) || word * 4 >= VARIABLES || a.memory.isWritten(word * 4, 4)) continue;
    return `0x${(word * 4).toString(16)} is loaded, and was not accessed before`;
  }
  return null;
}
