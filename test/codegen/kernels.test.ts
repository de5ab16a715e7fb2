import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { KernelResult } from '../../src/codegen/module.ts';
import { listCode } from '../../src/machine/listing.ts';
import { mostShared, paramBase, readPtx } from '../../src/read.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { fitLaunch, loadLaunch } from '../../src/spec/node-launch.ts';
import { hazardsOf } from '../../src/timing/check.ts';
import { accessesIn } from '../../src/timing/code.ts';
import { backEnd, compiled, cubinOf, lifted } from './compile.ts';

/*
 * Our machine code gives what the kernels' launches expect, which the same sources gave on the host, and waits long enough for what it
 * reads, by the table of distances that code of ptxas shows.
 */

const KERNELS = join(ROOT, 'test', 'kernels');
const sm = 'sm_80';
/** Back ends by target, and the target that the PTX of a test kernel names. */
const backs = {
  sm_80: await backEnd('sm_80'),
  O0: await backEnd('sm_80', 0),
  sm_89: await backEnd('sm_89'),
  sm_90: await backEnd('sm_90'),
};
const PTX = { sm_80: 'sm_80', O0: 'sm_80', sm_89: 'sm_80', sm_90: 'sm_90' } as const;
const kernelsOf = (target: keyof typeof backs): string[] =>
  readdirSync(KERNELS).filter((name) => existsSync(join(KERNELS, name, `${name}.${PTX[target]}.ptx`)));

/** Kernels with instructions that have no machine code yet, by the instruction. */
const LACKING: Readonly<Record<string, string>> = {
  'float-rounding': 'FDIV.RZ DDIV.RZ',
  'function-pointers':
    "the variable 'operations' begins with the address of '_Z5opAddii', which is no variable of this file CALL.U",
  'saturate-video': 'VSIMD4.ABSDIFF',
};

/** Compiles a test kernel and runs its launches with the code; what has no machine code is given back. */
async function launched(
  name: string,
  options: Parameters<typeof compiled>[2] = {},
  target: keyof typeof backs = sm,
): Promise<KernelResult[] | string> {
  const back = backs[target];
  const file = join(KERNELS, name, `${name}.${PTX[target]}.ptx`);
  const { program } = readPtx(readFileSync(file, 'utf8'), back.plan, file);
  const made = compiled(program, back, options);
  const lacking = made.kernels.flatMap((k) => ('why' in k ? [k.why.split(':')[0]] : []));
  if (lacking.length > 0) return lacking.join(' ');
  const elf = cubinOf(made, back.plan.sm);
  for (const f of listCode(elf, back.machine))
    expect(hazardsOf(f.fn, f.code, accessesIn(f, elf, back.machine, back.plan.isa), back.machine)).toEqual(
      [],
    );
  for (const own of readdirSync(join(KERNELS, name)).filter((f) => /^launch.*\.yaml$/.test(f))) {
    const launch = await loadLaunch(join(KERNELS, name, own));
    await fitLaunch(launch, program, mostShared(back.plan));
    const code = lifted(elf, program, launch.kernel, back);
    expect(code.gaps).toEqual([]);
    const r = runLaunch(code.program, back.plan.isa, launch, paramBase(back.plan));
    expect({ own, status: r.status, error: r.error, mismatches: r.mismatches }).toEqual({
      own,
      status: 'ok',
      error: null,
      mismatches: [],
    });
  }
  return made.kernels.flatMap((k) => ('code' in k ? [k.code] : []));
}

test.each(kernelsOf(sm))('%s', async (name) => {
  const made = await launched(name);
  if (typeof made === 'string') expect(made).toBe(LACKING[name]);
  else expect(LACKING).not.toHaveProperty(name);
});

describe.each([
  ['sm_89', 9],
  ['sm_90', 3],
] as const)('for %s', (target, each) => {
  test.each(kernelsOf(target).filter((_, k) => k % each === 0))('%s', async (name) => {
    const made = await launched(name, {}, target);
    if (typeof made === 'string') expect(made).toBe(LACKING[name]);
    else for (const k of made) expect(k.instructions).toBeGreaterThan(0);
  });
});

describe('with few registers, values move to local memory', () => {
  test.each(['sha256', 'fft', 'matmul-tiled', 'int64-math', 'nbody'])('%s', async (name) => {
    const made = await launched(name, { registers: 14 });
    expect(typeof made).not.toBe('string');
    for (const k of made as KernelResult[]) expect(k.registers).toBeLessThanOrEqual(14);
    expect((made as KernelResult[]).some((k) => k.spills > 0 && k.frameBytes > 0)).toBe(true);
  });
});

test('at -O0 every instruction waits for all earlier ones', async () => {
  expect(typeof (await launched('reduce-shared', {}, 'O0'))).not.toBe('string');
});

/** Accesses in order of memory, and what ptxas 13.0.88 -O3 writes for each: what waits, reports errors, and clears the cache. */
const ORDERED: readonly (readonly [ptx: string, sm80: string, sm90: string])[] = [
  ['ld.acquire.gpu.global.u32 %r1, [%d1];', 'LDG CCTL', 'LDG CCTL'],
  ['ld.acquire.cta.global.u32 %r1, [%d1];', 'LDG', 'LDG'],
  ['st.release.gpu.global.u32 [%d1], %r1;', 'MEMBAR ERRBAR STG', 'MEMBAR ERRBAR CGAERRBAR STG'],
  [
    'atom.acq_rel.gpu.global.exch.b32 %r1, [%d1], %r1;',
    'MEMBAR ERRBAR ATOMG CCTL',
    'MEMBAR ERRBAR CGAERRBAR ATOMG CCTL',
  ],
  ['fence.acq_rel.gpu;', 'MEMBAR ERRBAR CCTL', 'MEMBAR ERRBAR CGAERRBAR CCTL'],
  ['fence.acq_rel.cta;', 'MEMBAR', 'MEMBAR'],
  ['membar.sys;', 'MEMBAR ERRBAR CCTL', 'MEMBAR ERRBAR CGAERRBAR CCTL'],
  ['ld.volatile.global.u32 %r1, [%d1];', 'LDG', 'LDG'],
];

test.each(ORDERED)('%s is ordered as ptxas orders it', (instruction, sm80, sm90) => {
  for (const [target, expected] of [
    ['sm_80', sm80],
    ['sm_90', sm90],
  ] as const) {
    const text = `.version 8.0
.target ${target}
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .u64 %d<2>; .reg .u32 %r<2>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, 7;
  ${instruction}
  st.global.u32 [%d1+64], %r1;
  ret;
}
`;
    const back = backs[target];
    const { program } = readPtx(text, back.plan, 'order.ptx');
    const elf = cubinOf(compiled(program, back), target);
    const rows = listCode(elf, back.machine)[0].code.flatMap((c) => {
      const row = c.instruction!.form.row.split('.')[0];
      return /^(?:LDG|STG|ATOMG|MEMBAR|ERRBAR|CGAERRBAR|CCTL)$/.test(row) ? [row] : [];
    });
    expect([target, rows.join(' ')]).toEqual([target, `${expected} STG`]);
  }
});

test('loads go before what waits for them, and parameters are read where they are', () => {
  const text = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .f32 f)
{
  .reg .u64 %d<2>; .reg .f32 %f<6>;
  ld.param.u64 %d1, [p];
  ld.param.f32 %f1, [f];
  ld.global.f32 %f2, [%d1];
  fma.rn.f32 %f3, %f2, %f1, %f2;
  ld.global.f32 %f4, [%d1+4];
  fma.rn.f32 %f5, %f4, %f1, %f3;
  st.global.f32 [%d1+8], %f5;
  ret;
}
`;
  const listed = (target: 'O0' | 'sm_80'): string => {
    const { program } = readPtx(text, backs[target].plan, 'order.ptx');
    // As it was read, so that no earlier phase orders or folds anything.
    const elf = cubinOf(compiled(program, backs[target], { isFinal: true }), 'sm_80');
    const code = listCode(elf, backs[target].machine)[0].code.map((c) => c.instruction!.form);
    return code.flatMap(({ row, layout }) => (/^(?:LDG|FFMA)$/.test(row) ? [row + layout] : [])).join(' ');
  };
  expect(listed('O0')).toBe('LDG FFMARCR LDG FFMARCR');
  expect(listed('sm_80')).toBe('LDG LDG FFMARCR FFMARCR');
});
