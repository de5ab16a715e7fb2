import type { DocumentHighlight, DocumentSymbol, FoldingRange, Range, TextEdit } from 'vscode-languageserver';
import { append } from '../../ir/append.ts';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import type { PtxFunction, PtxModule, PtxStatement } from '../../ptx/ast.ts';
import { checkPtx } from '../../ptx/check.ts';
import { specialRegister } from '../../ptx/lower/special-registers.ts';
import { parsePtx } from '../../ptx/parse.ts';
import { between, type Doc, rangeOf } from '../document.ts';
import { SYMBOL } from '../kinds.ts';
import { commentFolds } from '../specs/outline.ts';
import type { PtxIndex, PtxSymbol } from './index.ts';

/** A parsed PTX text with its faults. */
export interface PtxRead {
  readonly module: PtxModule;
  readonly faults: readonly Diagnostic[];
}

/** Parses and checks a text as `orrery check` does, without the shapes that ptxas miscompiles. */
export function readPtxText(path: string, text: string): PtxRead {
  const { module, diagnostics } = parsePtx(text, path);
  return { module, faults: [...diagnostics, ...checkPtx(module)] };
}

/** The range of a fault: of a whole instruction where the fault is one of the instruction. */
export function rangeOfFault(doc: Doc, index: PtxIndex, d: Diagnostic): Range {
  const range = rangeOf(d);
  if (d.line === 0) return range;
  const from = doc.text.offsetAt(range.start);
  const instr = index.instrAt(from);
  if (instr === undefined || instr.span.start !== from || d.code === 'ptx-undeclared') return range;
  return doc.text.offsetAt(range.end) === from + 60 ? between(doc.text, from, instr.span.end) : range;
}

/** A name at an offset, and what it is. */
export interface PtxName {
  readonly symbol: PtxSymbol;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export function nameAt(index: PtxIndex, offset: number): PtxName | undefined {
  const token = index.tokenAt(offset);
  if (token === undefined || index.isOpcode(token.index)) return undefined;
  const symbol = index.resolve(token.value, token.start);
  return symbol === undefined ? undefined : { symbol, name: token.value, start: token.start, end: token.end };
}

/** Places of a name, each read or written. */
export function highlightsOf(doc: Doc, index: PtxIndex, name: PtxName): DocumentHighlight[] {
  return index.placesOf(name.symbol, name.name).map(({ start, end }) => {
    const instr = index.instrAt(start);
    const written = instr !== undefined && index.isWritten(instr, start);
    return { range: between(doc.text, start, end), kind: written ? 3 : 2 };
  });
}

/** Characters of names in PTX (PTX ISA 9.0, 4.4). */
const NAME = /^(?:[A-Za-z][\w$]*|[_$%][\w$]+)$/;

/** Why a name cannot be given to a symbol; null if it can. */
export function whyNoName(index: PtxIndex, { symbol, name }: PtxName, to: string): string | null {
  if (!NAME.test(to)) return `'${to}' is no name in PTX: a letter, or one of _ $ % with more behind it`;
  if (specialRegister(to) !== null) return `'${to}' is a special register`;
  const taken = index.resolve(to, symbol.start) ?? index.resolve(to, symbol.fn?.span.start ?? 0);
  if (taken !== undefined && taken !== symbol) return `'${to}' is declared already`;
  if (taken === symbol && to !== name && index.placesOf(symbol, to).length > 0)
    return `'${to}' is in use already`;
  return null;
}

/** Edits that rename a symbol. One of several registers of a declaration gets a declaration of its own. */
export function renamed(doc: Doc, index: PtxIndex, name: PtxName, to: string): TextEdit[] {
  const { symbol } = name;
  const edits = index
    .placesOf(symbol, name.name)
    .map(({ start, end }) => ({ range: between(doc.text, start, end), newText: to }));
  const v = symbol.variable;
  if (v === null || v.count === 0 || name.name === symbol.name || index.resolve(to, symbol.start) === symbol)
    return edits;
  const text = doc.text.getText();
  const eol = text.indexOf(';', symbol.end);
  const at = between(doc.text, eol + 1, eol + 1);
  const column = doc.text.positionAt(v.span.start).character;
  const vector = v.vector > 1 ? ` .v${v.vector}` : '';
  return [...edits, { range: at, newText: `\n${' '.repeat(column)}.reg${vector} .${v.type} ${to};` }];
}

const KIND: Readonly<Record<PtxSymbol['kind'], DocumentSymbol['kind']>> = {
  kernel: SYMBOL.function,
  function: SYMBOL.function,
  parameter: SYMBOL.variable,
  register: SYMBOL.variable,
  variable: SYMBOL.constant,
  label: SYMBOL.key,
  prototype: SYMBOL.key,
};

/** The outline: functions with their parameters, variables and labels, and variables of the module. */
export function symbolsOf(doc: Doc, index: PtxIndex): DocumentSymbol[] {
  const symbol = (s: PtxSymbol, end: number, children: DocumentSymbol[] = []): DocumentSymbol => {
    const v = s.variable;
    const start = v?.span.start ?? s.fn?.span.start ?? s.start;
    const from = Math.min(s.kind === 'label' ? s.start : start, s.start);
    return {
      name: v !== null && v.count > 0 ? `${s.name}<${v.count}>` : s.name || '?',
      detail: v === null ? (s.kind === 'label' ? '' : s.kind) : `.${v.space} .${v.type}`,
      kind: KIND[s.kind],
      range: between(doc.text, from, Math.max(end, s.end)),
      selectionRange: between(doc.text, s.start, s.end),
      ...(children.length === 0 ? {} : { children }),
    };
  };
  const inside = (fn: PtxFunction): DocumentSymbol[] => {
    const all: PtxSymbol[] = [];
    const walk = (s: PtxIndex['root']): void => {
      append(all, [...s.names.values(), ...s.families.values()]);
      s.inner.forEach(walk);
    };
    index.root.inner.filter((s) => s.start === fn.span.start).forEach(walk);
    return all.sort((a, b) => a.start - b.start).map((s) => symbol(s, s.variable?.span.end ?? s.end));
  };
  const globals = [...index.root.names.values()].sort((a, b) => a.start - b.start);
  return globals.map((s) =>
    s.variable === null ? symbol(s, s.fn!.span.end, inside(s.fn!)) : symbol(s, s.variable.span.end),
  );
}

/** Foldable ranges: functions, blocks, and comments of several lines. */
export function ptxFolds(doc: Doc, index: PtxIndex): FoldingRange[] {
  const out: FoldingRange[] = [];
  const add = (start: number, end: number): void => {
    const a = doc.text.positionAt(start).line;
    const b = doc.text.positionAt(end).line;
    if (b > a) out.push({ startLine: a, endLine: b });
  };
  const blocks = (body: readonly PtxStatement[]): void => {
    for (const s of body)
      if (s.kind === 'scope') {
        add(s.span.start, s.span.end);
        blocks(s.body);
      }
  };
  for (const item of index.module.items)
    if (item.kind === 'function' && item.body !== null) {
      add(item.span.start, item.span.end);
      blocks(item.body);
    }
  return [...out, ...commentFolds(doc, '//')];
}
