import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { planOf, printProgram, readPtx } from '../src/core.ts';
import { fitLaunch, loadLaunch, loadShipped } from '../src/index.ts';
import { DiagnosticError } from '../src/ir/diagnostic.ts';
import { limitedCommand } from './support/limited-command.ts';

/* What an input costs is bounded by what it says, not by what it names. */
const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-bounded-'));
afterAll(() => rmSync(dir, { recursive: true }));
const specs = await loadShipped();
/** A copy, so that nothing is written beside the kernels that other tests read. */
const saxpy = join(dir, 'saxpy');
cpSync(join(root, 'test', 'kernels', 'saxpy'), saxpy, { recursive: true });

/** A command in no more than a gigabyte, ended after 20 seconds. */
function orrery(...args: string[]) {
  const r = limitedCommand(args, dir, 20_000);
  return { code: r.status, signal: r.signal, out: r.stdout, err: r.stderr };
}

const kernel = (declarations: string, body: string): string => `.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{ .reg .b64 %rd<3>; ${declarations}
  ld.param.u64 %rd1, [p]; ${body} ret; }
`;

describe('registers cost when they are used', () => {
  const plan = planOf(specs, { sm: 'sm_90', level: 3 });
  it('however many a declaration counts', () => {
    const began = performance.now();
    const text = kernel(
      '.reg .b32 %q<10000000>; .reg .v2 .f32 %v<1000000>;',
      'mov.u32 %q9999999, 7; st.global.u32 [%rd1], %q9999999; mov.f32 %v999999.y, 0f3f800000; st.global.f32 [%rd1+4], %v999999.y;',
    );
    const { program } = readPtx(text, plan);
    expect(program.functions[0].regCount ?? 0).toBeLessThan(100);
    expect(printProgram(program)).toContain('STG');
    expect(performance.now() - began).toBeLessThan(2_000);
  });
  it('nor what is initialised: it is kept whole', () => {
    const text = `.version 9.0\n.target sm_90\n.address_size 64\n.global .u32 x[1099511627775] = {1};\n`;
    expect(() => readPtx(text, plan)).toThrow("'x' has 4398046511100 bytes: at most 268435456 have room");
  });
  it('and beyond the count there are none', () => {
    expect(() => readPtx(kernel('.reg .b32 %q<10000000>;', 'mov.u32 %q10000000, 7;'), plan)).toThrow(
      "'%q10000000' is not declared",
    );
  });
  it('a name of ten million letters is a name', () => {
    const name = 'x'.repeat(10_000_000);
    const { program } = readPtx(
      kernel(`.reg .b32 ${name};`, `mov.u32 ${name}, 7; st.global.u32 [%rd1], ${name};`),
      plan,
    );
    expect(program.functions.length).toBe(1);
  });
});

describe.skipIf(process.platform === 'win32')('only regular files are read', () => {
  it.each([
    ['opt', '/dev/zero', '--emit', 'none'],
    ['opt', join(saxpy, 'saxpy.sm_90.ptx'), '--rules', '/dev/zero', '--emit', 'none'],
    ['opt', join(saxpy, 'saxpy.sm_90.ptx'), '--order', '/dev/zero', '--emit', 'none'],
    ['run', join(saxpy, 'launch.yaml'), '--module', '/dev/zero'],
    ['check', '/dev/zero'],
    ['measure', '/dev/zero'],
  ])('%s %s %s %s', (...args) => {
    const r = orrery(...args.filter((a) => a !== undefined));
    expect([r.code, r.signal, r.err]).toEqual([1, null, expect.stringContaining('it is no regular file')]);
  });
  it('and no pipe, which nobody may ever write to', () => {
    const fifo = join(dir, 'fifo.yaml');
    spawnSync('mkfifo', [fifo]);
    if (!existsSync(fifo)) return;
    for (const args of [
      ['check', fifo],
      ['opt', join(saxpy, 'saxpy.sm_90.ptx'), '--rules', fifo, '--emit', 'none'],
    ])
      expect(orrery(...args)).toMatchObject({
        code: 1,
        err: expect.stringContaining('it is no regular file'),
      });
  });
});

/** The shipped launch with some lines changed, beside the data. */
async function launch(change: (text: string) => string) {
  const file = join(saxpy, `.bounded-${process.pid}.yaml`);
  writeFileSync(file, change(readFileSync(join(saxpy, 'launch.yaml'), 'utf8')));
  try {
    return await loadLaunch(file, true);
  } finally {
    rmSync(file);
  }
}
const faults = async (change: (text: string) => string): Promise<string[]> => {
  try {
    await launch(change);
    return [];
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    return e.diagnostics.map((d) => d.message);
  }
};

describe('launches', () => {
  it('take absolute paths', async () => {
    const absolute = (text: string): string =>
      text.replace(
        /(data|expect|module): ([\w.-]+)/g,
        (_, k: string, f: string) => `${k}: ${join(saxpy, f)}`,
      );
    expect(await faults(absolute)).toEqual([]);
    expect((await launch(absolute)).modulePath).toBe(join(saxpy, 'saxpy.sm_80.ptx'));
  });
  it('read data of the size that they say, from regular files', async () => {
    expect(await faults((t) => t.replace('data: x.bin', 'data: saxpy.cu'))).toEqual([
      expect.stringMatching(/^cannot read 'saxpy.cu': it has \d+ bytes, expected 2048$/),
    ]);
    expect(await faults((t) => t.replace('data: x.bin', 'data: /dev/zero'))).toEqual([
      "cannot read '/dev/zero': it is no regular file",
    ]);
    expect(await faults((t) => t.replace('data: x.bin', 'data: none.bin'))).toEqual([
      "cannot read 'none.bin': there is no such file",
    ]);
  });
  it('have no more memory than is there', async () => {
    expect(await faults((t) => `${t}dynamic-shared: 1000000000000\n`)).toEqual([
      '1000000000000 bytes of shared memory: no target has more than 232448 for a block',
    ]);
    expect(await faults((t) => t.replaceAll('length: 512', 'length: 60000000'))).toContain(
      'with it, buffers have 480000000 bytes: more than 268435456 in all',
    );
    const given = await launch((t) => `${t}dynamic-shared: 200000\n`);
    const { program } = readPtx(readFileSync(given.modulePath, 'utf8'), planOf(specs, { sm: 'sm_80' }));
    await expect(fitLaunch(given, program, 166_912)).rejects.toThrow(
      '200000 bytes of shared memory: a block of sm_80 has at most 166912',
    );
  });
});

describe('what is written', () => {
  it('goes into a folder that is there', () => {
    const r = orrery('opt', join(saxpy, 'saxpy.sm_90.ptx'), '--emit', 'ptx', '-o', 'nowhere/x.ptx', '-q');
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/there is no folder 'nowhere'\n.*mkdir -p nowhere/),
    ]);
    expect(existsSync(join(dir, 'nowhere'))).toBe(false);
  });
});
