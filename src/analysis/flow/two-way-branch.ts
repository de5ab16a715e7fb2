import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { Mod } from '../../ir/opcode.ts';
import { NO_REG, type Operand, type Reg, reg } from '../../ir/operand.ts';

/** The end of a block at which a predicate decides between two successors. */
export interface TwoWayBranch {
  readonly guard: Reg;
  readonly guardNot: boolean;
  /** The successor if the branch is taken. */
  readonly taken: BlockNo;
  /** The other successor. */
  readonly fall: BlockNo;
}

/** How a block ends, if a guarded branch decides between two different blocks; else null. */
export function twoWayBranchOf(d: Draft, b: BlockNo): TwoWayBranch | null {
  const n = d.terminator(b);
  if (n < 0) return null;
  const x = d.at(n);
  if (x.guard === NO_REG || x.op.primitive !== 'branch') return null;
  const taken = d.blockById(x.src[0].lo);
  const fall = d.fall(b);
  return taken < 0 || fall < 0 || taken === fall
    ? null
    : { guard: x.guard, guardNot: x.guardNot, taken, fall };
}

/** The predicate operand that is true if control goes to `to`. */
export const predicateOf = (w: TwoWayBranch, to: BlockNo): Operand =>
  reg(w.guard, w.guardNot === (to === w.taken) ? Mod.Not : 0);
