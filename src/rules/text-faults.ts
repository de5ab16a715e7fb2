import type { RuleIssue } from './rule.ts';
import type { LineText } from './syntax.ts';

/** Stops reading a rule after its fault has been reported. */
export class Stop extends Error {}

/** A text of a rule. */
export type Field = RuleIssue['field'];
/** A text of a rule that has lines. */
export type LineField = 'match' | 'rewrite';

/** The faults found in the texts of one rule. */
export class TextFaults {
  readonly issues: RuleIssue[] = [];
  private readonly group: string;
  private readonly rule: number;

  constructor(group: string, rule: number) {
    this.group = group;
    this.rule = rule;
  }

  /** Builds an error without recording it. */
  issue(field: Field, code: string, message: string, notes: readonly string[] = []): RuleIssue {
    return { severity: 'error', code, group: this.group, rule: this.rule, field, message, notes };
  }

  report(field: Field, code: string, message: string, notes: readonly string[] = []): void {
    this.issues.push(this.issue(field, code, message, notes));
  }

  /** Reports a fault after which reading on is pointless. @throws Stop */
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
