import { isAlias, isMap, isPair, isScalar, isSeq, type Scalar } from 'yaml';
import { nearest } from '../../ir/diagnostic.ts';
import { memo } from '../../ir/memo.ts';
import { KINDS } from '../../spec/document.ts';
import { type ParsedYaml, parseYaml } from '../../spec/places.ts';
import type { Path } from '../slots.ts';

/** A scalar of a document: where it is, and whether it is a key. */
export interface Spot {
  readonly path: Path;
  readonly isKey: boolean;
  /** The text of the scalar; '' if nothing is there yet. */
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

/** A parsed text, or null if the parser gives up on it (nesting, number of parts). */
export function parsed(text: string): ParsedYaml | null {
  try {
    return parseYaml(text);
  } catch {
    return null;
  }
}

/** Every key and scalar value of a document, in the order of the text. */
export const spotsOf = memo((yaml: ParsedYaml): readonly Spot[] => {
  const out: Spot[] = [];
  const add = (node: Scalar, path: Path, isKey: boolean): void => {
    const [start, end] = node.range ?? [0, 0];
    out.push({ path, isKey, value: String(node.value ?? ''), start, end });
  };
  const walk = (node: unknown, path: Path): void => {
    if (isScalar(node)) add(node, path, false);
    else if (isSeq(node)) node.items.forEach((x, i) => walk(x, [...path, i]));
    else if (isMap(node))
      for (const pair of node.items) {
        if (!isPair(pair) || !isScalar(pair.key)) continue;
        const inner = [...path, String(pair.key.value)];
        add(pair.key, inner, true);
        if (pair.value !== null && !isAlias(pair.value)) walk(pair.value, inner);
      }
  };
  walk(yaml.doc.contents, []);
  return out;
});

/** The scalar at an offset; undefined if none is there. */
export function spotAt(text: string, offset: number): Spot | undefined {
  const yaml = parsed(text);
  if (yaml === null) return undefined;
  const around = spotsOf(yaml).filter((s) => s.start <= offset && offset <= s.end && s.end > s.start);
  return around.at(-1);
}

/** The kind that a spec states. */
export const kindOf = (text: string): string | undefined =>
  /^\{?\s*["']?kind["']?\s*:\s*["']?([\w-]+)/m.exec(text)?.[1];

/** Whether a YAML text is meant to be a spec, by its `kind` or its schema: editors open other YAML too. */
export function isMeant(text: string): boolean {
  if (/^#\s*yaml-language-server:.*\b[\w-]+\.schema\.json\s*$/m.test(text)) {
    const named = /([\w-]+)\.schema\.json\s*$/m.exec(text)?.[1];
    if ((KINDS as readonly (string | undefined)[]).includes(named)) return true;
  }
  const kind = kindOf(text);
  return kind !== undefined && nearest(kind, KINDS).length > 0;
}

/** Characters of names, numbers and paths in specs. */
const PART = /[\w#./-]/;

/** The word around an offset. */
export function wordAt(text: string, offset: number): { start: number; end: number; word: string } {
  let start = offset;
  let end = offset;
  while (start > 0 && PART.test(text[start - 1])) start--;
  while (end < text.length && PART.test(text[end])) end++;
  // The dash of a list is no part of a word.
  while (start < end && /[-.]/.test(text[start]) && /\s|^$/.test(text[start + 1] ?? '')) start++;
  return { start, end, word: text.slice(start, end) };
}

/** Stands for the word that is being typed, so that a text that is incomplete there can be parsed. */
const TYPED = 'Qtyped';

/** Where a word is being typed: the path of its key or value. */
export function typedAt(text: string, offset: number): Spot | null {
  const { start, end, word } = wordAt(text, offset);
  const rest = text.slice(end);
  // A key without its colon is a key all the same.
  const tried = `${text.slice(0, start)}${TYPED}${rest}`;
  const yaml = parsed(tried);
  if (yaml === null) return null;
  const spot = spotsOf(yaml).find((s) => s.start <= start && start < s.end && s.value.includes(TYPED));
  if (spot === undefined) return null;
  return { ...spot, value: word, start, end };
}

/** The keys that stand beside a path in the same map. */
export function keysBeside(text: string, path: Path): readonly string[] {
  const yaml = parsed(text);
  if (yaml === null) return [];
  const above = path.slice(0, -1);
  return spotsOf(yaml)
    .filter(
      (s) =>
        s.isKey && s.path.length === path.length && above.every((p, i) => String(p) === String(s.path[i])),
    )
    .map((s) => String(s.path.at(-1)));
}

/** The value at a path of the data. */
export function dataAt(data: unknown, path: Path): unknown {
  let at: unknown = data;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Record<string, unknown>)[String(step)];
  }
  return at;
}
