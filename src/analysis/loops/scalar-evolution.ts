import { isPhi } from '../../ir/flow.ts';
import { immValue, Kind, NO_REG, type Operand, type Reg, reg, regIndex, regWidth } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { cfgOf } from '../flow/cfg.ts';
import { type DefUse, defUseOf } from '../values/defuse.ts';
import { addScaled, constantForm, extendForm, sameForm, truncateForm } from '../values/form-arithmetic.ts';
import { type LinearForm, linearForm } from '../values/linear.ts';
import { type Forest, inLoop, loopsOf } from './loops.ts';

/**
 * How a value changes from one iteration of a loop to the next: in iteration k = 0, 1, ... since control entered the
 * loop it is start + k * step, modulo 2^width. A value that does not change in the loop has step 0. The terms of both
 * forms are loop-invariant.
 */
export interface Evolution {
  readonly width: number;
  readonly start: LinearForm;
  readonly step: LinearForm;
}

/** A phi of a loop's header that changes by the same amount in each iteration. */
export interface InductionVariable {
  readonly phi: Reg;
  readonly evolution: Evolution;
}

/**
 * Proves that a value, read as a number, does not wrap during the iterations of a loop: the step as an integer, or null if that is not
 * certain.
 */
export type Unwrapped = (loop: number, e: Evolution, signed: boolean) => bigint | null;

/** Maximum number of terms of a form; a longer sum is opaque. */
const MOST_TERMS = 6;

/**
 * Values of registers as linear forms of one another, and their evolutions in the natural loops (`loopsOf`): the
 * affine part of scalar evolution (Bachmann, Wang and Zima, "Chains of Recurrences", 1994; van Engelen, 2001). It
 * reads only the meanings of opcodes, and works on demand with caching.
 *
 * Everything relies on SSA: if a register has two definitions, `ssa` is false and nothing is known.
 */
export class Evolutions {
  readonly fn: Fn;
  readonly forest: Forest;
  readonly du: DefUse;
  /** Whether no register has two definitions and control leaves blocks only at their ends. */
  readonly ssa: boolean;
  private readonly unwrapped: Unwrapped | null;
  /** By register index: the form, or null while it is being computed. */
  private readonly values: Map<number, LinearForm | null>;
  /** By register index of a header phi. */
  private readonly phis = new Map<number, Evolution | null>();
  /** Loop by header position. */
  private readonly loopOfHeader: Map<number, number>;

  /**
   * @param unwrapped proves that a value does not wrap where it is extended; without it (null) an extension has no
   * evolution
   * @param shared evolutions of the same function whose cached values are reused
   */
  constructor(fn: Fn, unwrapped: Unwrapped | null, shared: Evolutions | null = null) {
    this.fn = fn;
    this.forest = loopsOf(fn);
    this.du = defUseOf(fn);
    this.unwrapped = unwrapped;
    this.ssa = shared?.ssa ?? (!cfgOf(fn).midBlockControl && singleDefinitions(this.du));
    this.values = shared?.values ?? new Map();
    this.loopOfHeader = shared?.loopOfHeader ?? new Map(this.forest.loops.map((l) => [l.header, l.id]));
  }

  /**
   * The value of a register as a linear form of values that are not linear forms themselves. It holds wherever the
   * register may be read. An unknown register stands for itself.
   */
  value(r: Reg): LinearForm {
    const known = this.values.get(regIndex(r));
    if (known !== undefined && known !== null) return known;
    const work = [r];
    while (work.length > 0) {
      const x = work[work.length - 1];
      const index = regIndex(x);
      const old = this.values.get(index);
      if (old !== undefined && old !== null) {
        work.pop();
        continue;
      }
      const direct = this.definition(x);
      let ready = true;
      // Only phis that are copies can form a cycle; the second time it stays open.
      if (old === undefined) {
        this.values.set(index, null);
        for (const t of direct?.terms ?? [])
          if (t.operand.kind === Kind.Reg && !this.values.has(regIndex(t.operand.reg))) {
            work.push(t.operand.reg);
            ready = false;
          }
      }
      if (!ready) continue;
      this.values.set(index, direct === null ? leaf(x) : (this.expanded(direct) ?? leaf(x)));
      work.pop();
    }
    return this.values.get(regIndex(r))!;
  }

  /** The form of an operand's value in `width` bits, or null if it is not a value. */
  operandValue(o: Operand, width: number): LinearForm | null {
    if (o.mods !== 0) return null;
    if (o.kind === Kind.Imm) return constantForm(immValue(o, width), width);
    return o.kind === Kind.Reg ? truncateForm(this.value(o.reg), width) : null;
  }

  /** How a register's value changes in a loop; null if it is not known to be affine. */
  evolutionOf(loop: number, r: Reg): Evolution | null {
    return this.ssa ? this.evolve(loop, this.value(r)) : null;
  }

  /** How a form changes in a loop; null if it is not known to be affine. Its terms may be any registers. */
  evolutionOfForm(loop: number, form: LinearForm): Evolution | null {
    const expanded = this.ssa ? this.expanded(form) : null;
    return expanded === null ? null : this.evolve(loop, expanded);
  }

  /** The affine phis of a loop's header: its basic induction variables, in program order. */
  inductionVariables(loop: number): InductionVariable[] {
    const out: InductionVariable[] = [];
    if (!this.ssa) return out;
    const { ins } = this.fn.blocks[this.forest.loops[loop].header];
    for (let i = 0; i < ins.length && isPhi(ins[i]); i++) {
      const [phi] = ins[i].dst;
      const evolution = phi !== NO_REG && regWidth(phi) > 1 ? this.evolutionOf(loop, phi) : null;
      if (evolution !== null) out.push({ phi, evolution });
    }
    return out;
  }

  /** Position of the block that defines a register; -1 if no instruction does. */
  home(r: Reg): number {
    const n = this.definitionNumber(r);
    return n < 0 ? -1 : this.du.blockAt[n];
  }

  private definitionNumber(r: Reg): number {
    const { defStart, defs } = this.du;
    const i = regIndex(r);
    return defStart[i + 1] > defStart[i] ? defs[defStart[i]] : -1;
  }

  /** The defining instruction as a linear form of its operands; null if it is not linear. */
  private definition(r: Reg): LinearForm | null {
    const n = this.definitionNumber(r);
    if (n < 0 || regWidth(r) > 64) return null;
    const ins = this.du.ins[n];
    if (ins.guard !== NO_REG) return null;
    if (isPhi(ins)) return phiCopy(ins);
    return linearForm(ins, ins.dst.indexOf(r));
  }

  /** A form with the registers of its terms replaced by their values; null if it grows too long. */
  private expanded(form: LinearForm): LinearForm | null {
    const { width } = form;
    let out = constantForm(form.constant, width);
    for (const t of form.terms) {
      const alone = { width, terms: [{ ...t, coefficient: 1n }], constant: 0n };
      const value = t.operand.kind === Kind.Reg ? (this.settled(t.operand.reg) ?? null) : null;
      const wide = value === null ? null : extendForm(truncateForm(value, t.bits), width, t.signed);
      out = addScaled(out, wide ?? alone, t.coefficient);
      if (out.terms.length > MOST_TERMS) return null;
    }
    return out;
  }

  /** The value of a register; null while it is being computed, and the register then stands for itself. */
  private settled(r: Reg): LinearForm | null {
    const known = this.values.get(regIndex(r));
    return known === undefined ? this.value(r) : known;
  }

  private evolve(loop: number, form: LinearForm): Evolution | null {
    const { width } = form;
    let start = constantForm(form.constant, width);
    let step = constantForm(0n, width);
    for (const t of form.terms) {
      const alone: LinearForm = { width, terms: [t], constant: 0n };
      if (t.operand.kind === Kind.CBank && t.operand.reg !== NO_REG) return null;
      if (t.operand.kind !== Kind.Reg || !this.inside(loop, t.operand.reg)) {
        start = addScaled(start, alone, 1n);
        continue;
      }
      const e =
        t.bits === width
          ? this.phiEvolution(loop, t.operand.reg, width)
          : this.extension(loop, t.operand.reg, t.bits, width, t.signed);
      if (e === null) return null;
      start = addScaled(start, e.start, t.coefficient);
      step = addScaled(step, e.step, t.coefficient);
    }
    return { width, start, step };
  }

  private inside(loop: number, r: Reg): boolean {
    const home = this.home(r);
    return home >= 0 && inLoop(this.forest, loop, home);
  }

  /** The low `width` bits of a phi of the loop's header. */
  private phiEvolution(loop: number, r: Reg, width: number): Evolution | null {
    const i = regIndex(r);
    let e = this.phis.get(i);
    if (e === undefined) this.phis.set(i, (e = this.recurrence(r)));
    if (e === null || this.loopOfHeader.get(this.home(r)) !== loop) return null;
    return { width, start: truncateForm(e.start, width), step: truncateForm(e.step, width) };
  }

  /** {start, +, step} of a header phi: one value comes from outside, and phi + step from every latch. */
  private recurrence(r: Reg): Evolution | null {
    const n = this.definitionNumber(r);
    const ins = this.du.ins[n];
    const loop = this.loopOfHeader.get(this.du.blockAt[n]);
    if (loop === undefined || !isPhi(ins) || ins.guard !== NO_REG) return null;
    const width = regWidth(r);
    const { positionOf, rpoNumber } = this.forest.cfg;
    let start: LinearForm | null = null;
    let next: LinearForm | null = null;
    for (let k = 0; k + 1 < ins.src.length; k += 2) {
      const from = positionOf[ins.src[k].lo];
      if (from < 0 || rpoNumber[from] < 0) continue;
      const value = this.operandValue(ins.src[k + 1], width);
      if (value === null) return null;
      if (inLoop(this.forest, loop, from)) {
        if (next !== null && !sameForm(next, value)) return null;
        next = value;
      } else {
        if (start !== null && !sameForm(start, value)) return null;
        start = value;
      }
    }
    if (start === null || next === null) return null;
    const step = addScaled(next, leaf(r), -1n);
    for (const { operand } of step.terms) {
      // Of operands that are not registers, only an indexed constant bank can change.
      const changes = operand.kind === Kind.Reg ? this.inside(loop, operand.reg) : operand.reg !== NO_REG;
      if (changes) return null;
    }
    return { width, start, step };
  }

  /** An extension of a value that changes in the loop: affine if the value is known not to wrap. */
  private extension(loop: number, r: Reg, bits: number, width: number, signed: boolean): Evolution | null {
    if (this.unwrapped === null) return null;
    const narrow = truncateForm(this.value(r), bits);
    const e = this.evolve(loop, narrow);
    if (e === null) return null;
    const start = extendForm(e.start, width, signed);
    const step = start === null ? null : this.unwrapped(loop, e, signed);
    return step === null ? null : { width, start: start!, step: constantForm(step, width) };
  }
}

const leaf = (r: Reg): LinearForm => ({
  width: regWidth(r),
  terms: [{ operand: reg(r), coefficient: 1n, bits: regWidth(r), signed: false }],
  constant: 0n,
});

/** A phi whose operands are all the same value (or itself) is a copy of that value. */
function phiCopy(ins: Instr): LinearForm | null {
  const [r] = ins.dst;
  const width = regWidth(r);
  let only: Operand | null = null;
  for (let k = 1; k < ins.src.length; k += 2) {
    const o = ins.src[k];
    if (o.mods !== 0 || o.reg === r) {
      if (o.mods !== 0) return null;
      continue;
    }
    if (
      only !== null &&
      !(o.kind === only.kind && o.reg === only.reg && o.lo === only.lo && o.hi === only.hi)
    )
      return null;
    only = o;
  }
  if (only === null || width === 1) return null;
  if (only.kind === Kind.Imm) return constantForm(immValue(only, width), width);
  return only.kind === Kind.Reg && regWidth(only.reg) === width ? leaf(only.reg) : null;
}

/** Does every register have at most one definition, counting parameters? */
function singleDefinitions(du: DefUse): boolean {
  for (let i = 0; i < du.entry.length; i++)
    if (du.defStart[i + 1] - du.defStart[i] + du.entry[i] > 1) return false;
  return true;
}
