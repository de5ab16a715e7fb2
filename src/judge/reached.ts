import { isControl } from '../ir/flow.ts';
import { NO_REG } from '../ir/operand.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { Code } from '../sim/decode.ts';
import { Seen } from '../sim/watch.ts';

/** Coverage of a kernel and its functions over all worlds. */
export interface Reached {
  readonly blocks: number;
  readonly allBlocks: number;
  /** Outcomes of conditional branches. */
  readonly ways: number;
  readonly allWays: number;
  /** Source lines at which blocks begin that never ran, at most ten. */
  readonly unreached: readonly number[];
}

/** Percentage of the blocks that ran, rounded down: 100 only if all did. */
export const percentRun = ({ blocks, allBlocks }: Pick<Reached, 'blocks' | 'allBlocks'>): number =>
  Math.floor((100 * blocks) / allBlocks);

/** Verdict for a program that is equal as far as it ran. */
export const equalWhereRun = (percent: number): string => `equal where it ran, ${percent} % of the blocks`;

/** Coverage of some functions. A function that was never called counts with all of its blocks. */
export function reachedIn(
  seen: ReadonlyMap<Code, Uint8Array>,
  functions: readonly Fn[],
  program: Program,
): Reached {
  const byFn = new Map([...seen].map(([code, bits]) => [code.fn.name, { code, bits }]));
  let [blocks, allBlocks, ways, allWays] = [0, 0, 0, 0];
  const unreached: number[] = [];
  for (const f of functions) {
    const known = byFn.get(f.name);
    if (known === undefined) {
      allBlocks += f.blocks.length;
      continue;
    }
    const { code, bits } = known;
    let last = -1;
    code.ins.forEach((d, pc) => {
      const first = d.block !== last;
      last = d.block;
      if (first) {
        allBlocks++;
        if ((bits[pc] & Seen.Ran) !== 0) blocks++;
        else {
          const line = program.locs[d.ins.loc]?.line ?? 0;
          if (line > 0 && unreached.length < 10) unreached.push(line);
        }
      }
      if (isControl(d.ins) && d.ins.guard !== NO_REG) {
        allWays += 2;
        ways += ((bits[pc] & Seen.True) !== 0 ? 1 : 0) + ((bits[pc] & Seen.False) !== 0 ? 1 : 0);
      }
    });
  }
  return { blocks, allBlocks, ways, allWays, unreached };
}

/** Merges `Seen` bits: sets in `to` what is set in `more`. */
export function addSeen(to: Map<Code, Uint8Array>, more: ReadonlyMap<Code, Uint8Array>): void {
  for (const [code, bits] of more) {
    const all = to.get(code);
    if (all === undefined) to.set(code, bits.slice());
    else for (let i = 0; i < bits.length; i++) all[i] |= bits[i];
  }
}
