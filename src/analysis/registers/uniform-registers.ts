import { memo } from '../../ir/memo.ts';
import { Lanes, OpFlag } from '../../ir/opcode.ts';
import type { Fn, Instr } from '../../ir/program.ts';
import { nestingOf } from '../loops/nesting.ts';
import { convergenceOf } from '../synchronization/warp-convergence.ts';
import { divergenceOf } from '../uniformity/divergence.ts';
import { defUseOf } from '../values/defuse.ts';
import { singleValuesOf } from '../values/single-values.ts';

/** Why every reader of a register finds its own value if the warp has one copy of the register. */
export const Once = {
  /** It may not. */
  No: 0,
  /** It never changes: one definition above all uses, in no cycle, whose value does not depend on the time. */
  Steady: 1,
  /** It changes only while all lanes are together. */
  Together: 2,
} as const;

/**
 * By register index: may one copy of the register for the warp replace one copy for each lane (`Once`)?
 *
 * Equal values in all lanes are not enough: lanes that run apart write and read one copy at different times. A loop counter with the
 * same trip count for all lanes is such a value. If lanes diverge in the body, one that lags behind would read the counter after
 * others, which are in a later iteration, have advanced it. So a register is either steady, or every definition of it is executed while
 * all lanes are together (`convergenceOf`): then no lane lags behind while it changes, and between its changes every lane may read it
 * anywhere.
 *
 * Requires: control-last and no phi moves.
 */
export const onceOf: (fn: Fn) => Uint8Array = memo((fn) => {
  const out = new Uint8Array(fn.regCount);
  if (fn.kind !== 'entry') return out;
  const du = defUseOf(fn);
  const { value } = divergenceOf(fn);
  const single = singleValuesOf(fn);
  const { at } = convergenceOf(fn);
  const { innermost } = nestingOf(fn);
  for (let r = 0; r < fn.regCount; r++) {
    const [from, to] = [du.defStart[r], du.defStart[r + 1]];
    if (from === to || value[r] === Lanes.Varying || du.entry[r] === 1 || du.returned[r] === 1) continue;
    let all = true;
    for (let k = from; all && k < to; k++) all = at[du.defs[k]] === 1;
    const def = du.defs[from];
    if (single[r] === 1 && innermost[du.blockAt[def]] < 0 && isTimeless(du.ins[def])) out[r] = Once.Steady;
    else if (all) out[r] = Once.Together;
  }
  return out;
});

/** Would lanes that run an instruction at different times all get the same result, if they agree on its operands? */
function isTimeless(x: Instr): boolean {
  if ((x.op.flags & (OpFlag.Volatile | OpFlag.Convergent | OpFlag.SideEffect)) !== 0) return false;
  if (x.op.special.length === 0) return true;
  const g = x.op.groups[0];
  return x.op.special[(x.mods >>> g.shift) & g.mask]?.changes === false;
}
