import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeLaunch } from '../../src/cli/machine/verify-text.ts';
import { ptxasVersion, runPtxas } from '../../src/cli/optimize/ptxas-run.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { command } from '../support/commands.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-verify-'));
afterAll(() => rmSync(dir, { recursive: true }));
const orreryIn = (cwd: string, ...args: string[]) =>
  command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: '1' },
  });
const verify = (...args: string[]) => orreryIn(ROOT, 'verify', ...args);
const code = (name: string): string => `test/machine-code/${name}`;
const like = <T extends { text: RegExp }>(row: T) => ({
  ...row,
  text: expect.stringMatching(row.text) as string,
});
const version = ptxasVersion();
const hasPtxas = version?.startsWith('13.0.88') === true;

describe.concurrent('orrery verify', () => {
  test('prints what its help shows', async () => {
    const help = (await verify('--help')).out;
    const example = help.slice(help.indexOf('Example:'));
    const [, folder, args] = /\$ cd (.*)\n +\$ orrery verify (.*)/.exec(example)!;
    // Its lines are broken where a terminal ends.
    const oneLine = (text: string): string => text.replace(/\s+/g, ' ');
    const shown = oneLine(/^ {4}seed[\s\S]*?(?=^With)/m.exec(example)![0]);
    expect(shown).toMatch(/^ seed .* PTX: .* machine code: .* STG\.E/);
    const { code: status, out } = await orreryIn(join(ROOT, folder), 'verify', ...args.split(' '));
    expect(status).toBe(1);
    expect(oneLine(out)).toContain(shown.trim());
    expect(out).toMatch(/DIFFERENT {2}maxOfAbsolute/);
  });

  test('equal code ends well', async () => {
    const { code: status, out } = await verify(
      code('max-of-absolute.ptx'),
      code('max-of-absolute.sm_90.O0.cubin'),
    );
    expect(status).toBe(0);
    expect(out).toMatch(/equal {2}maxOfAbsolute \([\d,]+ warp instructions\)/);
  });

  test('a launch that is not written is said to be missing, and why', async () => {
    const { code: status, out } = await verify(
      code('max-of-absolute.ptx'),
      code('max-of-absolute.sm_90.O0.cubin'),
      '--launch',
      join(dir, 'none.yaml'),
    );
    expect(status).toBe(0);
    expect(out).toContain(`no launch is written to ${join(dir, 'none.yaml')}: no difference was found`);
    expect(existsSync(join(dir, 'none.yaml'))).toBe(false);
  });

  test.each([
    ['nothing', 'exit 0', /made no cubin/],
    [
      'something else',
      'for a; do last="$a"; done; echo hello > "$last"',
      /cannot be taken apart: it is not an ELF file/,
    ],
    ['a death', 'kill -9 $$', /was ended by SIGKILL/],
  ])('an assembler that makes %s is one error', async (_, script, said) => {
    const fake = join(mkdtempSync(join(dir, 'with-')), 'assembler');
    writeFileSync(fake, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const r = await verify(code('max-of-absolute.ptx'), '--with', fake);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(said);
    expect(r.err).not.toMatch(/\n {4}at /);
  });

  test.skipIf(!hasPtxas)('parameters are found where ptxas aligns them', async () => {
    const ptx = join(dir, 'aligned.ptx');
    writeFileSync(
      ptx,
      `.version 8.0
.target sm_80
.address_size 64
.visible .entry aligned(.param .u64 a, .param .align 64 .b8 b[64], .param .u64 c)
{
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1, [c]; ld.param.u32 %r1, [b+12]; mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2;
  add.s32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1;
  ret;
}
`,
    );
    const r = await verify(ptx, '--ptxas');
    expect([r.code, r.out]).toEqual([0, expect.stringMatching(/equal {2}aligned/)]);
  });

  test('a byte that differs is told by its two sides', async () => {
    const r = await verify(code('max-of-absolute.ptx'), code('max-of-absolute.sm_90.O3.cubin'));
    expect(r.out).toMatch(/byte 0x\w+ is \d+ by the PTX and \d+ by the machine code/);
  });

  test.skipIf(!hasPtxas)('machine code that does not end is different, approximations or not', async () => {
    const kernel = (more: string) => `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .f32 %f<3>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;
  ld.global.f32 %f1, [%rd1]; sin.approx.f32 %f2, %f1; st.global.f32 [%rd1+4096], %f2;
  ${more}
  ret;
}
`;
    const ends = join(dir, 'ends.ptx');
    writeFileSync(ends, kernel(''));
    const cubin = join(dir, 'endless.cubin');
    const endless =
      'setp.gt.f32 %p1, %f1, 0f40A00000; @!%p1 bra E; L: st.volatile.global.f32 [%rd1+4096], %f2; bra L; E:';
    const made = runPtxas(kernel(endless), ['-arch=sm_90']);
    writeFileSync(cubin, made.cubin!);
    const r = await verify(ends, cubin);
    expect([r.code, r.out]).toEqual([
      1,
      expect.stringMatching(/DIFFERENT {2}k\n.*ends in .* before, but not/),
    ]);
  });

  /** Compares a kernel's PTX with machine code of another: statements over `%rd1`, the address of the thread's word, and `%r3`, its value. */
  const bodies = async (before: string, after: string) => {
    const at = mkdtempSync(join(dir, 'bodies-'));
    const kernel = (body: string): string => `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [p]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  ${body}
  ret;
}
`;
    writeFileSync(join(at, 'before.ptx'), kernel(before));
    writeFileSync(join(at, 'after.ptx'), kernel(after));
    const made = await orreryIn(at, 'asm', 'after.ptx', '-o', 'after.cubin');
    expect([made.code, made.err]).toEqual([0, expect.stringContaining('written')]);
    return orreryIn(at, 'verify', 'before.ptx', 'after.cubin');
  };

  test('a jump beyond its table is undefined, one to an entry is not', async () => {
    const jump = (c: number): string => `
$ts: .branchtargets $a, $b, $c;
  brx.idx %r3, $ts;
$a: add.s32 %r3, %r3, 5; bra $e;
$b: mul.lo.s32 %r3, %r3, 7; bra $e;
$c: xor.b32 %r3, %r3, ${c};
$e: st.global.u32 [%rd1], %r3;`;
    const same = await bodies(jump(9), jump(9));
    expect([same.code, same.out]).toEqual([0, expect.stringMatching(/equal {2}k/)]);
    const other = await bodies(jump(9), jump(8));
    expect([other.code, other.out]).toEqual([1, expect.stringMatching(/DIFFERENT {2}k[\s\S]*byte 0x/)]);
  });

  /** An assembler that writes a cubin that is there, whatever it is given. */
  const writerOf = (cubin: string): string => {
    const fake = join(mkdtempSync(join(dir, 'fake-')), 'ptxas');
    const copies = `for a; do [ "$last" = -o ] && cp ${join(ROOT, code(cubin))} "$a"; last="$a"; done`;
    const version = `[ "$1" = --version ] && { echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit 0; }`;
    writeFileSync(fake, `#!/bin/sh\n${version}\n${copies}\n`, { mode: 0o755 });
    return fake;
  };
  /** The same, which writes made.cubin. */
  const optionWriter = (cubin: string): string => {
    const fake = join(mkdtempSync(join(dir, 'fake-')), 'ptxas');
    writeFileSync(fake, `#!/bin/sh\nfor last; do :; done\ncp ${join(ROOT, code(cubin))} "$last"\n`, {
      mode: 0o755,
    });
    return fake;
  };
  const wrongCode = 'max-of-absolute.sm_90.O3.cubin';
  const rightCode = 'max-of-absolute.sm_90.O0.cubin';
  const withFake = (cubin: string, ...args: string[]) =>
    command(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
      cwd: ROOT,
      env: { ...process.env, NO_COLOR: '1', ORRERY_PTXAS: writerOf(cubin) },
    });

  test('opt --check machine compares the input with what ptxas makes of the output', async () => {
    const opt = (cubin: string) =>
      withFake(cubin, 'opt', code('max-of-absolute.ptx'), '--check', 'machine', '--json', '--emit', 'none');
    const checks = (out: string) =>
      (JSON.parse(out) as { checks: { check: string; ok: boolean; text: string }[] }).checks;
    const right = await opt(rightCode);
    expect(right.code).toBe(0);
    expect(checks(right.out)).toMatchObject(
      [{ check: 'machine', ok: true, text: /1 of 1 kernels$/ }].map(like),
    );
    const other = await opt('narrow-shift.sm_80.O0.cubin');
    expect(other.code).toBe(1);
    expect(checks(other.out)).toMatchObject(
      [
        {
          check: 'machine',
          ok: false,
          text: /no kernel could be compared[\s\S]*the machine code does not have it/,
        },
      ].map(like),
    );
    const wrong = await opt(wrongCode);
    expect(wrong.code).toBe(1);
    expect(checks(wrong.out)).toMatchObject(
      [
        { check: 'machine', ok: false, text: /ptxas makes other code than the PTX that it is given says/ },
      ].map(like),
    );
  });

  test('the drop-in removes machine code that does something else, and says so', async () => {
    const made = join(dir, 'made.cubin');
    const ptxas = (cubin: string, ...more: string[]) =>
      withFake(
        cubin,
        'ptxas',
        '--orrery-verify',
        ...more,
        '-arch=sm_90',
        code('max-of-absolute.ptx'),
        '-o',
        made,
      );
    expect(await ptxas(rightCode)).toMatchObject({ code: 0, err: '' });
    expect(existsSync(made)).toBe(true);
    const refused: readonly [string[], string][] = [
      [[], 'made.cubin is removed'],
      [['--orrery-strict'], 'made.cubin is not written'],
    ];
    for (const [more, says] of refused) {
      const wrong = await ptxas(wrongCode, ...more);
      expect(wrong.code).toBe(1);
      expect(wrong.err).toContain("the machine code of 'maxOfAbsolute' does something else");
      expect(wrong.err).toContain(says);
      expect(existsSync(made)).toBe(false);
    }
  });

  test('the drop-in judges what it has written, and nothing else', async () => {
    const folder = mkdtempSync(join(dir, 'drop-in-'));
    const at = (name: string) => join(folder, name);
    // What stands there under the usual name is of another kernel, and stays.
    copyFileSync(join(ROOT, code(wrongCode)), at('elf.o'));
    const orrery = (cubin: string, ptxas = optionWriter(cubin)) =>
      command(
        process.execPath,
        [
          join(ROOT, 'bin', 'orrery.js'),
          'ptxas',
          '--orrery-verify',
          '-optf',
          'options',
          join(ROOT, code('max-of-absolute.ptx')),
        ],
        {
          cwd: folder,
          env: { ...process.env, NO_COLOR: '1', ORRERY_PTXAS: ptxas },
        },
      );
    writeFileSync(at('options'), '-arch=sm_90 -o made.cubin\n');
    expect((await orrery(rightCode)).code).toBe(0);
    expect([existsSync(at('made.cubin')), existsSync(at('elf.o'))]).toEqual([true, true]);
    const wrong = await orrery(wrongCode);
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('made.cubin is removed')]);
    expect([existsSync(at('made.cubin')), existsSync(at('elf.o'))]).toEqual([false, true]);
    // What was not written by this run is not judged.
    writeFileSync(at('options'), '-arch=sm_90 -o elsewhere.cubin\n');
    const none = await orrery(wrongCode, 'true');
    expect([none.code, none.err]).toEqual([
      0,
      expect.stringContaining('ptxas has not written elsewhere.cubin, so nothing is compared'),
    ]);
    // What is no regular file, or too large for one, is for ptxas alone.
    rmSync(at('options'));
    mkdirSync(at('options'));
    writeFileSync(at('large.ptx'), '');
    truncateSync(at('large.ptx'), 600_000_000);
    const odd = await command(
      process.execPath,
      [join(ROOT, 'bin', 'orrery.js'), 'ptxas', '--orrery-verify', '-optf', 'options', 'large.ptx'],
      { cwd: folder, env: { ...process.env, NO_COLOR: '1', ORRERY_PTXAS: 'true', ORRERY_SERVER: 'off' } },
    );
    expect([odd.code, odd.err]).toEqual([0, expect.stringContaining('ptxas has not written elf.o')]);
  });

  test('code that is no sequence of words is not compared', async () => {
    const bytes = readFileSync(join(ROOT, code('max-of-absolute.sm_90.O0.cubin')));
    const text = readCubin(bytes).sections.findIndex((s) => s.name.startsWith('.text.'));
    const headers = Number(bytes.readBigUInt64LE(40));
    bytes.writeBigUInt64LE(2n, headers + 64 * text + 32);
    const cubin = join(dir, 'cut.cubin');
    writeFileSync(cubin, bytes);
    const r = await verify(code('max-of-absolute.ptx'), cubin);
    expect([r.code, r.err, r.out]).toEqual([1, '', expect.stringContaining('not compared  maxOfAbsolute: ')]);
  });

  test('a launch that is written holds every number, and expects what stays as it is', async () => {
    const scalar = (type: string, value: number | bigint) => ({ kind: 'scalar', type, value }) as const;
    const params = [
      scalar('u64', 0xfedc_ba98_7654_3211n),
      scalar('s64', -9_007_199_254_740_993n),
      scalar('u32', 7),
      scalar('f32', Number.NaN),
      scalar('f64', Number.NEGATIVE_INFINITY),
      scalar('f64', -0),
      {
        kind: 'buffer',
        type: 'u32',
        length: 2,
        bytes: new Uint8Array(8).fill(3),
        expect: null,
        tolerance: 0,
      } as const,
    ];
    const launch = {
      name: 'k',
      kernel: 'k',
      grid: [1, 1, 1],
      block: [1, 1, 1],
      dynamicShared: 0,
      params,
    } as const;
    const expect6 = [...Array<null>(6).fill(null), new Uint8Array(8).fill(3)];
    const ptx = join(dir, 'k.ptx');
    writeFileSync(ptx, '');
    const file = writeLaunch(join(dir, 'numbers.yaml'), ptx, [
      {
        code: 'x',
        level: null,
        kernel: 'k',
        verdict: 'different',
        notes: [],
        launch: { launch, expect: expect6 },
      },
    ]);
    const again = await loadLaunch(file!);
    expect(again.params.slice(0, 6)).toEqual(params.slice(0, 6));
    expect(again.params[6]).toMatchObject({ bytes: expect6[6], expect: expect6[6] });
  });

  test('the launch that it writes shows the difference', async () => {
    const ptx = 'shift-difference.ptx';
    const cubin = 'shift-difference.sm_80.O3.cubin';
    const folder = mkdtempSync(join(dir, 'launch-'));
    for (const f of [ptx, cubin]) copyFileSync(join(ROOT, code(f)), join(folder, f));
    const { code: status, out } = await orreryIn(folder, 'verify', ptx, cubin, '--launch', 'shows.yaml');
    expect(status).toBe(1);
    expect(out).toMatch(/written: shows\.yaml, a launch that shows it: orrery run shows\.yaml --cubin FILE/);
    const right = await orreryIn(folder, 'run', 'shows.yaml');
    expect(right.out).toMatch(/^ok {2}shows\.yaml/);
    const wrong = await orreryIn(folder, 'run', 'shows.yaml', '--cubin', cubin);
    expect(wrong.code).toBe(1);
    const [, at, got, expected] = /parameter 1\[(\d+)\]: got (\d+), expected (\d+)/.exec(wrong.out)!;
    // The value that the launch expects is (x << 7) - (x >> 57) of its input, by exact arithmetic.
    const x = readFileSync(join(folder, 'shows.0.bin')).readBigUInt64LE(8 * Math.floor(Number(at) / 2));
    const value = BigInt.asUintN(64, (x << 7n) - (x >> 57n));
    const word = (v: bigint): bigint => BigInt.asUintN(32, Number(at) % 2 === 0 ? v : v >> 32n);
    expect(BigInt(expected)).toBe(word(value));
    expect(BigInt(got)).toBe(word(BigInt.asUintN(64, (x << 7n) | (x >> 57n))));
    // Its data do not go through a link that was there before.
    const other = join(mkdtempSync(join(dir, 'other-')), 'notes');
    writeFileSync(other, 'mine');
    rmSync(join(folder, 'shows.0.bin'));
    symlinkSync(other, join(folder, 'shows.0.bin'));
    const refused = await orreryIn(folder, 'verify', ptx, cubin, '--launch', 'shows.yaml');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('it is a link to')]);
    expect(readFileSync(other, 'utf8')).toBe('mine');
  });

  test.each([
    [['test/kernels/saxpy/saxpy.sm_80.ptx'], /the machine code is missing[\s\S]*--ptxas/],
    [
      [code('max-of-absolute.ptx'), code('max-of-absolute.sm_90.O0.cubin'), '--ptxas'],
      /--ptxas is for code that ptxas makes now/,
    ],
    [[code('max-of-absolute.ptx'), 'test/cubins/scale.lz4.fatbin'], /holds no machine code/],
    [[code('max-of-absolute.ptx'), code('max-of-absolute.ptx')], /cannot take .* apart/],
    [[code('max-of-absolute.ptx'), code('nothing.cubin')], /cannot read .*nothing\.cubin/],
    [
      [code('max-of-absolute.ptx'), code('max-of-absolute.sm_90.O0.cubin'), '--kernel', 'k'],
      /has no kernel 'k'[\s\S]*maxOfAbsolute/,
    ],
    [
      ['test/kernels/saxpy/saxpy.sm_90.ptx', code('max-of-absolute.sm_90.O0.cubin')],
      /not compared {2}saxpy: the machine code does not have it/,
    ],
    [[code('max-of-absolute.ptx'), '--ptxas', '-O', '7'], /-O 7 is not a level of ptxas/],
    [[code('max-of-absolute.ptx'), '--with', '/no/ptxas'], /'\/no\/ptxas' cannot be run/],
  ])('%j', async (args, said) => {
    const r = await verify(...args);
    expect(r.code).toBe(1);
    expect(r.said).toMatch(said);
    expect(r.said).not.toMatch(/at .*\.js:\d+/);
  });

  test.skipIf(!hasPtxas)('calls ptxas at each level', async () => {
    const { code: status, out } = await verify(code('max-of-absolute.ptx'), '--levels');
    expect(status).toBe(1);
    const verdicts = [...out.matchAll(/ptxas -O(\d) .*\n {2}(\w+)/g)].map((m) => [m[1], m[2]]);
    expect(verdicts).toEqual([
      ['0', 'equal'],
      ['1', 'DIFFERENT'],
      ['2', 'DIFFERENT'],
      ['3', 'DIFFERENT'],
    ]);
    const other = await verify(code('max-of-absolute.ptx'), '--ptxas', '--sm', 'sm_120');
    expect(other.out).toMatch(/sm_120\n {2}equal/);
  });

  test.skipIf(!hasPtxas)('--reduce keeps the lines that ptxas gets wrong', async () => {
    const out = join(dir, 'small.ptx');
    const padded = join(dir, 'padded.ptx');
    // Between the lines of the fault stands what has nothing to do with it.
    const noise = 'mad.lo.s32 %r1, %r1, 3, 1;\n  xor.b32 %r1, %r1, 5;\n  ';
    const text = readFileSync(join(ROOT, code('max-of-absolute.ptx')), 'utf8');
    writeFileSync(
      padded,
      text.replace('neg.s32', `${noise}neg.s32`).replace('st.global', `${noise}st.global`),
    );
    const r = await verify(padded, '--ptxas', '--reduce', out);
    expect(r.code).toBe(1);
    expect(r.out).toMatch(/written: .*small\.ptx, the lines that ptxas still gets wrong/);
    const small = readFileSync(out, 'utf8');
    for (const kept of ['neg.s32', 'max.s32 %r5', 'max.s32 %r6', 'st.global']) expect(small).toContain(kept);
    for (const gone of ['mad.lo', 'xor', '//']) expect(small).not.toContain(gone);
    expect((await verify(out, '--ptxas')).out).toMatch(/DIFFERENT/);
  });

  test.skipIf(!hasPtxas)('--reduce does not trade the fault for a register that nothing writes', async () => {
    const bounded = join(dir, 'bounded.ptx');
    const out = join(dir, 'bounded-small.ptx');
    // As nvcc writes it: without the loads, the store of an unwritten register would differ, too.
    const text = readFileSync(join(ROOT, code('max-of-absolute.ptx')), 'utf8')
      .replace('.param .u64 out)', '.param .u64 out, .param .u32 n)')
      .replace('.reg .b32 %r<7>;', '.reg .b32 %r<8>;\n  .reg .pred %p1;')
      .replace(
        'mul.wide.u32 %rd3,',
        'ld.param.u32 %r7, [n];\n  setp.ge.s32 %p1, %r1, %r7;\n  @%p1 bra OUT;\n  mul.wide.u32 %rd3,',
      )
      .replace('  ret;', 'OUT:\n  ret;');
    writeFileSync(bounded, text);
    expect((await verify(bounded, '--ptxas', '--reduce', out)).code).toBe(1);
    const small = readFileSync(out, 'utf8');
    for (const kept of ['neg.s32', 'max.s32 %r5', 'max.s32 %r6', 'ld.global', 'st.global'])
      expect(small).toContain(kept);
    expect(small).not.toContain('setp');
  });
});
