import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { asm } from '../../src/cli/machine/asm.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import { compiledKernels } from '../../src/codegen/module.ts';
import type { Content } from '../../src/cubin/contents.ts';
import { extentOf, mostAlign, placesOf } from '../../src/cubin/make-module.ts';
import { readCubin } from '../../src/cubin/read.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { testFolder } from '../support/specs.ts';

const folder = testFolder();

/** What `asm` makes of a module with some variables, and of a kernel that reads `p` and `q`. */
async function made(sm: string, variables: string) {
  const source = folder.write(
    'variables.ptx',
    `.version 8.0
.target ${sm}
.address_size 64
.global .align 8 .b32 cells[4] = {5, 6, 7, 8};
${variables}
.visible .entry k(.param .u64 out) {
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.global.u64 %rd2, [p];
  ld.global.u64 %rd3, [q];
  st.global.u64 [%rd1], %rd2;
  st.global.u64 [%rd1+8], %rd3;
  ret;
}
`,
  );
  const output = join(folder.path, 'variables.cubin');
  return { output, ...(await captured(() => asm(source, { output }))) };
}

describe('variables of a module in a cubin', () => {
  it.each([
    ['sm_80', ['.rel.nv.global.init', [undefined]], ['.rela.nv.global.init', [8]]],
    ['sm_90', ['.rela.nv.global.init', [0, 8]]],
  ] as const)('keep what is added to addresses in them, as ptxas has it for %s', async (sm, ...wanted) => {
    const { output } = await made(sm, '.global .u64 p = generic(cells);\n.global .u64 q = generic(cells)+8;');
    const found = readCubin(readFileSync(output)).sections.flatMap((s) =>
      s.name.endsWith('.nv.global.init') && s.content.kind === 'relocations'
        ? [[s.name, (s.content satisfies Content).relocations.map((r) => r.addend)]]
        : [],
    );
    expect(found).toEqual(wanted);
  });

  it.each([
    ['.func f() { ret; }\n.global .u64 q = f;', "begins with the address of 'f', which is no variable"],
    [
      '.global .b8 q[8] = {0xff(cells), 0, 0, 0, 0, 0, 0, 0};',
      "begins with a part of the address of 'cells'",
    ],
    ['.extern .global .b32 far[];\n.global .u64 q = far;', "begins with the address of 'far', which is no"],
    [
      '.const .u64 c = generic(cells);\n.global .u64 q;',
      "'c' begins with the address of 'cells', and is a constant",
    ],
    ['.extern .global .u64 q;', "the address of 'q' has no machine code yet"],
  ])('are an error where a cubin cannot have them: %s', async (variables, why) => {
    const { code, err } = await made('sm_80', `.global .u64 p;\n${variables}`);
    expect(err).toContain(why);
    expect(code).toBe(1);
  });

  it('may be more than a call can have arguments', () => {
    const variables = Array.from({ length: 150_000 }, (_, k) => ({
      ...{ name: `v${k}`, space: 'global' as const, size: 1, align: 1, bytes: null },
    }));
    expect(mostAlign(variables)).toBe(1);
    expect(extentOf(variables, placesOf(variables))).toBe(150_000);
  });
});

it('a module of more kernels than a cubin has sections for is an error', () => {
  const functions = Array.from({ length: 9000 }, (_, k) => ({ name: `k${k}`, kind: 'entry' }) as Fn);
  const [first] = compiledKernels({ functions, variables: [] as Program['variables'] } as unknown as Program);
  expect(first).toMatchObject({ why: 'it is one of 9000 kernels: a cubin has at most 8151 here' });
});
