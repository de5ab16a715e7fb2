import { Cursor } from './cursor.ts';
import { type Diagnostic, nearest } from './diagnostic.ts';
import type { Isa } from './opcode.ts';
import { parseInstr } from './parse-instr.ts';
import { parseParam, parseVariable } from './parse-variable.ts';
import { maxima } from './print.ts';
import {
  type BlockCount,
  type Fn,
  type Instr,
  type Loc,
  makeFn,
  newShape,
  type Param,
  type Program,
  type Variable,
} from './program.ts';
import { TextError } from './text-error.ts';

/** A function whose lines have not all been read yet. */
interface Unfinished {
  name: string;
  kind: Fn['kind'];
  params: Param[];
  returns: Param[];
  blocks: { id: number; name: string; ins: Instr[] }[];
  regs: number;
  blockCount: number;
  variables: Variable[];
  tables: number[][];
  directives: string[];
  pragmas: { block: number; text: string }[];
  counts: BlockCount[];
  linkage: Fn['attrs']['linkage'];
  noreturn: boolean;
}

const begin = (name: string, kind: Fn['kind']): Unfinished => ({
  name,
  kind,
  params: [],
  returns: [],
  blocks: [],
  regs: 0,
  blockCount: 0,
  variables: [],
  tables: [],
  directives: [],
  pragmas: [],
  counts: [],
  linkage: '',
  noreturn: false,
});

/**
 * Maximum number of register indexes, and of block ids, of a function: analyses have arrays indexed by them, whether or not each
 * occurs. Functions of 300,000 instructions (docs/scale.md) have less than a million.
 */
const MOST_NUMBERS = 2 ** 24;

/** @param at index in the line where the function ends, for errors that concern it as a whole @throws TextError */
function finish(d: Unfinished, at: number): Fn {
  const max = maxima(d);
  if (Math.max(d.regs, max.regs, d.blockCount, max.blocks) > MOST_NUMBERS)
    throw new TextError(`'${d.name}' has numbers of registers or blocks from ${MOST_NUMBERS} on`, at);
  return makeFn({
    name: d.name,
    kind: d.kind,
    params: d.params,
    returns: d.returns,
    blocks: d.blocks,
    regCount: Math.max(d.regs, max.regs),
    blockCount: Math.max(d.blockCount, max.blocks),
    variables: d.variables,
    tables: d.tables,
    attrs: {
      directives: d.directives,
      pragmas: d.pragmas,
      linkage: d.linkage,
      noreturn: d.noreturn,
      counts: d.counts,
    },
    shape: newShape(),
  });
}

/** Words that begin a line outside a body. */
const DIRECTIVES = [
  '.program',
  '.file',
  '.loc',
  '.prototype',
  '.entry',
  '.func',
  '.var',
  '.param',
  '.return',
  '.linkage',
  '.noreturn',
  '.directive',
  '.pragma',
  '.count',
  '.regs',
  '.blocks',
  '.table',
  '.alias',
  '.skipped',
];

/** Maximum number of errors reported for a text, since each searches for suggestions. */
const MOST_FAULTS = 100;

/** Parses the lines of a program one by one. */
class ProgramReader {
  private readonly isa: Isa;
  private readonly functions: Fn[] = [];
  private readonly variables: Variable[] = [];
  private readonly prototypes: { name: string; params: Param[]; returns: Param[]; noreturn: boolean }[] = [];
  private readonly aliases: { name: string; of: string }[] = [];
  private readonly locs = new Map<number, Loc>();
  /** Names of functions and variables. */
  private readonly names = new Set<string>();
  private readonly files: { index: number; name: string }[] = [];
  private readonly skipped: { name: string; why: string[] }[] = [];
  private head: Pick<Program, 'name' | 'version' | 'target' | 'addressSize'>;
  private fn: Unfinished | null = null;
  private prototype: ProgramReader['prototypes'][number] | null = null;
  private inBody = false;

  constructor(isa: Isa, file: string) {
    this.isa = isa;
    this.head = { name: file, version: '9.0', target: 'sm_75', addressSize: 64 };
  }

  /** Name of the function whose body or head is still open, or null. */
  get open(): string | null {
    return this.fn?.name ?? null;
  }

  /** The program read so far. */
  get program(): Program {
    const { functions, variables, prototypes, aliases, files, skipped } = this;
    let last = 0;
    for (const i of this.locs.keys()) last = Math.max(last, i);
    const none: Loc = { line: 0, file: 0, srcLine: 0, srcColumn: 0 };
    const locs = Array.from({ length: last + 1 }, (_, i) => this.locs.get(i) ?? none);
    return { ...this.head, functions, variables, prototypes, aliases, locs, files, skipped };
  }

  /** Parses one line. @throws TextError */
  line(c: Cursor): void {
    if (c.done()) return;
    const { fn } = this;
    if (this.inBody && fn !== null) return this.bodyLine(c, fn);
    if (c.take('{')) {
      if (fn === null) throw new TextError("'{' outside a function", c.at - 1);
      this.inBody = true;
      return;
    }
    const start = c.at;
    const word = c.word('a directive');
    if (this.programLine(word, c)) return;
    const signature = fn ?? this.prototype;
    if (signature !== null && word === '.param') signature.params.push(parseParam(c));
    else if (signature !== null && word === '.return') signature.returns.push(parseParam(c));
    else if (fn === null || !functionLine(word, c, fn)) {
      const near = nearest(word, DIRECTIVES);
      throw new TextError(
        `'${word}' is not expected here`,
        start,
        word.length,
        near.length > 0 ? [`did you mean ${near[0]}?`] : [],
      );
    }
  }

  private bodyLine(c: Cursor, fn: Unfinished): void {
    if (c.take('}')) {
      this.fn = null;
      this.inBody = false;
      this.functions.push(finish(fn, c.at - 1));
      return;
    }
    const m = c.peek('BB') ? /^\s*BB(\d+)(?: "([\w$%.]*)")?:/.exec(c.text) : null;
    if (m !== null) {
      fn.blocks.push({ id: Number(m[1]), name: m[2] ?? '', ins: [] });
      return;
    }
    if (fn.blocks.length === 0) fn.blocks.push({ id: 0, name: '', ins: [] });
    fn.blocks[fn.blocks.length - 1].ins.push(parseInstr(c, this.isa));
  }

  /** A line that may occur anywhere outside a body. @returns whether the word begins one */
  private programLine(word: string, c: Cursor): boolean {
    switch (word) {
      case '.program': {
        const name = c.quoted('a quoted name');
        c.expect('version');
        const version = take(c, 'a version', /^\d{1,3}\.\d{1,3}$/);
        c.expect('target');
        const target = take(c, 'a target', /^sm_\d{1,4}[a-z]?$/);
        c.expect('address');
        this.head = {
          name,
          version,
          target,
          addressSize: Number(c.oneOf('32 or 64', ['32', '64'])) as 32 | 64,
        };
        return true;
      }
      case '.file':
        this.files.push({ index: c.natural('a file index'), name: textOfPtx(c, 'a quoted name') });
        return true;
      case '.loc': {
        const { at } = c;
        const i = c.natural('an index');
        if (i === 0 || i >= MOST_NUMBERS)
          throw new TextError(`expected an index from 1 to ${MOST_NUMBERS - 1}`, at);
        this.locs.set(i, {
          line: c.natural('a line'),
          file: c.natural('a file'),
          srcLine: c.natural('a line'),
          srcColumn: c.natural('a column'),
        });
        return true;
      }
      case '.skipped':
        this.skipped.push({ name: this.newName(c, 'a name'), why: c.quotedList('a list of reasons') });
        return true;
      case '.alias':
        this.aliases.push({ name: c.name('a name'), of: c.name('the name of a function') });
        return true;
      case '.prototype':
        this.prototype = { name: c.name('a name'), params: [], returns: [], noreturn: c.take('noreturn') };
        this.prototypes.push(this.prototype);
        this.fn = null;
        return true;
      case '.entry':
      case '.func':
        this.prototype = null;
        this.fn = begin(this.newName(c, 'a function name'), word === '.entry' ? 'entry' : 'func');
        return true;
      case '.var':
        if (this.fn === null) this.addVariable(c);
        else this.fn.variables.push(parseVariable(c));
        return true;
      default:
        return false;
    }
  }

  /** A name that is unique among the functions and variables of the program, so that look-ups by name are unambiguous. */
  private newName(c: Cursor, what: string): string {
    c.skip();
    const { at } = c;
    const name = c.name(what);
    this.enter(name, at);
    return name;
  }

  private addVariable(c: Cursor): void {
    const { at } = c;
    const v = parseVariable(c);
    this.enter(v.name, at);
    this.variables.push(v);
  }

  private enter(name: string, at: number): void {
    if (this.names.has(name)) throw new TextError(`'${name}' is defined twice`, at);
    this.names.add(name);
  }
}

/** A word that matches a pattern. @throws TextError */
function take(c: Cursor, what: string, form: RegExp): string {
  c.skip();
  const { at } = c;
  const word = c.word(what);
  if (!form.test(word)) throw new TextError(`expected ${what}`, at, word.length);
  return word;
}

/** A JSON string that may be written between quotes in PTX. @throws TextError */
function textOfPtx(c: Cursor, what: string): string {
  const { at } = c;
  const text = c.quoted(what);
  if (/["\n]/.test(text)) throw new TextError(`expected ${what} without quotes and line breaks in it`, at);
  return text;
}

/** A directive of a function in PTX syntax. It is written to PTX verbatim, so no other text is accepted. @throws TextError */
function directive(c: Cursor): string {
  const { at } = c;
  const text = c.quoted('a quoted directive');
  if (!/^\.(?:pragma "[^"\n]*"(?:, "[^"\n]*")*|\w+[\w ,.()]*)$/.test(text))
    throw new TextError('expected a quoted directive', at);
  return text;
}

/** A line between the name of a function and its body. @returns whether the word begins one */
function functionLine(word: string, c: Cursor, fn: Unfinished): boolean {
  switch (word) {
    case '.linkage':
      fn.linkage = c.oneOf('a linkage', ['extern', 'visible', 'weak']);
      return true;
    case '.noreturn':
      fn.noreturn = true;
      return true;
    case '.directive':
      fn.directives.push(directive(c));
      return true;
    case '.pragma':
      fn.pragmas.push({
        block: c.blockId(),
        text: textOfPtx(c, 'a quoted pragma'),
      });
      return true;
    case '.count':
      fn.counts.push({ block: c.blockId(), count: c.natural('a count') });
      return true;
    case '.regs':
      fn.regs = c.natural('a count');
      return true;
    case '.blocks':
      fn.blockCount = c.natural('a count');
      return true;
    case '.table': {
      c.oneOf('the next table', [`T${fn.tables.length}`]);
      const ids: number[] = [];
      while (!c.done()) ids.push(c.blockId());
      fn.tables.push(ids);
      return true;
    }
    default:
      return false;
  }
}

/**
 * Parses Ori text.
 * @param file file name for messages
 * @returns the program and every error found (the program then lacks the lines with errors)
 */
export function parseProgram(
  text: string,
  isa: Isa,
  file = '<ori>',
): { program: Program; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  const fault = { severity: 'error', code: 'ori-syntax', file } as const;
  const reader = new ProgramReader(isa, file);
  const lines = text.split('\n');
  for (let n = 0; n < lines.length; n++) {
    const raw = lines[n].endsWith('\r') ? lines[n].slice(0, -1) : lines[n];
    try {
      reader.line(new Cursor(raw));
    } catch (e) {
      if (!(e instanceof TextError)) throw e;
      if (diagnostics.length === MOST_FAULTS) {
        const message = `more than ${MOST_FAULTS} lines have errors: the rest is not read`;
        diagnostics.push({ ...fault, message, line: n + 1, column: 1, length: 1, notes: [] });
        return { program: reader.program, diagnostics };
      }
      const { message, length, notes } = e;
      diagnostics.push({ ...fault, message, line: n + 1, column: e.at + 1, length, notes });
    }
  }
  if (reader.open !== null) {
    const message = `function '${reader.open}' is not closed by '}'`;
    diagnostics.push({ ...fault, message, line: lines.length, column: 1, length: 1 });
  }
  return { program: reader.program, diagnostics };
}

/** Parses the text of one function, or of a program that contains just one. For tests and rules. @throws Error on any error */
export function parseFn(text: string, isa: Isa): Fn {
  const src = /^[^\S\n\r\u2028\u2029]*\.(entry|func)\b/m.test(text) ? text : `.entry test\n{\n${text}\n}`;
  const { program, diagnostics } = parseProgram(src, isa);
  if (diagnostics.length > 0)
    throw new Error(diagnostics.map((d) => `${d.line}:${d.column}: ${d.message}`).join('\n'));
  return program.functions[0];
}
