import type { Draft, Ins } from '../../ir/draft/index.ts';
import { withGuard } from '../../ir/edit.ts';
import { endsFlow, isControl } from '../../ir/flow.ts';
import { NO_REG } from '../../ir/operand.ts';

/**
 * Does the function return a result of the instruction under its own name, while the result has a value under a false
 * guard?
 */
function returnsResult(d: Draft, n: Ins): boolean {
  const { dst, otherwise } = d.at(n);
  return otherwise.some((r, k) => r !== NO_REG && dst[k] !== NO_REG && d.isReturned(dst[k]));
}

/**
 * Removes the guard of an instruction that always runs, or removes one that never does: uses of its results then read
 * the values named for a false guard (`else`).
 *
 *     before, P1 always false                 after
 *     @P1 IADD3 R2 else R4, R3, 1, RZ         STG [RD6], R4
 *     STG [RD6], R2
 *
 * @param runs whether the guard lets it run
 * @returns false if nothing was done, because the function returns a result under its own name and so needs the instruction
 */
export function settleGuard(d: Draft, n: Ins, runs: boolean): boolean {
  if (!maySettle(d, n, runs)) return false;
  const x = d.at(n);
  const now = runs ? withGuard(x, NO_REG) : null;
  if (!runs) useOtherwise(d, n);
  if (isControl(x)) {
    const b = d.block(n);
    d.setTerminator(b, now, now !== null && endsFlow(now) ? -1 : d.fall(b));
  } else if (now === null) d.remove(n);
  else d.replace(n, now);
  return true;
}

/** Would `settleGuard` succeed? */
export const maySettle = (d: Draft, n: Ins, runs: boolean): boolean => runs || !returnsResult(d, n);

/** Makes the uses of an instruction's results read the values for a false guard. */
export function useOtherwise(d: Draft, n: Ins): void {
  const { dst, otherwise } = d.at(n);
  for (let k = 0; k < otherwise.length; k++)
    if (otherwise[k] !== NO_REG && dst[k] !== NO_REG) d.replaceUses(dst[k], otherwise[k]);
}
