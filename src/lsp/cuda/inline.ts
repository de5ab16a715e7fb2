import type { Diagnostic } from '../../ir/diagnostic.ts';
import { checkPtx } from '../../ptx/check.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { ARCHITECTURE_NAMES, NEWEST_VERSION } from '../../ptx/targets.ts';

/** PTX inside of an `asm` statement of CUDA C++, as a module of its own. */
interface InlinePtx {
  /** Offset and end of the statement in the source. */
  readonly start: number;
  readonly end: number;
  /** A module with the text as the body of a function, its operands as registers. */
  readonly module: string;
  /** For each character of the module, its offset in the source; -1 for what is not from there. */
  readonly origin: Int32Array;
}

/** PTX types of registers by the constraint of an operand (Inline PTX Assembly in CUDA, 1.2). */
const TYPES: Readonly<Record<string, string>> = {
  h: 'b16',
  r: 'b32',
  l: 'b64',
  q: 'b128',
  f: 'f32',
  d: 'f64',
};

/**
 * Characters of the longest statement that is read: real ones have a few hundred, and a parenthesis that is still to be closed must not
 * have the rest of the source read for every statement.
 */
const MOST_STATEMENT = 65_536;

/** A string or character literal. */
const LITERAL = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;

const STATEMENT = /\b(?:asm|__asm__|__asm)\b\s*(?:(?:volatile|__volatile__|inline|goto)\b\s*)*\(/g;

/** The newest target, with its suffix: which one a source is compiled for is not stated in it. */
const TARGET = ARCHITECTURE_NAMES.filter((t) => t.endsWith('a')).at(-1) ?? 'sm_90a';

/** The `asm` statements of a source whose text is written as plain strings, and whose operands have known constraints. */
export function inlinePtx(source: string): InlinePtx[] {
  const blank = withoutComments(source);
  const out: InlinePtx[] = [];
  const found = [...blank.matchAll(STATEMENT)];
  for (const [i, m] of found.entries()) {
    const open = m.index + m[0].length;
    const made = statement(blank, m.index, open, (at) => {
      // Operands hold no further statement: one that is not closed ends before the next.
      let next = i + 1;
      while (next < found.length && found[next].index < at) next++;
      return Math.min(found[next]?.index ?? blank.length, open + MOST_STATEMENT);
    });
    if (made !== null) out.push(made);
  }
  return out;
}

/** The source with comments as blanks, so that what they hold is not taken for code. */
const withoutComments = (source: string): string =>
  source.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (text) =>
    text.startsWith('/') ? text.replace(/[^\n]/g, ' ') : text,
  );

/** Characters of PTX with their offsets in the source. */
class Pieces {
  text = '';
  readonly from: number[] = [];
  add(text: string, at = -1): void {
    for (let i = 0; i < text.length; i++) this.from.push(at);
    this.text += text;
  }
}

/** @param limit gives the offset before which a statement ends whose operands begin at an offset */
function statement(
  blank: string,
  start: number,
  open: number,
  limit: (at: number) => number,
): InlinePtx | null {
  const body = new Pieces();
  let at = open;
  for (;;) {
    while (/\s/.test(blank[at] ?? '')) at++;
    if (blank[at] !== '"') break;
    const end = stringAt(blank, at, body);
    if (end < 0 || end - open > MOST_STATEMENT) return null;
    at = end;
  }
  // A macro stands between the strings, or there is no text.
  if (!':)'.includes(blank[at] ?? 'x') || body.text.trim() === '') return null;
  const close = closing(blank, at, limit(at));
  if (close < 0) return null;
  const constraints = constraintsOf(blank.slice(at, close));
  const ptx = new Pieces();
  ptx.add(`.version ${NEWEST_VERSION}\n.target ${TARGET}\n.address_size 64\n.func orrery_asm()\n{\n`);
  constraints.forEach((c, i) => {
    const type = TYPES[c];
    if (type !== undefined) ptx.add(`.reg .${type} %operand${i};\n`);
  });
  ptx.add('{\n');
  if (!substitute(body, constraints, ptx)) return null;
  if (!/[;}]\s*$/.test(body.text)) ptx.add(';');
  ptx.add('\n}\n}\n');
  return { start, end: close, module: ptx.text, origin: Int32Array.from(ptx.from) };
}

/** Reads a string literal into `into`. @returns the offset behind it; -1 if it does not end in its line */
function stringAt(source: string, from: number, into: Pieces): number {
  for (let i = from + 1; i < source.length && source[i] !== '\n'; i++) {
    if (source[i] === '"') return i + 1;
    if (source[i] !== '\\') {
      into.add(source[i], i);
      continue;
    }
    i++;
    const plain: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
    into.add(plain[source[i]] ?? source[i] ?? '', i - 1);
  }
  return -1;
}

/** The parenthesis that closes the statement, from inside of it. */
function closing(blank: string, from: number, limit: number): number {
  let depth = 0;
  for (let i = from; i < limit; i++) {
    const c = blank[i];
    if (c === '"' || c === "'") {
      LITERAL.lastIndex = i;
      if (!LITERAL.test(blank)) return -1;
      i = LITERAL.lastIndex - 1;
    } else if (c === '(') depth++;
    else if (c === ')' && depth-- === 0) return i;
  }
  return -1;
}

/** The letters of the constraints of all operands, outputs first: `r` for "=r"(x). */
function constraintsOf(rest: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let colons = 0;
  for (let i = 0; i < rest.length; i++) {
    const c = rest[i];
    if (c === '(' || c === '[') depth++;
    else if (c === ')' || c === ']') depth--;
    else if (c === ':' && depth === 0) {
      colons += rest[i + 1] === ':' ? 2 : 1;
      if (rest[i + 1] === ':') i++;
    } else if (c === '"') {
      const end = rest.indexOf('"', i + 1);
      if (end < 0) return out;
      const word = rest.slice(i + 1, end);
      i = end;
      if (depth === 0 && colons < 3)
        out.push(/[a-zA-Z](?=[^a-zA-Z]*$)/.exec(word)?.[0] ?? /\d/.exec(word)?.[0] ?? '');
    }
  }
  // A digit stands for the constraint of that operand.
  return out.map((c) => (/\d/.test(c) ? (out[Number(c)] ?? '') : c));
}

/** Puts registers in the place of operands. @returns false if an operand has no type that is known */
function substitute(body: Pieces, constraints: readonly string[], out: Pieces): boolean {
  const { text, from } = body;
  for (let i = 0; i < text.length; i++) {
    if (text[i] !== '%') {
      out.add(text[i], from[i]);
      continue;
    }
    if (text[i + 1] === '%' || text[i + 1] === '{' || text[i + 1] === '}' || text[i + 1] === '|') {
      i++;
      out.add(text[i], from[i]);
      continue;
    }
    const digits = /^%[a-z]?(\d+)/.exec(text.slice(i, i + 8));
    if (digits === null) return false;
    const n = Number(digits[1]);
    const c = constraints[n];
    if (c === 'n') out.add('1', from[i]);
    else if (c !== undefined && TYPES[c] !== undefined) {
      out.add('%', from[i]);
      out.add(`operand${n}`, from[i + digits[0].length - 1]);
    } else return false;
    i += digits[0].length - 1;
  }
  return true;
}

/** Faults of the PTX in a CUDA source, each at its place in the strings. */
export function inlineFaults(path: string, source: string): Diagnostic[] {
  const starts = lineStarts(source);
  return inlinePtx(source).flatMap((asm) => {
    const { module, diagnostics } = parsePtx(asm.module, path);
    const lines = lineStarts(asm.module);
    return [...diagnostics, ...checkPtx(module)].flatMap((d): Diagnostic[] => {
      if (d.line === 0) return [];
      const offset = lines[d.line - 1] + d.column - 1;
      const place = placed(asm, offset, d.length);
      if (place === null) return [];
      const line = lineOf(starts, place.start);
      const message = d.message.replace(/%operand(\d+)/g, '%$1');
      return [
        { ...d, message, line: line + 1, column: place.start - starts[line] + 1, length: place.length },
      ];
    });
  });
}

/** Where characters of the module are in the source: on one line, from the first of them that is from there. */
function placed(asm: InlinePtx, offset: number, length: number): { start: number; length: number } | null {
  let at = Math.min(Math.max(0, offset), asm.origin.length - 1);
  // What follows the text, such as the brace that closes the function, is blamed on its last character.
  while (at > 0 && asm.origin[at] < 0) at--;
  const start = asm.origin[at];
  if (start < 0) return null;
  let end = start + 1;
  for (let i = at; i < Math.min(asm.origin.length, offset + length); i++)
    if (asm.origin[i] >= end - 1 && asm.origin[i] - start < 200) end = asm.origin[i] + 1;
  return { start, length: end - start };
}

function lineStarts(text: string): number[] {
  const out = [0];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) out.push(i + 1);
  return out;
}

function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
