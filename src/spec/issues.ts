import { append } from '../ir/append.ts';
import { meantNote, nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';

/** Keys and indices from the root of a document to a value. */
export type SpecPath = readonly (string | number)[];

/** A fault at a path in a spec. The line is looked up only when the fault is reported. */
export interface SpecIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  /** Null: the command line. */
  readonly file: SpecFile | null;
  readonly path: SpecPath;
  /** Distinguishes several issues of one code at one location. */
  readonly subject?: string;
  /** Marks the last key of the path rather than its value. */
  readonly key?: boolean;
  readonly label?: string;
  readonly notes?: readonly string[];
  /** A related location, printed as `what: file:line`. */
  readonly see?: { readonly what: string; readonly file: SpecFile; readonly path: SpecPath };
}

/** A location to blame: a path in a file, or the command line (`file` is null). */
export interface Spot {
  readonly file: SpecFile | null;
  readonly path: SpecPath;
}

export const COMMAND_LINE: Spot = { file: null, path: [] };

type More = Pick<SpecIssue, 'subject' | 'key' | 'label' | 'notes' | 'see'>;

/** Maximum number of unknown names that get a suggestion: searching for one costs as much as everything else. */
const MOST_SUGGESTIONS = 50;

/** Collects issues so that all of them are reported together. */
export class Issues {
  readonly list: SpecIssue[];
  private suggestions = 0;

  /** @param before issues found earlier */
  constructor(before: readonly SpecIssue[] = []) {
    this.list = [...before];
  }

  /** Adds issues that were found elsewhere. */
  add(more: readonly SpecIssue[]): void {
    append(this.list, more);
  }

  error(at: Spot, code: string, message: string, more: More = {}): void {
    this.list.push({ severity: 'error', code, message, file: at.file, path: at.path, ...more });
  }

  warning(at: Spot, code: string, message: string, more: More = {}): void {
    this.list.push({ severity: 'warning', code, message, file: at.file, path: at.path, ...more });
  }

  /** Reports an unknown name, with a suggestion of the nearest known one, or with the note `otherwise` if none is near. */
  unknown(
    at: Spot,
    code: string,
    message: string,
    word: string,
    known: Iterable<string>,
    otherwise: string,
    more: More = {},
  ): void {
    const near = this.suggests ? nearest(word, known) : [];
    this.suggestions++;
    const hint = meantNote(near)[0] ?? (otherwise || null);
    this.error(at, code, message, {
      ...more,
      notes: [...(hint === null ? [] : [hint]), ...(more.notes ?? [])],
    });
  }

  /** True while suggestions are still searched for. */
  get suggests(): boolean {
    return this.suggestions < MOST_SUGGESTIONS;
  }

  get failed(): boolean {
    return this.list.some((i) => i.severity === 'error');
  }
}

/** A location inside another one. */
export const below = (at: Spot, ...steps: SpecPath): Spot => ({
  file: at.file,
  path: [...at.path, ...steps],
});
