import type { Loc } from '../../ir/program.ts';
import type { PtxFunction, PtxStatement } from '../ast.ts';

/**
 * The `.loc` directives of a function, to be found by an instruction's position: its text names inlined functions, which
 * Ori does not keep.
 */
export function sourceLocs(fn: PtxFunction, locs: readonly Loc[]): (loc: number) => string {
  const found: { line: number; text: string }[] = [];
  const stack: { body: readonly PtxStatement[]; at: number }[] = [{ body: fn.body ?? [], at: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const s = top.body[top.at++];
    if (s === undefined) stack.pop();
    else if (s.kind === 'scope') stack.push({ body: s.body, at: 0 });
    else if (s.kind === 'loc')
      found.push({ line: s.span.line, text: `.loc ${s.file} ${s.line} ${s.column}${s.rest}` });
  }
  if (found.length === 0) return () => '';
  return (loc) => {
    const line = locs[loc]?.line ?? 0;
    let low = 0;
    let high = found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found[middle].line <= line) low = middle + 1;
      else high = middle;
    }
    return low === 0 || line === 0 ? '' : found[low - 1].text;
  };
}
