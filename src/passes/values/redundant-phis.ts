import type { Draft, Ins } from '../../ir/draft/index.ts';
import { isPhi } from '../../ir/flow.ts';
import { Kind, type Operand, regFile, sameOperand } from '../../ir/operand.ts';

/**
 * Removes every phi with only one operand besides itself (Braun, Buchwald, Hack, Leissa, Mallon and Zwinkau, "Simple
 * and Efficient Construction of Static Single Assignment Form", 2013, "trivial phis"), and those that become trivial
 * in turn.
 *
 * @param phis where to begin
 * @param may permission for each phi that can be removed
 * @returns the number of removed phis
 */
export function dropRedundantPhis(
  d: Draft,
  phis: readonly Ins[],
  may: (phi: Ins) => boolean = () => true,
): number {
  let dropped = 0;
  const work = [...phis];
  for (let n = work.pop(); n !== undefined; n = work.pop()) {
    if (d.isRemoved(n) || !isPhi(d.at(n))) continue;
    const x = d.at(n);
    const to = x.dst[0];
    const only = onlyOperand(x.src, to);
    if (only === null || regFile(only.reg) !== regFile(to) || d.isReturned(to)) continue;
    if (!may(n)) continue;
    for (const user of d.users(to)) if (isPhi(d.at(user)) && user !== n) work.push(user);
    d.remove(n);
    d.replaceUses(to, only.reg);
    dropped++;
  }
  return dropped;
}

/** The only register among a phi's operands besides itself; null if they differ, or include a constant. */
function onlyOperand(src: readonly Operand[], self: number): Operand | null {
  let only: Operand | null = null;
  for (let k = 1; k < src.length; k += 2) {
    const o = src[k];
    if (o.kind !== Kind.Reg || o.mods !== 0) return null;
    if (o.reg === self) continue;
    if (only !== null && !sameOperand(only, o)) return null;
    only = o;
  }
  return only;
}
