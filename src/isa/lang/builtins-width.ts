import { TextError } from '../../ir/text-error.ts';
import { type Builtin, definer, flag, isSigned, node, staticInt, typeBits, width } from './builtin.ts';
import type { Expr } from './parse.ts';
import { bitsOf, type Scope } from './values.ts';

/** Functions that query widths and types, and that extend, truncate and concatenate bits. */
export const WIDTHS = new Map<string, Builtin>();
const define = definer(WIDTHS);

define('width(x)', (s, [x]) => {
  const slot = x.k === 'name' ? s.slotWidthOf(x.name) : null;
  return { k: 'int', value: BigInt(slot ?? s.b.width(node(s, x, null))) };
});
define('bits(type)', (s, [t]) => ({ k: 'int', value: BigInt(typeBits(s, t)) }));
define('signed(type)', (s, [t]) => ({ k: 'bool', value: isSigned(s, t) }));

/** `x` with `w` bits: sign-extended, zero-extended or truncated. */
export function resized(s: Scope, x: number, w: number, signed: boolean): number {
  const from = s.b.width(x);
  if (w < from) return s.b.make('extract', w, [x]);
  return s.b.make(signed ? 'sext' : 'zext', w, [x], '', '', signed ? from : 0);
}

function extension(name: string, signedness: (s: Scope, args: readonly Expr[]) => boolean): void {
  define(name, (s, args, _want, at) => {
    const w = width(staticInt(s, args[1]), args[1].at);
    const x = node(s, args[0], null);
    if (w < s.b.width(x))
      throw new TextError(`${s.b.width(x)} bits cannot be extended to ${w}; trunc truncates them`, at);
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
    throw new TextError(`${s.b.width(x)} bits cannot be truncated to ${w}; zext and sext extend them`, at);
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
    throw new TextError(`bits ${high} to ${low} of a value of ${s.b.width(x)} bits`, at);
  return bitsOf(s.b.make('extract', width(high - low + 1, at), [x], '', '', low));
});
define('bit(x, index)', (s, args, _want, at) => {
  const x = node(s, args[0], null);
  const k = staticInt(s, args[1]);
  if (k < 0 || k >= s.b.width(x)) throw new TextError(`bit ${k} of a value of ${s.b.width(x)} bits`, at);
  return bitsOf(s.b.make('extract', 1, [x], '', '', k));
});
/** The concatenation of two nodes. @throws TextError if its width is not supported */
export const concat = (s: Scope, high: number, low: number, at: number): number =>
  s.b.make('concat', width(s.b.width(high) + s.b.width(low), at), [high, low], '', '', s.b.width(low));
define('concat(high, low)', (s, [h, l], _want, at) =>
  bitsOf(concat(s, node(s, h, null), node(s, l, null), at)),
);
define('fill(bit, width)', (s, args) => {
  const w = width(staticInt(s, args[1]), args[1].at);
  return bitsOf(s.b.make('sext', w, [node(s, args[0], 1)], '', '', 1));
});
