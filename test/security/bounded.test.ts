import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { checkOne } from '../../src/cli/check/check.ts';
import { compare, planOf, printProgram, readPtx, simulate } from '../../src/core.ts';
import { fitLaunch, loadLaunch, loadShipped } from '../../src/index.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { parseProgram } from '../../src/ir/parse.ts';
import type { Program } from '../../src/ir/program.ts';
import type { Launch, LaunchOptions } from '../../src/sim/launch.ts';
import { limitedCommand } from '../support/limited-command.ts';
import { runs } from '../support/size.ts';

// The cost of an input is bounded by its size, not by the numbers in it.
const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-bounded-'));
afterAll(() => rmSync(dir, { recursive: true }));
const specs = await loadShipped();
/** A copy, so that nothing is written beside the kernels that other tests read. */
const saxpy = join(dir, 'saxpy');
cpSync(join(root, 'test', 'kernels', 'saxpy'), saxpy, { recursive: true });

/** A command limited to one gigabyte and 20 seconds. */
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
      '.reg .b32 %q<10000000>; .reg .v2 .f32 %v<1000000>; .shared .b32 x1;',
      [
        'mov.u32 %q8, x1; mov.u32 %q9999999, 7; st.global.u32 [%rd1], %q9999999;',
        'mov.f32 %v999999.y, 0f3f800000; st.global.f32 [%rd1+4], %v999999.y;',
      ].join(' '),
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
  it.each(['BB16777216:\nEXIT', 'BB0:\nMOV R16777216, RZ\nEXIT', 'BB0:\n@P33554432 EXIT\nEXIT'])(
    'in Ori there are no numbers without end: %j',
    (body) => {
      const text = `.program "x" version 8.0 target sm_90 address 64\n.entry k\n{\n${body}\n}\n`;
      const { diagnostics } = parseProgram(text, plan.isa);
      expect(diagnostics.map((d) => [d.line, d.message])).toEqual([
        [text.split('\n').length - 1, "'k' has numbers of registers or blocks from 16777216 on"],
      ]);
    },
  );
  it('also where only the initialiser says how many', () => {
    const text = `.version 9.0\n.target sm_90\n.address_size 64\n.global .b8 x[][4000000000] = {{1},{2}};\n`;
    expect(() => readPtx(text, plan)).toThrow("'x' has 8000000000 bytes: at most 268435456 have room");
  });
  // It takes seconds and a gigabyte: for nightly runs.
  it.skipIf(runs(1) < 20)('and initialisers have most elements', () => {
    const text = `.version 9.0\n.target sm_90\n.address_size 64\n.global .b8 x[] = {${'1,'.repeat(2 ** 24)}1};\n`;
    expect(() => readPtx(text, plan)).toThrow('the initialisers have more than 16777216 elements');
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
    expect([r.code, r.signal, r.err]).toEqual([1, null, expect.stringContaining('it is not a regular file')]);
  });
  it('and no pipe, which may never get a writer', () => {
    const fifo = join(dir, 'fifo.yaml');
    spawnSync('mkfifo', [fifo]);
    if (!existsSync(fifo)) return;
    for (const args of [
      ['check', fifo],
      ['opt', join(saxpy, 'saxpy.sm_90.ptx'), '--rules', fifo, '--emit', 'none'],
    ])
      expect(orrery(...args)).toMatchObject({
        code: 1,
        err: expect.stringContaining('it is not a regular file'),
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
      expect.stringMatching(
        /^cannot read '\/dev\/zero': it is neither in the folder of the file that names it nor/,
      ),
    ]);
    expect(await faults((t) => t.replace('data: x.bin', 'data: none.bin'))).toEqual([
      "cannot read 'none.bin': there is no such file",
    ]);
  });
  it('say how much stack a thread has', async () => {
    expect((await launch((t) => `${t}stack: 4096\n`)).stack).toBe(4096);
    expect((await faults((t) => `${t}stack: 600000\n`)).join()).toContain('524288');
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

  it('are checked as they are run, each fault at its line', async () => {
    const check = async (change: (text: string) => string) => {
      const folder = join(dir, 'checked');
      if (!existsSync(folder)) cpSync(saxpy, folder, { recursive: true });
      const file = join(folder, 'launch.yaml');
      writeFileSync(file, change(readFileSync(join(saxpy, 'launch.yaml'), 'utf8')));
      return (await checkOne(file)).map((d) => `${d.line} ${d.message}`);
    };
    expect(await check((t) => t)).toEqual([]);
    expect(await check((t) => t.replace('kernel: saxpy', 'kernel: nope'))).toEqual([
      expect.stringMatching(/^4 there is no kernel 'nope' in /),
    ]);
    expect(await check((t) => t.replace(/dynamic-shared.*\n|$/, 'dynamic-shared: 170000\n'))).toEqual([
      expect.stringMatching(/^\d+ 170000 bytes of shared memory: a block of sm_80 has at most 166912$/),
    ]);
    if (process.platform === 'win32') return;
    expect(await check((t) => t.replace(/module: .*/, 'module: /dev/zero'))).toEqual([
      expect.stringMatching(
        /^3 the module '\/dev\/zero' is not read: it is neither in the folder of the file/,
      ),
    ]);
  });

  const plan = planOf(specs, { sm: 'sm_90', level: 3 });
  const lowered = (declarations: string, body: string, before = '') =>
    readPtx(kernel(declarations, body).replace('.visible', `${before}\n.visible`), plan, 'k.ptx').program;
  const ran = (
    program: Program,
    more: Partial<Pick<Launch, 'grid' | 'block'>> = {},
    options: LaunchOptions = {},
  ) =>
    simulate(
      program,
      plan,
      {
        name: 't',
        kernel: 'k',
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamicShared: 0,
        params: [
          { kind: 'buffer', type: 'u32', length: 1, bytes: new Uint8Array(4), expect: null, tolerance: 0 },
        ],
        ...more,
      },
      options,
    );

  it.each([
    ['100000000000', 100000000000],
    ['4294967296][4294967296', 2 ** 64],
  ])('load no more variables than there is room for: [%s]', async (length, bytes) => {
    const program = lowered(
      '.reg .b32 %r;',
      'ld.global.b32 %r, [x+4096]; st.global.b32 [x+8], %r;',
      `.global .align 4 .b8 x[${length}]; .global .b32 y;`,
    );
    const all = bytes + (bytes < 2 ** 53 ? 4 : 0);
    const why = `the variables of k.ptx have ${all} bytes, ${bytes} of them 'x': a launch loads at most 268435456`;
    const given = await launch((t) => t.replace('kernel: saxpy', 'kernel: k'));
    const said = await fitLaunch(given, program).catch((e: DiagnosticError) =>
      e.diagnostics.map((d) => [d.line, d.message]),
    );
    expect(said).toContainEqual([expect.any(Number), why]);
    expect(ran(program)).toMatchObject({ status: 'fault', error: why });
    // An open world has room for what is used.
    expect(compare(program, program, 'k', plan)).toMatchObject({
      same: true,
      partial: false,
    });
  });
  it('do not begin a grid that no budget is enough for', () => {
    const r = ran(lowered('', ''), { grid: [2147483647, 65535, 65535], block: [64, 1, 1] });
    expect([r.status, r.error, r.warpInstructions]).toEqual([
      'budget',
      expect.stringMatching(/^the grid has \d+ warps, and each runs .*: more than the budget of 200000000$/),
      0,
    ]);
  });
  it('give threads as much memory as is there', () => {
    const held = { status: 'fault', error: expect.stringMatching(/hold more than 1073741824 bytes/) };
    const local = lowered(
      '.local .align 4 .b8 x[4000000000]; .reg .b32 %r;',
      'mov.u32 %r, %tid.x; st.local.u32 [x], %r; ld.local.u32 %r, [x]; st.global.u32 [%rd1], %r;',
    );
    expect(ran(local, { block: [1024, 1, 1] })).toMatchObject(held);
    const recursive = lowered(
      '.reg .b32 %r;',
      'call (%r), f, (100000000); st.global.u32 [%rd1], %r;',
      // Parameters are so large that a few calls hold the most, in memory that the system gives without clearing it.
      `.func g(.param .align 4 .b8 a[4000000]) { ret; }
.func (.reg .b32 o) f(.reg .b32 n) { .reg .b32 %r; .param .align 4 .b8 a[4000000]; call g, (a);
  sub.u32 %r, n, 1; call (o), f, (%r); add.u32 o, o, %r; ret; }`,
    );
    expect(ran(recursive, {}, { stack: 1e15 })).toMatchObject(held);
    const allocates = lowered(
      '.reg .b64 %a; .reg .pred %q;',
      'L: { .param .b64 n; .param .b64 q; st.param.b64 [n], 8000000; call (q), malloc, (n); ld.param.b64 %a, [q]; } bra L;',
      '.extern .func (.param .b64 q) malloc(.param .b64 n);',
    );
    expect(ran(allocates)).toMatchObject(held);
  });
  it('take back what threads give back', () => {
    const frees = lowered(
      '.reg .b64 %a; .reg .b32 %i; .reg .pred %q;',
      `mov.u32 %i, 0;
L: { .param .b64 n; .param .b64 q; st.param.b64 [n], 4000000; call (q), malloc, (n); ld.param.b64 %a, [q]; }
{ .param .b64 n; st.param.b64 [n], %a; call free, (n); }
add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 10; @%q bra L;`,
      '.extern .func (.param .b64 q) malloc(.param .b64 n);\n.extern .func free(.param .b64 n);',
    );
    expect(ran(frees)).toMatchObject({ status: 'ok' });
    // What was given back is there no more.
    const late = lowered(
      '.reg .b64 %a; .reg .b32 %i;',
      `{ .param .b64 n; .param .b64 q; st.param.b64 [n], 16; call (q), malloc, (n); ld.param.b64 %a, [q]; }
{ .param .b64 n; st.param.b64 [n], %a; call free, (n); }
ld.u32 %i, [%a];`,
      '.extern .func (.param .b64 q) malloc(.param .b64 n);\n.extern .func free(.param .b64 n);',
    );
    expect(ran(late)).toMatchObject({ status: 'fault', error: expect.stringContaining('freed malloc') });
  });
  it('of blocks that need much run fewer at a time', () => {
    // 16 of these blocks would hold 1.6 GB. Two threads with much cost less than many with little: what nobody touches is never cleared.
    const wide = lowered(
      '.local .align 4 .b8 x[50000000]; .reg .b32 %r;',
      'mov.u32 %r, %tid.x; st.local.u32 [x], %r; ld.local.u32 %r, [x]; st.global.u32 [%rd1], %r;',
    );
    expect(ran(wide, { grid: [20, 1, 1], block: [2, 1, 1] })).toMatchObject({ status: 'ok' });
  });
  it('have a stack that a thread can have', () => {
    for (const stack of ['1e15', '524289', '0'])
      expect(orrery('run', join(saxpy, 'launch.yaml'), '--stack', stack)).toMatchObject({
        code: 1,
        err: expect.stringContaining(`--stack ${stack} is not a stack of a thread`),
      });
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
