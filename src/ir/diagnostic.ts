import { firstNames } from './listed.ts';
import { visible } from './quote.ts';

/** One error or warning with its location. Every front end of the project reports these. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning';
  /** Stable short code: 'ptx-syntax', 'unknown-knob', 'order-violated'. */
  readonly code: string;
  readonly message: string;
  /** Name of its subject (such as an opcode), with which a caller can find the location. */
  readonly subject?: string;
  /** File as the user named it; '' when there is none. */
  readonly file: string;
  /** From 1; 0 when unknown. */
  readonly line: number;
  readonly column: number;
  /** Characters marked in the frame. */
  readonly length: number;
  /** Text under the mark. */
  readonly label?: string;
  /** Further lines: what was expected, near misses, the next command to run. */
  readonly notes?: readonly string[];
}

/** An error about a file as a whole, or with the empty name about a request. */
export const fileFault = (
  file: string,
  message: string,
  notes: readonly string[] = [],
  code = 'file',
): Diagnostic & { readonly notes: readonly string[] } => ({
  severity: 'error',
  code,
  message,
  file,
  line: 0,
  column: 0,
  length: 0,
  notes,
});

/** Maximum number of identical diagnostics that are shown one by one. */
const MOST_ALIKE = 3;
/** Maximum number of lines listed for the others. */
const MOST_LINES = 8;

/**
 * Merges many identical diagnostics of one file into the first, with a note that lists the lines of the others.
 *
 * @returns as many or fewer, in the same order
 */
export function gathered(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const alike = new Map<string, Diagnostic[]>();
  const keyOf = ({ severity, code, message, file, label, notes }: Diagnostic): string =>
    JSON.stringify([severity, code, message, file, label, notes]);
  for (const d of diagnostics) {
    const known = alike.get(keyOf(d));
    if (known === undefined) alike.set(keyOf(d), [d]);
    else known.push(d);
  }
  return diagnostics.flatMap((d) => {
    const same = alike.get(keyOf(d))!;
    if (same.length <= MOST_ALIKE || d.line === 0) return [d];
    if (same[0] !== d) return [];
    const lines = [...new Set(same.slice(1).map((x) => x.line))];
    const named = firstNames(lines.map(String), MOST_LINES);
    const note = `the same ${same.length - 1} more times, in ${lines.length === 1 ? 'line' : 'lines'} ${named}`;
    return [{ ...d, notes: [...(d.notes ?? []), note] }];
  });
}

/** Thrown if work cannot continue; carries every problem found so far. */
export class DiagnosticError extends Error {
  readonly diagnostics: readonly Diagnostic[];
  constructor(diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map((d) => `${d.file}:${d.line}:${d.column}: ${d.message}`).join('\n'));
    this.name = 'DiagnosticError';
    this.diagnostics = diagnostics;
  }
}

/** The error for a fault of a file as a whole; see `fileFault`. */
export const fileError = (...fault: Parameters<typeof fileFault>): DiagnosticError =>
  new DiagnosticError([fileFault(...fault)]);

/**
 * Renders one diagnostic with its source frame:
 *
 *     error: unknown opcode 'ad'
 *       --> kernel.ptx:12:5
 *        12 | ad.s32 %r1, %r2, %r3;
 *           | ^^ did you mean 'add'?
 *
 * Each part is one line, for any names and source lines.
 *
 * @param text the file's text for the frame, or undefined for none
 */
export function renderDiagnostic(d: Diagnostic, text?: string): string {
  const out = [`${d.severity}: ${oneLine(d.message)}`];
  if (d.file !== '') out.push(`  --> ${oneLine(d.file)}${d.line > 0 ? `:${d.line}:${d.column}` : ''}`);
  if (text !== undefined && d.line > 0) out.push(...frameOf(d, text));
  else if (d.label !== undefined) out.push(`  ${oneLine(d.label)}`);
  for (const n of d.notes ?? []) out.push(`  ${oneLine(n)}`);
  return out.join('\n');
}

/** Maximum number of characters of a message or note: a name from a file can be as long as the file. */
const LONGEST = 2000;
/** A message or note in one line, shortened if it is too long. */
const oneLine = (text: string): string =>
  visible(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Number of columns of a source line that are shown, and how many of them may precede the marked text. */
const [SHOWN, BEFORE] = [110, 60];

/** Maximum length of a mark that has its label beside it. The label of a longer mark gets a line of its own. */
const LABELLED = 40;

/** The source line of a diagnostic, and the mark below it. */
function frameOf(d: Diagnostic, text: string): string[] {
  const line = (text.split('\n')[d.line - 1] ?? '').replace(/\r$/, '').replaceAll('\t', ' ');
  const start = Math.max(0, d.column - BEFORE);
  const end = Math.min(line.length, start + SHOWN);
  const from = Math.min(d.column - 1, end);
  const to = Math.max(from, Math.min(from + d.length, end));
  const [before, marked, after] = [line.slice(start, from), line.slice(from, to), line.slice(to, end)].map(
    visible,
  );
  const [first, last] = [start > 0 ? '…' : '', end < line.length ? '…' : ''];
  const gap = ' '.repeat(first.length + before.length);
  const marks = '^'.repeat(Math.max(1, marked.length));
  const label = d.label === undefined ? [] : [oneLine(d.label)];
  const shown = marks.length > LABELLED ? [marks, ...label] : [[marks, ...label].join(' ')];
  return [
    `${String(d.line).padStart(5)} | ${first}${before}${marked}${after}${last}`,
    ...shown.map((text) => `      | ${gap}${text}`),
  ];
}

/**
 * The candidates closest to `word`, closest first, at most `most`. The distance is Damerau-Levenshtein in lower case. It is at most
 * a third of the word's length plus one, and at most half of it, because a name that is mostly wrong is not a typo. If no candidate
 * is close, those that contain the word, or, for a word of three letters, a few that begin with it; the shortest first. People
 * remember a part of a long name.
 */
export function nearest(word: string, candidates: Iterable<string>, most = 3): string[] {
  const limit = Math.min(Math.floor(word.length / 3) + 1, Math.floor(word.length / 2));
  const scored: { c: string; d: number }[] = [];
  const longer: { c: string; d: number }[] = [];
  const w = word.toLowerCase();
  for (const c of candidates) {
    const name = c.toLowerCase();
    const d = distance(w, name, limit);
    if (d <= limit) scored.push({ c, d });
    else if (w.length >= SHORTEST_PART ? name.includes(w) : w.length >= SHORTEST_START && name.startsWith(w))
      longer.push({ c, d: c.length });
  }
  const vague = w.length < SHORTEST_PART && longer.length > most;
  const found = scored.length > 0 ? scored : vague ? [] : longer;
  found.sort((a, b) => a.d - b.d || (a.c < b.c ? -1 : 1));
  return found.slice(0, most).map((s) => s.c);
}

/**
 * The candidate that a misspelt word stands for: the only one that differs from it in at most a third of its letters; null if there
 * is none, or more than one. Others are worth a suggestion (`nearest`), but not a guess.
 */
export function meantBy(word: string, candidates: Iterable<string>): string | null {
  const limit = Math.max(1, Math.floor(word.length / 3));
  const near = [...candidates].filter((c) => distance(word.toLowerCase(), c.toLowerCase(), limit) <= limit);
  return near.length === 1 ? near[0] : null;
}

/** A note that suggests the names closest to a misspelt word, `most` at most; none if no name is close. */
export const didYouMean = (word: string, candidates: Iterable<string>, most = 3): string[] =>
  meantNote(nearest(word, candidates, most));

/** A note that suggests names; none if there are none. */
export const meantNote = (names: readonly string[]): string[] =>
  names.length > 0 ? [`did you mean ${names.map((n) => `'${n}'`).join(' or ')}?`] : [];

/** Minimum lengths of a word that is searched for inside names, and of one that is searched for at their beginning. */
const [SHORTEST_PART, SHORTEST_START] = [4, 3];

function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let prev = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      let v = Math.min(prev[j] + 1, row[j - 1] + 1, prev[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        v = Math.min(v, before[j - 2] + 1);
      row.push(v);
    }
    before = prev;
    prev = row;
  }
  return prev[b.length];
}
