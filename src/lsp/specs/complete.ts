import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CompletionItem } from 'vscode-languageserver';
import { KINDS } from '../../spec/document.ts';
import type { Specs } from '../../spec/specs.ts';
import { between, type Doc } from '../document.ts';
import { ITEM } from '../kinds.ts';
import { type Category, type Named, namesOf } from '../names.ts';
import { categoryAt, type Path } from '../slots.ts';
import { isMeant, keysBeside, kindOf, typedAt } from './places.ts';
import { keysAt, schemaOfKind, valuesAt, type Word } from './schema.ts';

const ICON: Readonly<Record<Category, CompletionItem['kind']>> = {
  phase: ITEM.enumMember,
  hook: ITEM.event,
  pass: ITEM.function,
  knob: ITEM.property,
  order: ITEM.file,
  recipe: ITEM.file,
  'knob-set': ITEM.file,
  group: ITEM.module,
  target: ITEM.enumMember,
  backend: ITEM.module,
  opcode: ITEM.operator,
  fact: ITEM.constant,
  metric: ITEM.unit,
  property: ITEM.constant,
  'step-list': ITEM.variable,
};

/** Categories whose names may be paths of files too. */
const FILES: ReadonlySet<Category> = new Set(['order', 'recipe', 'knob-set', 'group']);

/** What can be written at a position of a spec: names where names are expected, else keys and values of its schema. */
export function completeSpec(doc: Doc, offset: number, specs: Specs): CompletionItem[] {
  const text = doc.text.getText();
  const spot = typedAt(text, offset);
  if (spot === null) return [];
  const range = between(doc.text, spot.start, spot.end);
  const kind = kindOf(text);
  const { path, isKey } = spot;
  const item = (label: string, detail: string, icon: CompletionItem['kind'], more = ''): CompletionItem => ({
    label,
    kind: icon,
    ...(detail === '' ? {} : { detail }),
    textEdit: { range, newText: `${label}${more}` },
  });
  if (path.length === 1 && path[0] === 'kind' && !isKey)
    return KINDS.map((k) => item(k, String(schemaOfKind(k)?.title ?? ''), ITEM.keyword));
  const root = schemaOfKind(kind);
  if (kind === undefined || root === undefined)
    return path.length <= 1 && (isMeant(text) || !/^\w+\s*:/m.test(text))
      ? [item('kind', 'what this document is', ITEM.keyword, ': ')]
      : [];
  const colon = isKey && /^\s*:/.test(text.slice(spot.end)) ? '' : ': ';
  const named = (c: Category, key: boolean): CompletionItem[] => [
    ...namesOf(specs)[c].map((n: Named) => item(n.name, n.about, ICON[c], key ? colon : '')),
    ...(FILES.has(c) ? filesBeside(doc).map((f) => item(f, 'a file', ITEM.file)) : []),
  ];
  const asKeys = (at: Path): CompletionItem[] => {
    const category = categoryAt(kind, [...at, '?'], true);
    if (category !== undefined) return named(category, true);
    const there = new Set(keysBeside(text, [...at, '?']));
    const words = keysAt(root, at).filter((w: Word) => !there.has(w.word));
    return words.map((w) => item(w.word, w.about, ITEM.property, colon));
  };
  if (isKey) return asKeys(path.slice(0, -1));
  const category = categoryAt(kind, path, false) ?? categoryAt(kind, [...path, 0], false);
  if (category !== undefined) return named(category, false);
  const values = valuesAt(root, path).map((w) => item(w.word, w.about, ITEM.enumMember));
  return values.length > 0 ? values : asKeys(path);
}

/** Other YAML files in the folder of a document. */
function filesBeside(doc: Doc): string[] {
  try {
    const folder = dirname(doc.path);
    return readdirSync(folder).filter((f) => /\.ya?ml$/.test(f) && join(folder, f) !== doc.path);
  } catch {
    return [];
  }
}
