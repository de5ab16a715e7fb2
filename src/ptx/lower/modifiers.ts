import type { PtxInstr } from '../ast.ts';
import type { Handler } from './arith.ts';
import { type FnLower, NoForm } from './function.ts';
import { TYPES } from './types.ts';

/**
 * Modifiers that change nothing when they are left out: `weak` is what holds anyway, and policies and hints for caches "are treated as
 * performance hints only" (PTX ISA 9.0, 9.7.9.2).
 */
const MAY_GO: ReadonlySet<string> = new Set(['weak', 'L2::cache_hint']);

/** The modifiers of an instruction, except its types, and which of them have been read. */
export class Modifiers {
  private readonly all: readonly string[];
  private readonly left: Set<string>;

  constructor(i: PtxInstr) {
    this.all = i.mods.filter((m) => !TYPES.has(m));
    this.left = new Set(this.all.filter((m) => !MAY_GO.has(m)));
  }

  /** Is it there? Then it counts as read. */
  has(word: string): boolean {
    this.left.delete(word);
    return this.all.includes(word);
  }

  /** The first of the words that is there; undefined where none is. */
  oneOf(words: Iterable<string>): string | undefined {
    return this.among(words)[0];
  }

  /** Those of the words that are there, in the order of the instruction. */
  among(words: Iterable<string>): string[] {
    const wanted = new Set(words);
    const found = this.all.filter((m) => wanted.has(m));
    for (const m of found) this.left.delete(m);
    return found;
  }

  /** Modifiers that nobody has read. */
  get unread(): readonly string[] {
    return [...this.left];
  }
}

/** A handler that says which modifiers it knows by reading them. */
export type ReadingHandler = (f: FnLower, i: PtxInstr, words: Modifiers) => void;

/**
 * A handler that lowers nothing whose meaning it does not know: where it leaves a modifier unread, the instruction has no form of its
 * own, and is carried as it is.
 *
 * @throws NoForm where a modifier is left, and what the handler throws
 */
export const readingAll =
  (h: ReadingHandler): Handler =>
  (f, i) => {
    const words = new Modifiers(i);
    h(f, i, words);
    if (words.unread.length > 0) throw new NoForm();
  };
