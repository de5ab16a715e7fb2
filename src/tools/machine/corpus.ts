// Reads instruction words of cubins, for the tools that derive and check forms.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sectionBytes } from '../../cubin/code-size.ts';
import { keyOf, type Word } from './oracle.ts';

/** The given files, and the cubins in the given folders. */
export const cubinsIn = (paths: readonly string[]): string[] =>
  paths.flatMap((p) =>
    statSync(p).isDirectory()
      ? readdirSync(p)
          .filter((f) => f.endsWith('.cubin'))
          .sort()
          .map((f) => join(p, f))
      : [p],
  );

/** Counts the instruction words in the code of cubins. `as` maps words that count as equal to one representative. */
export function countWords(
  files: readonly string[],
  as: (w: Word) => Word,
): Map<string, { readonly word: Word; count: number }> {
  const out = new Map<string, { readonly word: Word; count: number }>();
  for (const f of files)
    for (const code of sectionBytes(new Uint8Array(readFileSync(f)), '.text.').values()) {
      const view = new DataView(code.buffer, code.byteOffset, code.byteLength);
      for (let at = 0; at + 16 <= code.length; at += 16) {
        const word = as([0, 4, 8, 12].map((k) => view.getUint32(at + k, true)) as unknown as Word);
        const key = keyOf(word);
        const known = out.get(key);
        if (known === undefined) out.set(key, { word, count: 1 });
        else known.count++;
      }
    }
  return out;
}
