import { memo } from '../../ir/memo.ts';
import { OpFlag } from '../../ir/opcode.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Block, Fn } from '../../ir/program.ts';
import { inLoop, type LoopForest, loopsOf } from '../loops/loops.ts';
import { tripCountsOf } from '../loops/trip-count.ts';
import { type Cfg, cfgOf, endsFlow, isControl, leavesFunction, targets, terminator } from './cfg.ts';
import { dominates, dominators, postDominatorsOf } from './dominators.ts';

/**
 * How often the heuristics of Ball and Larus ("Branch Prediction for Free", 1993) are right, as measured by Wu and
 * Larus ("Static Branch Frequency and Program Profile Analysis", 1994, table 1). Those about pointers, guards and
 * opcodes concern C programs on a CPU and are left out.
 */
const RIGHT = {
  /** A branch back to the header of a loop is taken. */
  loopBranch: 0.88,
  /** Control stays in a loop, if neither target is the header. */
  loopExit: 0.8,
  /** Control enters a loop that it could bypass, through a preheader or without one. */
  loopHeader: 0.75,
  /** Control avoids a block with a call, ... */
  call: 0.78,
  /** ... a store, ... */
  store: 0.55,
  /** ... or the end of the function, if it can bypass it. */
  return: 0.72,
} as const;

/**
 * Probability of each edge, by index in `Cfg.succ`, once control is at the end of the block. If they sum to less than
 * 1, the rest leaves the function there. A branch that controls a loop with a known trip count has the probability
 * that the count implies (`tripCountsOf`). Several heuristics are combined by the rule of Dempster and Shafer, as Wu
 * and Larus do. All entries of a jump table are equally likely.
 */
export const branchProbabilitiesOf: (fn: Fn) => Float64Array = memo((fn) => {
  const g = cfgOf(fn);
  const out = new Float64Array(g.succ.length);
  const forest = loopsOf(fn);
  const facts = fn.blocks.map(factsOf);
  const { positionOf } = g;
  const weight = new Float64Array(g.count);
  for (const b of g.rpo) {
    const from = g.succStart[b];
    const to = g.succStart[b + 1];
    const last = terminator(fn.blocks[b]);
    if (to === from) continue;
    if (last === null || (g.midBlockControl && !controlLast(fn.blocks[b]))) {
      out.fill(1 / (to - from), from, to);
      continue;
    }
    const leaves = leavesFunction(fn, last);
    if (to - from === 1 && !leaves) out[from] = 1;
    else if (last.guard !== NO_REG && to - from === (leaves ? 1 : 2)) {
      // Edges are ordered taken, then fall-through; if the taken branch leaves the function, only the fall-through is an edge.
      const taken = guessed(fn, g, forest, facts, b, leaves ? -1 : g.succ[from], g.succ[to - 1]);
      if (!leaves) out[from] = taken;
      out[to - 1] = 1 - taken;
    } else {
      // All entries of a table are equally likely; the fall-through of a guarded one is as likely as all of them
      // together.
      let total = 0;
      targets(fn, last, (id) => {
        weight[positionOf[id]]++;
        total++;
      });
      if (!endsFlow(last)) {
        weight[b + 1] += total;
        total *= 2;
      }
      for (let e = from; e < to; e++) {
        out[e] = weight[g.succ[e]] / total;
        weight[g.succ[e]] = 0;
      }
    }
  }
  for (const l of forest.loops) counted(fn, g, forest, l.id, out);
  return out;
});

/** The properties of a block that heuristics use. */
interface Facts {
  readonly calls: boolean;
  readonly stores: boolean;
}

function factsOf(b: Block): Facts {
  let calls = false;
  let stores = false;
  for (let i = 0; i < b.ins.length; i++) {
    const { flags } = b.ins[i].op;
    // Among control operations, only calls come back.
    if ((flags & OpFlag.Control) !== 0) calls ||= (flags & OpFlag.NoFallThrough) === 0;
    else if ((flags & OpFlag.WritesMemory) !== 0) stores = true;
  }
  return { calls, stores };
}

const controlLast = (b: Block): boolean => {
  for (let i = 0; i < b.ins.length - 1; i++) if (isControl(b.ins[i])) return false;
  return true;
};

/** Probability of the first of two successors; -1 stands for the exit from the function. */
function guessed(
  fn: Fn,
  g: Cfg,
  forest: LoopForest,
  facts: readonly Facts[],
  b: number,
  first: number,
  second: number,
): number {
  const post = postDominatorsOf(fn);
  let p = 0.5;
  /** Combines the result so far with a heuristic that predicts the first (or the second) successor with probability `right`. */
  const combine = (one: boolean, right: number): void => {
    const q = one ? right : 1 - right;
    p = (p * q) / (p * q + (1 - p) * (1 - q));
  };
  const loop = forest.innermost[b];
  const stays = (to: number): boolean => to >= 0 && inLoop(forest, loop, to);
  const back = (to: number): boolean => to >= 0 && g.rpoNumber[to] <= g.rpoNumber[b] && header(to);
  const header = (to: number): boolean =>
    forest.innermost[to] >= 0 && forest.loops[forest.innermost[to]].header === to;
  const preheader = (to: number): boolean => {
    const [from, end] = [g.succStart[to], g.succStart[to + 1]];
    return end - from === 1 && header(g.succ[from]) && dominates(dominators(g), to, g.succ[from]);
  };
  /** Does it lead to something that control can also bypass? */
  const onItsWay = (to: number, is: (to: number) => boolean): boolean =>
    to >= 0 && is(to) && !dominates(post, to, b);
  const either = (is: (to: number) => boolean, right: number): void => {
    const [one, two] = [is(first), is(second)];
    if (one !== two) combine(one, right);
  };

  either(back, RIGHT.loopBranch);
  if (loop >= 0 && !back(first) && !back(second)) either(stays, RIGHT.loopExit);
  either((to) => onItsWay(to, (x) => !back(x) && (header(x) || preheader(x))), RIGHT.loopHeader);
  either((to) => onItsWay(to, (x) => facts[x].calls), 1 - RIGHT.call);
  either((to) => onItsWay(to, (x) => facts[x].stores), 1 - RIGHT.store);
  either((to) => to < 0 || onItsWay(to, (x) => g.succStart[x] === g.succStart[x + 1]), 1 - RIGHT.return);
  return p;
}

/** If the trip count of a loop is known, one exit is taken once in that many iterations and no other exit ever. */
function counted(fn: Fn, g: Cfg, forest: LoopForest, loop: number, out: Float64Array): void {
  const { exact, exits } = tripCountsOf(fn).of(loop);
  if (exact === null || exits.some((x) => forest.innermost[x.block] !== loop)) return;
  let left = false;
  for (const { block, at } of exits) {
    if (at === null) continue;
    const taken: boolean = !left && at === exact;
    left ||= taken;
    // One of two successors leaves the loop, perhaps out of the function.
    const leaves = taken ? 1 / (Number(exact) + 1) : 0;
    for (let e = g.succStart[block]; e < g.succStart[block + 1]; e++)
      out[e] = inLoop(forest, loop, g.succ[e]) ? 1 - leaves : leaves;
  }
}
