/*
 * Tokens of PTX text: PTX ISA, 4.1 to 4.5.
 */

export type Token =
  /** A name; `.word` with its dot; `::` with the word after it. */
  | { readonly kind: 'word' | 'dot' | 'mark' | 'string'; readonly text: string; readonly line: number }
  | {
      readonly kind: 'integer';
      readonly text: string;
      readonly line: number;
      readonly value: bigint;
      readonly unsigned: boolean;
    }
  /** `bits` of an f64, or of an f32 for the notation 0f. */
  | {
      readonly kind: 'float';
      readonly text: string;
      readonly line: number;
      readonly bits: bigint;
      readonly single: boolean;
    }
  | { readonly kind: 'end'; readonly text: string; readonly line: number };

/** Text that is not valid PTX. */
export class SyntaxFault extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
  }
}

const SPACE = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y;
const PATTERNS = {
  string: /"(?:[^"\\]|\\.)*"/y,
  hexFloat: /0([fF][0-9a-fA-F]{8}|[dD][0-9a-fA-F]{16})(?![\w])/y,
  float: /\d+(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)/y,
  integer: /(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?/y,
  word: /(?:[A-Za-z]|[_$%](?=[\w$]))[\w$]*|_/y,
  dot: /\.[A-Za-z_0-9]+(?:::\w+)*/y,
  mark: /<<|>>|<=|>=|==|!=|&&|\|\||[{}()[\],;:|@!+\-*/%&^~<>=?]/y,
} as const;

const view = new DataView(new ArrayBuffer(8));

function integerToken(text: string, line: number): Token {
  const digits = text.replace(/U$/, '');
  const octal = /^0[0-7]+$/.test(digits);
  const value = BigInt(octal ? `0o${digits.slice(1)}` : digits);
  return { kind: 'integer', text, line, value, unsigned: text.endsWith('U') || value >= 1n << 63n };
}

function floatToken(text: string, line: number): Token {
  if (/^0[fF]/.test(text))
    return { kind: 'float', text, line, bits: BigInt(`0x${text.slice(2)}`), single: true };
  if (/^0[dD]/.test(text))
    return { kind: 'float', text, line, bits: BigInt(`0x${text.slice(2)}`), single: false };
  view.setFloat64(0, Number(text));
  return { kind: 'float', text, line, bits: view.getBigUint64(0), single: false };
}

/** The tokens of a text; the last has the kind `end`. */
export function tokens(text: string): Token[] {
  const out: Token[] = [];
  let at = 0;
  let line = 1;
  const skip = (s: string): void => {
    at += s.length;
    for (const c of s) if (c === '\n') line++;
  };
  const match = (p: RegExp): string | null => {
    p.lastIndex = at;
    return p.exec(text)?.[0] ?? null;
  };
  for (;;) {
    const space = match(SPACE);
    if (space !== null) skip(space);
    if (at >= text.length) break;
    const [kind, s] = next(match) ?? [null, ''];
    if (kind === null) throw new SyntaxFault(line, `cannot read ${JSON.stringify(text.slice(at, at + 20))}`);
    if (kind === 'integer') out.push(integerToken(s, line));
    else if (kind === 'float' || kind === 'hexFloat') out.push(floatToken(s, line));
    else out.push({ kind, text: s, line });
    skip(s);
  }
  out.push({ kind: 'end', text: 'the end', line });
  return out;
}

function next(match: (p: RegExp) => string | null): [keyof typeof PATTERNS, string] | null {
  for (const kind of Object.keys(PATTERNS) as (keyof typeof PATTERNS)[]) {
    const s = match(PATTERNS[kind]);
    if (s !== null) return [kind, s];
  }
  return null;
}
