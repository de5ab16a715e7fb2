import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { controlText, parseControl } from '../../src/machine/control.ts';
import { decode, opcodeOf, whyUnknown } from '../../src/machine/decode.ts';
import { encode } from '../../src/machine/encode.ts';
import type { Machine } from '../../src/machine/forms.ts';
import { parseInstruction } from '../../src/machine/parse.ts';
import { instructionText } from '../../src/machine/text.ts';
import { vendorText } from '../../src/machine/vendor.ts';
import { bitsOf, type MutableWord, setBits, type Word, wordOf, wordText } from '../../src/machine/word.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { loadMachine, machineFiles, targetsOfMachines } from '../../src/spec/node-machine.ts';

/*
 * Words of public kernels, compiled by ptxas 13.0.88 at -O0 and -O3, each with the text of NVIDIA's disassembler (13.1):
 * `WORD ADDRESS TEXT`. They cover the forms of their cubins and then values of modifiers, the most frequent first, up to the length given
 * to `machine-forms.js sample` (pipelines/machine/README.md). They are followed, with addresses starting at 0 again, by words of generated
 * kernels of unusual PTX, in forms and with modifiers that the public ones lack.
 */

interface Sample {
  readonly word: Word;
  readonly at: number;
  readonly text: string;
}

const folder = join(ROOT, 'test', 'machine');
const samplesOf = (file: string): Sample[] =>
  readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, word, at, text] = /^(\S+) (\S+) (.*)$/.exec(line)!;
      return { word: wordOf(word)!, at: Number.parseInt(at, 16), text };
    });
const targets = readdirSync(folder)
  .filter((f) => f.endsWith('.txt'))
  .map((f) => f.replace('.txt', ''));
const samples = new Map(targets.map((t) => [t, samplesOf(`${t}.txt`)]));
const machines = new Map<string, Machine>();
for (const t of targets) machines.set(t, (await loadMachine(t))!);

describe('forms of machine code', () => {
  test('there are samples of each family', async () => {
    const families = new Set([...machines.values()].map((m) => m.family));
    expect(families.size).toBe(machineFiles().length);
    expect(await targetsOfMachines()).toEqual(expect.arrayContaining(targets));
    for (const list of samples.values()) expect(list.length).toBeGreaterThanOrEqual(40);
  });

  test.each(targets)('%s: words are decoded, encoded and printed as they are', (target) => {
    const machine = machines.get(target)!;
    const texts = new Map<string, string>();
    for (const { word, at, text } of samples.get(target)!) {
      const i = decode(machine, word);
      if (i === null) throw new Error(`${wordText(word)} (${text}): ${whyUnknown(machine, word)}`);
      expect(wordText(encode(i))).toBe(wordText(word));
      expect(vendorText(machine, i, at)).toBe(text);
      // One text, one word.
      const own = `${instructionText(machine, i, 0)} ${controlText(i.control)}`;
      expect(texts.get(own) ?? wordText(word)).toBe(wordText(word));
      texts.set(own, wordText(word));
      const read = parseInstruction(
        machine,
        instructionText(machine, i, at),
        at,
        parseControl(controlText(i.control))!,
      );
      expect([own, read === null ? null : wordText(encode(read))]).toEqual([own, wordText(word)]);
    }
  });

  // Whatever is decoded is decoded whole, and what is not says which bits no form explains.
  test.each(targets)('%s: no bit of a word is passed over', (target) => {
    const machine = machines.get(target)!;
    let unknown = 0;
    for (const { word } of samples.get(target)!) {
      const first = instructionText(machine, decode(machine, word)!, 0);
      for (let bit = 0; bit < 128; bit++) {
        const turned: MutableWord = [...word];
        setBits(turned, [{ at: bit, length: 1 }], 1 - bitsOf(word, [{ at: bit, length: 1 }]));
        const i = decode(machine, turned);
        if (i === null) {
          unknown++;
          continue;
        }
        if (wordText(encode(i)) !== wordText(turned))
          throw new Error(`${wordText(turned)} is encoded as another word`);
        if ((bit < 105 || bit > 121) && instructionText(machine, i, 0) === first)
          throw new Error(`${wordText(turned)} and ${wordText(word)} are both ${first}`);
      }
    }
    expect(unknown).toBeGreaterThan(1000);
  });

  test('a word that is not known is told from the nearest forms', () => {
    const machine = machines.get('sm_80')!;
    const nothing: Word = [0xfff, 0, 0, 0];
    expect([decode(machine, nothing), whyUnknown(machine, nothing)]).toEqual([
      null,
      'no form has the opcode 0xfff',
    ]);
    const nop = samples.get('sm_80')!.find((s) => s.text === 'NOP')!.word;
    const bad: Word = [nop[0], nop[1], nop[2] | 1, nop[3]];
    expect(decode(machine, bad)).toBeNull();
    expect(whyUnknown(machine, bad)).toBe(
      `opcode 0x${opcodeOf(nop).toString(16)}: NOP does not explain bit 64`,
    );
  });

  test('a text that is none is not read', () => {
    const machine = machines.get('sm_80')!;
    const good = 'IADD3 R2, PT, PT, R3, -R4, RZ';
    expect(parseInstruction(machine, good, 0)).not.toBeNull();
    for (const text of [
      'IADD3 R2, PT, PT, R3, -R4',
      'IADD3 R2, PT, PT, R3, -R4, RZ, RZ',
      'IADD3 R256, PT, PT, R3, -R4, RZ',
      'IADD3.SAT R2, PT, PT, R3, -R4, RZ',
      'IADD4 R2, PT, PT, R3, -R4, RZ',
      '@P8 IADD3 R2, PT, PT, R3, -R4, RZ',
      'iadd3 R2, PT, PT, R3, -R4, RZ',
      '',
    ])
      expect([text, parseInstruction(machine, text, 0)]).toEqual([text, null]);
  });
});
