import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Elf } from '../../src/cubin/elf.ts';
import { functionsOf, symbolsOf } from '../../src/cubin/functions.ts';
import {
  addressOffsets,
  type KernelCode,
  type ModuleVariable,
  makeCubin,
  placesOf,
} from '../../src/cubin/make.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { placeAt, sourceLines } from '../../src/cubin/source-lines.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { differencesOf, ingredientsOf, withLinesOf, withoutLines } from '../support/remake.ts';
import { allRuns } from '../support/size.ts';

const bytesOf = (...path: string[]): Uint8Array => new Uint8Array(readFileSync(join(ROOT, 'test', ...path)));
const cubinsIn = (folder: string): string[] =>
  readdirSync(join(ROOT, 'test', folder)).filter((f) => f.endsWith('.cubin'));

/** Sections that may differ: unwinding rules, which say where the stack pointer and return addresses are, and their relocations. */
const UNWINDING = /^\.(debug_frame|rela?\.debug_frame)$/;
const others = (differ: readonly string[]): string[] => differ.filter((d) => !UNWINDING.test(d));

/** Checked-in cubins of targets from sm_100 on hold the code as Mercury too. */
const MERCURY = /\.sm_1\d\d\./;
/** Those of the others whose unwinding rules differ. */
const OTHER_UNWINDING = [
  'arrivals.sm_80.O3.cubin',
  ...['sm_75.O3', 'sm_80.O0', 'sm_80.O3', 'sm_90.O3'].map((of) => `driver-functions.${of}.cubin`),
  'function-pointers.sm_80.O3.cubin',
  'matrices.sm_90.O3.cubin',
];

/** Checks that a cubin and what is made of its parts say the same, lines and Mercury aside. */
function sayTheSame(original: Elf): void {
  const { sm, kernels, data } = ingredientsOf(original);
  const made = withoutLines(readCubin(makeCubin(sm, kernels, data)));
  const wanted = withoutLines(original);
  expect([...made.keys()]).toEqual([...wanted.keys()]);
  for (const [name, says] of wanted) if (!UNWINDING.test(name)) expect(made.get(name), name).toEqual(says);
}

describe('cubins of ptxas are made again', () => {
  test.each(cubinsIn('machine-code').filter((f) => !MERCURY.test(f)))('%s', (file) => {
    const original = bytesOf('machine-code', file);
    const { differ } = differencesOf(readCubin(original), original);
    expect(others(differ)).toEqual([]);
    expect(differ.length > 0).toBe(OTHER_UNWINDING.includes(file));
  });

  test.each(cubinsIn('cubins'))('%s, but for its tables of lines', (file) =>
    sayTheSame(readCubin(bytesOf('cubins', file))),
  );

  test.each(cubinsIn('machine-code').filter((f) => MERCURY.test(f)))('%s, but for Mercury', (file) =>
    sayTheSame(readCubin(bytesOf('machine-code', file))),
  );
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
    ['sm_90', 'sm_100', '-O3'],
    ['sm_90', 'sm_120', '-O3'],
  ] as const;
  /** PTX without tables of lines. */
  const bare = (text: string): string =>
    text.replace(/^\s*\.(loc|file)\b.*\n/gm, '').replace(/^\s*\.section\s+\.debug\S*\s*\{[^}]*\}\s*\n/gm, '');
  // Each kernel for one target; a larger size turns to the next ones.
  const chosen = Array.from({ length: allRuns(24) }, (_, k) => ({
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
    if (MERCURY.test(`.${sm}.`)) return sayTheSame(elf);
    const { differ } = differencesOf(elf, original);
    expect(others(differ)).toEqual([]);
    // Without called functions and after optimization the unwinding rules follow from the code, but for collective blocks.
    const follows = level !== '-O0' && functionsOf(elf).every((f) => f.labels.length === 1);
    if (follows && name !== 'warp-shuffle') expect(differ).toEqual([]);
  });
});

describe('tables of lines', () => {
  // ptxas looks at the files for their times and sizes.
  const sized = (text: string): string => text.replace(/^(\s*\.file\s+\d+\s+"[^"]*").*$/gm, '$1, 0, 0');
  test.skipIf(!hasPtxas('make-cubin')).each([
    ['chacha', 'sm_80'],
    ['crc', 'sm_80'],
    ['dot-double', 'sm_90'],
    ['saxpy', 'sm_90'],
  ])('of %s for %s are those of ptxas', (name, sm) => {
    const text = readFileSync(join(ROOT, 'test', 'kernels', name, `${name}.${sm}.ptx`), 'utf8');
    for (const ptx of [sized(text), text.replace(/^\s*\.(?:loc|file)\b.*$/gm, '')]) {
      const { cubin, errors } = ptxas(ptx, sm, '-O3', '-lineinfo');
      expect(errors).toBe('');
      const original = new Uint8Array(cubin!);
      const elf = readCubin(original);
      const { made, differ } = differencesOf(elf, original, withLinesOf(elf));
      // From sm_90 on, ptxas states some lines twice.
      expect(differ.filter((d) => sm !== 'sm_90' || !/nv_debug_line_sass$/.test(d))).toEqual([]);
      const ours = readCubin(made);
      for (const table of ['source', 'ptx'] as const) {
        const [theirs, own] = [elf, ours].map((e) => [...sourceLines(e, table).values()]);
        expect(own.length).toBe(theirs.length);
        theirs.forEach((t, k) => {
          for (const { offset } of t) expect(placeAt(own[k], offset)).toEqual(placeAt(t, offset));
        });
      }
    }
  });
});

describe('cubins of PTX that no test kernel is like', () => {
  const present = hasPtxas('make-cubin');
  const head = (sm: string): string => `.version 9.0\n.target ${sm}\n.address_size 64\n`;
  const store = 'ld.param.u64 %a1, [p]; st.global.u32 [%a1], %r1; ret;';
  const entry = (how: string, body: string): string =>
    `${how}(.param .u64 p) %% { .reg .b64 %a<9>; .reg .b32 %r<9>; ${body} ${store} }\n`;
  const plain = (name: string, body: string): string =>
    entry(`.visible .entry ${name}`, body).replace('%%', '');
  const texts: Record<string, string> = {
    'variables of all kinds': `
      .global .align 8 .b8 a[8] = {1}; .global .align 8 .b8 b[8] = {2}; .visible .global .align 8 .b8 c[8] = {3};
      .global .align 4 .b8 d[8] = {6}; .global .align 16 .b8 e[4] = {7}; .global .align 4 .u32 f; .visible .global .align 4 .u32 g;
      .global .align 8 .u64 h = generic(f); .const .align 4 .u32 i = 1; .visible .const .align 2 .u16 j = 3; .const .align 8 .u64 l;
      ${plain('k1', 'ld.global.u32 %r1, [b]; ld.const.u32 %r2, [i]; add.u32 %r1, %r1, %r2;')}
      ${plain('k2', 'mov.u64 %a2, g; cvt.u32.u64 %r1, %a2;')}`,
    'kernels that are weak, or of their file alone': `
      ${entry('.weak .entry k1', 'mov.u32 %r1, 1;').replace('%%', '')}
      ${entry('.entry k2', 'mov.u32 %r1, 2;').replace('%%', '')}
      .visible .entry k3() { ret; }`,
    'limits of threads and registers': `
      ${entry('.visible .entry k1', 'mov.u32 %r1, %ctaid.z;').replace('%%', '.reqntid 32, 2, 1 .minnctapersm 4')}
      ${entry('.visible .entry k2', 'mov.u32 %r1, 2;').replace('%%', '.maxntid 128 .maxnreg 40')}`,
    'shared memory of a size given at launch': `
      .extern .shared .align 16 .b8 dyn[]; .shared .align 4 .b8 own[64];
      ${plain('k1', 'mov.u32 %r1, 5; st.shared.u32 [own + 4], %r1;')}
      ${plain('k2', 'ld.shared.u32 %r1, [dyn];')}
      ${plain('k3', 'mov.u32 %r1, 5;')}`,
    clusters: entry('.visible .entry k1', 'mov.u32 %r1, %cluster_ctarank;').replace(
      '%%',
      '.reqntid 32 .reqnctapercluster 2 .explicitcluster',
    ),
  };
  const cases = Object.keys(texts).flatMap((what) =>
    ['sm_75', 'sm_80', 'sm_90'].flatMap((sm) =>
      what === 'clusters' && sm !== 'sm_90' ? [] : [[what, sm] as const],
    ),
  );
  test.skipIf(!present).each(cases)('%s for %s', (what, sm) => {
    const { cubin, errors } = ptxas(head(sm) + texts[what], sm);
    expect(errors).toBe('');
    const original = new Uint8Array(cubin!);
    expect(differencesOf(readCubin(original), original).differ).toEqual([]);
  });
});

test.skipIf(!hasPtxas('make-cubin'))('variables are where ptxas puts them', () => {
  const sizes = [3, 24, 8, 16, 5, 40];
  const aligns = [1, 8, 4, 2, 16, 4];
  const variables = sizes.map((size, k): ModuleVariable => {
    const [name, align] = [`v${k}`, aligns[k]];
    return { name, space: 'global', size, align, bytes: k % 2 === 0 ? Uint8Array.of(k + 1) : null };
  });
  const declared = variables.map(
    (v) => `.global .align ${v.align} .b8 ${v.name}[${v.size}]${v.bytes === null ? '' : ` = {${v.bytes}}`};`,
  );
  const text = `.version 9.0\n.target sm_80\n.address_size 64\n${declared.join('\n')}\n.entry k() { ret; }\n`;
  const { cubin, errors } = ptxas(text, 'sm_80');
  expect(errors).toBe('');
  const symbols = symbolsOf(readCubin(new Uint8Array(cubin!))).filter((s) => s.name.startsWith('v'));
  expect(new Map(symbols.map((s) => [s.name, s.value]))).toEqual(placesOf(variables));
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
    ['sm_70', [kernel], [], 'a cubin for sm_70 is asked for; they are made for sm_75'],
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
    ['sm_80', [{ ...kernel, registers: 256 }], [], 'kernel k has 256 registers; at most 255'],
    ['sm_80', [{ ...kernel, barriers: 17 }], [], 'kernel k has 17 barriers; at most 16'],
    ['sm_80', [{ ...kernel, exits: [128] }], [], 'kernel k has no instruction at 128 in its 128 bytes'],
    ['sm_80', [{ ...kernel, warpWide: [8] }], [], 'kernel k has no instruction at 8'],
    [
      'sm_80',
      [kernel],
      [variable('a'), variable('b', { offset: 0 })],
      'variable b is at 0, within variable a',
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
