import { meantNote, nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';

export type SpecPath = readonly (string | number)[];

/** A fault at a path in a spec. The line is looked up only when the fault is reported. */
export interface SpecIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  /** null: the command line. */
  readonly file: SpecFile | null;
  readonly path: SpecPath;
  /** What the issue is about, to tell apart several at one place. */
  readonly subject?: string;
  /** Mark the last key of the path rather than its value. */
  readonly key?: boolean;
  readonly label?: string;
  readonly notes?: readonly string[];
  /** A second place, printed as `what at file:line`. */
  readonly see?: { readonly what: string; readonly file: SpecFile; readonly path: SpecPath };
}

/** A place to blame: a path in a file, or the command line. */
export interface Spot {
  readonly file: SpecFile | null;
  readonly path: SpecPath;
}

export const COMMAND_LINE: Spot = { file: null, path: [] };

type More = Pick<SpecIssue, 'subject' | 'key' | 'label' | 'notes' | 'see'>;

/** Unknown names beyond these get no suggestion: to look for one costs as much as all else. */
const MOST_SUGGESTIONS = 50;

/** Collects faults, so that all of them are reported together. */
export class Issues {
  readonly list: SpecIssue[];
  private suggestions = 0;

  /** @param before issues found earlier */
  constructor(before: readonly SpecIssue[] = []) {
    this.list = [...before];
  }

  /** Adds what was found elsewhere. */
  add(more: readonly SpecIssue[]): void {
    this.list.push(...more);
  }

  error(at: Spot, code: string, message: string, more: More = {}): void {
    this.list.push({ severity: 'error', code, message, file: at.file, path: at.path, ...more });
  }

  warning(at: Spot, code: string, message: string, more: More = {}): void {
    this.list.push({ severity: 'warning', code, message, file: at.file, path: at.path, ...more });
  }

  /** Reports an unknown name, with the nearest known one; with the note `otherwise` if none is near. */
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

  /** Whether what is like an unknown name is looked for. */
  get suggests(): boolean {
    return this.suggestions < MOST_SUGGESTIONS;
  }

  get failed(): boolean {
    return this.list.some((i) => i.severity === 'error');
  }
}

/** The place of a step below another place. */
export const below = (at: Spot, ...steps: SpecPath): Spot => ({
  file: at.file,
  path: [...at.path, ...steps],
});
