import { poolLimits } from '../../analysis/registers/live-range-extension.ts';
import { isSet, type Pass } from '../pass.ts';
import { commonValues } from './common-values.ts';

/** Knob 402 and its values (reference passes-b). */
const MODE = 'EnableGvnCseMode';
const OFF = 0;
const ONE_BLOCK = 1;
const WHOLE = 2;
/** Why the wider modes act as mode 2 (reference passes-b; the flags: bit 6 of +1106 of the target, bit 0 of +1416 of the function). */
const WIDER: Readonly<Record<number, string>> = {
  3: 'two undocumented flags enable it in ptxas, and no source says who sets them',
  4: 'the original falls back to that too',
  5: 'an undocumented flag enables it in ptxas, and no source says who sets it',
  6: 'an undocumented flag enables it in ptxas, and no source says who sets it',
};

/**
 * Phase 49, GvnCse: a value that is computed twice is computed once.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           IADD3 R1, R2, R3                    IADD3 R1, R2, R3
 *           LDG R4, [RD5]                       LDG R4, [RD5]
 *       @P6 BRA BB2                         @P6 BRA BB2
 *     BB1:                                BB1:
 *           IADD3 R7, R3, R2                    IADD3 R9, R1, R4
 *           LDG R8, [RD5]                       STG [RD5], R9
 *           IADD3 R9, R7, R8                    EXIT
 *           STG [RD5], R9                 BB2:
 *           EXIT                                EXIT
 *     BB2:
 *           EXIT
 *
 * Value numbering over the dominator tree (Briggs, Cooper and Simpson, "Value Numbering", 1997; the scopes are
 * theirs): going down the tree, every expression is looked up among those that dominate it, and its results are
 * replaced by those of the first one. Operands are replaced on the way, so equal expression trees are merged from the
 * leaves up. A load is the same as an earlier one if it reads the same address from the same version of memory: no
 * store, barrier, fence, atomic or call that may matter is in between.
 *
 * The properties of an opcode decide which instructions may be merged: see `isValue` and `isPlainLoad`. Copies are left to copy
 * propagation. A guarded operation is merged only with one that has the same guard and the same values under a false guard.
 *
 * Registers: a value reused from far away stays live until then. If that would exceed what the binding allows (`max-pressure` in 32-bit
 * units, `max-predicates`; absent: no limit), the value is computed again. Loads from memory are exempt: they cost more than a register.
 *
 * Comparisons: if the binding sets `negated`, the opposite of an earlier comparison becomes a negated copy of its result; for floats,
 * the opposite is the unordered complement.
 *
 * EnableGvnCse=false does nothing; GvnCseBySlot does nothing on targets whose back ends leave slot 184 empty. Knob 402: 0 does nothing, 1
 * is limited to one block, 2 walks the dominator tree. The wider scope of 3, 5 and 6 needs flags of targets and functions that none is
 * known to have; without them they act as 2, as 4 does in any case, and a remark says why.
 *
 * Requires: control-last, ssa. Guarantees: ssa; no block is added or removed; a second application finds only what
 * phis expose whose operands became equal around a loop.
 * Bound: each instruction is examined at most three times; memory as in `MemorySsa`.
 */
export const gvnCse: Pass = (fn, ctx) => {
  const mode = ctx.knob(MODE) ?? WHOLE;
  if (mode === OFF || ctx.knob('EnableGvnCse') === false) return fn;
  if (ctx.fact('slots.184') === 'none' && isSet(ctx.knob('GvnCseBySlot'))) {
    ctx.remark('missed', 'slot-empty', 'the back end has nothing in slot 184, and GvnCseBySlot asks for it');
    return fn;
  }
  const why = typeof mode === 'number' ? WIDER[mode] : undefined;
  if (why !== undefined) ctx.remark('note', 'mode-unknown', `${MODE}=${mode} acts as ${WHOLE}: ${why}`);
  const most = poolLimits(ctx.params['max-pressure'], ctx.params['max-predicates']);
  return commonValues(fn, ctx, most, mode === ONE_BLOCK, ctx.params.negated === true);
};
