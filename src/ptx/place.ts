import type { Span } from './ast.ts';
import { Lexer } from './lexer.ts';
import { END, IDENT } from './tokens.ts';

/** The span of the last occurrence of `name` in the statement at `at`; `at` itself if it does not occur. */
export function placeOf(text: string, at: Span, name: string): Span {
  const lx = new Lexer(text.slice(at.start, at.end), () => {});
  // The opcode may be spelled like the name, so the last occurrence is taken.
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
