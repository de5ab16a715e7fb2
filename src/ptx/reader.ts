import { counted } from '../ir/counts.ts';
import { type Diagnostic, nearest } from '../ir/diagnostic.ts';
import type { Span } from './ast.ts';
import { Lexer } from './lexer.ts';
import { Shared } from './shared.ts';
import { BAD, DOT, END, IDENT, INT, STRING } from './tokens.ts';

/** Maximum number of errors that are reported; further ones are only counted. */
export const MOST_ERRORS = 100;

/** Thrown to abandon the current statement after its error has been reported. */
export const BAIL: unique symbol = Symbol('bail');

/** An opcode with its modifiers, split once for each spelling in a file. `known`: the opcode exists. */
export interface Form {
  readonly opcode: string;
  readonly mods: readonly string[];
  readonly known: boolean;
}

/** State of parsing one file: the token stream, the errors, and data shared by the parts of the parser. */
export class Reader {
  readonly lx: Lexer;
  readonly text: string;
  readonly diagnostics: Diagnostic[] = [];
  readonly declared: ReadonlySet<string>;
  /** Opcode of the current instruction. */
  opcode = '';
  /** Offset at which the current item or statement begins. */
  begin = 0;
  /** Number of elements of initialisers so far. */
  elements = 0;
  /** Element sizes in bytes of the visible arrays by name, the innermost scope last; null for a scope without arrays. */
  readonly arrays: (Map<string, number> | null)[] = [null];
  /** Form of an instruction by the number of its spelling in the lexer's names. */
  readonly forms: (Form | undefined)[] = [];
  readonly shared = new Shared();
  /** The target and its options, from `.target`. */
  target: readonly string[] = [];
  /** Whether the PTX version is newer than all known ones, so that unknown opcodes may be valid. */
  newer = false;
  private readonly file: string;
  private dropped = 0;
  private lines: number[] | null = null;

  /** @param file name for messages @param declared opcodes in addition to those of the PTX ISA */
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

  /** The span from the start of `s` to the end of the last consumed token. */
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

  /** Reports an error at the current token and abandons the statement. @throws BAIL */
  fail(message: string, notes: readonly string[] = []): never {
    this.report(message, notes);
    throw BAIL;
  }

  /** Reports an error at an offset and abandons the statement. @throws BAIL */
  failAt(start: number, length: number, message: string, notes: readonly string[] = []): never {
    this.reportAt(start, length, message, notes);
    throw BAIL;
  }

  /** A note that suggests the candidate nearest to a misspelt word; none when errors are only counted. */
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

  /** Consumes an integer literal, where PTX allows no expression. @param what what is expected, for the message @throws BAIL */
  int(what: string): bigint {
    const { lx } = this;
    if (lx.kind !== INT) this.fail(`expected ${what}, found ${this.found()}`);
    const v = lx.int;
    lx.next();
    return v;
  }

  /** Consumes an integer literal of at most 32 bits, as ptxas 13.0.88 requires for files, lines and columns. @throws BAIL */
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

  /** Is the current token the directive `.name`? */
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

  /** The diagnostics, followed by one with the number of further errors, if there are any. */
  finish(): Diagnostic[] {
    if (this.dropped > 0) {
      const message = `and ${counted(this.dropped, 'more error')}`;
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
