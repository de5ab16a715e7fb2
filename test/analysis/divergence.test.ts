import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { divergenceOf, lanesAt } from '../../src/analysis/uniformity/divergence.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { Lanes } from '../../src/ir/opcode.ts';
import { NO_REG, type Reg, regIndex, regName, regOf } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { parseFn, printInstr } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { Machine } from '../../src/sim/machine.ts';
import { contentsFor, OpenMemory } from '../../src/sim/open-memory.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { kernelNames, kernelOf, runKernel } from '../support/kernel-set.ts';
import { Agreement, canProbe, withProbes } from '../support/probes.ts';
import { randomFn } from '../support/random-fn.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { simpleSsa } from '../support/simple-ssa.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();
const { Varying } = Lanes;

/** Runs two blocks of 80 threads, so that a warp is not full, and returns violations of the claims. */
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
  const m = new Machine(
    programOf(fn),
    fn,
    opts,
    new OpenMemory(contentsFor(1)),
    new DataView(new ArrayBuffer(0x1000)),
  );
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
        { numRuns: runs(100), seed: 11 },
      );
      expect(checked).toBeGreaterThan(25_000);
      expect(across).toBeGreaterThan(500);
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
        { numRuns: runs(200), seed: 12 },
      );
      expect(checked).toBeGreaterThan(4000);
    });
  }
});

describe('test kernels', () => {
  // Every third one, from as many lanes of blocks as a short run covers.
  it.each(kernelNames.filter((_, k) => k % 3 === 0))('%s', async (name) => {
    const { program, launches } = await kernelOf(name);
    const a = new Agreement();
    const functions = program.functions.map((fn) => claims(fn, a));
    const r = runKernel({ ...program, functions }, launches[0], 60_000);
    expect(a.faults).toEqual([]);
    expect(['ok', 'budget']).toContain(r.status);
  });
});

const fnOf = (body: string, head = ''): Fn => parseFn(`.entry k\n${head}\n{\n${body}\n}`, isa);
const LEVELS = ['block', 'warp', 'varying'];
/** Levels of registers, in words, as the block at a position sees them. */
const seen = (fn: Fn, b: number, regs: string): string[] =>
  regs.split(' ').map((r) => LEVELS[lanesAt(divergenceOf(fn), regOf(r), b)]);
const words = (levels: Uint8Array): string[] => [...levels].map((l) => LEVELS[l]);

describe('where values come from', () => {
  it('special registers, by the shape of the block', () => {
    const body =
      'BB0:\nS2R.TID.X R1\nS2R.TID.Y R2\nS2R.TID.Z R3\nS2R.WARPID R4\nS2R.CTAID.X R5\nS2R.LANEID R6\nCS2R.CLOCK R7\nEXIT';
    const regs = 'R1 R2 R3 R4 R5 R6 R7';
    expect(seen(fnOf(body), 0, regs)).toEqual([
      'varying',
      'varying',
      'varying',
      'warp',
      'block',
      'varying',
      'varying',
    ]);
    const of = (shape: string) => seen(fnOf(body, `  .directive ".reqntid ${shape}"`), 0, 'R1 R2 R3');
    expect(of('32, 8, 2')).toEqual(['varying', 'warp', 'warp']);
    expect(of('16, 2, 4')).toEqual(['varying', 'varying', 'warp']);
    expect(of('64')).toEqual(['varying', 'block', 'block']);
    // .maxntid says nothing of the extent along an axis.
    expect(seen(fnOf(body, '  .directive ".maxntid 32, 8, 2"'), 0, 'R2')).toEqual(['varying']);
  });

  it('parameters, constants, memory that is written and that is not', () => {
    const load = (more: string) =>
      fnOf(
        `BB0:\nLDC.B64 RD0, c[0x0][0x160]\nS2R.TID.X R9\nLDG R1, [RD0]\nLDG.NC R2, [RD0]\nLDG.VOLATILE R3, [RD0]\nLDS R4, [16]\nLDG R5, [R9]\nLDL R6, [0]\n${more}\nEXIT`,
      );
    const regs = 'RD0 R1 R2 R3 R4 R5 R6';
    expect(seen(load(''), 0, regs)).toEqual([
      'block',
      'block',
      'block',
      'varying',
      'block',
      'varying',
      'varying',
    ]);
    expect(seen(load('STG [RD0], R9'), 0, regs)).toEqual([
      'block',
      'varying',
      'block',
      'varying',
      'block',
      'varying',
      'varying',
    ]);
    expect(seen(load('STS [4], R9'), 0, 'R1 R4')).toEqual(['block', 'varying']);
    // A generic address may lie in any space.
    const generic = (more: string) => seen(load(`LD R11, [RD0]\n${more}`), 0, 'R11');
    expect(generic('')).toEqual(['block']);
    for (const store of ['STG [RD0], R9', 'STS [4], R9', 'STL [0], R9', 'ST [RD0], R9'])
      expect(generic(store)).toEqual(['varying']);
    expect(seen(load('ATOM.ADD R10, [RD0], R9'), 0, 'R1 R2 R4 R10')).toEqual([
      'varying',
      'block',
      'varying',
      'varying',
    ]);
  });

  it('what a warp does together', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nISETP.LT P21, R1, 9\nVOTE.ANY R2, P22, P21, -1\nVOTE.ALL R3, P23, P21, R1\nREDUX.ADD R4, R1, -1\nMATCH.ANY R5, P25, R1, -1\nMATCH.ALL R6, P26, R1, -1\nELECT R7, P27, -1\nSHFL.IDX R8, P28, R1, RZ, 31, -1\nACTIVEMASK R10\nBAR.RED.AND R11, P31, 0, RZ, P21\nEXIT',
    );
    expect(seen(fn, 0, 'R2 P22 R3 P23 R4 R5 R6 P26 R7 P27 R8 P28 R10 P31')).toEqual([
      ...['warp', 'warp', 'varying', 'varying', 'warp', 'varying', 'warp', 'warp', 'warp', 'varying'],
      ...['varying', 'varying', 'varying', 'block'],
    ]);
  });

  it('guards, values under a false guard, undefined registers, parameters of device functions', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nISETP.LT P9, R1, 9\nMOV R2, 1\nMOV R3, 2\n@P9 MOV R4 else R2, 3\nIADD3 R5, R3, R6\nEXIT',
    );
    expect(seen(fn, 0, 'R2 R4 R5')).toEqual(['block', 'varying', 'varying']);
    const device = parseFn(
      '.func f\n  .param u32 a size 4 align 4 at 0 reg R1\n{\nBB0:\nIADD3 R2, R1, 1\nRET\n}',
      isa,
    );
    expect(seen(device, 0, 'R2')).toEqual(['varying']);
  });
});

describe('control', () => {
  const diamond = (source: string): Fn =>
    fnOf(
      `BB0:\n${source} R1\nISETP.LT P31, R1, 9\n@P31 BRA BB2\nBB1:\nMOV R2, 1\nBRA BB3\nBB2:\nMOV R3, 2\nBB3:\nMOVPHI R4, {BB1: R2, BB2: R3}\nMOVPHI R5, {BB1: R1, BB2: R1}\nSTG [RD9], R4\nEXIT`,
    );

  it('a join of a divergent branch', () => {
    const d = divergenceOf(diamond('S2R.TID.X'));
    expect(words(d.branch)).toEqual(['varying', 'block', 'block', 'block']);
    expect(words(d.control)).toEqual(['block', 'varying', 'varying', 'block']);
    expect(seen(diamond('S2R.TID.X'), 3, 'R2 R3 R4')).toEqual(['block', 'block', 'varying']);
    expect(seen(diamond('S2R.WARPID'), 3, 'R2 R3 R4 R5')).toEqual(['block', 'block', 'warp', 'warp']);
    expect(words(divergenceOf(diamond('S2R.WARPID')).control)).toEqual(['block', 'warp', 'warp', 'block']);
    expect(seen(diamond('S2R.CTAID.X'), 3, 'R4')).toEqual(['block']);
  });

  it('a branch on a phi diverges inside the region of another divergent branch', () => {
    // Of the lanes below 5, those below 3 get 2 in R3, others 1; so R6 is 4 in some and 3 in others.
    const fn = fnOf(`BB0:\nS2R.TID.X R1\nISETP.LT P8, R1, 5\nISETP.LT P9, R1, 3\n@!P8 BRA BB8
BB1:\n@P9 BRA BB3\nBB2:\nMOV R10, 1\nBRA BB4\nBB3:\nMOV R11, 2\nBB4:\nMOVPHI R3, {BB2: R10, BB3: R11}\nISETP.EQ P10, R3, 2
@P10 BRA BB6\nBB5:\nMOV R4, 3\nBRA BB7\nBB6:\nMOV R5, 4\nBB7:\nMOVPHI R6, {BB5: R4, BB6: R5}\nSTG [RD20], R6\nBB8:\nEXIT`);
    expect(seen(fn, 7, 'R3 R4 R5 R6')).toEqual(['varying', 'block', 'block', 'varying']);
  });

  it('a branch marked uniform does not diverge', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nISETP.LT P31, R1, 9\n@P31 BRA.U BB2\nBB1:\nBRA BB2\nBB2:\nMOVPHI R4, {BB0: 1, BB1: 2}\nEXIT',
    );
    expect(seen(fn, 2, 'R4')).toEqual(['warp']);
  });

  it('a counter is uniform in a loop with a divergent exit, and not after it', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nBB1:\nMOVPHI R2, {BB0: RZ, BB1: R3}\nIADD3 R3, R2, 1\nISETP.LT P31, R3, R1\n@P31 BRA BB1\nBB2:\nIADD3 R4, R3, 1\nMOVPHI R5, {BB1: R3}\nEXIT',
    );
    expect(seen(fn, 1, 'R2 R3')).toEqual(['block', 'block']);
    expect(seen(fn, 2, 'R3 R4')).toEqual(['varying', 'varying']);
    expect(words(divergenceOf(fn).control)).toEqual(['block', 'varying', 'block']);
  });

  it('exits of a loop that lanes take in different iterations join like the paths of a branch', () => {
    // The second exit hangs on the counter alone.
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nBB1:\nMOVPHI R2, {BB0: RZ, BB2: R3}\nISETP.EQ P31, R2, R1\n@P31 BRA BB4\nBB2:\nIADD3 R3, R2, 1\nISETP.LT P32, R3, 9\n@P32 BRA BB1\nBB3:\nBRA BB5\nBB4:\nBRA BB5\nBB5:\nMOVPHI R5, {BB3: 7, BB4: 8}\nEXIT',
    );
    expect(seen(fn, 5, 'R5')).toEqual(['varying']);
    expect(seen(fn, 2, 'R2 R3')).toEqual(['block', 'block']);
  });

  it('lanes that have met go around a loop together, whichever of its back edges they take', () => {
    // A part of the lanes may leave at BB2; all others meet at BB3, and what follows is the same for them.
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nISETP.LT P31, R1, 9\nLDC R8, c[0x0][0x160]\nISETP.LT P32, R8, 5\nISETP.LT P36, R8, 7\nBB1:\nMOVPHI R2, {BB0: RZ, BB4: R5, BB5: R6}\n@P31 BRA BB3\nBB2:\n@P36 BRA BB9\nBB3:\n@P32 BRA BB5\nBB4:\nIADD3 R5, R2, 1\nBRA BB1\nBB5:\nIADD3 R6, R2, 2\nISETP.LT P35, R6, 99\n@P35 BRA BB1\nBB9:\nEXIT',
    );
    expect(seen(fn, 1, 'R2')).toEqual(['block']);
    expect(seen(fn, 4, 'R5 R6')).toEqual(['block', 'block']);
  });

  it('lanes that wait for others inside of a loop have gone around it less often', () => {
    // BB1 goes back to its own header or on to BB2, where all lanes meet.
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nBB1:\nMOVPHI R2, {BB0: RZ, BB1: R3, BB2: R3}\nIADD3 R3, R2, 1\nISETP.LT P31, R3, R1\n@P31 BRA BB1\nBB2:\nISETP.LT P32, R3, 9\n@P32 BRA BB1\nBB3:\nEXIT',
    );
    expect(seen(fn, 2, 'R2 R3')).toEqual(['varying', 'varying']);
  });

  it('outside of SSA: only registers that are live at the join and written on a path differ', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nMOV R2, 1\nMOV R3, 1\nISETP.LT P31, R1, 9\n@P31 BRA BB2\nBB1:\nMOV R2, 2\nMOV R4, RZ\nBB5:\nIADD3 R4, R4, 1\nISETP.LT P32, R4, 9\n@P32 BRA BB5\nBB2:\nSTG [RD9], R2\nIADD3 R3, R3, 1\nSTG [RD9], R3\nEXIT',
    );
    expect(seen(fn, 3, 'R2 R3 R4')).toEqual(['varying', 'block', 'block']);
  });

  it('outside of SSA: a counter that is read after a loop with a divergent exit differs', () => {
    const loop = (behind: string): Fn =>
      fnOf(
        `BB0:\nS2R.TID.X R1\nMOV R2, RZ\nBB1:\nIADD3 R2, R2, 1\nISETP.LT P31, R2, R1\n@P31 BRA BB1\nBB2:\nSTG [RD9], ${behind}\nEXIT`,
      );
    expect(seen(loop('R2'), 2, 'R2')).toEqual(['varying']);
    expect(seen(loop('R1'), 2, 'R2')).toEqual(['block']);
  });

  it('an irreducible region that lanes enter by different edges', () => {
    const fn = fnOf(
      'BB0:\nS2R.TID.X R1\nLDC R8, c[0x0][0x160]\nISETP.LT P31, R1, 9\n@P31 BRA BB2\nBB1:\nMOVPHI R2, {BB0: RZ, BB2: R3}\nIADD3 R4, R2, 1\nISETP.LT P32, R4, R8\n@P32 BRA BB3\nBB2:\nMOVPHI R5, {BB0: RZ, BB1: R4}\nIADD3 R3, R5, 1\nBRA BB1\nBB3:\nEXIT',
    );
    expect(seen(fn, 3, 'R2 R5 R4')).toEqual(['varying', 'varying', 'varying']);
    const uniform = fnOf(
      'BB0:\nLDC R8, c[0x0][0x160]\nISETP.LT P31, R8, 9\n@P31 BRA BB2\nBB1:\nMOVPHI R2, {BB0: RZ, BB2: R3}\nIADD3 R4, R2, 1\nISETP.LT P32, R4, R8\n@P32 BRA BB3\nBB2:\nMOVPHI R5, {BB0: RZ, BB1: R4}\nIADD3 R3, R5, 1\nBRA BB1\nBB3:\nEXIT',
    );
    expect(seen(uniform, 3, 'R2 R5 R4')).toEqual(['block', 'block', 'block']);
  });

  it('a chain of many returns costs what it is long', () => {
    const chain = (n: number): Fn =>
      fnOf(
        `BB0:\nS2R.TID.X R1\n${Array.from({ length: n }, (_, k) => `BB${k + 2}:\nISETP.EQ P${k + 9}, R1, ${k}\n@P${k + 9} BRA BB1`).join('\n')}\nBB1:\nEXIT`,
      );
    const d = divergenceOf(chain(20_000));
    expect(d.branch.filter((l) => l === Varying).length).toBe(19_999);
  });

  it('so does an irreducible region of many branches', () => {
    const n = 10_000;
    const to = (k: number) => 1 + ((k * 7919) % n);
    const body = Array.from(
      { length: n },
      (_, k) => `BB${k + 1}:\nISETP.EQ P${k + 9}, R1, ${k}\n@P${k + 9} BRA BB${to(k)}`,
    );
    const d = divergenceOf(
      fnOf(
        `BB0:\nS2R.TID.X R1\nISETP.LT P8, R1, 9\n@P8 BRA BB${n / 2}\n${body.join('\n')}\nBB${n + 1}:\nEXIT`,
      ),
    );
    expect(d.branch.filter((l) => l === Varying).length).toBe(n + 1);
  });
});
