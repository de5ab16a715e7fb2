import type { Draft, Ins } from '../ir/draft/index.ts';
import { NO_REG } from '../ir/operand.ts';

/** Does the function return one of an instruction's results, which has a value where the guard is false, under its own name? */
export function returnsResult(d: Draft, n: Ins): boolean {
  const { dst, otherwise } = d.at(n);
  return otherwise.some((r, k) => r !== NO_REG && dst[k] !== NO_REG && d.isReturned(dst[k]));
}

/**
 * Makes the uses of what a guarded instruction gives read the values that stand for its results where the guard is false (`else`).
 * After this an instruction whose guard is always false, a call among them, may go.
 *
 *     before                                  after
 *     @P1 IADD3 R2 else R4, R3, 1, RZ         @P1 IADD3 R2 else R4, R3, 1, RZ
 *     STG [RD6], R2                           STG [RD6], R4
 *
 * Requires: not `returnsResult`.
 */
export function useOtherwise(d: Draft, n: Ins): void {
  const { dst, otherwise } = d.at(n);
  for (let k = 0; k < otherwise.length; k++)
    if (otherwise[k] !== NO_REG && dst[k] !== NO_REG) d.replaceUses(dst[k], otherwise[k]);
}
