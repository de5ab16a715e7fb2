import { Mod } from '../ir/opcode.ts';
import { TextError } from '../ir/text-error.ts';
import { type Expr, parseExpression } from '../isa/lang/parse.ts';

/**
 * Parser for the lines of a rule: Ori assembly in which `$a` stands for any operand, `#k` for any constant, `.$type` for any modifier of
 * the group `type`, and `_` for an operand that does not matter.
 */

/** A modifier as written: a value, a variable, or a table applied to a variable (`.swap(cmp)`). */
export type ModText =
  | { readonly k: 'value'; readonly name: string; readonly at: number }
  | { readonly k: 'var'; readonly name: string; readonly at: number }
  | { readonly k: 'map'; readonly table: string; readonly name: string; readonly at: number };

/** An operand as written. `mods` are its `Mod` bits. */
export type OperandText =
  | { readonly k: 'var'; readonly name: string; readonly mods: number; readonly at: number }
  | { readonly k: 'any'; readonly at: number }
  /** `#k` or `#(expression)`; `name` is '' for an expression. */
  | {
      readonly k: 'const';
      readonly name: string;
      readonly expr: Expr;
      readonly text: string;
      readonly at: number;
    }
  /** A number, `RZ` (0), `PT` (1) or `!PT` (0). */
  | { readonly k: 'literal'; readonly value: bigint; readonly predicate: boolean; readonly at: number }
  | {
      readonly k: 'address';
      readonly base: OperandText;
      readonly offset: OperandText;
      readonly at: number;
    };

/** A parsed line. `at` are columns, from 0. */
export interface LineText {
  /** The line as written, and its number in the rule's text, from 0. */
  readonly text: string;
  readonly line: number;
  /** Opcode name; `*` for any instruction with an address. */
  readonly opcode: string;
  readonly at: number;
  readonly mods: readonly ModText[];
  readonly operands: readonly OperandText[];
}

/** Maximum number of lines of a match: patterns are short, and matching recurses once for each line. */
export const MOST_LINES = 8;

/** Maximum number of lines of a rewrite: the longest one needed, the expansion of a 64-bit division, has 21. */
export const MOST_REWRITE_LINES = 64;

/**
 * Parses the lines of `match` or `rewrite`; `;` starts a comment, empty lines are skipped.
 * @param most maximum number of lines
 * @throws TextError at the first fault
 */
export function parseLines(text: string, most: number): LineText[] {
  const out: LineText[] = [];
  text.split('\n').forEach((raw, line) => {
    const cut = raw.indexOf(';');
    const body = cut < 0 ? raw : raw.slice(0, cut);
    if (body.trim() !== '') out.push(new LineReader(body, line).read());
  });
  if (out.length === 0) throw new TextError('there is no instruction', 0);
  if (out.length > most) throw new TextError(`more than ${most} instructions`, 0, 1, [], out[most].line);
  return out;
}

/** The opcode of the last line as written, without parsing the rest; '' if no line begins with one. */
export function lastOpcode(text: string): string {
  const lines = text.split('\n');
  for (let i = lines.length - 1; i >= 0; i--) {
    const m = /^[ \t]*([^;\s][^;]*)/.exec(lines[i]);
    if (m !== null) return /^(?:\*|[A-Za-z_]\w*)/.exec(m[1])?.[0] ?? '';
  }
  return '';
}

const NUMBER = /-?(?:0x[0-9a-fA-F]+|\d+)/y;
const WORD = /[A-Za-z_][\w]*/y;
const PART = /\w+(?:\.[XYZ](?!\w))?/y;

class LineReader {
  private readonly text: string;
  private readonly line: number;
  private at = 0;

  constructor(text: string, line: number) {
    this.text = text;
    this.line = line;
  }

  read(): LineText {
    this.skip();
    const at = this.at;
    const opcode = this.take('*') ? '*' : this.match(WORD, 'an opcode');
    const mods: ModText[] = [];
    while (this.text[this.at] === '.') {
      this.at++;
      mods.push(this.modifier());
    }
    const operands: OperandText[] = [];
    this.skip();
    if (this.at < this.text.length) {
      do operands.push(this.operand());
      while (this.take(','));
      this.skip();
      if (this.at < this.text.length) this.fail("expected ',' or the end of the line");
    }
    return { text: this.text.trimEnd(), line: this.line, opcode, at, mods, operands };
  }

  private fail(message: string, at = this.at, length = 1, notes: readonly string[] = []): never {
    throw new TextError(message, at, length, notes, this.line);
  }
  private skip(): void {
    while (this.text[this.at] === ' ' || this.text[this.at] === '\t') this.at++;
  }
  private take(c: string): boolean {
    this.skip();
    if (!this.text.startsWith(c, this.at)) return false;
    this.at += c.length;
    return true;
  }
  private expect(c: string): void {
    if (!this.take(c)) this.fail(`expected '${c}'`);
  }
  private match(re: RegExp, what: string): string {
    re.lastIndex = this.at;
    const m = re.exec(this.text);
    if (m === null) this.fail(`expected ${what}`);
    this.at = re.lastIndex;
    return m[0];
  }

  private modifier(): ModText {
    const at = this.at;
    if (this.text[this.at] === '$') {
      this.at++;
      return { k: 'var', name: this.match(WORD, 'the name of a modifier'), at };
    }
    const name = this.match(PART, 'a modifier');
    if (this.text[this.at] !== '(') return { k: 'value', name, at };
    this.at++;
    const arg = this.match(WORD, 'a modifier variable');
    this.expect(')');
    return { k: 'map', table: name, name: arg, at };
  }

  private operand(): OperandText {
    this.skip();
    const at = this.at;
    const c = this.text[at];
    if (c === '[') {
      this.at++;
      const base = this.operand();
      const offset: OperandText = this.take('+') ? this.operand() : zero(this.at);
      this.expect(']');
      if (base.k !== 'var' || (offset.k !== 'const' && offset.k !== 'literal'))
        this.fail('an address is [$base+#offset]', at, this.at - at);
      return { k: 'address', base, offset, at };
    }
    if (c === '_') {
      this.at++;
      return { k: 'any', at };
    }
    if (c === '#') return this.constant();
    NUMBER.lastIndex = at;
    const n = NUMBER.exec(this.text);
    if (n !== null) {
      this.at = NUMBER.lastIndex;
      const value = n[0].startsWith('-') ? -BigInt(n[0].slice(1)) : BigInt(n[0]);
      return { k: 'literal', value, predicate: false, at };
    }
    let mods = 0;
    if (this.take('-')) mods |= Mod.Neg;
    if (this.take('~') || this.take('!')) mods |= Mod.Not;
    const bars = this.take('|');
    if (bars) mods |= Mod.Abs;
    this.skip();
    if (this.text[this.at] === '$') {
      this.at++;
      const name = this.match(WORD, 'a variable');
      if (bars) this.expect('|');
      return { k: 'var', name, mods, at };
    }
    if (this.at >= this.text.length)
      this.fail('expected an operand, found the end of the line', this.at, 1, [
        "in YAML ' #' starts a comment: put the line in quotes, or below 'match: |'",
      ]);
    const word = this.match(WORD, 'an operand: $variable, #constant, number, RZ, PT or _');
    if (word === 'RZ' && mods === 0) return zero(at);
    if (word === 'PT' && (mods & ~Mod.Not) === 0)
      return { k: 'literal', value: mods === 0 ? 1n : 0n, predicate: true, at };
    return this.fail(`'${word}' is not an operand of a rule`, at, word.length, [
      'write $name for any operand, #name for a constant',
    ]);
  }

  /** `#name`, `#(expression)` or `#function(…)`. */
  private constant(): OperandText {
    const at = this.at++;
    WORD.lastIndex = this.at;
    const word = WORD.exec(this.text);
    const open = word === null ? this.at : WORD.lastIndex;
    if (this.text[open] !== '(') {
      const name = this.match(WORD, 'the name of a constant');
      return { k: 'const', name, expr: { k: 'name', at: 0, name }, text: name, at };
    }
    let depth = 0;
    let end = open;
    do {
      if (this.text[end] === '(') depth++;
      else if (this.text[end] === ')') depth--;
      else if (end >= this.text.length) this.fail("expected ')'", end);
      end++;
    } while (depth > 0);
    const text = this.text.slice(this.at, end);
    try {
      const expr = parseExpression(text);
      this.at = end;
      return { k: 'const', name: '', expr, text, at };
    } catch (e) {
      if (!(e instanceof TextError)) throw e;
      return this.fail(e.message, this.at + e.at, 1, e.notes);
    }
  }
}

const zero = (at: number): OperandText => ({ k: 'literal', value: 0n, predicate: false, at });
