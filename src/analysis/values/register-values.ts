import type { Space } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, type Reg, regIndex, regWidth } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { elementBytes } from '../../isa/accesses.ts';
import { dominatorsOf } from '../flow/dominators.ts';
import { convertedSpace, isAddressConversion, Origin, type Provenance } from '../memory/provenance.ts';
import { defUseOf } from './defuse.ts';
import { type LinearForm, linearForm } from './linear.ts';
import { inRange, LinearTable } from './linear-expressions.ts';
import { singleValuesOf } from './single-values.ts';

/** A linear expression with its constant term. */
export interface LinearValue {
  readonly form: number;
  readonly constant: number;
}

/** Kinds of unknowns that have a key. */
const Unknown = { Symbol: 0, Bank: 1, Register: 2, Low: 3, Extended: 4, Window: 5 } as const;

/**
 * Where the window of a space begins among generic addresses; null if an address of the space is the generic address itself. The
 * addresses of a block's own shared memory are among those of its cluster (PTX ISA 9.0, 5.1.3 and 6.4.1.1).
 */
const WINDOW_OF: Readonly<Record<Space, number | null>> = {
  generic: null,
  global: null,
  shared: 0,
  cluster: 0,
  local: 1,
  const: 2,
  param: 3,
};

/**
 * Values of the registers that addresses are derived from, as linear expressions, during a walk through the blocks in reverse
 * post-order, in which dominating definitions come first.
 *
 * The same number is a different place in each space. So every address is compared as a generic one: a symbol stands for the generic
 * address of its variable, and the address that instructions of its space use is that minus the window of the space.
 */
export class RegisterValues {
  readonly table: LinearTable;
  private readonly provenance: Provenance;
  /**
   * By register index: its value as an expression (-1: unknown) and a constant, the block in which that holds (-1:
   * everywhere), and the block in which it was defined.
   */
  private readonly form: Int32Array;
  private readonly constant: Float64Array;
  private readonly heldIn: Int32Array;
  private readonly madeIn: Int32Array;
  /** By register index: 1 if it stands for one value wherever it is read. */
  private readonly stable: Uint8Array;
  private readonly symbols = new Set<number>();
  private readonly symbolOf = new Map<string, number>();
  private readonly windows = new Set<number>();
  /** By the unknown of a symbol: that of the window of its space, if it has one. */
  private readonly windowOf = new Map<number, number>();
  private block = 0;
  /** The constant of the sum being built. */
  private rest = 0;

  constructor(fn: Fn, provenance: Provenance) {
    this.provenance = provenance;
    this.table = new LinearTable(dominatorsOf(fn).depth);
    this.form = new Int32Array(fn.regCount).fill(-1);
    this.constant = new Float64Array(fn.regCount);
    this.heldIn = new Int32Array(fn.regCount).fill(-2);
    this.madeIn = new Int32Array(fn.regCount);
    this.stable = singleValuesOf(fn).slice();
    // A register without a definition has one value too: the one on entry to the function.
    const { defStart } = defUseOf(fn);
    for (let r = 0; r < fn.regCount; r++) if (defStart[r] === defStart[r + 1]) this.stable[r] = 1;
  }

  /** Continues with the block at a position. */
  enter(block: number): void {
    this.block = block;
  }

  /** Records what an instruction writes. */
  run(ins: Instr): void {
    for (let k = 0; k < ins.dst.length; k++) {
      const r = ins.dst[k];
      if (r !== NO_REG && this.provenance.of[regIndex(r)] !== Origin.Open) this.define(ins, k, r);
    }
  }

  /** The generic address of an operand that an instruction uses as an address of a space, at this point; null if unknown. */
  addressOf(o: Operand, space: Space): LinearValue | null {
    const width = o.reg === NO_REG ? 64 : regWidth(o.reg);
    this.begin();
    if (o.reg !== NO_REG && !this.addRegister(o.reg, 1, width)) return null;
    if (o.sym !== '' && !this.addSymbol(o.sym, 1)) return null;
    if (!this.addWindow(space, 1)) return null;
    const constant = inRange(this.rest + o.lo, width);
    const form = this.table.finish(width);
    if (form < 0 || constant === null) return null;
    return { form, constant: form === 0 && width === 32 ? constant >>> 0 : constant };
  }

  /** Is the expression the generic address of one variable and nothing else? */
  isVariable(form: number): boolean {
    const { atoms, coefs } = this.table.forms[form];
    return atoms.length === 1 && coefs[0] === 1 && this.symbols.has(atoms[0]);
  }

  /** Is the expression the address of one variable within its space, and nothing else? */
  private isSpaceAddress(form: number): boolean {
    const { atoms, coefs } = this.table.forms[form];
    const at = atoms.findIndex((a) => this.symbols.has(a));
    if (at < 0 || coefs[at] !== 1) return false;
    const window = this.windowOf.get(atoms[at]);
    if (window === undefined) return atoms.length === 1;
    return atoms.length === 2 && atoms[1 - at] === window && coefs[1 - at] === -1;
  }

  private symbol(name: string): number {
    let a = this.symbolOf.get(name);
    if (a === undefined) {
      a = this.table.atom([Unknown.Symbol, this.symbolOf.size], -1);
      this.symbolOf.set(name, a);
      this.symbols.add(a);
      // Valid 32-bit addresses do not wrap, so for a lone symbol the width makes no difference.
      this.table.of(a, 0);
      const window = this.window(this.provenance.spaceOf(name));
      if (window >= 0) this.windowOf.set(a, window);
    }
    return a;
  }

  /** The unknown of the window of a space; -1 if it has none. */
  private window(space: Space | null): number {
    const window = space === null ? null : WINDOW_OF[space];
    if (window === null) return -1;
    const a = this.table.atom([Unknown.Window, window], -1);
    this.windows.add(a);
    return a;
  }

  /** Adds the window of a space times `coef`; false if the sum becomes too long. */
  private addWindow(space: Space, coef: number): boolean {
    const window = this.window(space);
    return window < 0 || this.table.add(window, coef);
  }

  /** Adds the address of a variable within its space, times `coef`; false if the sum becomes too long. */
  private addSymbol(name: string, coef: number): boolean {
    const a = this.symbol(name);
    const window = this.windowOf.get(a);
    return this.table.add(a, coef) && (window === undefined || this.table.add(window, -coef));
  }

  private begin(): void {
    this.table.begin();
    this.rest = 0;
  }

  /** Adds an expression times `coef`; false if the result is too large. */
  private addForm(form: number, constant: number, coef: number, width: number): boolean {
    const f = this.table.forms[form];
    for (let i = 0; i < f.atoms.length; i++) {
      const c = width === 32 ? Math.imul(f.coefs[i], coef) : f.coefs[i] * coef;
      if (inRange(c, width) === null || !this.table.add(f.atoms[i], c)) return false;
    }
    const more = inRange(
      width === 32 ? this.rest + Math.imul(constant, coef) : this.rest + constant * coef,
      width,
    );
    if (more === null) return false;
    this.rest = more;
    return true;
  }

  /** Ensures that a register has a value here, if only an unknown. */
  private hold(r: Reg): number {
    const i = regIndex(r);
    if (this.heldIn[i] !== -1 && this.heldIn[i] !== this.block) {
      // A stable register that is not defined yet is a parameter, or never defined.
      if (this.stable[i] === 1) this.set(r, this.table.atom([Unknown.Register, i], -1));
      else this.forget(r);
    }
    // An unknown is created only on demand.
    if (this.form[i] < 0) this.form[i] = this.table.of(this.table.fresh(this.madeIn[i]), regWidth(r));
    return i;
  }

  private addRegister(r: Reg, coef: number, width: number): boolean {
    const i = this.hold(r);
    return this.addForm(this.form[i], this.constant[i], coef, width);
  }

  /** Sets a register's value to an unknown. */
  private set(r: Reg, atom: number): void {
    this.setForm(r, this.table.of(atom, regWidth(r)), 0);
  }

  /** Forgets the value of a register. */
  private forget(r: Reg): void {
    this.setForm(r, -1, 0);
  }

  private setForm(r: Reg, form: number, constant: number): void {
    const i = regIndex(r);
    this.form[i] = form;
    this.constant[i] = constant;
    this.madeIn[i] = this.block;
    this.heldIn[i] = this.stable[i] === 1 ? -1 : this.block;
  }

  private define(ins: Instr, k: number, r: Reg): void {
    if (ins.guard === NO_REG) {
      const width = regWidth(r);
      const o = ins.src[0];
      if (isAddressConversion(ins)) {
        this.begin();
        const { space, toSpace } = convertedSpace(ins);
        if (this.addOperand(o, width, 1) && this.addWindow(space, toSpace ? -1 : 1))
          return this.finish(r, width);
      } else if (ins.op.accesses.length > 0) {
        if (o.kind === Kind.CBank && o.reg === NO_REG) {
          const bytes = elementBytes(ins.op.accesses[0], ins.mods);
          // A narrower word is extended according to the modifiers.
          const how = 8 * bytes === width ? -1 : ins.mods;
          return this.set(r, this.table.atom([Unknown.Bank, o.hi, o.lo + bytes * k, width, how], -1));
        }
      } else {
        const sum = linearForm(ins, k);
        this.begin();
        if (sum !== null && sum.width === width && this.addSum(sum)) return this.finish(r, width);
      }
    }
    this.forget(r);
  }

  private finish(r: Reg, width: number): void {
    const form = this.table.finish(width);
    const constant = inRange(this.rest, width);
    if (form < 0 || constant === null) this.forget(r);
    else this.setForm(r, form, constant);
  }

  private addSum(sum: LinearForm): boolean {
    const { width, terms } = sum;
    const constant = inRange(signed(sum.constant, width), width);
    if (constant === null) return false;
    this.rest = constant;
    for (let i = 0; i < terms.length; i++) {
      const { operand, coefficient, bits, signed: bySign } = terms[i];
      const coef = inRange(signed(coefficient, width), width);
      if (coef === null) return false;
      const narrow = operand.kind === Kind.Reg && regWidth(operand.reg) === 64 && width === 32;
      const added =
        bits < width
          ? bits === 32 && this.addExtended(operand, bySign, coef)
          : narrow
            ? this.addLowHalf(operand, coef)
            : this.addOperand(operand, width, coef);
      if (!added) return false;
    }
    return true;
  }

  private addOperand(o: Operand, width: number, coef: number): boolean {
    switch (o.kind) {
      case Kind.Sym:
        return this.addSymbol(o.sym, coef) && this.addForm(0, o.lo, coef, width);
      case Kind.CBank:
        if (o.reg !== NO_REG) return false;
        return this.table.add(this.table.atom([Unknown.Bank, o.hi, o.lo, width, -1], -1), coef);
      default:
        return o.kind === Kind.Reg && regWidth(o.reg) === width && this.addRegister(o.reg, coef, width);
    }
  }

  /** Adds the low half of a 64-bit source, which is a sum of low halves, because carries only go up. */
  private addLowHalf(o: Operand, coef: number): boolean {
    const i = this.hold(o.reg);
    const f = this.table.forms[this.form[i]];
    for (let k = 0; k < f.atoms.length; k++) {
      const a = f.atoms[k];
      const half =
        this.symbols.has(a) || this.windows.has(a)
          ? a
          : this.table.atom([Unknown.Low, a], this.table.homeOf(a));
      if (!this.table.add(half, Math.imul(f.coefs[k] | 0, coef))) return false;
    }
    return this.addForm(0, this.constant[i] | 0, coef, 32);
  }

  /** Adds a 32-bit source extended to 64 bits. */
  private addExtended(o: Operand, bySign: boolean, coef: number): boolean {
    const extend = bySign ? 1 : 0;
    if (o.kind === Kind.CBank && o.reg === NO_REG) {
      const word = this.table.of(this.table.atom([Unknown.Bank, o.hi, o.lo, 32, -1], -1), 32);
      return this.table.add(this.table.atom([Unknown.Extended, extend, word, 0], -1), coef);
    }
    if (o.kind !== Kind.Reg || regWidth(o.reg) !== 32) return false;
    const i = this.hold(o.reg);
    const form = this.form[i];
    const f = this.table.forms[form];
    const value = bySign ? this.constant[i] : this.constant[i] >>> 0;
    if (form === 0) return this.addForm(0, value, coef, 64);
    // The 32-bit address of a variable in its space equals its 64-bit address there.
    if (this.isSpaceAddress(form)) return this.addForm(form, this.constant[i], coef, 64);
    return this.table.add(this.table.atom([Unknown.Extended, extend, form, this.constant[i]], f.home), coef);
  }
}

/** A number of `width` bits as signed. If it is too large to be exact, it is outside every range. */
const signed = (v: bigint, width: number): number => Number(BigInt.asIntN(width, v));
