import type { RuleIssue } from './rule.ts';
import type { LineText } from './syntax.ts';

/** Stops the reading of one rule after its fault has been reported. */
export class Stop extends Error {}

/** A text of a rule. */
export type Field = RuleIssue['field'];
/** A text of a rule that has lines. */
export type LineField = 'match' | 'rewrite';

/** What is found to be wrong with the texts of one rule. */
export class TextFaults {
  readonly issues: RuleIssue[] = [];
  private readonly group: string;
  private readonly rule: number;

  constructor(group: string, rule: number) {
    this.group = group;
    this.rule = rule;
  }

  /** An error that is not entered yet. */
  issue(field: Field, code: string, message: string, notes: readonly string[] = []): RuleIssue {
    return { severity: 'error', code, group: this.group, rule: this.rule, field, message, notes };
  }

  report(field: Field, code: string, message: string, notes: readonly string[] = []): void {
    this.issues.push(this.issue(field, code, message, notes));
  }

  /** Reports what makes it idle to read on. @throws Stop */
  stop(field: Field, code: string, message: string, notes: readonly string[] = []): never {
    this.report(field, code, message, notes);
    throw new Stop();
  }

  /** Reports a fault in a line, with the line and a mark below it. @throws Stop */
  stopAt(
    field: LineField,
    line: LineText,
    at: number,
    code: string,
    message: string,
    notes: readonly string[] = [],
  ): never {
    return this.stop(field, code, message, [`  ${line.text}`, `  ${' '.repeat(at)}^`, ...notes]);
  }
}

/** The note that names what was probably meant. */
export const didYouMean = (near: readonly string[]): string[] =>
  near.length > 0 ? [`did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`] : [];
