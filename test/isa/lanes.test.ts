import { expect, it } from 'vitest';
import { compileLane } from '../../src/isa/lanes.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { testIsa } from '../support/isa.ts';

it('every meaning compiles under every value of every modifier', () => {
  for (const op of testIsa().opcodes) {
    if (op.means === null) continue;
    const combos: number[] = [0];
    for (const g of op.groups)
      for (const m of [...combos])
        for (let i = 1; i < g.values.length; i++)
          if (combos.length < 400) combos.push((m | (i << g.shift)) >>> 0);
    for (const mods of combos) {
      const consts = op.srcs.map((s) => (isConstantSlot(s) ? 5 : null));
      try {
        compileLane({ op, mods, srcMods: op.srcs.map(() => 0), wanted: -1, consts });
      } catch (e) {
        expect.fail(`${op.name} ${mods}: ${e instanceof Error ? e.message : String(e)}`);
      }
    }
  }
});
