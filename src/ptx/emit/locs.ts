import type { Loc } from '../../ir/program.ts';
import type { PtxFunction, PtxStatement } from '../ast.ts';

/** A `.loc` directive of the source. */
interface Found {
  /** Line of the directive in the PTX text. */
  readonly line: number;
  readonly text: string;
}

/**
 * Writes the `.loc` directives of one function in the present order of its instructions. With a source, its directives are used, since they
 * have the inlining information that Ori does not keep.
 */
export class LineInfo {
  private readonly locs: readonly Loc[];
  private readonly found: readonly Found[] | null;
  /** Position such as `1 17 3` -> the first directive with that position. */
  private readonly byPosition = new Map<string, string>();
  private readonly stated = new Set<string>();
  private last = '';

  constructor(locs: readonly Loc[], source: PtxFunction | null) {
    this.locs = locs;
    this.found = source === null ? null : directives(source, this.byPosition);
  }

  /** Lines to write before an instruction; none if the previous `.loc` still applies. */
  before(loc: number): readonly string[] {
    const text = this.found === null ? plain(this.locs[loc]) : this.covering(this.locs[loc]?.line ?? 0);
    if (text === '' || text === this.last) return [];
    this.last = text;
    const out: string[] = [];
    this.state(text, out);
    return out;
  }

  /** Writes a directive, after those of the positions where its code was inlined: ptxas 13.0.88 requires them earlier in the text. */
  private state(text: string, out: string[]): void {
    const chain = [text];
    for (let at = inlinedAt(text); at !== '' && !this.stated.has(at); ) {
      this.stated.add(at);
      const outer = this.byPosition.get(at) ?? `.loc ${at}`;
      chain.push(outer);
      at = inlinedAt(outer);
    }
    for (const t of chain.reverse()) {
      this.stated.add(position(t));
      out.push(t);
    }
  }

  private covering(line: number): string {
    const found = this.found!;
    let low = 0;
    let high = found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found[middle].line <= line) low = middle + 1;
      else high = middle;
    }
    return low === 0 || line === 0 ? '' : found[low - 1].text;
  }
}

const position = (text: string): string => /^\.loc (\d+ \d+ \d+)/.exec(text)?.[1] ?? '';
const inlinedAt = (text: string): string =>
  /inlined_at\s+(\d+\s+\d+\s+\d+)/.exec(text)?.[1].replace(/\s+/g, ' ') ?? '';

function directives(fn: PtxFunction, byPosition: Map<string, string>): Found[] {
  const found: Found[] = [];
  const stack: { body: readonly PtxStatement[]; at: number }[] = [{ body: fn.body ?? [], at: 0 }];
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    const s = top.body[top.at++];
    if (s === undefined) stack.pop();
    else if (s.kind === 'scope') stack.push({ body: s.body, at: 0 });
    else if (s.kind === 'loc') {
      const text = `.loc ${s.file} ${s.line} ${s.column}${s.rest}`;
      found.push({ line: s.span.line, text });
      const at = position(text);
      if (!byPosition.has(at)) byPosition.set(at, text);
    }
  }
  return found;
}

const plain = (l: Loc | undefined): string =>
  l === undefined || l.file === 0 ? '' : `.loc ${l.file} ${l.srcLine} ${l.srcColumn}`;
