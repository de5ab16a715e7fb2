import type { Instruction } from './decode.ts';
import { vendorFloat } from './floats.ts';
import type { Atom, Machine, Operand } from './forms.ts';
import {
  guardText,
  hexText,
  modifierText,
  present,
  reuseText,
  type Spelling,
  signText,
  suffixPresent,
  suffixText,
  valueText,
} from './text.ts';
import { unsigned } from './word.ts';

/*
 * The spelling of the vendor's disassembler: names that depend on values, omitted neutral operands, rounded numbers. It is for display and
 * comparison only: several words may have the same text, and it is not parsed.
 */

/** Text of an instruction in the vendor's spelling. `at` is its address. */
export function vendorText(machine: Machine, i: Instruction, at: number): string {
  const { form } = i;
  const alias = form.aliases.find((a) => a.when(i.values));
  const head = `${guardText(machine, i)}${form.name}${alias === undefined ? '' : `.${alias.name}`}${modifierText(i)}`;
  let out = '';
  for (const o of form.operands) {
    if (!present(o.when, i)) continue;
    if (o.hidden?.every((h) => i.values[h.field] === h.value) === true) continue;
    const text = operandText(machine, o, i, at);
    out += `${out === '' ? ' ' : o.glued ? ' ' : ', '}${text}`;
  }
  return `${head}${out}`.trimEnd();
}

const THEIRS: Spelling = {
  float: (kind, bits) => {
    const text = vendorFloat(kind, bits);
    return /[FN]$|^-0\.0$/.test(text) ? `${text} ` : text;
  },
  set: (bits) => `{${[...bits].reverse().join(',')}}`,
};

function operandText(machine: Machine, o: Operand, i: Instruction, at: number): string {
  const atom = (a: Atom): string => {
    const value = valueText(machine, a, i, at, THEIRS);
    const suffix = suffixText(a.suffixes, i);
    // The bars enclose the suffix of a uniform register, but not that of other registers.
    return a.kind === 'UR'
      ? signText(a.signs, i, value + suffix)
      : signText(a.signs, i, value) + reuseText(a, i) + suffix;
  };
  if (o.literal !== undefined) return o.literal;
  if (o.atom !== undefined) return atom(o.atom);
  const { prefix } = o;
  const before =
    prefix === undefined || prefix.hidden || !present(prefix.term.when, i)
      ? ''
      : `${prefix.word}[${atom(prefix.term.atom)}]`;
  const all = o.terms!.filter((t) => present(t.when, i)).map((t) => t.atom);
  const isNothing = (a: Atom): boolean =>
    (a.kind !== 'UR' || prefix?.word === 'c') &&
    i.values[a.field] === (machine.registers.get(a.kind)?.constant ?? 0);
  const shown = all.filter((a) => !isNothing(a));
  const terms = (shown.length > 0 ? shown : all.slice(0, 1)).map((a) => atom(a));
  // A lone offset is an absolute address and unsigned.
  if (shown.length === 1 && shown[0].kind === 's' && before === '')
    terms[0] = hexText(
      unsigned(i.values[shown[0].field], i.form.fields[shown[0].field].bits) * shown[0].scale,
    );
  const suffixes = suffixText(o.suffixes, i);
  const blank = before !== '' && o.suffixes.some((s) => suffixPresent(s, i)) ? ' ' : '';
  const address = terms.length === 0 ? '' : `${blank}[${terms.join('+')}]`;
  return signText(o.signs, i, `${before}${address}${suffixes}`);
}
