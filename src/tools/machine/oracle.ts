// Runs a disassembler, which is not part of Orrery, on instruction words. ORRERY_DISASSEMBLER names it. It must accept the options of
// nvdisasm: `-b SM80 FILE` prints the instructions of a raw binary, or the addresses at which it finds none.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An instruction word: 128 bits in four numbers, the least significant first. */
export type Word = readonly [number, number, number, number];

/** True if two words are equal. */
export const sameWord = (a: Word, b: Word): boolean => a.every((x, k) => x === b[k]);
/** A word as 32 hexadecimal digits, the most significant first. */
export const keyOf = (w: Word): string =>
  w
    .map((x) => (x >>> 0).toString(16).padStart(8, '0'))
    .reverse()
    .join('');
/** Inverse of `keyOf`. */
export const wordOf = (key: string): Word => {
  const part = (k: number): number => Number.parseInt(key.slice(8 * k, 8 * k + 8), 16) >>> 0;
  return [part(3), part(2), part(1), part(0)];
};

/** The value of a bit field of a word, of at most 32 bits. */
export function bitsOf(w: Word, at: number, n: number): number {
  let value = 0;
  for (let k = 0; k < n; k++) value += ((w[(at + k) >> 5] >>> ((at + k) & 31)) & 1) * 2 ** k;
  return value;
}

/** A word with another value in a bit field. */
export function withBits(w: Word, at: number, n: number, value: number): Word {
  const out = [...w];
  for (let k = 0; k < n; k++) {
    const mask = 1 << ((at + k) & 31);
    const bit = Math.floor(value / 2 ** k) % 2 === 1;
    out[(at + k) >> 5] = (bit ? out[(at + k) >> 5] | mask : out[(at + k) >> 5] & ~mask) >>> 0;
  }
  return out as unknown as Word;
}

/** A word with a guard that is always true, and with control bits for no barriers and no stall, so that only the other bits differ. */
export const plain = (w: Word): Word => withBits(withBits(w, 12, 4, 7), 105, 21, 0x7e0);

/** True if ORRERY_DISASSEMBLER is set. */
export const hasDisassembler = (): boolean => process.env['ORRERY_DISASSEMBLER'] !== undefined;

const BYTES = 16;
const NOP: Word = [0x00007918, 0, 0, 0x000fc000];
const MOST_WORDS = 100_000;
/** The address at which `askAll` disassembles the word of an index. */
export const addressOf = (k: number): number => BYTES * (k % MOST_WORDS);

/**
 * The text that the disassembler prints for each word, at the address `addressOf`; null if it finds no instruction.
 * @throws Error if there is no disassembler, or it fails
 */
export function askAll(sm: string, words: readonly Word[]): (string | null)[] {
  const out: (string | null)[] = [];
  for (let from = 0; from < words.length; from += MOST_WORDS)
    out.push(...ask(sm, words.slice(from, from + MOST_WORDS)));
  return out;
}

function ask(sm: string, words: readonly Word[]): (string | null)[] {
  const command = process.env['ORRERY_DISASSEMBLER'];
  if (command === undefined)
    throw new Error('set ORRERY_DISASSEMBLER to a disassembler with the options of nvdisasm');
  const folder = mkdtempSync(join(tmpdir(), 'orrery-forms-'));
  const bad = new Set<number>();
  try {
    for (;;) {
      const bytes = new Uint32Array(words.length * 4);
      words.forEach((w, k) => bytes.set(bad.has(k) ? NOP : w, 4 * k));
      writeFileSync(join(folder, 'words.bin'), bytes);
      const name = sm
        .replace('_', '')
        .replace(/[a-z]$/, '')
        .toUpperCase();
      const r = spawnSync(command, ['-b', name, join(folder, 'words.bin')], {
        encoding: 'utf8',
        maxBuffer: 2 ** 30,
      });
      if (r.status === 0 && r.stdout.length > 0) return textsOf(r.stdout, words.length, bad);
      const before = bad.size;
      for (const m of r.stderr.matchAll(/address 0x([0-9a-f]+)/g)) bad.add(Number.parseInt(m[1], 16) / BYTES);
      if (bad.size === before) throw new Error(`${command}: ${r.stderr.slice(0, 500)}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function textsOf(printed: string, count: number, bad: ReadonlySet<number>): (string | null)[] {
  const out = new Array<string | null>(count).fill(null);
  for (const m of printed.matchAll(/^\s*\/\*([0-9a-f]+)\*\/\s+(.*?)\s*;/gm)) {
    const k = Number.parseInt(m[1], 16) / BYTES;
    if (!bad.has(k)) out[k] = m[2].trim();
  }
  return out;
}
