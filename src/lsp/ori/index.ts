import type { DocumentSymbol, FoldingRange, TextEdit } from 'vscode-languageserver';
import { barrierFaults } from '../../analysis/synchronization/barrier-use.ts';
import type { Diagnostic } from '../../ir/diagnostic.ts';
import type { Isa, Opcode } from '../../ir/opcode.ts';
import { parseProgram } from '../../ir/text.ts';
import { type VerifyError, verifyMessage, verifyProgram } from '../../ir/verify.ts';
import { between, type Doc } from '../document.ts';
import { SYMBOL, TOKEN_TYPES, type TokenType } from '../kinds.ts';
import { commentFolds } from '../specs/outline.ts';

/** A word of Ori text. */
interface OriToken {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly kind: 'opcode' | 'register' | 'label' | 'function' | 'directive' | 'number' | 'comment' | 'other';
  /** Of a register: whether the instruction writes it. */
  readonly written: boolean;
  /** Position in `functions`; -1 outside. */
  readonly fn: number;
}

/** A function and its place in the text. */
interface OriFunction {
  readonly name: string;
  readonly kind: string;
  readonly start: number;
  end: number;
  readonly labels: { readonly name: string; readonly start: number; readonly end: number }[];
}

export interface OriIndex {
  readonly tokens: readonly OriToken[];
  readonly functions: readonly OriFunction[];
}

const WORD = /;.*|\.[A-Za-z]\w*(?=[\s(]|$)|[A-Za-z_$%][\w$%.]*|-?(?:0x[0-9a-fA-F]+|\d+)/g;
const REGISTER = /^(?:U?RD?|U?P|B)\d+$/;
const DIRECTIVE = /^\s*\.(entry|func)\s+([\w$%.]+)/;

/** Words of Ori text with what they are. Ori has one instruction, label or directive in a line. */
export function indexOri(text: string, isa: Isa): OriIndex {
  const tokens: OriToken[] = [];
  const functions: OriFunction[] = [];
  let at = 0;
  let open = -1;
  for (const line of text.split('\n')) {
    const head = DIRECTIVE.exec(line);
    if (head !== null) {
      open = functions.length;
      functions.push({ name: head[2], kind: head[1], start: at, end: at + line.length, labels: [] });
    }
    const label = /^([\w$]+):/.exec(line)?.[1];
    if (open >= 0 && label !== undefined)
      functions[open].labels.push({ name: label, start: at, end: at + label.length });
    addLine(line, at, open, head?.[2], isa, tokens);
    at += line.length + 1;
    if (open >= 0) functions[open].end = at - 1;
    if (/^\s*\}/.test(line)) open = -1;
  }
  return { tokens, functions };
}

function addLine(
  line: string,
  at: number,
  fn: number,
  name: string | undefined,
  isa: Isa,
  out: OriToken[],
): void {
  let opcode: Opcode | undefined;
  let operand = 0;
  let last = 0;
  for (const m of line.matchAll(WORD)) {
    const text = m[0];
    const start = at + m.index;
    const gap = line.slice(last, m.index);
    last = m.index + text.length;
    if (opcode !== undefined) operand += [...gap].filter((c) => c === ',').length;
    const add = (kind: OriToken['kind'], written = false): void =>
      void out.push({ start, end: start + text.length, text, kind, written, fn });
    if (text.startsWith(';')) add('comment');
    else if (text.startsWith('.')) add('directive');
    else if (/^[-\d]/.test(text)) add('number');
    else if (text === name) add('function');
    else if (m.index === 0 && line[text.length] === ':') add('label');
    else if (REGISTER.test(text)) {
      const isGuard = opcode === undefined;
      const address = /\[[^\]]*$/.test(line.slice(0, m.index));
      add('register', !isGuard && !address && operand < (opcode?.dsts.length ?? 0));
    } else if (opcode === undefined && isa.byName.has(text.split('.')[0])) {
      opcode = isa.byName.get(text.split('.')[0]);
      add('opcode');
    } else if (/^BB\d+$/.test(text)) add('label');
    else add('other');
  }
}

/** Faults of Ori text, each at its instruction. */
export function oriFaults(path: string, text: string, isa: Isa): Diagnostic[] {
  const { program, diagnostics } = parseProgram(text, isa, path);
  if (diagnostics.length > 0) return diagnostics;
  return [...verifyProgram(program), ...program.functions.flatMap(barrierFaults)].map((e) => ({
    severity: 'error' as const,
    code: e.rule,
    message: verifyMessage(e),
    file: path,
    ...placeOfError(text, e),
  }));
}

/** The line of an instruction that the verifier rejects. */
function placeOfError(text: string, e: VerifyError): Pick<Diagnostic, 'line' | 'column' | 'length'> {
  const lines = text.split('\n');
  const from = lines.findIndex((l) => DIRECTIVE.exec(l)?.[2] === e.fn);
  if (from < 0) return { line: 0, column: 0, length: 0 };
  const mark = (i: number) => {
    const column = lines[i].length - lines[i].trimStart().length;
    return { line: i + 1, column: column + 1, length: Math.max(1, lines[i].trim().length) };
  };
  const label = e.block < 0 ? -1 : lines.findIndex((l, i) => i > from && l.startsWith(`BB${e.block}:`));
  if (label < 0) return mark(from);
  let left = e.index;
  for (let i = label + 1; left >= 0 && i < lines.length; i++) {
    if (/^\s*(?:;|$)/.test(lines[i])) continue;
    if (left === 0) return mark(i);
    left--;
  }
  return mark(label);
}

/** The word at an offset. */
export const oriTokenAt = (index: OriIndex, offset: number): OriToken | undefined =>
  index.tokens.find((k) => k.start <= offset && offset <= k.end && k.kind !== 'comment');

/** Words that name the same thing: registers and labels in their function, functions everywhere. */
export function samePlaces(index: OriIndex, token: OriToken): readonly OriToken[] {
  if (token.kind === 'register' || token.kind === 'label')
    return index.tokens.filter((k) => k.text === token.text && k.fn === token.fn && k.kind === token.kind);
  const isFunction = index.functions.some((f) => f.name === token.text);
  return isFunction ? index.tokens.filter((k) => k.text === token.text && k.kind !== 'opcode') : [];
}

/** Where a word is defined: a label or function at its line, a register where it is written. */
export const oriDefinitions = (index: OriIndex, token: OriToken): readonly OriToken[] =>
  token.kind === 'register'
    ? samePlaces(index, token).filter((k) => k.written)
    : token.kind === 'label'
      ? samePlaces(index, token).filter((k) => index.functions[k.fn]?.labels.some((l) => l.start === k.start))
      : samePlaces(index, token).filter((k) => k.kind === 'function');

export function oriRename(doc: Doc, index: OriIndex, token: OriToken, to: string): TextEdit[] {
  return samePlaces(index, token).map((k) => ({ range: between(doc.text, k.start, k.end), newText: to }));
}

/** Why a word cannot have a new name; null if it can. */
export function whyNoOriName(index: OriIndex, token: OriToken, to: string): string | null {
  if (token.kind === 'register') {
    const file = (name: string): string => name.replace(/\d+$/, '');
    if (!REGISTER.test(to) || file(to) !== file(token.text))
      return `a register of the same file has a name such as ${file(token.text)}7`;
  } else if (token.kind === 'label') {
    if (!/^BB\d+$/.test(to)) return 'a block has a name such as BB7';
  } else if (!/^[A-Za-z_$%][\w$]*$/.test(to)) return `'${to}' is no name of a function`;
  const taken = index.tokens.some(
    (k) => k.text === to && (token.kind === 'other' || token.kind === 'function' || k.fn === token.fn),
  );
  return taken ? `'${to}' is in use already` : null;
}

export const oriSymbols = (doc: Doc, { functions }: OriIndex): DocumentSymbol[] =>
  functions.map((f) => ({
    name: f.name,
    detail: f.kind,
    kind: SYMBOL.function,
    range: between(doc.text, f.start, f.end),
    selectionRange: between(doc.text, f.start, f.start),
    children: f.labels.map((l) => ({
      name: l.name,
      kind: SYMBOL.key,
      range: between(doc.text, l.start, l.end),
      selectionRange: between(doc.text, l.start, l.end),
    })),
  }));

export const oriFolds = (doc: Doc, { functions }: OriIndex): FoldingRange[] => [
  ...functions.map((f) => ({
    startLine: doc.text.positionAt(f.start).line,
    endLine: doc.text.positionAt(f.end).line,
  })),
  ...commentFolds(doc, ';'),
];

const TYPE: Readonly<Record<OriToken['kind'], TokenType>> = {
  opcode: 'keyword',
  register: 'variable',
  label: 'label',
  function: 'function',
  directive: 'modifier',
  number: 'number',
  comment: 'comment',
  other: 'variable',
};

/** Semantic tokens between two offsets, in the encoding of the protocol. */
export function oriTokens(doc: Doc, { tokens }: OriIndex, from = 0, to = Number.POSITIVE_INFINITY): number[] {
  const data: number[] = [];
  let line = 0;
  let character = 0;
  for (const k of tokens) {
    if (k.end <= from || k.start >= to) continue;
    const p = doc.text.positionAt(k.start);
    const type = TOKEN_TYPES.indexOf(TYPE[k.kind]);
    data.push(
      p.line - line,
      p.line === line ? p.character - character : p.character,
      k.end - k.start,
      type,
      0,
    );
    line = p.line;
    character = p.character;
  }
  return data;
}
