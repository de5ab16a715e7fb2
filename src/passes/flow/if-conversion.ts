import { mayRunAnywhere, mayTakeGuard } from '../../analysis/calls/effects.ts';
import { reads } from '../../analysis/registers/liveness.ts';
import type { Draft, Ins } from '../../ir/draft/index.ts';
import { toRegs, withGuard, withOtherwise } from '../../ir/edit.ts';
import { copyOf, type Moves } from '../../ir/moves.ts';
import { Mod, OpFlag } from '../../ir/opcode.ts';
import {
  imm,
  Kind,
  NO_REG,
  type Operand,
  PT,
  type Reg,
  RegFile,
  reg,
  regFile,
  sameOperand,
} from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { AND } from '../../ir/truth-tables.ts';
import { type Costs, costOf, instrCost } from '../../rules/cost.ts';
import { allInSsa, inSsa } from '../../ssa/registers.ts';
import type { Arm, IfShape } from './if-shapes.ts';

/** Instructions that can neither get a guard instead of a branch around them, nor run speculatively. */
const STAYS = OpFlag.Control | OpFlag.Convergent | OpFlag.Barrier | OpFlag.Phi;

/** May the instruction be in an arm that is converted? */
export const mayBeConverted = (x: Instr): boolean =>
  (x.op.flags & STAYS) === 0 && allInSsa(x) && (mayRunAnywhere(x) || (x.op.flags & OpFlag.Predicable) !== 0);

/** Must it carry the guard of its arm? A value, or a load from a fixed place of a constant bank, may run even if its result is unused. */
export const needsGuard = (x: Instr): boolean => !mayRunAnywhere(x);

/** How a phi of the meeting block gets its value without the branch. */
interface Choice {
  readonly phi: Ins;
  /** The value from each arm; with one arm, the second is the value from the header. */
  readonly values: readonly [Operand, Operand];
  /**
   * The instruction that computes an arm's value under its condition, with the other value as its `else`; null: a
   * select.
   */
  readonly fused: { readonly ins: Ins; readonly arm: Arm; readonly other: Reg } | null;
}

/**
 * The conversion of an `if`, determined before anything is changed.
 *
 * Values run regardless of the outcome of the branch. Memory accesses, and values computed from loaded ones, carry the
 * arm's condition as their guard. A value used only by a phi becomes the phi's value itself, guarded, with the other
 * side's value as its `else`; other phis become selects.
 */
export class IfConversion {
  readonly shape: IfShape;
  private readonly d: Draft;
  private readonly moves: Moves;
  private readonly choices: Choice[] = [];
  /** Instructions of the arms that must carry a guard. */
  readonly guarded: number;
  /** Those of them that already have a guard. */
  readonly guardedTwice: number;

  constructor(d: Draft, moves: Moves, shape: IfShape) {
    this.d = d;
    this.moves = moves;
    this.shape = shape;
    const guarded = shape.arms.flatMap((a) => a.body.filter((n) => needsGuard(d.at(n))));
    this.guarded = guarded.length;
    this.guardedTwice = guarded.filter((n) => d.at(n).guard !== NO_REG).length;
    const taken = new Set<Ins>();
    for (const phi of d.phis(shape.meeting)) {
      const c = this.choice(phi, taken);
      if (c === null) continue;
      if (c.fused !== null) taken.add(c.fused.ins);
      this.choices.push(c);
    }
  }

  /** By arm, by the back end's costs: the cost of its values, which always run, and the number of its instructions that need a guard. */
  armCosts(costs: Costs): { readonly values: number; readonly count: number }[] {
    return this.shape.arms.map((a) => {
      const cost = { values: 0, count: 0 };
      for (const n of a.body) {
        const x = this.d.at(n);
        if (needsGuard(x)) cost.count++;
        else if (!this.isAbsorbedCopy(n)) cost.values += instrCost(x, costs);
      }
      return cost;
    });
  }

  /** Cost of additional instructions: selects, and conjunctions of guards. */
  extraCost(costs: Costs): number {
    const { d, moves } = this;
    let cost = this.guardedTwice * costOf(moves.logic, 0, costs);
    for (const c of this.choices)
      if (c.fused === null && !sameOperand(...c.values)) {
        const [r] = d.at(c.phi).dst;
        cost += instrCost(moves.select(r, PT, ...c.values), costs);
      }
    return cost;
  }

  /** Is it a copy of a constant that only phis read, which will take the constant itself? */
  private isAbsorbedCopy(n: Ins): boolean {
    const { d } = this;
    const [r] = d.at(n).dst;
    if (copyOf(this.moves, d.at(n))?.kind !== Kind.Imm || d.at(n).guard !== NO_REG) return false;
    const spent = this.choices.filter((c) => c.fused === null && !c.values.some((v) => v.reg === r));
    return spent.length > 0 && d.users(r).every((u) => spent.some((c) => c.phi === u));
  }

  /** Moves the arms into the header. */
  apply(): void {
    const { d, shape, moves } = this;
    const { header, arms, meeting } = shape;
    const { loc } = d.at(d.terminator(header));
    const spent = arms.flatMap((a) => a.body.filter((n) => this.isAbsorbedCopy(n)));
    // Registers defined only under a guard, and those computed from them.
    const partial = new Set<Reg>();
    for (const a of arms)
      for (const n of a.body) {
        d.moveToEnd(n, header);
        guardIn(d, moves, n, a.condition, partial);
      }
    for (const { phi, values, fused } of this.choices) {
      let value: Operand;
      if (fused !== null) {
        const { ins, arm, other } = fused;
        const x = d.at(ins);
        const made = toRegs(x.dst, (r) => (r === NO_REG ? NO_REG : other));
        // Its `else` value may be defined in the other arm, and it must come after that; a value may move there.
        if (mayRunAnywhere(x)) d.moveToEnd(ins, header);
        d.replace(ins, withOtherwise(underCondition(x, arm.condition), made));
        value = values[arms.indexOf(arm)];
      } else if (sameOperand(...values)) value = values[0];
      else {
        const r = d.freshReg(regFile(d.at(phi).dst[0]));
        d.insertAtEnd(header, moves.select(r, arms[0].condition, ...values, d.at(phi).loc || loc));
        value = reg(r);
      }
      d.setIncoming(phi, header, value);
    }
    this.jumpToMeeting();
    for (const n of spent) d.remove(n);
    for (const a of arms) for (const b of a.blocks) d.eraseBlock(b);
    this.plainValues(meeting);
  }

  /** Makes control go from the header to the meeting block unconditionally. */
  private jumpToMeeting(): void {
    const { d, shape } = this;
    // Phis with the same value from both sides need no selection, and may not have an operand for the header yet.
    const same = new Map<Ins, Operand>();
    for (const phi of d.phis(shape.meeting)) {
      const v = d.incoming(phi, shape.header) ?? d.incoming(phi, shape.arms[0].last)!;
      same.set(phi, v);
    }
    d.setTerminator(shape.header, null, shape.meeting);
    for (const [phi, v] of same) d.setIncoming(phi, shape.header, v);
  }

  /**
   * If only the header is left before the meeting block, constants in phis get registers, so that the two blocks can
   * be merged.
   */
  private plainValues(meeting: number): void {
    const { d, moves, shape } = this;
    if (d.predecessors(meeting).length !== 1) return;
    for (const phi of d.phis(meeting)) {
      const v = d.incoming(phi, shape.header)!;
      if (v.kind === Kind.Reg && v.mods === 0) continue;
      const r = d.freshReg(regFile(d.at(phi).dst[0]));
      d.insertAtEnd(shape.header, moves.move(r, v, d.at(phi).loc));
      d.setIncoming(phi, shape.header, reg(r));
    }
  }

  private choice(phi: Ins, taken: ReadonlySet<Ins>): Choice | null {
    const { d, shape } = this;
    const { arms, header } = shape;
    const first = d.incoming(phi, arms[0].last)!;
    const second = d.incoming(phi, arms.length === 2 ? arms[1].last : header)!;
    if (sameOperand(first, second)) return null;
    const constants: [Operand, Operand] = [this.constantOf(first), this.constantOf(second)];
    // Both values are computed in any case, so either will do.
    if (sameOperand(...constants)) return { phi, values: [first, first], fused: null };
    if (constants.every((o) => o.kind === Kind.Imm)) return { phi, values: constants, fused: null };
    const values: [Operand, Operand] = [first, second];
    for (let k = arms.length - 1; k >= 0; k--) {
      const ins = this.fusible(values[k], values[1 - k], arms[k], taken);
      if (ins >= 0) return { phi, values, fused: { ins, arm: arms[k], other: values[1 - k].reg } };
    }
    return { phi, values, fused: null };
  }

  /** The constant that a register is a copy of, or the operand itself. */
  private constantOf(o: Operand): Operand {
    const n = o.kind === Kind.Reg && o.mods === 0 && inSsa(o.reg) ? this.d.def(o.reg) : -1;
    if (n < 0 || this.d.at(n).guard !== NO_REG) return o;
    const c = copyOf(this.moves, this.d.at(n));
    return c !== null && c.kind === Kind.Imm ? c : o;
  }

  /**
   * The instruction of an arm that computes a value only for one phi and can keep another register under a false
   * guard; -1 if there is none.
   */
  private fusible(value: Operand, other: Operand, arm: Arm, taken: ReadonlySet<Ins>): Ins {
    const { d } = this;
    if (value.kind !== Kind.Reg || value.mods !== 0 || d.useCount(value.reg) !== 1) return -1;
    if (other.kind !== Kind.Reg || other.mods !== 0 || !inSsa(other.reg)) return -1;
    const n = d.def(value.reg);
    if (n < 0 || taken.has(n) || !arm.blocks.includes(d.block(n))) return -1;
    const x = d.at(n);
    if (!mayTakeGuard(x)) return -1;
    if (x.dst.some((r) => r !== NO_REG && r !== value.reg)) return -1;
    // A load stays in place, so the other value must be available before it.
    if (mayRunAnywhere(x)) return n;
    const made = d.def(other.reg);
    return made >= 0 &&
      this.shape.arms.some((a) => a !== arm && a.blocks.includes(d.block(made))) &&
      arm === this.shape.arms[0]
      ? -1
      : n;
  }
}

/**
 * Gives an instruction that has left its arm the arm's condition as guard, if it needs one.
 *
 * @param partial registers that have a value only under a guard, and those computed from them; extended here
 */
export function guardIn(d: Draft, moves: Moves, n: Ins, condition: Operand, partial: Set<Reg>): void {
  const x = d.at(n);
  let readsPartial = false;
  reads(x, (r) => {
    if (partial.has(r)) readsPartial = true;
  });
  if (!needsGuard(x) && !readsPartial) return;
  if (!needsGuard(x) && x.guard !== NO_REG) {
    // A value that already has a guard, with operands that may be undefined: its result is not used in that case.
    for (const r of x.dst) if (r !== NO_REG) partial.add(r);
    return;
  }
  if (x.guard === NO_REG) d.replace(n, underCondition(x, condition));
  else {
    const p = d.freshReg(RegFile.P);
    const own = reg(x.guard, x.guardNot ? Mod.Not : 0);
    d.insertBefore(n, instr(moves.logic, 0, [p], [condition, own, PT, imm(AND)], x.loc));
    d.replace(n, withGuard(x, p));
  }
  for (const r of x.dst) if (r !== NO_REG) partial.add(r);
}

/** Guards an instruction, with no value for its results under a false guard, since they had none before either. */
const underCondition = (x: Instr, c: Operand): Instr =>
  withOtherwise(
    withGuard(x, c.reg, (c.mods & Mod.Not) !== 0),
    toRegs(x.dst, () => NO_REG),
  );
