import { describe, expect, it } from 'vitest';
import { withFunction } from '../../src/ir/edit.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { dice, ssaKernel } from '../support/random-memory.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE } from '../support/sim-kernel.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const one = { grid: [1, 1, 1], block: [1, 1, 1], budget: 3000, seeds: [1] } as const;

/** Runs a pass on the only function of a program. */
function after(name: string, program: Program, knobs = {}, params = {}): Program {
  const fn = program.functions[0];
  return withFunction(program, runPass(name, fn, { ...testContext(fn, { knobs, params }), program }));
}

/** Checks every result: it is valid, in SSA and equivalent, and a second application changes nothing. */
function check(name: string, program: Program, params = {}): boolean {
  const out = after(name, program, {}, params);
  const fn = out.functions[0];
  expect(verifyFn(fn, undefined, { controlLast: true }).map(verifyMessage), printFn(fn)).toEqual([]);
  expect(verifySsa(fn).map(verifyMessage), printFn(fn)).toEqual([]);
  const compared = judgeKernel(program, out, fn.name, BASE, one);
  expect(compared.differences, `${printFn(program.functions[0])}\n${printFn(fn)}`).toEqual([]);
  const again = after(name, out, {}, params).functions[0];
  expect(printFn(again), printFn(fn)).toBe(printFn(fn));
  return out !== program;
}

/** A kernel that uses local variables at constant places, in all widths, with branches and a loop. */
function localKernel(seed: number): Program {
  const d = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[d(list.length)];
  let regs = 100;
  const lines = [
    'BB0:',
    'LDC.B64 RD1, c[0x0][0x160]',
    'LDG R3, [RD1]',
    'LDG R4, [RD1+4]',
    'LDG.B64 RD5, [RD1+8]',
  ];
  lines.push('MOV.64 RD6, &a', 'CVTA.LOCAL RD7, RD6', 'ISETP.LT P8, R3, R4', 'ISETP.EQ P9, R3, RZ');
  let out = 16;
  const some = (): void => {
    for (let i = 1 + d(5); i > 0; i--) {
      const [type, bytes] = pick([
        ['', 4],
        ['', 4],
        ['.U8', 1],
        ['.U16', 2],
        ['.B64', 8],
        ['.V2', 4],
      ] as const);
      const at = bytes * d(24 / bytes - (type === '.V2' ? 1 : 0));
      const place = pick([`[a+${at}]`, `[RD6+${at}]`, `[RD7+${at}]`, `[b+${at}]`]);
      const space = place.includes('RD7') ? '' : 'L';
      const guard = pick(['', '', '', '@P8 ', '@!P9 ']);
      if (d(2) === 0) {
        const value = type === '.B64' ? 'RD5' : type === '.V2' ? '{R3, 7}' : pick(['R3', 'R4', '5']);
        lines.push(`${guard}ST${space}${type} ${place}, ${value}`);
        continue;
      }
      const signed = type === '.U8' && d(2) === 0 ? '.S8' : type === '.U16' && d(2) === 0 ? '.S16' : type;
      const [a, b] = [regs++, regs++];
      const r = type === '.B64' ? 'RD' : 'R';
      const other =
        guard === '' ? '' : ` else ${type === '.B64' ? 'RD5' : 'R3'}${type === '.V2' ? ', R4' : ''}`;
      const to = type === '.V2' ? `{${r}${a}, ${r}${b}}` : `${r}${a}`;
      if (other !== '' && type === '.V2') continue;
      lines.push(`${guard}LD${space}${signed} ${to}${other}, ${place}`);
      lines.push(`STG${type} [RD1+${out}], ${type === '.V2' ? `{R${a}, R${b}}` : `${r}${a}`}`);
      out += 8;
    }
  };
  some();
  lines.push('@P8 BRA BB2', 'BB1:');
  some();
  lines.push('BB2:', 'MOVPHI R10, {BB0: RZ, BB1: 1, BB3: R11}');
  some();
  lines.push('@P9 BRA BB3', 'BB4:');
  some();
  lines.push('BB3:', 'IADD3 R11, R10, 1', 'ISETP.LT P12, R11, 3');
  some();
  lines.push('@P12 BRA BB2', 'BB5:');
  some();
  lines.push('EXIT');
  const text = `.entry k\n  .param u64 p size 8 align 8 at 0\n  .var local b8 a size 24 align 8\n  .var local b8 b size 24 align 8\n{\n${lines.join('\n')}\n}`;
  const fn = parseFn(text, isa);
  return { ...ssaKernel(1), functions: [fn] };
}

describe.each(['forward-stores', 'dead-stores', 'promote-memory'])('%s', (name) => {
  it('keeps what kernels do that read and write many places', () => {
    let changed = 0;
    for (let seed = 0; seed < runs(70); seed++) {
      const kernel = ssaKernel(seed);
      // Some read a register where they define it.
      if (verifySsa(kernel.functions[0]).length === 0 && check(name, kernel)) changed++;
    }
    // Addresses of these kernels escape.
    expect(changed).toBeGreaterThanOrEqual(name === 'promote-memory' ? 0 : often(3));
  });

  it('keeps what kernels do with local variables', () => {
    let changed = 0;
    for (let seed = 0; seed < runs(50); seed++) if (check(name, localKernel(seed))) changed++;
    expect(changed).toBeGreaterThan(often(10));
  });
});

/** A kernel whose two local variables have gaps, written and read at constant places on several ways. */
function sparseKernel(seed: number): Program {
  const d = dice(seed);
  const pick = <T>(list: readonly T[]): T => list[d(list.length)];
  const TYPES = [
    ['', 4],
    ['.U8', 1],
    ['.U16', 2],
    ['.B64', 8],
    ['.V2', 8],
    ['.V4', 16],
  ] as const;
  // A few places of each variable, at most of which something is written first.
  const places = Array.from({ length: 2 + d(4) }, () => {
    const [type, bytes] = pick(TYPES);
    return { type, at: bytes * d(64 / bytes), name: pick(['a', 'b']) };
  });
  let regs = 100;
  const lines = [
    'BB0:',
    'LDC.B64 RD1, c[0x0][0x160]',
    'LDG R3, [RD1]',
    'LDG R4, [RD1+4]',
    'LDG.B64 RD5, [RD1+8]',
  ];
  lines.push('MOV.64 RD6, &a', 'IADD3.64 RD7, RD6, 24, RZ', 'CVTA.LOCAL RD8, RD7', 'ISETP.LT P9, R3, R4');
  const access = ({ type, at, name }: (typeof places)[number], store: boolean, guard: string): void => {
    const [space, to] = pick([
      ['L', `${name}+${at}`],
      ['L', name === 'a' ? `RD7+${at - 24}` : `b+${at}`],
      name === 'a' ? ['', `RD8+${at - 24}`] : ['L', `b+${at}`],
    ]);
    const strong = d(2) === 0 ? '.VOLATILE' : '';
    const width = type === '.V4' ? 4 : type === '.V2' ? 2 : 1;
    if (store) {
      const values = Array.from({ length: width }, () => pick(['R3', 'R4', '5']));
      const value = type === '.B64' ? 'RD5' : width > 1 ? `{${values.join(', ')}}` : values[0];
      lines.push(`${guard}ST${space}${type}${strong} [${to}], ${value}`);
      return;
    }
    const names = Array.from({ length: width }, () => `${type === '.B64' ? 'RD' : 'R'}${regs++}`);
    const list = width > 1 ? `{${names.join(', ')}}` : names[0];
    lines.push(`LD${space}${type}${strong} ${list}, [${to}]`);
    names.forEach((r, k) => lines.push(`STG${type === '.B64' ? '.B64' : ''} [RD1+${16 + 8 * k}], ${r}`));
  };
  const some = (): void => {
    for (let i = d(4); i > 0; i--) access(pick(places), d(2) === 0, '');
    if (d(4) === 0) access(pick(places), true, '@P9 ');
  };
  // Where `b` lies, and so what is there before it is written, depends on what is in front of it.
  for (const p of places) if (p.name === 'b' || d(12) > 0) access(p, true, '');
  some();
  if (d(6) === 0)
    lines.push(pick(['STG.B64 [RD1+8], RD7', 'IMAD_WIDE.U32 RD90, R3, 0, RD6', 'MOV.64 RD91, &b']));
  lines.push('@P9 BRA BB2', 'BB1:');
  some();
  lines.push('BB2:', 'MOVPHI R10, {BB0: RZ, BB1: 1, BB2: R11}');
  some();
  lines.push('IADD3 R11, R10, 1', 'ISETP.LT P12, R11, 3', '@P12 BRA BB2', 'BB3:');
  some();
  lines.push('EXIT');
  const text = `.entry k\n  .param u64 p size 8 align 8 at 0\n  .var local b8 a size 80 align 16\n  .var local b8 gone size 4 align 4\n  .var local b8 b size 80 align 16\n{\n${lines.join('\n')}\n}`;
  return { ...ssaKernel(1), functions: [parseFn(text, isa)] };
}

describe('compact-local', () => {
  it('keeps what kernels do with sparse variables, and takes no more room', () => {
    let smaller = 0;
    for (let seed = 0; seed < runs(120); seed++) {
      const kernel = sparseKernel(seed);
      check('compact-local', kernel, { 'most-places': 100 });
      const before = kernel.functions[0].variables;
      const out = after('compact-local', kernel, {}, { 'most-places': 100 }).functions[0].variables;
      for (const v of out) {
        const was = before.find((w) => w.name === v.name)!;
        expect([v.align, v.size <= was.size]).toEqual([was.align, true]);
        if (v.size < was.size) smaller++;
      }
    }
    expect(smaller).toBeGreaterThan(runs(60));
  });
});

describe('promotion', () => {
  const text = (more: string, use = 'STL [RD1], R4'): string => `.entry k
  .var local b8 a size 16 align 8
  .var local b8 b size 16 align 8
{
BB0:
  MOV.64 RD1, &a
  MOV.64 RD2, &b
  ${more}
  ${use}
  LDL R5, [a]
  STG [RD7], R5
  EXIT
}`;
  const promoted = (t: string, knobs = {}): boolean => {
    const fn: Fn = parseFn(t, isa);
    return after('promote-memory', { ...ssaKernel(1), functions: [fn] }, knobs).functions[0] !== fn;
  };
  it.each([
    ['an index that is not constant', 'IMAD_WIDE.U32 RD3, R4, 4, RD1\n STL [RD3], R4'],
    ['an address that is stored', 'STG.B64 [RD7+8], RD1'],
    ['a strong store', 'STL.VOLATILE [RD1+4], R4'],
    ['an address that is one of two', 'SEL.64 RD3, RD1, RD2, P6\n STL [RD3], R4'],
    ['16 bytes at once', 'STL.B128 [RD1], RQ8'],
    ['an atomic', 'CVTA.LOCAL RD3, RD1\n ATOM.ADD.U32 R9, [RD3], R4, RZ'],
    ['a place that is no multiple of the size', 'STL [RD1+2], R4'],
    ['a place beyond the end', 'STL [RD1+16], R4'],
  ])('%s keeps memory', (_, more) => {
    expect(promoted(text(''))).toBe(true);
    expect(promoted(text(more))).toBe(false);
  });
  it('what is only read stays, and the knob bounds the loads and stores', () => {
    expect(promoted(text('', ''))).toBe(false);
    expect(promoted(text(''), { ConvertMemoryToRegIndexedSizeLimit: 2 })).toBe(true);
    expect(promoted(text(''), { ConvertMemoryToRegIndexedSizeLimit: 1 })).toBe(false);
  });
});
