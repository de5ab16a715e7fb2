import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { constantOf, type Known, rangeAt, rangeOf, rangesOf } from '../../src/analysis/values/ranges.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { NO_REG, type Reg, regIndex, regName, regOf } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { parseFn, printInstr } from '../../src/ir/text.ts';
import { Machine } from '../../src/sim/machine.ts';
import { contentsFor, OpenMemory } from '../../src/sim/open-memory.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { kernelNames, kernelOf, runKernel } from '../support/kernel-set.ts';
import { canProbe, probe, withProbes } from '../support/probes.ts';
import { randomFn } from '../support/random-fn.ts';
import { randomKernel } from '../support/random-kernel.ts';
import { simpleSsa } from '../support/simple-ssa.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();
const fnOf = (body: string, head = ''): Fn => parseFn(`.entry k\n${head}\n{\n${body}\n}`, isa);
const unsigned = (k: Known): [number, number] => [k.least, k.most];
const signed = (k: Known): [number, number] => [k.signedLeast, k.signedMost];
const at = (fn: Fn, reg: string, block: number): Known => rangeAt(rangesOf(fn), regOf(reg), block);
const of = (fn: Fn, reg: string): Known => rangeOf(rangesOf(fn), regOf(reg));

/** Why a value is outside of a range; null if it is inside. */
function outside(k: Known, lo: number, hi: number): string | null {
  const v = k.width === 64 ? (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0) : BigInt(lo >>> 0);
  const s = BigInt.asIntN(k.width, v);
  const fits =
    (lo & k.zeroLow) === 0 &&
    (lo & k.oneLow) === k.oneLow &&
    (k.width < 64 || ((hi & k.zeroHigh) === 0 && (hi & k.oneHigh) === k.oneHigh)) &&
    v >= BigInt(k.least) &&
    v <= BigInt(k.most) &&
    s >= BigInt(k.signedLeast) &&
    s <= BigInt(k.signedMost);
  return fits ? null : `${v.toString(16)} in ${JSON.stringify(k)}`;
}

class Checks {
  readonly faults: string[] = [];
  seen = 0;
  /** Values whose range says something. */
  told = 0;

  claim(r: Reg, k: Known, what: string): Instr {
    const tells = k.most < 2 ** k.width - 1 || k.least > 0 || (k.oneLow | k.oneHigh) !== 0;
    return probe(r, (_w, mask, lane) => {
      for (let l = 0; l < 32; l++) {
        if (((mask >>> l) & 1) === 0) continue;
        this.seen++;
        if (tells) this.told++;
        const v = lane(l);
        const why = outside(k, v.lo, v.hi);
        if (why !== null && this.faults.length < 5) this.faults.push(`${what}: ${why}`);
      }
    });
  }
}

function runChecks(fn: Fn, checks: Checks): void {
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
  new Machine(
    programOf(fn),
    fn,
    opts,
    new OpenMemory(contentsFor(1)),
    new DataView(new ArrayBuffer(0x1000)),
  ).run(fn);
  expect(checks.faults).toEqual([]);
}

const operands = (x: Instr): Reg[] =>
  [...new Set([...x.src.map((o) => o.reg), x.guard])].filter((r) => r !== NO_REG);

function claims(fn: Fn, checks: Checks): Fn {
  const r = rangesOf(fn);
  return withProbes(fn, (b, i) => {
    const x = fn.blocks[b].ins[i];
    if (cfgOf(fn).rpoNumber[b] < 0) return [];
    return operands(x)
      .filter(canProbe)
      .map((reg) =>
        checks.claim(
          reg,
          rangeAt(r, reg, b),
          `${regName(reg)} at BB${fn.blocks[b].id}[${i}] ${printInstr(x)}`,
        ),
      );
  });
}

function ssaClaims(fn: Fn, checks: Checks): Fn {
  const ssa = simpleSsa(fn);
  const r = rangesOf(ssa.fn);
  const claim = (b: number, reg: Reg, x: Instr): Instr[] => {
    const old = ssa.was.get(regIndex(reg));
    return old === undefined || !canProbe(old)
      ? []
      : [
          checks.claim(
            old,
            rangeAt(r, reg, b),
            `${regName(reg)} at BB${ssa.fn.blocks[b].id} ${printInstr(x)}`,
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
    return [
      ...(i > 0 ? [] : phis.flatMap((phi) => claim(b, phi.dst[0], phi))),
      ...operands(x).flatMap((reg) => claim(b, reg, x)),
    ];
  });
}

describe('every value that a kernel computes is in its range', () => {
  for (const [name, make] of [
    ['outside of SSA', claims],
    ['in SSA', ssaClaims],
  ] as const) {
    it(`structured kernels, ${name}`, () => {
      const total = { seen: 0, told: 0 };
      fc.assert(
        fc.property(randomKernel, (fn) => {
          const c = new Checks();
          runChecks(make(fn, c), c);
          total.seen += c.seen;
          total.told += c.told;
        }),
        { numRuns: runs(80), seed: 21 },
      );
      expect(total.told).toBeGreaterThan(total.seen / 4);
    });

    it(`any control flow, ${name}`, () => {
      let told = 0;
      fc.assert(
        fc.property(randomFn({ most: 12, midBlock: name === 'outside of SSA' }), (fn) => {
          const c = new Checks();
          runChecks(make(fn, c), c);
          told += c.told;
        }),
        { numRuns: runs(150), seed: 22 },
      );
      expect(told).toBeGreaterThan(3000);
    });
  }
});

describe('what it finds', () => {
  it('special registers, by the shape of the block', () => {
    const body = 'BB0:\nS2R.TID.X R1\nS2R.NTID.Y R2\nS2R.LANEID R3\nS2R.TID.Z R4\nS2R.CTAID.X R5\nEXIT';
    const free = fnOf(body);
    expect(['R1', 'R2', 'R3', 'R4', 'R5'].map((r) => unsigned(of(free, r)))).toEqual([
      [0, 1023],
      [1, 1024],
      [0, 31],
      [0, 63],
      [0, 2147483646],
    ]);
    const shaped = fnOf(body, '  .directive ".reqntid 64, 4, 1"');
    expect(['R1', 'R2', 'R4'].map((r) => unsigned(of(shaped, r)))).toEqual([
      [0, 63],
      [4, 4],
      [0, 0],
    ]);
    expect(unsigned(of(fnOf(body, '  .directive ".maxntid 16, 2, 2"'), 'R1'))).toEqual([0, 63]);
  });

  it('narrow loads, and what is computed from them', () => {
    const fn = fnOf(
      'BB0:\nLDC.B64 RD0, c[0x0][0x160]\nLDG.U8 R1, [RD0]\nLDG.S16 R2, [RD0]\nIMAD R3, R1, 4, 3\nSHL R4, R1, 8\nIMAD_WIDE.U32 RD5, R1, 8, RD0\nSHR.U32 R6, R4, 4\nEXIT',
    );
    expect(unsigned(of(fn, 'R1'))).toEqual([0, 255]);
    expect(signed(of(fn, 'R2'))).toEqual([-32768, 32767]);
    expect(unsigned(of(fn, 'R3'))).toEqual([3, 1023]);
    expect(of(fn, 'R3').oneLow & 3).toBe(3);
    expect(unsigned(of(fn, 'R4'))).toEqual([0, 65280]);
    expect(unsigned(of(fn, 'R6'))).toEqual([0, 4080]);
    expect(of(fn, 'R6').zeroLow & 15).toBe(15);
  });

  it('minimum, absolute value and selection keep what the comparison says', () => {
    const fn = fnOf(
      'BB0:\nLDC R1, c[0x0][0x160]\nIMNMX.MIN.U32 R2, R1, 100\nIMNMX.MAX R3, R1, RZ\nIABS R4, R1\nIMNMX.MIN R5, R3, 9\nEXIT',
    );
    expect(unsigned(of(fn, 'R2'))).toEqual([0, 100]);
    expect(signed(of(fn, 'R3'))).toEqual([0, 2147483647]);
    expect(unsigned(of(fn, 'R4'))).toEqual([0, 2147483648]);
    expect(unsigned(of(fn, 'R5'))).toEqual([0, 9]);
  });

  it('branch conditions refine ranges on both edges, also by their parts', () => {
    const fn = fnOf(`BB0:
LDC R1, c[0x0][0x160]
LDC R2, c[0x0][0x164]
ISETP.LT.U32 P3, R1, 10
ISETP.GE P4, R2, 5, P3
@P4 BRA BB2
BB1:
STG [RD9], R1
BRA BB3
BB2:
STG [RD9], R1
BB3:
@!P3 BRA BB5
BB4:
STG [RD9], R1
BB5:
EXIT`);
    expect(unsigned(at(fn, 'R1', 2))).toEqual([0, 9]);
    expect(signed(at(fn, 'R2', 2))).toEqual([5, 2147483647]);
    expect(unsigned(at(fn, 'R1', 1))).toEqual([0, 4294967295]);
    expect(unsigned(at(fn, 'R1', 3))).toEqual([0, 4294967295]);
    expect(unsigned(at(fn, 'R1', 4))).toEqual([0, 9]);
    expect(constantOf(at(fn, 'P3', 4))).toEqual({ low: 1, high: 0 });
    expect(constantOf(at(fn, 'P4', 1))).toEqual({ low: 0, high: 0 });
  });

  it('a guarded exit tells that its guard did not hold', () => {
    const fn = fnOf(`BB0:
LDC R1, c[0x0][0x160]
ISETP.LT.U32 P3, R1, 10
@!P3 EXIT
BB1:
STG [RD9], R1
ISETP.NE P4, R1, RZ
@!P4 RET
BB2:
STG [RD9], R1
EXIT`);
    expect(unsigned(at(fn, 'R1', 1))).toEqual([0, 9]);
    expect(unsigned(at(fn, 'R1', 2))).toEqual([1, 9]);
    expect(constantOf(at(fn, 'P3', 1))).toEqual({ low: 1, high: 0 });
  });

  it('tables tell the index', () => {
    const fn = fnOf(
      'BB0:\nLDC R1, c[0x0][0x160]\nBRX R1, T0\nBB1:\nEXIT\nBB2:\nEXIT',
      '  .table T0 BB1 BB2 BB2',
    );
    expect([unsigned(at(fn, 'R1', 1)), unsigned(at(fn, 'R1', 2))]).toEqual([
      [0, 0],
      [1, 2],
    ]);
  });

  it('loops: counters up, down, with a bound that is not known, and in steps', () => {
    const fn = fnOf(`BB0:
LDC R0, c[0x0][0x160]
BB1:
MOVPHI R1, {BB0: RZ, BB2: R2}
MOVPHI R3, {BB0: 64, BB2: R4}
MOVPHI R5, {BB0: RZ, BB2: R6}
ISETP.GE P7, R1, 100
@P7 BRA BB3
BB2:
IADD3 R2, R1, 1
IADD3 R4, R3, -1
IADD3 R6, R5, 8
ISETP.GT P8, R4, RZ
@P8 BRA BB1
BB3:
EXIT`);
    expect(unsigned(of(fn, 'R1'))).toEqual([0, 100]);
    expect(unsigned(at(fn, 'R1', 2))).toEqual([0, 99]);
    expect(unsigned(of(fn, 'R2'))).toEqual([1, 100]);
    expect(unsigned(of(fn, 'R3'))).toEqual([1, 64]);
    expect(unsigned(of(fn, 'R4'))).toEqual([0, 63]);
    expect(of(fn, 'R5').zeroLow & 7).toBe(7);
    const open = fnOf(`BB0:
LDC R0, c[0x0][0x160]
BB1:
MOVPHI R1, {BB0: RZ, BB2: R2}
ISETP.GE P7, R1, R0
@P7 BRA BB3
BB2:
IADD3 R2, R1, 1
BRA BB1
BB3:
EXIT`);
    expect(signed(of(open, 'R1'))).toEqual([0, 2147483647]);
    expect(signed(of(open, 'R2'))).toEqual([1, 2147483647]);
  });

  it('outside of SSA definitions are joined, and what may not be written yet is anything', () => {
    const fn = fnOf(`BB0:
LDC R9, c[0x0][0x160]
MOV R1, 3
ISETP.EQ P0, R9, RZ
@P0 MOV R1, 12
@P0 MOV R2, 1
IADD3 R3, R1, R2
IADD3 R4, R1, 1
EXIT`);
    expect(unsigned(of(fn, 'R1'))).toEqual([3, 12]);
    expect(unsigned(of(fn, 'R2'))).toEqual([0, 4294967295]);
    expect(unsigned(of(fn, 'R4'))).toEqual([4, 13]);
  });

  it('a guarded definition in SSA is one or the other', () => {
    const fn = fnOf(
      'BB0:\nLDC R9, c[0x0][0x160]\nISETP.EQ P0, R9, RZ\nMOV R1, 3\n@P0 MOV R2 else R1, 12\nEXIT',
    );
    expect(unsigned(of(fn, 'R2'))).toEqual([3, 12]);
  });
});

describe('test kernels', () => {
  it.each(kernelNames.filter((_, k) => k % 3 === 1))('%s', async (name) => {
    const { program, launches } = await kernelOf(name);
    const c = new Checks();
    const functions = program.functions.map((fn) => claims(fn, c));
    const r = runKernel({ ...program, functions }, launches[0], 30_000);
    expect(c.faults).toEqual([]);
    expect(['ok', 'budget']).toContain(r.status);
    expect(c.told).toBeGreaterThan(0);
  });
});
