import { BinaryError } from '../cubin/bytes.ts';
import { SHT } from '../cubin/codes.ts';
import type { Elf } from '../cubin/elf.ts';
import { type CubinFunction, functionsOf, symbolsOf } from '../cubin/functions.ts';
import {
  type LineEntry,
  type LineTable,
  placeAt,
  type SourcePlace,
  sourceLines,
} from '../cubin/source-lines.ts';
import { type Control, controlOf } from './control.ts';
import { decode, type Instruction, whyUnknown } from './decode.ts';
import type { Machine } from './forms.ts';
import { WORD_BYTES } from './text.ts';
import type { Word } from './word.ts';

/* Decodes the code of a cubin, instruction by instruction. */

/** One word of the code. */
export interface Listed {
  /** Byte offset from the beginning of the function. */
  readonly address: number;
  readonly word: Word;
  readonly control: Control;
  /** Null if no form matches the word. */
  readonly instruction: Instruction | null;
  /** Why no form matches the word. */
  readonly why?: string;
  /** What a linker or the driver adds to the word: symbols with addends. */
  readonly relocations: readonly { readonly symbol: string; readonly addend: number }[];
  /** Source positions by line table; absent if the table has none. */
  readonly places: Readonly<Partial<Record<LineTable, SourcePlace>>>;
}

/** A function of a cubin, of which the words are decoded while they are read: all of them take a hundred times the memory of the code. */
export interface FunctionWords {
  readonly fn: CubinFunction;
  /** Every word of the code, padding included. */
  readonly code: Iterable<Listed>;
}

/** A function of a cubin with its decoded code. */
export interface ListedFunction extends FunctionWords {
  readonly code: readonly Listed[];
}

const TABLES: readonly LineTable[] = ['source', 'ptx'];

/** True if a cubin has a line table. */
export const hasLines = (elf: Elf): boolean => TABLES.some((t) => sourceLines(elf, t).size > 0);

/** Decodes the functions of a cubin; errors as for `functionWords`. */
export const listCode = (elf: Elf, machine: Machine): ListedFunction[] =>
  functionWords(elf, machine).map(({ fn, code }) => ({ fn, code: [...code] }));

/**
 * The functions of a cubin, to be decoded.
 *
 * @throws BinaryError if a code section is not a sequence of whole words, or a line table is malformed
 */
export function functionWords(elf: Elf, machine: Machine): FunctionWords[] {
  for (const s of elf.sections)
    if (s.type === SHT.progbits && s.name.startsWith('.text.') && s.content.kind === 'bytes')
      throw new BinaryError(
        `the section ${s.name} has ${s.content.bytes.length} bytes: instructions have ${WORD_BYTES} each`,
        0,
      );
  const lines = TABLES.map((table) => ({ table, entries: sourceLines(elf, table) }));
  const relocations = relocationsOf(elf);
  return functionsOf(elf).map((fn) => {
    const own = lines.flatMap(({ table, entries }) => {
      const list = entries.get(fn.section);
      return list === undefined ? [] : [{ table, list }];
    });
    const moved = relocations.get(fn.section);
    return { fn, code: { [Symbol.iterator]: () => decoded(fn, machine, moved, own) } };
  });
}

function* decoded(
  { words }: CubinFunction,
  machine: Machine,
  relocations: ReadonlyMap<number, Listed['relocations']> | undefined,
  tables: Parameters<typeof placesAt>[0],
): Generator<Listed> {
  for (let k = 0; k < words.length; k += 4) {
    const word: Word = [words[k], words[k + 1], words[k + 2], words[k + 3]];
    const address = (k / 4) * WORD_BYTES;
    const instruction = decode(machine, word);
    yield {
      address,
      word,
      control: controlOf(word),
      instruction,
      ...(instruction === null && { why: whyUnknown(machine, word) }),
      relocations: relocations?.get(address) ?? [],
      places: placesAt(tables, address),
    };
  }
}

function placesAt(
  tables: readonly { readonly table: LineTable; readonly list: readonly LineEntry[] }[],
  address: number,
): Listed['places'] {
  const out: Partial<Record<LineTable, SourcePlace>> = {};
  for (const { table, list } of tables) {
    const place = placeAt(list, address);
    if (place !== null) out[table] = place;
  }
  return out;
}

/** Relocations of code, by section and by address of the instruction. */
function relocationsOf(elf: Elf): Map<number, Map<number, { symbol: string; addend: number }[]>> {
  const symbols = symbolsOf(elf);
  const out = new Map<number, Map<number, { symbol: string; addend: number }[]>>();
  for (const s of elf.sections) {
    if (s.content.kind !== 'relocations' || elf.sections[s.info]?.content.kind !== 'code') continue;
    const own = out.get(s.info) ?? new Map<number, { symbol: string; addend: number }[]>();
    for (const r of s.content.relocations) {
      const address = r.offset - (r.offset % WORD_BYTES);
      const list = own.get(address) ?? [];
      list.push({ symbol: symbols[r.symbol]?.name ?? '', addend: r.addend ?? 0 });
      own.set(address, list);
    }
    out.set(s.info, own);
  }
  return out;
}
