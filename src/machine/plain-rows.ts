import { controlText } from './control.ts';
import type { Machine } from './forms.ts';
import type { Listed } from './listing.ts';
import { instructionText } from './text.ts';
import { wordText } from './word.ts';

/** An instruction as texts. */
export interface PlainRow {
  readonly address: number;
  /** Its control word. */
  readonly control: string;
  readonly text: string;
  /** Line of the text that it was compiled from; 0 for none. */
  readonly line: number;
}

/**
 * Decoded code as texts. A word that is not known stands as its digits.
 *
 * @param lineOf line of an instruction, also by its position
 */
export const plainRows = (
  code: Iterable<Listed>,
  machine: Machine,
  lineOf: (i: Listed, at: number) => number,
): PlainRow[] =>
  [...code].map((i, k) => ({
    address: i.address,
    control: controlText(i.control),
    text: i.instruction === null ? wordText(i.word) : instructionText(machine, i.instruction, i.address),
    line: lineOf(i, k),
  }));
