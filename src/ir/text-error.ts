/**
 * A fault in a text of one of the small languages that specs and Ori consist of: lines of Ori, meanings, rules, forms of machine code. Who
 * reads the text makes a diagnostic of it.
 */
export class TextError extends Error {
  /** Index in the line, or in a text of one line. */
  readonly at: number;
  /** Number of characters that are marked. */
  readonly length: number;
  /** Further lines of the diagnostic. */
  readonly notes: readonly string[];
  /** Line of the text, from 0. */
  readonly line: number;

  constructor(message: string, at = 0, length = 1, notes: readonly string[] = [], line = 0) {
    super(message);
    this.at = at;
    this.length = length;
    this.notes = notes;
    this.line = line;
  }
}
