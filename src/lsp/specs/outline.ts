import type { DocumentSymbol, FoldingRange } from 'vscode-languageserver';
import { isMap, isPair, isScalar, isSeq } from 'yaml';
import { between, type Doc } from '../document.ts';
import { SYMBOL } from '../kinds.ts';
import { parsed } from './places.ts';

/** Keys whose values name the element of a list, the most telling first. */
const NAMING = ['id', 'name', 'title', 'phase', 'pass', 'metric', 'file', 'rule'];
/** Keys of edits and constraints, which are named by what they do. */
const DOING = ['move', 'replace', 'drop', 'insert', 'insertPass', 'insertRules', 'repeat', 'before', 'use'];
/** Levels of the outline. */
const DEEPEST = 4;

/** The name of an element of a list in the outline. */
function nameOf(node: unknown, i: number): string {
  if (isScalar(node)) return String(node.value);
  if (!isMap(node)) return `${i + 1}`;
  const text = (key: string): string | undefined => {
    const v = node.get(key);
    return typeof v === 'string' || typeof v === 'number' ? String(v) : undefined;
  };
  const name = NAMING.map(text).find((t) => t !== undefined);
  if (name !== undefined) return name;
  const doing = DOING.flatMap((k) => (text(k) === undefined ? [] : [`${k} ${text(k)}`]));
  return doing[0] ?? `${i + 1}`;
}

/** The outline of a spec: its keys, and the elements of its lists by name. */
export function outlineOf(doc: Doc): DocumentSymbol[] {
  const yaml = parsed(doc.text.getText());
  if (yaml === null) return [];
  const symbol = (
    name: string,
    kind: DocumentSymbol['kind'],
    from: number,
    keyEnd: number,
    to: number,
    children: DocumentSymbol[],
  ): DocumentSymbol => ({
    name: name === '' ? "''" : name,
    kind,
    range: between(doc.text, from, Math.max(keyEnd, to)),
    selectionRange: between(doc.text, from, keyEnd),
    ...(children.length === 0 ? {} : { children }),
  });
  const walk = (node: unknown, depth: number): DocumentSymbol[] => {
    if (depth > DEEPEST) return [];
    if (isMap(node))
      return node.items.flatMap((pair) => {
        if (!isPair(pair) || !isScalar(pair.key)) return [];
        const [from, keyEnd] = pair.key.range ?? [0, 0];
        const value = pair.value as { range?: readonly number[] | null } | null;
        const to = value?.range?.[1] ?? keyEnd;
        const kind = isSeq(value) ? SYMBOL.array : isMap(value) ? SYMBOL.object : SYMBOL.property;
        return [symbol(String(pair.key.value), kind, from, keyEnd, to, walk(value, depth + 1))];
      });
    if (!isSeq(node)) return [];
    return node.items.flatMap((x, i) => {
      // Words in a list are no structure.
      if (!isMap(x) && !(isScalar(x) && depth <= 1)) return [];
      const [from, to] = (x as { range?: readonly number[] | null }).range ?? [0, 0];
      const inner = isMap(x) && depth >= 2 ? [] : walk(x, depth + 1);
      return [symbol(nameOf(x, i), SYMBOL.key, from, to, to, inner)];
    });
  };
  return walk(yaml.doc.contents, 0);
}

/** Foldable ranges of a spec: values that take several lines, and comments of several lines. */
export function foldsOf(doc: Doc): FoldingRange[] {
  const out: FoldingRange[] = [];
  const visit = (s: DocumentSymbol): void => {
    const last = s.range.end.character === 0 ? s.range.end.line - 1 : s.range.end.line;
    if (last > s.range.start.line) out.push({ startLine: s.range.start.line, endLine: last });
    s.children?.forEach(visit);
  };
  outlineOf(doc).forEach(visit);
  return [...out, ...commentFolds(doc, '#')];
}

/** Runs of lines that are comments. */
export function commentFolds(doc: Doc, mark: string): FoldingRange[] {
  const out: FoldingRange[] = [];
  let first = -1;
  const lines = doc.text.getText().split('\n');
  for (let i = 0; i <= lines.length; i++) {
    const isComment = i < lines.length && lines[i].trimStart().startsWith(mark);
    if (isComment && first < 0) first = i;
    if (isComment || first < 0) continue;
    if (i - first > 1) out.push({ startLine: first, endLine: i - 1, kind: 'comment' });
    first = -1;
  }
  return out;
}
