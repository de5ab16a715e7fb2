// Compares decoded words with the output of a disassembler.
import { decode, opcodeOf, whyUnknown } from '../../machine/decode.ts';
import { encode } from '../../machine/encode.ts';
import type { Machine } from '../../machine/forms.ts';
import { parseInstruction } from '../../machine/parse.ts';
import { instructionText } from '../../machine/text.ts';
import { vendorText } from '../../machine/vendor.ts';
import { wordText } from '../../machine/word.ts';
import { addressOf, askAll, hasDisassembler, keyOf, type Word } from './oracle.ts';

/** The result of a comparison; all fields but `words` count instructions. */
export interface Outcome {
  readonly words: number;
  readonly instructions: number;
  /** Words that match no form. */
  unknown: number;
  /** Words that are decoded but encoded again as another word. */
  changed: number;
  /** Words that are decoded but whose text is parsed as another word, or not at all. */
  unread: number;
  /** Decoded words for which the disassembler prints an instruction. */
  compared: number;
  equal: number;
  /** For each kind of difference, the number of instructions and a sample. */
  readonly differences: Map<string, { count: number; sample: string }>;
}

/**
 * Decodes, encodes, prints and parses every word, and compares its text with the disassembler, if there is one.
 * @param words distinct words with their number of occurrences
 */
export function compareWords(
  sm: string,
  machine: Machine,
  words: readonly { readonly word: Word; readonly count: number }[],
): Outcome {
  const texts = hasDisassembler()
    ? askAll(
        sm,
        words.map((w) => w.word),
      )
    : words.map(() => null);
  const out: Outcome = {
    words: words.length,
    instructions: words.reduce((n, w) => n + w.count, 0),
    unknown: 0,
    changed: 0,
    unread: 0,
    compared: 0,
    equal: 0,
    differences: new Map(),
  };
  const note = (key: string, count: number, sample: string): void => {
    const known = out.differences.get(key);
    if (known === undefined) out.differences.set(key, { count, sample });
    else known.count += count;
  };
  words.forEach(({ word, count }, k) => {
    const theirs = texts[k];
    const i = decode(machine, word);
    if (i === null) {
      out.unknown += count;
      const why = whyUnknown(machine, word);
      const name = theirs?.replace(/^@\S+ /, '').split(/[ .]/)[0];
      note(
        `unknown: ${name} 0x${opcodeOf(word).toString(16)}`,
        count,
        `${wordText(word)} ${theirs}\n      ${why}`,
      );
      return;
    }
    if (keyOf(encode(i)) !== keyOf(word)) {
      out.changed += count;
      note(`changed: ${i.form.name}`, count, wordText(word));
    }
    const text = instructionText(machine, i, addressOf(k));
    const read = parseInstruction(machine, text, addressOf(k), i.control);
    if (read === null || keyOf(encode(read)) !== keyOf(word)) {
      out.unread += count;
      note(`unread: ${i.form.row} ${i.form.layout}`, count, `${wordText(word)} ${text}`);
    }
    if (theirs === null) return;
    out.compared += count;
    const ours = vendorText(machine, i, addressOf(k));
    if (ours === theirs) out.equal += count;
    else
      note(
        `text: ${i.form.row} ${i.form.layout} ${ours.split(' ')[0]} / ${theirs.split(' ')[0]}`,
        count,
        `${wordText(word)}\n      ours   ${ours}\n      theirs ${theirs}`,
      );
  });
  return out;
}
