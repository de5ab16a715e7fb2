import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { planOf, printProgram, readPtx } from '../src/core.ts';
import { loadShipped, planFromFiles } from '../src/index.ts';
import { PTX_TARGETS } from '../src/ptx/targets.ts';
import { servingTarget, targetFor } from '../src/read.ts';
import { runPtx } from './support/run-ptx.ts';

const specs = await loadShipped();
const dir = mkdtempSync(join(tmpdir(), 'orrery-targets-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** PTX as the first compilers wrote it: no address size, 32-bit pointers, 16-bit special registers. */
const OLD = (target: string) => `	.version 1.4
	.target ${target}
	.entry add (.param .u32 A, .param .s32 N)
	{
	.reg .u16 %rh<4>;
	.reg .u32 %r<8>;
	.reg .f32 %f<4>;
	.reg .pred %p<3>;
	mov.u16 	%rh1, %ctaid.x;
	mov.u16 	%rh2, %ntid.x;
	mul.wide.u16 	%r1, %rh1, %rh2;
	cvt.u32.u16 	%r2, %tid.x;
	add.u32 	%r3, %r2, %r1;
	ld.param.s32 	%r4, [N];
	setp.le.s32 	%p1, %r4, %r3;
	@%p1 bra 	$L;
	mul.lo.u32 	%r5, %r3, 4;
	ld.param.u32 	%r6, [A];
	add.u32 	%r7, %r6, %r5;
	ld.global.f32 	%f1, [%r7+0];
	add.f32 	%f2, %f1, %f1;
	st.global.f32 	[%r7+0], %f2;
$L:
	exit;
	}
`;

describe('targets without a back end', () => {
  it.each([
    ['sm_10', 'sm_30'],
    ['sm_13', 'sm_30'],
    ['sm_21', 'sm_30'],
    ['sm_35', 'sm_30'],
    ['sm_37', 'sm_30'],
    ['sm_52', 'sm_50'],
    ['sm_53', 'sm_50'],
    ['sm_61', 'sm_60'],
    ['sm_62', 'sm_60'],
    ['sm_72', 'sm_70'],
    ['sm_101', 'sm_100'],
    ['sm_101a', 'sm_100'],
  ])('%s has that of %s, with a warning', (target, sm) => {
    const found = targetFor(specs, target);
    expect(found.sm).toBe(sm);
    expect(found.warnings.map((w) => w.message)).toEqual([
      `there is no back end for '${target}': that of ${sm} is used, the nearest`,
    ]);
  });

  it('a suffix asks for nothing else, and no target of PTX has no back end', () => {
    for (const [target, sm] of [
      ['sm_90a', 'sm_90'],
      ['sm_100f', 'sm_100'],
      ['sm_121a', 'sm_121'],
      ['sm_80', 'sm_80'],
    ])
      expect(targetFor(specs, target)).toEqual({ sm, warnings: [] });
    for (const target of PTX_TARGETS)
      if (target.startsWith('sm_')) expect(planOf(specs, { sm: target }).phases.length).toBe(159);
    expect(servingTarget('sm_95', ['sm_90'])).toBe('sm_95');
    expect(() => planOf(specs, { sm: 'sm_95' })).toThrow("there is no back end for 'sm_95'");
  });

  it('are told of by the library', async () => {
    for (const plan of [planOf(specs, { sm: 'sm_61' }), await planFromFiles({ sm: 'sm_61' }, specs)])
      expect(plan.warnings.filter((w) => w.code === 'nearest-backend').length).toBe(1);
  });

  it('lower what the first compilers wrote', () => {
    const { program, warnings } = readPtx(
      OLD('sm_10, map_f64_to_f32'),
      planOf(specs, { sm: 'sm_10' }),
      'old.ptx',
    );
    expect(warnings).toEqual([]);
    expect(printProgram(program)).toContain('LDG');
  });

  it('are told of once by a command, however many files have them', () => {
    const root = fileURLToPath(new URL('..', import.meta.url));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
      });
    const kernel = readFileSync(join(root, 'test/kernels/saxpy/saxpy.sm_75.ptx'), 'utf8');
    writeFileSync(join(dir, 'saxpy.ptx'), kernel.replace('.target sm_75', '.target sm_61'));
    const launch = join(root, 'test/kernels/saxpy/launch.yaml');
    const twice = run('run', launch, launch, '--module', join(dir, 'saxpy.ptx'));
    expect([twice.status, twice.stderr.match(/no back end for 'sm_61'/g)?.length]).toEqual([0, 1]);
    writeFileSync(join(dir, 'old.ptx'), OLD('sm_12'));
    const opt = run('opt', join(dir, 'old.ptx'), '--check', 'auto', '--emit', 'none');
    expect(opt.stderr).toMatch(/^warning: there is no back end for 'sm_12': that of sm_30 is used/);
    expect(opt.stderr).toContain('equal: 1 kernel');
  });
});

describe('special registers in 16 bits', () => {
  // Legacy code takes the lower 16 bits of each component (PTX ISA 9.0, 10).
  it('give their low half', () => {
    const got = runPtx(
      'mov.u16 %h0, %clock; mov.u16 %h1, %tid.x; mov.u16 %h2, %lanemask_ge; cvt.u32.u16 %o0, %h1; cvt.u32.u16 %o1, %h2; mul.wide.u16 %o2, %h2, 2; shr.u16 %h2, %h2, 15; cvt.u32.u16 %o3, %h2;',
      Array.from({ length: 32 }, () => [0]),
      4,
    );
    expect(got).toEqual(
      Array.from({ length: 32 }, (_, l) => {
        const low = (-1 << l) & 0xffff;
        return [l, low, low * 2, low >> 15];
      }),
    );
  });
});
