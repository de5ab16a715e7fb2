import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { planOf, printProgram, readPtx } from '../../src/core.ts';
import { loadShipped, planFromFiles } from '../../src/index.ts';
import { PTX_TARGETS } from '../../src/ptx/targets.ts';
import { paramBase, servingTarget, targetFor } from '../../src/read.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { targetsOf } from '../../src/spec/targets.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runPtx } from '../support/run-ptx.ts';

const specs = await loadShipped();
const dir = mkdtempSync(join(tmpdir(), 'orrery-targets-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** PTX as early compilers wrote it: no address size, 32-bit pointers, 16-bit special registers. */
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

  it('every target with a back end is one that `.target` takes', () => {
    expect(targetsOf(specs).filter((sm) => !PTX_TARGETS.has(sm))).toEqual([]);
  });

  it('are reported by the library', async () => {
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

  it('are reported once by a command, however many files have them', () => {
    const root = fileURLToPath(new URL('../..', import.meta.url));
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

describe('pointers of 32 bits', () => {
  const result = (text: string, sm: string) => {
    const plan = planOf(specs, { sm });
    const { program } = readPtx(text, plan, 'old.ptx');
    const bytes = new Uint8Array(Float32Array.from({ length: 8 }, (_, i) => i + 1).buffer);
    const params = [
      { kind: 'buffer', type: 'f32', length: 8, bytes, expect: null, tolerance: 0 },
      { kind: 'scalar', type: 's32', value: 5 },
    ] as const;
    const { grid, block } = { grid: [2, 1, 1], block: [4, 1, 1] } as const;
    const launch = { name: 't', kernel: 'add', grid, block, dynamicShared: 0, params };
    const r = runLaunch(program, plan.isa, launch, paramBase(plan));
    return r.error ?? [...new Float32Array(r.buffers[0]!.buffer)];
  };
  it('take the buffers of a launch where the module has them', () => {
    const twice = [2, 4, 6, 8, 10, 6, 7, 8];
    expect(result(OLD('sm_13'), 'sm_13')).toEqual(twice);
    const head = (size: number) => `.version 3.0\n\t.target sm_20\n\t.address_size ${size}\n`;
    const newer = OLD('sm_20').replace(/\.version 1\.4\s+\.target sm_20/, head(32));
    expect(result(newer, 'sm_20')).toEqual(twice);
    const wide = `${head(64)}.entry add(.param .u32 A, .param .s32 N) { exit; }`;
    expect(result(wide, 'sm_20')).toBe('parameter 0 (A) has 4 bytes, the launch gives a pointer of 8');
  });
});

describe('f32 operations of sm_1x', () => {
  // "sm_1x: add.f32 flushes subnormal inputs and results to sign-preserving zero", and so of all others (PTX ISA 9.0, add).
  const [TINY, SMALLEST, HALF, ONE] = [1, 0x00800000, 0x3f000000, 0x3f800000];
  const BODY = `add.f32 %o0, %i0, 0f00000000; mul.f32 %o1, %i1, %i2; min.f32 %o2, %i0, %i3; neg.f32 %o3, %i0;
setp.gt.f32 %p0, %i0, 0f00000000; selp.b32 %o4, 1, 0, %p0; cvt.rpi.s32.f32 %o5, %i0;
set.gt.u32.f32 %o6, %i0, 0f00000000; slct.u32.f32 %o7, 1, 2, 0f80000001;`;
  const run = (sm: string) => runPtx(BODY, [[TINY, SMALLEST, HALF, ONE]], 8, '', sm)[0];
  it('flush subnormal inputs and results', () => {
    expect(run('sm_13')).toEqual([0, 0, 0, -0x80000000, 0, 0, 0, 1]);
    expect(run('sm_20')).toEqual([TINY, SMALLEST / 2, TINY, TINY - 0x80000000, 1, 1, -1, 2]);
  });

  const FORMS = [
    ...['add', 'add.rz', 'sub', 'mul.sat', 'min', 'div.full', 'div.approx'].map(
      (x) => `${x}.f32 f4, f1, f2;`,
    ),
    ...['sqrt.approx', 'rcp.approx', 'rsqrt.approx', 'ex2.approx', 'lg2.approx', 'abs', 'neg'].map(
      (x) => `${x}.f32 f4, f1;`,
    ),
    'mad.f32 f4, f1, f2, f3;',
    ...['cvt.rpi.s32', 'cvt.rni.u32'].map((x) => `${x}.f32 r2, f1;`),
    ...['cvt.rni.f32', 'cvt.f32', 'cvt.sat.f32'].map((x) => `${x}.f32 f4, f1;`),
    'setp.gt.f32 p1, f1, f2;',
    'set.lt.u32.f32 r2, f1, f2;',
    'slct.u32.f32 r2, 7, 8, f3;',
  ];
  // Conversions to and from 64 bits flush since PTX 1.5 only.
  const WIDE = ['cvt.f64.f32 d1, f1;', 'cvt.rn.f32.f64 f4, d2;', 'cvt.rpi.s64.f32 q1, f1;'];
  const kernelOf = (lines: readonly string[], version: string) => `.version ${version}
.target sm_13
.entry k(.param .u64 p)
{
 .reg .u64 q<4>; .reg .f32 f<6>; .reg .f64 d<4>; .reg .pred p<4>; .reg .u32 r<4>;
 ld.param.u64 q0, [p]; ld.global.f32 f1, [q0]; ld.global.f32 f2, [q0+4]; ld.global.f32 f3, [q0+8]; ld.global.f64 d2, [q0+16];
${lines
  .map((l) => {
    const kept = l.startsWith('setp') ? 'selp.u32 r2, 1, 0, p1; st.global.u32 [q0], r2;' : '';
    const [, d] = / (\w+),/.exec(l)!;
    return ` ${l} ${kept === '' ? `st.global.${{ f: 'f32', r: 'u32', d: 'f64', q: 'u64' }[d[0]]} [q0], ${d};` : kept}`;
  })
  .join('\n')}
 exit;
}
`;
  const flushed = (l: string) => l.replace(/^((?:\.?(?!\w*(?:32|64)\b)\w+)+)/, '$1.ftz');
  const ori = (text: string) =>
    printProgram(readPtx(text, planOf(specs, { sm: 'sm_13' }), 'k.ptx').program).replace(/module \S+/, '');
  it.each([
    ['1.4', FORMS],
    ['2.0', [...FORMS, ...WIDE]],
  ])('are those with .ftz in PTX %s', (version, forms) => {
    expect(forms.map(flushed).every((l) => l.includes('.ftz'))).toBe(true);
    expect(ori(kernelOf(forms, version))).toBe(ori(kernelOf(forms.map(flushed), version)));
    if (!hasPtxas('targets.test.ts')) return;
    const code = (lines: readonly string[]) =>
      ptxas(kernelOf(lines, version), 'sm_75').cubin?.toString('hex');
    expect(code(forms)).toBe(code(forms.map(flushed)));
    expect(code(forms)).not.toBeUndefined();
  });

  it('have a mad.f32 that is fma.rn.ftz, as the PTX ISA says of code for SM 2.0', () => {
    const product = (text: string) => /FFMA\S*/.exec(ori(kernelOf([text], '2.0')))?.[0];
    expect(product('mad.f32 f4, f1, f2, f3;')).toBe('FFMA.FTZ');
    expect(product('mad.sat.f32 f4, f1, f2, f3;')).toBe('FFMA.FTZ.SAT');
  });

  it('keep subnormal numbers where PTX 1.4 converts to and from 64 bits', () => {
    expect(ori(kernelOf(WIDE, '1.4'))).not.toContain('FTZ');
    expect(ori(kernelOf(WIDE, '2.0')).match(/FTZ/g)).toHaveLength(3);
  });

  it('are reported where the target is', () => {
    expect(
      targetFor(specs, 'sm_13')
        .warnings.flatMap((w) => w.notes)
        .join(),
    ).toContain('flush subnormal numbers');
    expect(targetFor(specs, 'sm_20').warnings.flatMap((w) => w.notes)).toEqual([]);
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
