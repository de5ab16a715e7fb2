import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type { Span } from './ast.ts';
import { Lexer } from './lexer.ts';
import { Shared } from './shared.ts';
import { BAD, DOT, END, IDENT, INT, STRING } from './tokens.ts';

/** Errors beyond this many are only counted. */
const MOST_ERRORS = 100;

/** Thrown to leave the statement being parsed; its error is already reported. */
export const BAIL: unique symbol = Symbol('bail');

/** What an opcode with its modifiers is taken apart into, once for each spelling in a file. */
export interface Form {
  readonly opcode: string;
  readonly mods: readonly string[];
  readonly known: boolean;
}

/** The token stream of one file, the errors found in it, and what the parts of the grammar share. */
export class Reader {
  readonly lx: Lexer;
  readonly text: string;
  readonly diagnostics: Diagnostic[] = [];
  readonly declared: ReadonlySet<string>;
  /** Opcode of the instruction being read. */
  opcode = '';
  /** Where the statement being read begins. */
  begin = 0;
  /** Elements of initialisers so far. */
  elements = 0;
  /** Element sizes of the arrays in view, the innermost scope last; null for a scope without arrays. */
  readonly arrays: (Map<string, number> | null)[] = [null];
  /** Form of an instruction by the number of its spelling in the lexer's names. */
  readonly forms: (Form | undefined)[] = [];
  readonly shared = new Shared();
  /** What `.target` names. */
  target: readonly string[] = [];
  /** The file is of a version that nobody here knows: an instruction without a name here may be one of its. */
  newer = false;
  private readonly file: string;
  private dropped = 0;
  private lines: number[] | null = null;

  /** @param declared opcodes besides those of the PTX ISA */
  constructor(text: string, file: string, declared: ReadonlySet<string>) {
    this.declared = declared;
    this.text = text;
    this.file = file;
    this.lx = new Lexer(text, (start, length, message, note) =>
      this.reportAt(start, length, message, note === undefined ? [] : [note]),
    );
  }

  /** Span of the current token. */
  here(): Span {
    const { lx } = this;
    return { start: lx.start, end: lx.end, line: lx.line, column: lx.start - lx.lineStart + 1 };
  }

  /** From where `s` starts to the end of the last token taken. */
  upTo(s: Span): Span {
    return { start: s.start, end: Math.max(s.start, this.lx.last), line: s.line, column: s.column };
  }

  /** The current token in the words of a message. */
  found(): string {
    const { lx } = this;
    if (lx.kind === END) return 'the end of the file';
    const shown = this.text.slice(lx.start, Math.min(lx.end, lx.start + 40));
    return lx.kind === BAD ? `the character '${shown}'` : `'${shown}'`;
  }

  /** Reports an error at the current token. */
  report(message: string, notes: readonly string[] = []): void {
    const { lx } = this;
    this.push(message, lx.line, lx.column, Math.max(1, lx.end - lx.start), notes);
  }

  /** Reports an error at an offset. */
  reportAt(start: number, length: number, message: string, notes: readonly string[] = []): void {
    if (this.diagnostics.length >= MOST_ERRORS) {
      this.dropped++;
      return;
    }
    this.lines ??= lineStarts(this.text);
    let low = 0;
    let high = this.lines.length - 1;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.lines[mid] <= start) low = mid;
      else high = mid - 1;
    }
    this.push(message, low + 1, start - this.lines[low] + 1, Math.max(1, length), notes);
  }

  /** Reports an error at the current token and leaves the statement. */
  fail(message: string, notes: readonly string[] = []): never {
    this.report(message, notes);
    throw BAIL;
  }

  /** Reports an error at an offset and leaves the statement. */
  failAt(start: number, length: number, message: string, notes: readonly string[] = []): never {
    this.reportAt(start, length, message, notes);
    throw BAIL;
  }

  /** A note with the nearest candidate to a misspelt word; none once errors are only counted. */
  suggest(word: string, candidates: Iterable<string>, mark = ''): string[] {
    if (this.diagnostics.length >= MOST_ERRORS) return [];
    return nearest(word, candidates, 1).map((n) => `did you mean '${mark}${n}'?`);
  }

  expect(kind: number): void {
    if (this.lx.kind !== kind) this.fail(`expected '${String.fromCharCode(kind)}', found ${this.found()}`);
    this.lx.next();
  }

  ident(what: string): string {
    const { lx } = this;
    if (lx.kind !== IDENT) this.fail(`expected ${what}, found ${this.found()}`);
    const v = lx.value;
    lx.next();
    return v;
  }

  /** A plain integer, where PTX takes no expression. */
  int(what: string): bigint {
    const { lx } = this;
    if (lx.kind !== INT) this.fail(`expected ${what}, found ${this.found()}`);
    const v = lx.int;
    lx.next();
    return v;
  }

  /** An unsigned number that fits 32 bits, as ptxas 13.0.88 asks of files, lines and columns. */
  word(what: string): number {
    const { lx } = this;
    const { start, end } = lx;
    const v = this.int(what);
    if (v > 0xffff_ffffn) this.reportAt(start, end - start, `${what} is a number of at most 32 bits`);
    return Number(v);
  }

  string(what: string): string {
    const { lx } = this;
    if (lx.kind !== STRING) this.fail(`expected ${what}, found ${this.found()}`);
    const v = lx.value;
    lx.next();
    return v;
  }

  /** The current token is the directive `.name`. */
  isDot(name: string): boolean {
    return this.lx.kind === DOT && this.lx.value === name;
  }

  /** Declares an array of elements of `size` bytes in the innermost scope. */
  declareArray(name: string, size: number): void {
    const top = this.arrays.length - 1;
    let map = this.arrays[top];
    if (map === null) {
      map = new Map();
      this.arrays[top] = map;
    }
    map.set(name, size);
  }

  elementSize(name: string): number | undefined {
    for (let i = this.arrays.length - 1; i >= 0; i--) {
      const size = this.arrays[i]?.get(name);
      if (size !== undefined) return size;
    }
    return undefined;
  }

  /** All diagnostics, with the number of those left out. */
  finish(): Diagnostic[] {
    if (this.dropped > 0) {
      const message = `and ${this.dropped} more error${this.dropped === 1 ? '' : 's'}`;
      this.diagnostics.push({
        severity: 'error',
        code: 'ptx-syntax',
        message,
        file: this.file,
        line: 0,
        column: 0,
        length: 0,
      });
    }
    return this.diagnostics;
  }

  private push(
    message: string,
    line: number,
    column: number,
    length: number,
    notes: readonly string[],
  ): void {
    if (this.diagnostics.length >= MOST_ERRORS) this.dropped++;
    else
      this.diagnostics.push({
        severity: 'error',
        code: 'ptx-syntax',
        message,
        file: this.file,
        line,
        column,
        length,
        notes,
      });
  }
}

function lineStarts(text: string): number[] {
  const out = [0];
  for (let p = text.indexOf('\n'); p >= 0; p = text.indexOf('\n', p + 1)) out.push(p + 1);
  return out;
}
