import { TextError } from '../../ir/text-error.ts';
import { FORMATS } from '../formats.ts';
import { type Builtin, definer, floatType, isSigned, node, rounding, typeBits } from './builtin.ts';
import { floats } from './builtins-float.ts';
import { resized } from './builtins-width.ts';
import { bitsOf, type FloatType } from './values.ts';

/** Conversions between number formats. */
export const CONVERSIONS = new Map<string, Builtin>();
const define = definer(CONVERSIONS);

/** A float in another format; a packed type stands for its element. */
define('f2f(x, type, rounding)', (s, [x, t, r], _want, at) => {
  const { args, type } = floats(s, [x], at);
  if (type.packed) throw new TextError('f2f converts a scalar', at);
  const to = floatType(s, t).element;
  const rnd = rounding(s, r);
  const result: FloatType = { element: to === 'tf32' ? 'f32' : to, packed: false };
  return bitsOf(s.b.make('f2f', FORMATS[to].bits, args, type.element, `${to}:${rnd}`), result);
});
define('f2i(x, type, rounding)', (s, [x, t, r], _want, at) => {
  const { args, type } = floats(s, [x], at);
  if (type.packed) throw new TextError('f2i converts a scalar', at);
  const aux = `${isSigned(s, t) ? 's' : 'u'}${rounding(s, r)}`;
  return bitsOf(s.b.make('f2i', typeBits(s, t), args, type.element, aux));
});
/** Converts the integer of type `from` in the low bits of `x` to a float. */
define('i2f(x, from, type, rounding)', (s, [x, from, t, r]) => {
  const w = typeBits(s, from);
  const v = resized(s, node(s, x, w), w, false);
  const to = floatType(s, t).element;
  const aux = `${isSigned(s, from) ? 's' : 'u'}${rounding(s, r)}`;
  return bitsOf(s.b.make('i2f', FORMATS[to].bits, [v], to, aux, w), { element: to, packed: false });
});
