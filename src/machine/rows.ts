/*
 * What files of kind 'machine' hold, as schemas/machine.schema.json has it.
 */

export interface FileRow {
  readonly bits: number;
  /** The number of the register that is constant, and the letter that it has for a number. */
  readonly constant?: number;
  readonly letter?: string;
}

/** Where the operands stand that differ by layout: slot -> operand. `code` is bits 9 to 11 of the opcode. */
export interface LayoutRow {
  readonly code: number;
  readonly set?: Readonly<Record<string, number>>;
  readonly slots: Readonly<Record<string, string>>;
  /** Bits of the reuse mask that belong to registers of slots, where they do not follow from where the registers stand. */
  readonly reuse?: Readonly<Record<string, number>>;
}

export interface FormRow {
  /** As text begins, if not as the row is called. */
  readonly name?: string;
  /** Low 12 bits; low 9 where the row has layouts. */
  readonly opcode?: number;
  readonly layouts?: string;
  readonly operands?: string;
  /** Signs of the operands that layouts place: names of places, a letter each -> signs. */
  readonly signs?: Readonly<Record<string, string | number>>;
  /** How the immediate of a layout is read. */
  readonly immediate?: string;
  readonly modifiers?: Readonly<Record<string, string | number>>;
  /** Fields that are shown within operands, or not at all. */
  readonly inner?: Readonly<Record<string, string | number>>;
  /** Bits that are not zero: place -> value. */
  readonly set?: Readonly<Record<string, number>>;
  /** Bits of the reuse mask that belong to registers of operands that no layout places, where they do not follow from their places. */
  readonly reuse?: Readonly<Record<string, number>>;
  readonly guard?: 'P' | 'UP';
  /** Names that the vendor's text inserts, the first that fits: `MOV in RRR RRI when a=RZ & !X`. */
  readonly aliases?: readonly string[];
  /** The unit that executes it. */
  readonly pipe?: string;
}

/** A family of targets. */
export interface FamilyRow {
  readonly name: string;
  readonly extends?: string;
  readonly sms: readonly string[];
  readonly registers?: Readonly<Record<string, FileRow>>;
  /** What the driver writes into constant bank 0 before the arguments: name -> offset. */
  readonly driver?: Readonly<Record<string, number>>;
  /** Lists of names by value: words in order, or value -> name. */
  readonly values?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly layouts?: Readonly<Record<string, LayoutRow>>;
  /** Brackets before an address that the vendor's text leaves out: `desc`. */
  readonly hides?: readonly string[];
  /** null takes a row of the family that is extended away. */
  readonly forms: Readonly<Record<string, FormRow | null>>;
  readonly timing?: TimingRow;
}

/** When results can be read. Lists are words: pipes, rows, or the first words of rows, as `LDG`. */
export interface TimingRow {
  /** What gives its results at no fixed time. */
  readonly late?: string;
  /** Queue -> what goes through it in order; what is in none goes through that of its pipe. */
  readonly queues?: Readonly<Record<string, string>>;
  /** Class -> what is timed otherwise than the rest of its pipe. */
  readonly classes?: Readonly<Record<string, string>>;
  /** Classes that take two steps: the second register of a result is there later than the first, and that of an addend is read later. */
  readonly halves?: string;
  /**
   * `alu.R`, `wide.hi.R` for a second register -> class of a reader, `wide.hi` for a second register -> `4 of 20710`: cycles, and the
   * pairs in ptxas' code.
   */
  readonly distances?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
