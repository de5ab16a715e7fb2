import { isPhi } from '../../ir/flow.ts';
import { memo } from '../../ir/memo.ts';
import { Lanes, OpFlag } from '../../ir/opcode.ts';
import { isPredReg, Kind, NO_REG, type Operand, type Reg, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { polynomialsOf } from '../../isa/polynomial.ts';
import { isPlainLoad } from '../calls/effects.ts';
import { type Condition, conditionOf } from '../values/condition.ts';
import { defUseOf, singleDef } from '../values/defuse.ts';
import { instructionGraph } from '../values/linear.ts';
import { divergenceOf } from './divergence.ts';

/** How a value changes from lane to lane. */
const Change = {
  /** Not at all. */
  None: 0,
  /** By the same amount from each lane to the next; for a predicate, at few places in a block. */
  Even: 1,
  Other: 2,
} as const;

/** Maximum length of the chain of definitions followed; values at the end of a longer one count as `Other`. */
const DEEPEST = 64;

/**
 * Finds predicates on which the lanes of nearly every warp agree, though those of some may not: `i < n`, `tid == 0`,
 * where `i` is the thread's index times a constant plus a value common to all threads. Most warps pass such a branch
 * as a whole.
 *
 * This is a cost estimate, not a proof: a phi is assumed to change evenly if each of its values does.
 */
export interface LaneAgreement {
  mostlyAgree(p: Reg): boolean;
}

/** Lane agreement of a snapshot. */
export const laneAgreementOf: (fn: Fn) => LaneAgreement = memo((fn) => new Agreement(fn));

/**
 * May a branch on a predicate diverge in many warps?
 *
 * @param guard a register; true if the function does not have it, for example because a pass has added it since
 */
export function partsLanes(fn: Fn, guard: Reg): boolean {
  const r = regIndex(guard);
  if (r >= fn.regCount) return true;
  return divergenceOf(fn).value[r] === Lanes.Varying && !laneAgreementOf(fn).mostlyAgree(guard);
}

class Agreement implements LaneAgreement {
  private readonly fn: Fn;
  private readonly cache = new Map<number, number>();

  constructor(fn: Fn) {
    this.fn = fn;
  }

  mostlyAgree(p: Reg): boolean {
    return this.of(p, 0) !== Change.Other;
  }

  private of(r: Reg, depth: number): number {
    const i = regIndex(r);
    const cache = this.cache.get(i);
    if (cache !== undefined) return cache;
    if (i >= this.fn.regCount || depth > DEEPEST) return Change.Other;
    if (divergenceOf(this.fn).value[i] !== Lanes.Varying) return Change.None;
    const du = defUseOf(this.fn);
    const n = singleDef(du, r);
    if (n < 0) return Change.Other;
    // The initial value of a loop-carried value determines its kind.
    this.cache.set(i, Change.Even);
    const x = du.ins[n];
    const found = this.ofResult(x, x.dst.indexOf(r), depth + 1);
    this.cache.set(i, found);
    return found;
  }

  private ofOperand(o: Operand, depth: number): number {
    return o.kind === Kind.Reg ? this.of(o.reg, depth) : Change.None;
  }

  private ofResult(x: Instr, k: number, depth: number): number {
    if (isPhi(x)) {
      let most = 0;
      for (const o of x.src) most = Math.max(most, this.ofOperand(o, depth));
      return most;
    }
    const { special, groups } = x.op;
    if (special.length > 0) {
      const s = special[(x.mods >>> groups[0].shift) & groups[0].mask];
      return s !== null && s.thread >= 0 ? Change.Even : Change.Other;
    }
    const pure = (x.op.flags & OpFlag.Pure) !== 0 && x.op.means !== null;
    // Usually nothing writes between two lanes' loads from the same address.
    if (
      (pure || isPlainLoad(x)) &&
      x.src.every((o) => o.reg === NO_REG || this.of(o.reg, depth) === Change.None)
    )
      return Change.None;
    if (!pure) return Change.Other;
    if (isPredReg(x.dst[k])) {
      const c = conditionOf(x, k);
      return c === null ? Change.Other : this.ofCondition(c, depth);
    }
    const g = instructionGraph(x);
    const polynomial = polynomialsOf(g)[g.dsts[k]];
    if (polynomial === null) return Change.Other;
    let most: number = Change.None;
    for (const { factors, shift } of polynomial) {
      let even = 0;
      for (const f of factors) {
        const c = f.src < x.src.length ? this.ofOperand(x.src[f.src], depth) : Change.None;
        if (c === Change.Other) return Change.Other;
        if (c === Change.Even) even++;
      }
      if (
        even > 1 ||
        (shift >= 0 && shift < x.src.length && this.ofOperand(x.src[shift], depth) !== Change.None)
      )
        return Change.Other;
      if (even === 1) most = Change.Even;
    }
    return most;
  }

  /** Conditions are only a few operations deep, so recursion is safe. */
  private ofCondition(c: Condition, depth: number): number {
    switch (c.kind) {
      case 'known':
        return Change.None;
      case 'predicate':
        return this.of(c.reg, depth);
      case 'not':
        return this.ofCondition(c.of, depth);
      case 'compare': {
        let most: number = Change.None;
        for (const { operand } of [...c.a.terms, ...c.b.terms])
          if (operand.kind === Kind.Reg) most = Math.max(most, this.of(operand.reg, depth));
        return most;
      }
      default:
        return Math.max(this.ofCondition(c.a, depth), this.ofCondition(c.b, depth));
    }
  }
}
