/** Parser for variables, parameters and their initialisers (PTX ISA 9.0, 5.4). */
import type { Init, PtxSpace, Span, VarDecl } from './ast.ts';
import { constant, integer, WARP_SZ } from './const-expr.ts';
import type { Reader } from './reader.ts';
import * as t from './tokens.ts';

/** The state spaces in which variables can be declared. */
export const SPACES: ReadonlySet<string> = new Set([
  'reg',
  'const',
  'global',
  'local',
  'param',
  'shared',
  'tex',
]);

/**
 * Bytes of a scalar of each type that variables can have. Types such as `.bf16` and `.tf32` are types of instructions only (PTX ISA 9.0,
 * 5.2). Opaque handles have 64 bits.
 */
export const TYPE_BYTES: Readonly<Record<string, number>> = {
  ...{ b8: 1, u8: 1, s8: 1, b16: 2, u16: 2, s16: 2, f16: 2, b32: 4, u32: 4, s32: 4, f32: 4, f16x2: 4 },
  ...{ b64: 8, u64: 8, s64: 8, f64: 8, texref: 8, samplerref: 8, surfref: 8, b128: 16 },
  pred: 1,
};
const TYPES: ReadonlySet<string> = new Set(Object.keys(TYPE_BYTES));
/** Types of instructions whose values are held in registers of `.b` types (PTX ISA 9.0, 5.2.3). */
const INSTRUCTION_TYPES: ReadonlySet<string> = new Set(['bf16', 'bf16x2', 'tf32', 'f32x2', 'u16x2', 's16x2']);
const OPAQUE: ReadonlySet<string> = new Set(['texref', 'samplerref', 'surfref']);

/** Maximum count in `%r<N>`: more than any function can have. */
const MOST_REGISTERS = 2 ** 31 - 1;
/** Maximum nesting of an initialiser, far beyond the dimensions of real arrays. */
const DEEPEST = 32;
/** Maximum number of elements of all initialisers of a module: each takes about eighty bytes of memory. */
const MOST_ELEMENTS = 2 ** 24;

/** Parses `.global .align 4 .u32 a, b[4] = {...};` from the first directive after the linkage on, and appends the variables to `out`. */
export function variables(
  r: Reader,
  span: Span,
  linkage: VarDecl['linkage'],
  out: { push(v: VarDecl): unknown },
): void {
  const { lx } = r;
  const first = variable(r, span, linkage);
  out.push(first);
  while (lx.kind === t.COMMA) {
    lx.next();
    out.push(declarator(r, r.here(), first));
  }
  if (lx.kind === t.SEMICOLON) lx.next();
  else if (lx.first || lx.kind === t.RBRACE) r.reportAt(lx.last - 1, 1, `expected ';' after '${first.name}'`);
  else r.fail(`expected ',' or ';', found ${r.found()}`);
}

/** Parses `(.param .b32 a, .reg .pred p)`: the parameters or results of a function. */
export function parameters(r: Reader): VarDecl[] {
  const { lx } = r;
  r.expect(t.LPAREN);
  const out: VarDecl[] = [];
  while (lx.kind !== t.RPAREN) {
    if (lx.kind !== t.DOT)
      r.fail(`expected a parameter such as '.param .u32 name' or ')', found ${r.found()}`);
    out.push(variable(r, r.here(), ''));
    if (lx.kind === t.COMMA) lx.next();
    else if (lx.kind !== t.RPAREN) r.fail(`expected ',' or ')', found ${r.found()}`);
  }
  lx.next();
  return out;
}

function variable(r: Reader, span: Span, linkage: VarDecl['linkage']): VarDecl {
  const { lx } = r;
  let space: PtxSpace | '' = '';
  let type = '';
  let vector = 1;
  let align = 0;
  let attributes: string[] | null = null;
  let ptr: VarDecl['ptr'] = null;
  while (lx.kind === t.DOT) {
    const d = lx.value;
    if (TYPES.has(d) && type === '') type = d;
    else if (SPACES.has(d) && ptr !== null) ptr = { space: d, align: ptr.align };
    else if (SPACES.has(d) && space === '') space = d as PtxSpace;
    else if (d === 'ptr' && type !== '') ptr = { space: '', align: 0 };
    else if (d === 'align' && (type === '' || ptr !== null)) {
      lx.next();
      const at = lx.start;
      const a = Number(r.int('an alignment'));
      if (a <= 0 || !Number.isInteger(Math.log2(a)))
        r.reportAt(at, lx.last - at, `an alignment of ${a} is not a power of two`);
      if (ptr !== null) ptr = { space: ptr.space, align: a };
      else align = a;
      continue;
    } else if (d === 'attribute') {
      attributes ??= [];
      attributes.push(attribute(r));
      continue;
    } else if ((d === 'v2' || d === 'v4') && type === '') vector = d === 'v2' ? 2 : 4;
    else unexpected(r, d, space, type);
    lx.next();
  }
  if (space === '') r.fail(`expected a state space such as .reg or .param, found ${r.found()}`);
  if (type === '') r.fail(`expected a type such as .u32, found ${r.found()}`);
  const base: VarDecl = {
    kind: 'variable',
    span,
    linkage,
    space,
    type,
    vector,
    align,
    name: '',
    dims: NONE,
    init: null,
    attributes: attributes ?? NO_ATTRIBUTES,
    ptr,
    count: 0,
  };
  return declarator(r, span, base);
}

const NONE: readonly number[] = [];
const NO_ATTRIBUTES: readonly string[] = [];

function unexpected(r: Reader, d: string, space: string, type: string): never {
  if (d === 'align') r.fail("'.align' must precede the type");
  if (type !== '') r.fail(`expected a name after '.${type}', found ${r.found()}`);
  if (space !== '' && SPACES.has(d)) r.fail(`'.${d}' after '.${space}': a variable has one state space`);
  const candidates = space === '' ? SPACES : [...TYPES, 'align', 'v2', 'v4'];
  if (INSTRUCTION_TYPES.has(d))
    r.fail(`'.${d}' is a type of instructions, not of variables`, [
      "declare registers of it '.b16', '.b32' or '.b64'",
    ]);
  r.fail(`'.${d}' is not a ${space === '' ? 'state space' : 'type'}`, r.suggest(d, candidates, '.'));
}

/** Parses a name with its dimensions, count and initialiser; everything else is copied from `base`. */
function declarator(r: Reader, span: Span, base: VarDecl): VarDecl {
  const { lx } = r;
  if (lx.kind === t.IDENT && lx.value === WARP_SZ) r.fail(`'${WARP_SZ}' is a constant of PTX and no name`);
  // A prototype's parameters have no names.
  if (lx.kind === t.IDENT && lx.value === '_' && base.space !== 'param' && base.space !== 'reg')
    r.fail("'_' is not a name");
  const name = r.ident('a name');
  let count = 0;
  let dims = NONE;
  if (lx.kind === t.LESS) {
    lx.next();
    const at = lx.start;
    const n = r.int('a count of registers');
    if (base.space !== 'reg') r.failAt(at, lx.last - at, 'only registers are declared by count');
    if (n > MOST_REGISTERS) r.failAt(at, lx.last - at, `${n} registers are more than a function can have`);
    count = Number(n);
    r.expect(t.GREATER);
    // `%r<0>` declares no register; its name must not be taken for the single register `%r`.
    if (count === 0) return { ...base, span: r.upTo(span), name: `${name}<0>`, count };
  }
  if (lx.kind === t.LBRACKET) dims = dimensions(r, name, base);
  let init: Init | null = null;
  let attributes = base.attributes;
  if (lx.kind === t.EQUALS) {
    lx.next();
    if (OPAQUE.has(base.type)) attributes = [...attributes, ...fields(r)];
    else init = initialiser(r, 0);
  }
  return {
    kind: 'variable',
    span: r.upTo(span),
    linkage: base.linkage,
    space: base.space,
    type: base.type,
    vector: base.vector,
    align: base.align,
    name,
    dims,
    init,
    attributes,
    ptr: base.ptr,
    count,
  };
}

function dimensions(r: Reader, name: string, base: VarDecl): number[] {
  const { lx } = r;
  const dims: number[] = [];
  while (lx.kind === t.LBRACKET) {
    lx.next();
    if (lx.kind === t.RBRACKET) {
      if (dims.length > 0) r.fail('only the first dimension of an array can be open');
      dims.push(0);
    } else {
      const at = lx.start;
      const n = integer(r).value;
      if (n < 0n || n >= 1n << 40n) r.failAt(at, lx.last - at, `an array cannot have ${n} elements`);
      dims.push(Number(n));
    }
    r.expect(t.RBRACKET);
  }
  r.declareArray(name, TYPE_BYTES[base.type]);
  return dims;
}

/** Parses `.attribute(.managed, .unified(1, 2))`. @returns its text, with comments and blanks collapsed */
export function attribute(r: Reader): string {
  const { lx } = r;
  const start = lx.start;
  lx.next();
  r.expect(t.LPAREN);
  let depth = 1;
  while (depth > 0) {
    if (lx.kind === t.LPAREN) depth++;
    else if (lx.kind === t.RPAREN) depth--;
    else if (lx.kind !== t.DOT && lx.kind !== t.COMMA && lx.kind !== t.INT && lx.kind !== t.IDENT)
      r.fail(`expected an attribute or ')', found ${r.found()}`);
    lx.next();
  }
  return r.text.slice(start, lx.last).replace(/(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/g, ' ');
}

/** Parses `{ addr_mode_0 = wrap, filter_mode = nearest }` of a texture, sampler or surface. @returns the fields as text */
function fields(r: Reader): string[] {
  const { lx } = r;
  const out: string[] = [];
  r.expect(t.LBRACE);
  while (lx.kind !== t.RBRACE) {
    const name = r.ident('a field such as filter_mode');
    r.expect(t.EQUALS);
    const value = lx.kind === t.IDENT ? r.ident('a value') : String(integer(r).value);
    out.push(`${name} = ${value}`);
    if (lx.kind === t.COMMA) lx.next();
    else if (lx.kind !== t.RBRACE) r.fail(`expected ',' or '}', found ${r.found()}`);
  }
  lx.next();
  return out;
}

function initialiser(r: Reader, depth: number): Init {
  const { lx } = r;
  if (depth > DEEPEST) r.fail(`the initialiser is nested deeper than ${DEEPEST}`);
  if (lx.kind === t.LBRACE) {
    lx.next();
    const items: Init[] = [];
    for (;;) {
      items.push(initialiser(r, depth + 1));
      if (lx.kind === t.RBRACE) break;
      if (lx.kind !== t.COMMA) r.fail(`expected ',' or '}', found ${r.found()}`);
      lx.next();
    }
    lx.next();
    return { kind: 'list', items };
  }
  if (++r.elements > MOST_ELEMENTS) r.fail(`the initialisers have more than ${MOST_ELEMENTS} elements`);
  if (lx.kind === t.IDENT && lx.value !== WARP_SZ) return symbolAddress(r, -1);
  if (lx.kind === t.STRING) r.fail('a string is not an initialiser', ['write the bytes: {72, 105, 0}']);
  const start = lx.start;
  const c = constant(r);
  if (c.float !== 0) return { kind: 'float', bits: c.value, width: c.float };
  if (lx.kind !== t.LPAREN) return { kind: 'int', value: c.value };
  // `0xFF00(symbol)`: the byte of the address that the mask selects.
  let byte = 0;
  while (byte < 8 && 0xffn << BigInt(8 * byte) !== c.value) byte++;
  if (byte === 8)
    r.failAt(start, lx.last - start, 'a mask selects one byte of an address', [
      '0xFF, 0xFF00, 0xFF0000, ...',
    ]);
  lx.next();
  const a = symbolAddress(r, byte);
  r.expect(t.RPAREN);
  return a;
}

/** Parses `symbol+4` or `generic(symbol)+4`. */
function symbolAddress(r: Reader, byte: number): Init {
  const { lx } = r;
  let symbol = r.ident('a symbol');
  const generic = symbol === 'generic' && lx.kind === t.LPAREN;
  let addend = 0n;
  if (generic) {
    lx.next();
    symbol = r.ident('a symbol');
    addend = offset(r);
    r.expect(t.RPAREN);
  }
  return { kind: 'address', symbol, addend: addend + offset(r), generic, byte };
}

function offset(r: Reader): bigint {
  const { lx } = r;
  if (lx.kind !== t.PLUS && lx.kind !== t.MINUS) return 0n;
  const minus = lx.kind === t.MINUS;
  lx.next();
  return integer(r, minus ? t.MINUS : 0).value;
}
