import { bench, describe } from 'vitest';
import { withMods } from '../../src/ir/opcode.ts';
import { compileLane, type LaneRegs } from '../../src/isa/lanes.ts';
import { isConstantSlot } from '../../src/isa/meaning.ts';
import { testIsa } from '../support/isa.ts';

/**
 * Lane functions on full warps (`npx vitest bench test/bench/lanes.bench.ts`). One operation is 1,000 warp instructions, so
 * hz * 32,000 is thread instructions a second; the aim for arithmetic is 100 million and more.
 */
const CASES: readonly [string, ...string[]][] = [
  ['IADD3'],
  ['IMAD'],
  ['LOP3'],
  ['IADD3', '64'],
  ['IMAD_WIDE'],
  ['ISETP', 'LT'],
  ['FADD'],
  ['FFMA'],
  ['DFMA'],
  ['HFMA2'],
  ['F2I', 'dt=S32', 'st=F32'],
];

const memory = new ArrayBuffer(1 << 15);
const regs: LaneRegs = {
  i32: new Int32Array(memory),
  f32: new Float32Array(memory),
  f64: new Float64Array(memory),
  p: new Int32Array(32),
};

describe('1,000 warp instructions', () => {
  for (const [name, ...modifiers] of CASES) {
    const op = testIsa().byName.get(name)!;
    const fn = compileLane({
      op,
      mods: withMods(op, 0, ...modifiers),
      srcMods: op.srcs.map(() => 0),
      wanted: 1,
      consts: op.srcs.map((s) => (isConstantSlot(s) ? 0x96 : null)),
    });
    const slots = [...op.dsts, ...op.srcs];
    // Registers stand 64 words apart; every instruction of a round reads and writes other ones.
    const places = Int32Array.from({ length: 64 * 8 }, (_, i) => {
      const k = i >> 3;
      const j = i & 7;
      return slots[j]?.bank === 'p' ? (k + j) & 31 : ((5 * k + 3 * j) % 120) * 64;
    });
    const fill = (): void => {
      if (/^[FM]/.test(name)) regs.f32.forEach((_, i) => (regs.f32[i] = 1 + (i % 1000) / 1000));
      else if (name.startsWith('D')) regs.f64.forEach((_, i) => (regs.f64[i] = 1 + (i % 1000) / 1000));
      else
        regs.i32.forEach(
          (_, i) => (regs.i32[i] = name.startsWith('H') ? 0x3c013801 + (i & 0xff) : (i * 2654435761) | 0),
        );
    };
    bench(
      [name, ...modifiers].join('.'),
      () => {
        for (let i = 0; i < 1000; i++) fn(regs, places, (i & 63) * 8, -1);
      },
      { setup: fill, time: 200, warmupTime: 50 },
    );
  }
});
