import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frequencyOf } from '../../src/analysis/flow/frequency.ts';
import { functionTime, type Target } from '../../src/analysis/schedule/estimates.ts';
import {
  blockStatistics,
  loopStatistics,
  statistics,
} from '../../src/analysis/schedule/listing-statistics.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { randomFn } from '../support/random-fn.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

/** Every instruction occupies its unit for 2 cycles; results are available after 10 cycles, those of loads after 100. */
const target: Target = {
  costs: { alu: 2, fma: 2, fp16: 2, fp64: 2, xu: 2, lsu: 2, control: 2, special: 2 },
  latencies: {
    alu: 10,
    fma: 10,
    fp16: 10,
    fp64: 10,
    xu: 10,
    control: 10,
    special: 10,
    global: 100,
    const: 50,
    local: 60,
    shared: 20,
  },
  limits: {
    'warp-size': 32,
    'warps-per-sm': 64,
    'threads-per-sm': 2048,
    'ctas-per-sm': 32,
    'registers-per-sm': 65536,
    'register-allocation-unit': 256,
    'min-registers': 16,
    'max-registers': 255,
    subpartitions: 4,
    'shared-kb': [0, 64, 100],
    'shared-allocation-unit': 128,
    'reserved-shared-per-cta': 1024,
  },
  instructionBytes: 16,
};
const header = (fn: Fn, allocated = false, program: Program = programOf(fn)): string =>
  statistics(fn, { target, program, allocated }).join('\n');
const line = (text: string, start: string): string => text.split('\n').find((l) => l.startsWith(start))!;

describe('the header of a listing', () => {
  const saxpy = parseFn(
    '.entry s\n{\nBB0:\nLDC.B64 RD1, c[0x0][0x160]\nS2R.TID.X R2\nIMAD_WIDE RD3, R2, 4, RD1\nLDG R4, [RD3]\nFADD R5, R4, R4\nSTG [RD3], R5\nEXIT\n}',
    isa,
  );

  it('four instructions per cycle where each of four sub-partitions takes one', () => {
    const costs = { ...target.costs, control: 1 };
    const fn = parseFn('.entry e\n{\nBB0:\nEXIT\n}', isa);
    const text = statistics(fn, {
      target: { ...target, costs },
      program: programOf(fn),
      allocated: false,
    }).join('\n');
    expect(text).toContain('[issue thru=4.000000] [fp thru=inf]');
    expect(text).toContain('[controlFlow thru=4.000000]');
  });

  it('has the lines and fields of the original', () => {
    // LDC at 0, S2R at 1, IMAD_WIDE when LDC is done at 50, LDG at 60, FADD at 160, STG at 170, EXIT at 171: 172 cycles.
    // 7 issues and 2 cycles of fma for IMAD_WIDE and 2 for FADD, over 4 parts: 4 / 7 and 4 / 4. lsu: three times 2 cycles.
    expect(header(saxpy)).toBe(
      [
        '# 7 instructions, 7 R-regs',
        '# [inst=7] [texInst=0] [tepid=0] [rregs=7]',
        '# [FP16 inst=0] [FP16 VectInst=0] [Percentage Vectorized=0.00]',
        '# [est latency = 172] [LSpillB=0] [LRefillB=0], [SSpillB=0], [SRefillB=0], [LowLmemSpillSize=0] [FrameLmemSpillSize=0]',
        '# [LNonSpillB=0] [LNonRefillB=0], [NonSpillSize=0]',
        '# [Occupancy = 1.000000], [est numDivergentBranches=0] [attributeMemUsage=0], [programSize=112]',
        '# [est fp=1] [est half=0], [est trancedental=0], [est ipa=0], [est shared=0], [est controlFlow=1], [est loadStore=3]',
        '# [est tex=0] [est pairs=0]',
        '# [issue thru=0.571429] [fp thru=1.000000] [half thru=inf], [trancedental thru=inf], [ipa thru=inf]',
        '# [shared thru=inf] [controlFlow thru=2.000000] [texLoadStore thru=0.666667], [reg thru=0.744186], [warp thru=0.372093]',
        '# [partially unrolled loops=0] [non-unrolled loops=0]',
        '# [CB-Bound Tex=0] [UR-Bound Tex=0] [Bindless Tex=0] [Partially Bound Tex=0]',
        '# [UDP inst=0] [numVecToURConverts inst=0]',
        '# [maxNumLiveValuesAtSuspend=0]',
        '# [instHint=0] [instPairs=0]',
        '# [worstcaseLat=172.000000]',
        '# [avgcaseLat=172.000000]',
        '# [SharedMem Alloc thru=inf]',
        '# [Precise inst=0]',
        '# [maxlive=3]',
      ].join('\n'),
    );
  });

  it('has no commas among spills once registers are physical', () => {
    expect(line(header(saxpy, true), '# [est latency')).toBe(
      '# [est latency = 172] [LSpillB=0] [LRefillB=0] [SSpillB=0] [SRefillB=0] [LowLmemSpillSize=0] [FrameLmemSpillSize=0]',
    );
  });

  it('counts halves, uniform registers, local memory, textures and branches that part lanes', () => {
    const { program } = lowerPtx(
      parsePtx(
        `.version 8.0
.target sm_80
.address_size 64
.global .texref named;
.shared .align 4 .b8 buf[32000];
.visible .entry k(.param .u64 k_0, .param .u64 k_1)
.maxntid 64
{
  .local .align 8 .b8 frame[24];
  .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .f32 %f<9>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [k_0];
  ld.param.u64 %rd2, [k_1];
  mov.u32 %r1, %tid.x;
  st.local.u32 [frame], %r1;
  ld.local.v2.u32 {%r2, %r3}, [frame+8];
  st.shared.u32 [buf], %r2;
  setp.eq.u32 %p1, %r1, 3;
  @%p1 bra DONE;
  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r2}];
  tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [named, {%r2}];
  st.global.f32 [%rd2], %f1;
  st.global.f32 [%rd2+4], %f5;
  add.f16x2 %r4, %r2, %r3;
  st.global.u32 [%rd2+8], %r4;
DONE:
  ret;
}`,
        'k.ptx',
      ).module,
      { isa, paramBase: 0x160, sm: 'sm_80' },
    );
    const h = header(program.functions[0], false, program);
    expect(line(h, '# [inst')).toMatch(/ \[texInst=2\] /);
    expect(line(h, '# [FP16')).toBe('# [FP16 inst=1] [FP16 VectInst=1] [Percentage Vectorized=100.00]');
    expect(line(h, '# [LNonSpillB')).toBe('# [LNonSpillB=4] [LNonRefillB=8], [NonSpillSize=24]');
    expect(line(h, '# [est fp')).toMatch(/ \[est shared=1\], /);
    expect(line(h, '# [est tex')).toBe('# [est tex=2] [est pairs=0]');
    expect(line(h, '# [CB')).toBe(
      '# [CB-Bound Tex=1] [UR-Bound Tex=0] [Bindless Tex=1] [Partially Bound Tex=0]',
    );
    // 100 KB hold 3 blocks of 32000 bytes and the reserved KB each: 6 of 64 warps.
    expect(line(h, '# [Occupancy')).toMatch(/^# \[Occupancy = 0\.093750\], \[est numDivergentBranches=1\] /);
    expect(line(h, '# [SharedMem')).toMatch(/=0\.\d{6}\]$/);
  });

  it('reports uniform registers and what is moved to them', () => {
    const fn = parseFn('.entry u\n{\nBB0:\nMOV UR1, 3\nMOV UR2, UR1\nMOV R3, UR2\nEXIT\n}', isa);
    expect(line(header(fn), '# [urregs')).toBe('# [urregs=2]');
    expect(line(header(fn), '# [UDP')).toBe('# [UDP inst=2] [numVecToURConverts inst=0]');
    const into = parseFn('.entry u\n{\nBB0:\nMOV R1, 3\nMOV UR2, R1\nEXIT\n}', isa);
    expect(line(header(into), '# [UDP')).toBe('# [UDP inst=1] [numVecToURConverts inst=1]');
  });

  it('an empty function has no cycles and no throughput', () => {
    const fn = parseFn('.entry e\n{\nBB0:\n}', isa);
    expect(line(header(fn), '# [est latency')).toMatch(/^# \[est latency = 0\] /);
    expect(line(header(fn), '# [issue')).toMatch(/^# \[issue thru=inf\] /);
  });
});

describe('times of functions', () => {
  const block = 'IADD3 R1, R1, 1'; // ready after 10 cycles

  it('the worst case takes the slower arm, the average both by their chances', () => {
    const fn = parseFn(
      `.entry k\n{\nBB0:\nMOV R1, 3\nISETP.LT P2, R1, 9\n@P2 BRA BB2\nBB1:\n${block}\n${block}\n${block}\nBB2:\nEXIT\n}`,
      isa,
    );
    const t = functionTime(fn, target);
    // BB0: MOV 0, ISETP 10, BRA 20, done at 21. BB1: three in a row, 30. BB2: 1.
    const p = frequencyOf(fn).block[1];
    expect(t.worst).toBe(21 + 30 + 1);
    expect(t.average).toBeCloseTo(21 + p * 30 + 1, 9);
    expect(p).toBeGreaterThan(0);
    expect(p).toBeLessThan(1);
  });

  it('loops count by trip count, inner ones in each iteration of the outer', () => {
    const fn = parseFn(
      `.entry k
{
BB0:
MOV R1, 0
BB1:
MOV R2, 0
BB2:
IADD3 R2, R2, 1
ISETP.LT P3, R2, 5
@P3 BRA BB2
BB3:
IADD3 R1, R1, 1
ISETP.LT P4, R1, 3
@P4 BRA BB1
BB4:
EXIT
}`,
      isa,
    );
    const counted = {
      ...fn,
      attrs: { ...fn.attrs, counts: [1, 3, 15, 3, 1].map((count, block) => ({ block, count })) },
    };
    expect(loopStatistics(counted, target)).toEqual([
      '# loop BB1 [depth=1] [blocks=3] [inst=7] [est runs=3.000000] [est latency=136.000000]',
      '# loop BB2 [depth=2] [blocks=1] [inst=3] [est runs=15.000000] [est latency=21.000000]',
    ]);
    // BB0 10, BB1 3 * 10, BB2 15 * 21, BB3 3 * 21, BB4 1.
    const t = functionTime(counted, target);
    expect(blockStatistics(counted, target).slice(1, 3)).toEqual([
      '# BB1 [inst=1] [est runs=3.000000] [est latency=10]',
      '# BB2 [inst=3] [est runs=15.000000] [est latency=21]',
    ]);
    expect(t.average).toBe(10 + 30 + 15 * 21 + 3 * 21 + 1);
    expect(t.worst).toBeCloseTo(t.average, 9);
    expect(t.issued).toBe(1 + 3 + 45 + 9 + 1);
  });

  it('the worst case is never below the average, whatever the flow', () => {
    let more = 0;
    fc.assert(
      fc.property(randomFn(), (fn) => {
        const t = functionTime(fn, target);
        if (t.worst > t.average) more++;
        return t.worst >= t.average && Number.isFinite(t.worst);
      }),
      { seed: 4, numRuns: runs(200) },
    );
    expect(more).toBeGreaterThan(20);
  });

  it('100,000 blocks', () => {
    const n = 100_000;
    const text = Array.from(
      { length: n },
      (_, i) => `BB${i}:\nISETP.LT P2, R1, ${i % 7}\n@P2 BRA BB${Math.min(n, i + 2)}`,
    );
    const fn = parseFn(`.entry k\n{\n${text.join('\n')}\nBB${n}:\nEXIT\n}`, isa);
    const began = performance.now();
    functionTime(fn, target);
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});
