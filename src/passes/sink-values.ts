import { cfgOf } from '../analysis/cfg.ts';
import { commonDominator, dominatorsOf } from '../analysis/dominators.ts';
import { isValue } from '../analysis/effects.ts';
import { frequencyOf } from '../analysis/frequency.ts';
import { isLiveIn, LiveClass, liveClassOf, livenessOf, reads } from '../analysis/liveness.ts';
import { loopsOf } from '../analysis/loops.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../ir/draft/index.ts';
import { isPhi } from '../ir/flow.ts';
import { NO_REG, type Reg, regWidth } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { allInSsa } from '../ssa/registers.ts';
import type { Pass } from './pass.ts';

/**
 * Phase SinkCodeIntoBlock: what only one way needs is computed on that way.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IMAD R1, R2, R3, R4             @P6 BRA BB2
 *       @P6 BRA BB2                       BB1:
 *     BB1:                                      IMAD R1, R2, R3, R4
 *           STG [RD5], R1                       STG [RD5], R1
 *     BB2:                                BB2:
 *
 * The place is the block nearest above all uses (what a phi takes is used at the end of the way that it comes by), or one between
 * there and the definition, whichever runs least, by frequency; never in a loop that the definition is not in. Blocks and their
 * instructions are taken from the last to the first, so that what only a sunk value needs sinks behind it (Click, "Global Code Motion,
 * Global Value Numbering", 1995: the late schedule, for values alone).
 *
 * Only values move, because they give the same wherever they run; a load would move nearer to the use that has to wait for it. Registers: an operand that would otherwise have died
 * lives longer; all such may take no more room than the result did.
 *
 * Requires: control-last, ssa. Guarantees: ssa; blocks and edges stay. A second application may find that an operand
 * now lives down to a place where it ended before, and sink more; else it changes nothing.
 * Bound: each instruction once, each time as many steps as the dominator tree is deep between its place and the new one.
 */
export const sinkValues: Pass = (fn, ctx) =>
  edit(
    fn,
    (d) => {
      const { rpo } = cfgOf(fn);
      const tree = dominatorsOf(fn);
      const { innermost, loops } = loopsOf(fn);
      const live = livenessOf(fn);
      const often = frequencyOf(fn).block;

      /** Is the block in no loop but those that the other is in? */
      const enters = (target: BlockNo, from: BlockNo): boolean => {
        const inner = innermost[target];
        for (let l = innermost[from]; l >= 0; l = loops[l].parent) if (l === inner) return false;
        return inner >= 0;
      };
      const placeFor = (n: Ins, own: BlockNo): BlockNo => {
        let target = -1;
        for (const r of d.at(n).dst)
          if (r !== NO_REG)
            eachUsePlace(d, r, (b) => {
              target = target < 0 ? b : commonDominator(tree, target, b);
            });
        let best = own;
        for (let b = target; b >= 0 && b !== own; b = tree.idom[b])
          if (often[b] < often[best] && !enters(b, own)) best = b;
        return best;
      };

      for (let i = rpo.length - 1; i >= 0; i--) {
        const own = rpo[i];
        for (let n = d.last(own), above: Ins; n >= 0; n = above) {
          above = d.previous(n);
          const x = d.at(n);
          if (!maySink(x)) continue;
          const target = placeFor(n, own);
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
    },
    ctx.isa,
  );

const maySink = (x: Instr): boolean => isValue(x) && !isPhi(x) && allInSsa(x);

/** Calls `visit` with the block at each use; for what a phi takes, with the block that it comes from. */
function eachUsePlace(d: Draft, r: Reg, visit: (b: BlockNo) => void): void {
  d.eachUse(r, (u) => {
    const x = d.at(u);
    if (!isPhi(x)) return visit(d.block(u));
    for (let k = 0; k + 1 < x.src.length; k += 2) if (x.src[k + 1].reg === r) visit(d.blockById(x.src[k].lo));
  });
}

/** The first instruction of a block that reads a result, phis aside. */
function firstUser(d: Draft, x: Instr, b: BlockNo): Ins {
  for (let n = d.first(b); n >= 0; n = d.next(n)) {
    if (isPhi(d.at(n))) continue;
    let uses = false;
    reads(d.at(n), (r) => {
      if (x.dst.includes(r)) uses = true;
    });
    if (uses) return n;
  }
  return -1;
}

const unitsOf = (registers: Iterable<Reg>): number => {
  let units = 0;
  for (const r of registers) if (r !== NO_REG) units += liveClassOf(r) === LiveClass.R ? regWidth(r) / 32 : 1;
  return units;
};

/** Room of the operands that are not live at the new place without the instruction. */
function unitsEndedBy(x: Instr, isLive: (r: Reg) => boolean): number {
  const ended = new Set<Reg>();
  reads(x, (r) => {
    if (!isLive(r)) ended.add(r);
  });
  return unitsOf(ended);
}
