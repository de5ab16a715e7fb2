/** A line of a text that PTX was compiled from. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** Where the lines of PTX come from, by its `.loc` directives. */
export interface PtxLines {
  /** By PTX line, from 1: the source line of the instruction there; null for none. */
  readonly of: readonly (SourceLine | null)[];
  /** PTX lines by source file and line. */
  readonly by: ReadonlyMap<string, ReadonlyMap<number, readonly number[]>>;
}

const FILE = /^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"]*)"/;
const LOC = /^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)/;
/** A line with an instruction: neither a directive, a label, a comment nor a brace. */
const INSTRUCTION = /^\s*(?:[\w$%]+:\s*)?(?:@!?%|[a-z]+[.\d\w]*[\s;])/;

/**
 * Reads the source positions of PTX: a `.loc` stands for the instructions after it in the same function (PTX ISA 9.0, 11.5.3).
 */
export function ptxLines(text: string): PtxLines {
  const files = new Map<number, string>();
  const lines = text.split('\n');
  for (const l of lines) {
    const m = FILE.exec(l);
    if (m !== null) files.set(Number(m[1]), m[2]);
  }
  const of: (SourceLine | null)[] = [null];
  const by = new Map<string, Map<number, number[]>>();
  let now: SourceLine | null = null;
  lines.forEach((l, i) => {
    const m = LOC.exec(l);
    if (m !== null) {
      const file = files.get(Number(m[1]));
      now = file === undefined ? null : { file, line: Number(m[2]) };
    } else if (l.startsWith('}')) now = null;
    const here: SourceLine | null = m === null && INSTRUCTION.test(l) ? now : null;
    of.push(here);
    if (here === null) return;
    let own = by.get(here.file);
    if (own === undefined) by.set(here.file, (own = new Map()));
    const known = own.get(here.line);
    if (known === undefined) own.set(here.line, [i + 1]);
    else known.push(i + 1);
  });
  return { of, by };
}

/** Number of colours by which lines are told apart. */
export const HUES = 10;

/**
 * Colours of PTX lines, so that what comes from one source line has one colour, and neighbours have different ones. Without source
 * positions, every PTX line has its own.
 *
 * @returns the colour from 0 to HUES - 1 of a PTX line; -1 for none
 */
export function huesOf({ of, by }: PtxLines): (line: number) => number {
  if (by.size === 0) return (line) => (line > 0 ? line % HUES : -1);
  const hue = new Map<string, number>();
  const keyOf = (s: SourceLine): string => `${s.line} ${s.file}`;
  const all = of.flatMap((s) => (s === null ? [] : [s]));
  all.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
  for (const s of all) if (!hue.has(keyOf(s))) hue.set(keyOf(s), hue.size % HUES);
  return (line) => {
    const s = of[line] ?? null;
    return s === null ? -1 : hue.get(keyOf(s))!;
  };
}
