import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgOf } from '../src/analysis/cfg.ts';
import { divergenceOf, lanesAt } from '../src/analysis/divergence.ts';
import { isPhi } from '../src/ir/flow.ts';
import { Lanes } from '../src/ir/opcode.ts';
import { NO_REG, type Reg, regIndex, regName } from '../src/ir/operand.ts';
import type { Fn, Instr } from '../src/ir/program.ts';
import { parseFn, printInstr } from '../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../src/ir/verify.ts';
import { Machine } from '../src/sim/machine.ts';
import { OpenMemory } from '../src/sim/memory.ts';
import { verifySsa } from '../src/ssa/verify.ts';
import { programOf } from './support/context.ts';
import { testIsa } from './support/isa.ts';
import { Agreement, canProbe, withProbes } from './support/probes.ts';
import { randomFn } from './support/random-fn.ts';
import { randomKernel } from './support/random-kernel.ts';
import { simpleSsa } from './support/simple-ssa.ts';

const isa = testIsa();
const { Block, Warp, Varying } = Lanes;

/** Runs two blocks of 80 threads (a warp is not full) and gives what contradicted the claims. */
function runClaims(fn: Fn, agreement: Agreement): void {
  const opts = {
    grid: [2, 1, 1],
    block: [20, 4, 1],
    dynamicShared: 0,
    budget: 4000,
    counters: null,
    open: true,
    seed: 1,
    slice: 150,
  } as const;
  const m = new Machine(programOf(fn), fn, opts, new OpenMemory(1), new DataView(new ArrayBuffer(0x1000)));
  m.run(fn);
  expect(agreement.faults).toEqual([]);
}

/** Claims about every register that an instruction reads, before it, and about every one written, behind it. */
function claims(fn: Fn, agreement: Agreement): Fn {
  const d = divergenceOf(fn);
  const reachable = (b: number): boolean => cfgOf(fn).rpoNumber[b] >= 0;
  return withProbes(fn, (b, i) => {
    if (!reachable(b)) return [];
    const x = fn.blocks[b].ins[i];
    const control = cfgOf(fn).midBlockControl ? null : d.control[b];
    return [...new Set([...x.src.map((o) => o.reg), x.guard])]
      .filter((r) => r !== NO_REG && canProbe(r))
      .map((r) =>
        agreement.claim(
          r,
          `${regName(r)} at BB${fn.blocks[b].id}[${i}] ${printInstr(x)}`,
          lanesAt(d, r, b),
          control,
        ),
      );
  });
}

/** The same of the function in SSA, tried on the function as it was. */
function ssaClaims(fn: Fn, agreement: Agreement): Fn {
  const ssa = simpleSsa(fn);
  expect([...verifyFn(ssa.fn), ...verifySsa(ssa.fn)].map(verifyMessage)).toEqual([]);
  const d = divergenceOf(ssa.fn);
  const claim = (b: number, r: Reg, x: Instr): Instr[] => {
    const old = ssa.was.get(regIndex(r));
    if (old === undefined || !canProbe(old)) return [];
    return [
      agreement.claim(
        old,
        `${regName(r)} at BB${ssa.fn.blocks[b].id} ${printInstr(x)}`,
        lanesAt(d, r, b),
        d.control[b],
      ),
    ];
  };
  const position = new Map(ssa.fn.blocks.map((b, p) => [b.id, p]));
  return withProbes(fn, (p, i) => {
    const b = position.get(fn.blocks[p].id);
    if (b === undefined) return [];
    const { ins } = ssa.fn.blocks[b];
    const phis = ins.filter(isPhi);
    const x = ins[phis.length + i];
    const before = i > 0 ? [] : phis.flatMap((phi) => claim(b, phi.dst[0], phi));
    return [
      ...before,
      ...[...x.src.map((o) => o.reg), x.guard].filter((r) => r !== NO_REG).flatMap((r) => claim(b, r, x)),
    ];
  });
}

describe('what it says of agreement holds in every execution', () => {
  for (const [name, make] of [
    ['outside of SSA', claims],
    ['in SSA', ssaClaims],
  ] as const) {
    it(`structured kernels, ${name}`, () => {
      let checked = 0;
      let across = 0;
      fc.assert(
        fc.property(randomKernel, (fn) => {
          const a = new Agreement();
          runClaims(make(fn, a), a);
          checked += a.checked;
          across += a.across;
        }),
        { numRuns: 200, seed: 11 },
      );
      expect(checked).toBeGreaterThan(50_000);
      expect(across).toBeGreaterThan(1000);
    });

    it(`any control flow, ${name}`, () => {
      let checked = 0;
      fc.assert(
        fc.property(
          randomFn({ most: 12, midBlock: name === 'outside of SSA' }),
          fc.integer({ min: 0, max: 15 }),
          (fn, which) => {
            // Some registers differ between lanes, some between warps.
            const first = ['S2R.TID.X R0', 'S2R.LANEID R1', 'S2R.WARPID R2', 'S2R.TID.Y R3']
              .filter((_, k) => ((which >> k) & 1) === 1)
              .map((t) => parseFn(`.entry k\n{\nBB0:\n${t}\nEXIT\n}`, isa).blocks[0].ins[0]);
            const blocks = fn.blocks.map((b, p) => (p === 0 ? { ...b, ins: [...first, ...b.ins] } : b));
            const a = new Agreement();
            runClaims(make({ ...fn, blocks }, a), a);
            checked += a.checked;
          },
        ),
        { numRuns: 500, seed: 12 },
      );
      expect(checked).toBeGreaterThan(10_000);
    });
  }
});
