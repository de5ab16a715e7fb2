import type { Span } from '../ast.ts';

/** An instruction that has no Ori form. */
export interface Missing {
  /** Opcode and modifiers as in PTX. */
  readonly form: string;
  /** The part that has no form; '' for the instruction as a whole. */
  readonly reason: string;
  readonly count: number;
  /** Position of the first occurrence. */
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** Collects instructions without an Ori form, once for each form and reason. */
export class MissingForms {
  private readonly found = new Map<string, { -readonly [K in keyof Missing]: Missing[K] }>();

  add(form: string, span: Span, reason: string): void {
    const key = `${form} ${reason}`;
    const known = this.found.get(key);
    if (known !== undefined) {
      known.count++;
      return;
    }
    const { line, column, start, end } = span;
    this.found.set(key, { form, reason, count: 1, line, column, length: end - start });
  }

  get list(): Missing[] {
    return [...this.found.values()];
  }
}
