// Chooses words for tests: few, and together they show every form and every value of every modifier that the cubins have.
import { decode } from '../../machine/decode.ts';
import type { Machine } from '../../machine/forms.ts';
import { wordText } from '../../machine/word.ts';
import { addressOf, askAll, type Word } from './oracle.ts';

/** What a word shows: its form, each named value of its fields, and which of its registers are the constant one. */
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
 * Lines `WORD ADDRESS TEXT`, the text as a disassembler prints it at this address.
 *
 * @param words the most frequent first
 * @param most lines
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
