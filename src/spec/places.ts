import {
  type Document,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLMap,
  YAMLParseError,
} from 'yaml';
import type { Diagnostic } from '../ir/diagnostic.ts';
import type { Pruned } from './prune.ts';
import { isTooDeep, isTooLong } from './yaml-depth.ts';

/** A place in a document: line and column from 1, and the length of the text there. */
export interface SpecPlace {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

export interface ParsedYaml {
  readonly doc: Document.Parsed;
  readonly lines: LineCounter;
}

/** Look-ups come in bursts (all errors of one file), so a few parsed texts are kept. */
const parsedTexts = new Map<string, ParsedYaml>();
const MOST_KEPT = 64;

/**
 * The document of a YAML text. Faults of the text are in its `errors`.
 * @throws RangeError for a text that is nested too deeply, Error for one of too many parts
 */
export function parseYaml(text: string): ParsedYaml {
  let p = parsedTexts.get(text);
  if (p === undefined) {
    if (isTooDeep(text)) throw new RangeError('the text is nested too deeply');
    if (isTooLong(text)) throw new Error('it has too many parts');
    const lines = new LineCounter();
    // By itself, the package warns through Node of keys that are no texts, which a check of names finds anyway.
    const options = {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'error',
      uniqueKeys: false,
    } as const;
    p = { doc: parseDocument(text, options), lines };
    refuseTwins(p.doc);
    if (parsedTexts.size >= MOST_KEPT) parsedTexts.clear();
    parsedTexts.set(text, p);
  }
  return p;
}

/** Errors of a text behind which keys that stand twice are no more; few of them are shown. */
const MOST_ERRORS = 1000;

/** Keys that a map has twice are errors. The package's own check compares each key with each other. */
function refuseTwins(doc: Document.Parsed): void {
  visit(doc, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [from, to] = key.range!;
        // An error holds where it was made: a million of them would take a gigabyte.
        if (seen.has(key.value) && doc.errors.length < MOST_ERRORS)
          doc.errors.push(new YAMLParseError([from, to], 'DUPLICATE_KEY', 'Map keys must be unique'));
        seen.add(key.value);
      }
    },
  });
}

type Ranged = { readonly range?: readonly number[] | null } | null | undefined;

/**
 * Where a path is in a YAML text: the last key itself if `key` is set, else its value. If the path does not exist, the place of its
 * longest part that does.
 */
export function placeOf(text: string, path: readonly (string | number)[], key = false): SpecPlace {
  const { doc, lines } = parseYaml(text);
  let node: unknown = doc.contents;
  let range = (doc.contents as Ranged)?.range;
  for (let i = 0; i < path.length; i++) {
    const step = path[i];
    if (isMap(node)) {
      const pair = (node as YAMLMap).items.find(
        (x) => isPair(x) && isScalar(x.key) && String(x.key.value) === String(step),
      );
      if (pair === undefined) break;
      const wanted = i === path.length - 1 && key ? pair.key : pair.value;
      range = ((wanted ?? pair.key) as Ranged)?.range;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      if (node === undefined) break;
      range = (node as Ranged)?.range ?? range;
    } else break;
  }
  const start = range?.[0] ?? 0;
  return placeAt(text, lines, start, range?.[1] ?? start + 1);
}

/** A range of the text as a place, cut at the end of its first line. */
export function placeAt(text: string, lines: LineCounter, start: number, end: number): SpecPlace {
  const pos = lines.linePos(start);
  const eol = text.indexOf('\n', start);
  const length = Math.max(1, Math.min(end, eol < 0 ? end : eol) - start);
  return { line: Math.max(1, pos.line), column: Math.max(1, pos.col), length };
}

/** Builds a diagnostic at a path of a spec. */
export function specError(
  f: { readonly file: string; readonly text: string; readonly pruned?: Pruned },
  path: readonly (string | number)[],
  code: string,
  message: string,
  more: {
    readonly key?: boolean;
    readonly label?: string;
    readonly notes?: readonly string[];
    readonly severity?: 'error' | 'warning';
  } = {},
): Diagnostic {
  return {
    severity: more.severity ?? 'error',
    code,
    message,
    file: f.file,
    ...placeOf(f.text, f.pruned?.original(path) ?? path, more.key),
    label: more.label,
    notes: more.notes,
  };
}
