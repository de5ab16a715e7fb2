import { Mod } from '../../ir/opcode.ts';
import { TextError } from '../../ir/text-error.ts';
import { APPROXIMATIONS, FORMATS, type FormatName, RELATIONS } from '../formats.ts';
import { type Builtin, definer, flag, floatType, node, rounding, word } from './builtin.ts';
import { concat } from './builtins-width.ts';
import type { CoreOp } from './graph.ts';
import type { Expr } from './parse.ts';
import { bitsOf, type FloatType, type Scope, type Value } from './values.ts';

/** Functions on floats; most of them take scalars and packed pairs. */
export const FLOATS = new Map<string, Builtin>();
const define = definer(FLOATS);

const half = (s: Scope, x: number, high: boolean): number =>
  s.b.make('extract', 16, [x], '', '', high ? 16 : 0);

/** Applies an operation to scalars, or to both halves of packed values. */
function elementwise(
  s: Scope,
  type: FloatType,
  args: readonly number[],
  at: number,
  f: (args: readonly number[], fmt: FormatName, bits: number) => number,
): number {
  const bits = FORMATS[type.element].bits;
  if (!type.packed) return f(args, type.element, bits);
  const both = [true, false].map((high) =>
    f(
      args.map((a) => half(s, a, high)),
      type.element,
      bits,
    ),
  );
  return concat(s, both[0], both[1], at);
}

/** Evaluates arguments that must be floats of one type; literals among them are bit patterns of that type. @throws TextError */
export function floats(s: Scope, exprs: readonly Expr[], at: number): { args: number[]; type: FloatType } {
  const values = exprs.map((e) => s.eval(e, null));
  const first = values.find((v) => v.k === 'bits' && v.float !== null);
  if (first === undefined || first.k !== 'bits' || first.float === null)
    throw new TextError('no argument is a float', at, 1, ['fin(operand, type) reads an operand as a float']);
  const type = first.float;
  const w = type.packed ? 32 : FORMATS[type.element].bits;
  const args = values.map((v, i) => {
    if (
      v.k === 'bits' &&
      (v.float === null || v.float.element !== type.element || v.float.packed !== type.packed)
    )
      throw new TextError('a float of another type', exprs[i].at, 1, [
        `the first argument is ${typeName(type)}`,
      ]);
    return s.bits(v, w, exprs[i].at);
  });
  return { args, type };
}

const typeName = (t: FloatType): string => (t.packed ? `${t.element}x2` : t.element);

/** Reads an operand as a float: truncates it to the type's width, applies its modifiers to the sign bit, and flushes. */
define('fin(operand, type, ftz?)', (s, [x, t, z], _want, at) => {
  const k = s.sourceIndex(x);
  if (k < 0)
    throw new TextError('fin reads a source operand', x.at, 1, ['float(x, type) reads another value']);
  const type = floatType(s, t);
  const w = type.packed ? 32 : FORMATS[type.element].bits;
  let id = s.rawSource(k);
  if (s.b.width(id) < w) throw new TextError(`${s.b.width(id)} bits cannot hold a ${typeName(type)}`, x.at);
  if (s.b.width(id) > w) id = s.b.make('extract', w, [id]);
  const m = s.sourceMods(k);
  const flush = flag(s, z);
  if (m === 0 && !flush) return bitsOf(id, type);
  const out = elementwise(s, type, [id], at, ([v], fmt, bits) => {
    if ((m & Mod.Abs) !== 0) v = s.b.make('fabs', bits, [v], fmt);
    if ((m & Mod.Neg) !== 0) v = s.b.make('fneg', bits, [v], fmt);
    return flush ? s.b.make('ftz', bits, [v], fmt) : v;
  });
  return bitsOf(out, type);
});
define('float(x, type)', (s, [x, t]) => {
  const type = floatType(s, t);
  const w = type.packed ? 32 : FORMATS[type.element].bits;
  const id = node(s, x, w);
  if (s.b.width(id) !== w) throw new TextError(`${s.b.width(id)} bits cannot be a ${typeName(type)}`, x.at);
  return bitsOf(id, type);
});

/** Finishes a result: flushes subnormals, then clamps to [0, 1] (NaN and -0 give +0). */
define('fout(x, ftz?, sat?)', (s, [x, z, c], _want, at) => {
  const { args, type } = floats(s, [x], at);
  const flush = flag(s, z);
  const clamp = flag(s, c);
  if (!flush && !clamp) return bitsOf(args[0], type);
  const out = elementwise(s, type, args, at, ([v], fmt, bits) => {
    if (flush) v = s.b.make('ftz', bits, [v], fmt);
    if (!clamp) return v;
    const zero = s.b.constant(0n, bits);
    const one = s.b.constant(BigInt(FORMATS[fmt].bias) << BigInt(FORMATS[fmt].mant), bits);
    const below = s.b.make('fcmp', 1, [v, one], fmt, 'LT');
    const above = s.b.make('fcmp', 1, [v, zero], fmt, 'GT');
    return s.b.make('ite', bits, [above, s.b.make('ite', bits, [below, v, one]), zero]);
  });
  return bitsOf(out, type);
});
/** Replaces negative numbers by zero if `on`; NaN is unchanged. */
define('frelu(x, on)', (s, [x, on], _want, at) => {
  const { args, type } = floats(s, [x], at);
  if (!flag(s, on)) return bitsOf(args[0], type);
  const out = elementwise(s, type, args, at, ([v], fmt, bits) => {
    const negative = s.b.make('extract', 1, [v], '', '', bits - 1);
    const number = s.b.make('fcmp', 1, [v, v], fmt, 'NUM');
    return s.b.make('ite', bits, [s.b.make('and', 1, [negative, number]), s.b.constant(0n, bits), v]);
  });
  return bitsOf(out, type);
});
define('fabs(x)', (s, [x], _want, at) => {
  const { args, type } = floats(s, [x], at);
  return bitsOf(
    elementwise(s, type, args, at, (a, fmt, bits) => s.b.make('fabs', bits, a, fmt)),
    type,
  );
});

function rounded(signature: string, op: CoreOp): void {
  define(signature, (s, args, _want, at) => {
    const mode = rounding(s, args[args.length - 1]);
    const x = floats(s, args.slice(0, -1), at);
    return bitsOf(
      elementwise(s, x.type, x.args, at, (a, fmt, bits) => s.b.make(op, bits, a, fmt, mode)),
      x.type,
    );
  });
}
rounded('fadd(x, y, rounding)', 'fadd');
rounded('fmul(x, y, rounding)', 'fmul');
rounded('ffma(x, y, z, rounding)', 'ffma');
rounded('fdiv(x, y, rounding)', 'fdiv');
rounded('fsqrt(x, rounding)', 'fsqrt');
rounded('fround(x, rounding)', 'frint');

define('fcmp(x, y, relation)', (s, [x, y, r], _want, at) => {
  const { args, type } = floats(s, [x, y], at);
  if (type.packed) throw new TextError('fcmp compares scalars; lohalf and hihalf split a packed value', at);
  return bitsOf(s.b.make('fcmp', 1, args, type.element, word(s, r, RELATIONS)));
});
define('lohalf(x)', (s, [x], _want, at) => halfOf(s, x, at, false));
define('hihalf(x)', (s, [x], _want, at) => halfOf(s, x, at, true));
function halfOf(s: Scope, x: Expr, at: number, high: boolean): Value {
  const { args, type } = floats(s, [x], at);
  if (!type.packed) throw new TextError(`${typeName(type)} has no halves`, at);
  return bitsOf(half(s, args[0], high), { element: type.element, packed: false });
}
define('pack(high, low)', (s, args, _want, at) => {
  const x = floats(s, args, at);
  if (x.type.packed || FORMATS[x.type.element].bits !== 16)
    throw new TextError(`pack makes a pair of halves, not of ${typeName(x.type)}`, at);
  return bitsOf(concat(s, x.args[0], x.args[1], at), { element: x.type.element, packed: true });
});

/**
 * Minimum or maximum: with one NaN operand the result is the other one, or NaN if `nan`; -0 is less than +0. With `xorsign`, the magnitudes
 * are compared and the result gets the product of the operands' signs.
 */
define('fminmax(x, y, which, nan?, xorsign?)', (s, [x, y, op, nan, xor], _want, at) => {
  const { args, type } = floats(s, [x, y], at);
  const core = word(s, op, ['MIN', 'MAX']) === 'MIN' ? 'fmin' : 'fmax';
  const nanWins = flag(s, nan) ? 1 : 0;
  const signs = flag(s, xor);
  const out = elementwise(s, type, args, at, ([a, b], fmt, bits) => {
    if (!signs) return s.b.make(core, bits, [a, b], fmt, '', nanWins);
    const abs = (v: number) => s.b.make('fabs', bits, [v], fmt);
    const m = s.b.make(core, bits, [abs(a), abs(b)], fmt, '', nanWins);
    const sign = (v: number) => s.b.make('extract', 1, [v], '', '', bits - 1);
    const negative = s.b.make('and', 1, [
      s.b.make('xor', 1, [sign(a), sign(b)]),
      s.b.make('fcmp', 1, [m, m], fmt, 'NUM'),
    ]);
    return s.b.make('ite', bits, [negative, s.b.make('fneg', bits, [m], fmt), m]);
  });
  return bitsOf(out, type);
});
define('fapprox(x, function)', (s, [x, f], _want, at) => {
  const { args, type } = floats(s, [x], at);
  const fn = word(s, f, APPROXIMATIONS);
  return bitsOf(
    elementwise(s, type, args, at, (a, fmt, bits) => s.b.make('approx', bits, a, fmt, fn)),
    type,
  );
});
