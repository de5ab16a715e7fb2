import { mustStay } from '../../analysis/calls/effects.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import { type BlockNo, type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { isControl } from '../../ir/flow.ts';
import { NO_REG, type Reg, regIndex } from '../../ir/operand.ts';
import type { Pass, PassContext } from '../pass.ts';

/** Maximum number of rounds over the blocks: the second already finds almost nothing, and phase 16 removes the rest. */
const ROUNDS = 4;

/**
 * Phases 10, EarlyOriSimpleLiveDead, and OriSimpleLiveDead: the cheap dead-code removal that also runs at -O0, before any data flow is
 * solved.
 *
 *     before                          after
 *     BB0:                            BB0:
 *           MOV R1, 7                       MOV R2, 3
 *           MOV R2, 9                       STG [RD4], R2
 *           MOV R2, 3                       EXIT
 *           STG [RD4], R2
 *           EXIT
 *
 * Block-local: a register counts as needed at the end of every block if some block may read its value on entry;
 * inside a block the bottom-up walk is exact. Blocks are processed from the last to the first. A register whose last
 * such reader is removed is no longer needed in the remaining blocks, so chains that follow the layout disappear
 * together.
 *
 * For instructions that stay, see `mustStay`. Requires: nothing. Guarantees: equivalence; a second application may
 * find more only if a dead chain runs against the layout through more than four blocks.
 * Bound: four walks over the function.
 */
export const earlyDeadCode: Pass = (fn, ctx) => edit(fn, (d) => removeLocallyDead(d, ctx));

function removeLocallyDead(d: Draft, ctx: PassContext): void {
  const live = new LocalLive(d);
  for (let round = 0; round < ROUNDS; round++) {
    let removed = 0;
    for (const b of d.layout().reverse()) {
      const gone = live.clean(b, (n) => ctx.mayRewrite('dead-removed', d.id(b), d.at(n)));
      removed += gone;
      if (gone > 0)
        ctx.remark('passed', 'dead-removed', `${gone} dead removed from BB${d.id(b)}`, {
          block: d.id(b),
          count: gone,
        });
    }
    if (removed === 0) break;
  }
}

class LocalLive {
  private readonly d: Draft;
  /** Register index -> number of blocks that may read its value on entry (plus one if it is returned). */
  private readonly exposed: Int32Array;
  /** Register index -> `epoch` if its next access below in this block is a read. */
  private readonly readBelow: Int32Array;
  /** Register index -> `straight` if the next access is a write that certainly executes. */
  private readonly writtenBelow: Int32Array;
  private readonly written: Int32Array;
  private readonly seen: Int32Array;
  private epoch = 0;
  private straight = 0;
  private sweep = 0;

  constructor(d: Draft) {
    const regs = d.regCount;
    this.d = d;
    this.exposed = new Int32Array(regs);
    this.readBelow = new Int32Array(regs);
    this.writtenBelow = new Int32Array(regs);
    this.written = new Int32Array(regs);
    this.seen = new Int32Array(regs);
    for (let b = d.entryBlock; b >= 0; b = d.below(b)) this.expose(b, 1);
    for (const p of d.fn.returns) if (p.reg !== NO_REG) this.exposed[regIndex(p.reg)]++;
  }

  /**
   * Removes the dead instructions of a block and updates `exposed`.
   * @param may permission for each, readers first
   * @returns the number of removed instructions
   */
  clean(b: BlockNo, may: (n: Ins) => boolean): number {
    const { d, readBelow, writtenBelow, exposed } = this;
    const epoch = ++this.epoch;
    this.straight++;
    const isDead = (r: Reg): boolean => {
      const i = regIndex(r);
      return readBelow[i] !== epoch && (writtenBelow[i] === this.straight || exposed[i] === 0);
    };
    const read = (r: Reg): void => {
      readBelow[regIndex(r)] = epoch;
      writtenBelow[regIndex(r)] = 0;
    };
    let dead: Ins[] | null = null;
    for (let n = d.last(b); n >= 0; n = d.previous(n)) {
      const x = d.at(n);
      if (!mustStay(x) && x.dst.every((r) => r === NO_REG || isDead(r))) {
        if (dead === null) dead = [n];
        else dead.push(n);
        continue;
      }
      if (isControl(x)) this.straight++;
      if (x.guard === NO_REG)
        for (const r of x.dst) {
          if (r === NO_REG) continue;
          readBelow[regIndex(r)] = 0;
          writtenBelow[regIndex(r)] = this.straight;
        }
      reads(x, read);
    }
    if (dead === null) return 0;
    // The set of registers that the block reads from outside may shrink: remove its old counts, then add the new
    // ones.
    this.expose(b, -1);
    let gone = 0;
    for (; gone < dead.length && may(dead[gone]); gone++) d.remove(dead[gone]);
    this.expose(b, 1);
    return gone;
  }

  /** Adds the block to (or removes it from) the counts of registers that it may read before it certainly writes them. */
  private expose(b: BlockNo, by: 1 | -1): void {
    const { d, written, seen, exposed } = this;
    const sweep = ++this.sweep;
    const use = (r: Reg): void => {
      const i = regIndex(r);
      if (written[i] === sweep || seen[i] === sweep) return;
      seen[i] = sweep;
      exposed[i] += by;
    };
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      reads(x, use);
      if (x.guard !== NO_REG) continue;
      for (let k = 0; k < x.dst.length; k++) if (x.dst[k] !== NO_REG) written[regIndex(x.dst[k])] = sweep;
    }
  }
}
