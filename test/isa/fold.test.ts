import { describe, expect, it } from 'vitest';
import { type Opcode, OpFlag, slotWidth } from '../../src/ir/opcode.ts';
import { immOf } from '../../src/ir/operand.ts';
import { type Instr, instr } from '../../src/ir/program.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { evalBig } from '../../src/isa/reference.ts';
import { constantsLast, isFoldable, plainConstants, valuesOf } from '../../src/rules/fold.ts';
import { testIsa } from '../support/isa.ts';
import { modChoices, operandValue, Random } from '../support/meaning.ts';

const opcodes = testIsa().opcodes.filter(
  (o) => o.means !== null && (o.flags & OpFlag.Pure) !== 0 && o.dsts.length > 0 && o.srcs.length > 0,
);
/** Number of modifier choices per opcode, and of operand values for each. */
const MOST = 60;
const VALUES = 6;

/** An instruction with constant operands, and the reference's result. */
function constants(op: Opcode, mods: number, rnd: Random): { ins: Instr; want: bigint[] } {
  const srcMods = op.srcs.map((s) => rnd.next() & s.mods);
  const values = op.srcs.map((s) =>
    isConstantSlot(s) ? BigInt(rnd.below(70)) : operandValue(rnd, slotWidth(op, mods, s)),
  );
  const src = values.map((v, i) => ({
    ...immOf(v, slotWidth(op, mods, op.srcs[i]) || 32),
    mods: srcMods[i],
  }));
  const ins = instr(
    op,
    mods,
    op.dsts.map((_, i) => 8 * (i + 1)),
    src,
  );
  return { ins, want: evalBig(op, mods, values, srcMods) };
}

describe('the folder gives the exact reference', () => {
  it.each(opcodes.map((op) => [op.name, op] as const))('%s', (name, op) => {
    const rnd = new Random(`fold ${name}`);
    const all = modChoices(op);
    const some = all.length <= MOST ? all : Array.from({ length: MOST }, () => all[rnd.below(all.length)]);
    for (const mods of some)
      for (let n = 0; n < VALUES; n++) {
        const { ins, want } = constants(op, mods, rnd);
        const plain = plainConstants(ins);
        const sorted = constantsLast(plain);
        const said = JSON.stringify(ins.src.map((o) => [o.lo, o.hi, o.mods]));
        expect(isFoldable(ins, true)).toBe(true);
        expect(valuesOf(ins), `${name} ${mods} ${said}`).toEqual(want);
        expect(valuesOf(plain), `${name} ${mods} ${said}: signs taken into the values`).toEqual(want);
        expect(valuesOf(sorted), `${name} ${mods} ${said}: constants in another order`).toEqual(want);
      }
  });
});
