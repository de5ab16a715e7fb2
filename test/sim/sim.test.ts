import { describe, expect, it } from 'vitest';
import type { Program } from '../../src/ir/program.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { fillBuffer } from '../../src/sim/fill.ts';
import { compareBuffers } from '../../src/sim/launch.ts';
import { formatPrintf } from '../../src/sim/printf.ts';
import { BASE, kernel, run } from '../support/sim-kernel.ts';

describe('control', () => {
  it('diverges, runs both sides, and reconverges', () => {
    const r = run(
      kernel(`LOP3 R4, R2, 1, RZ, 0xc0
ISETP.EQ P5, R4, RZ
@P5 BRA BB2
MOV R6, 100
BRA BB3
BB2:
MOV R6, 200
BB3:
ACTIVEMASK R7
ISETP.EQ P8, R7, -1
SEL R9, R6, RZ, P8
STG [RD3], R9
EXIT`),
    );
    expect(r.values.slice(0, 4)).toEqual([200, 100, 200, 100]);
    expect([r.counters!.divergentBranches, r.counters!.deepestStack]).toEqual([1, 3]);
  });

  it('jump tables, early exits and loops with different trip counts', () => {
    const p = kernel(`LOP3 R4, R2, 1, RZ, 0xc0
BRX R4, T0
BB1:
EXIT
BB2:
MOV R5, R2
MOV R6, RZ
BB3:
IADD3 R6, R6, R5
IADD3 R5, R5, -1
ISETP.GT P7, R5, RZ
@P7 BRA BB3
STG [RD3], R6
EXIT`);
    // A function without that table.
    expect(run(p).error).toMatch(/jump table/);
    const withTable: Program = { ...p, functions: [{ ...p.functions[0], tables: [[1, 2]] }] };
    expect(run(withTable).values.slice(0, 8)).toEqual([0, 1, 0, 6, 0, 15, 0, 28]);
    const byOffset = (shift: number): Program => {
      const offset = `SHL R9, R4, ${shift}\nBRX.OFFSET R9, T0\nBB1:\nEXIT\nBB2:\nSTG [RD3], R2\nEXIT`;
      const { functions, ...rest } = kernel(`LOP3 R4, R2, 1, RZ, 0xc0\n${offset}`);
      return { ...rest, functions: [{ ...functions[0], tables: [[1, 2]] }] };
    };
    expect(run(byOffset(2)).values.slice(0, 6)).toEqual([0, 1, 0, 3, 0, 5]);
    expect(run(byOffset(3)).error).toMatch(/offset 8 is outside the jump table of 2 entries/);
    expect(run(byOffset(1)).error).toMatch(/offset 2 is outside/);
  });

  it('a spin lock inside a warp ends', () => {
    const r = run(
      kernel(`BB1:
ATOMG.CAS R4, [RD1], RZ, 1
ISETP.NE P5, R4, RZ
@P5 BRA BB1
LDG R6, [RD1+0x4]
IADD3 R6, R6, 1
STG [RD1+0x4], R6
ATOMG.EXCH R7, [RD1], RZ, RZ
EXIT`),
      8,
      { budget: 2_000_000 },
    );
    expect([r.status, r.values[1]]).toEqual(['ok', 8]);
  });

  it('calls with parameters, recursion, and a bound on it', () => {
    const fn = (body: string) => `.func f
  .return s32 r size 4 align 4 at 0
  .param s32 n size 4 align 4 at 0
  .var param b32 a size 4 align 4
  .var param b32 b size 4 align 4
{
BB0:
LDPRM R1, [n]
${body}
}`;
    const main = `STPRM [x], R2
CALL {}, &f, &, {&x, &y}
LDPRM R4, [y]
STG [RD3], R4
EXIT`;
    const make = (body: string): Program => {
      const p = kernel(main, fn(body));
      return {
        ...p,
        functions: p.functions.map((f) =>
          f.name === 'k'
            ? {
                ...f,
                variables: ['x', 'y'].map((name) => ({
                  name,
                  space: 'param' as const,
                  type: 'b32',
                  size: 4,
                  align: 4,
                  linkage: '' as const,
                  init: null,
                  relocs: [],
                  attrs: [],
                })),
              }
            : f,
        ),
      };
    };
    const sum = make(`ISETP.LE P2, R1, RZ
@P2 BRA BB1
IADD3 R3, R1, -1
STPRM [a], R3
CALL {}, &f, &, {&a, &b}
LDPRM R4, [b]
IADD3 R5, R4, R1
STPRM [r], R5
RET
BB1:
STPRM [r], RZ
RET`);
    expect(run(sum).values.slice(0, 6)).toEqual([0, 1, 3, 6, 10, 15]);
    const endless = make(`STPRM [a], R1\nCALL {}, &f, &, {&a, &b}\nRET`);
    expect(run(endless).error).toMatch(/the stack of 65536 bytes is full: calls are nested \d+ deep/);
  });

  it('constants are arguments of every width, for every lane', () => {
    const fn = `.func f
  .return b32 r size 4 align 4 at 0 reg R4
  .param b32 a size 4 align 4 at 0 reg R1
  .param b64 b size 8 align 8 at 8 reg RD2
{
BB0:
UNPAIR R5, R6, RD2
IADD3 R4, R1, R5, R6
RET
}`;
    const r = run(kernel('CALL {R7}, &f, &, {7, 0x200000001}\nSTG [RD3], R7\nEXIT', fn));
    expect([r.status, r.values]).toEqual(['ok', Array.from({ length: 32 }, () => 10)]);
  });

  it('an endless loop ends with the budget, at its very number', () => {
    const endless = kernel('BB1:\nBRA BB1');
    // Several warps and blocks, one path or many, below and above the slices that they take turns by.
    const divergent = kernel('ISETP.EQ P5, R2, RZ\n@P5 BRA BB2\nBB1:\nBRA BB1\nBB2:\nBRA BB2');
    for (const p of [endless, divergent])
      for (const [threads, grid] of [
        [32, 1],
        [128, 3],
      ])
        for (const budget of [1, 1000, 20_001, 450_000]) {
          const r = run(p, threads, { budget, grid });
          expect([r.status, r.warpInstructions]).toEqual(['budget', budget]);
        }
  });

  it('a kernel that needs the budget to the last instruction ends well', () => {
    const p = kernel('STG [RD3], R2\nEXIT');
    const need = run(p, 64).warpInstructions;
    expect(need).toBe(2 * 5);
    expect(run(p, 64, { budget: need }).status).toBe('ok');
    expect(run(p, 64, { budget: need - 1 }).status).toBe('budget');
  });
});

describe('memory and barriers', () => {
  it('shared memory of a kernel has what the kernel names, itself or by the functions that it calls', () => {
    const other = '.var shared b8 other size 4096 align 16';
    expect(run(kernel('STS [s+0x400], R2\nEXIT', other)).error).toMatch(/shared memory \(1024 bytes/);
    expect(run(kernel('STS [other+0x400], R2\nSTS [s+0x3fc], R2\nEXIT', other)).status).toBe('ok');
  });

  it('shared addresses are of 32 bits, and wrap', () => {
    const r = run(
      kernel('MOV R5, &s\nIADD3 R5, R5, -8\nSTS [R5+0x8], R2\nLDS R6, [s]\nSTG [RD3], R6\nEXIT'),
      1,
    );
    expect([r.status, r.values[0]]).toEqual(['ok', 0]);
  });

  it('faults name the access, the thread and the nearest buffer', () => {
    const r = run(kernel('STG [RD3+0x10000], R2\nEXIT'));
    expect(r.status).toBe('fault');
    expect(r.error).toMatch(
      /lies in no buffer; the nearest is parameter 0 \(p\) .*\n {2}at 'STG \[RD3\+0x10000\], R2' in k\n {2}thread \(0, 0, 0\) of block \(0, 0, 0\)/,
    );
    expect(run(kernel('STG [RD1+0x2], R2\nEXIT')).error).toMatch(/is not a multiple of 4/);
    expect(run(kernel('STS [s+0x400], R2\nEXIT')).error).toMatch(/shared memory/);
  });

  it('shared memory with a barrier, and a deadlock that says who waits where', () => {
    const swap = kernel(`SHL R4, R2, 2
STS [R4], R2
BAR.SYNC RZ
LOP3 R5, R4, 0xfc, RZ, 0x3c
LDS R6, [R5]
STG [RD3], R6
EXIT`);
    expect(run(swap, 64).values.slice(0, 3)).toEqual([63, 62, 61]);
    expect(
      run(kernel(`ISETP.LT.U32 P4, R2, 32\n@P4 BRA BB1\nBAR.SYNC 1\nEXIT\nBB1:\nBAR.SYNC 2\nEXIT`), 64).error,
    ).toMatch(
      /deadlock in block \(0, 0, 0\) of k: warp 0 waits at 'BAR.SYNC 2'.*; warp 1 waits at 'BAR.SYNC 1'/,
    );
  });

  it('barrier reductions', () => {
    const r = run(kernel(`ISETP.LT.U32 P4, R2, 40\nBAR.RED.POPC R5, RZ, RZ, P4\nSTG [RD3], R5\nEXIT`), 64);
    expect(new Set(r.values)).toEqual(new Set([40]));
  });

  it('asynchronous copies arrive when they are waited for', () => {
    const body = (wait: string) => `STG [RD3], R2
SHL R4, R2, 2
LDGSTS.B4 [R4], [RD3]
LDGDEPBAR
${wait}
LDS R6, [R4]
IADD3 R6, R6, 1
STG [RD3], R6
EXIT`;
    expect(run(kernel(body('DEPBAR 0'))).values.slice(0, 3)).toEqual([1, 2, 3]);
    expect(run(kernel(body('NOP'))).values.slice(0, 3)).toEqual([1, 1, 1]);
  });

  it('atomics of every kind on one word', () => {
    const one = (op: string, start: number, b = 'R2') => {
      const p = kernel(
        `MOV R4, ${start}\nISETP.EQ P5, R2, RZ\n@P5 STG [RD1], R4\nATOMG.${op} R6, [RD1], ${b}, RZ\nEXIT`,
      );
      return run(p).values[0];
    };
    expect([
      one('ADD', 5),
      one('MAX.S32', -9),
      one('MIN.S32', 50),
      one('OR', 64),
      one('XOR', 0),
      one('AND', 31),
      one('INC', 0, '10'),
      one('DEC', 3, '10'),
    ]).toEqual([501, 31, 0, 95, 0, 0, 10, 4]);
  });
});

describe('warp operations', () => {
  it.each([
    ['SHFL.UP R4, P5, R2, 2, RZ, -1', [0, 1, 0, 1]],
    ['SHFL.DOWN R4, P5, R2, 30, 31, -1', [30, 31, 2, 3]],
    ['SHFL.BFLY R4, P5, R2, 1, 31, -1', [1, 0, 3, 2]],
    ['SHFL.IDX R4, P5, R2, 7, 0x181f, -1', [7, 7, 7, 7]],
    ['REDUX.ADD R4, R2, -1', [496, 496, 496, 496]],
  ])('%s', (ins, expected) => {
    expect(run(kernel(`${ins}\nSTG [RD3], R4\nEXIT`)).values.slice(0, 4)).toEqual(expected);
  });

  it('votes and matches', () => {
    const r = run(
      kernel(
        `ISETP.LT.U32 P4, R2, 3\nVOTE.ANY R5, P4, -1\nSHR.U32 R6, R2, 2\nMATCH.ANY R7, R6, -1\nIADD3 R8, R5, R7\nSTG [RD3], R8\nEXIT`,
      ),
    );
    expect(r.values.slice(0, 6)).toEqual([22, 22, 22, 22, 7 + 0xf0, 7 + 0xf0]);
  });
});

it('printf', () => {
  const slots = new DataView(new ArrayBuffer(64));
  slots.setInt32(0, -5, true);
  slots.setFloat64(8, 2.5, true);
  slots.setBigUint64(16, 0xffn, true);
  const at = (offset: number, size: number) => new DataView(slots.buffer, offset, size);
  expect(formatPrintf('a=%4d|%-6.2f|%#llx|%s%%\n', at, () => 'str')).toBe('a=  -5|2.50  |0xff|str%\n');
});

it('printf as C has it at its ends: large values, many digits, widths beyond all measure', () => {
  const one = (format: string, value: number): string => {
    const v = new DataView(new ArrayBuffer(8));
    if (/[feg]$/.test(format)) v.setFloat64(0, value, true);
    else v.setInt32(0, value, true);
    return formatPrintf(
      format,
      () => v,
      () => '',
    );
  };
  // As the C library prints them.
  expect(one('%f', 1e30)).toBe('1000000000000000019884624838656.000000');
  expect(one('%.3f', -1e22)).toBe('-10000000000000000000000.000');
  expect(one('%.120f', 0.5)).toBe(`0.5${'0'.repeat(119)}`);
  expect(one('%.110e', 0.5)).toBe(`5.${'0'.repeat(110)}e-01`);
  expect([one('%.5d', -5), one('%08.5d', -5), one('%.4x', 255)]).toEqual(['-00005', '  -00005', '00ff']);
  expect(one('%2000000000d', 1)).toHaveLength(4096);
  // Seconds for one text, where each of its zeros may be a flag or a part of the width.
  const zeros = `%${'0'.repeat(100_000)}!`;
  expect(one(zeros, 1)).toBe(zeros);
  expect(one('%4096d'.repeat(600), 1).length).toBeLessThan(80_000);
  expect(one('%.2000000000f', 1)).toHaveLength(4098);
});

it('random fills are splitmix64, and comparisons take a relative tolerance', () => {
  const a = fillBuffer('u32', 4, { random: { seed: 1, min: 0, max: 1000 } });
  expect([...new Uint32Array(a.buffer)]).toMatchInlineSnapshot(`
    [
      566,
      745,
      971,
      444,
    ]
  `);
  const x = new Uint8Array(new Float32Array([1, 2, Number.NaN]).buffer);
  const y = new Uint8Array(new Float32Array([1.0001, 2, Number.NaN]).buffer);
  expect(compareBuffers(0, 'f32', x, y, 0).count).toBe(1);
  expect(compareBuffers(0, 'f32', x, y, 1e-3).count).toBe(0);
});

describe('open world', () => {
  const body = `LDG R4, [RD3]
LDG.B64 RD5, [RD1+0x1000]
LDG R6, [RD3+0x2000]
IADD3 R7, R4, R6
STG [RD3+0x40], R7
EXIT`;
  it('finds a program equal to itself and different from one that computes something else', () => {
    const p = kernel(body);
    expect(judgeKernel(p, p, 'k', BASE).same).toBe(true);
    for (const wrong of [
      body.replace('IADD3 R7, R4, R6', 'IADD3 R7, R4, -R6'),
      body.replace('+0x40', '+0x44'),
      body.replace('STG [RD3+0x40], R7\n', ''),
      body.replace('EXIT', 'BPT.TRAP\nEXIT'),
    ])
      expect([wrong, judgeKernel(p, kernel(wrong), 'k', BASE).same]).toEqual([wrong, false]);
  });

  it('compares endless kernels as far as they get', () => {
    const loop = (n: number) => kernel(`BB1:\nLDG R4, [RD3]\nIADD3 R4, R4, ${n}\nSTG [RD3], R4\nBRA BB1`);
    const same = judgeKernel(loop(1), loop(1), 'k', BASE, { budget: 2000 });
    expect([same.same, same.partial]).toEqual([true, true]);
    expect(judgeKernel(loop(1), loop(2), 'k', BASE, { budget: 2000 }).same).toBe(false);
  });
});
