import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Position, Range } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import type { Diagnostic } from '../ir/diagnostic.ts';

export type Language = 'spec' | 'ptx' | 'ori' | 'cuda';

/** A text that a client has open. */
export interface Doc {
  readonly uri: string;
  /** Full path of its file; of a text that has none, the path that it would have in the current folder. */
  readonly path: string;
  readonly language: Language;
  readonly text: TextDocument;
}

/** The path of a URI. A text without a file has a path in the current folder, so that what it names is found from there. */
export function pathOfUri(uri: string, language: Language): string {
  try {
    if (uri.startsWith('file:')) return fileURLToPath(uri);
  } catch {
    // A URI of another machine, or one that is malformed: it is not read from disk.
  }
  const ending = language === 'spec' ? 'yaml' : language === 'cuda' ? 'cu' : language;
  const name = /([^/\\]*)$/.exec(uri)![1].replace(/[^\w.-]+/g, '-');
  return resolve(name.endsWith(`.${ending}`) ? name : `${name || 'untitled'}.${ending}`);
}

export const uriOfPath = (path: string): string => pathToFileURL(path).href;

/** The language of a text, by the name of its file, or else by what the client calls it; null: none that the server knows. */
export function languageOf(uri: string, id: string): Language | null {
  const ending = /\.(\w+)$/.exec(uri)?.[1]?.toLowerCase() ?? '';
  if (ending === 'ptx') return 'ptx';
  if (ending === 'ori') return 'ori';
  if (['yaml', 'yml'].includes(ending)) return 'spec';
  if (['cu', 'cuh'].includes(ending)) return 'cuda';
  if (id === 'ptx' || id === 'ori') return id;
  if (id === 'yaml') return 'spec';
  return id === 'cuda' || id === 'cuda-cpp' ? 'cuda' : null;
}

/** The range that a diagnostic marks. One without a place is shown in the first line. */
export function rangeOf(d: Pick<Diagnostic, 'line' | 'column' | 'length'>): Range {
  if (d.line < 1) return { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
  const start = { line: d.line - 1, character: Math.max(0, d.column - 1) };
  return { start, end: { line: start.line, character: start.character + Math.max(1, d.length) } };
}

const isBefore = (a: Position, b: Position): boolean =>
  a.line < b.line || (a.line === b.line && a.character < b.character);

export const touches = (a: Range, b: Range): boolean =>
  !isBefore(a.end, b.start) && !isBefore(b.end, a.start);

export const contains = (r: Range, p: Position): boolean => !isBefore(p, r.start) && !isBefore(r.end, p);

/**
 * Where a range lies after a change; null if the change touches it.
 *
 * @param change the replaced range; undefined: the whole text
 */
export function shifted(range: Range, change: Range | undefined, inserted: string): Range | null {
  if (change === undefined || touches(range, change)) return null;
  if (!isBefore(change.start, range.start)) return range;
  const lines = inserted.split('\n');
  const down = lines.length - 1 - (change.end.line - change.start.line);
  const moved = (p: Position): Position => {
    if (p.line !== change.end.line) return { line: p.line + down, character: p.character };
    const before = lines.length === 1 ? change.start.character : 0;
    const character = p.character - change.end.character + before + lines[lines.length - 1].length;
    return { line: p.line + down, character };
  };
  return { start: moved(range.start), end: moved(range.end) };
}

/** The range between two offsets. */
export const between = (text: TextDocument, start: number, end: number): Range => ({
  start: text.positionAt(start),
  end: text.positionAt(end),
});

/** Text as Markdown that shows just it. */
export const escaped = (text: string): string => text.replace(/[\\`*_[\]<>#|]/g, '\\$&');
