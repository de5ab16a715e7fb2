import type { Lexer } from './lexer.ts';
import { Tok } from './lexer.ts';

/** A constant expression that has no value: where and why. */
export class ConstantError extends Error {
  readonly start: number;
  constructor(message: string, start: number) {
    super(message);
    this.start = start;
  }
}

/** Predefined constants of PTX ISA 9.0, 4.5.3. */
const NAMED: Readonly<Record<string, bigint>> = { WARP_SZ: 32n };

/** Precedence of the binary operators, C's. */
const LEVEL: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '|': 3,
  '^': 4,
  '&': 5,
  '==': 6,
  '!=': 6,
  '<': 7,
  '>': 7,
  '<=': 7,
  '>=': 7,
  '<<': 8,
  '>>': 8,
  '+': 9,
  '-': 9,
  '*': 10,
  '/': 10,
  '%': 10,
};

interface Value {
  readonly v: bigint;
  /** Expressions with an unsigned operand are unsigned (PTX ISA 9.0, 4.5.5). */
  readonly u: boolean;
}

/** Deepest nesting of parentheses and operators; real code has three or four. */
const DEEPEST = 200;

/**
 * Reads an integer constant expression at the lexer's token: C operators over 64-bit values.
 * @throws ConstantError on division by zero, a value beyond 64 bits, or a malformed expression
 */
export function constantExpression(lx: Lexer, depth = 0): { value: bigint; unsigned: boolean } {
  const r = ternary(lx, depth);
  return { value: r.v, unsigned: r.u };
}

function ternary(lx: Lexer, depth: number): Value {
  const c = binary(lx, 1, depth);
  if (!lx.is('?')) return c;
  lx.next();
  const a = ternary(lx, depth + 1);
  if (!lx.is(':')) throw new ConstantError("expected ':' of a conditional expression", lx.start);
  lx.next();
  const b = ternary(lx, depth + 1);
  return c.v !== 0n ? a : b;
}

function binary(lx: Lexer, level: number, depth: number): Value {
  let a = unary(lx, depth);
  for (;;) {
    const op = lx.kind === Tok.Punct ? lx.value : '';
    const l = LEVEL[op];
    if (l === undefined || l < level) return a;
    const at = lx.start;
    lx.next();
    a = apply(op, a, binary(lx, l + 1, depth + 1), at);
  }
}

function unary(lx: Lexer, depth: number): Value {
  if (depth > DEEPEST) throw new ConstantError(`expression is nested deeper than ${DEEPEST}`, lx.start);
  const at = lx.start;
  if (lx.kind === Tok.Int) {
    const r = { v: lx.int, u: lx.unsigned || lx.int >= 1n << 63n };
    if (lx.int >= 1n << 64n) throw new ConstantError('integer constant does not fit 64 bits', at);
    lx.next();
    return r;
  }
  if (lx.kind === Tok.Ident && NAMED[lx.value] !== undefined) {
    const v = NAMED[lx.value];
    lx.next();
    return { v, u: false };
  }
  if (lx.is('(')) {
    lx.next();
    // `(.s64) x` and `(.u64) x` are casts.
    if (lx.kind === Tok.Dot && (lx.value === 's64' || lx.value === 'u64')) {
      const u = lx.value === 'u64';
      lx.next();
      if (!lx.is(')')) throw new ConstantError("expected ')' of a cast", lx.start);
      lx.next();
      const x = unary(lx, depth + 1);
      return { v: u ? BigInt.asUintN(64, x.v) : BigInt.asIntN(64, x.v), u };
    }
    const r = ternary(lx, depth + 1);
    if (!lx.is(')')) throw new ConstantError("expected ')'", lx.start);
    lx.next();
    return r;
  }
  if (lx.kind === Tok.Punct && '+-!~'.includes(lx.value)) {
    const op = lx.value;
    lx.next();
    const x = unary(lx, depth + 1);
    if (op === '-') return fit(-x.v, x.u, at);
    if (op === '~') return fit(~x.v, x.u, at);
    if (op === '!') return { v: x.v === 0n ? 1n : 0n, u: false };
    return x;
  }
  throw new ConstantError('expected an integer constant', at);
}

/** Brings a result into 64 bits: unsigned wraps, signed must fit. */
function fit(v: bigint, u: boolean, at: number): Value {
  if (u) return { v: BigInt.asUintN(64, v), u };
  if (v !== BigInt.asIntN(64, v)) throw new ConstantError('constant expression overflows 64 bits', at);
  return { v, u };
}

function apply(op: string, a: Value, b: Value, at: number): Value {
  const u = a.u || b.u;
  const truth = (x: boolean): Value => ({ v: x ? 1n : 0n, u: false });
  switch (op) {
    case '||':
      return truth(a.v !== 0n || b.v !== 0n);
    case '&&':
      return truth(a.v !== 0n && b.v !== 0n);
    case '|':
      return { v: a.v | b.v, u };
    case '^':
      return { v: a.v ^ b.v, u };
    case '&':
      return { v: a.v & b.v, u };
    case '==':
      return truth(a.v === b.v);
    case '!=':
      return truth(a.v !== b.v);
    case '<':
      return truth(a.v < b.v);
    case '>':
      return truth(a.v > b.v);
    case '<=':
      return truth(a.v <= b.v);
    case '>=':
      return truth(a.v >= b.v);
    case '<<':
    case '>>':
      if (b.v < 0n || b.v > 63n) throw new ConstantError(`shift by ${b.v} is outside 0..63`, at);
      return op === '<<'
        ? { v: a.u ? BigInt.asUintN(64, a.v << b.v) : BigInt.asIntN(64, a.v << b.v), u: a.u }
        : { v: a.v >> b.v, u: a.u };
    case '+':
      return fit(a.v + b.v, u, at);
    case '-':
      return fit(a.v - b.v, u, at);
    case '*':
      return fit(a.v * b.v, u, at);
    default:
      if (b.v === 0n) throw new ConstantError(`division by zero in a constant expression`, at);
      return fit(op === '/' ? a.v / b.v : a.v % b.v, u, at);
  }
}
