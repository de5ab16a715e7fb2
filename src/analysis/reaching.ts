import type { BlockNo, Draft, Ins } from '../ir/draft/index.ts';
import { NO_REG, type Reg } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { type DominatorTree, dominates, dominatorsOf } from './dominators.ts';

/**
 * What a register holds at a place of a draft, where that is certain. In SSA a register has one definition, which dominates its
 * uses; elsewhere a register may have several, and the nearest definition above in the block is the only certain one.
 *
 * Blocks and edges must be those of the function that was opened: dominance is its dominance.
 */

/** Registers with more definitions than this are not followed: scanning them would cost the square of their number. */
const MOST_DEFS = 16;
/** Registers of several definitions with more uses than this are followed only along the block. */
const MANY_USES = 32;

export class Reaching {
  readonly d: Draft;
  private readonly dom: DominatorTree;

  constructor(d: Draft) {
    this.d = d;
    this.dom = dominatorsOf(d.fn);
  }

  /**
   * The instruction whose result the register holds where `at` reads it, if it is certain: the nearest definition above it in its
   * block, or the only one there is, if that dominates; -1 otherwise. A guarded definition is never certain.
   */
  at(r: Reg, at: Ins): Ins {
    const { d } = this;
    const n = d.defCount(r);
    if (n === 0 || n > MOST_DEFS) return -1;
    const block = d.block(at);
    let found: Ins = -1;
    if (n === 1) {
      const def = d.firstDef(r);
      if (d.block(def) === block ? !d.precedes(def, at) : !dominates(this.dom, d.block(def), block))
        return -1;
      // On a way that the definition has not run on yet, a parameter holds what it was given.
      if (d.block(def) !== block && d.isParam(r)) return -1;
      found = def;
    } else
      d.eachDef(r, (def) => {
        if (d.block(def) === block && d.precedes(def, at) && (found < 0 || d.precedes(found, def)))
          found = def;
      });
    return found >= 0 && d.at(found).guard === NO_REG ? found : -1;
  }

  /** The same at the end of a block, where phis read what comes from it. */
  atEnd(r: Reg, b: BlockNo): Ins {
    const { d } = this;
    const def = d.def(r);
    if (def < 0 || d.at(def).guard !== NO_REG) return -1;
    return dominates(this.dom, d.block(def), b) ? def : -1;
  }

  /**
   * Does the register hold at `to` what it held when `from`, which comes before it, read its sources? With one definition that
   * dominates `from` it does: to run again between the two, that definition would have to come before `from` again. With several,
   * the two must stand in one block with none of them between.
   */
  unchanged(r: Reg, from: Ins, to: Ins): boolean {
    const { d } = this;
    const n = d.defCount(r);
    if (n === 0) return true;
    if (n > MOST_DEFS) return false;
    const block = d.block(from);
    if (n === 1 && !d.isParam(r)) {
      const def = d.firstDef(r);
      const above = d.block(def) === block ? d.precedes(def, from) : dominates(this.dom, d.block(def), block);
      if (def !== from && above) return true;
    }
    if (block !== d.block(to)) return false;
    let same = true;
    d.eachDef(r, (def) => {
      if (d.block(def) === block && !d.precedes(def, from) && d.precedes(def, to)) same = false;
    });
    return same;
  }

  /** Calls `visit` with every instruction that may see what `n` puts, or put, into the register. */
  eachUser(r: Reg, n: Ins, visit: (user: Ins) => void): void {
    const { d } = this;
    const left = d.useCount(r);
    if (d.defCount(r) <= 1 || left <= MANY_USES) return d.eachUse(r, visit);
    // With several definitions only what follows in the block is certain to see this one.
    for (let q = d.next(n), seen = 0; q >= 0 && seen < left; q = d.next(q)) {
      const x = d.at(q);
      if (reads(x, r)) {
        visit(q);
        seen++;
      }
      if (x.dst.includes(r)) return;
    }
  }
}

function reads(x: Instr, r: Reg): boolean {
  if (x.guard === r) return true;
  for (let i = 0; i < x.src.length; i++) if (x.src[i].reg === r) return true;
  return x.otherwise.includes(r);
}
