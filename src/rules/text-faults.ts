import type { RuleIssue } from './rule.ts';
import type { LineText } from './syntax.ts';

/** Thrown to abandon a rule after its fault has been recorded. */
export class Stop extends Error {}

/** A field of a rule. */
export type Field = RuleIssue['field'];
/** A field of a rule that consists of lines. */
export type LineField = 'match' | 'rewrite';

/** Collects the faults found in the texts of one rule. */
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

  /** Records a fault that makes the rest of the rule unreadable. @throws Stop */
  stop(field: Field, code: string, message: string, notes: readonly string[] = []): never {
    this.report(field, code, message, notes);
    throw new Stop();
  }

  /** Records a fault in a line, quotes the line and marks column `at`. @throws Stop */
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
