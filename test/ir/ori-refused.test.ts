import { describe, expect, it } from 'vitest';
import { optimize, planOf, readOri, readPtx } from '../../src/core.ts';
import { loadShipped } from '../../src/index.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { KernelJudge } from '../../src/judge/judge.ts';
import { paramBase } from '../../src/read.ts';

// Foreign Ori text: an invalid one is an error at its line, at a cost that is linear in its lines.
const plan = planOf(await loadShipped(), { sm: 'sm_90', level: 3 });
const HEAD = '.program "x" version 8.0 target sm_90 address 64';

const kernel = (body: string, before = '', header = ''): string =>
  [HEAD, before, '.entry k', header, '{', body, '}'].filter((l) => l !== '').join('\n');

/** The diagnostics of a text. */
const faultsOf = (text: string): string[] =>
  parseProgram(text, plan.isa).diagnostics.map((d) => `${d.line}: ${d.message}`);

const EXIT = 'BB0:\n       EXIT';

describe('refused is', () => {
  it.each([
    ['.file 1 ["a"]', 'expected a quoted name'],
    ['.file 1 "a\\"b"', 'expected a quoted name without quotes and line breaks in it'],
    ['.file 1e9 "a"', 'expected a quoted name'],
    ['.loc 4294967290 1 1 1 1', 'expected an index from 1 to 16777215'],
    ['.loc 0 1 1 1 1', 'expected an index from 1 to 16777215'],
    ['.loc 1 -5 1 1 1', 'expected a line from 0 to 2^53 - 1'],
    ['.skipped a [1]', 'expected a list of reasons'],
    ['.entry ..', 'expected a function name'],
    ['.var shared b8 k size 4 align 4\n.var shared b8 k size 4 align 4', "'k' is defined twice"],
    ['.var heap b8 g size 4 align 4', 'expected a space'],
    ['.var global b8 g size -4 align 4', 'expected a size from 0 to 2^53 - 1'],
    ['.var global b8 g size 9007199254740991 align 4', 'expected a size of at most 562949953421312 bytes'],
    ['.var global b8 g size 4 align 3', 'expected an alignment that is a power of two'],
    ['.var global b8 g size 4 align 4 linkage mine', 'expected a linkage'],
    ['.var global b8 g size 4 align 4 attrs ["; } .entry j() {"]', 'expected a list of attributes'],
    ['.var global b8 g size 4 align 4 init 0x0011zz', 'expected at most 4 bytes in hexadecimal'],
    ['.var global b8 g size 4 align 4 init 0x0011223344', 'expected at most 4 bytes in hexadecimal'],
    [
      '.var global b8 g size 8 align 8 init 0x0011223344556677 reloc 4000000000 8 g 0 generic -1',
      'the address lies outside the initial bytes',
    ],
    ['.program "x" version 8.0.ret target sm_90 address 64', 'expected a version'],
    ['.program "x" version 8.0 target __proto__ address 64', 'expected a target'],
  ])('in a program: %s', (line, fault) => {
    expect(faultsOf(`${HEAD}\n${line}`).map((f) => f.replace(/^\d+: /, ''))).toContain(fault);
  });

  it.each([
    ['.directive [".maxntid 1"]', 'expected a quoted directive'],
    ['.directive "{ ret; } .entry j()"', 'expected a quoted directive'],
    ['.pragma BB0 "a\\"; ret;"', 'expected a quoted pragma without quotes and line breaks in it'],
    ['.linkage mine', 'expected a linkage'],
    ['.regs -5', 'expected a count from 0 to 2^53 - 1'],
    ['.table T5 BB0', 'expected the next table'],
    ['.table T0 XX0', 'expected a block'],
    ['.param u32 x size 4 align 4 at -1', 'expected an offset from 0 to 2^53 - 1'],
    ['.param u64 x size 8 align 8 at 0 ptr __proto__', 'expected a space'],
  ])('in a function: %s', (line, fault) => {
    expect(faultsOf(kernel(EXIT, '', line))).toEqual([`3: ${fault}`]);
  });

  it.each([
    ['MOV R1, ((((1))))', 'expected a constant'],
    [`MOV R1, ${'('.repeat(100_000)}`, 'expected a constant'],
    [`MOV R1, ${'9'.repeat(10_000_000)}`, 'constant of more than 64 bits'],
    ['STG [RD2+0x1ffffffff], R1', 'the offset does not fit 32 bits'],
    ['BB1 "\u001b[31m":', "unknown opcode 'BB1'"],
    [`FOREIGN {R1}, "mov.u32 <d0>, 1; ret"`, 'expected the text of one instruction'],
  ])('in a body: %.60s', (line, fault) => {
    const found = faultsOf(kernel(`BB0:\n${line}\n       EXIT`));
    expect(found).toEqual([`5: ${fault}`]);
  });
});

it('a second function or variable of a name, which would be taken for the first', () => {
  expect(faultsOf(`${kernel(EXIT)}\n.var global b8 k size 4 align 4\n.entry k\n`)).toEqual([
    "7: 'k' is defined twice",
    "8: 'k' is defined twice",
  ]);
});

it('a hundred faults are reported, and no more', () => {
  const found = faultsOf(`${HEAD}\n${'x\n'.repeat(1_000_000)}`);
  expect(found).toHaveLength(101);
  expect(found.at(-1)).toBe('102: more than 100 lines have errors: the rest is not read');
});

it('locations between those that are there are none', () => {
  const { program, diagnostics } = parseProgram(`${kernel(EXIT)}\n.loc 16777215 5 1 7 2`, plan.isa);
  expect(diagnostics).toEqual([]);
  expect(program.locs).toHaveLength(2 ** 24);
  expect(program.locs[2 ** 24 - 1]).toEqual({ line: 5, file: 1, srcLine: 7, srcColumn: 2 });
  expect(program.locs[1]).toEqual({ line: 0, file: 0, srcLine: 0, srcColumn: 0 });
});

it.each([
  ['from one predecessor twice', 'BB1:\nMOVPHI R1, {BB0: R2, BB0: R3}', 'a phi names BB0 twice'],
  ['from none', 'BB1:\nMOVPHI R1, {}', 'a phi of BB1 has no value from its predecessor BB0'],
  ['behind others', 'BB1:\nMOV R4, 1\nMOVPHI R1, {BB0: R2}', 'a phi comes after other instructions'],
  [
    'of a register that is not the value',
    'BB1:\nMOVPHI R1, {R2: BB0}',
    'a phi takes pairs of a predecessor and a value',
  ],
  ['of what is defined twice', 'MOV R1, 1\nBB1:\nMOVPHI R1, {BB0: R2}', 'R1 has several definitions'],
])('a function with phis is in SSA form: %s', (_, body, fault) => {
  const text = kernel(`BB0:\n${body}\nSTG [RD6], R1\nEXIT`);
  let notes = '';
  try {
    readOri(text, plan);
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    notes = e.diagnostics[0].notes?.join('\n') ?? '';
  }
  expect(notes).toContain(fault);
});

it.each(['.reqntid 99999999', '.reqnctapercluster 99999, 9999'])(
  'a kernel that no launch can have is not run: %s',
  (directive) => {
    const { program } = readPtx(
      [
        '.version 8.0\n.target sm_90\n.address_size 64',
        `.visible .entry k(.param .u64 p)\n${directive}`,
        '{ .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u64 [%rd1], %rd1; ret; }\n',
      ].join('\n'),
      plan,
    );
    const { last } = optimize(program, plan);
    const found = new KernelJudge(program, last, 'k', paramBase(plan)).against(last);
    expect(found.differences).toEqual([]);
    expect(found.worlds).toBe(0);
    expect(printProgram(last)).toContain(directive);
  },
);

it('code after the end of a function is cut off', () => {
  const { program } = readOri(kernel('BB0:\n       EXIT\n       MOV R1, 1'), plan);
  expect(printProgram(optimize(program, plan, { verify: true }).last)).not.toContain('MOV');
});
