import { Unsupported } from '../table/case.ts';
import { infinityOf } from '../table/float.ts';
import type { Constant } from '../text/syntax.ts';
import { decode, F64, isNotANumber, round, withSign } from '../values/floats.ts';
import type { Type } from '../values/types.ts';

/** The bits of a constant, converted to the expected type: PTX ISA, 4.5.1 to 4.5.3. */
export function constantBits(c: Constant, t: Type): bigint {
  if (c.kind === 'integer') {
    if (t.kind === 'predicate') return c.value !== 0n ? 1n : 0n;
    if (t.kind === 'float' && t.width !== 16) throw new Unsupported(`an integer as .${t.name}`);
    return BigInt.asUintN(t.width, c.value);
  }
  const width = c.single ? 32 : 64;
  if (t.width === width && t.kind !== 'predicate') return c.bits;
  const f = t.format;
  if (c.single || f === undefined || t.kind !== 'float')
    throw new Unsupported(`a floating-point constant as .${t.name}`);
  if (isNotANumber(F64, c.bits)) throw new Unsupported('a constant that is NaN in another format');
  const x = decode(F64, c.bits);
  if (x.kind === 'infinite') return infinityOf(f, x.negative);
  return x.kind === 'finite' ? round(f, x, 'rn') : withSign(f, 0n, false);
}
