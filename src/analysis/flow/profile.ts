import type { Fn } from '../../ir/program.ts';
import { type Cfg, cfgOf, leavesFunction, terminator } from './cfg.ts';
import type { Frequency } from './static-frequency.ts';

/**
 * Frequencies from measured counts: how often each block ran, by block id (0 if missing). Edges follow from
 * conservation (what enters a block leaves it) as far as block counts determine them. The rest of a block's count
 * goes to its undetermined edges in proportion to the counts of their targets. Contradictory counts give no negative
 * edge.
 *
 * @throws RangeError if a count is negative or not a number
 */
export function frequencyFrom(fn: Fn, counts: ReadonlyMap<number, number>): Frequency {
  const g = cfgOf(fn);
  const count = new Float64Array(g.count);
  for (let b = 0; b < g.count; b++) {
    const n = counts.get(fn.blocks[b].id) ?? 0;
    if (!(n >= 0 && n < Infinity))
      throw new RangeError(`the count of BB${fn.blocks[b].id} is ${n}; expected a number from 0 up`);
    count[b] = n;
  }
  const leaves = fn.blocks.map((b) => {
    const last = terminator(b);
    return last !== null && leavesFunction(fn, last);
  });
  const edges = new Edges(g, count, leaves);
  const probability = new Float64Array(g.succ.length);
  for (let b = 0; b < g.count; b++)
    for (let e = g.succStart[b]; e < g.succStart[b + 1]; e++)
      probability[e] = count[b] > 0 ? Math.min(1, edges.value[e] / count[b]) : 0;
  // Entered from outside: what the entry's predecessors do not account for.
  let entered = g.count > 0 ? count[0] : 0;
  for (let e = 0; e < g.succ.length; e++) if (g.succ[e] === 0) entered -= edges.value[e];
  const scale = entered > 0 ? entered : Math.max(1, count[0] ?? 1);
  return { block: count.map((n) => n / scale), probability };
}

/** Solves for edge counts: if a block has one unknown edge on a side, that edge gets the rest. */
class Edges {
  /** By index in `Cfg.succ`. */
  readonly value: Float64Array;
  private readonly g: Cfg;
  private readonly count: Float64Array;
  private readonly isSolved: Uint8Array;
  private readonly fromOf: Int32Array;
  /** Edges into each block, as indices in `Cfg.succ`. */
  private readonly into: Int32Array;
  /** Number of unknown edges of a block, on either side. */
  private readonly openOut: Int32Array;
  private readonly openIn: Int32Array;
  private readonly work: number[] = [];

  /** @param leaves by position: whether control may also leave the function from the block */
  constructor(g: Cfg, count: Float64Array, leaves: readonly boolean[]) {
    const { succ, succStart, predStart } = g;
    this.g = g;
    this.count = count;
    this.value = new Float64Array(succ.length);
    this.isSolved = new Uint8Array(succ.length);
    this.fromOf = new Int32Array(succ.length);
    this.into = new Int32Array(succ.length);
    this.openOut = new Int32Array(g.count);
    this.openIn = new Int32Array(g.count);
    const next = predStart.slice(0, g.count);
    for (let b = 0; b < g.count; b++) {
      // An exit from the function remains unknown: nothing counts how often it is taken.
      this.openOut[b] = succStart[b + 1] - succStart[b] + (leaves[b] ? 1 : 0);
      this.openIn[b] = predStart[b + 1] - predStart[b];
      for (let e = succStart[b]; e < succStart[b + 1]; e++) {
        this.fromOf[e] = b;
        this.into[next[succ[e]]++] = e;
      }
      this.work.push(b);
    }
    this.propagate();
    for (let b = 0; b < g.count; b++) {
      if (this.openOut[b] > 0) this.share(b);
      this.propagate();
    }
  }

  private propagate(): void {
    const { g } = this;
    while (this.work.length > 0) {
      const b = this.work.pop()!;
      if (this.openOut[b] === 1) {
        const { open, rest } = this.solveLast(b, g.succStart[b], g.succStart[b + 1], null);
        if (open >= 0) this.set(open, rest);
      }
      // The entry has one more incoming edge, from outside.
      if (b !== 0 && this.openIn[b] === 1) {
        const { open, rest } = this.solveLast(b, g.predStart[b], g.predStart[b + 1], this.into);
        this.set(open, rest);
      }
    }
  }

  /** Solves the last unknown edge on one side of a block from the known ones. */
  private solveLast(
    b: number,
    from: number,
    to: number,
    through: Int32Array | null,
  ): { open: number; rest: number } {
    let open = -1;
    let rest = this.count[b];
    for (let i = from; i < to; i++) {
      const e = through === null ? i : through[i];
      if (this.isSolved[e] === 1) rest -= this.value[e];
      else open = e;
    }
    return { open, rest: Math.max(0, rest) };
  }

  /** Divides the rest of a block's count among its unknown edges. */
  private share(b: number): void {
    const { succStart, succ } = this.g;
    const { open, rest } = this.solveLast(b, succStart[b], succStart[b + 1], null);
    if (open < 0) return;
    let weight = 0;
    let ways = 0;
    for (let e = succStart[b]; e < succStart[b + 1]; e++) {
      if (this.isSolved[e] === 1) continue;
      weight += this.count[succ[e]];
      ways++;
    }
    for (let e = succStart[b]; e < succStart[b + 1]; e++)
      if (this.isSolved[e] === 0)
        this.set(e, weight > 0 ? (rest * this.count[succ[e]]) / weight : rest / ways);
  }

  private set(e: number, value: number): void {
    const [from, to] = [this.fromOf[e], this.g.succ[e]];
    this.value[e] = Math.min(value, this.count[from], this.count[to]);
    this.isSolved[e] = 1;
    this.openOut[from]--;
    this.openIn[to]--;
    this.work.push(from, to);
  }
}
