import { specialRegister } from '../../ptx/lower/special-registers.ts';
import * as t from '../../ptx/tokens.ts';
import type { Doc } from '../document.ts';
import { TOKEN_TYPES, type TokenType } from '../kinds.ts';
import type { PtxIndex } from './index.ts';

/** Numbers of types in the legend. */
const NUMBER = Object.fromEntries(TOKEN_TYPES.map((name, i) => [name, i])) as Readonly<
  Record<TokenType, number>
>;

const DECLARATION = 1;
const READONLY = 2;

/** Names after a dot that are types of values. */
const TYPE = /^\.(?:[busf]|bf|tf)\d+(?:x\d)?$|^\.(?:pred|texref|samplerref|surfref)$/;

/**
 * Semantic tokens between two offsets, in the encoding of the protocol: for each, lines and characters from the one before, length, type
 * and modifiers.
 */
export function ptxTokens(doc: Doc, index: PtxIndex, from = 0, to = Number.POSITIVE_INFINITY): number[] {
  const data: number[] = [];
  let line = 0;
  let character = 0;
  const add = (start: number, end: number, type: TokenType, modifiers = 0): void => {
    const p = doc.text.positionAt(start);
    data.push(
      p.line - line,
      p.line === line ? p.character - character : p.character,
      end - start,
      NUMBER[type],
      modifiers,
    );
    line = p.line;
    character = p.character;
  };
  const text = doc.text.getText();
  let last = from;
  for (let i = index.indexAt(from); i < index.count && index.start(i) < to; i++) {
    const start = index.start(i);
    const end = index.end(i);
    comments(text, last, start, add);
    last = end;
    const kind = index.kind(i);
    if (kind === t.INT || kind === t.FLOAT) add(start, end, 'number');
    else if (kind === t.STRING && !text.slice(start, end).includes('\n')) add(start, end, 'string');
    else if (kind === t.DOT) add(start, end, TYPE.test(text.slice(start, end)) ? 'type' : 'modifier');
    else if (kind === t.IDENT) {
      const [type, modifiers] = typeOf(index, i);
      add(start, end, type, modifiers);
    }
  }
  comments(text, last, Math.min(text.length, to), add);
  return data;
}

/** Tokens of the comments between two offsets, one for each line. */
function comments(
  text: string,
  from: number,
  to: number,
  add: (start: number, end: number, type: TokenType) => void,
): void {
  if (to - from < 2) return;
  const gap = text.slice(from, to);
  if (!gap.includes('/')) return;
  for (const m of gap.matchAll(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g)) {
    let at = from + m.index;
    for (const part of m[0].split('\n')) {
      if (part.length > 0) add(at, at + part.length, 'comment');
      at += part.length + 1;
    }
  }
}

function typeOf(index: PtxIndex, i: number): [TokenType, number] {
  const name = index.value(i);
  if (index.isOpcode(i)) return ['keyword', 0];
  const start = index.start(i);
  const symbol = index.resolve(name, start);
  if (symbol === undefined) return specialRegister(name) === null ? ['variable', 0] : ['variable', READONLY];
  const declared = symbol.start === start ? DECLARATION : 0;
  if (symbol.kind === 'kernel' || symbol.kind === 'function') return ['function', declared];
  if (symbol.kind === 'label' || symbol.kind === 'prototype') return ['label', declared];
  return [symbol.kind === 'parameter' ? 'parameter' : 'variable', declared];
}
