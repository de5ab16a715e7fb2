import type { CodeAction, Diagnostic as LspDiagnostic, Range, TextEdit } from 'vscode-languageserver';
import { isMap, isScalar, isSeq, type Pair, type YAMLMap } from 'yaml';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import { between, type Doc } from '../document.ts';
import { kindOf, parsed } from './places.ts';

/** A diagnostic, and the same as the client has it. */
export interface Shown {
  readonly diagnostic: Diagnostic;
  readonly shown: LspDiagnostic;
  /** Whether it is of another file, on which the text depends. */
  readonly elsewhere: boolean;
}

/** The edit of an order that touches a part of the text: a map of the list `edits`. */
function editAround(text: string, from: number, to = from): YAMLMap | null {
  if (kindOf(text) !== 'order') return null;
  const yaml = parsed(text);
  const root = yaml?.doc.contents;
  if (!isMap(root)) return null;
  const edits = root.get('edits', true);
  if (!isSeq(edits)) return null;
  for (const item of edits.items)
    if (isMap(item) && item.range != null && item.range[0] <= to && from <= item.range[1]) return item;
  return null;
}

const rangeOfPair = (pair: Pair): readonly [number, number] => {
  const key = pair.key as { range?: readonly number[] | null };
  const value = pair.value as { range?: readonly number[] | null } | null;
  return [key.range?.[0] ?? 0, value?.range?.[1] ?? key.range?.[1] ?? 0];
};

const keyOf = (pair: Pair): string => (isScalar(pair.key) ? String(pair.key.value) : '');

/** What repairs the faults of a spec that touch a range, and what can be added there. */
export function fixesFor(doc: Doc, range: Range, faults: readonly Shown[]): CodeAction[] {
  const out = new Map<string, CodeAction>();
  // One edit may repair several faults.
  for (const action of faults.flatMap((f) => [...nameFixes(doc, f), ...placeFixes(doc, f)])) {
    const key = JSON.stringify(action.edit);
    const known = out.get(key);
    const diagnostics = [...(known?.diagnostics ?? []), ...(action.diagnostics ?? [])];
    out.set(key, { ...(known ?? action), diagnostics });
  }
  return [...out.values(), ...whyFixes(doc, range)];
}

const fix = (doc: Doc, title: string, edits: TextEdit[], shown?: LspDiagnostic): CodeAction => ({
  title,
  kind: shown === undefined ? 'refactor.rewrite' : 'quickfix',
  ...(shown === undefined ? {} : { diagnostics: [shown], isPreferred: true }),
  edit: { changes: { [doc.uri]: edits } },
});

/** Replaces a misspelt name by each name that the diagnostic suggests. */
export function nameFixes(doc: Doc, { diagnostic: d, shown }: Shown): CodeAction[] {
  const note = [...(d.notes ?? []), d.label ?? ''].find((n) => n.startsWith('did you mean '));
  if (note === undefined) return [];
  const meant = [...note.matchAll(/'([^']+)'/g)].map((m) => m[1]);
  const text = doc.text.getText();
  const from = doc.text.offsetAt(shown.range.start);
  const eol = text.indexOf('\n', from);
  const lineEnd = eol < 0 ? text.length : eol;
  const quoted = [...d.message.matchAll(/'([^']+)'/g)].map((m) => m[1]);
  const words = [text.slice(from, doc.text.offsetAt(shown.range.end)).replace(/^["']|["']$/g, ''), ...quoted];
  const wrong = quoted.find((w) => text.slice(from, lineEnd).includes(w)) ?? words[0];
  const at = text.indexOf(wrong, from);
  if (wrong === '' || at < 0 || at >= lineEnd) return [];
  return meant.map((name, i) => {
    const action = fix(
      doc,
      `replace '${wrong}' by '${name}'`,
      [{ range: between(doc.text, at, at + wrong.length), newText: name }],
      shown,
    );
    return i === 0 ? action : { ...action, isPreferred: false };
  });
}

/** Moves a phase to the nearest legal place that the diagnostic names. */
function placeFixes(doc: Doc, { diagnostic: d, shown }: Shown): CodeAction[] {
  const note = (d.notes ?? [])
    .map((n) => /^nearest legal place: (before|after) (\S+)/.exec(n))
    .find((m) => m !== null);
  if (note === undefined || note === null) return [];
  const [, side, beside] = note;
  const edit = editAround(doc.text.getText(), doc.text.offsetAt(shown.range.start));
  const pair = edit?.items.find((p) => ['before', 'after'].includes(keyOf(p as Pair))) as Pair | undefined;
  if (pair === undefined) return [];
  const [from, to] = rangeOfPair(pair);
  const edits = [{ range: between(doc.text, from, to), newText: `${side}: ${beside}` }];
  return [fix(doc, `move it to the nearest legal place: ${side} ${beside}`, edits, shown)];
}

/** Adds `why` to an edit of an order that has none. */
function whyFixes(doc: Doc, range: Range): CodeAction[] {
  const text = doc.text.getText();
  const edit = editAround(text, doc.text.offsetAt(range.start), doc.text.offsetAt(range.end));
  if (edit === null || edit.items.length === 0 || edit.items.some((p) => keyOf(p as Pair) === 'why'))
    return [];
  const [from, to] = rangeOfPair(edit.items.at(-1) as Pair);
  const isFlow = edit.flow === true;
  const column = from - (text.lastIndexOf('\n', from - 1) + 1);
  const newText = isFlow ? ", why: ''" : `\n${' '.repeat(column)}why: ''`;
  const at = between(doc.text, to, to);
  return [fix(doc, 'add `why`, the reason for reviewers', [{ range: at, newText }])];
}
