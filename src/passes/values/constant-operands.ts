import { isPlainLoad, isValue } from '../../analysis/calls/effects.ts';
import { singleValuesOf } from '../../analysis/values/single-values.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withSource } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { slotWidth, srcSlot } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, regIndex, regWidth, withOperandMods } from '../../ir/operand.ts';
import type { Instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import { elementBytes } from '../../isa/accesses.ts';
import { mayStand } from '../../rules/fit.ts';
import type { Pass, PassContext } from '../pass.ts';

/**
 * Phase 81, LateArchOptimizeSecond: arithmetic reads kernel parameters directly from the constant bank.
 *
 *     before                              after
 *     BB0:                                BB0:
 *           LDC R1, c[0x0][0x160]               FFMA R4, c[0x0][0x160], R2, R3
 *           FFMA R4, R1, R2, R3
 *
 * Up to Ada, one operand of an arithmetic instruction may be a constant from a bank instead of a register (an immediate uses the same
 * slot, so an instruction has only one of them). From Hopper on, that operand is a uniform register, which must be loaded too. A load
 * is removed only if every use can read the bank.
 *
 * Requires: control-last. Guarantees: equivalence; blocks and edges stay. A second application changes nothing.
 * Bound: each use of each load is examined once.
 */
export const constantOperands: Pass = (fn, ctx) => {
  if (ctx.fact('capabilities.constant-operands') !== true) return fn;
  return edit(fn, (d) => readBanks(d, ctx));
};

function readBanks(d: Draft, ctx: PassContext): void {
  const moves = movesOf(ctx.isa);
  for (const b of d.layout())
    for (let n = d.first(b), next = -1; n >= 0; n = next) {
      next = d.next(n);
      const x = d.at(n);
      if (!isBankLoad(x) || singleValuesOf(d.fn)[regIndex(x.dst[0])] !== 1) continue;
      const users = d.users(x.dst[0]);
      if (users.length === 0 || d.isReturned(x.dst[0]) || !users.every((u) => mayReadBank(d, moves, u, x)))
        continue;
      if (!ctx.mayRewrite('constant-operand', d.id(b), x)) return;
      ctx.remark('passed', 'constant-operand', `${printInstr(x)}: ${users.length} read the bank`, {
        block: d.id(b),
        ins: x,
      });
      for (const u of users) readBank(d, u, x);
      d.remove(n);
    }
}

/** Is it a load of a whole register from a fixed place in a constant bank? */
const isBankLoad = (x: Instr): boolean =>
  isPlainLoad(x) &&
  x.guard === NO_REG &&
  x.dst.length === 1 &&
  x.src[0].kind === Kind.CBank &&
  x.src[0].reg === NO_REG &&
  8 * elementBytes(x.op.accesses[0], x.mods) === regWidth(x.dst[0]);

/** Can the instruction read the loaded value directly from the bank? */
function mayReadBank(d: Draft, moves: Moves, n: Ins, load: Instr): boolean {
  const x = d.at(n);
  if (!isValue(x) || isPhi(x) || copyOf(moves, x) !== null || x.otherwise.includes(load.dst[0])) return false;
  let places = 0;
  for (let i = 0; i < x.src.length; i++) {
    const o = x.src[i];
    const slot = srcSlot(x.op, i)!;
    // Tables and bit counts that must be immediates are part of the instruction.
    if ((slot.kinds & (1 << Kind.Reg)) === 0) continue;
    if (o.kind === Kind.Reg && o.reg === load.dst[0]) {
      if (!mayStand(bankOperand(o, load), slot, slotWidth(x.op, x.mods, slot))) return false;
      places++;
    } else if (o.kind !== Kind.Reg && slot.bank !== 'p' && !(o.kind === Kind.Imm && o.lo === 0 && o.hi === 0))
      places++;
  }
  return places === 1;
}

const bankOperand = (o: Operand, load: Instr): Operand => withOperandMods(load.src[0], o.mods);

function readBank(d: Draft, n: Ins, load: Instr): void {
  const { src } = d.at(n);
  for (let i = 0; i < src.length; i++)
    if (src[i].kind === Kind.Reg && src[i].reg === load.dst[0])
      d.replace(n, withSource(d.at(n), i, bankOperand(src[i], load)));
}
