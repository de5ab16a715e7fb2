import { withSrc } from '../ir/edit.ts';
import { Mod, OpFlag, slotWidth } from '../ir/opcode.ts';
import { immOf, immValue, isZero, Kind, NO_REG, type Operand, withOperandMods } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import { floatTypeOf } from '../isa/meaning.ts';
import { evalBig } from '../isa/reference.ts';
import { permuteTable } from './tables.ts';

/**
 * Constant folding: applies an operand's modifiers to its value, and evaluates instructions whose sources are all constants exactly.
 */

/** Sign bits of each float type; packed pairs have two. */
const SIGNS: Readonly<Record<string, bigint>> = {
  f16: 1n << 15n,
  bf16: 1n << 15n,
  f16x2: (1n << 15n) | (1n << 31n),
  bf16x2: (1n << 15n) | (1n << 31n),
  f32: 1n << 31n,
  f64: 1n << 63n,
};

/**
 * A constant with its modifiers applied.
 * @param width width of its slot in bits; 0 means 32
 * @param type float type in which the slot reads it; null: as an integer
 * @returns an operand without modifiers; null for a float type that `SIGNS` does not list
 */
export function plainConstant(o: Operand, width: number, type: string | null): Operand | null {
  if (o.mods === 0) return o;
  const w = width || 32;
  let v = immValue(o, w);
  if (w === 1) return immOf((o.mods & Mod.Not) === 0 ? v : 1n - (v & 1n), 1);
  if (type === null) {
    if ((o.mods & Mod.Abs) !== 0 && BigInt.asIntN(w, v) < 0n) v = -v;
    if ((o.mods & Mod.Not) !== 0) v = ~v;
    if ((o.mods & Mod.Neg) !== 0) v = -v;
    return immOf(v, w);
  }
  const sign = SIGNS[type];
  if (sign === undefined) return null;
  if ((o.mods & Mod.Abs) !== 0) v &= ~sign;
  if ((o.mods & Mod.Neg) !== 0) v ^= sign;
  return immOf(v, w);
}

/** The instruction with the modifiers of its constants applied; the same object if there are none. */
export function plainConstants(ins: Instr): Instr {
  let src: Operand[] | null = null;
  for (let i = 0; i < ins.src.length; i++) {
    const o = ins.src[i];
    if (o.kind !== Kind.Imm || o.mods === 0 || i >= ins.op.srcs.length) continue;
    const slot = ins.op.srcs[i];
    const type = slot.bank === 'p' ? null : floatTypeOf(ins.op, ins.mods, i);
    const plain = plainConstant(o, slotWidth(ins.op, ins.mods, slot), type);
    if (plain === null) continue;
    src ??= [...ins.src];
    src[i] = plain;
  }
  return src === null ? ins : withSrc(ins, src);
}

/**
 * Can the instruction be evaluated once its sources are constants? It must be pure and have a meaning.
 * @param approximate whether approximate functions count
 * @param floats whether instructions that read floats count
 */
export function isFoldable(ins: Instr, approximate: boolean, floats = true): boolean {
  const { op } = ins;
  if (op.means === null || (op.flags & OpFlag.Pure) === 0 || op.dsts.length === 0) return false;
  if ((op.flags & OpFlag.Approximate) !== 0 && !approximate) return false;
  if (!floats)
    for (let i = 0; i < ins.src.length; i++) if (floatTypeOf(op, ins.mods, i) !== null) return false;
  return true;
}

/** Results of an instruction whose sources are constants, unsigned; null for results that are discarded. */
export function valuesOf(ins: Instr): (bigint | null)[] {
  const { op, mods } = ins;
  const values = evalBig(
    op,
    mods,
    ins.src.map((o, i) => immValue(o, slotWidth(op, mods, op.srcs[i]) || 64)),
    ins.src.map((o) => o.mods),
  );
  return values.map((v, i) => (ins.dst[i] === NO_REG ? null : v));
}

/** Negated predicate: `p` for `!p`, `!p` for `p`. */
export const notPredicate = (o: Operand): Operand =>
  o.kind === Kind.Imm
    ? immOf(BigInt((o.lo & 1) ^ (o.mods === 0 ? 1 : 0)), 1)
    : withOperandMods(o, o.mods ^ Mod.Not);

/**
 * Canonicalises commutative operands: constants come after other operands, and zeros after other constants. Returns the same object if
 * nothing changes.
 */
export function constantsLast(ins: Instr): Instr {
  const { flags } = ins.op;
  const n =
    (flags & (OpFlag.Symmetric | OpFlag.Table)) !== 0 ? 3 : (flags & OpFlag.Commutative) !== 0 ? 2 : 0;
  if (n === 0) return ins;
  // Constant predicates are ranked without regard to their value.
  const predicates = ins.op.srcs[0].bank === 'p';
  const rank = (i: number): number =>
    ins.src[i].kind !== Kind.Imm ? 0 : !predicates && isZero(ins.src[i]) ? 2 : 1;
  let sorted = true;
  for (let i = 1; i < n; i++) if (rank(i - 1) > rank(i)) sorted = false;
  if (sorted) return ins;
  const order = [0, 1, 2].slice(0, n);
  order.sort((a, b) => rank(a) - rank(b) || a - b);
  const src = [...ins.src];
  order.forEach((from, to) => {
    src[to] = ins.src[from];
  });
  if ((flags & OpFlag.Table) !== 0) src[3] = immOf(BigInt(permuteTable(ins.src[3].lo & 0xff, order)), 32);
  return withSrc(ins, src);
}
