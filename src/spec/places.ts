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

/** A location in a text: line and column, both from 1, and the length of the marked text. */
export interface SpecPlace {
  readonly line: number;
  readonly column: number;
  readonly length: number;
}

/** A YAML document, and the line starts of its text. */
export interface ParsedYaml {
  readonly doc: Document.Parsed;
  readonly lines: LineCounter;
}

/** Parsed texts. Look-ups come in bursts (all errors of one file), so a few are kept. */
const parsedTexts = new Map<string, ParsedYaml>();
const MOST_KEPT = 64;
/** Characters of all kept texts: a parsed text takes some hundred bytes for each. */
const MOST_CHARACTERS = 1_000_000;
let characters = 0;

/**
 * Parses a YAML text. Syntax errors are in the `errors` of the document.
 * @throws RangeError if the text is nested too deeply, Error if it has too many tokens
 */
export function parseYaml(text: string): ParsedYaml {
  let p = parsedTexts.get(text);
  if (p === undefined) {
    if (isTooDeep(text)) throw new RangeError('the text is nested too deeply');
    if (isTooLong(text)) throw new Error('it has too many parts');
    const lines = new LineCounter();
    // By default, the package emits Node warnings about keys that are not text; the schema check rejects them anyway.
    const options = {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'error',
      uniqueKeys: false,
    } as const;
    p = { doc: parseDocument(text, options), lines };
    reportDuplicateKeys(p.doc);
    if (parsedTexts.size >= MOST_KEPT || characters + text.length > MOST_CHARACTERS) {
      parsedTexts.clear();
      characters = 0;
    }
    parsedTexts.set(text, p);
    characters += text.length;
  }
  return p;
}

/** No duplicate keys are reported once a document has this many errors; only a few are shown. */
const MOST_ERRORS = 1000;

/** Adds an error for each duplicate key of a map. The package's own check takes quadratic time. */
function reportDuplicateKeys(doc: Document.Parsed): void {
  visit(doc, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [from, to] = key.range!;
        // Each error keeps its stack trace: a million of them would take a gigabyte.
        if (seen.has(key.value) && doc.errors.length < MOST_ERRORS)
          doc.errors.push(new YAMLParseError([from, to], 'DUPLICATE_KEY', 'Map keys must be unique'));
        seen.add(key.value);
      }
    },
  });
}

type Ranged = { readonly range?: readonly number[] | null } | null | undefined;

/**
 * The location of a path in a YAML text: of its value, or of its last key if `key` is set. If the path does not exist, the location of its
 * longest existing prefix.
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

/** The location of a range of a text, cut at the end of its first line. */
export function placeAt(text: string, lines: LineCounter, start: number, end: number): SpecPlace {
  const pos = lines.linePos(start);
  const eol = text.indexOf('\n', start);
  const length = Math.max(1, Math.min(end, eol < 0 ? end : eol) - start);
  return { line: Math.max(1, pos.line), column: Math.max(1, pos.col), length };
}

/** A diagnostic at a path of a spec. */
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
