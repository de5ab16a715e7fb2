import type { Instruction } from './decode.ts';
import { type FloatKind, floatText } from './floats.ts';
import type { Atom, Machine, Operand, Suffix } from './forms.ts';

/*
 * Text of instructions in our own spelling, which shows every operand and every bit. Together with the control text it identifies one
 * word, and parse.ts reads it. The order of names and operands is that of the vendor's assembly language; vendor.ts has its spelling.
 */

/** Bytes of an instruction; code addresses are relative to the next one. */
export const WORD_BYTES = 16;

/** True for the floating-point kinds of atoms. */
export const isFloat = (kind: string): kind is FloatKind => /^b?f\d/.test(kind);

/** Name of a register: `R3`, `RZ`, `UPT`, `B0`. */
export function registerText(machine: Machine, file: string, n: number): string {
  const r = machine.registers.get(file);
  return `${file}${r?.constant === n ? r.letter : n}`;
}

/** A signed hexadecimal number, e.g. `-0x10`. */
export const hexText = (n: number): string => (n < 0 ? `-0x${(-n).toString(16)}` : `0x${n.toString(16)}`);

/** Indices of the bits set in a mask, in ascending order. */
export const bitList = (mask: number, bits: number): number[] =>
  Array.from({ length: bits }, (_, k) => k).filter((k) => Math.floor(mask / 2 ** k) % 2 === 1);

/** Spelling of the values that differ between our text and the vendor's. */
export interface Spelling {
  float(kind: FloatKind, bits: number): string;
  /** Text of a set, given the indices of its bits in ascending order. */
  set(bits: readonly number[]): string;
}

const OURS: Spelling = { float: floatText, set: (bits) => `{${bits.join(',')}}` };

/** Text of an atom's value without signs. `at` is the address of the instruction. */
export function valueText(machine: Machine, a: Atom, i: Instruction, at: number, spell: Spelling): string {
  const field = i.form.fields[a.field];
  const raw = i.values[a.field];
  const value = a.inverted ? 2 ** field.bits - 1 - raw : raw;
  if (isFloat(a.kind)) return spell.float(a.kind, value);
  switch (a.kind) {
    case 'enum':
      return field.names![value]!;
    case 'u':
      if (a.high !== undefined && i.values[a.high] > 0)
        return `${hexText(i.values[a.high])}${value.toString(16).padStart(8, '0')}`;
      return hexText(value * a.scale);
    case 's':
      return hexText(value * a.scale);
    case 'd':
      return String(value * a.scale);
    case 'pc':
      return hexText(value * a.scale + at + WORD_BYTES);
    case 'set':
      return spell.set(bitList(value, field.bits));
  }
  return registerText(machine, a.kind, value);
}

/** `.reuse` for a register that is cached for the next instruction. */
export const reuseText = (a: Atom, i: Instruction): string =>
  a.reuse !== null && ((i.control.reuse >> a.reuse) & 1) === 1 ? '.reuse' : '';

/** Puts the active signs around a text: `-|R3|`. */
export function signText(signs: Atom['signs'], i: Pick<Instruction, 'values'>, text: string): string {
  let out = text;
  for (const want of ['|', '~', '!', '-'])
    for (const s of signs) {
      if (s.sign !== want || i.values[s.field] === 0) continue;
      if (want === '|') out = `|${out}|`;
      else
        out = `${want === '-' && s.invertIf !== undefined && i.values[s.invertIf] !== 0 ? '~' : want}${out}`;
    }
  return out;
}

/** True if a suffix applies to the instruction, whether its value has a name or not. */
export const suffixPresent = (s: Suffix, i: Instruction): boolean =>
  present(s.when, i) && (s.field === undefined || present(i.form.fields[s.field].when, i));

/** Text of suffixes, e.g. `.64` or `.H0_H0`; empty for a value without a name. */
export function suffixText(list: readonly Suffix[], i: Instruction): string {
  return list
    .map((s) => {
      if (!suffixPresent(s, i)) return '';
      const name = s.field === undefined ? s.text! : i.form.fields[s.field].names![i.values[s.field]]!;
      return name === '' ? '' : `.${name}`;
    })
    .join('');
}

/** True if an optional part is present. */
export const present = (when: ((v: readonly number[]) => boolean) | undefined, i: Instruction): boolean =>
  when === undefined || when(i.values);

/** Text of the modifiers that have names, e.g. `.FTZ.RN`. */
export const modifierText = (i: Instruction): string =>
  i.form.modifiers
    .map((k) => {
      const f = i.form.fields[k];
      if (!present(f.when, i)) return '';
      const name = f.names![i.values[k]]!;
      return name === '' ? '' : `.${name}`;
    })
    .join('');

/** Text of the guard, e.g. `@!P0 `; empty if the instruction always executes. */
export function guardText(machine: Machine, i: Instruction): string {
  const file = i.form.guard;
  const free = i.guard === machine.registers.get(file)?.constant && !i.guardNot;
  return free ? '' : `@${i.guardNot ? '!' : ''}${registerText(machine, file, i.guard)} `;
}

/**
 * Text of an instruction.
 *
 * @param at its address, to which code addresses are relative
 * @param nameOf names for values that have no number yet; undefined for the others
 */
export function instructionText(
  machine: Machine,
  i: Instruction,
  at: number,
  nameOf: (a: Atom) => string | undefined = () => undefined,
): string {
  const atom = (a: Atom): string =>
    `${signText(a.signs, i, nameOf(a) ?? valueText(machine, a, i, at, OURS))}${reuseText(a, i)}${suffixText(a.suffixes, i)}`;
  const operands = i.form.operands.filter((o) => present(o.when, i)).map((o) => operandText(o, i, atom));
  const head = `${guardText(machine, i)}${i.form.name}${modifierText(i)}`;
  return operands.length === 0 ? head : `${head} ${operands.join(', ')}`;
}

function operandText(o: Operand, i: Instruction, atom: (a: Atom) => string): string {
  if (o.literal !== undefined) return o.literal;
  if (o.atom !== undefined) return atom(o.atom);
  const terms = o.terms!.filter((t) => present(t.when, i)).map((t) => atom(t.atom));
  const { prefix } = o;
  const before =
    prefix === undefined || !present(prefix.term.when, i) ? '' : `${prefix.word}[${atom(prefix.term.atom)}]`;
  const address = terms.length === 0 ? '' : `[${terms.join('+')}]`;
  return signText(o.signs, i, `${before}${address}${suffixText(o.suffixes, i)}`);
}
