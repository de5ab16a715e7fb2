import { isValue } from '../../analysis/calls/effects.ts';
import { type Draft, edit, type Ins } from '../../ir/draft/index.ts';
import { withSource } from '../../ir/edit.ts';
import { isPhi } from '../../ir/flow.ts';
import { copyOf, type Moves, movesOf } from '../../ir/moves.ts';
import { type Opcode, slotWidth, srcSlot, withMods } from '../../ir/opcode.ts';
import { Kind, NO_REG, type Operand, RegFile, reg, withOperandMods } from '../../ir/operand.ts';
import { type Instr, instr } from '../../ir/program.ts';
import { printInstr } from '../../ir/text.ts';
import type { Pass, PassContext } from '../pass.ts';
import { isUniformReg } from '../uniformity/uniform-forms.ts';

/**
 * Phases 48 and 103, EnforceArgumentRestrictions and its late variant: an encoding has room for one constant-bank operand; each further
 * one is loaded into a register in front of the instruction.
 *
 *     before                                       after
 *     BB0:                                         BB0:
 *           FFMA R4, c[0x0][0x160], R2,                  LDC R5, c[0x0][0x164]
 *             c[0x0][0x164]                              FFMA R4, c[0x0][0x160], R2, R5
 *
 * An immediate takes the same field. On targets whose arithmetic reads no constant bank at all (`capabilities.constant-operands`, from
 * Hopper on), every bank operand is loaded. Programs that come as PTX have no such instruction, because phase 81 makes none; Ori text
 * may.
 *
 * Requires: control-last. Guarantees: blocks and edges stay; SSA stays; equivalence. A second application changes nothing.
 * Bound: each operand is examined once. Indexed bank operands stay, with a remark: a load in front of a guarded instruction would read
 * where the program did not.
 */
export const enforceArguments: Pass = (fn, ctx) => {
  const allowed = ctx.fact('capabilities.constant-operands') === true ? 1 : 0;
  if (!fn.blocks.some((b) => b.ins.some((x) => x.src.some((o) => o.kind === Kind.CBank)))) return fn;
  return edit(fn, (d) => loadBanks(d, ctx, allowed), ctx.isa);
};

function loadBanks(d: Draft, ctx: PassContext, allowed: number): void {
  const moves = movesOf(ctx.isa);
  const load = ctx.isa.byName.get('LDC')!;
  for (const b of d.layout())
    for (let n = d.first(b), next: Ins; n >= 0; n = next) {
      next = d.next(n);
      const x = d.at(n);
      for (const k of tooMany(x, moves, allowed)) {
        const o = x.src[k];
        const where = { block: d.id(b), ins: x };
        if (o.reg !== NO_REG) {
          ctx.remark('missed', 'bank-operand', `operand ${k + 1} of ${printInstr(x)} is indexed`, where);
          continue;
        }
        if (!ctx.mayRewrite('bank-operand', d.id(b), x)) return;
        const message = `operand ${k + 1} of ${printInstr(x)} is loaded before it`;
        ctx.remark('passed', 'bank-operand', message, where);
        throughRegister(d, n, k, load);
      }
    }
}

/** Indices of the sources that read a constant bank beyond what the instruction may have. */
function tooMany(x: Instr, moves: Moves, allowed: number): number[] {
  if (!x.src.some((o) => o.kind === Kind.CBank) || !isValue(x) || isPhi(x) || copyOf(moves, x) !== null)
    return [];
  const banks: number[] = [];
  let immediates = 0;
  x.src.forEach((o, k) => {
    const slot = srcSlot(x.op, k);
    // What must be an immediate, such as a table, is part of the instruction.
    if (slot === undefined || (slot.kinds & (1 << Kind.Reg)) === 0 || slot.bank === 'p') return;
    const width = slotWidth(x.op, x.mods, slot);
    if (o.kind === Kind.CBank && (width === 32 || width === 64)) banks.push(k);
    else if (o.kind === Kind.Imm && !isZero(o)) immediates++;
  });
  return banks.slice(Math.max(0, allowed - immediates));
}

const isZero = (o: Operand): boolean => o.lo === 0 && o.hi === 0;

function throughRegister(d: Draft, n: Ins, k: number, load: Opcode): void {
  const x = d.at(n);
  const wide = slotWidth(x.op, x.mods, srcSlot(x.op, k)!) === 64;
  // An instruction with a uniform result reads only uniform registers.
  const uniform = x.dst.some(isUniformReg);
  const r = d.freshReg(wide ? (uniform ? RegFile.URD : RegFile.RD) : uniform ? RegFile.UR : RegFile.R);
  const mods = wide ? withMods(load, 0, 'B64') : 0;
  d.insertBefore(n, instr(load, mods, [r], [withOperandMods(x.src[k], 0)], x.loc));
  d.replace(n, withSource(x, k, withOperandMods(reg(r), x.src[k].mods)));
}
