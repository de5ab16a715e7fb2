import { nearest } from '../ir/diagnostic.ts';
import type { SpecFile } from './document.ts';

export type SpecPath = readonly (string | number)[];

/** Something wrong, with a path instead of a place: places are looked up only when there is something to say. */
export interface SpecIssue {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  /** null: said on the command line. */
  readonly file: SpecFile | null;
  readonly path: SpecPath;
  /** Name of what it is about, where several things may be wrong at one place. */
  readonly subject?: string;
  /** Mark the key of the last step in place of its value. */
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

/** Collects what is wrong, so that everything is reported at once. */
export class Issues {
  readonly list: SpecIssue[];

  /** @param before what is known already */
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

  /** A name that names nothing, with what it may have meant; `otherwise` where nothing is near. */
  unknown(
    at: Spot,
    code: string,
    message: string,
    word: string,
    known: Iterable<string>,
    otherwise: string,
    more: More = {},
  ): void {
    const near = nearest(word, known);
    const hint =
      near.length > 0 ? `did you mean ${near.map((n) => `'${n}'`).join(' or ')}?` : otherwise || null;
    this.error(at, code, message, {
      ...more,
      notes: [...(hint === null ? [] : [hint]), ...(more.notes ?? [])],
    });
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
