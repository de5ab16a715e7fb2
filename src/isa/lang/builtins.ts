import { Mod } from '../../ir/opcode.ts';
import {
  APPROXIMATIONS,
  FORMATS,
  type FormatName,
  PACKED,
  RELATIONS,
  ROUNDINGS,
  type Rounding,
} from '../formats.ts';
import type { CoreOp } from './graph.ts';
import { type Expr, MeaningError } from './parse.ts';
import { bitsOf, type FloatType, near, type Scope, type Value } from './values.ts';

/** A function of the meaning language. */
export interface Builtin {
  /** Parameter names, for messages. */
  readonly names: readonly string[];
  /** Least number of arguments; the others may be left out. */
  readonly least: number;
  readonly make: (s: Scope, args: readonly Expr[], want: number | null, at: number) => Value;
}

const table = new Map<string, Builtin>();
/** The functions of the meaning language, by name. */
export const BUILTINS: ReadonlyMap<string, Builtin> = table;

/** Defines a function; `signature` is `name(a, b, c?)`. */
function define(signature: string, make: Builtin['make']): void {
  const [, name, params] = /^(\w+)\((.*)\)$/.exec(signature)!;
  const names = params.split(', ');
  table.set(name, { names, least: names.filter((p) => !p.endsWith('?')).length, make });
}

// ---------------------------------------------------------------------- arguments

function staticInt(s: Scope, e: Expr): number {
  const v = s.eval(e, null);
  if (v.k !== 'int') throw new MeaningError(e.at, 'expected a number known from the modifiers');
  return Number(v.value);
}

const flag = (s: Scope, e: Expr | undefined): boolean => e !== undefined && s.truth(s.eval(e, 1), e.at);

function word(s: Scope, e: Expr, allowed: readonly string[]): string {
  const v = s.eval(e, null);
  if (v.k !== 'name' || !allowed.includes(v.name))
    throw new MeaningError(
      e.at,
      `expected one of ${allowed.join(', ')}`,
      v.k === 'name' ? near(v.name, allowed) : [],
    );
  return v.name;
}

/**
 * A rounding mode. CONTRACT rounds to nearest: it allows fusing two operations, but fusing is a rewrite of its own, which may change
 * the result.
 */
function rounding(s: Scope, e: Expr): Rounding {
  const mode = word(s, e, [...ROUNDINGS, 'CONTRACT']) as Rounding | 'CONTRACT';
  return mode === 'CONTRACT' ? 'RN' : mode;
}

/** Scalar type of a modifier group's value, or a type by its upper-case name. */
function scalarType(s: Scope, e: Expr): string {
  const v = s.eval(e, null);
  if (v.k !== 'name') throw new MeaningError(e.at, 'expected a type');
  return v.type ?? v.name.toLowerCase();
}

function floatType(s: Scope, e: Expr): FloatType {
  const t = scalarType(s, e);
  if (t in PACKED) return { element: PACKED[t], packed: true };
  if (t in FORMATS) return { element: t as FormatName, packed: false };
  throw new MeaningError(
    e.at,
    `'${t}' is no float type`,
    near(t, [...Object.keys(FORMATS), ...Object.keys(PACKED)]),
  );
}

function typeBits(s: Scope, e: Expr): number {
  const t = scalarType(s, e);
  const m = /^[a-z]+(\d+)/.exec(t);
  if (m === null) throw new MeaningError(e.at, `'${t}' is no type`);
  return Number(m[1]);
}

const isSigned = (s: Scope, e: Expr): boolean => scalarType(s, e).startsWith('s');

const node = (s: Scope, e: Expr, want: number | null): number => s.bits(s.eval(e, want), want, e.at);

/** Checks a width: graphs have vectors of 1 to 32 and of 64 bits. */
function width(w: number, at: number): number {
  if (!(w >= 1 && w <= 32) && w !== 64) throw new MeaningError(at, `${w} bits: widths are 1 to 32, and 64`);
  return w;
}

// ---------------------------------------------------------------------- figures and widths

define('width(x)', (s, [x]) => {
  const slot = x.k === 'name' ? s.slotWidthOf(x.name) : null;
  return { k: 'int', value: BigInt(slot ?? s.b.width(node(s, x, null))) };
});
define('bits(type)', (s, [t]) => ({ k: 'int', value: BigInt(typeBits(s, t)) }));
define('signed(type)', (s, [t]) => ({ k: 'bool', value: isSigned(s, t) }));

/** `x` in `w` bits: sign-extended, zero-extended or truncated. */
function resized(s: Scope, x: number, w: number, signed: boolean): number {
  const from = s.b.width(x);
  if (w < from) return s.b.make('extract', w, [x]);
  return s.b.make(signed ? 'sext' : 'zext', w, [x], '', '', signed ? from : 0);
}

function extension(name: string, signedness: (s: Scope, args: readonly Expr[]) => boolean): void {
  define(name, (s, args, _want, at) => {
    const w = width(staticInt(s, args[1]), args[1].at);
    const x = node(s, args[0], null);
    if (w < s.b.width(x))
      throw new MeaningError(at, `${s.b.width(x)} bits do not extend to ${w}; trunc cuts them`);
    return bitsOf(resized(s, x, w, signedness(s, args)));
  });
}
extension('zext(x, width)', () => false);
extension('sext(x, width)', () => true);
extension('ext(x, width, signed)', (s, args) => flag(s, args[2]));
define('trunc(x, width)', (s, args, _want, at) => {
  const w = width(staticInt(s, args[1]), args[1].at);
  const x = node(s, args[0], null);
  if (w > s.b.width(x))
    throw new MeaningError(at, `${s.b.width(x)} bits cannot be cut to ${w}; zext and sext extend them`);
  return bitsOf(s.b.make('extract', w, [x]));
});
define('resize(x, width)', (s, args) => {
  const w = width(staticInt(s, args[1]), args[1].at);
  const v = s.eval(args[0], w);
  return bitsOf(v.k === 'bits' ? resized(s, v.id, w, false) : s.bits(v, w, args[0].at));
});
define('extract(x, high, low)', (s, args, _want, at) => {
  const x = node(s, args[0], null);
  const high = staticInt(s, args[1]);
  const low = staticInt(s, args[2]);
  if (low < 0 || high < low || high >= s.b.width(x))
    throw new MeaningError(at, `bits ${high} to ${low} of a value of ${s.b.width(x)} bits`);
  return bitsOf(s.b.make('extract', width(high - low + 1, at), [x], '', '', low));
});
define('bit(x, index)', (s, args, _want, at) => {
  const x = node(s, args[0], null);
  const k = staticInt(s, args[1]);
  if (k < 0 || k >= s.b.width(x)) throw new MeaningError(at, `bit ${k} of a value of ${s.b.width(x)} bits`);
  return bitsOf(s.b.make('extract', 1, [x], '', '', k));
});
const concat = (s: Scope, high: number, low: number, at: number): number =>
  s.b.make('concat', width(s.b.width(high) + s.b.width(low), at), [high, low], '', '', s.b.width(low));
define('concat(high, low)', (s, [h, l], _want, at) =>
  bitsOf(concat(s, node(s, h, null), node(s, l, null), at)),
);
define('fill(bit, width)', (s, args) => {
  const w = width(staticInt(s, args[1]), args[1].at);
  return bitsOf(s.b.make('sext', w, [node(s, args[0], 1)], '', '', 1));
});

// ---------------------------------------------------------------------- integers

/** Operations that make no sense on one bit. */
function several(s: Scope, id: number, at: number): number {
  if (s.b.width(id) === 1) throw new MeaningError(at, 'a value of one bit', ['zext gives it more']);
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

/** Carry out of x + y + c: the majority of the operands' and the inverted sum's top bits. */
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
/** A truth table that is only known at run time: the sum of the minterms whose bit is set. */
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
    throw new MeaningError(z.at, `operands of ${s.b.width(a)} and ${s.b.width(c)} bits`);
  const table = node(s, t, 32);
  const lut = s.b.constantOf(table);
  if (lut === null) return bitsOf(minterms(s, [a, b, c], table));
  return bitsOf(s.b.make('lop3', s.b.width(a), [a, b, c], '', '', Number(lut & 0xffn)));
});
define('prmt(x, y, selector, mode)', (s, [x, y, n, m]) => {
  const mode = word(s, m, ['IDX', 'F4E', 'B4E', 'RC8', 'ECL', 'ECR', 'RC16']);
  return bitsOf(s.b.make('prmt', 32, [node(s, x, 32), node(s, y, 32), node(s, n, 32)], '', mode));
});

// ---------------------------------------------------------------------- floating point

const half = (s: Scope, x: number, high: boolean): number =>
  s.b.make('extract', 16, [x], '', '', high ? 16 : 0);

/** Applies an operation on one format to values, or to both halves of packed ones. */
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

/** Float arguments of one type; a literal among them is a bit pattern of that type. */
function floats(s: Scope, exprs: readonly Expr[], at: number): { args: number[]; type: FloatType } {
  const values = exprs.map((e) => s.eval(e, null));
  const first = values.find((v) => v.k === 'bits' && v.float !== null);
  if (first === undefined || first.k !== 'bits' || first.float === null)
    throw new MeaningError(at, 'no argument is a float', ['fin(operand, type) reads an operand as a float']);
  const type = first.float;
  const w = type.packed ? 32 : FORMATS[type.element].bits;
  const args = values.map((v, i) => {
    if (
      v.k === 'bits' &&
      (v.float === null || v.float.element !== type.element || v.float.packed !== type.packed)
    )
      throw new MeaningError(exprs[i].at, 'a float of another type', [
        `the first argument is ${typeName(type)}`,
      ]);
    return s.bits(v, w, exprs[i].at);
  });
  return { args, type };
}

const typeName = (t: FloatType): string => (t.packed ? `${t.element}x2` : t.element);

/** Reads an operand as a float: cuts it to the type's width, applies absolute value and negation to signs, flushes. */
define('fin(operand, type, ftz?)', (s, [x, t, z], _want, at) => {
  const k = s.sourceIndex(x);
  if (k < 0)
    throw new MeaningError(x.at, 'fin reads a source operand', ['float(x, type) reads another value']);
  const type = floatType(s, t);
  const w = type.packed ? 32 : FORMATS[type.element].bits;
  let id = s.rawSource(k);
  if (s.b.width(id) < w)
    throw new MeaningError(x.at, `${s.b.width(id)} bits cannot hold a ${typeName(type)}`);
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
  if (s.b.width(id) !== w) throw new MeaningError(x.at, `${s.b.width(id)} bits are no ${typeName(type)}`);
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
/** Replaces negative numbers by zero if `on`; NaN stays. */
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
  if (type.packed)
    throw new MeaningError(at, 'fcmp compares scalars; lohalf and hihalf take a packed value apart');
  return bitsOf(s.b.make('fcmp', 1, args, type.element, word(s, r, RELATIONS)));
});
define('lohalf(x)', (s, [x], _want, at) => halfOf(s, x, at, false));
define('hihalf(x)', (s, [x], _want, at) => halfOf(s, x, at, true));
function halfOf(s: Scope, x: Expr, at: number, high: boolean): Value {
  const { args, type } = floats(s, [x], at);
  if (!type.packed) throw new MeaningError(at, `${typeName(type)} has no halves`);
  return bitsOf(half(s, args[0], high), { element: type.element, packed: false });
}
define('pack(high, low)', (s, args, _want, at) => {
  const x = floats(s, args, at);
  if (x.type.packed || FORMATS[x.type.element].bits !== 16)
    throw new MeaningError(at, `pack makes a pair of halves, not of ${typeName(x.type)}`);
  return bitsOf(concat(s, x.args[0], x.args[1], at), { element: x.type.element, packed: true });
});

/**
 * Minimum or maximum: a NaN operand loses unless `nan`; -0 is below +0. With `xorsign` the magnitudes are compared and the
 * result takes the product of the operands' signs.
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

// ---------------------------------------------------------------------- conversions

/** A float in another format; a packed type stands for its element. */
define('f2f(x, type, rounding)', (s, [x, t, r], _want, at) => {
  const { args, type } = floats(s, [x], at);
  if (type.packed) throw new MeaningError(at, 'f2f converts a scalar');
  const to = floatType(s, t).element;
  const rnd = rounding(s, r);
  const result: FloatType = { element: to === 'tf32' ? 'f32' : to, packed: false };
  return bitsOf(s.b.make('f2f', FORMATS[to].bits, args, type.element, `${to}:${rnd}`), result);
});
define('f2i(x, type, rounding)', (s, [x, t, r], _want, at) => {
  const { args, type } = floats(s, [x], at);
  if (type.packed) throw new MeaningError(at, 'f2i converts a scalar');
  const aux = `${isSigned(s, t) ? 's' : 'u'}${rounding(s, r)}`;
  return bitsOf(s.b.make('f2i', typeBits(s, t), args, type.element, aux));
});
/** An integer of type `from` in the low bits of `x` as a float. */
define('i2f(x, from, type, rounding)', (s, [x, from, t, r]) => {
  const w = typeBits(s, from);
  const v = resized(s, node(s, x, w), w, false);
  const to = floatType(s, t).element;
  const aux = `${isSigned(s, from) ? 's' : 'u'}${rounding(s, r)}`;
  return bitsOf(s.b.make('i2f', FORMATS[to].bits, [v], to, aux, w), { element: to, packed: false });
});
