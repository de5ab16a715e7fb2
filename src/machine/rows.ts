/* Types of YAML files of kind 'machine', as schemas/machine.schema.json defines them. */

/** A register file. */
export interface FileRow {
  readonly bits: number;
  /** Number of the constant register, and the letter printed for its number. */
  readonly constant?: number;
  readonly letter?: string;
}

/** A layout: encodings of the operands that differ by layout, by slot. `code` is bits 9 to 11 of the opcode. */
export interface LayoutRow {
  readonly code: number;
  readonly set?: Readonly<Record<string, number>>;
  readonly slots: Readonly<Record<string, string>>;
  /** Reuse-mask bits of the slots' registers, if they do not follow from the registers' places. */
  readonly reuse?: Readonly<Record<string, number>>;
}

/** A row: one instruction with its encodings. */
export interface FormRow {
  /** First part of the text, if not the name of the row. */
  readonly name?: string;
  /** Low 12 bits of the word; low 9 if the row has layouts. */
  readonly opcode?: number;
  readonly layouts?: string;
  readonly operands?: string;
  /** Signs of operands that layouts place; each letter of a key names a place. */
  readonly signs?: Readonly<Record<string, string | number>>;
  /** How the immediate of a layout is encoded. */
  readonly immediate?: string;
  readonly modifiers?: Readonly<Record<string, string | number>>;
  /** Fields printed within operands, or not at all. */
  readonly inner?: Readonly<Record<string, string | number>>;
  /** Fixed bits other than zero, by place. */
  readonly set?: Readonly<Record<string, number>>;
  /** Reuse-mask bits of operands outside of layouts, if they do not follow from the registers' places. */
  readonly reuse?: Readonly<Record<string, number>>;
  readonly guard?: 'P' | 'UP';
  /** Names that the vendor's text inserts, of which the first that applies is used: `MOV in RRR RRI when a=RZ & !X`. */
  readonly aliases?: readonly string[];
  /** The execution unit. */
  readonly pipe?: string;
}

/** A family of targets. */
export interface FamilyRow {
  readonly name: string;
  readonly extends?: string;
  readonly sms: readonly string[];
  readonly registers?: Readonly<Record<string, FileRow>>;
  /** Byte offsets of the words that the driver writes to constant bank 0 before the arguments, by name. */
  readonly driver?: Readonly<Record<string, number>>;
  /** Value lists: names in order, or names by value. */
  readonly values?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly layouts?: Readonly<Record<string, LayoutRow>>;
  /** Address prefixes that the vendor's text omits, such as `desc`. */
  readonly hides?: readonly string[];
  /** Rows by name; null removes an inherited row. */
  readonly forms: Readonly<Record<string, FormRow | null>>;
  readonly timing?: TimingRow;
}

/** When results can be read. Lists consist of words: pipes, rows, or first parts of rows such as `LDG`. */
export interface TimingRow {
  /** What has variable latency. */
  readonly late?: string;
  /** In-order queues and what goes through them; anything else uses the queue of its pipe. */
  readonly queues?: Readonly<Record<string, string>>;
  /** Timing classes and what they contain, apart from the rest of their pipes. */
  readonly classes?: Readonly<Record<string, string>>;
  /** Classes that work in two steps: the second register of a result is written later than the first, and that of an addend read later. */
  readonly halves?: string;
  /**
   * Required cycles by producer (`alu.R`, `wide.hi.R` for a second register) and consumer (`wide.hi` for a second register). `4 of 20710`:
   * four cycles, observed in 20710 pairs in ptxas' code.
   */
  readonly distances?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
