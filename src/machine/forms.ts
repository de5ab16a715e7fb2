import type { Kind } from './language.ts';
import type { Bits, Place, Word } from './word.ts';

/*
 * Rows of pipelines/machine, compiled for decoding, encoding and printing. An instruction's values are an array with one entry per field
 * of its form.
 */

/** Tests whether an optional part is present, given the values of an instruction. */
export type Condition = (values: readonly number[]) => boolean;

/** Bits of a word with one meaning: an operand, a part of one, or a modifier. */
export interface Field {
  readonly name: string;
  readonly place: Place;
  readonly bits: number;
  /** True if the value is signed. */
  readonly signed: boolean;
  /** Names by value: '' for a value without a name, null for a reserved one. */
  readonly names?: readonly (string | null)[];
  /** If this does not hold, the bits are `otherwise`. */
  readonly when?: Condition;
  readonly otherwise: number;
}

/** A bit that modifies an operand's value: minus, absolute value, complement or negation. */
export interface Sign {
  readonly sign: '-' | '|' | '~' | '!';
  /** Index of the field with its bit. */
  readonly field: number;
  /** Index of a field that turns `-` into `~` when set. */
  readonly invertIf?: number;
}

/** A suffix of an operand: the name of a field's value, or fixed text. */
export interface Suffix {
  readonly field?: number;
  readonly text?: string;
  readonly when?: Condition;
}

/** A register, a number or a name within an operand. */
export interface Atom {
  readonly kind: Kind;
  /** Index of its field. */
  readonly field: number;
  /** For a 64-bit number: index of the field with the upper half. */
  readonly high?: number;
  readonly scale: number;
  /** True if the bits are complemented. */
  readonly inverted: boolean;
  readonly signs: readonly Sign[];
  readonly suffixes: readonly Suffix[];
  /** Bit of the reuse mask for this register operand; null for none. */
  readonly reuse: number | null;
}

/** A summand of an address, which may be absent. */
export interface Term {
  readonly atom: Atom;
  readonly when?: Condition;
}

/** An operand: a fixed text, an atom, or an address of terms. */
export interface Operand {
  readonly name: string;
  /** Preceded by a blank instead of a comma in the vendor's text. */
  readonly glued: boolean;
  readonly literal?: string;
  readonly atom?: Atom;
  /** A bracketed prefix of the address, such as a bank or descriptor; `hidden`: omitted in the vendor's text. */
  readonly prefix?: { readonly word: string; readonly term: Term; readonly hidden: boolean };
  readonly terms?: readonly Term[];
  readonly signs: readonly Sign[];
  readonly suffixes: readonly Suffix[];
  readonly when?: Condition;
  /** The vendor's text omits the operand if its fields have these values. */
  readonly hidden?: readonly { readonly field: number; readonly value: number }[];
}

/** A name that the vendor's text inserts after the first one for certain values. */
export interface Alias {
  readonly name: string;
  readonly when: Condition;
}

/** One encoding of an instruction. */
export interface Form {
  /** First part of the text: `IMAD.WIDE`. */
  readonly name: string;
  /** The row and its layout; '' for a row without layouts. */
  readonly row: string;
  readonly layout: string;
  /** Low 12 bits. */
  readonly opcode: number;
  /** Mask and value of the bits that are fixed in the form; guard and control are excluded. */
  readonly mask: Word;
  readonly value: Word;
  readonly fields: readonly Field[];
  /** Indices of the fields printed as suffixes of the name, in order. */
  readonly modifiers: readonly number[];
  readonly operands: readonly Operand[];
  /** Register file of the guard. */
  readonly guard: 'P' | 'UP';
  readonly aliases: readonly Alias[];
  /** The execution unit. */
  readonly pipe: string;
}

/** A register file: bits of a register number, and the number of the constant register (RZ, PT) if there is one. */
export interface RegisterFile {
  readonly bits: number;
  readonly constant: number | null;
  /** Letter of the constant register: Z or T. */
  readonly letter: string;
}

/** When results can be read, as far as it is known. */
export interface Timing {
  /** True if the form has variable latency: a scoreboard barrier signals its results. */
  late(f: Form): boolean;
  /** In-order queue of the form: when a result is available, so are all earlier ones of the queue. */
  queue(f: Form): string;
  /**
   * Timing class of a result.
   *
   * @param second whether it is the second register of a pair, which some classes write later: `wide.hi`
   */
  result(f: Form, second: boolean): string;
  /**
   * Timing class of a reader.
   *
   * @param second whether it reads the register only as the second word of its addend, which some classes do later: `wide.hi`
   */
  reader(f: Form, second: boolean): string;
  /**
   * Required cycles from the issue of a producer to that of a consumer; null if unknown.
   *
   * @param result timing class of the producer and the register file, such as `alu.R`
   * @param reader timing class of the consumer, or `guard`
   */
  distance(result: string, reader: string): number | null;
}

/** Everything known about the instruction words of a target. */
export interface Machine {
  readonly family: string;
  readonly sm: string;
  readonly registers: ReadonlyMap<string, RegisterFile>;
  /** Byte offsets of the words that the driver writes to constant bank 0 before the arguments, by name. */
  readonly driver: ReadonlyMap<string, number>;
  readonly forms: readonly Form[];
  readonly timing: Timing;
  /** Forms by the low 12 bits of a word. */
  readonly byOpcode: ReadonlyMap<number, readonly Form[]>;
  /** Forms by the first part of their names; longer names come first. */
  readonly byName: ReadonlyMap<string, readonly Form[]>;
}

/** Place of the guard: number of the predicate register, and whether it is negated. */
export const GUARD: Bits = { at: 12, length: 3 };
export const GUARD_NOT: Bits = { at: 15, length: 1 };
