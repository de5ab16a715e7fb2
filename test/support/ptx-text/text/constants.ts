import type { Reader } from './reader.ts';
import type { Constant } from './syntax.ts';

/*
 * Constant expressions: PTX ISA, 4.5.4 and 4.5.5.
 */

/** Binary operators by precedence, weakest first. */
const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!='],
  ['<', '>', '<=', '>='],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
];

const integer = (value: bigint, unsigned: boolean): Constant => ({
  kind: 'integer',
  value: unsigned ? BigInt.asUintN(64, value) : BigInt.asIntN(64, value),
  unsigned,
});
const truth = (holds: boolean): Constant => integer(holds ? 1n : 0n, false);

const view = new DataView(new ArrayBuffer(8));
const numberOf = (bits: bigint): number => {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
};
const float = (x: number): Constant => {
  view.setFloat64(0, x);
  return { kind: 'float', bits: view.getBigUint64(0), single: false };
};

/** Whether the next token can begin a constant expression. */
export const startsConstant = (r: Reader): boolean => {
  const t = r.peek();
  return (
    t.kind === 'integer' ||
    t.kind === 'float' ||
    (t.kind === 'mark' && ['-', '+', '~', '('].includes(t.text)) ||
    t.text === 'WARP_SZ'
  );
};

/** Reads a constant expression. */
export function constant(r: Reader): Constant {
  const condition = binary(r, 0);
  if (!r.take('?')) return condition;
  const yes = constant(r);
  r.expect(':');
  const no = constant(r);
  const value = isTrue(r, condition) ? yes : no;
  if (yes.kind !== 'integer' || no.kind !== 'integer' || value.kind !== 'integer') return value;
  return integer(value.value, yes.unsigned || no.unsigned);
}

/** Reads a constant expression of integer type. */
export function integerConstant(r: Reader): bigint {
  const c = constant(r);
  return c.kind === 'integer' ? c.value : r.fail('an integer expected');
}

function isTrue(r: Reader, c: Constant): boolean {
  return c.kind === 'integer' ? c.value !== 0n : r.fail('an integer expected');
}

function binary(r: Reader, level: number): Constant {
  if (level === LEVELS.length) return unary(r);
  let left = binary(r, level + 1);
  for (;;) {
    const t = r.peek();
    if (t.kind !== 'mark' || !LEVELS[level].includes(t.text)) return left;
    r.next();
    left = apply(r, t.text, left, binary(r, level + 1));
  }
}

function unary(r: Reader): Constant {
  if (r.take('+')) return unary(r);
  if (r.take('-')) {
    const c = unary(r);
    return c.kind === 'integer'
      ? integer(-c.value, c.unsigned)
      : { ...c, bits: c.bits ^ (1n << (c.single ? 31n : 63n)) };
  }
  if (r.take('!')) return truth(!isTrue(r, unary(r)));
  if (r.take('~')) {
    const c = unary(r);
    return c.kind === 'integer' ? integer(~c.value, true) : r.fail('an integer expected');
  }
  if (r.take('(')) {
    const cast = r.take('.s64') ? false : r.take('.u64') ? true : null;
    if (cast !== null) {
      r.expect(')');
      const c = unary(r);
      return c.kind === 'integer' ? integer(c.value, cast) : r.fail('an integer expected');
    }
    const c = constant(r);
    r.expect(')');
    return c;
  }
  const t = r.next();
  if (t.kind === 'integer') return integer(t.value, t.unsigned);
  if (t.kind === 'float') return { kind: 'float', bits: t.bits, single: t.single };
  if (t.text === 'WARP_SZ') return integer(32n, false);
  return r.fail(`a constant expected, not '${t.text}'`);
}

function apply(r: Reader, op: string, a: Constant, b: Constant): Constant {
  if (a.kind === 'float' || b.kind === 'float') {
    if (a.kind !== b.kind) r.fail('integers and floating-point numbers in one expression');
    return onFloats(r, op, a as Constant & { kind: 'float' }, b as Constant & { kind: 'float' });
  }
  const unsigned = a.unsigned || b.unsigned;
  const [x, y] = unsigned ? [BigInt.asUintN(64, a.value), BigInt.asUintN(64, b.value)] : [a.value, b.value];
  const amount = BigInt.asUintN(64, b.value);
  switch (op) {
    case '+':
      return integer(x + y, unsigned);
    case '-':
      return integer(x - y, unsigned);
    case '*':
      return integer(x * y, unsigned);
    case '/':
      return y === 0n ? r.fail('a division by zero') : integer(x / y, unsigned);
    case '%':
      return y === 0n ? r.fail('a division by zero') : integer(BigInt.asUintN(64, a.value) % amount, false);
    case '<<':
      return integer(amount > 63n ? 0n : a.value << amount, a.unsigned);
    case '>>':
      return integer(a.value >> (amount > 64n ? 64n : amount), a.unsigned);
    case '&':
      return integer(x & y, unsigned);
    case '|':
      return integer(x | y, unsigned);
    case '^':
      return integer(x ^ y, unsigned);
    case '&&':
      return truth(x !== 0n && y !== 0n);
    case '||':
      return truth(x !== 0n || y !== 0n);
    default:
      return truth(related(op, x, y));
  }
}

function related<T extends bigint | number>(op: string, x: T, y: T): boolean {
  switch (op) {
    case '<':
      return x < y;
    case '>':
      return x > y;
    case '<=':
      return x <= y;
    case '>=':
      return x >= y;
    case '==':
      return x === y;
    default:
      return x !== y;
  }
}

function onFloats(
  r: Reader,
  op: string,
  a: Constant & { kind: 'float' },
  b: Constant & { kind: 'float' },
): Constant {
  if (a.single || b.single) r.fail('0f is a number, and no part of an expression');
  const [x, y] = [numberOf(a.bits), numberOf(b.bits)];
  if (op === '+') return float(x + y);
  if (op === '-') return float(x - y);
  if (op === '*') return float(x * y);
  if (op === '/') return float(x / y);
  if (!['<', '>', '<=', '>=', '==', '!='].includes(op)) r.fail(`${op} of floating-point numbers`);
  return truth(related(op, x, y));
}
