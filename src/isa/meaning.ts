import type { Opcode, Slot } from '../ir/opcode.ts';
import { Kind } from '../ir/operand.ts';
import { type Assign, parseMeaning } from './lang.ts';

const parsed = new WeakMap<Opcode, readonly Assign[]>();

/** The parsed meaning of an opcode; throws MeaningError if it has none or it does not parse. */
export function meaningOf(op: Opcode): readonly Assign[] {
  let m = parsed.get(op);
  if (m === undefined) {
    if (op.means === null)
      throw new Error(`${op.name} has no meaning: it is the primitive '${op.primitive}'`);
    m = parseMeaning(op.means);
    parsed.set(op, m);
  }
  return m;
}

/** The slot takes nothing but a constant, so that its value is part of the specialisation (tables, shift counts). */
export const isConstantSlot = (s: Slot): boolean => s.kinds === 1 << Kind.Imm;

/** How source modifiers act: on integers by value, on floats by sign bits. */
export type ModifierStyle = 'integer' | 'f32' | 'f64' | 'half' | 'half2';

/** Style of a source of an opcode under its modifiers. */
export function modifierStyle(
  op: Opcode,
  valueOfGroup: (group: string) => string | null,
  width: number,
): ModifierStyle {
  if (/^H/.test(op.name)) return 'half2';
  if (/^(F2F|F2I|FRND)$/.test(op.name)) {
    const st = valueOfGroup('st') ?? valueOfGroup('type');
    return st === 'F64' ? 'f64' : st === 'F32' ? 'f32' : 'half';
  }
  if (/^(F(?!LO)|MUFU|D(?!EPBAR))/.test(op.name)) return width === 64 ? 'f64' : 'f32';
  return 'integer';
}
