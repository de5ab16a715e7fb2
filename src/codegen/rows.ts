/* Types of YAML files of kind 'selection', as schemas/selection.schema.json defines them. */

/** One way to express an opcode in machine code; the first row whose conditions hold and whose instructions the target has is used. */
export interface SelectionRow {
  /** Modifier group or operand -> values, separated by `|`. */
  readonly when?: Readonly<Record<string, string>>;
  /** The machine instructions. */
  readonly emit: string | readonly string[];
}

/** A file of kind 'selection'. */
export interface SelectionFile {
  readonly title: string;
  /** Names of Ori's modifiers in machine code, by group or OPCODE.group. */
  readonly words?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Machine instructions whose operands a and b may be exchanged. */
  readonly commutes?: readonly string[];
  readonly rows: Readonly<Record<string, readonly SelectionRow[]>>;
}
