import { append } from '../ir/append.ts';
import type { Diagnostic } from '../ir/diagnostic.ts';
import type { PtxFunction, PtxItem, PtxModule, PtxStatement, Span, VarDecl } from './ast.ts';
import { body } from './body.ts';
import { attribute, parameters, SPACES, variables } from './declarations.ts';
import {
  alias,
  dwarfLine,
  file,
  headerDirectives,
  itemStarts,
  LINKAGE,
  MODULE_DIRECTIVES,
  pragma,
  recover,
  section,
  target,
  unknownDirective,
} from './directives.ts';
import { opaqueFunctions } from './opaque-calls.ts';
import { Reader } from './reader.ts';
import { isNewer } from './targets.ts';
import * as t from './tokens.ts';

/**
 * Parses PTX text (PTX ISA 9.0 and earlier). After an error, parsing resumes at the next statement, so that one run reports all errors.
 * Names and types are checked by `checkPtx`.
 *
 * @param text contents of the file
 * @param name name of the file, for messages
 * @param declared opcodes in addition to those of the PTX ISA (`Isa.declared`)
 * @returns the tree of everything that could be parsed, and the errors: at most 100, followed by the number of further ones
 */
export function parsePtx(
  text: string,
  name: string,
  declared: ReadonlySet<string> = NO_OPCODES,
): { module: PtxModule; diagnostics: Diagnostic[] } {
  const r = new Reader(text, name, declared);
  const head: Head = { version: '', target: [], addressSize: 64 };
  const items: PtxItem[] = [];
  const starts = () => itemStarts(r);
  const blank = r.lx.kind === t.END;
  const other = noPtx(text, name);
  if (other !== null) {
    r.reportAt(other.at, other.length, other.message, other.notes);
    return { module: { name, text, ...head, items }, diagnostics: r.finish() };
  }
  if (!blank && !r.isDot('version')) r.report(NO_VERSION);
  while (r.lx.kind !== t.END) {
    r.begin = r.lx.start;
    try {
      item(r, head, items);
    } catch (e) {
      r.arrays.length = 1;
      recover(r, e, starts, false);
    }
  }
  // The file has only comments; a fault in one of them has already been reported.
  if (blank && r.diagnostics.length === 0) r.reportAt(0, 1, NO_VERSION);
  append(items, opaqueFunctions(items));
  return { module: { name, text, ...head, items }, diagnostics: r.finish() };
}

const NO_OPCODES: ReadonlySet<string> = new Set();

/** State spaces whose variables are mostly declared in bodies. */
const IN_BODIES: ReadonlySet<string> = new Set(['reg', 'sreg', 'local', 'param']);

const NO_VERSION = "a PTX file must begin with '.version'";

/** Text that occurs only in CUDA sources: qualifiers, and preprocessor lines other than #line. */
const CUDA =
  /\b__(?:global|device|host|shared|constant)__\b|^[ \t]*#[ \t]*(?:include|define|ifndef|pragma once)\b/m;

/** The one error to report for a text that is not PTX at all, instead of many that follow from it; null if it may be PTX. */
function noPtx(
  text: string,
  name: string,
): {
  readonly at: number;
  readonly length: number;
  readonly message: string;
  readonly notes: readonly string[];
} | null {
  if (text.trim() === '') return { at: 0, length: 1, message: 'the file is empty', notes: [] };
  if (/^[^\S\n\r\u2028\u2029]*\.version\b/m.test(text)) return null;
  const cuda = CUDA.exec(text);
  if (cuda === null) return null;
  const notes = [`\`nvcc -ptx ${name.endsWith('.cu') ? name : 'FILE.cu'}\` compiles it to PTX`];
  return { at: cuda.index, length: cuda[0].length, message: 'this is CUDA C++, not PTX', notes };
}

/** The directives that occur once in a module. */
interface Head {
  version: string;
  target: readonly string[];
  addressSize: 32 | 64;
}

function item(r: Reader, head: Head, items: PtxItem[]): void {
  const { lx } = r;
  if (lx.kind !== t.DOT) {
    if (lx.kind === t.AT && lx.after === t.AT) items.push(dwarfLine(r));
    else if (lx.kind === t.RBRACE) r.fail("'}' closes nothing");
    else if (lx.kind === t.SEMICOLON) {
      r.report("there is no declaration before ';'");
      lx.next();
    } else r.fail(`expected a directive, found ${r.found()}`);
    return;
  }
  const span = r.here();
  switch (lx.value) {
    case 'version':
      version(r, head);
      return;
    case 'target':
      if (items.length > 0) r.report("'.target' must precede everything in a module except '.version'");
      head.target = target(r);
      return;
    case 'address_size':
      if (head.target.length === 0 || items.some((x) => !['verbatim', 'alias', 'file'].includes(x.kind)))
        r.report("'.address_size' must directly follow '.target'");
      addressSize(r, head);
      return;
    case 'file':
      items.push(file(r));
      return;
    case 'section':
      items.push(section(r, head.version));
      return;
    case 'pragma':
      items.push(pragma(r));
      return;
    case 'alias':
      items.push(alias(r));
      return;
  }
  let linkage: VarDecl['linkage'] = '';
  if (LINKAGE.has(lx.value)) {
    linkage = lx.value as VarDecl['linkage'];
    lx.next();
  }
  if (r.isDot('func') || r.isDot('entry')) {
    if (linkage === 'common') r.report("'.common' is for variables");
    items.push(definition(r, span, linkage === 'common' ? '' : linkage, items));
  } else if (lx.kind !== t.DOT) r.fail(`expected .func, .entry or a state space, found ${r.found()}`);
  else if (LINKAGE.has(lx.value)) r.fail(`'.${lx.value}' after '.${linkage}': a name has one linkage`);
  else if (SPACES.has(lx.value) || lx.value === 'align' || lx.value === 'attribute')
    variables(r, span, linkage, items);
  else unknownDirective(r, MODULE_DIRECTIVES, 'outside a function');
}

function version(r: Reader, head: Head): void {
  const { lx } = r;
  if (head.version !== '') r.report("'.version' occurs twice");
  lx.next();
  const text = r.text.slice(lx.start, lx.end);
  if (lx.kind === t.FLOAT && /^\d+\.\d+$/.test(text)) {
    head.version = text;
    r.newer = isNewer(text);
  } else {
    head.version ||= text;
    r.fail(`'.version ${text}' is not of the form major.minor`);
  }
  lx.next();
}

function addressSize(r: Reader, head: Head): void {
  const { lx } = r;
  lx.next();
  const at = lx.start;
  const size = r.int('32 or 64');
  if (size !== 32n && size !== 64n)
    r.reportAt(at, lx.last - at, `'.address_size ${size}' is neither 32 nor 64`);
  head.addressSize = size === 32n ? 32 : 64;
}

/** Parses `.func .attribute(...) (ret) name (params) .directives { ... }`, or such a declaration without a body. */
function definition(r: Reader, span: Span, linkage: PtxFunction['linkage'], items: PtxItem[]): PtxFunction {
  const { lx } = r;
  const entry = lx.value === 'entry';
  lx.next();
  const directives: string[] = [];
  while (r.isDot('attribute')) directives.push(attribute(r));
  if (entry && lx.kind === t.LPAREN) r.fail('an entry returns nothing: expected its name');
  const returns = lx.kind === t.LPAREN ? parameters(r) : [];
  const name = r.ident('a function name');
  const params = lx.kind === t.LPAREN ? parameters(r) : [];
  headerDirectives(r, directives, items);
  let statements: PtxStatement[] | null = null;
  if (lx.kind === t.LBRACE) {
    lx.next();
    statements = [];
    body(r, name, statements);
  } else if (lx.kind === t.SEMICOLON) lx.next();
  // ptxas accepts a declaration without its semicolon. A directive that belongs into a body indicates a missing brace.
  else if (lx.kind !== t.DOT || !MODULE_DIRECTIVES.has(lx.value) || IN_BODIES.has(lx.value))
    r.fail(`expected the body of '${name}' or ';', found ${r.found()}`);
  return {
    kind: 'function',
    span: r.upTo(span),
    linkage,
    entry,
    name,
    returns,
    params,
    directives,
    body: statements,
  };
}
