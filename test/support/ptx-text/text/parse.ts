import { Unsupported } from '../table/case.ts';
import { BodyReader } from './body.ts';
import { declaration, parameter, startsDeclaration } from './declarations.ts';
import { Reader } from './reader.ts';
import { type Module, type PtxFunction, Scope, type Variable } from './syntax.ts';

/*
 * Modules: PTX ISA, 11.
 */

/** Directives before a body, whose numeric arguments are kept. */
const NUMBERED = new Set([
  '.maxntid',
  '.reqntid',
  '.minnctapersm',
  '.maxnctapersm',
  '.maxnreg',
  '.reqnctapercluster',
  '.maxclusterrank',
]);
const FLAGS = new Set(['.noreturn', '.explicitcluster', '.blocksareclusters']);
const LINKING = new Set(['.visible', '.extern', '.weak', '.common']);

interface Parts {
  readonly variables: Variable[];
  readonly functions: Map<string, PtxFunction>;
  readonly scope: Scope;
  addressBits: number;
}

/** Reads a module. @throws SyntaxFault for text that is not PTX, Unsupported for what the interpreter does not implement */
export function parse(text: string): Module {
  const r = new Reader(text);
  const parts: Parts = { variables: [], functions: new Map(), scope: new Scope(null), addressBits: 64 };
  while (r.peek().kind !== 'end') item(r, parts);
  return { ...parts, functions: [...parts.functions.values()] };
}

function item(r: Reader, parts: Parts): void {
  const t = r.peek();
  switch (t.text) {
    case '.version':
    case '.target':
    case '.file':
      r.next();
      r.restOfLine();
      return;
    case '.address_size':
      r.next();
      parts.addressBits = Number(r.next().text);
      return;
    case '.pragma':
      while (!r.take(';')) r.next();
      return;
    case '.section':
      r.next();
      r.next();
      r.skipBraces();
      return;
    case ';':
      r.next();
      return;
  }
  let isExtern = false;
  while (LINKING.has(r.peek().text)) isExtern = r.next().text === '.extern' || isExtern;
  if (startsDeclaration(r)) variables(r, parts, isExtern);
  else if (r.is('.entry') || r.is('.func')) aFunction(r, parts);
  else throw new Unsupported(`${r.peek().text} in a module`);
}

function variables(r: Reader, parts: Parts, isExtern: boolean): void {
  const none = (): never => r.fail('a register of a module');
  for (const v of declaration(r, isExtern, none)) {
    if (v.kind === 'register') continue;
    if (!parts.scope.declare(v.name, v)) r.fail(`'${v.name}' is declared twice`);
    parts.variables.push(v);
  }
}

function aFunction(r: Reader, parts: Parts): void {
  const kind = r.next().text === '.entry' ? 'entry' : 'func';
  const body = new BodyReader(r);
  const scope = new Scope(parts.scope);
  const list = () => r.list(')', () => parameter(r, body.register)).flat();
  const results = kind === 'func' && r.take('(') ? list() : [];
  const name = r.word();
  const params = r.take('(') ? list() : [];
  const directives = new Map<string, readonly number[]>();
  while (!r.is('{') && !r.is(';')) directive(r, directives);
  parts.scope.declare(name, { kind: 'function', name });
  for (const p of [...results, ...params])
    if (p.name !== '_' && !scope.declare(p.name, p)) r.fail(`'${p.name}' is declared twice`);
  const read = r.take(';') ? null : body.read(scope);
  // A declaration may precede the definition.
  if (read === null && parts.functions.has(name)) return;
  parts.functions.set(name, { name, kind, results, params, body: read, directives });
}

function directive(r: Reader, into: Map<string, readonly number[]>): void {
  const word = r.next().text;
  if (FLAGS.has(word)) into.set(word.slice(1), []);
  else if (NUMBERED.has(word)) {
    const numbers = [Number(r.next().text)];
    while (r.take(',')) numbers.push(Number(r.next().text));
    into.set(word.slice(1), numbers);
  } else if (word === '.pragma') while (!r.take(';')) r.next();
  else throw new Unsupported(`${word} in front of a body`);
}
