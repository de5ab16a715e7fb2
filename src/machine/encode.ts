import { setControl } from './control.ts';
import type { Instruction } from './decode.ts';
import { GUARD, GUARD_NOT } from './forms.ts';
import { type MutableWord, setBits, type Word } from './word.ts';

/** Encodes an instruction as a word. */
export function encode(i: Instruction): Word {
  const w: MutableWord = [...i.form.value];
  i.form.fields.forEach((f, k) => setBits(w, f.place, i.values[k]));
  setBits(w, [GUARD], i.guard);
  setBits(w, [GUARD_NOT], i.guardNot ? 1 : 0);
  setControl(w, i.control);
  return w;
}
