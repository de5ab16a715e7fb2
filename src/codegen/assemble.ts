import { Mod } from '../ir/operand.ts';
import type { Atom, Form, Machine, Operand } from '../machine/forms.ts';
import { isFloat } from '../machine/text.ts';
import type { HardFile, Occurrence } from './machine-op.ts';

/*
 * Finds the form of a machine instruction, given its name and operands, and fills in the fields of the word. Registers are virtual: their
 * fields are filled in after allocation.
 */

/** An operand of a machine instruction. */
export type Arg =
  | {
      readonly kind: 'register';
      readonly file: HardFile;
      readonly v: number;
      readonly word: number;
      readonly words: number;
      readonly mods: number;
    }
  /** A register of the hardware by its number; null: the constant register (RZ, PT); file '*': whichever file the operand has. */
  | { readonly kind: 'fixed'; readonly file: string; readonly number: number | null; readonly mods: number }
  /** A number of 32 bits, or of 64 where `hi` is not null. */
  | { readonly kind: 'number'; readonly lo: number; readonly hi: number | null; readonly mods: number }
  | {
      readonly kind: 'bank';
      readonly bank: number;
      readonly index: Arg | null;
      readonly offset: number;
      /** Words that are read. */
      readonly words: number;
      readonly mods: number;
    }
  | {
      readonly kind: 'address';
      readonly base: Arg | null;
      readonly offset: number;
      /** Uniform register with the descriptor of global memory; null for other memory. */
      readonly descriptor: number | null;
      readonly mods: number;
    }
  | { readonly kind: 'block'; readonly block: number; readonly mods: number }
  | { readonly kind: 'word'; readonly name: string; readonly mods: number };

/** Zero, in a general register. */
export const RZ: Arg = { kind: 'fixed', file: 'R', number: null, mods: 0 };

/** A form with values for all fields that do not hold virtual registers. */
export interface Assembled {
  readonly form: Form;
  readonly values: number[];
  readonly occurrences: Occurrence[];
  readonly target: { readonly field: number; readonly block: number } | null;
}

/** Bits of a word at which predicates are results; at others they are sources. */
const RESULT_PREDICATES: ReadonlySet<number> = new Set([81, 84]);
/** Names of operands that are results, if they are no predicates. */
const RESULTS: ReadonlySet<string> = new Set(['d', 'e']);
/** Carries, which are false where they are not stated. */
const CARRIES: ReadonlySet<string> = new Set(['ci', 'di']);

/**
 * Assembles an instruction.
 * @param name its name with modifiers, in parts
 * @param args operands and named fields by name
 * @returns null if no form of the target fits
 */
export function assemble(
  machine: Machine,
  name: readonly string[],
  args: ReadonlyMap<string, Arg>,
): Assembled | null {
  for (const form of machine.byName.get(name[0]) ?? []) {
    const parts = form.name.split('.');
    if (parts.some((p, k) => p !== name[k])) continue;
    const out = new Filler(machine, form).fill(name.slice(parts.length), args);
    if (out !== null) return out;
  }
  return null;
}

/** A result that is discarded, or an operand that may be missing. */
const isNothing = (a: Arg): boolean => a.kind === 'fixed' && a.file === '*';

class Filler {
  private readonly machine: Machine;
  private readonly form: Form;
  private readonly values: number[];
  private readonly occurrences: Occurrence[] = [];
  private target: Assembled['target'] = null;

  constructor(machine: Machine, form: Form) {
    this.machine = machine;
    this.form = form;
    this.values = form.fields.map(() => 0);
  }

  fill(modifiers: readonly string[], args: ReadonlyMap<string, Arg>): Assembled | null {
    if (!this.modifiers(modifiers)) return null;
    const used = new Set<string>();
    for (const [key, arg] of args) {
      if (arg.kind !== 'word' || this.form.operands.some((o) => o.name === key)) continue;
      const field = this.form.fields.findIndex((f) => f.name === key);
      const value = this.form.fields[field]?.names?.indexOf(arg.name) ?? -1;
      if (value < 0) return null;
      this.values[field] = value;
      used.add(key);
    }
    for (const o of this.form.operands) {
      if (o.literal !== undefined) continue;
      const isPresent = o.when === undefined || o.when(this.values);
      const arg = args.get(o.name);
      if (!isPresent) {
        if (arg === undefined || isNothing(arg)) this.absent(o);
        if (arg !== undefined && isNothing(arg)) used.add(o.name);
        continue;
      }
      used.add(o.name);
      if (arg === undefined ? !this.standard(o) : !this.operand(o, arg)) return null;
    }
    for (const key of args.keys()) if (!used.has(key)) return null;
    this.form.fields.forEach((f, k) => {
      if (f.when !== undefined && !f.when(this.values)) this.values[k] = f.otherwise;
    });
    const { form, values, occurrences, target } = this;
    return { form, values, occurrences, target };
  }

  /** Chooses a value for each modifier; false if a part of the name is left over. */
  private modifiers(parts: readonly string[]): boolean {
    let at = 0;
    for (const k of this.form.modifiers) {
      const { names, when } = this.form.fields[k];
      if (names === undefined) return false;
      if (when !== undefined && !when(this.values)) continue;
      let [best, length] = [names.indexOf(''), 0];
      for (const [value, name] of names.entries()) {
        if (name === null || name === '') continue;
        const words = name.split('.');
        if (words.length > length && words.every((w, j) => parts[at + j] === w))
          [best, length] = [value, words.length];
      }
      if (best < 0) return false;
      this.values[k] = best;
      at += length;
    }
    return at === parts.length;
  }

  /** Gives an operand that is not there its neutral bits. */
  private absent({ atom }: Operand): void {
    if (atom !== undefined) this.values[atom.field] = this.form.fields[atom.field].otherwise;
  }

  /** Gives an operand that the template does not name its standard value; false if it has none. */
  private standard(o: Operand): boolean {
    if (o.hidden !== undefined) {
      for (const { field, value } of o.hidden) this.values[field] = value;
      return true;
    }
    const { atom } = o;
    if (atom === undefined) return false;
    const file = this.machine.registers.get(atom.kind);
    if (file?.constant == null) return false;
    this.values[atom.field] = atom.inverted ? ~file.constant & (2 ** file.bits - 1) : file.constant;
    const not = atom.signs.find((s) => s.sign === '!');
    if (not !== undefined) this.values[not.field] = CARRIES.has(o.name) ? 1 : 0;
    return true;
  }

  private operand(o: Operand, arg: Arg): boolean {
    if (o.atom !== undefined) return this.atom(o, o.atom, arg);
    if (arg.kind === 'bank') return this.bank(o, arg);
    return arg.kind === 'address' && this.address(o, arg);
  }

  private atom(o: Operand, a: Atom, arg: Arg): boolean {
    const field = this.form.fields[a.field];
    const { kind } = a;
    switch (arg.kind) {
      case 'register': {
        if (kind !== arg.file || !this.signs(a.signs, arg.mods)) return false;
        const { v, word, words } = arg;
        const isResult =
          kind === 'P'
            ? RESULT_PREDICATES.has(field.place[0].at)
            : RESULTS.has(o.name) || (kind === 'B' && this.form.row === 'BSSY');
        this.occurrences.push({ field: a.field, v, word, words, isResult });
        return !a.inverted;
      }
      case 'fixed': {
        const number = arg.number ?? this.machine.registers.get(kind)?.constant;
        if ((arg.file !== '*' && kind !== arg.file) || number == null || !this.signs(a.signs, arg.mods))
          return false;
        this.values[a.field] = a.inverted ? ~number & (2 ** field.bits - 1) : number;
        return true;
      }
      case 'number':
        return this.number(a, arg);
      case 'block':
        if (kind !== 'pc') return false;
        this.target = { field: a.field, block: arg.block };
        return true;
      case 'word': {
        const value = field.names?.indexOf(arg.name) ?? -1;
        if (value >= 0) this.values[a.field] = value;
        return value >= 0;
      }
      default:
        return false;
    }
  }

  private number(a: Atom, arg: Arg & { kind: 'number' }): boolean {
    const { lo, hi, mods } = arg;
    const field = this.form.fields[a.field];
    const file = this.machine.registers.get(a.kind);
    if (file !== undefined) {
      // Zero is a register, and so is a constant predicate.
      if (a.kind === 'P' ? lo !== 0 && lo !== 1 : lo !== 0 || (hi ?? 0) !== 0) return false;
      if (file.constant === null || !this.signs(a.signs, a.kind === 'P' && lo === 0 ? mods ^ Mod.Not : mods))
        return false;
      this.values[a.field] = file.constant;
      return true;
    }
    if (mods !== 0) return false;
    if (isFloat(a.kind)) {
      if (a.kind === 'f64' ? hi === null || lo !== 0 : a.kind !== 'f32' || hi !== null) return false;
      this.values[a.field] = (a.kind === 'f64' ? hi! : lo) >>> 0;
      return true;
    }
    // Conversions take a number in 32 bits for the upper word of one of 64.
    if ((a.kind !== 'u' && a.kind !== 's' && a.kind !== 'd') || hi !== null) return false;
    if (a.high !== undefined) return false;
    return this.plain(a, field.signed ? lo : lo >>> 0);
  }

  /** `c[bank][offset]`, `c[bank][R + offset]`. */
  private bank(o: Operand, arg: Arg & { kind: 'bank' }): boolean {
    if (o.prefix?.word !== 'c' || o.terms === undefined || !this.signs(o.signs, arg.mods)) return false;
    if (!this.plain(o.prefix.term.atom, arg.bank)) return false;
    return (
      o.terms.every(({ atom }) =>
        atom.kind === 'R' ? this.base(atom, arg.index) : this.plain(atom, arg.offset),
      ) &&
      (arg.index === null || o.terms.some(({ atom }) => atom.kind === 'R'))
    );
  }

  /** `desc[UR][R.64 + offset]`, `[R + offset]`. */
  private address(o: Operand, arg: Arg & { kind: 'address' }): boolean {
    if (o.terms === undefined || o.prefix?.word === 'c') return false;
    const flag = (name: string, on: boolean): void => {
      const field = this.form.fields.findIndex((f) => f.name === name);
      if (field >= 0) this.values[field] = on ? 1 : 0;
    };
    const isWide = arg.base?.kind === 'register' && arg.base.words === 2;
    flag('wide', isWide);
    flag('D', arg.descriptor !== null && o.prefix !== undefined);
    if (o.prefix !== undefined && arg.descriptor !== null && !this.plain(o.prefix.term.atom, arg.descriptor))
      return false;
    for (const { atom, when } of o.terms) {
      if (when !== undefined && !when(this.values)) continue;
      if (atom.kind === 'R') {
        if (!this.base(atom, arg.base)) return false;
      } else if (atom.kind === 'UR') {
        const zero = this.machine.registers.get('UR')?.constant ?? 0;
        if (arg.base?.kind === 'register' && arg.base.file === 'UR') {
          const { v, word, words } = arg.base;
          this.occurrences.push({ field: atom.field, v, word, words, isResult: false });
        } else if (o.prefix === undefined && arg.descriptor !== null && isWide)
          this.values[atom.field] = arg.descriptor;
        else this.values[atom.field] = zero;
      } else if (!this.plain(atom, arg.offset)) return false;
    }
    return true;
  }

  private base(a: Atom, base: Arg | null): boolean {
    if (base === null || (base.kind === 'fixed' && base.number === null)) {
      this.values[a.field] = this.machine.registers.get('R')?.constant ?? 0;
      return true;
    }
    if (base.kind === 'fixed' && base.file === 'R' && base.number !== null) {
      this.values[a.field] = base.number;
      return true;
    }
    if (base.kind !== 'register' || base.file !== 'R') return false;
    const { v, word, words } = base;
    this.occurrences.push({ field: a.field, v, word, words, isResult: false });
    return true;
  }

  /** Puts a number in a field; false if it does not fit. */
  private plain(a: Atom, value: number): boolean {
    const field = this.form.fields[a.field];
    const n = value / a.scale;
    const [least, most] = field.signed
      ? [-(2 ** (field.bits - 1)), 2 ** (field.bits - 1) - 1]
      : [0, 2 ** field.bits - 1];
    if (!Number.isInteger(n) || n < least || n > most) return false;
    this.values[a.field] = n;
    return true;
  }

  /** Sets the bits of the signs; false if one of them has none. */
  private signs(signs: Atom['signs'], mods: number): boolean {
    let left = mods;
    for (const s of signs) {
      const mod =
        s.sign === '|'
          ? Mod.Abs
          : s.sign === '-'
            ? (mods & Mod.Not) !== 0 && s.invertIf !== undefined && this.values[s.invertIf] === 1
              ? Mod.Not
              : Mod.Neg
            : Mod.Not;
      this.values[s.field] = (left & mod) !== 0 ? 1 : 0;
      left &= ~mod;
    }
    return left === 0;
  }
}
