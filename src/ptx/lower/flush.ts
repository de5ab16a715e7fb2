import type { PtxInstr } from '../ast.ts';
import { type Home, spell } from '../check-spelling.ts';

/** Since sm_20, f32 operations support subnormal numbers unless .ftz is said (PTX ISA 9.0, add and others: Subnormal numbers). */
const FIRST_WITH_SUBNORMALS = 20;

/** Until this version, cvt between f32 and types of 64 bits kept subnormal numbers on sm_1x too (PTX ISA 9.0, cvt). */
const LAST_THAT_KEEPS = 1004;

/**
 * What makes instructions of a module say that they flush subnormal numbers, where its target does that without being told: on sm_1x
 * every f32 operation does that has `.ftz` at all, as ptxas 13.0 compiles them too.
 *
 * @returns null for a target that flushes nothing by itself
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
