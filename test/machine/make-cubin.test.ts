import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { functionsOf, symbolsOf } from '../../src/cubin/functions.ts';
import { addressOffsets, type KernelCode, type ModuleVariable, makeCubin } from '../../src/cubin/make.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { differencesOf, ingredientsOf, withoutLines } from '../support/remake.ts';
import { runs } from '../support/size.ts';

const bytesOf = (...path: string[]): Uint8Array => new Uint8Array(readFileSync(join(ROOT, 'test', ...path)));
const cubinsIn = (folder: string): string[] =>
  readdirSync(join(ROOT, 'test', folder)).filter((f) => f.endsWith('.cubin'));

/** Sections that may differ: unwinding rules, which say where the stack pointer and return addresses are, and their relocations. */
const UNWINDING = /^\.(debug_frame|rela?\.debug_frame)$/;
const others = (differ: readonly string[]): string[] => differ.filter((d) => !UNWINDING.test(d));

/** Checked-in cubins of targets for which cubins are made. */
const MADE = /\.sm_(75|80|86|89|90)a?\./;
/** Those of them whose unwinding rules differ. */
const OTHER_UNWINDING = [
  'arrivals.sm_80.O3.cubin',
  'function-pointers.sm_80.O3.cubin',
  'jump-table.sm_90.O0.cubin',
  'matrices.sm_90.O3.cubin',
];

describe('cubins of ptxas are made again', () => {
  test.each(cubinsIn('machine-code').filter((f) => MADE.test(f)))('%s', (file) => {
    const original = bytesOf('machine-code', file);
    const { differ } = differencesOf(readCubin(original), original);
    expect(others(differ)).toEqual([]);
    expect(differ.length > 0).toBe(OTHER_UNWINDING.includes(file));
  });

  test.each(cubinsIn('cubins').filter((f) => MADE.test(f)))('%s, but for its tables of lines', (file) => {
    const original = readCubin(bytesOf('cubins', file));
    const { sm, kernels, data } = ingredientsOf(original);
    const made = readCubin(makeCubin(sm, kernels, data));
    expect([...withoutLines(made)]).toEqual([...withoutLines(original)]);
  });
});

describe('cubins that ptxas makes now', () => {
  const present = hasPtxas('make-cubin');
  const kernels = readdirSync(join(ROOT, 'test', 'kernels'), { withFileTypes: true })
    .filter((d) => d.isDirectory())
    .map((d) => d.name);
  const cases = [
    ['sm_80', 'sm_80', '-O3'],
    ['sm_90', 'sm_90', '-O3'],
    ['sm_75', 'sm_75', '-O3'],
    ['sm_80', 'sm_86', '-O1'],
    ['sm_80', 'sm_89', '-O3'],
    ['sm_90', 'sm_90', '-O0'],
    ['sm_80', 'sm_87', '-O0'],
    ['sm_90', 'sm_90a', '-O2'],
  ] as const;
  /** PTX without tables of lines. */
  const bare = (text: string): string =>
    text.replace(/^\s*\.(loc|file)\b.*\n/gm, '').replace(/^\s*\.section\s+\.debug\S*\s*\{[^}]*\}\s*\n/gm, '');
  // Each kernel for one target; a larger size turns to the next ones.
  const chosen = Array.from({ length: runs(24) }, (_, k) => ({
    name: kernels[(k * 17) % kernels.length],
    how: cases[(k + Math.floor(k / kernels.length)) % cases.length],
  }));

  test.skipIf(!present).each(chosen)('$name for $how', ({ name, how }) => {
    const [from, sm, level] = how;
    const file = join(ROOT, 'test', 'kernels', name, `${name}.${from}.ptx`);
    if (!existsSync(file)) return;
    const { cubin, errors } = ptxas(bare(readFileSync(file, 'utf8')), sm, level);
    expect(errors).toBe('');
    const original = new Uint8Array(cubin!);
    const elf = readCubin(original);
    const { differ } = differencesOf(elf, original);
    expect(others(differ)).toEqual([]);
    // Without called functions and after optimization the unwinding rules follow from the code.
    const calls = functionsOf(elf).some(
      (f) => f.labels.length > 1 || f.attributes.some((a) => a.code === 0x39),
    );
    if (level !== '-O0' && !calls && name !== 'jump-table') expect(differ).toEqual([]);
  });
});

describe('cubins of other code', () => {
  /** NOP and EXIT of sm_80. */
  const words = (list: readonly (readonly number[])[]): Uint8Array =>
    new Uint8Array(Uint32Array.from(list.flat()).buffer);
  const [NOP, EXIT] = [
    [0x7918, 0, 0, 0xfc000],
    [0x794d, 0, 0x3800000, 0xfea0000],
  ];
  const kernel: KernelCode = {
    name: 'k',
    code: words([NOP, EXIT]),
    registers: 8,
    barriers: 0,
    frameBytes: 0,
    sharedBytes: 0,
    params: [{ offset: 0, size: 8 }],
    exits: [16],
    divergent: false,
    warpWide: [],
    grouped: [],
    branches: [],
    relocations: [],
  };
  const variable = (name: string, more: Partial<ModuleVariable> = {}): ModuleVariable => ({
    name,
    space: 'global',
    size: 8,
    align: 8,
    bytes: null,
    ...more,
  });

  test.each([
    ['sm_80', 0xfffffff0],
    ['sm_90', 0xfffffffc],
  ])('%s: the branch to itself and NOPs are added', (sm, distance) => {
    const [fn] = functionsOf(readCubin(makeCubin(sm, [kernel], { variables: [] })));
    expect(fn.words.length).toBe(32);
    expect([...fn.words.subarray(0, 8)]).toEqual([...NOP, ...EXIT]);
    expect([fn.words[8] & 0xfff, fn.words[9]]).toEqual([0x947, distance]);
    for (let k = 12; k < 32; k += 4) expect([...fn.words.subarray(k, k + 4)]).toEqual(NOP);
    const whole = new Uint8Array(Uint32Array.from(fn.words).buffer);
    const [again] = functionsOf(readCubin(makeCubin(sm, [{ ...kernel, code: whole }], { variables: [] })));
    expect(again.words).toEqual(fn.words);
  });

  test('addresses of variables are where the code is told that they are', () => {
    const variables = [variable('a'), variable('c', { space: 'const' }), variable('b', { visible: true })];
    const k = { ...kernel, calls: ['vprintf'] };
    const offsets = addressOffsets([k], variables);
    expect([...offsets]).toEqual([
      ['vprintf', 0],
      ['b', 8],
      ['a', 16],
    ]);
    const elf = readCubin(makeCubin('sm_80', [k], { variables }));
    const content = elf.sections.find((s) => s.name === '.rel.nv.constant4')!.content;
    const placed = content.kind === 'relocations' ? content.relocations : [];
    expect(new Map(placed.map((r) => [symbolsOf(elf)[r.symbol].name, r.offset]))).toEqual(offsets);
  });

  test('halves of addresses in instructions are relocated, the last first', () => {
    const relocations = [
      { at: 0, symbol: 'a', half: 'low' },
      { at: 16, symbol: 'a', half: 'high' },
    ] as const;
    const elf = readCubin(makeCubin('sm_80', [{ ...kernel, relocations }], { variables: [variable('a')] }));
    const content = elf.sections.find((s) => s.name === '.rel.text.k')!.content;
    // ptxas states 57 and 56 for the halves if it makes a file to be linked.
    expect(content.kind === 'relocations' && content.relocations.map((r) => [r.offset, r.type])).toEqual([
      [16, 57],
      [0, 56],
    ]);
  });

  test.each([
    ['sm_100', [kernel], [], 'a cubin for sm_100 is asked for; they are made for sm_75'],
    ['sm_80a', [kernel], [], 'a cubin for sm_80a is asked for'],
    ['sm_80', [], [], 'a cubin is asked for without a kernel'],
    ['sm_80', [kernel, kernel], [], 'two kernels, functions or variables are called k'],
    ['sm_80', [kernel], [variable('k')], 'two kernels, functions or variables are called k'],
    ['sm_80', [{ ...kernel, code: new Uint8Array(8) }], [], 'the code of a kernel has 8 bytes'],
    ['sm_80', [{ ...kernel, params: [{ offset: 0, size: 20000 }] }], [], 'parameter 0 has 20000 bytes'],
    ['sm_80', [kernel], [variable('a', { offset: 4 })], 'variable a is at 4, not aligned to 8 bytes'],
    [
      'sm_80',
      [kernel],
      [variable('a', { bytes: new Uint8Array(9) })],
      'variable a begins as more than its 8',
    ],
    [
      'sm_80',
      [{ ...kernel, relocations: [{ at: 0, symbol: 'x', half: 'low' as const }] }],
      [],
      'kernel k refers to x, which is no variable of the module',
    ],
  ])('what cannot be made is refused: %#', (sm, kernels, variables, message) => {
    expect(() => makeCubin(sm, kernels, { variables })).toThrow(message);
  });
});
