import { isValue, mayRunAnywhere } from '../../analysis/calls/effects.ts';
import { cfgOf } from '../../analysis/flow/cfg.ts';
import { type DominatorTree, dominates, dominatorsOf } from '../../analysis/flow/dominators.ts';
import { frequencyOf } from '../../analysis/flow/frequency.ts';
import { type Forest, isNested, loopsOf } from '../../analysis/loops/loops.ts';
import {
  isLiveIn,
  LiveClass,
  liveClassOf,
  livenessOf,
  reads,
  returnedRegs,
} from '../../analysis/registers/liveness.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { NO_REG, type Reg, RegFile, regFile, regWidth } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { allInSsa } from '../../ssa/registers.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phase SinkCodeIntoBlock: a value that only one path needs is computed on that path.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IMAD R1, R2, R3, R4             @P6 BRA BB2
 *       @P6 BRA BB2                       BB1:
 *     BB1:                                      IMAD R1, R2, R3, R4
 *           STG [RD5], R1                       STG [RD5], R1
 *     BB2:                                BB2:
 *
 * The place is the nearest common dominator of all uses (an operand of a phi is used at the end of its predecessor block), or a block
 * between it and the definition, whichever runs least, by frequency; never in a loop that does not contain the definition. Blocks and
 * their instructions are processed from the last to the first, so that what only a sunk value needs sinks after it (Click, "Global Code
 * Motion, Global Value Numbering", 1995: the late schedule, for values alone).
 *
 * What a function returns stays, and so does what is in uniform registers. Only values move, because they give the same result wherever
 * they run; a load would move closer to the use that waits for it. With `loads`, those from fixed places of constant banks do too
 * (phase 28; phase 27 reports which). Registers: an operand that would otherwise have died lives longer;
 * all such operands may take no more registers than the result did.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application may find that an operand now lives down to
 * a place where it ended before, and sink more; otherwise it changes nothing.
 * Bound: each instruction once, with as many steps as the dominator tree is deep between its old and new place.
 */
export const sinkValues: Pass = (fn, ctx) => edit(fn, (d) => sink(d, ctx), ctx.isa);

function sink(d: Draft, ctx: PassContext): void {
  const { rpo } = cfgOf(d.fn);
  const live = livenessOf(d.fn);
  const places = new SinkPlaces(d);
  const returned = new Set(returnedRegs(d.fn));
  for (let i = rpo.length - 1; i >= 0; i--) {
    const own = rpo[i];
    for (let n = d.last(own), above: Ins; n >= 0; n = above) {
      above = d.previous(n);
      const x = d.at(n);
      if (!maySink(x, returned, ctx.params.loads === true)) continue;
      const target = places.best(n, own);
      if (target === own) continue;
      if (unitsEndedBy(x, (r) => isLiveIn(live, r, target)) > unitsOf(x.dst)) continue;
      if (!ctx.mayRewrite('sunk', d.id(own), x)) continue;
      ctx.remark('passed', 'sunk', `${printInstr(x)} into BB${d.id(target)}`, {
        block: d.id(own),
        ins: x,
      });
      const user = firstUser(d, x, target);
      if (user >= 0) d.move(n, user);
      else d.moveToEnd(n, target);
    }
  }
}

const maySink = (x: Instr, returned: ReadonlySet<Reg>, loads: boolean): boolean =>
  (loads ? mayRunAnywhere(x) : isValue(x)) &&
  !isPhi(x) &&
  allInSsa(x) &&
  !x.dst.some((r) => returned.has(r)) &&
  !isUniform(x);

const NOWHERE: readonly BlockNo[] = [];

/** Finds the best blocks for computing values. */
class SinkPlaces {
  private readonly d: Draft;
  private readonly tree: DominatorTree;
  private readonly forest: Forest;
  private readonly often: ArrayLike<number>;
  /** By register: the predecessor blocks over which phis take it, which are its uses by phis. */
  private readonly toPhis = new Map<Reg, BlockNo[]>();

  constructor(d: Draft) {
    this.d = d;
    this.tree = dominatorsOf(d.fn);
    this.forest = loopsOf(d.fn);
    this.often = frequencyOf(d.fn).block;
    for (const b of d.fn.blocks)
      for (const { src } of b.ins.filter(isPhi))
        for (let k = 0; k + 1 < src.length; k += 2) {
          const { reg } = src[k + 1];
          const from = d.blockById(src[k].lo);
          const blocks = this.toPhis.get(reg);
          if (blocks === undefined) this.toPhis.set(reg, [from]);
          else if (blocks.at(-1) !== from) blocks.push(from);
        }
  }

  /** The block that runs least among those between the definition in `own` and the nearest common dominator of all uses. */
  best(n: Ins, own: BlockNo): BlockNo {
    const { tree, often } = this;
    let best = own;
    for (let b = this.dominatorOfUses(n); b >= 0 && b !== own; b = tree.idom[b])
      if (often[b] < often[best] && !this.enters(b, own)) best = b;
    return best;
  }

  /** The nearest common dominator of all uses; -1 if none is reachable. */
  private dominatorOfUses(n: Ins): BlockNo {
    const { d } = this;
    let target = -1;
    for (const r of d.at(n).dst) {
      if (r === NO_REG) continue;
      for (let u = d.firstUse(r); u >= 0; u = d.nextUse(u)) {
        const user = d.userAt(u);
        if (!isPhi(d.at(user))) target = this.common(target, d.block(user));
      }
      for (const b of this.toPhis.get(r) ?? NOWHERE) target = this.common(target, b);
    }
    return target;
  }

  /** The nearest common dominator of both; `b` is ignored if it is unreachable. */
  private common(a: BlockNo, b: BlockNo): BlockNo {
    const { tree } = this;
    if (tree.depth[b] < 0) return a;
    let above = a < 0 ? b : a;
    while (!dominates(tree, above, b)) above = tree.idom[above];
    return above;
  }

  /** Is the first block in a loop that the other is not in? */
  private enters(target: BlockNo, from: BlockNo): boolean {
    const { forest } = this;
    const inner = forest.innermost[target];
    return inner >= 0 && !isNested(forest, forest.innermost[from], inner);
  }
}

const UNIFORM: ReadonlySet<number> = new Set([RegFile.UR, RegFile.URD, RegFile.UP]);

/** Does it read or write a uniform register? Lanes that left a loop early would see what later iterations made of it. */
function isUniform(x: Instr): boolean {
  const uniform = (r: Reg): boolean => r !== NO_REG && UNIFORM.has(regFile(r));
  let found = x.dst.some(uniform);
  reads(x, (r) => {
    if (uniform(r)) found = true;
  });
  return found;
}

/** The first instruction of a block, except phis, that reads a result; -1 if there is none. */
function firstUser(d: Draft, x: Instr, b: BlockNo): Ins {
  let first: Ins = -1;
  for (const r of x.dst) {
    if (r === NO_REG) continue;
    for (let use = d.firstUse(r); use >= 0; use = d.nextUse(use)) {
      const u = d.userAt(use);
      if (d.block(u) === b && !isPhi(d.at(u)) && (first < 0 || d.precedes(u, first))) first = u;
    }
  }
  return first;
}

const unitsOf = (registers: Iterable<Reg>): number => {
  let units = 0;
  for (const r of registers) if (r !== NO_REG) units += liveClassOf(r) === LiveClass.R ? regWidth(r) / 32 : 1;
  return units;
};

/** Registers of the operands that are not live at the new place without the instruction. */
function unitsEndedBy(x: Instr, isLive: (r: Reg) => boolean): number {
  const ended = new Set<Reg>();
  reads(x, (r) => {
    if (!isLive(r)) ended.add(r);
  });
  return unitsOf(ended);
}
