import { hasMod } from '../../ir/opcode.ts';
import { Kind, NO_REG, regIndex } from '../../ir/operand.ts';
import type { Fn, Instr } from '../../ir/program.ts';

/** Types of unsigned loads of less than a word, with the signed type of the same size. */
const NARROW = [
  { unsigned: 'U8', signed: 'S8', bits: 8 },
  { unsigned: 'U16', signed: 'S16', bits: 16 },
] as const;

/**
 * By load: the signed type to write it with. These are unsigned loads of bytes and halves whose result is used only by sign extensions of
 * the same size, so that the upper bits do not matter:
 *
 *     LDS.U16 R1, [R9]                    ld.shared.s16 %r1, [%r9];
 *     SGXT R2, R1, 16                ->   cvt.s32.s16 %r2, %r1;
 *
 * ptxas 13.0.88 then drops the extension. It does not combine an unsigned load into a word and an extension itself.
 */
export function signedLoads(fn: Fn): ReadonlyMap<Instr, string> {
  const loads = fn.blocks.flatMap((b) => b.ins).filter((x) => narrowOf(x) !== undefined);
  const signed = new Map<Instr, string>();
  if (loads.length === 0) return signed;
  /**
   * By register index: the size in bits of all loads into it and extensions of it; 0: no access yet; -1: other accesses or several sizes.
   */
  const bits = new Int8Array(fn.regCount);
  const meet = (r: number, n: number): void => {
    const k = regIndex(r);
    bits[k] = bits[k] === 0 || bits[k] === n ? n : -1;
  };
  for (const p of [...fn.params, ...fn.returns]) if (p.reg !== NO_REG) meet(p.reg, -1);
  for (const b of fn.blocks)
    for (const x of b.ins) {
      const narrow = narrowOf(x);
      for (const d of x.dst) if (d !== NO_REG) meet(d, narrow?.bits ?? -1);
      if (x.guard !== NO_REG) meet(x.guard, -1);
      for (const r of x.otherwise) if (r !== NO_REG) meet(r, -1);
      x.src.forEach((o, k) => {
        if (o.reg !== NO_REG) meet(o.reg, k === 0 && o.kind === Kind.Reg ? extended(x) : -1);
      });
    }
  for (const x of loads) if (bits[regIndex(x.dst[0])] > 0) signed.set(x, narrowOf(x)!.signed);
  return signed;
}

const narrowOf = (x: Instr): (typeof NARROW)[number] | undefined =>
  x.op.primitive === 'load' && x.dst.length === 1 && x.dst[0] !== NO_REG && x.op.modByName.has('S16')
    ? NARROW.find((n) => hasMod(x.op, x.mods, n.unsigned))
    : undefined;

/** The number of bits that a sign extension of a byte or half to a word reads; -1 for any other instruction. */
const extended = (x: Instr): number =>
  x.op.name === 'SGXT' &&
  hasMod(x.op, x.mods, 'S32') &&
  x.src[0].mods === 0 &&
  x.src[1].kind === Kind.Imm &&
  NARROW.some((n) => n.bits === x.src[1].lo)
    ? x.src[1].lo
    : -1;

/**
 * Shifts by 16 of halves that a load has just brought, as conversions from bfloat16 are. They are written as packing, which is what nvcc
 * writes for them:
 *
 *     LDG.U16 R1, [RD9]                   ld.global.u16 %r1, [%rd9];
 *     SHL R2, R1, 16                 ->   cvt.u16.u32 %h, %r1;
 *                                         mov.b32 %r2, {0, %h};
 *
 * ptxas 13.0.88 makes one instruction of either. It finds a register for the packed word beside the loaded one, and none for the shifted
 * one: three conversions of HeCBench need 8, 10 and 10 registers instead of 10, 11 and 11 (sm_80). Other shifts by 16 stay: packing costs a
 * kernel of bit strings an instruction or two where ptxas folds the shift.
 */
export function packedHalves(fn: Fn): ReadonlySet<Instr> {
  const packed = new Set<Instr>();
  const shifts = fn.blocks.flatMap((b) => b.ins).filter(isShiftOfHalf);
  if (shifts.length === 0) return packed;
  /** By register index: 1 if only loads of halves define it, -1 if anything else does. */
  const loaded = new Int8Array(fn.regCount);
  for (const p of fn.params) if (p.reg !== NO_REG) loaded[regIndex(p.reg)] = -1;
  for (const b of fn.blocks)
    for (const x of b.ins)
      for (const d of x.dst)
        if (d !== NO_REG && loaded[regIndex(d)] >= 0) loaded[regIndex(d)] = narrowOf(x)?.bits === 16 ? 1 : -1;
  for (const x of shifts) if (loaded[regIndex(x.src[0].reg)] === 1) packed.add(x);
  return packed;
}

/** Is it an unguarded shift of a word by 16 bits to the left? */
const isShiftOfHalf = (x: Instr): boolean =>
  x.op.name === 'SHL' &&
  x.guard === NO_REG &&
  hasMod(x.op, x.mods, 'B32') &&
  x.src[0].kind === Kind.Reg &&
  x.src[0].mods === 0 &&
  x.src[1].kind === Kind.Imm &&
  x.src[1].lo === 16;
