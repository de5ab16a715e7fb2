import { TextError } from '../../ir/text-error.ts';
/**
 * Parser for meanings, the texts that define what opcodes compute. Each line is `name = expression` (a line may continue inside
 * parentheses); the name is a destination of the opcode or a local. `#` starts a comment. Operators and their precedence are those of C.
 * The functions are in `builtins.ts`; `elaborate.ts` resolves names.
 */

/** Expression tree. `at` is the offset in the text, for diagnostics. */
export type Expr =
  | { readonly k: 'int'; readonly at: number; readonly value: bigint }
  | { readonly k: 'name'; readonly at: number; readonly name: string }
  | { readonly k: 'call'; readonly at: number; readonly fn: string; readonly args: readonly Expr[] }
  | { readonly k: 'unary'; readonly at: number; readonly op: string; readonly a: Expr }
  | { readonly k: 'binary'; readonly at: number; readonly op: string; readonly a: Expr; readonly b: Expr }
  | { readonly k: 'cond'; readonly at: number; readonly c: Expr; readonly a: Expr; readonly b: Expr };

/** An assignment to a destination or local. `at` is the offset of the name. */
export interface Assign {
  readonly at: number;
  readonly name: string;
  readonly value: Expr;
}

interface Token {
  readonly text: string;
  readonly at: number;
}

/** Words may start with a digit (`4A`, `2A_LO`); a word made only of digits is a number. */
const TOKEN = /[ \t]+|#[^\n]*|(\n|\w+|==|!=|<=|>=|&&|\|\||[-+*&|^~!?:(),=<>])/y;
const NUMBER = /^(?:0x[0-9a-fA-F]+|\d+)$/;
const LEVEL = new Map(
  [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '<=', '>', '>='], ['+', '-'], ['*']].flatMap(
    (ops, i) => ops.map((op): [string, number] => [op, i + 1]),
  ),
);
const UNARY_LEVEL = 10;
/** Maximum nesting of expressions, far beyond what a person writes; it bounds recursion. */
const MAX_DEPTH = 200;
/** Maximum number of tokens of a meaning, for the same reason: `a + b + c + ...` nests too. */
const MAX_TOKENS = 2000;

function tokenize(text: string): Token[] {
  const out: Token[] = [];
  let parens = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const m = TOKEN.exec(text);
    if (m === null) throw new TextError(`unexpected character '${text[at]}'`, at);
    if (m[1] === undefined) continue;
    if (m[1] === '(') parens++;
    else if (m[1] === ')') parens--;
    if (m[1] !== '\n' || parens === 0) out.push({ text: m[1], at });
  }
  out.push({ text: '\n', at: text.length });
  if (out.length > MAX_TOKENS)
    throw new TextError(`the meaning is longer than ${MAX_TOKENS} tokens`, out[MAX_TOKENS].at);
  return out;
}

/**
 * Parses a meaning.
 * @throws TextError at the first fault
 */
export const parseMeaning = (text: string): Assign[] => parser(text).assignments();

/**
 * Parses one expression.
 * @throws TextError at the first fault
 */
export const parseExpression = (text: string): Expr => parser(text).expression();

function parser(text: string): { assignments: () => Assign[]; expression: () => Expr } {
  const tokens = tokenize(text);
  let pos = 0;
  let depth = 0;
  const shown = (t: Token): string => (t.text === '\n' ? 'the end of the line' : `'${t.text}'`);
  const expect = (what: string): Token => {
    const t = tokens[pos];
    if (t.text !== what)
      throw new TextError(`expected ${shown({ text: what, at: 0 })}, found ${shown(t)}`, t.at);
    pos++;
    return t;
  };

  function primary(): Expr {
    const t = tokens[pos++];
    if (t.text === '(') {
      const e = conditional();
      expect(')');
      return e;
    }
    if (t.text === '-' || t.text === '~' || t.text === '!')
      return { k: 'unary', at: t.at, op: t.text, a: binary(UNARY_LEVEL) };
    if (NUMBER.test(t.text)) return { k: 'int', at: t.at, value: BigInt(t.text) };
    if (!/^\w+$/.test(t.text)) throw new TextError(`expected an expression, found ${shown(t)}`, t.at);
    if (tokens[pos].text !== '(') return { k: 'name', at: t.at, name: t.text };
    pos++;
    const args: Expr[] = [];
    while (tokens[pos].text !== ')') {
      args.push(conditional());
      if (tokens[pos].text !== ')') expect(',');
    }
    pos++;
    return { k: 'call', at: t.at, fn: t.text, args };
  }

  function binary(level: number): Expr {
    if (++depth > MAX_DEPTH) throw new TextError('the expression is nested too deeply', tokens[pos].at);
    let a = primary();
    for (;;) {
      const t = tokens[pos];
      const l = LEVEL.get(t.text);
      if (l === undefined || l < level) break;
      pos++;
      a = { k: 'binary', at: t.at, op: t.text, a, b: binary(l + 1) };
    }
    depth--;
    return a;
  }

  function conditional(): Expr {
    const c = binary(1);
    if (tokens[pos].text !== '?') return c;
    depth++;
    const { at } = tokens[pos++];
    const a = conditional();
    expect(':');
    const b = conditional();
    depth--;
    return { k: 'cond', at, c, a, b };
  }

  function assignments(): Assign[] {
    const out: Assign[] = [];
    while (pos < tokens.length) {
      const t = tokens[pos++];
      if (t.text === '\n') continue;
      if (!/^\w+$/.test(t.text) || NUMBER.test(t.text))
        throw new TextError(`expected 'name = expression', found ${shown(t)}`, t.at);
      expect('=');
      out.push({ at: t.at, name: t.text, value: conditional() });
      expect('\n');
    }
    return out;
  }

  function expression(): Expr {
    const e = conditional();
    expect('\n');
    return e;
  }
  return { assignments, expression };
}
