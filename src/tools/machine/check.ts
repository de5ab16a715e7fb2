// Compares decoded words with what a disassembler prints of them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { buildMachine, type FormFault } from '../../machine/build.ts';
import { decode, opcodeOf, whyUnknown } from '../../machine/decode.ts';
import { encode } from '../../machine/encode.ts';
import type { Machine } from '../../machine/forms.ts';
import type { FamilyRow } from '../../machine/rows.ts';
import { vendorText } from '../../machine/vendor.ts';
import { wordText } from '../../machine/word.ts';
import { ROOT } from '../../spec/node-cache.ts';
import { addressOf, askAll, keyOf, type Word } from './oracle.ts';

export function machineOf(sm: string): { machine: Machine; faults: FormFault[] } {
  const families = new Map<string, FamilyRow>();
  for (const file of readdirSync(join(ROOT, 'pipelines', 'machine')))
    if (file.endsWith('.yaml')) {
      const row = parse(readFileSync(join(ROOT, 'pipelines', 'machine', file), 'utf8')) as FamilyRow;
      families.set(row.name, row);
    }
  return buildMachine(families, sm);
}

export interface Outcome {
  readonly words: number;
  readonly instructions: number;
  /** Instructions whose word is of no form. */
  unknown: number;
  /** Decoded, but encoded as another word. */
  changed: number;
  /** Decoded, of those for which the disassembler prints something. */
  compared: number;
  equal: number;
  /** By kind of difference: how many instructions, and a sample. */
  readonly differences: Map<string, { count: number; sample: string }>;
}

export function compareWords(
  sm: string,
  machine: Machine,
  words: readonly { readonly word: Word; readonly count: number }[],
): Outcome {
  const texts = askAll(
    sm,
    words.map((w) => w.word),
  );
  const out: Outcome = {
    words: words.length,
    instructions: words.reduce((n, w) => n + w.count, 0),
    unknown: 0,
    changed: 0,
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
