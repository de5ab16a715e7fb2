import { memo } from '../../ir/memo.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import { extend } from '../../isa/polynomial.ts';
import { type Cfg, cfgOf, leavesFunction, targets, terminator } from '../flow/cfg.ts';
import { type DominatorTree, dominates, dominatorsOf } from '../flow/dominators.ts';
import { type Condition, conditionOf, negated } from '../values/condition.ts';
import { singleDef } from '../values/defuse.ts';
import { addScaled, constantOf, sameForm } from '../values/form-arithmetic.ts';
import { exitIteration, NOTHING_KNOWN, type SymbolicCount, type When } from './exit-iteration.ts';
import { type Forest, inLoop } from './loops.ts';
import { type Evolution, Evolutions, type Unwrapped } from './scalar-evolution.ts';

/** A block from which control may leave a loop, and when it does. */
export interface LoopExit extends When {
  /** Position of the block. */
  readonly block: number;
  /**
   * Whether the block runs in each iteration that returns to the header. If it runs several times per iteration, in
   * an inner loop, a test of values that change only with this loop gives the same result each time.
   */
  readonly everyTime: boolean;
}

/**
 * How often control returns to a loop's header before it leaves the loop; the header runs one time more. Counted per entry of the loop,
 * for one thread.
 *
 * A count holds if control leaves the loop by one of the loop's own branches or returns. A call, a trap or an endless
 * inner loop may end it earlier; it never runs longer.
 */
export interface TripCount {
  /** The count if it is the same for each entry, else null. */
  readonly exact: bigint | null;
  /** An upper bound, or null. */
  readonly most: bigint | null;
  /** Whether no branch of the loop ever leaves it. */
  readonly endless: boolean;
  /** The count in terms of loop-invariant values, if the only exit has such a form and `exact` is null. */
  readonly symbolic: SymbolicCount | null;
  /** In reverse post-order. */
  readonly exits: readonly LoopExit[];
}

/** Trip counts of the natural loops of a snapshot (`loopsOf`), by loop id, each computed on demand. */
export interface TripCounts {
  readonly of: (loop: number) => TripCount;
  /** Values in the loops, including extensions proved not to wrap. */
  readonly evolutions: Evolutions;
}

/**
 * Trip counts and evolutions of a snapshot. Outside SSA nothing is known: counts are null.
 *
 * Whether a narrow counter wraps before it is extended depends on how often the loop runs, which depends on the
 * counter. So there are two rounds: counts without any extension show which extensions are safe, and with those the
 * counts are computed again.
 */
export const tripCountsOf: (fn: Fn) => TripCounts = memo((fn) => {
  const plain = new Counts(fn, new Evolutions(fn, null));
  const proof: Unwrapped = (loop, e, signed) => unwrapped(plain.of(loop), e, signed);
  const full = new Counts(fn, new Evolutions(fn, proof, plain.evolutions));
  return { of: (loop) => full.of(loop), evolutions: full.evolutions };
});

class Counts {
  readonly evolutions: Evolutions;
  private readonly fn: Fn;
  private readonly cfg: Cfg;
  private readonly dom: DominatorTree;
  private readonly countOf: (TripCount | undefined)[] = [];
  private waysOut: readonly (readonly number[])[] | null = null;

  constructor(fn: Fn, evolutions: Evolutions) {
    this.fn = fn;
    this.cfg = cfgOf(fn);
    this.dom = dominatorsOf(fn);
    this.evolutions = evolutions;
  }

  of(loop: number): TripCount {
    this.countOf[loop] ??= this.count(loop);
    return this.countOf[loop];
  }

  private count(loop: number): TripCount {
    if (!this.evolutions.ssa) return UNKNOWN;
    const exits: LoopExit[] = [];
    this.waysOut ??= waysOut(this.fn, this.evolutions.forest);
    if (this.waysOut[loop].length > MOST_EXITS) return UNKNOWN;
    for (const b of this.waysOut[loop]) {
      const leaves = this.leaving(loop, b);
      if (leaves === undefined) continue;
      const everyTime = this.everyTime(loop, b);
      const when =
        everyTime && leaves !== null ? exitIteration(this.evolutions, loop, leaves) : NOTHING_KNOWN;
      exits.push({ block: b, everyTime, at: when.at, most: when.most, symbolic: when.symbolic });
    }
    let most: bigint | null = null;
    let sure = true;
    for (const e of exits) {
      if (e.at === null) sure = false;
      if (e.most !== null && (most === null || e.most < most)) most = e.most;
    }
    const exact = sure || most === 0n ? most : null;
    return {
      exact,
      most,
      endless: sure && most === null,
      symbolic: exact === null && exits.length === 1 ? exits[0].symbolic : null,
      exits,
    };
  }

  /** When control leaves the loop from the end of a block: null if unknown, undefined if it never does. */
  private leaving(loop: number, b: number): Condition | null | undefined {
    const { forest } = this.evolutions;
    const last = terminator(this.fn.blocks[b]);
    if (last === null || last.guard === NO_REG) {
      // A block of a loop that leaves it without a guard has several targets, as tables do.
      const { succStart, succ } = this.cfg;
      for (let e = succStart[b]; e < succStart[b + 1]; e++) if (!inLoop(forest, loop, succ[e])) return null;
      return undefined;
    }
    let inside = 0;
    let outside = 0;
    targets(this.fn, last, (id) => {
      if (inLoop(forest, loop, this.cfg.positionOf[id])) inside++;
      else outside++;
    });
    // Without a target, control leaves the function (or comes back, from a call).
    if (inside + outside === 0 && (last.op.flags & OpFlag.NoFallThrough) !== 0) outside++;
    const onwards = b + 1 >= this.cfg.count || !inLoop(forest, loop, b + 1);
    if (outside === 0 && !onwards) return undefined;
    if (outside > 0 && (inside > 0 || onwards)) return null;
    const guard: Condition = { kind: 'predicate', reg: last.guard };
    return this.resolved(last.guardNot === outside > 0 ? negated(guard) : guard, 0);
  }

  /** Does every path around the loop pass the block? */
  private everyTime(loop: number, b: number): boolean {
    return this.evolutions.forest.loops[loop].latches.every((l) => dominates(this.dom, b, l));
  }

  /** A condition with predicate registers replaced by their definitions, as deep as compilers nest tests. */
  private resolved(c: Condition, depth: number): Condition | null {
    switch (c.kind) {
      case 'predicate': {
        const { du } = this.evolutions;
        const n = singleDef(du, c.reg);
        if (n < 0 || depth > MOST_TESTS || du.ins[n].guard !== NO_REG) return c;
        const computed = conditionOf(du.ins[n], du.ins[n].dst.indexOf(c.reg));
        return computed === null ? c : this.resolved(computed, depth + 1);
      }
      case 'not': {
        const of = this.resolved(c.of, depth);
        return of === null ? null : negated(of);
      }
      case 'and':
      case 'or': {
        const a = this.resolved(c.a, depth + 1);
        const b = this.resolved(c.b, depth + 1);
        return a === null || b === null ? null : { kind: c.kind, a, b };
      }
      default:
        return c;
    }
  }
}

/** A loop with more exits is unknown: in a nest that is left from everywhere, each loop has the exits of all loops inside it. */
const MOST_EXITS = 256;

const UNKNOWN: TripCount = { exact: null, most: null, endless: false, symbolic: null, exits: [] };

/**
 * By loop, in reverse post-order: blocks from which control may leave it, for another block or out of the function; found in one walk,
 * at most one more than `MOST_EXITS`.
 */
const waysOut = (fn: Fn, forest: Forest): number[][] => {
  const { succStart, succ, rpo, count } = forest.cfg;
  const out: number[][] = forest.loops.map(() => []);
  for (const b of rpo) {
    const inner = forest.innermost[b];
    if (inner < 0) continue;
    // The outermost loop in which control stays, whichever edge it takes.
    let stays = inner;
    const last = terminator(fn.blocks[b]);
    if (b + 1 >= count || (last !== null && leavesFunction(fn, last))) stays = -1;
    for (let e = succStart[b]; e < succStart[b + 1]; e++)
      while (stays >= 0 && !inLoop(forest, stays, succ[e])) stays = forest.loops[stays].parent;
    for (let l = inner; l !== stays; l = forest.loops[l].parent)
      if (out[l].length <= MOST_EXITS) out[l].push(b);
  }
  return out;
};

/** Longer chains of predicates are cut, because each predicate can double the number of tests. */
const MOST_TESTS = 8;

/**
 * The step of a value as an integer, if the value does not wrap while the loop runs as counted: either all its values
 * are known to lie in the range, or an exit compares it with a bound on its way to the end of the range.
 */
function unwrapped(count: TripCount, e: Evolution, signed: boolean): bigint | null {
  const first = constantOf(e.start);
  const bits = constantOf(e.step);
  if (bits === null) return null;
  const { width } = e;
  const fits = (x: bigint): boolean => extend(x, width, signed) === x;
  const up = BigInt.asIntN(width, bits);
  if (first !== null && count.most !== null) {
    const from = extend(first, width, signed);
    for (const step of signed ? [up] : [up, bits]) if (fits(from + step * count.most)) return step;
  }
  for (const x of count.exits) {
    const s = x.symbolic;
    if (s === null || !s.always || s.signed !== signed || s.relation === '!=' || s.start.width !== width)
      continue;
    if (!sameForm(s.step, e.step)) continue;
    if (sameForm(s.start, e.start)) return up;
    // The test already reads the next value, so it does not cover the first step.
    const next = addScaled(e.start, e.step, 1n);
    if (first !== null && sameForm(s.start, next) && fits(extend(first, width, signed) + up)) return up;
  }
  return null;
}
