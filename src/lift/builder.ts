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
import type { Instruction } from '../machine/decode.ts';
import type { Atom, Machine, Operand as Slot } from '../machine/forms.ts';
import { present } from '../machine/text.ts';
import type { Banks } from './banks.ts';
import { FIRST_TEMPORARY, physical } from './registers.ts';

/** Thrown for an instruction whose meaning is not known. */
export class Unmeant extends Error {}

/** Files that temporaries are of: R, RD and P, the first three. */
const TEMPORARY_FILES = 3;

/** Signs of an operand, as they act on its value. */
export interface Signs {
  readonly negative: boolean;
  readonly absolute: boolean;
  /** The complement of an integer or of a truth value. */
  readonly complement: boolean;
}

/**
 * The translation of one machine instruction to Ori: reads its operands, and collects the instructions that mean the same.
 *
 * Temporaries may be computed whether or not the guard holds, since nothing reads them elsewhere; only what writes a register of the
 * hardware, memory or control is guarded (`write`).
 */
export class Builder {
  readonly out: Instr[] = [];
  readonly i: Instruction;
  /** Where the instruction stands: its section's base and its offset together. */
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
      // `@!PT`: never executed. A predicate that is false stands for it.
      this.guard = this.temporary(RegFile.P);
      this.guardNot = false;
      this.emit('PLOP3', [], [this.guard], [PF, PF, PF, imm(0)]);
    } else {
      this.guard = constant ? NO_REG : physical(i.form.guard, i.guard);
      this.guardNot = i.guardNot;
    }
  }

  /** Registers that are in use: all indices are below. */
  get registers(): number {
    return this.temporaries;
  }

  get isGuarded(): boolean {
    return this.guard !== NO_REG;
  }

  /** @throws Unmeant, always */
  fail(why: string): never {
    throw new Unmeant(why);
  }

  // ------------------------------------------------------------------ modifiers and operands

  /** Name of the value of a modifier; '' where it has none, or the form has no such modifier. */
  mod(name: string): string {
    const k = this.i.form.fields.findIndex((f) => f.name === name && f.names !== undefined);
    if (k < 0) return '';
    const f = this.i.form.fields[k];
    return present(f.when, this.i) ? (f.names?.[this.i.values[k]] ?? '') : '';
  }

  has(name: string): boolean {
    return this.mod(name) !== '';
  }

  /** @throws Unmeant where one of these modifiers is set */
  without(...names: readonly string[]): void {
    for (const n of names) if (this.has(n)) this.fail(`.${this.mod(n)} has no meaning here yet`);
  }

  /** The operand with a name that is there; undefined if there is none. */
  find(name: string): Slot | undefined {
    return this.i.form.operands.find((o) => o.name === name && present(o.when, this.i));
  }

  slot(name: string): Slot {
    return this.find(name) ?? this.fail(`the operand ${name} is missing`);
  }

  /** The bits of an atom: a register's number, or a value. */
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

  /** What the suffix of an operand says: `.H0_H0`. */
  suffix(slot: Slot): string {
    for (const s of [...slot.suffixes, ...(slot.atom?.suffixes ?? [])])
      if (s.field !== undefined && present(s.when, this.i)) {
        const name = this.i.form.fields[s.field].names?.[this.i.values[s.field]] ?? '';
        if (name !== '') return name;
      }
    return '';
  }

  /**
   * Word `k` of an operand as it stands in its place, without signs: a register, a number, or a word of a constant bank. Numbers of 64
   * bits are extended: those of doubles by zeros below, others by their sign.
   */
  word(slot: Slot, k = 0): Operand {
    const a = slot.atom;
    if (a === undefined) {
      if (slot.prefix?.word !== 'c') return this.fail('an operand that is no value');
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

  /** A word of a constant bank. */
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

  /** A source of 32 bits without signs. @throws Unmeant if it has some */
  plain(name: string): Operand {
    const slot = this.slot(name);
    const s = this.signsOf(slot);
    if (s.negative || s.absolute || s.complement) this.fail(`a sign of the operand ${name}`);
    return this.word(slot);
  }

  /** A source of 32 bits that is an integer; a complement is computed, and a minus left to the slot if it may have one. */
  integer(name: string, mayNegate = false): Operand {
    const slot = this.slot(name);
    const s = this.signsOf(slot);
    const w = this.word(slot);
    if (s.complement) return this.not(w);
    if (!s.negative) return w;
    if (mayNegate) return withOperandMods(w, Mod.Neg);
    return reg(this.pure('IADD3', [], [withOperandMods(w, Mod.Neg), RZ, RZ]));
  }

  /** Both words of a source of 64 bits as one register. */
  wide(name: string): Operand {
    const slot = this.slot(name);
    const [lo, hi] = [this.word(slot), this.word(slot, 1)];
    if (isZero(lo) && isZero(hi)) return RZ;
    return reg(this.pure('PAIR', [], [lo, hi], RegFile.RD));
  }

  /** A source that is a float of 32 bits, or of 64 with `wide`, with its signs. */
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

  /** A word with the signs of a float put into its bits. */
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

  /** A predicate source, with its negation. */
  truth(name: string): Operand {
    const slot = this.slot(name);
    const a = slot.atom!;
    const not = this.signsOf(slot).complement;
    const n = this.raw(a);
    if (n === this.constantOf(a.kind)) return not ? PF : PT;
    return reg(physical(a.kind, n), not ? Mod.Not : 0);
  }

  /** A predicate source, true where the form has none. */
  truthOr(name: string, otherwise: Operand): Operand {
    return this.find(name) === undefined ? otherwise : this.truth(name);
  }

  /** Predicate register `n` of a lane. */
  predicate(n: number): Reg {
    return physical('P', n);
  }

  /** Word `k` of a destination; NO_REG for the constant register. */
  to(name: string, k = 0): Reg {
    const slot = this.find(name);
    if (slot === undefined) return NO_REG;
    const a = slot.atom!;
    const n = this.raw(a);
    return n === this.constantOf(a.kind) ? NO_REG : physical(a.kind, n + k);
  }

  // ------------------------------------------------------------------ instructions

  temporary(file: number = RegFile.R): Reg {
    // An index belongs to one file in the whole function, and each instruction begins with the first again.
    const n = this.temporaries;
    this.temporaries += TEMPORARY_FILES;
    return makeReg(n + file, file);
  }

  op(name: string): Opcode {
    const op = this.isa.byName.get(name);
    if (op === undefined) throw new Error(`Ori has no opcode ${name}`);
    return op;
  }

  /** The modifiers of an opcode; '' is none. @throws Unmeant for one that it does not have */
  private modsOf(op: Opcode, names: readonly string[]): number {
    const own = names.filter((m) => m !== '');
    const missing = own.find((m) => !op.modByName.has(m));
    if (missing !== undefined) this.fail(`.${missing.replace(/^.*=/, '')} has no meaning here yet`);
    return withMods(op, 0, ...own);
  }

  /** An instruction that is always executed. */
  emit(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.op(name);
    this.out.push(instr(op, this.modsOf(op, mods), dst, src, this.loc));
  }

  /** A temporary with the result of a pure instruction. */
  pure(name: string, mods: readonly string[], src: readonly Operand[], file: number = RegFile.R): Reg {
    const d = this.temporary(file);
    this.emit(name, mods, [d], src);
    return d;
  }

  /** A temporary predicate with the result of a comparison or of logic. */
  test(name: string, mods: readonly string[], src: readonly Operand[]): Reg {
    const d = this.temporary(RegFile.P);
    this.emit(name, mods, this.op(name).dsts.length > 1 ? [d, NO_REG] : [d], src);
    return d;
  }

  /** A temporary with the result of an instruction that only those execute for whom the guard holds. */
  guarded(name: string, mods: readonly string[], src: readonly Operand[], file: number = RegFile.R): Reg {
    const d = this.temporary(file);
    this.write(name, mods, [d], src);
    return d;
  }

  /** An instruction under the guard: what it writes keeps its value where the guard is false. */
  write(name: string, mods: readonly string[], dst: readonly Reg[], src: readonly Operand[]): void {
    const op = this.op(name);
    this.out.push(instr(op, this.modsOf(op, mods), dst, src, this.loc, this.guard, this.guardNot));
  }

  /** Copies of temporaries into the destination's words, under the guard. */
  give(name: string, ...words: readonly Operand[]): void {
    words.forEach((w, k) => {
      const d = this.to(name, k);
      if (d !== NO_REG) this.write('MOV', [], [d], [w]);
    });
  }

  /** A temporary predicate into a predicate register, under the guard. */
  giveTruth(name: string, value: Operand): void {
    const d = this.to(name);
    if (d !== NO_REG) this.write('PLOP3', [], [d], [value, PT, PT, imm(0xf0)]);
  }

  /** The words of a register of 64 bits into a destination. */
  giveWide(name: string, from: Operand): void {
    const [lo, hi] = [this.to(name), this.to(name, 1)];
    if (lo !== NO_REG) this.write('UNPAIR', [], [lo, hi], [from]);
  }

  /**
   * The instructions, in an order in which the guard is read before it is written.
   */
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

  /** A condition for a jump: the guard and a predicate operand together. Both are taken from the instructions that follow. */
  condition(extra: Operand): { guard: Reg; not: boolean } {
    const always = extra.kind === Kind.Imm && ((extra.lo & 1) ^ (extra.mods !== 0 ? 1 : 0)) === 1;
    if (always) return { guard: this.guard, not: this.guardNot };
    if (!this.isGuarded && extra.kind === Kind.Reg) return { guard: extra.reg, not: extra.mods !== 0 };
    const own = this.isGuarded ? reg(this.guard, this.guardNot ? Mod.Not : 0) : PT;
    return { guard: this.test('PLOP3', [], [own, extra, PT, imm(0xc0)]), not: false };
  }

  /** An instruction under another guard. */
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
