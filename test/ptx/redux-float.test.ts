import { describe, expect, it } from 'vitest';
import { runPtx } from '../support/run-ptx.ts';

/*
 * redux.sync.{min,max}{.abs}{.NaN}.f32 as PTX ISA 9.0 defines it: +0 is greater than -0; .abs compares magnitudes; NaN is ignored and is
 * the result only if all values are NaN or, with .NaN, if any is; NaN results are canonical.
 */
const [NAN, ODD_NAN, INF, ZERO, MINUS] = [0x7fffffff, 0xffc00001, 0x7f800000, 0, 0x80000000];
const bits = (x: number): number => new Uint32Array(new Float32Array([x]).buffer)[0];

/** The result of all lanes for 32 values; the last one is repeated. */
function reduced(op: string, values: readonly number[], mask = -1): number[] {
  const rows = Array.from({ length: 32 }, (_, k) => [values[Math.min(k, values.length - 1)]]);
  return runPtx(`redux.sync.${op}.f32 %o0, %i0, ${mask};`, rows, 1, '', 'sm_100a').map(([v]) => v >>> 0);
}

describe('redux.sync of floats', () => {
  it.each<[string, readonly number[], number]>([
    ['min', [3, -2, 7.5].map(bits), bits(-2)],
    ['max', [3, -2, 7.5].map(bits), bits(7.5)],
    ['max', [-3, -2, -7.5].map(bits), bits(-2)],
    ['min', [bits(1e-45), bits(3)], bits(1e-45)],
    ['min', [ZERO, MINUS, ZERO], MINUS],
    ['max', [MINUS, ZERO, MINUS], ZERO],
    ['min', [INF, bits(2)], bits(2)],
    ['max', [bits(-Infinity), bits(-5)], bits(-5)],
    ['max.abs', [3, -9, 7.5].map(bits), bits(9)],
    ['min.abs', [-3, -2, 7.5].map(bits), bits(2)],
    ['min.abs', [bits(1), MINUS], ZERO],
    ['min', [NAN, bits(4), ODD_NAN], bits(4)],
    ['max', [ODD_NAN, NAN], NAN],
    ['min.abs', [ODD_NAN], NAN],
    ['min.NaN', [bits(4), ODD_NAN, bits(5)], NAN],
    ['max.NaN', [bits(4), bits(5)], bits(5)],
    ['max.abs.NaN', [bits(4), bits(-5)], bits(5)],
    ['max.abs.NaN', [bits(4), ODD_NAN], NAN],
  ])('%s of %j', (op, values, expected) => expect(new Set(reduced(op, values))).toEqual(new Set([expected])));

  it('is one of the member lanes alone', () => {
    const rows = Array.from({ length: 32 }, (_, k) => [bits(k)]);
    const body = `mov.u32 %i0, %i0; redux.sync.max.f32 %o0, %i0, %o1;`;
    const halves = `.reg .b32 %t, %m; .reg .pred %p; mov.u32 %t, %laneid; setp.lt.u32 %p, %t, 16; selp.b32 %o1, 65535, -65536, %p; ${body}`;
    const out = runPtx(halves, rows, 2, '', 'sm_100a').map(([v]) => v >>> 0);
    expect(out).toEqual(rows.map((_, k) => bits(k < 16 ? 15 : 31)));
  });
});
