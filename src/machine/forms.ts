import type { Kind } from './language.ts';
import type { Bits, Place, Word } from './word.ts';

/*
 * Rows of pipelines/machine in the form in which words are decoded, encoded and shown. Values of an instruction stand in an array, one a
 * field of its form.
 */

/** Whether a part is there, by the values of an instruction. */
export type Condition = (values: readonly number[]) => boolean;

/** Bits of a word with one meaning: an operand, a part of one, or a modifier. */
export interface Field {
  readonly name: string;
  readonly place: Place;
  readonly bits: number;
  /** Its number is signed. */
  readonly signed: boolean;
  /** By value: what it is called, '' where it has no name, null where the value is reserved. */
  readonly names?: readonly (string | null)[];
  /** Where this does not hold, the bits are `otherwise`. */
  readonly when?: Condition;
  readonly otherwise: number;
}

export interface Sign {
  readonly sign: '-' | '|' | '~' | '!';
  /** Index of the field of its bit. */
  readonly field: number;
  /** A `-` that is a `~` where this field is set. */
  readonly invertIf?: number;
}

export interface Suffix {
  readonly field?: number;
  readonly text?: string;
  readonly when?: Condition;
}

/** A register, a number or a name. */
export interface Atom {
  readonly kind: Kind;
  /** Index of its field. */
  readonly field: number;
  /** Of a number of 64 bits: the field of its upper half. */
  readonly high?: number;
  readonly scale: number;
  /** The bits are those of the number turned over. */
  readonly inverted: boolean;
  readonly signs: readonly Sign[];
  readonly suffixes: readonly Suffix[];
  /** Bit of the reuse mask that belongs to the place of a register; null for others. */
  readonly reuse: number | null;
}

export interface Term {
  readonly atom: Atom;
  readonly when?: Condition;
}

export interface Operand {
  readonly name: string;
  /** A blank, not a comma, stands before it in the vendor's text. */
  readonly glued: boolean;
  readonly literal?: string;
  readonly atom?: Atom;
  /** Brackets before the address; hidden: the vendor's text leaves them out. */
  readonly prefix?: { readonly word: string; readonly term: Term; readonly hidden: boolean };
  readonly terms?: readonly Term[];
  readonly signs: readonly Sign[];
  readonly suffixes: readonly Suffix[];
  readonly when?: Condition;
  /** The vendor's text leaves it out where its bits have this value. */
  readonly hidden?: readonly { readonly field: number; readonly value: number }[];
}

/** A name that the vendor's text inserts behind the first one for some values. */
export interface Alias {
  readonly name: string;
  readonly when: Condition;
}

/** One way to write an instruction as a word. */
export interface Form {
  /** As text begins: `IMAD.WIDE`. */
  readonly name: string;
  /** The row that it is of, and its layout; '' for a row that has one way only. */
  readonly row: string;
  readonly layout: string;
  /** Low 12 bits. */
  readonly opcode: number;
  /** Bits that are the same in all words of the form, and what they are; guard and control are none of them. */
  readonly mask: Word;
  readonly value: Word;
  readonly fields: readonly Field[];
  /** Indices of the fields that are suffixes of the name, in their order. */
  readonly modifiers: readonly number[];
  readonly operands: readonly Operand[];
  /** File of the register that guards it. */
  readonly guard: 'P' | 'UP';
  readonly aliases: readonly Alias[];
  /** The unit that executes it. */
  readonly pipe: string;
}

/** A file of registers: bits of a number, and the number of the one that is constant (RZ, PT), if there is one. */
export interface RegisterFile {
  readonly bits: number;
  readonly constant: number | null;
  /** What that one is called: Z or T. */
  readonly letter: string;
}

/** When the results of instructions can be read, as far as it is known. */
export interface Timing {
  /** Whether its results come at no fixed time: a barrier tells that they are there. */
  late(f: Form): boolean;
  /** What it goes through in order with others: the results of one are there when those of a later one are. */
  queue(f: Form): string;
  /**
   * What a result is timed like.
   *
   * @param second whether it is the second register of a pair, which some classes give later: `wide.hi`
   */
  result(f: Form, second: boolean): string;
  /**
   * What a reader of a result is timed like.
   *
   * @param second whether it reads it as the second register of its addend alone, which some classes do later: `wide.hi`
   */
  reader(f: Form, second: boolean): string;
  /**
   * Cycles from the issue of an instruction to that of one that reads its result; null where nothing is known.
   *
   * @param result `result` of the one that writes it, and the file, as `alu.R`
   * @param reader `reader` of the one that reads it, or `guard`
   */
  distance(result: string, reader: string): number | null;
}

/** All that is known of the words of a target. */
export interface Machine {
  readonly family: string;
  readonly sm: string;
  readonly registers: ReadonlyMap<string, RegisterFile>;
  /** What the driver writes into constant bank 0 before the arguments of a kernel: name -> offset in bytes. */
  readonly driver: ReadonlyMap<string, number>;
  readonly forms: readonly Form[];
  readonly timing: Timing;
  /** By the low 12 bits of a word. */
  readonly byOpcode: ReadonlyMap<number, readonly Form[]>;
  /** By the first word of the name, the longest names first. */
  readonly byName: ReadonlyMap<string, readonly Form[]>;
}

/** Guard: which predicate register, and whether it is negated. */
export const GUARD: Bits = { at: 12, length: 3 };
export const GUARD_NOT: Bits = { at: 15, length: 1 };
/** How the hardware is to issue the instruction: from stall to reuse. */
export const CONTROL: Bits = { at: 105, length: 21 };
