import { type Opcode, type Slot, slotWidth } from '../ir/opcode.ts';
import { immValue } from '../ir/operand.ts';
import { evalGraph } from './lang/evaluate.ts';
import { graphOf, isConstantSlot } from './meaning.ts';

/**
 * Exact result of an instruction, on BigInts: the reference for generated code, and the constant folder.
 * @param srcs source values before their modifiers, taken modulo 2^width; predicates are 0 or 1. Omitted sources at
 * the end are optional and take their defaults
 * @param srcMods `Mod` bits of each source
 * @returns the value of each destination, unsigned
 * @throws Error if the opcode is a primitive
 */
export function evalBig(
  op: Opcode,
  mods: number,
  srcs: readonly bigint[],
  srcMods: readonly number[] = [],
): bigint[] {
  const values = op.srcs.map((s, i) => srcs[i] ?? defaultValue(s, slotWidth(op, mods, s)));
  const consts: (number | null)[] = op.srcs.map((s, i) =>
    isConstantSlot(s) ? Number(BigInt.asIntN(32, values[i])) : null,
  );
  return evalGraph(graphOf({ op, mods, srcMods, consts }), values);
}

/** Value of an omitted optional source: its default, else true or zero. */
export function defaultValue(s: Slot, width: number): bigint {
  if (s.default !== null) return immValue(s.default, width);
  return s.bank === 'p' ? 1n : 0n;
}
