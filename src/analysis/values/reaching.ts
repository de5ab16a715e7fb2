import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { memo } from '../../ir/memo.ts';
import { NO_REG, type Reg } from '../../ir/operand.ts';
import { cfgOf } from '../flow/cfg.ts';
import { type DominatorTree, dominates, dominatorsOf } from '../flow/dominators.ts';

/**
 * The definition that a register holds at a place of a draft, if it is certain. In SSA a register has one definition,
 * which dominates its uses; outside SSA it may have several, and only the nearest definition above in the block is
 * certain.
 *
 * Blocks and edges must be those of the function that was opened, because dominance is that of the snapshot.
 */

/** Registers with more definitions are not followed: scanning them would cost the square of their number. */
const MOST_DEFS = 16;

/** Queries for reaching definitions of one draft. */
export class Reaching {
  readonly d: Draft;
  /** Null if control operations occur inside blocks: dominance between blocks then implies nothing about their instructions. */
  private readonly dom: DominatorTree | null;

  constructor(d: Draft) {
    this.d = d;
    this.dom = cfgOf(d.fn).midBlockControl ? null : dominatorsOf(d.fn);
  }

  /**
   * The instruction whose result the register holds where `at` reads it, if it is certain: the nearest definition
   * above it in its block, or the only definition, if it dominates; -1 otherwise. A guarded definition is never
   * certain.
   */
  at(r: Reg, at: Ins): Ins {
    const { d } = this;
    const n = d.defCount(r);
    if (n === 0 || n > MOST_DEFS) return -1;
    const block = d.block(at);
    let found: Ins = -1;
    if (n === 1) {
      const def = d.firstDef(r);
      if (d.block(def) === block ? !d.precedes(def, at) : !this.above(d.block(def), block)) return -1;
      // On a path that has not passed the definition yet, a parameter holds its argument.
      if (d.block(def) !== block && d.isParam(r)) return -1;
      found = def;
    } else
      for (let def = d.firstDef(r); def >= 0; def = d.nextDef(r, def))
        if (d.block(def) === block && d.precedes(def, at) && (found < 0 || d.precedes(found, def)))
          found = def;
    return found >= 0 && d.at(found).guard === NO_REG ? found : -1;
  }

  /** The same at the end of a block, where phis of successors read. */
  atEnd(r: Reg, b: BlockNo): Ins {
    const { d } = this;
    const def = d.def(r);
    if (def < 0 || d.at(def).guard !== NO_REG) return -1;
    return d.block(def) === b || this.above(d.block(def), b) ? def : -1;
  }

  /**
   * Does the register still hold at `to` what it held when `from`, which comes earlier, read its sources? With one
   * definition that dominates `from` it does: to run again in between, that definition would have to come before
   * `from` again. With several definitions, both must be in one block with no definition in between.
   */
  unchanged(r: Reg, from: Ins, to: Ins): boolean {
    const { d } = this;
    const n = d.defCount(r);
    if (n === 0) return true;
    if (n > MOST_DEFS) return false;
    const block = d.block(from);
    if (n === 1 && !d.isParam(r)) {
      const def = d.firstDef(r);
      const above = d.block(def) === block ? d.precedes(def, from) : this.above(d.block(def), block);
      if (def !== from && above) return true;
    }
    if (block !== d.block(to)) return false;
    for (let def = d.firstDef(r); def >= 0; def = d.nextDef(r, def))
      if (d.block(def) === block && !d.precedes(def, from) && d.precedes(def, to)) return false;
    return true;
  }

  private above(a: BlockNo, b: BlockNo): boolean {
    return this.dom !== null && dominates(this.dom, a, b);
  }
}

/** Reaching definitions of a draft. */
export const reachingIn = memo((d: Draft): Reaching => new Reaching(d));
