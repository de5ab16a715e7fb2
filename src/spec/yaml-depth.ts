import { Lexer } from 'yaml';

/**
 * Maximum nesting depth of a YAML text. Specs need about ten levels. The parser recurses once per level, and if the stack overflows inside
 * of a regular expression, the whole process ends.
 */
const MOST_NESTED = 500;

/**
 * Maximum number of tokens of a YAML text; the largest spec has about 30,000. The parser creates an error object of a kilobyte for each
 * misplaced token: 4 MB of commas would take 4 GB.
 */
const MOST_TOKENS = 1_000_000;

/** True if a text has too many tokens. */
export function isTooLong(text: string): boolean {
  if (text.length <= MOST_TOKENS) return false;
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) if (++tokens > MOST_TOKENS) return true;
  return false;
}

/** Token that precedes the text of a scalar (`yaml` package, Lexer). */
const SCALAR = '\u001f';

/** True if a text is nested too deeply, either by brackets or by indented lists and maps, each of which begins further to the right. */
export function isTooDeep(text: string): boolean {
  if (text.length <= MOST_NESTED) return false;
  let flow = 0;
  let column = 0;
  // True while the current line has only list and key markers.
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
