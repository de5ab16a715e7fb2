import type { Span } from './ast.ts';
import { Lexer } from './lexer.ts';
import { END, IDENT } from './tokens.ts';

/** Where `name` stands in the statement that `at` covers; all of the statement if it does not stand there. */
export function placeOf(text: string, at: Span, name: string): Span {
  const lx = new Lexer(text.slice(at.start, at.end), () => {});
  // The name may be spelled as the opcode is: the last place is the operand's.
  let found: Span | null = null;
  for (; lx.kind !== END; lx.next()) {
    if (lx.kind !== IDENT || lx.value !== name) continue;
    found = {
      start: at.start + lx.start,
      end: at.start + lx.end,
      line: at.line + lx.line - 1,
      column: lx.line === 1 ? at.column + lx.start : lx.column,
    };
  }
  return found ?? at;
}
