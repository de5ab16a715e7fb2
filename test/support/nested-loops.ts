import type { Fn } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { testIsa } from './isa.ts';

/** A nest of `depth` counted loops with trip count `bound` around the blocks `inner`, which may read R18 and R6. */
export function nestedLoops(depth: number, inner: string, bound = 'R18'): Fn {
  const down = Array.from(
    { length: depth },
    (_, k) => `BB${2 * k + 1}:
  MOVPHI R${100 + 4 * k}, {BB${Math.max(0, 2 * k - 1)}: R17, BB${2 * (2 * depth - k)}: R${101 + 4 * k}}`,
  );
  const up = Array.from({ length: depth }, (_, k) => depth - 1 - k).map(
    (k) => `BB${2 * (2 * depth - k)}:
  IADD3 R${101 + 4 * k}, R${100 + 4 * k}, 1, RZ
  ISETP.LT P${102 + 4 * k}, R${101 + 4 * k}, ${bound}
  @P${102 + 4 * k} BRA BB${2 * k + 1}`,
  );
  return parseFn(['BB0:', '  MOV R17, 0', ...down, inner, ...up, 'BB99999:', '  EXIT'].join('\n'), testIsa());
}
