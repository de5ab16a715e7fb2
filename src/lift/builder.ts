import { type Isa, type Opcode, withMods } from '../ir/opcode.ts';
import {
  cbank,
  imm,
  isZero,
  Kind,
  Mod,
  makeReg,
  NO_REG,
  type Operand,
  PF,
  PT,
  type Reg,
  RegFile,
  RZ,
  reg,
  withOperandMods,
} from '../ir/operand.ts';
import { type Instr, instr } from '../ir/program.ts';
import { Unsupported } from '../ir/unsupported.ts';
import type { Instruction } from '../machine/decode.ts';
import type { Atom, Machine, Operand as Slot } from '../machine/forms.ts';
import { present } from '../machine/text.ts';
import type { Banks } from './banks.ts';
import { FIRST_TEMPORARY, physical, TEMPORARY_FILES } from './registers.ts';

/** Signs of an operand, in terms of their effect on its value. */
export interface Signs {
  readonly negative: boolean;
  readonly absolute: boolean;
  /** Bitwise complement of an integer, or negation of a predicate. */
  readonly complement: boolean;
}

/** Translates the machine instructions of one form. */
export type Meaning = (b: Builder) => void;

/**
 * Translates one machine instruction to Ori: reads its operands and collects equivalent Ori instructions.
 *
 * Temporaries are computed regardless of the guard, since nothing else reads them; only writes to hardware registers and memory, and
 * control flow, are guarded (`write`).
 */
export class Builder {
  readonly out: Instr[] = [];
  readonly i: Instruction;
  /** Address of the instruction: base of its section plus offset. */
  readonly at: number;
  readonly machine: Machine;
  readonly banks: Banks;
  private readonly isa: Isa;
  private readonly loc: number;
  private temporaries = FIRST_TEMPORARY;
  private readonly guard: Reg;
  private readonly guardNot: boolean;

  constructor(isa: Isa, machine: Machine, banks: Banks, i: Instruction, at: number, loc: number) {
    this.isa = isa;
    this.machine = machine;
    this.banks = banks;
    this.i = i;
    this.at = at;
    this.loc = loc;
    const constant = this.constantOf(i.form.guard) === i.guard;
    if (constant && i.guardNot) {
      // `@!PT`: never executed; the guard becomes a predicate that is false.
      this.guard = this.temporary(RegFile.P);
      this.guardNot = false;
      this.emit('PLOP3', [], [this.guard], [PF, PF, PF, imm(0)]);
    } else {
      this.guard = constant ? NO_REG : physical(i.form.guard, i.guard);
      this.guardNot = i.guardNot;
    }
  }

  /** Upper bound of the register indices in use. */
  get registers(): number {
    return this.temporaries;
  }

  get isGuarded(): boolean {
    return this.guard !== NO_REG;
  }

  /** @throws Unsupported, always */
  fail(why: string): never {
    throw new Unsupported(why);
  }

  // ------------------------------------------------------------------ modifiers and operands

  /** Name of a modifier's value; '' if it has no name or the form lacks the modifier. */
  mod(name: string): string {
    const k = this.i.form.fields.findIndex((f) => f.name === name && f.names !== undefined);
    if (k < 0) return '';
    const f = this.i.form.fields[k];
    return present(f.when, this.i) ? (f.names?.[this.i.values[k]] ?? '') : '';
  }

  has(name: string): boolean {
    return this.mod(name) !== '';
  }

  /** @throws Unsupported if one of these modifiers is set */
  without(...names: readonly string[]): void {
    for (const n of names) if (this.has(n)) this.fail(`.${this.mod(n)} is not supported yet`);
  }

  /** The operand with this name, if it is present. */
  find(name: string): Slot | undefined {
    return this.i.form.operands.find((o) => o.name === name && present(o.when, this.i));
  }

  slot(name: string): Slot {
    return this.find(name) ?? this.fail(`the operand ${name} is missing`);
  }

  /** The encoded bits of an atom: a register number, or a value. */
  raw(a: Atom): number {
    const f = this.i.form.fields[a.field];
    const v = this.i.values[a.field];
    return a.inverted ? 2 ** f.bits - 1 - v : v;
  }

  private constantOf(file: string): number | null {
    return this.machine.registers.get(file)?.constant ?? null;
  }

  signsOf(slot: Slot): Signs {
    let [negative, absolute, complement] = [false, false, false];
    for (const s of [...slot.signs, ...(slot.atom?.signs ?? [])]) {
      if (this.i.values[s.field] === 0) continue;
      if (s.sign === '-' && !(s.invertIf !== undefined && this.i.values[s.invertIf] !== 0)) negative = true;
      else if (s.sign === '|') absolute = true;
      else complement = true;
    }
    return { negative, absolute, complement };
  }

  /** The suffix of an operand, such as `H0_H0`; '' for none. */
  suffix(slot: Slot): string {
    for (const s of [...slot.suffixes, ...(slot.atom?.suffixes ?? [])])
      if (s.field !== undefined && present(s.when, this.i)) {
        const name = this.i.form.fields[s.field].names?.[this.i.values[s.field]] ?? '';
        if (name !== '') return name;
      }
    return '';
  }

  /**
   * Word `k` of an operand without its signs: a register, an immediate, or a word of a constant bank. Immediates of 64-bit operands are
   * extended: doubles by zeros below, others by their sign.
   */
  word(slot: Slot, k = 0): Operand {
    const a = slot.atom;
    if (a === undefined) {
      if (slot.prefix?.word !== 'c') return this.fail('an operand that is not a value');
      const offset = slot.terms!.reduce((n, t) => {
        if (t.atom.kind === 'R' || t.atom.kind === 'UR') this.fail('an operand with an index');
        return n + this.raw(t.atom) * t.atom.scale;
      }, 0);
      return this.bankWord(this.raw(slot.prefix.term.atom), offset + 4 * k);
    }
    const n = this.raw(a);
    switch (a.kind) {
      case 'R':
      case 'UR':
        return n === this.constantOf(a.kind) ? RZ : reg(physical(a.kind, n + k));
      case 'f64':
        return k === 1 ? imm(n) : RZ;
      case 'f32':
      case 'f16':
      case 'bf16':
        return imm(n);
      case 'u':
      case 's':
        if (k === 1 && a.high !== undefined) return imm(this.i.values[a.high]);
        return imm(k === 0 ? n * a.scale : n < 0 ? -1 : 0);
      default:
        return this.fail(`an operand of the kind ${a.kind}`);
    }
  }

  /** A word of a constant bank; emits a load unless it is a known value. @throws Unsupported if the word is unknown */
  bankWord(bank: number, offset: number): Operand {
    const c = this.banks.word(bank, offset);
    if (c.kind === 'value') return imm(c.value);
    if (c.kind === 'unknown') return this.fail(c.why);
    const d = this.temporary();
    if (c.kind === 'argument') this.emit('LDC', [], [d], [cbank(0, c.offset)]);
    else if (c.kind === 'special') this.emit('S2R', [c.name], [d], []);
    else if (c.kind === 'symbol') {
      const wide = this.temporary(RegFile.RD);
      this.emit('MOV', ['64'], [wide], [c.operand]);
      this.emit('UNPAIR', [], c.high ? [NO_REG, d] : [d, NO_REG], [reg(wide)]);
    } else this.emit('LDC', [], [d], [c.address]);
    return reg(d);
  }

  /** A 32-bit source operand. @throws Unsupported if it has signs */
  plain(name: string): Operand {
    const slot = this.slot(name);
    const s = this.signsOf(slot);
    if (s.negative || s.absolute || s.complement) this.fail(`a sign of the operand ${name}`);
    return this.word(slot);
  }

  /** A 32-bit integer source operand. A complement is computed; a minus is left to the Ori slot if `mayNegate`. */
  integer(name: string, mayNegate = false): Operand {
    const slot = this.slot(name);
    const s = this.signsOf(slot);
    const w = this.word(slot);
    if (s.complement) return this.not(w);
    if (!s.negative) return w;
    if (mayNegate) return withOperandMods(w, Mod.Neg);
    return reg(this.pure('IADD3', [], [withOperandMods(w, Mod.Neg), RZ, RZ]));
  }

  /** A 64-bit source operand as one register. */
  wide(name: string): Operand {
    const slot = this.slot(name);
    const [lo, hi] = [this.word(slot), this.word(slot, 1)];
    if (isZero(lo) && isZero(hi)) return RZ;
    return reg(this.pure('PAIR', [], [lo, hi], RegFile.RD));
  }

  /** A floating-point source operand with its signs, of 32 bits or, with `wide`, of 64. */
  float(name: string, wide = false, mayHaveSigns = true): Operand {
    const s = this.signsOf(this.slot(name));
    const x = wide ? this.wide(name) : this.word(this.slot(name));
    const mods = (s.negative ? Mod.Neg : 0) | (s.absolute ? Mod.Abs : 0);
    if (mods === 0) return x;
    if (mayHaveSigns || mods === Mod.Neg) return withOperandMods(x, mods);
    return reg(
      wide
        ? this.pure('DADD', ['RN'], [withOperandMods(x, mods), this.negativeZero(true)], RegFile.RD)
        : this.signed(x, s),
    );
  }

  /** Applies the signs of a float to the bits of a word. */
  signed(x: Operand, s: Signs): Reg {
    let d = x;
    if (s.absolute) d = reg(this.pure('LOP3', [], [d, imm(0x7fffffff), RZ, imm(0xc0)]));
    if (s.negative) d = reg(this.pure('LOP3', [], [d, imm(0x80000000), RZ, imm(0x3c)]));
    return d.reg;
  }

  private negativeZero(wide: boolean): Operand {
    return withOperandMods(wide ? RZ : imm(0), Mod.Neg);
  }

  not(x: Operand): Operand {
    return reg(this.pure('LOP3', [], [x, RZ, RZ, imm(0x0f)]));
  }

  /** A predicate source operand with its negation. */
  truth(name: string): Operand {
    const slot = this.slot(name);
    const a = slot.atom!;
    const not = this.signsOf(slot).complement;
    const n = this.raw(a);
    if (n === this.constantOf(a.kind)) return not ? PF : PT;
    return reg(physical(a.kind, n), not ? Mod.Not : 0);
  }

  /** A predicate source operand, or `otherwise` if the form has none. */
  truthOr(name: string, otherwise: Operand): Operand {
    return this.find(name) === undefined ? otherwise : this.truth(name);
  }

  /** Predicate register `n` of a lane. */
  predicate(n: number): Reg {
    return physical('P', n);
  }

  /** Word `k` of a destination operand; NO_REG for the constant register or a missing operand. */
  to(name: string, k = 0): Reg {
    const slot = this.find(name);
    if (slot === undefined) return NO_REG;
    const a = slot.atom!;
    const n = this.raw(a);
    return n === this.constantOf(a.kind) ? NO_REG : physical(a.kind, n + k);
  }

  // ------------------------------------------------------------------ instructions

  temporary(file: number = RegFile.R): Reg {
    // A register index belongs to one file in the whole function, so each file gets its own; every machine instruction starts with the
    // first temporary again.
    const n = this.temporaries;
    this.temporaries += TEMPORARY_FILES;
    return makeReg(n + file, file);
  }

  op(name: string): Opcode {
    const op = this.isa.byName.get(name);
    if (op === undefined) throw new Error(`Ori has no opcode ${name}`);
    return op;
  }

  /** Encodes modifiers of an opcode; '' entries are ignored. @throws Unsupported for a modifier that the opcode lacks */
  private modsOf(op: Opcode, names: readonly string[]): number {
    const own = names.filter((m) => m !== '');
    const missing = own.find((m) => !op.modByName.has(m));
    if (missing !== undefined) this.fail(`.${missing.replace(/^.*=/, '')} is not supported yet`);
    return withMods(op, 0, ...own);
  }

  /** Emits an unguarded instruction. */
  emit(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.op(name);
    this.out.push(instr(op, this.modsOf(op, mods), dst, src, this.loc));
  }

  /** Emits a pure instruction to a new temporary. */
  pure(name: string, mods: readonly string[], src: readonly Operand[], file: number = RegFile.R): Reg {
    const d = this.temporary(file);
    this.emit(name, mods, [d], src);
    return d;
  }

  /** Emits a comparison or predicate operation to a new temporary predicate. */
  test(name: string, mods: readonly string[], src: readonly Operand[]): Reg {
    const d = this.temporary(RegFile.P);
    this.emit(name, mods, this.op(name).dsts.length > 1 ? [d, NO_REG] : [d], src);
    return d;
  }

  /** Emits an instruction under the guard to a new temporary. */
  guarded(name: string, mods: readonly string[], src: readonly Operand[], file: number = RegFile.R): Reg {
    const d = this.temporary(file);
    this.write(name, mods, [d], src);
    return d;
  }

  /** Emits an instruction under the guard: destinations keep their values if it is false. */
  write(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.op(name);
    this.out.push(instr(op, this.modsOf(op, mods), dst, src, this.loc, this.guard, this.guardNot));
  }

  /** Copies words to the destination's registers, under the guard. */
  give(name: string, ...words: readonly Operand[]): void {
    words.forEach((w, k) => {
      const d = this.to(name, k);
      if (d !== NO_REG) this.write('MOV', [], [d], [w]);
    });
  }

  /** Copies a predicate to a destination predicate, under the guard. */
  giveTruth(name: string, value: Operand): void {
    const d = this.to(name);
    if (d !== NO_REG) this.write('PLOP3', [], [d], [value, PT, PT, imm(0xf0)]);
  }

  /** Splits a 64-bit register into the destination's two words, under the guard. */
  giveWide(name: string, from: Operand): void {
    const [lo, hi] = [this.to(name), this.to(name, 1)];
    if (lo !== NO_REG) this.write('UNPAIR', [], [lo, hi], [from]);
  }

  /** The emitted instructions. If an instruction overwrites the guard before its last use, all of them use a copy. */
  finish(): Instr[] {
    const guarded = this.out.filter((x) => x.guard !== NO_REG);
    const clobbers = this.isGuarded && guarded.slice(0, -1).some((x) => x.dst.includes(this.guard));
    if (!clobbers) return this.out;
    const copy = this.temporary(RegFile.P);
    const op = this.op('PLOP3');
    const first = instr(op, 0, [copy], [reg(this.guard), PT, PT, imm(0xf0)], this.loc);
    return [
      first,
      ...this.out.map((x) =>
        x.guard === this.guard ? instr(x.op, x.mods, x.dst, x.src, x.loc, copy, x.guardNot) : x,
      ),
    ];
  }

  /** The condition of a jump: the conjunction of the guard and a predicate operand. */
  condition(extra: Operand): { guard: Reg; not: boolean } {
    const always = extra.kind === Kind.Imm && ((extra.lo & 1) ^ (extra.mods !== 0 ? 1 : 0)) === 1;
    if (always) return { guard: this.guard, not: this.guardNot };
    if (!this.isGuarded && extra.kind === Kind.Reg) return { guard: extra.reg, not: extra.mods !== 0 };
    const own = this.isGuarded ? reg(this.guard, this.guardNot ? Mod.Not : 0) : PT;
    return { guard: this.test('PLOP3', [], [own, extra, PT, imm(0xc0)]), not: false };
  }

  /** Emits an instruction under another guard. */
  under(
    guard: Reg,
    not: boolean,
    name: string,
    mods: readonly string[],
    src: readonly Operand[],
    dst: readonly Reg[] = [],
  ): void {
    const op = this.op(name);
    this.out.push(instr(op, this.modsOf(op, mods), dst, src, this.loc, guard, not));
  }
}
