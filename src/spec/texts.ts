import type { Diagnostic } from '../ir/diagnostic.ts';
import { specError } from './places.ts';

/*
 * Restricts the texts in a spec and their number. Reports, scripts and comments on pull requests print them, so a text is a single line
 * without control characters. Programs and expressions, which the schema marks with `contentMediaType`, may have several lines.
 */

type Path = readonly (string | number)[];

/** Control characters, line separators, bidirectional marks, tags and surrogates. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u;
/** The same, except line breaks and tabs. */
const CONTROL_IN_LINES = new RegExp(CONTROL.source.replace('[', '(?![\\n\\t])['), 'u');

/** Maximum number of elements of a list or a map; more is a mistake or an attack that makes checks slow. */
const MOST_ELEMENTS = 5000;

/** Maximum number of faults reported for one spec: such mistakes usually come in groups. */
const MOST_FAULTS = 10;

/** A text without the line breaks at its end. A regular expression would take quadratic time on a long run of line breaks. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  return text.slice(0, end);
}

/** Names of the properties of a schema that may have several lines. */
function severalLines(schema: unknown, out = new Set<string>()): ReadonlySet<string> {
  if (schema === null || typeof schema !== 'object') return out;
  for (const [key, value] of Object.entries(schema)) {
    if (value !== null && typeof value === 'object' && 'contentMediaType' in value) out.add(key);
    severalLines(value, out);
  }
  return out;
}

/**
 * Checks the texts and keys of a spec, in file order.
 * @param data the parsed spec; must be acyclic
 */
export function textFaults(
  f: { readonly file: string; readonly text: string },
  data: unknown,
  schema: object,
): Diagnostic[] {
  const lines = severalLines(schema);
  const out: Diagnostic[] = [];
  const fault = (path: Path, message: string, notes: readonly string[], key: boolean): void => {
    if (out.length < MOST_FAULTS) out.push(specError(f, path, 'spec-text', message, { key, notes }));
  };
  const see = (text: string, path: Path, key: boolean): void => {
    const [step] = path.slice(-1);
    const inLines = !key && typeof step === 'string' && lines.has(step);
    const at = (inLines ? CONTROL_IN_LINES : CONTROL).exec(inLines || key ? text : withoutEnd(text));
    if (at === null) return;
    if (at[0] === '\n')
      fault(path, 'this text has a line break', ["'>-' folds the lines of a text into one"], key);
    else fault(path, `this text contains the control character ${at[0]}`, [], key);
  };
  const walk = (value: unknown, path: Path): void => {
    if (out.length >= MOST_FAULTS) return;
    if (typeof value === 'string') see(value, path, false);
    if (value === null || typeof value !== 'object') return;
    const entries = Object.entries(value);
    if (entries.length > MOST_ELEMENTS)
      return fault(path, `${entries.length} elements: more than ${MOST_ELEMENTS} are not read`, [], false);
    for (const [key, x] of entries) {
      const at = [...path, Array.isArray(value) ? Number(key) : key];
      if (!Array.isArray(value)) see(key, at, true);
      walk(x, at);
    }
  };
  walk(data, []);
  return out;
}
