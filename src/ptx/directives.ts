/** Parser for directives other than declarations of variables (PTX ISA 9.0, chapter 11), and error recovery. */

import { didYouMean } from '../ir/diagnostic.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { PtxItem, PtxStatement } from './ast.ts';
import { SPACES } from './declarations.ts';
import { versionNumber } from './forms.ts';
import { BAIL, type Reader } from './reader.ts';
import { PTX_TARGETS } from './targets.ts';
import * as t from './tokens.ts';

/** Linking directives. */
export const LINKAGE: ReadonlySet<string> = new Set(['extern', 'visible', 'weak', 'common']);

/** Directives between a function's header and its body, with the least and the greatest number of their arguments. */
const HEADER_DIRECTIVES: Readonly<Record<string, readonly [number, number]>> = {
  maxnreg: [1, 1],
  maxntid: [1, 3],
  reqntid: [1, 3],
  minnctapersm: [1, 1],
  maxnctapersm: [1, 1],
  noreturn: [0, 0],
  abi_preserve: [1, 1],
  abi_preserve_control: [1, 1],
  maxclusterrank: [1, 1],
  reqnctapercluster: [1, 3],
  explicitcluster: [0, 0],
  blocksareclusters: [0, 0],
};

/** Directives that begin an item at module level. */
export const MODULE_DIRECTIVES: ReadonlySet<string> = new Set([
  'version',
  'target',
  'address_size',
  ...LINKAGE,
  ...SPACES,
  'func',
  'entry',
  'file',
  'section',
  'pragma',
  'alias',
]);

/** Directives that begin a statement in a body. */
export const BODY_DIRECTIVES: ReadonlySet<string> = new Set([...SPACES, ...LINKAGE, 'loc', 'pragma']);

/** Fails at a directive that is not allowed here, with a suggestion among `candidates`. @param where the place, for the message */
export function unknownDirective(r: Reader, candidates: ReadonlySet<string>, where: string): never {
  const { value } = r.lx;
  const known =
    Object.hasOwn(HEADER_DIRECTIVES, value) || MODULE_DIRECTIVES.has(value) || BODY_DIRECTIVES.has(value);
  if (known) r.fail(`'.${value}' is not allowed ${where}`);
  if (/^(branchtargets|calltargets|callprototype)$/.test(value))
    r.fail(`'.${value}' needs a label before it`);
  r.fail(`unknown directive '.${value}'`, r.suggest(value, candidates, '.'));
}

/**
 * Parses the directives between header and body (11.4) and appends each to `out` as normalized text: `.maxntid 256, 1, 1`.
 *
 * @param files receives the `.file` directives among them; null if none are allowed
 */
export function headerDirectives(
  r: Reader,
  out: string[],
  files: { push(x: PtxItem): unknown } | null,
): void {
  const { lx } = r;
  while (lx.kind === t.DOT) {
    const name = lx.value;
    if (name === 'pragma') {
      lx.next();
      out.push(
        `.pragma ${strings(r)
          .map((x) => `"${x}"`)
          .join(', ')}`,
      );
      r.expect(t.SEMICOLON);
      continue;
    }
    if (name === 'file' && files !== null) {
      files.push(file(r));
      continue;
    }
    const bounds = entryOf(HEADER_DIRECTIVES, name);
    if (bounds === undefined) {
      if (MODULE_DIRECTIVES.has(name)) return;
      unknownDirective(r, new Set([...Object.keys(HEADER_DIRECTIVES), 'pragma']), "in a function's header");
    }
    lx.next();
    const numbers: string[] = [];
    while (numbers.length < bounds[1]) {
      if (numbers.length > 0) {
        if (lx.kind !== t.COMMA) break;
        lx.next();
      }
      numbers.push(String(r.int(`a number after '.${name}'`)));
    }
    out.push(numbers.length === 0 ? `.${name}` : `.${name} ${numbers.join(', ')}`);
  }
}

/** Parses one or more quoted strings, separated by commas. */
export function strings(r: Reader): string[] {
  const { lx } = r;
  const out = [r.string('a quoted string')];
  while (lx.kind === t.COMMA) {
    lx.next();
    out.push(r.string('a quoted string'));
  }
  return out;
}

/** Maximum number of names in a range: the maximum number of targets of a jump table. */
const MOST_NAMES = 65_536;

/**
 * Parses a list of names: `a, b, c;`
 * @param what the kind of name, for messages
 * @param ranges whether `a<3>` stands for a0, a1 and a2 (PTX ISA 9.0, .branchtargets)
 */
export function names(r: Reader, what: string, ranges = false): string[] {
  const { lx } = r;
  const out: string[] = [];
  for (;;) {
    const name = r.ident(what);
    if (ranges && lx.kind === t.LESS) {
      lx.next();
      const count = r.int('how many');
      if (count < 1n || count > MOST_NAMES) r.fail(`'${name}<${count}>' stands for ${count} names`);
      r.expect(t.GREATER);
      for (let k = 0; k < count; k++) out.push(`${name}${k}`);
    } else out.push(name);
    if (lx.kind !== t.COMMA) break;
    lx.next();
  }
  r.expect(t.SEMICOLON);
  return out;
}

/** Parses `, name` in a `.loc`. */
function attribute(r: Reader, name: string): void {
  const { lx } = r;
  r.expect(t.COMMA);
  if (lx.kind !== t.IDENT || lx.value !== name) r.fail(`expected '${name}', found ${r.found()}`);
  lx.next();
}

/** Skips an optional `+4` after a label or a section. */
function offset(r: Reader): void {
  if (r.lx.kind !== t.PLUS) return;
  r.lx.next();
  r.int('an offset');
}

/** Parses `.loc 1 20 3` or `.loc 1 20 3, function_name $L__info_string0+4, inlined_at 1 30 5`; neither ends with a semicolon. */
export function loc(r: Reader): PtxStatement {
  const { lx } = r;
  const span = r.here();
  lx.next();
  const file = r.word('a file number');
  const line = r.word('a line');
  const column = r.word('a column');
  if (lx.kind !== t.COMMA) return { kind: 'loc', file, line, column, rest: '', span: r.upTo(span) };
  const start = lx.start;
  attribute(r, 'function_name');
  r.ident('a label');
  offset(r);
  attribute(r, 'inlined_at');
  for (const what of ['a file number', 'a line', 'a column']) r.word(what);
  const rest = r.text.slice(start, lx.last).replace(/\s+/g, ' ');
  return { kind: 'loc', file, line, column, rest, span: r.upTo(span) };
}

/** Parses `.target sm_80, debug`. A second directive must equal the first, since a module is for one target. */
export function target(r: Reader): readonly string[] {
  const { lx } = r;
  const at = lx.start;
  lx.next();
  const found = targets(r);
  if (r.target.length > 0 && found.join() !== r.target.join())
    r.reportAt(at, lx.last - at, "a second '.target' names something else");
  r.target = found;
  return found;
}

/** Parses `.target` in a body, where ptxas 13.0.88 accepts and ignores any known target. */
export function targetInBody(r: Reader): void {
  const { lx } = r;
  lx.next();
  const at = lx.start;
  for (const name of targets(r))
    if (!PTX_TARGETS.has(name))
      r.reportAt(at, lx.last - at, `unknown target '${name}'`, didYouMean(name, PTX_TARGETS));
}

/** Parses `.file 1 "a.cu", time, size`. */
export function file(r: Reader): PtxItem {
  const { lx } = r;
  const span = r.here();
  lx.next();
  const index = r.word('a file number');
  const name = r.string('a quoted file name');
  while (lx.kind === t.COMMA) {
    lx.next();
    r.int('a time stamp or a size');
  }
  return { kind: 'file', index, name, span: r.upTo(span) };
}

/** Types of section data, with their least and greatest integers; null: ptxas 13.0 accepts integers that do not fit the type. */
const SECTION_TYPES: ReadonlyMap<string, readonly [bigint, bigint] | null> = new Map([
  ['b8', [-(2n ** 7n), 2n ** 8n - 1n]],
  ['b16', [-(2n ** 15n), 2n ** 16n - 1n]],
  ['b32', null],
  ['b64', null],
]);

/** The first PTX versions with labels in sections, and with differences of labels (ptxas 13.0). */
const LABELS = '7.0';
const DIFFERENCES = '7.5';

/**
 * Parses `.section .debug_str { label: .b8 1, 2 ... }`, which is kept as text (PTX ISA 9.0, 11.5.2, and what ptxas 13.0 accepts).
 * @param version PTX version of the module; '' if it states none
 */
export function section(r: Reader, version: string): PtxItem {
  const { lx } = r;
  const span = r.here();
  lx.next();
  if (lx.kind !== t.DOT) r.fail(`expected the name of a section, found ${r.found()}`);
  lx.next();
  r.expect(t.LBRACE);
  const labels = new Set<string>();
  while (lx.kind !== t.RBRACE) {
    if (lx.kind === t.DOT) sectionData(r, version);
    else if (lx.kind === t.IDENT) {
      needs(r, version, LABELS, 'a label in a section');
      if (labels.has(lx.value)) r.report(`label '${lx.value}' is declared twice`);
      labels.add(lx.value);
      lx.next();
      r.expect(t.COLON);
    } else r.fail(`expected data, a label or '}' of the section, found ${r.found()}`);
  }
  lx.next();
  return { kind: 'verbatim', directive: 'section', span: r.upTo(span) };
}

function needs(r: Reader, version: string, first: string, what: string): void {
  if (version !== '' && versionNumber(version) < versionNumber(first))
    r.report(`${what} needs PTX ${first} or newer`, [`this is PTX ${version}`]);
}

/** Parses `.b8 1, 2`, `.b32 label+4`, `.b64 label-label` or `.b32 .debug_abbrev`. */
function sectionData(r: Reader, version: string): void {
  const { lx } = r;
  const type = lx.value;
  const range = SECTION_TYPES.get(type);
  if (range === undefined)
    r.fail(`'.${type}' is not a type of section data: these are .b8, .b16, .b32 and .b64`);
  lx.next();
  if (lx.kind === t.INT || lx.kind === t.MINUS) {
    sectionInt(r, type, range);
    while (lx.kind === t.COMMA) {
      lx.next();
      sectionInt(r, type, range);
    }
    return;
  }
  if (lx.kind !== t.DOT && lx.kind !== t.IDENT)
    r.fail(`expected an integer, a label or a section, found ${r.found()}`);
  if (range !== null) r.report(`'.${type}' holds integers: a label or a section needs .b32 or .b64`);
  const isLabel = lx.kind === t.IDENT;
  lx.next();
  if (isLabel && lx.kind === t.MINUS) {
    needs(r, version, DIFFERENCES, 'a difference of labels');
    lx.next();
    r.ident('a label');
  } else offset(r);
}

function sectionInt(r: Reader, type: string, range: readonly [bigint, bigint] | null): void {
  const { lx } = r;
  const at = lx.start;
  const minus = lx.kind === t.MINUS;
  if (minus) lx.next();
  const size = r.int('an integer');
  const value = minus ? -size : size;
  if (range !== null && (value < range[0] || value > range[1]))
    r.reportAt(at, lx.last - at, `${value} is out of range for .${type}`);
}

/** Parses `.pragma "a", "b";` at module level. */
export function pragma(r: Reader): PtxItem {
  const span = r.here();
  r.lx.next();
  strings(r);
  r.expect(t.SEMICOLON);
  return { kind: 'verbatim', directive: 'pragma', span: r.upTo(span) };
}

/** Parses `.alias name, aliasee;`. */
export function alias(r: Reader): PtxItem {
  const { lx } = r;
  const span = r.here();
  lx.next();
  const name = r.ident('the name of the alias');
  r.expect(t.COMMA);
  const of = r.ident('the function it stands for');
  r.expect(t.SEMICOLON);
  return { kind: 'alias', name, of, span: r.upTo(span) };
}

/** Parses the rest of a line `@@DWARF ...` (PTX 1). */
export function dwarfLine(r: Reader): PtxItem {
  const { lx } = r;
  const span = r.here();
  lx.next();
  if (lx.kind !== t.AT) r.fail(`expected '@@DWARF', found ${r.found()}`);
  do lx.next();
  while (!lx.first && lx.kind !== t.END);
  return { kind: 'verbatim', directive: 'dwarf', span: r.upTo(span) };
}

/** Parses `sm_90a, debug`. */
function targets(r: Reader): string[] {
  const { lx } = r;
  const out = [r.ident('a target such as sm_90')];
  while (lx.kind === t.COMMA) {
    lx.next();
    out.push(r.ident('a target option'));
  }
  return out;
}

/**
 * Error recovery: skips tokens up to a point where the next item or statement can begin, which is after a `;`, at a line that looks like a
 * beginning, or at the brace that closes the current construct.
 *
 * @param error the exception; anything other than BAIL is thrown again
 * @param startsHere whether an item or statement can begin at the current token, which is the first of its line
 * @param closeIsOurs whether to stop at a brace that closes more than was skipped, so that the caller sees it
 */
export function recover(r: Reader, error: unknown, startsHere: () => boolean, closeIsOurs: boolean): void {
  if (error !== BAIL) throw error;
  const { lx } = r;
  // Progress: the faulty token must not be parsed again.
  let depth = 0;
  if (lx.start === r.begin && lx.kind !== t.END) {
    if (lx.kind === t.LBRACE) depth = 1;
    lx.next();
  }
  for (;;) {
    if (lx.kind === t.END || (lx.first && startsHere())) return;
    if (lx.kind === t.LBRACE) depth++;
    else if (lx.kind === t.RBRACE) {
      if (depth === 0 && closeIsOurs) return;
      depth--;
      if (depth <= 0 && !closeIsOurs) {
        lx.next();
        return;
      }
    } else if (lx.kind === t.SEMICOLON && depth <= 0) {
      lx.next();
      return;
    }
    lx.next();
  }
}

/** Can an item of the module other than a variable without linkage begin at the current token? */
export const itemStarts = (r: Reader): boolean =>
  r.lx.kind === t.DOT && MODULE_DIRECTIVES.has(r.lx.value) && !SPACES.has(r.lx.value);
