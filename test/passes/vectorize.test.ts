import { describe, expect, it } from 'vitest';
import { accessesOf } from '../../src/analysis/memory/address.ts';
import { Alignments } from '../../src/analysis/memory/alignment.ts';
import { Kind } from '../../src/ir/operand.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseProgram, printFn, printProgram } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { vectorize } from '../../src/passes/memory/vectorize.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { type Event, runMemory } from '../support/memory-run.ts';
import { vectorKernel } from '../support/random-vectors.ts';
import { BASE } from '../support/sim-kernel.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const PARAMS = { 'least-element': 4, 'max-pressure': 64, 'most-padding': 0, 'param-window': 6 };

interface Setting {
  readonly params?: Record<string, unknown>;
  readonly knobs?: Record<string, boolean>;
}

function after(program: Program, { params = {}, knobs = {} }: Setting = {}) {
  const remarks: string[] = [];
  const out = vectorize(program, {
    isa,
    phase: 'Test',
    params: { ...PARAMS, ...params },
    functions: program.functions,
    of: (fn) => {
      const ctx = testContext(fn, {
        knobs,
        params: { ...PARAMS, ...params },
        facts: { 'param-base': BASE },
      });
      return {
        ...ctx,
        program,
        remark: (kind, name, message) => void remarks.push(`${kind} ${name}: ${message}`),
      };
    },
  });
  return { out, remarks };
}

/** A kernel with some variables; `body` begins with its first block. */
function kernel(body: string, { variables = '', params = '', local = '' } = {}): Program {
  const { program, diagnostics } = parseProgram(
    `.program "t" version 9.0 target sm_80 address 64
.var shared b8 s size 256 align 4
${variables}
.entry k
  .param u64 p size 8 align 8 at 0 ptr global pointee 16
  .param u64 q size 8 align 8 at 8
${params}
${local}
{
${body}
EXIT
}
`,
    isa,
  );
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  return program;
}

/** Loads and stores that are left, in order, without guards' spaces. */
function left(program: Program, setting: Setting = {}): string[] {
  const { out } = after(program, setting);
  const fn = out.functions[0];
  expect(verifyFn(fn, undefined, { controlLast: true }).map(verifyMessage)).toEqual([]);
  return printFn(fn)
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => /\b(LD|ST)[GSLC]?[. ]/.test(l) && !l.includes('c[0x0]'));
}
const inShared = (...lines: string[]): string[] => left(kernel(`BB0:\nMOV R1, &s\n${lines.join('\n')}`));
const inGlobal = (...lines: string[]): string[] =>
  left(kernel(`BB0:\nLDC.B64 RD1, c[0x0][0x160]\nLDC.B64 RD2, c[0x0][0x168]\n${lines.join('\n')}`));

describe('vector accesses', () => {
  it('take the place of the first load, and of the last store', () => {
    expect(
      inGlobal(
        'LDG R3, [RD1+8]',
        'LDG R4, [RD1]',
        'FADD R5, R3, R4',
        'LDG.V2 {R6, R7}, [RD1+16]',
        'LDG R8, [RD1+12]',
        'LDG R9, [RD1+4]',
        'STG [RD1+64], R3',
        'FADD R10, R5, R6',
        'STG [RD1+68], R10',
      ),
    ).toEqual([
      'LDG.V4 {R4, R9, R3, R8}, [RD1]',
      'LDG.V2 {R6, R7}, [RD1+0x10]',
      'STG.V2 [RD1+0x40], {R3, R10}',
    ]);
  });

  it('are as wide as 16 bytes, of elements of the type that was there', () => {
    expect(inGlobal('LDG.B64 RD3, [RD1]', 'LDG.B64 RD4, [RD1+8]')).toEqual(['LDG.B64.V2 {RD3, RD4}, [RD1]']);
    expect(inGlobal('LDG.B64 RD3, [RD1]', 'LDG R4, [RD1+8]', 'LDG R5, [RD1+12]')).toEqual([
      'LDG.B64 RD3, [RD1]',
      'LDG.V2 {R4, R5}, [RD1+0x8]',
    ]);
    const five = [0, 4, 8, 12, 16].map((at, k) => `STG [RD1+${at}], R${3 + k}`);
    expect(inGlobal(...five)).toEqual(['STG.V4 [RD1], {R3, R4, R5, R6}', 'STG [RD1+0x10], R7']);
    const bytes = kernel(
      'BB0:\nLDC.B64 RD1, c[0x0][0x160]\nLDG.U8 R2, [RD1]\nLDG.U8 R3, [RD1+1]\nSTG.U16 [RD1+4], R2\nSTG.U16 [RD1+6], R3',
    );
    expect(left(bytes)).toHaveLength(4);
    expect(left(bytes, { params: { 'least-element': 1 } })).toEqual([
      'LDG.U8.V2 {R2, R3}, [RD1]',
      'STG.U16.V2 [RD1+0x4], {R2, R3}',
    ]);
  });

  it('keep a guard, and the values under a false one', () => {
    expect(
      inGlobal(
        'ISETP.LT P3, R4, 1',
        '@P3 LDG R5 else R6, [RD1]',
        '@P3 LDG R7 else R8, [RD1+4]',
        '@!P3 STG [RD1+8], R5',
        '@!P3 STG [RD1+12], R7',
      ),
    ).toEqual(['@P3 LDG.V2 {R5 else R6, R7 else R8}, [RD1]', '@!P3 STG.V2 [RD1+0x8], {R5, R7}']);
  });

  it('stay apart without the knobs, each for its kind', () => {
    const k = kernel(
      'BB0:\nLDC.B64 RD1, c[0x0][0x160]\nLDG R2, [RD1]\nLDG R3, [RD1+4]\nSTG [RD1+8], R2\nSTG [RD1+12], R3',
    );
    expect(left(k, { knobs: { DisableReadVectorization: true } })).toEqual([
      'LDG R2, [RD1]',
      'LDG R3, [RD1+0x4]',
      'STG.V2 [RD1+0x8], {R2, R3}',
    ]);
    expect(left(k, { knobs: { DisableWriteVectorization: true } })[0]).toBe('LDG.V2 {R2, R3}, [RD1]');
    expect(left(k, { knobs: { DisableWriteVectorization: true } })).toHaveLength(3);
    const off = { DisableReadVectorization: false, DisableWriteVectorization: false };
    expect(left(k, { knobs: off })).toEqual(left(k));
    expect(left(k)).toHaveLength(2);
  });
});

describe('what stays apart', () => {
  const two = ['LDG R4, [RD1+4]'];
  it('loads after an instruction that may write, or that orders memory', () => {
    for (const between of [
      'STG [RD2], R9',
      'STG [RD1+4], R9',
      'ST [RD2], R9',
      'BAR.SYNC RZ',
      'MEMBAR.SC.GPU',
      'ATOMG.ADD R8, [RD2], RZ, R9',
      'LDG.VOLATILE R8, [RD2]',
      'LDG.ACQUIRE.GPU R8, [RD2]',
      'SHFL.IDX R8, _, R9, R9, 31, -1',
    ]) {
      const lines = inGlobal('LDG R3, [RD1]', between, ...two);
      expect(
        lines.filter((l) => l.includes('V2')),
        between,
      ).toEqual([]);
    }
    // What cannot touch the same place is passed.
    for (const between of ['STG [RD1+8], R9', 'STS [R9], R9', 'LDG R8, [RD2]', 'ST [RD1+16], R9'])
      expect(inGlobal('LDG R3, [RD1]', between, ...two)[0], between).toBe('LDG.V2 {R3, R4}, [RD1]');
  });

  it('stores in front of something that may read or write', () => {
    for (const between of [
      'LDG R8, [RD2]',
      'STG [RD2], R9',
      'LD R8, [RD1]',
      'BAR.SYNC RZ',
      'CS2R.CLOCK R8',
    ]) {
      const lines = inGlobal('STG [RD1], R3', between, 'STG [RD1+4], R4');
      expect(
        lines.filter((l) => l.includes('V2')),
        between,
      ).toEqual([]);
    }
    for (const between of ['LDG R8, [RD1+4]', 'STG [RD1+12], R9', 'LDS R8, [R9]'])
      expect(inGlobal('STG [RD1], R3', between, 'STG [RD1+4], R4').at(-1), between).toBe(
        'STG.V2 [RD1], {R3, R4}',
      );
  });

  it('accesses that differ in anything but the place', () => {
    for (const [a, b] of [
      ['LDG R3, [RD1]', '@P5 LDG R4 else R6, [RD1+4]'],
      ['@P5 STG [RD1], R3', '@!P5 STG [RD1+4], R4'],
      ['@P5 STG [RD1], R3', '@P7 STG [RD1+4], R4'],
      ['LDG.CG R3, [RD1]', 'LDG R4, [RD1+4]'],
      ['LDG.NC R3, [RD1]', 'LDG R4, [RD1+4]'],
      ['LDG.EVICT_FIRST R3, [RD1]', 'LDG.EVICT_LAST R4, [RD1+4]'],
      ['LDG R3, [RD1]', 'LD R4, [RD1+4]'],
      ['LDG R3, [RD1]', 'LDG R4, [RD2+4]'],
      ['LDG R3, [RD1]', 'LDG R4, [RD1+8]'],
      ['LDG R3, [RD1]', 'LDG R4, [RD1+2]'],
      ['STG [RD1], R3', 'STG [RD1], R4'],
    ])
      expect(
        inGlobal(a, b).filter((l) => /V[24]/.test(l)),
        `${a}; ${b}`,
      ).toEqual([]);
  });

  it('strong operations, and those that bypass or write through the caches', () => {
    for (const how of ['VOLATILE', 'RELAXED.GPU', 'MMIO.SYS', 'CV'])
      expect(inGlobal(`LDG.${how} R3, [RD1]`, `LDG.${how} R4, [RD1+4]`), how).toHaveLength(2);
    expect(inGlobal('LDG.ACQUIRE.GPU R3, [RD1]', 'LDG.ACQUIRE.GPU R4, [RD1+4]')).toHaveLength(2);
    for (const how of ['VOLATILE', 'RELAXED.GPU', 'RELEASE.GPU', 'WT'])
      expect(inGlobal(`STG.${how} [RD1], R3`, `STG.${how} [RD1+4], R4`), how).toHaveLength(2);
    // The same operators on both, where they do not ask for each access by itself.
    expect(inGlobal('LDG.NC R3, [RD1]', 'LDG.NC R4, [RD1+4]')).toEqual(['LDG.V2.NC {R3, R4}, [RD1]']);
    expect(inGlobal('STG.CS [RD1], R3', 'STG.CS [RD1+4], R4')).toEqual(['STG.V2.CS [RD1], {R3, R4}']);
  });

  it('loads whose value under a false guard is computed in between', () => {
    const lines = (r: string): string[] => [
      '@P5 LDG R3 else R9, [RD1]',
      'FADD R10, R9, R8',
      `@P5 LDG R4 else ${r}, [RD1+4]`,
    ];
    expect(inGlobal(...lines('R10'))).toHaveLength(2);
    expect(inGlobal(...lines('R9'))).toHaveLength(1);
  });

  it('loads after a vector access that a part was moved to', () => {
    // The first store moves down to the last one, which alone would let the second load pass.
    const lines = [
      'STG [RD1+4], R3',
      'LDG R10, [RD1]',
      'STG [RD1], R4',
      'STG [RD1+8], R5',
      'STG [RD1+12], R6',
      'LDG R11, [RD1+4]',
    ];
    expect(inGlobal(...lines)).toEqual([
      'LDG R10, [RD1]',
      'STG.V4 [RD1], {R4, R3, R5, R6}',
      'LDG R11, [RD1+0x4]',
    ]);
  });

  it('accesses in different blocks, one of which may not run', () => {
    expect(
      inGlobal('LDG R3, [RD1]', '@P5 BRA BB2', 'BB1:', 'LDG R4, [RD1+4]', 'BB2:').filter((l) => /V2/.test(l)),
    ).toEqual([]);
  });
});

describe('alignment', () => {
  it('of an address that nothing is known of is not assumed', () => {
    expect(inGlobal('LDG R3, [RD2]', 'LDG R4, [RD2+4]')).toHaveLength(2);
    // Four bytes from an aligned place.
    expect(inGlobal('LDG R3, [RD1+4]', 'LDG R4, [RD1+8]')).toHaveLength(2);
    expect(inGlobal('LDG R3, [RD1+4]', 'LDG R4, [RD1+8]', 'LDG R5, [RD1+12]')).toEqual([
      'LDG R3, [RD1+0x4]',
      'LDG.V2 {R4, R5}, [RD1+0x8]',
    ]);
  });

  it('follows sums, products, shifts, masks and induction variables', () => {
    const pair = ['LDG R20, [RD9]', 'LDG R21, [RD9+4]'];
    const merged = 'LDG.V2 {R20, R21}, [RD9]';
    for (const [how, ...lines] of [
      ['yes', 'IMAD_WIDE.U32 RD9, R3, 8, RD1'],
      ['yes', 'IMAD_WIDE.U32 RD9, R3, 24, RD1'],
      ['no', 'IMAD_WIDE.U32 RD9, R3, 12, RD1'],
      ['no', 'IMAD_WIDE.U32 RD9, R3, 4, RD1'],
      ['yes', 'LOP3 R5, R3, -2, RZ, 0xc0', 'IMAD_WIDE.U32 RD9, R5, 4, RD1'],
      ['yes', 'SHL R5, R3, 1', 'IMAD_WIDE RD9, R5, 4, RD1'],
      ['no', 'LOP3 R5, R3, 1, RZ, 0xfc', 'IMAD_WIDE.U32 RD9, R5, 4, RD1'],
      ['yes', 'IADD3.64 RD9, RD1, -24'],
      ['no', 'IADD3.64 RD9, RD1, 20'],
      ['yes', 'IADD3.64 RD6, RD1, 12', 'IADD3.64 RD9, RD6, 12'],
    ] as const)
      expect(inGlobal(...lines, ...pair).includes(merged), lines.join('; ')).toBe(how === 'yes');
    for (const [step, how] of [
      [16, true],
      [8, true],
      [4, false],
    ] as const) {
      const k = kernel(`BB0:
LDC.B64 RD1, c[0x0][0x160]
BB1:
MOVPHI.64 RD9, {BB0: RD1, BB1: RD10}
${pair.join('\n')}
IADD3.64 RD10, RD9, ${step}
ISETP.LT P11, R20, 9
@P11 BRA BB1
BB2:`);
      expect(left(k).includes(merged), `${step}`).toBe(how);
    }
  });

  it('is proved by a dominating access with the same base', () => {
    const pair = ['LDG R20, [RD2+8]', 'LDG R21, [RD2+12]'];
    const merged = 'LDG.V2 {R20, R21}, [RD2+0x8]';
    const behind = (...lines: string[]): boolean => inGlobal(...lines, ...pair).includes(merged);
    expect(behind('LDG.V2 {R3, R4}, [RD2+32]')).toBe(true);
    expect(behind('STG.V4 [RD2+32], {R3, R4, R5, R6}', 'BAR.SYNC RZ')).toBe(true);
    expect(behind('LDG.B64 RD3, [RD2+64]')).toBe(true);
    expect(behind('LDG.V2 {R3, R4}, [RD2+36]')).toBe(false);
    expect(behind('LDG R3, [RD2+32]')).toBe(false);
    expect(behind('@P5 STG.V2 [RD2+32], {R3, R4}')).toBe(false);
    expect(behind('@P5 BRA BB2', 'BB1:', 'LDG.V2 {R3, R4}, [RD2+32]', 'BB2:')).toBe(false);
    expect(behind('LDG.V2 {R3, R4}, [RD2+32]', '@P5 BRA BB2', 'BB1:', 'FADD R6, R3, R4', 'BB2:')).toBe(true);
    expect(inGlobal(...pair, 'LDG.V2 {R3, R4}, [RD2+32]')).not.toContain(merged);
    // Under one guard, what ran under it proves it.
    expect(inGlobal('@P5 STG.V2 [RD2], {R3, R4}', '@P5 STG [RD2+8], R3', '@P5 STG [RD2+12], R4').at(-1)).toBe(
      '@P5 STG.V2 [RD2+0x8], {R3, R4}',
    );
  });

  it('of variables is raised where that moves nothing', () => {
    const aligns = (p: Program, setting: Setting = {}): number[] => {
      const { out } = after(p, setting);
      return [...out.variables, ...out.functions[0].variables].map((v) => v.align);
    };
    const four = (b: string): string => [0, 4, 8, 12].map((o, k) => `LDS R${20 + k}, [${b}+${o}]`).join('\n');
    const two = (b: string): string => `LDS R20, [${b}+4]\nLDS R21, [${b}+8]`;
    expect(inShared(four('R1'))).toEqual(['LDS.V4 {R20, R21, R22, R23}, [R1]']);
    expect(aligns(kernel(`BB0:\n${four('s')}`))).toEqual([16]);
    expect(aligns(kernel(`BB0:\nLDS R20, [s]\nLDS R21, [s+4]`))).toEqual([8]);
    // No alignment helps where the pair does not begin at a multiple of its size.
    expect(aligns(kernel(`BB0:\n${two('s')}`))).toEqual([4]);
    // Twelve bytes in front: the variable would move by four.
    const behind = { variables: '.var shared b8 t size 12 align 4\n.var shared b8 u size 64 align 4' };
    expect(aligns(kernel(`BB0:\n${four('u')}`, behind))).toEqual([4, 4, 4]);
    expect(aligns(kernel(`BB0:\n${four('u')}`, behind), { params: { 'most-padding': 4 } })).toEqual([
      4, 4, 16,
    ]);
    // What another module defines is aligned there.
    for (const linkage of ['extern', 'visible', 'weak']) {
      const k = kernel(`BB0:\n${four('t')}`, {
        variables: `.var shared b8 t size 64 align 4 linkage ${linkage}`,
      });
      expect(aligns(k), linkage).toEqual([4, 4]);
    }
    const local = kernel('BB0:\nSTL [l+8], R3\nSTL [l+12], R4', { local: '.var local b8 l size 64 align 4' });
    expect(aligns(local)).toEqual([4, 8]);
    expect(left(local)).toEqual(['STL.V2 [l+0x8], {R3, R4}']);
  });

  it('of kernel parameters is the declared one, and loads of them stay near', () => {
    const params =
      '.param b8 a size 32 align 16 at 16 array\n.param b8 b size 16 align 4 at 48 array\n.param u32 c size 4 align 4 at 64\n.param u32 d size 4 align 4 at 68\n.param b8 e size 6 align 8 at 72 array';
    const from = (...lines: string[]): string[] => {
      const { out } = after(kernel(`BB0:\n${lines.join('\n')}`, { params }));
      return [...printFn(out.functions[0]).matchAll(/LDC\S* .*\]/g)].map((m) => m[0]);
    };
    expect(from('LDC R1, c[0x0][0x170]', 'LDC R2, c[0x0][0x174]')).toEqual([
      'LDC.V2 {R1, R2}, c[0x0][0x170]',
    ]);
    expect(from('LDC R1, c[0x0][0x174]', 'LDC R2, c[0x0][0x178]')).toHaveLength(2);
    expect(from('LDC R1, c[0x0][0x190]', 'LDC R2, c[0x0][0x194]')).toHaveLength(2);
    // Two parameters are two objects.
    expect(from('LDC R1, c[0x0][0x1a0]', 'LDC R2, c[0x0][0x1a4]')).toHaveLength(2);
    // The second word is only partly in the parameter.
    expect(from('LDC R1, c[0x0][0x1a8]', 'LDC R2, c[0x0][0x1ac]')).toHaveLength(2);
    const far = (n: number): string[] =>
      from('LDC R1, c[0x0][0x170]', ...Array(n).fill('IADD3 R9, R1, 1'), 'LDC R2, c[0x0][0x174]');
    expect(far(5)).toHaveLength(1);
    expect(far(6)).toHaveLength(2);
  });
});

describe('registers', () => {
  it('a run that would keep too many live stays, as far as it is too long', () => {
    const many = Array.from({ length: 10 }, (_, k) => `FADD R${40 + k}, R3, ${k}`);
    const uses = Array.from({ length: 10 }, (_, k) => `STS [R${40 + k}], R3`);
    const k = kernel(
      `BB0:\nLDC.B64 RD1, c[0x0][0x160]\nLDG R3, [RD1]\n${many.join('\n')}\n${uses.join('\n')}\nLDG R4, [RD1+4]\nSTG [RD1+64], R4`,
    );
    // In between live: R3, the pair RD1 and ten sums; R4 would be the fourteenth.
    expect(left(k, { params: { 'max-pressure': 14 } })[0]).toBe('LDG.V2 {R3, R4}, [RD1]');
    expect(left(k, { params: { 'max-pressure': 13 } })[0]).toBe('LDG R3, [RD1]');
    expect(after(k, { params: { 'max-pressure': 13 } }).remarks).toEqual([
      'missed pressure: LDG R3, [RD1] 14 registers would be live',
    ]);
    // Side by side, two loads take no more than there is behind them.
    const beside = kernel('BB0:\nLDC.B64 RD1, c[0x0][0x160]\nLDG R3, [RD1]\nLDG R4, [RD1+4]\nSTS [R3], R4');
    expect(left(beside, { params: { 'max-pressure': 1 } })[0]).toBe('LDG.V2 {R3, R4}, [RD1]');
    const stores = kernel(
      `BB0:\nLDC.B64 RD1, c[0x0][0x160]\nSTG [RD1], R3\n${many.map((l) => l.replace('R3', 'R2')).join('\n')}\n${uses.map((l) => l.replace('R3', 'R2')).join('\n')}\nSTG [RD1+4], R4`,
    );
    const most = Math.max(
      ...[12, 13, 14, 15, 16].filter(
        (n) => left(stores, { params: { 'max-pressure': n } }).at(-1) === 'STG [RD1+0x4], R4',
      ),
    );
    // RD1, R2, R4, ten sums, and R3 as one more.
    expect(most).toBe(14);
  });
});

describe('random kernels', () => {
  /** How many accesses are not aligned, which bytes are accessed, and what memory holds in the end. */
  const outcome = (events: readonly Event[]) => {
    let bad = 0;
    const touched = new Set<string>();
    const memory = new Map<bigint, bigint>();
    for (const e of events)
      if (e.k === 'read' || e.k === 'write') {
        if (e.at % BigInt(e.bytes) !== 0n) bad++;
        for (let i = 0; i < e.bytes; i++) {
          const at = e.at + BigInt(i);
          touched.add(`${e.k} ${at}`);
          if (e.k === 'write') memory.set(at, (e.value >> BigInt(8 * i)) & 255n);
        }
      }
    return { bad, touched, memory };
  };

  it('do the same, access no other place, and only aligned ones', () => {
    let changed = 0;
    let raised = 0;
    const seen = new Set<string>();
    for (let seed = 0; seed < runs(300); seed++) {
      const wide = seed % 2 === 1;
      const { program, worldOf } = vectorKernel(seed, wide);
      const fn = program.functions[0];
      expect(verifySsa(fn).map(verifyMessage), printFn(fn)).toEqual([]);
      const { out } = after(program);
      const now = out.functions[0];
      if (out === program) continue;
      const text = `${seed}\n${printProgram(program)}\n${printProgram(out)}`;
      expect(verifyFn(now, undefined, { controlLast: true }).map(verifyMessage), text).toEqual([]);
      expect(verifySsa(now).map(verifyMessage), text).toEqual([]);
      for (const m of printFn(now).matchAll(/(LD|ST)\w\S*V[24]/g)) seen.add(m[0]);
      if (out.variables.some((v, k) => v !== program.variables[k])) raised++;
      const one = { grid: [1, 1, 1], block: [1, 1, 1], budget: 3000, seeds: [1] } as const;
      if (!wide) expect(judgeKernel(program, out, 'k', BASE, one).differences, text).toEqual([]);
      for (const number of [0, 1, 5, 40]) {
        // Variables are where the result has them, which is right for the original too.
        const world = worldOf(out, number);
        const before = outcome(runMemory(fn, world, 4000));
        // Misaligned accesses fault: nothing has to hold of such a run.
        if (before.bad > 0) continue;
        const then = outcome(runMemory(now, world, 4000));
        expect(then.bad, text).toBe(0);
        expect(
          [...then.touched].filter((b) => !before.touched.has(b)),
          text,
        ).toEqual([]);
        expect(then.memory, text).toEqual(before.memory);
        changed++;
      }
    }
    expect(changed).toBeGreaterThan(often(300));
    expect(raised).toBeGreaterThan(often(20));
    for (const op of ['LDG.V2', 'LDS.V4', 'STG.V2', 'STS.V4', 'LDL.V2', 'STL.V2'])
      expect([...seen]).toContain(op);
  });

  it('a second application changes nothing', () => {
    for (let seed = 0; seed < runs(200); seed++) {
      const { out } = after(vectorKernel(seed, true).program);
      expect(after(out).out, printProgram(out)).toBe(out);
    }
  });

  it('low bits of addresses are those of every execution', () => {
    let known = 0;
    for (let seed = 0; seed < runs(200); seed++) {
      const { program, worldOf } = vectorKernel(seed, true);
      const fn: Fn = program.functions[0];
      const variables = [...program.variables, ...fn.variables];
      const alignments = new Alignments(fn, {
        variable: (name) => variables.find((v) => v.name === name)?.align ?? 1,
        pointee: (at) => fn.params.find((p) => p.offset === at - BASE)?.pointeeAlign ?? 1,
      });
      const { ins } = accessesOf(fn, program.variables).du;
      for (const e of runMemory(fn, worldOf(program), 1000)) {
        if (e.k !== 'read' && e.k !== 'write') continue;
        const o = ins[e.n].src[0];
        if (o.kind !== Kind.Addr) continue;
        const { known: bits, value } = alignments.baseBits(o);
        const mask = (1n << BigInt(bits)) - 1n;
        expect(e.at & mask, `${seed} ${printFn(fn)}`).toBe(BigInt(value + o.lo) & mask);
        if (bits > 2) known++;
      }
    }
    expect(known).toBeGreaterThan(often(1000));
  });
});
