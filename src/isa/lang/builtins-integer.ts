import { TextError } from '../../ir/text-error.ts';
import { type Builtin, definer, flag, node, word } from './builtin.ts';
import type { CoreOp } from './graph.ts';
import type { Expr } from './parse.ts';
import { bitsOf, type Scope } from './values.ts';

/** Functions on integers and bits. */
export const INTEGERS = new Map<string, Builtin>();
const define = definer(INTEGERS);

/** Rejects one-bit values, for which the operation makes no sense. */
function several(s: Scope, id: number, at: number): number {
  if (s.b.width(id) === 1) throw new TextError('a value of one bit', at, 1, ['zext gives it more']);
  return id;
}

for (const op of ['shl', 'lshr', 'ashr'] as const)
  define(`${op}(x, amount)`, (s, [x, n], want) => {
    const a = several(s, node(s, x, want), x.at);
    return bitsOf(s.b.make(op, s.b.width(a), [a, node(s, n, 32)]));
  });

const pair = (s: Scope, x: Expr, y: Expr, want: number | null): [number, number] =>
  s.together(s.eval(x, want), s.eval(y, want), want, x.at, y.at);

const less = (s: Scope, x: number, y: number, signed: boolean): number =>
  s.b.make(signed ? 'slt' : 'ult', 1, [x, y], '', '', signed ? s.b.width(x) : 0);
define('slt(x, y)', (s, [x, y]) => bitsOf(less(s, ...pair(s, x, y, null), true)));
define('ult(x, y)', (s, [x, y]) => bitsOf(less(s, ...pair(s, x, y, null), false)));
define('lt(x, y, signed)', (s, [x, y, g]) => bitsOf(less(s, ...pair(s, x, y, null), flag(s, g))));
define('uge(x, y)', (s, [x, y]) => bitsOf(s.b.make('not', 1, [less(s, ...pair(s, x, y, null), false)])));
define('umin(x, y)', (s, [x, y], want) => {
  const [a, b] = pair(s, x, y, want);
  return bitsOf(s.b.make('ite', s.b.width(a), [less(s, a, b, false), a, b]));
});

const arithmetic = (op: CoreOp): Builtin['make'] => {
  return (s, [x, y], want) => {
    const [a, b] = pair(s, x, y, want);
    return bitsOf(s.b.make(op, s.b.width(several(s, a, x.at)), [a, b]));
  };
};
for (const op of ['udiv', 'sdiv', 'urem', 'srem'] as const) define(`${op}(x, y)`, arithmetic(op));
define('mulhi(x, y, signed)', (s, args, want, at) =>
  arithmetic(flag(s, args[2]) ? 'smulh' : 'umulh')(s, args, want, at),
);

/** Carry out of x + y + c: the majority of the top bits of x, y and the complement of the sum. */
define('carry(x, y, c)', (s, [x, y, c]) => {
  const [a, b] = pair(s, x, y, null);
  const w = s.b.width(a);
  const or = (p: number, q: number) => s.b.make('or', w, [p, q]);
  const and = (p: number, q: number) => s.b.make('and', w, [p, q]);
  const add = (p: number, q: number) => s.b.make('add', w, [p, q]);
  const sum = add(add(a, b), s.b.make('zext', w, [node(s, c, 1)]));
  const out = or(and(a, b), and(or(a, b), s.b.make('not', w, [sum])));
  return bitsOf(s.b.make('extract', 1, [out], '', '', w - 1));
});

for (const op of ['popc', 'clz'] as const)
  define(`${op}(x)`, (s, [x]) => {
    const a = node(s, x, null);
    return bitsOf(s.b.make(op, 32, [a], '', '', s.b.width(a)));
  });
define('brev(x)', (s, [x], want) => {
  const a = several(s, node(s, x, want), x.at);
  return bitsOf(s.b.make('brev', s.b.width(a), [a]));
});
/** A truth table that is not constant: the disjunction of the minterms whose bit is set. */
function minterms(s: Scope, inputs: readonly number[], table: number): number {
  const w = s.b.width(inputs[0]);
  let sum = s.b.constant(0n, w);
  for (let k = 0; k < 8; k++) {
    const bit = s.b.make('extract', 1, [table], '', '', k);
    let term = w === 1 ? bit : s.b.make('sext', w, [bit], '', '', 1);
    inputs.forEach((x, i) => {
      const on = ((k >> (2 - i)) & 1) === 1;
      term = s.b.make('and', w, [term, on ? x : s.b.make('not', w, [x])]);
    });
    sum = s.b.make('or', w, [sum, term]);
  }
  return sum;
}

define('lop3(x, y, z, table)', (s, [x, y, z, t], want) => {
  const [a, b] = pair(s, x, y, want);
  const c = node(s, z, s.b.width(a));
  if (s.b.width(c) !== s.b.width(a))
    throw new TextError(`operands of ${s.b.width(a)} and ${s.b.width(c)} bits`, z.at);
  const table = node(s, t, 32);
  const lut = s.b.constantOf(table);
  if (lut === null) return bitsOf(minterms(s, [a, b, c], table));
  return bitsOf(s.b.make('lop3', s.b.width(a), [a, b, c], '', '', Number(lut & 0xffn)));
});
define('prmt(x, y, selector, mode)', (s, [x, y, n, m]) => {
  const mode = word(s, m, ['IDX', 'F4E', 'B4E', 'RC8', 'ECL', 'ECR', 'RC16']);
  return bitsOf(s.b.make('prmt', 32, [node(s, x, 32), node(s, y, 32), node(s, n, 32)], '', mode));
});
