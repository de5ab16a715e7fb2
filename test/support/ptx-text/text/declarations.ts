import { Unsupported } from '../table/case.ts';
import { TYPES, type Type, type } from '../values/types.ts';
import { constant, integerConstant, startsConstant } from './constants.ts';
import type { Reader } from './reader.ts';
import type { Initial, Register, Space, Variable } from './syntax.ts';

/*
 * Declarations: PTX ISA, 5.4 and 11.
 */

const SPACES: ReadonlySet<string> = new Set(['reg', 'param', 'shared', 'local', 'global', 'const']);

/** Whether the next token begins a declaration. */
export const startsDeclaration = (r: Reader): boolean => {
  const t = r.peek();
  return t.kind === 'dot' && SPACES.has(t.text.slice(1));
};

interface Head {
  readonly space: Space;
  readonly type: Type;
  /** Number of elements of a vector type. */
  readonly vector: number;
  readonly align: number | null;
}

/** The state space, alignment and type that precede the names of a declaration. */
function head(r: Reader): Head {
  const space = r.next().text.slice(1) as Space;
  if (r.is('[')) throw new Unsupported('banks of constants');
  let align: number | null = null;
  let vector = 1;
  let found: Type | null = null;
  for (let t = r.peek(); t.kind === 'dot'; t = r.peek()) {
    const word = r.next().text.slice(1);
    if (word === 'align') align = Number(integerConstant(r));
    else if (word === 'v2' || word === 'v4' || word === 'v8') vector = Number(word[1]);
    else if (word === 'attribute') skipAttribute(r);
    else if (word === 'ptr') pointerAttribute(r);
    else if (TYPES.has(word)) found = type(word);
    else throw new Unsupported(`.${word} in a declaration`);
  }
  if (found === null) r.fail('a declaration without a type');
  return { space, type: found, vector, align };
}

function skipAttribute(r: Reader): void {
  r.expect('(');
  for (let depth = 1; depth > 0; ) {
    const t = r.next().text;
    depth += t === '(' ? 1 : t === ')' ? -1 : 0;
  }
}

/** `.ptr .global .align 8`: what a parameter points to. */
function pointerAttribute(r: Reader): void {
  if (['.global', '.const', '.local', '.shared'].includes(r.peek().text)) r.next();
  if (r.take('.align')) integerConstant(r);
}

/** Array dimensions: their sizes; null if one is omitted (`[]`); undefined if the declaration is no array. */
function dimensions(r: Reader): number[] | null | undefined {
  if (!r.is('[')) return undefined;
  const out: number[] = [];
  let open = false;
  while (r.take('[')) {
    if (r.take(']')) {
      open = true;
      continue;
    }
    out.push(Number(integerConstant(r)));
    r.expect(']');
  }
  return open ? null : out;
}

function initial(r: Reader): Initial {
  if (r.take('{')) return { kind: 'list', elements: r.list('}', () => initial(r)) };
  if (r.peek().kind === 'word' && !startsConstant(r)) return symbol(r, null);
  // A mask is a number in front of parentheses.
  if (r.peek().kind === 'integer' && r.peek(1).text === '(') {
    const mask = integerConstant0(r);
    r.expect('(');
    const inner = initial(r);
    r.expect(')');
    if (inner.kind === 'symbol') return { ...inner, mask };
    if (inner.kind === 'list' || inner.constant.kind !== 'integer')
      r.fail('an address or an integer expected');
    const value = (inner.constant.value & mask) >> shiftOf(mask);
    return { kind: 'number', constant: { kind: 'integer', value, unsigned: true } };
  }
  return { kind: 'number', constant: constant(r) };
}

/** One integer literal, not an expression. */
function integerConstant0(r: Reader): bigint {
  const t = r.next();
  return t.kind === 'integer' ? t.value : r.fail('an integer expected');
}

/** Position of the lowest set bit of a mask. */
export const shiftOf = (mask: bigint): bigint => {
  let k = 0n;
  while (((mask >> k) & 1n) === 0n) k++;
  return k;
};

function symbol(r: Reader, mask: bigint | null): Initial {
  const generic = r.is('generic') && r.peek(1).text === '(';
  if (generic) {
    r.next();
    r.expect('(');
  }
  const name = r.word();
  let offset = r.is('+') || r.is('-') ? integerConstant(r) : 0n;
  if (generic) {
    r.expect(')');
    if (r.is('+') || r.is('-')) offset += integerConstant(r);
  }
  return { kind: 'symbol', name, offset, generic, mask };
}

/** Minimum number of array elements that a list of initial values implies. */
const count = (i: Initial | null): number => (i === null || i.kind !== 'list' ? 1 : i.elements.length);

/** Declares a register and gives it its number. */
export type NewRegister = (name: string, type: Type) => Register;

/** The names that share one head: `%r<9>`, `a[4] = {1}` and so on. */
function names(r: Reader, h: Head, isExtern: boolean, register: NewRegister): (Register | Variable)[] {
  const name = r.word();
  if (r.take('<')) {
    const n = Number(integerConstant0(r));
    r.expect('>');
    return Array.from({ length: n }, (_, k) =>
      one(`${name}${k}`, h, undefined, null, isExtern, register),
    ).flat();
  }
  const dims = dimensions(r);
  const first = r.take('=') ? initial(r) : null;
  return one(name, h, dims, first, isExtern, register);
}

function one(
  name: string,
  h: Head,
  dims: number[] | null | undefined,
  first: Initial | null,
  isExtern: boolean,
  register: NewRegister,
): (Register | Variable)[] {
  if (h.space === 'reg') {
    if (h.vector === 1) return [register(name, h.type)];
    return ['x', 'y', 'z', 'w'].slice(0, h.vector).map((e) => register(`${name}.${e}`, h.type));
  }
  const bytes = h.type.width / 8;
  const length =
    dims === undefined
      ? 1
      : dims !== null
        ? dims.reduce((a, b) => a * b, 1)
        : first === null
          ? null
          : count(first);
  return [
    {
      kind: 'variable',
      space: h.space,
      name,
      type: h.type,
      elementBytes: bytes,
      align: h.align ?? bytes * h.vector,
      length: length === null ? null : length * h.vector,
      initial: first,
      isExtern,
    },
  ];
}

/** Reads a declaration and its semicolon. */
export function declaration(r: Reader, isExtern: boolean, register: NewRegister): (Register | Variable)[] {
  const h = head(r);
  const out: (Register | Variable)[] = [];
  do out.push(...names(r, h, isExtern, register));
  while (r.take(','));
  r.expect(';');
  return out;
}

/** Reads a parameter of a function, without the separator after it. */
export function parameter(r: Reader, register: NewRegister): (Register | Variable)[] {
  const h = head(r);
  return names(r, h, false, register);
}
