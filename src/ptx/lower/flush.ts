import type { PtxInstr } from '../ast.ts';
import { type Home, spell } from '../check-spelling.ts';

/** From sm_20 on, f32 operations support subnormal numbers unless `.ftz` is given (PTX ISA 9.0, add and others: Subnormal numbers). */
const FIRST_WITH_SUBNORMALS = 20;

/** Up to this version, cvt between f32 and 64-bit types keeps subnormal numbers even on sm_1x (PTX ISA 9.0, cvt). */
const LAST_THAT_KEEPS = 1004;

/**
 * Makes the function that adds `.ftz` to instructions of targets that always flush subnormal numbers: on sm_1x, every f32 operation that
 * can have `.ftz` flushes. ptxas 13.0 compiles them in this way too.
 *
 * @returns null for a target that flushes only with `.ftz`
 */
export function flusherFor(home: Home): ((i: PtxInstr) => PtxInstr) | null {
  if (home.sm >= FIRST_WITH_SUBNORMALS) return null;
  return (i) => (flushes(i, home) ? { ...i, mods: [...i.mods, 'ftz'] } : i);
}

function flushes({ opcode, mods }: PtxInstr, home: Home): boolean {
  if (!mods.includes('f32') || mods.includes('ftz')) return false;
  if (opcode === 'cvt' && home.version <= LAST_THAT_KEEPS && mods.some((m) => /^[fsu]64$/.test(m)))
    return false;
  return spell(opcode, [...mods, 'ftz'], home)?.fault === null;
}
