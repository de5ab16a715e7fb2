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
  // By the array of modifiers, of which the parser makes one for each spelling: what is cached by it is found for the result too.
  const known = new WeakMap<readonly string[], readonly string[]>();
  return (i) => {
    let mods = known.get(i.mods);
    if (mods === undefined) {
      mods = flushes(i, home) ? [...i.mods, 'ftz'] : i.mods;
      if (i.mods.length > 0) known.set(i.mods, mods);
    }
    return mods === i.mods ? i : { ...i, mods };
  };
}

function flushes({ opcode, mods }: PtxInstr, home: Home): boolean {
  if (!mods.includes('f32') || mods.includes('ftz')) return false;
  if (opcode === 'cvt' && home.version <= LAST_THAT_KEEPS && mods.some((m) => /^[fsu]64$/.test(m)))
    return false;
  return spell(opcode, [...mods, 'ftz'], home)?.fault === null;
}
