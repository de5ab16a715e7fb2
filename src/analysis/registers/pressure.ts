import { memo } from '../../ir/memo.ts';
import type { Fn } from '../../ir/program.ts';
import { loopsOf } from '../loops/loops.ts';
import { LiveWalker, livenessOf } from './liveness.ts';

/** Pools that are counted: see `Pool`. */
const POOLS = 4;

/**
 * Register pressure: how many units of each pool are live at once. Points are block borders and the places between instructions. Units
 * are 32 bits wide in the pools R and UR, where a 64-bit register takes two. Pairs and single registers that are live together always
 * fit in that many units if aligned pairs come first. A result that is never read is not live. Pools are numbered by `Pool`.
 */
export interface Pressure {
  /** By pool: most units at any point of the function. */
  readonly most: Int32Array;
  /** Most units of a pool at any point of the block at position `b`, including its borders. */
  readonly inBlock: (b: number, pool: number) => number;
  /** Most units of a pool at any point of a natural loop (`loopsOf`), including inner loops. */
  readonly inLoop: (loop: number, pool: number) => number;
  /**
   * Units of a pool before instruction i of the block at position `b`, with an additional entry for the end of the
   * block.
   */
  readonly at: (b: number, pool: number) => Int32Array;
}

/** Register pressure of a snapshot. Blocks and loops are look-ups; the points of one block cost one walk through it. */
export const pressureOf: (fn: Fn) => Pressure = memo((fn) => {
  const walker = new LiveWalker(livenessOf(fn));
  const { blocks } = fn;
  const byBlock = new Int32Array(blocks.length * POOLS);
  const most = new Int32Array(POOLS);
  for (let b = 0; b < blocks.length; b++) {
    const base = b * POOLS;
    const note = (): void => {
      for (let p = 0; p < POOLS; p++)
        if (walker.units[p] > byBlock[base + p]) byBlock[base + p] = walker.units[p];
    };
    walker.enter(b);
    note();
    const { ins } = blocks[b];
    for (let i = ins.length - 1; i >= 0; i--) {
      walker.step(ins[i]);
      note();
    }
    for (let p = 0; p < POOLS; p++) if (byBlock[base + p] > most[p]) most[p] = byBlock[base + p];
  }

  /** By loop and pool; computed on the first query of a loop. */
  let byLoop: Int32Array | null = null;
  const loopMaxima = (): Int32Array => {
    const { loops, innermost } = loopsOf(fn);
    const out = new Int32Array(loops.length * POOLS);
    const raise = (loop: number, from: Int32Array, base: number): void => {
      for (let p = 0; p < POOLS; p++) out[loop * POOLS + p] = Math.max(out[loop * POOLS + p], from[base + p]);
    };
    for (let b = 0; b < blocks.length; b++) if (innermost[b] >= 0) raise(innermost[b], byBlock, b * POOLS);
    // Inner loops have larger numbers than the loops around them.
    for (let l = loops.length - 1; l >= 0; l--)
      if (loops[l].parent >= 0) raise(loops[l].parent, out, l * POOLS);
    return out;
  };

  return {
    most,
    inBlock: (b, pool) => byBlock[b * POOLS + pool],
    inLoop: (loop, pool) => (byLoop ??= loopMaxima())[loop * POOLS + pool],
    at: (b, pool) => {
      const { ins } = blocks[b];
      const out = new Int32Array(ins.length + 1);
      walker.enter(b);
      out[ins.length] = walker.units[pool];
      for (let i = ins.length - 1; i >= 0; i--) {
        walker.step(ins[i]);
        out[i] = walker.units[pool];
      }
      return out;
    },
  };
});
