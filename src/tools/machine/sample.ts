// Chooses a small set of words for tests that covers every form and every value of every modifier in the given cubins.
import { decode } from '../../machine/decode.ts';
import type { Machine } from '../../machine/forms.ts';
import { wordText } from '../../machine/word.ts';
import { addressOf, askAll, type Word } from './oracle.ts';

/** The features that a word covers: its form, the values of its named and one-bit fields, register reuse, and a negated guard. */
function featuresOf(machine: Machine, w: Word): string[] {
  const i = decode(machine, w);
  if (i === null) return [];
  const form = `${i.form.row} ${i.form.layout}`;
  return [
    form,
    ...i.form.fields.flatMap((f, k) =>
      f.names !== undefined || f.bits === 1 ? [`${form} ${f.name}=${i.values[k]}`] : [],
    ),
    ...(i.control.reuse > 0 ? [`${form} reuse`] : []),
    ...(i.guardNot ? [`${form} guard`] : []),
  ];
}

/**
 * Lines of the form `WORD ADDRESS TEXT`, with the text that a disassembler prints at this address.
 *
 * @param words candidates, the most frequent first
 * @param most maximum number of lines
 */
export function sampleWords(sm: string, machine: Machine, words: readonly Word[], most: number): string[] {
  const seen = new Set<string>();
  const chosen: Word[] = [];
  const choose = (wanted: (features: readonly string[]) => readonly string[]): void => {
    for (const w of words) {
      if (chosen.length >= most) return;
      const all = featuresOf(machine, w);
      if (wanted(all).every((f) => seen.has(f))) continue;
      for (const f of all) seen.add(f);
      chosen.push(w);
    }
  };
  choose((f) => f.slice(0, 1));
  choose((f) => f);
  const texts = askAll(sm, chosen);
  return chosen.map((w, k) => `${wordText(w)} ${addressOf(k).toString(16)} ${texts[k]}`);
}
