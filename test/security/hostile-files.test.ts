import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve } from '../../src/cli/explore/explore-server.ts';
import { launchesOf } from '../../src/cli/explore/gallery.ts';
import { textOrFault } from '../../src/cli/input/files.ts';
import { roomFault } from '../../src/cli/input/room.ts';
import { table } from '../../src/cli/terminal/table.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import { ROOT } from '../../src/spec/node.ts';
import { realPath } from '../../src/spec/node-paths.ts';
import { formMatcher } from '../../src/spec/ptxas-faults.ts';
import { testFolder } from '../support/specs.ts';

/* Foreign files in folders that a command reads and writes: complete commands, each in a folder of its own. */

const folder = testFolder();
const KERNEL = `.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 to, .param .u32 n)
{
  .reg .b32 %r<4>; .reg .b64 %to;
  ld.param.u64 %to, [to]; ld.param.u32 %r1, [n];
  ld.global.u32 %r2, [%to];
  add.s32 %r3, %r1, %r2;
  st.global.u32 [%to], %r3;
  ret;
}
`;

let folders = 0;
/** A new folder with a kernel and other files. */
function having(files: Readonly<Record<string, string>> = {}): string {
  const path = join(folder.path, `${folders++}`);
  mkdirSync(path);
  for (const [name, text] of Object.entries({ 'k.ptx': KERNEL, ...files }))
    writeFileSync(join(path, name), text);
  return path;
}

/** Runs a command in a folder. */
const orrery = (cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, ORRERY_SERVER: 'off', ...env },
  });

/** A group of one rule of `IADD3 $d, $a, $b, 0`. */
const ruleTo = (rewrite: string): string => `kind: rules
group: mine
rules:
  - id: plus
    title: a sum
    match: IADD3 $d, $a, $b, 0
    rewrite: ${rewrite}
    source: a mistake
`;

/** Something outside of a folder that a link in it leads to. */
function linked(cwd: string, name: string): string {
  const victim = join(folder.path, `victim of ${folders}`);
  writeFileSync(victim, 'mine');
  symlinkSync(victim, join(cwd, name));
  return victim;
}

describe('outputs', () => {
  it('results of a sweep take the place of none of its inputs', () => {
    const text = 'kind: experiment\nkernels: [k.ptx]\nfactors: { switches: [GeneralOptimizeMid] }\n';
    for (const [link, of] of [
      ['e.results.jsonl', 'k.ptx'],
      ['e.results.jsonl', 'e.yaml'],
      ['e.yaml', ''],
    ]) {
      const cwd = having({ 'e.yaml': text });
      if (of !== '') symlinkSync(of, join(cwd, link));
      const r = orrery(cwd, ['sweep', 'e.yaml', '--restart', '-o', link]);
      expect([r.status, r.stderr.split('\n')[0]]).toEqual([
        1,
        `error: cannot write ${link}: it is ${of === '' ? 'an input' : `the same file as the input ${of}`}`,
      ]);
      expect(readFileSync(join(cwd, 'k.ptx'), 'utf8')).toBe(KERNEL);
      expect(readFileSync(join(cwd, 'e.yaml'), 'utf8')).toBe(text);
    }
  });

  it('a counterexample is written whole, through no link to elsewhere, and over no input', () => {
    const rules = { 'wrong.yaml': ruleTo('IADD3 $d, $a, $b, 1') };
    const words =
      'opt k.ptx --rules wrong.yaml --force-rules --check prove --emit none --counterexample out/c.yaml';
    const prove = (cwd: string) => orrery(cwd, words.split(' '));
    const plain = having(rules);
    mkdirSync(join(plain, 'out'));
    expect(prove(plain).stderr).toContain('written: out/c.yaml');
    const written = readdirSync(join(plain, 'out'));
    expect(written).toEqual(['c.0.bin', 'c.0.out.bin', 'c.yaml']);
    for (const name of written) {
      const cwd = having(rules);
      mkdirSync(join(cwd, 'out'));
      const victim = linked(join(cwd, 'out'), name);
      expect(prove(cwd).stderr).toContain(`error: cannot write out/${name}: it is a link to ${victim}`);
      expect(readdirSync(join(cwd, 'out'))).toEqual([name]);
      expect(readFileSync(victim, 'utf8')).toBe('mine');

      const own = having(rules);
      mkdirSync(join(own, 'out'));
      symlinkSync('../k.ptx', join(own, 'out', name));
      expect(prove(own).stderr).toContain(
        `error: cannot write out/${name}: it is the same file as the input k.ptx`,
      );
      expect(readFileSync(join(own, 'k.ptx'), 'utf8')).toBe(KERNEL);
    }
    const twice = having(rules);
    mkdirSync(join(twice, 'out'));
    symlinkSync('c.yaml', join(twice, 'out', 'c.0.bin'));
    expect(prove(twice).stderr).toContain(
      'error: cannot write out/c.yaml: it is the same file as another that is written with it',
    );
    expect(existsSync(join(twice, 'out', 'c.yaml'))).toBe(false);
  }, 60_000);

  it('ptxas is not started where its output is a link to elsewhere, an input, or a pipe without a reader', ({
    skip,
  }) => {
    const cwd = having();
    const started = join(cwd, 'started');
    const ptxas = join(cwd, 'ptxas');
    writeFileSync(ptxas, `#!/bin/sh\n: > '${started}'\n`);
    chmodSync(ptxas, 0o755);
    const drop = (...args: string[]) =>
      orrery(cwd, ['ptxas', 'k.ptx', '-arch=sm_90', ...args], { ORRERY_PTXAS: ptxas }).stderr;
    const victim = linked(cwd, 'elf.o');
    writeFileSync(join(cwd, 'options'), '-o elf.o\n');
    for (const args of [[], ['-o', 'elf.o'], ['--output-file=elf.o'], ['-optf', 'options']])
      expect(drop(...args)).toContain(`error: cannot write elf.o: it is a link to ${victim}`);
    expect(drop('-o', 'k.ptx')).toContain('error: cannot write k.ptx: it is an input');
    if (spawnSync('mkfifo', [join(cwd, 'pipe')]).status !== 0) skip('no mkfifo');
    expect(drop('-o', 'pipe')).toContain('error: cannot write pipe: it is a pipe without a reader');
    expect(existsSync(started)).toBe(false);
    expect(drop('-o', 'k.cubin')).toBe('');
    expect(existsSync(started)).toBe(true);
  }, 60_000);
});

describe('links', () => {
  it('lead where the system says that they lead', () => {
    const outside = join(folder.path, 'apart');
    mkdirSync(join(outside, 'deep'), { recursive: true });
    writeFileSync(join(outside, 'other.ptx'), `// of somebody else\n${KERNEL}`);
    const cwd = having({
      'l.yaml': 'kind: launch\nmodule: link.ptx\nkernel: k\ngrid: [1]\nblock: [1]\nparams: []\n',
      // What the link would lead to if `..` undid the name before it.
      'other.ptx': KERNEL,
    });
    symlinkSync(join(outside, 'deep'), join(cwd, 'deep'));
    symlinkSync('deep/../other.ptx', join(cwd, 'link.ptx'));
    expect(readFileSync(join(cwd, 'link.ptx'), 'utf8')).toContain('of somebody else');
    const read = orrery(cwd, ['run', 'l.yaml']);
    expect([read.status, read.stdout + read.stderr]).toEqual([
      1,
      expect.stringContaining('neither in the folder of the file that names it nor in the project'),
    ]);
    for (const [to, written] of [
      ['deep/new.ptx', join(outside, 'deep', 'new.ptx')],
      ['deep/../new.ptx', join(outside, 'new.ptx')],
      ['./second.ptx', join(outside, 'second.ptx')],
      [join(outside, 'new.ptx'), join(outside, 'new.ptx')],
    ]) {
      rmSync(join(cwd, 'out.ptx'), { force: true });
      symlinkSync(to, join(cwd, 'out.ptx'));
      if (to === './second.ptx') symlinkSync(written, join(cwd, 'second.ptx'));
      const r = orrery(cwd, ['opt', 'k.ptx', '--emit', 'ptx', '-o', 'out.ptx']);
      expect([to, r.status, r.stderr]).toEqual([
        to,
        1,
        expect.stringContaining(`error: cannot write out.ptx: it is a link to ${written}`),
      ]);
      expect(existsSync(written)).toBe(false);
    }
  }, 60_000);

  it('that lead to nothing, or to one another, come to an end', () => {
    const cwd = having();
    const at = (name: string): string => join(realpathSync(cwd), name);
    symlinkSync('new.ptx', join(cwd, 'a'));
    symlinkSync('a', join(cwd, 'b'));
    expect([realPath(join(cwd, 'a')), realPath(join(cwd, 'b'))]).toEqual([at('new.ptx'), at('new.ptx')]);
    symlinkSync('d', join(cwd, 'c'));
    symlinkSync('c', join(cwd, 'd'));
    expect(realPath(join(cwd, 'c', 'x'))).toMatch(/[cd]\/x$/);
    // Each stands for two of the next, and the last for nothing.
    for (let k = 0; k < 200; k++) symlinkSync(`s${k + 1}/../s${k + 1}`, join(cwd, `s${k}`));
    expect(realPath(join(cwd, 's0'))).toContain(realpathSync(cwd));
  });
});

describe('an experiment names nothing elsewhere', () => {
  it.each([
    ['kernels', '*/../../apart from it/*.ptx'],
    ['kernels', '*'],
    ['kernels', 'link.ptx#1'],
    ['kernels', '?/../link.ptx'],
    ['recipe', 'link\\recipe'],
  ])('%s %s', (what, name) => {
    const apart = join(folder.path, 'apart from it');
    mkdirSync(apart, { recursive: true });
    writeFileSync(join(apart, 'k.ptx'), KERNEL);
    writeFileSync(join(apart, 'r.yaml'), 'kind: recipe\ntitle: of somebody else\n');
    const spec = {
      kind: 'experiment',
      kernels: ['k.ptx'],
      factors: { switches: ['GeneralOptimizeMid'] },
      ...(what === 'recipe' ? { base: { recipe: name } } : { kernels: [name] }),
    };
    const cwd = having({ 'e.yaml': JSON.stringify(spec) });
    for (const [to, link] of [
      [apart, '*'],
      [join(apart, 'k.ptx'), 'link.ptx'],
      [join(apart, 'r.yaml'), 'link\\recipe'],
    ])
      symlinkSync(to, join(cwd, link));
    const r = orrery(cwd, ['sweep', 'e.yaml']);
    expect([r.status, r.stderr]).toEqual([1, expect.stringContaining('nor in the project')]);
  });
});

describe('what is looked for', () => {
  it('reduce reduces no program by a failure that is not one of it', () => {
    const cwd = having({ 'mine.yaml': ruleTo('IADD3 $d, $a, $x, 1') });
    const r = orrery(cwd, ['reduce', 'k.ptx', '--rules', 'mine.yaml', '-o', 'small.ptx']);
    expect([r.status, r.stderr]).toEqual([
      1,
      'error: the run fails, but in no phase: nothing to reduce\n' +
        "  error: rule 1 of group 'mine', rewrite: 'x' is not defined by the match\n",
    ]);
    expect(existsSync(join(cwd, 'small.ptx'))).toBe(false);
  });
});

describe('the explorer', () => {
  it('is given no more launches than it can show, however many stand beside a kernel', () => {
    const cwd = having();
    const launch = `kind: launch\nmodule: k.ptx\n# ${'x'.repeat(1e6)}\n`;
    for (let k = 0; k < 80; k++) writeFileSync(join(cwd, `${k}.yaml`), launch);
    const { launches } = launchesOf(join(cwd, 'k.ptx'));
    expect(launches.length).toBeGreaterThan(60);
    expect(launches.reduce((n, l) => n + l.text.length, 0)).toBeLessThan(2 ** 26);
  });

  it('looks for no more data files than launches can have', () => {
    const names = (n: number): string => Array.from({ length: n }, (_, k) => `data: ${k}.bin\n`).join('');
    const cwd = having({
      'launch.yaml': `kind: launch\nmodule: k.ptx\ndata: own.bin\n${names(60_000)}`,
      'own.bin': 'x',
    });
    const began = performance.now();
    expect(launchesOf(join(cwd, 'k.ptx')).data).toEqual({ 'own.bin': 'eA==' });
    // All of them took 20 seconds.
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  it.skipIf(process.platform === 'win32')(
    'goes on where others have taken all of its connections, or files cannot be opened',
    async () => {
      const cwd = having();
      const script = join(ROOT, 'bin', 'orrery.js');
      const child = spawn(
        'sh',
        ['-c', `ulimit -n 80; exec '${process.execPath}' '${script}' explore k.ptx`],
        {
          cwd,
          env: { ...process.env, ORRERY_SERVER: 'off' },
        },
      );
      const sockets: Socket[] = [];
      try {
        const address = await new Promise<string>((done) =>
          child.stdout.once('data', (b) => done(`${b}`.trim())),
        );
        const { port, pathname } = new URL(address);
        const opened = async (): Promise<Socket> => {
          const socket = connect(Number(port), '127.0.0.1');
          sockets.push(socket);
          socket.on('error', () => undefined);
          await new Promise((done) => socket.once('connect', done));
          return socket;
        };
        /** The status of the answer to a request. */
        const asked = (socket: Socket, path: string): Promise<string> =>
          new Promise((done) => {
            socket.once('data', (b) => done(`${b}`.split(' ')[1]));
            socket.write(`GET ${pathname}${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
          });
        const own = await opened();
        expect(await asked(own, 'nothing')).toBe('404');
        for (let k = 0; k < 200; k++) await opened();
        expect(await asked(own, 'gallery/saxpy.json')).toMatch(/^[25]00$/);
        for (const socket of sockets.splice(1)) socket.destroy();
        await expect.poll(async () => (await fetch(`${address}gallery/saxpy.json`)).status).toBe(200);
        expect([child.exitCode, child.signalCode]).toEqual([null, null]);
      } finally {
        for (const socket of sockets) socket.destroy();
        child.kill();
      }
    },
  );

  it('says in one error that there is more than it can show', async () => {
    // It stands for half a gigabyte of text.
    const long = {
      toJSON() {
        throw new RangeError('Invalid string length');
      },
    };
    const { code, err } = await captured(() => serve(long as never, 0).then(() => undefined));
    expect([code, err]).toEqual([1, expect.stringContaining('more than the explorer can show')]);
  });
});

describe('the memory', () => {
  it('is too small for a text that needs more in any case, which is one error', () => {
    const statements = 'add.s32 %r1, %r1, 1;\n'.repeat(900_000);
    expect(roomFault(statements, 2 ** 30)).toBe(null);
    expect(roomFault(statements, 2 ** 29)).toEqual({
      fault: 'it needs 0.7 GiB of memory or more, and there are 0.5 for it',
      notes: ['NODE_OPTIONS=--max-old-space-size=1030 allows more'],
    });
    expect(roomFault(`.entry k() {ret;}${' '.repeat(200)}\n`.repeat(90_000), 2 ** 29)).not.toBe(null);
    // Neither comments nor what is small needs much.
    expect(roomFault(`// ${'x'.repeat(2 ** 25)}\n`, 2 ** 20)).toBe(null);
    expect(roomFault(KERNEL, 1)).toBe(null);
    // Functions of a few characters each: 2.2 MB of text, and 2 GB for what optimizes it.
    const functions = '.func f(){ret;}\n.func g(){ret;}\n'.repeat(50_000);
    expect(roomFault(functions, 2 ** 30)).toBe(null);
    expect(roomFault(functions, 2 ** 30, 'optimize')?.fault).toMatch(/^it needs 1\.9 GiB/);
    const cwd = having({ 'large.ptx': KERNEL.replace('ret;', `${statements}ret;`) });
    const r = orrery(cwd, ['check', 'large.ptx'], { NODE_OPTIONS: '--max-old-space-size=400' });
    expect([r.status, r.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: cannot read large.ptx: it needs 0.7 GiB of memory or more/),
    ]);
  });
});

describe('texts', () => {
  it('of more lines than a list can have positions are an error', () => {
    const lines = Buffer.alloc(2 ** 27 + 2 ** 20, '\n');
    const name = join(having(), 'lines.ptx');
    writeFileSync(name, lines);
    expect(textOrFault(name)).toEqual({
      fault: `${name}: it has more than the 33554432 lines that are read`,
      notes: [],
    });
  });

  it('that are not UTF-8 are an error, also in a listing', () => {
    const listing = Buffer.from(`Fatbin ptx code:\n================\n${KERNEL}`);
    const cwd = having();
    writeFileSync(join(cwd, 'listing.ptx'), Buffer.concat([listing, Buffer.of(0xff, 10)]));
    for (const command of ['check', 'opt', 'measure']) {
      const r = orrery(cwd, [command, 'listing.ptx']);
      expect([command, r.status, r.stderr]).toEqual([
        command,
        1,
        expect.stringMatching(/^error: .*byte 0xff in line 15 is not UTF-8/),
      ]);
    }
  });
});

it('a table takes time in proportion to its rows', () => {
  const rows = Array.from({ length: 30_000 }, (_, k) => [`${k}`, `.text.k${k}`, 'progbits']);
  const began = performance.now();
  expect(table(rows, 'rll').split('\n')).toHaveLength(rows.length);
  // In proportion to their square it takes an hour.
  expect(performance.now() - began).toBeLessThan(20_000);
});

describe('patterns', () => {
  it('of many stars take no longer than others', () => {
    const stars = '*'.repeat(60);
    const cwd = having({
      'isa.yaml': `kind: isa
foreign:
  - title: many stars
    ptx: ['${stars}q']
    none: of a test
  - title: an instruction of theirs
    ptx: [frob.*]
    as: FOREIGN_VALUE
`,
      'k.ptx': KERNEL.replace('add.s32 %r3, %r1, %r2', 'frob.long.name.of.an.instruction.b32 %r3, %r2'),
    });
    const r = orrery(cwd, ['opt', 'k.ptx', '--isa', 'isa.yaml', '--emit', 'none']);
    expect([r.signal, r.status]).toEqual([null, 0]);
    const matches = formMatcher(`${'a*'.repeat(60)}q`);
    const text = 'a'.repeat(200);
    expect([text, `${text}q`].map((t) => matches({ text: t, guarded: false }))).toEqual([false, true]);
  });
});

describe('rules', () => {
  it('of which the modifiers can be chosen in millions of ways are an error at once', () => {
    const groups = [...'mnopqrs'].map(
      (g) => `${g}: [${Array.from({ length: 16 }, (_, k) => `${g.toUpperCase()}${k}`).join(', ')}]`,
    );
    const vars = [...'mnopqrs'].map((g) => `.$${g}`).join('');
    const cwd = having({
      'isa.yaml': `kind: isa
opcodes:
  WIDE:
    title: an opcode of seven modifiers
    form: d:r32 = a:x32, b:x32
    modifiers: { ${groups.join(', ')} }
    props: [pure, predicable]
    unit: alu
    means: d = a + b
`,
      'rules.yaml': ruleTo('IADD3 $d, $b, $a, 0').replace('IADD3 $d, $a, $b, 0', `WIDE${vars} $d, $a, $b`),
    });
    const r = orrery(cwd, ['opt', 'k.ptx', '--isa', 'isa.yaml', '--rules', 'rules.yaml', '--emit', 'none']);
    expect([r.signal, r.status, r.stderr]).toEqual([
      null,
      1,
      expect.stringContaining('more than 4096 choices of modifiers'),
    ]);
  }, 70_000);
});
