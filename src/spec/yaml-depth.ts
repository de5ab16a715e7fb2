import { Lexer } from 'yaml';

/**
 * Deepest nesting of a YAML text that is read. Specs need about ten; the reader calls itself for every level, and where the stack of
 * the engine ends inside of a regular expression, the whole process ends with it.
 */
const MOST_NESTED = 500;

/**
 * Most tokens of a YAML text that is read; the largest spec has some 30,000. The reader makes an error of a kilobyte of each that is out of
 * place: of 4 MB of commas, 4 GB.
 */
const MOST_TOKENS = 1_000_000;

/** Whether a text has more tokens than are read. */
export function isTooLong(text: string): boolean {
  if (text.length <= MOST_TOKENS) return false;
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) if (++tokens > MOST_TOKENS) return true;
  return false;
}

/** Marks the text of a scalar, which is the next token (`yaml` package, Lexer). */
const SCALAR = '\u001f';

/** Whether a text is nested deeper than can be read: brackets inside each other, or lists and maps, each of which begins further right. */
export function isTooDeep(text: string): boolean {
  if (text.length <= MOST_NESTED) return false;
  let flow = 0;
  let column = 0;
  // Only markers of lists and keys came in this line so far.
  let opening = true;
  let scalar = false;
  for (const token of new Lexer().lex(text)) {
    if (token === SCALAR) {
      if (flow === 0 && opening && column > MOST_NESTED) return true;
      scalar = true;
      opening = false;
      continue;
    }
    if (scalar) scalar = false;
    else if (token === '[' || token === '{') flow++;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    else if (flow === 0 && (token === '-' || token === '?') && column > MOST_NESTED) return true;
    if (flow > MOST_NESTED) return true;
    const end = token.lastIndexOf('\n');
    if (end >= 0) opening = true;
    column = end < 0 ? column + token.length : token.length - end - 1;
  }
  return false;
}
