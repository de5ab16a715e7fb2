import { Unsupported } from '../../ir/unsupported.ts';
import type { PtxInstr } from '../ast.ts';
import type { FnLower } from './function.ts';
import type { Handler } from './handler.ts';
import { TYPES } from './types.ts';

/**
 * Modifiers that can be dropped: `weak` is the default, and cache policies "are treated as performance hints only" (PTX ISA 9.0, 9.7.9.2).
 */
const MAY_GO: ReadonlySet<string> = new Set(['weak', 'L2::cache_hint']);

/** The modifiers of an instruction other than its types; it records which of them have been read. */
export class Modifiers {
  private readonly all: readonly string[];
  private readonly left: Set<string>;

  constructor(i: PtxInstr) {
    this.all = i.mods.filter((m) => !TYPES.has(m));
    this.left = new Set(this.all.filter((m) => !MAY_GO.has(m)));
  }

  /** Is the modifier present? It then counts as read. */
  has(word: string): boolean {
    this.left.delete(word);
    return this.all.includes(word);
  }

  /** The first modifier that is among the words; undefined if there is none. */
  oneOf(words: Iterable<string>): string | undefined {
    return this.among(words)[0];
  }

  /** The modifiers that are among the words, in the order of the instruction. They count as read. */
  among(words: Iterable<string>): string[] {
    const wanted = new Set(words);
    const found = this.all.filter((m) => wanted.has(m));
    for (const m of found) this.left.delete(m);
    return found;
  }

  /** Modifiers that have not been read. */
  get unread(): readonly string[] {
    return [...this.left];
  }
}

/** A handler that must read every modifier that it supports. */
export type ReadingHandler = (f: FnLower, i: PtxInstr, words: Modifiers) => void;

/**
 * Wraps a handler so that it rejects instructions with modifiers that it has not read. Such instructions are carried as foreign ones.
 *
 * @returns a handler that throws Unsupported if a modifier is left unread, or if `h` does
 */
export const readingAll =
  (h: ReadingHandler): Handler =>
  (f, i) => {
    const words = new Modifiers(i);
    h(f, i, words);
    if (words.unread.length > 0) throw new Unsupported();
  };
