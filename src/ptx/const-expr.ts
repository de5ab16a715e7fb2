/**
 * Constant expressions (PTX ISA 9.0, 4.5): C operators over 64-bit integers, and arithmetic and comparison over doubles. Where the manual
 * is silent, the behaviour is that of ptxas 13.0: `%` treats both operands as unsigned, and both arms of `?:` are evaluated. Signed
 * overflow and shifts by 64 or more, which ptxas wraps silently, are errors here.
 */

import { doubleBits, doubleOf } from './lexer.ts';
import type { Reader } from './reader.ts';
import * as t from './tokens.ts';

/** Value of a constant expression: an integer of 64 bits, or the bits of a float. */
export interface Constant {
  /** Width of a float, 0 for an integer. */
  readonly float: 0 | 32 | 64;
  readonly value: bigint;
  /** Whether an integer is of type `.u64`: by an operand, by the suffix U, or because it does not fit `.s64`. */
  readonly unsigned: boolean;
}

/** The predefined constant of PTX ISA 9.0, 4.5.3. */
export const WARP_SZ = 'WARP_SZ';
const WARP_SIZE = 32n;

/** Precedence of binary operators by token kind, as in C; 0 for other tokens. */
const LEVEL = new Uint8Array(512);
for (const [level, kinds] of [
  [t.OR_OR],
  [t.AND_AND],
  [t.BAR],
  [t.CARET],
  [t.AMPERSAND],
  [t.EQUAL, t.NOT_EQUAL],
  [t.LESS, t.GREATER, t.LESS_EQUAL, t.GREATER_EQUAL],
  [t.SHIFT_LEFT, t.SHIFT_RIGHT],
  [t.PLUS, t.MINUS],
  [t.STAR, t.SLASH, t.PERCENT],
].entries())
  for (const k of kinds) LEVEL[k] = level + 1;

/** Maximum nesting of parentheses and operators; real code has three or four levels. */
const DEEPEST = 200;

/**
 * Parses and evaluates a constant expression at the current token.
 *
 * @param taken token kind of a unary operator (`-` or `!`) that the caller has already consumed; 0 for none
 * @throws BAIL after reporting division by zero, overflow, a type mismatch or a malformed expression
 */
export function constant(r: Reader, taken = 0): Constant {
  const { lx } = r;
  if (taken === 0 && lx.kind === t.INT) {
    const first = literal(r);
    return LEVEL[lx.kind] === 0 && lx.kind !== t.QUESTION ? first : conditional(r, binary(r, first, 1, 0), 0);
  }
  const start = taken === 0 ? lx.start : lx.last - 1;
  const first = taken === 0 ? unary(r, 0) : negated(r, taken, unary(r, 1), start);
  return conditional(r, binary(r, first, 1, 0), 0);
}

/** Parses a constant expression that must be an integer. @throws BAIL as `constant` does */
export function integer(r: Reader, taken = 0): Constant {
  const start = r.lx.start;
  const c = constant(r, taken);
  if (c.float !== 0)
    r.failAt(start, r.lx.last - start, 'expected an integer, found a floating-point constant');
  return c;
}

function conditional(r: Reader, c: Constant, depth: number): Constant {
  const { lx } = r;
  if (lx.kind !== t.QUESTION) return c;
  const at = lx.start;
  lx.next();
  const a = whole(r, depth + 1);
  if (lx.kind !== t.COLON) r.fail(`expected ':' of a conditional expression, found ${r.found()}`);
  lx.next();
  const b = whole(r, depth + 1);
  if (c.float !== 0 || a.float !== 0 || b.float !== 0)
    r.failAt(at, 1, "the operands of '?:' must be integers");
  return c.value !== 0n ? a : b;
}

function whole(r: Reader, depth: number): Constant {
  return conditional(r, binary(r, unary(r, depth), 1, depth), depth);
}

function binary(r: Reader, left: Constant, level: number, depth: number): Constant {
  const { lx } = r;
  let a = left;
  for (;;) {
    const op = lx.kind;
    const l = LEVEL[op];
    if (l === 0 || l < level) return a;
    const at = lx.start;
    const length = lx.end - lx.start;
    lx.next();
    const b = binary(r, unary(r, depth + 1), l + 1, depth + 1);
    a = apply(r, op, a, b, at, length);
  }
}

function literal(r: Reader): Constant {
  const { lx } = r;
  const value = lx.int;
  const unsigned = lx.unsigned || value >= 1n << 63n;
  lx.next();
  return { float: 0, value, unsigned };
}

function unary(r: Reader, depth: number): Constant {
  const { lx } = r;
  if (depth > DEEPEST) r.fail(`the expression is nested deeper than ${DEEPEST}`);
  const start = lx.start;
  const kind = lx.kind;
  switch (kind) {
    case t.INT:
      return literal(r);
    case t.DOT:
      if (!/^\d/.test(lx.value)) break;
      lx.takeFraction();
      return unary(r, depth);
    case t.FLOAT: {
      const c: Constant = { float: lx.floatWidth, value: lx.floatBits, unsigned: false };
      lx.next();
      return c;
    }
    case t.IDENT:
      if (lx.value !== WARP_SZ) break;
      lx.next();
      return { float: 0, value: WARP_SIZE, unsigned: false };
    case t.PLUS:
      lx.next();
      return unary(r, depth + 1);
    case t.MINUS:
    case t.BANG:
    case t.TILDE:
      lx.next();
      return negated(r, kind, unary(r, depth + 1), start);
    case t.LPAREN: {
      lx.next();
      if (r.isDot('s64') || r.isDot('u64')) {
        const unsigned = lx.value === 'u64';
        lx.next();
        r.expect(t.RPAREN);
        const x = unary(r, depth + 1);
        if (x.float !== 0) r.failAt(start, lx.last - start, 'a cast takes an integer');
        return {
          float: 0,
          value: unsigned ? BigInt.asUintN(64, x.value) : BigInt.asIntN(64, x.value),
          unsigned,
        };
      }
      const x = whole(r, depth + 1);
      r.expect(t.RPAREN);
      return x;
    }
  }
  return r.fail(`expected a constant, found ${r.found()}`);
}

/** `-x`, `!x`, `~x`. */
function negated(r: Reader, op: number, x: Constant, start: number): Constant {
  if (op === t.MINUS && x.float !== 0)
    return { float: x.float, value: x.value ^ (1n << BigInt(x.float - 1)), unsigned: false };
  if (x.float !== 0) r.failAt(start, 1, `'${String.fromCharCode(op)}' takes an integer`);
  if (op === t.MINUS) return fit(r, -x.value, x.unsigned, start, 1);
  if (op === t.BANG) return truth(x.value === 0n);
  return { float: 0, value: BigInt.asUintN(64, ~x.value), unsigned: true };
}

const TRUE: Constant = { float: 0, value: 1n, unsigned: false };
const FALSE: Constant = { float: 0, value: 0n, unsigned: false };
const truth = (x: boolean): Constant => (x ? TRUE : FALSE);

/** The result of a comparison; null for any other operator. */
function compared<T extends number | bigint>(op: number, x: T, y: T): Constant | null {
  switch (op) {
    case t.EQUAL:
      return truth(x === y);
    case t.NOT_EQUAL:
      return truth(x !== y);
    case t.LESS:
      return truth(x < y);
    case t.GREATER:
      return truth(x > y);
    case t.LESS_EQUAL:
      return truth(x <= y);
    case t.GREATER_EQUAL:
      return truth(x >= y);
    default:
      return null;
  }
}

/** Brings a result into 64 bits: unsigned wraps, signed must fit. */
function fit(r: Reader, value: bigint, unsigned: boolean, at: number, length: number): Constant {
  if (unsigned) return { float: 0, value: BigInt.asUintN(64, value), unsigned };
  if (value !== BigInt.asIntN(64, value))
    r.failAt(at, length, 'constant expression overflows 64 bits', ["write 'U' after an operand to wrap"]);
  return { float: 0, value, unsigned };
}

function apply(r: Reader, op: number, a: Constant, b: Constant, at: number, length: number): Constant {
  if (a.float !== 0 || b.float !== 0) return applyFloat(r, op, a, b, at, length);
  // The usual conversions: with one side unsigned, both are.
  const unsigned = a.unsigned || b.unsigned;
  const x = unsigned ? BigInt.asUintN(64, a.value) : a.value;
  const y = unsigned ? BigInt.asUintN(64, b.value) : b.value;
  const comparison = compared(op, x, y);
  if (comparison !== null) return comparison;
  switch (op) {
    case t.OR_OR:
      return truth(x !== 0n || y !== 0n);
    case t.AND_AND:
      return truth(x !== 0n && y !== 0n);
    case t.BAR:
      return { float: 0, value: x | y, unsigned };
    case t.CARET:
      return { float: 0, value: x ^ y, unsigned };
    case t.AMPERSAND:
      return { float: 0, value: x & y, unsigned };
    case t.SHIFT_LEFT:
    case t.SHIFT_RIGHT: {
      if (b.value < 0n || b.value > 63n) r.failAt(at, length, `shift by ${b.value} is outside 0..63`);
      const v = op === t.SHIFT_LEFT ? a.value << b.value : a.value >> b.value;
      const value = a.unsigned ? BigInt.asUintN(64, v) : BigInt.asIntN(64, v);
      return { float: 0, value, unsigned: a.unsigned };
    }
    case t.PLUS:
      return fit(r, x + y, unsigned, at, length);
    case t.MINUS:
      return fit(r, x - y, unsigned, at, length);
    case t.STAR:
      return fit(r, x * y, unsigned, at, length);
  }
  if (y === 0n) r.failAt(at, length, 'division by zero in a constant expression');
  if (op === t.SLASH) return fit(r, x / y, unsigned, at, length);
  const rest = BigInt.asUintN(64, x) % BigInt.asUintN(64, y);
  return { float: 0, value: unsigned ? rest : BigInt.asIntN(64, rest), unsigned };
}

function applyFloat(r: Reader, op: number, a: Constant, b: Constant, at: number, length: number): Constant {
  if (a.float !== 64 || b.float !== 64)
    r.failAt(at, length, 'the two sides differ in type', [
      a.float === 32 || b.float === 32
        ? 'a single-precision pattern (0f...) takes no operator'
        : 'write both as integers or both as floating-point constants',
    ]);
  const x = doubleOf(a.value);
  const y = doubleOf(b.value);
  const comparison = compared(op, x, y);
  if (comparison !== null) return comparison;
  switch (op) {
    case t.PLUS:
      return real(x + y);
    case t.MINUS:
      return real(x - y);
    case t.STAR:
      return real(x * y);
    case t.SLASH:
      if (y === 0) r.failAt(at, length, 'division by zero in a constant expression');
      return real(x / y);
  }
  return r.failAt(at, length, 'this operator takes integers');
}

const real = (v: number): Constant => ({ float: 64, value: doubleBits(v), unsigned: false });
