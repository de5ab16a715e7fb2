import type { CompletionItem } from 'vscode-languageserver';
import { formsOf } from '../../ptx/forms.ts';
import { PTX_OPCODES } from '../../ptx/opcodes.ts';
import { ARCHITECTURE_NAMES, PTX_VERSIONS } from '../../ptx/targets.ts';
import { between, type Doc } from '../document.ts';
import { ITEM } from '../kinds.ts';
import type { PtxIndex, PtxSymbol } from './index.ts';
import { meaningOf } from './meanings.ts';

/** Registers of one declaration that are offered. */
const MOST_OF_FAMILY = 100;

/** What can be written at a position of a PTX text: opcodes, their modifiers, names that are declared there, targets and versions. */
export function completePtx(doc: Doc, index: PtxIndex, offset: number): CompletionItem[] {
  const text = doc.text.getText();
  const begin = text.lastIndexOf('\n', offset - 1) + 1;
  const line = text.slice(begin, offset);
  let start = offset;
  while (start > begin && /[\w$%:]/.test(text[start - 1])) start--;
  const range = between(doc.text, start, offset);
  const item = (label: string, detail: string, kind: CompletionItem['kind']): CompletionItem => ({
    label,
    kind,
    ...(detail === '' ? {} : { detail }),
    textEdit: { range, newText: label },
  });
  if (/^\s*\.target\s/.test(line)) return ARCHITECTURE_NAMES.map((n) => item(n, '', ITEM.enumMember));
  if (/^\s*\.version\s/.test(line)) return PTX_VERSIONS.map((n) => item(n, '', ITEM.value));
  const head = /^\s*(?:@!?\S+\s+)?([a-z]\w*(?:\.[\w:]*)*)$/.exec(line);
  if (head?.[1].includes('.') === true) {
    const [opcode, ...mods] = head[1].split('.');
    return modifiersOf(opcode, mods.slice(0, -1)).map((m) => item(m, '', ITEM.keyword));
  }
  if (/^\s*(?:@!?\S+\s+)?[a-z]*$/.test(line) && !/^\s*$/.test(line))
    return [...PTX_OPCODES].sort().map((o) => item(o, meaningOf(o) ?? '', ITEM.operator));
  return index.visibleAt(offset).flatMap((s) => namesOf(s).map((n) => item(n, about(s), iconOf(s))));
}

/** Modifiers and types that a form of an opcode has besides those that stand there. */
function modifiersOf(opcode: string, there: readonly string[]): string[] {
  const out = new Set<string>();
  for (const f of formsOf(opcode) ?? []) {
    const fits = there.every(
      (m) => f.groups.some((g) => g.words.includes(m)) || f.types.some((t) => t.includes(m)),
    );
    if (!fits) continue;
    for (const g of f.groups)
      if (!g.words.some((w) => there.includes(w))) for (const w of g.words) out.add(w);
    const typed = there.filter((m) => f.types.some((t) => t.includes(m))).length;
    for (const t of f.types[typed] ?? []) out.add(t);
  }
  return [...out];
}

function namesOf(s: PtxSymbol): string[] {
  const n = s.variable?.count ?? 0;
  return n === 0 ? [s.name] : Array.from({ length: Math.min(n, MOST_OF_FAMILY) }, (_, i) => `${s.name}${i}`);
}

const about = (s: PtxSymbol): string =>
  s.variable === null ? s.kind : `.${s.variable.space} .${s.variable.type}`;

const iconOf = (s: PtxSymbol): CompletionItem['kind'] =>
  s.variable === null ? (s.kind === 'label' ? ITEM.constant : ITEM.function) : ITEM.variable;
