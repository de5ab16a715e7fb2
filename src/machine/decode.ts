import { type Control, controlOf } from './control.ts';
import { type Condition, type Field, type Form, GUARD, GUARD_NOT, type Machine } from './forms.ts';
import { bitsOf, signedBitsOf, type Word } from './word.ts';

/** A decoded instruction: its form and the values of its fields. */
export interface Instruction {
  readonly form: Form;
  /** Value of each field by index; negative if the field is signed. */
  readonly values: readonly number[];
  /** Number of the guard predicate; the constant one (PT) if there is no guard. */
  readonly guard: number;
  readonly guardNot: boolean;
  readonly control: Control;
}

const valuesOf = (form: Form, w: Word): number[] =>
  form.fields.map((f) => (f.signed ? signedBitsOf(w, f.place) : bitsOf(w, f.place)));

/** The opcode: the low 12 bits of a word. */
export const opcodeOf = (w: Word): number => w[0] & 0xfff;

/** Decodes a word; null if no form explains all of its bits. */
export function decode(machine: Machine, w: Word): Instruction | null {
  for (const form of machine.byOpcode.get(opcodeOf(w)) ?? []) {
    const { mask, value } = form;
    if (
      (((w[0] ^ value[0]) & mask[0]) |
        ((w[1] ^ value[1]) & mask[1]) |
        ((w[2] ^ value[2]) & mask[2]) |
        ((w[3] ^ value[3]) & mask[3])) !==
      0
    )
      continue;
    const values = valuesOf(form, w);
    const control = controlOf(w);
    if (!allowed(form, values, control.reuse)) continue;
    return {
      form,
      values,
      guard: bitsOf(w, [GUARD]),
      guardNot: bitsOf(w, [GUARD_NOT]) === 1,
      control,
    };
  }
  return null;
}

/** Longer fields are code distances, which no code reaches; a double would not hold them exactly. */
const MOST_BITS = 48;

/** True if a field may have this value, given the other fields. */
function fits(f: Field, value: number, values: readonly number[]): boolean {
  if (f.when !== undefined && !f.when(values)) return value === f.otherwise;
  if (f.names !== undefined) return typeof f.names[value] === 'string';
  return f.bits <= MOST_BITS || Math.abs(value) < 2 ** MOST_BITS;
}

/** True if the values form an instruction: none is reserved, and absent parts have their neutral bits. */
export function allowed(form: Form, values: readonly number[], reuse: number): boolean {
  for (let k = 0; k < form.fields.length; k++) if (!fits(form.fields[k], values[k], values)) return false;
  return reuse === 0 || (reuse & ~reusable(form, values)) === 0;
}

/** Bits of the reuse mask whose operands are registers in an instruction with these values. */
function reusable(form: Form, values: readonly number[]): number {
  const present = (when: Condition | undefined): boolean => when === undefined || when(values);
  let mask = 0;
  for (const o of form.operands) {
    if (!present(o.when)) continue;
    for (const t of o.atom === undefined ? (o.terms ?? []) : [{ atom: o.atom }])
      if (t.atom.reuse !== null && present('when' in t ? t.when : undefined)) mask |= 1 << t.atom.reuse;
  }
  return mask;
}

/** Explains in one line why a word cannot be decoded: for each form of its opcode, the bits that the form does not explain. */
export function whyUnknown(machine: Machine, w: Word): string {
  const forms = machine.byOpcode.get(opcodeOf(w)) ?? [];
  const opcode = `0x${opcodeOf(w).toString(16)}`;
  if (forms.length === 0) return `no form has the opcode ${opcode}`;
  const reasons = forms.map((f) => {
    const wrong: number[] = [];
    for (let k = 0; k < 128; k++)
      if ((((w[k >> 5] ^ f.value[k >> 5]) & f.mask[k >> 5]) >>> (k & 31)) & 1) wrong.push(k);
    if (wrong.length > 0)
      return `${f.name} does not explain bit${wrong.length > 1 ? 's' : ''} ${wrong.join(', ')}`;
    const values = valuesOf(f, w);
    const bad = f.fields.find((x, k) => !fits(x, values[k], values));
    if (bad === undefined) return `${f.name} has no register where one is to be reused`;
    return `${f.name} has no ${bad.name} of ${values[f.fields.indexOf(bad)]} here`;
  });
  return `opcode ${opcode}: ${reasons.join('; ')}`;
}
