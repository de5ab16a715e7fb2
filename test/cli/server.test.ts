import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askServer, type ServerState as State, writtenIn } from '../../src/cli/server/server-ask.ts';
import { loadShipped, ROOT, shippedFiles } from '../../src/spec/node.ts';
import { command, type Outcome } from '../support/commands.ts';

/* A command gives the same output in the server as in a separate process. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = join(root, 'bin', 'orrery.js');
const dir = mkdtempSync(join(tmpdir(), 'orrery-server-'));
const runtime = join(dir, 'run');
const kernel = join(root, 'test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx');

interface How {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly input?: string;
  readonly runtime?: string;
}
const environment = (how: How): NodeJS.ProcessEnv => ({
  ...process.env,
  NO_COLOR: '1',
  XDG_RUNTIME_DIR: how.runtime ?? runtime,
  XDG_CACHE_HOME: join(dir, 'cache'),
  ORRERY_SERVER: '',
  ...how.env,
});
function orrery(args: readonly string[], how: How = {}) {
  const r = spawnSync(process.execPath, [script, ...args], {
    cwd: how.cwd ?? dir,
    encoding: 'utf8',
    input: how.input ?? '',
    env: environment(how),
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

/** The same, while others run. */
const later = (args: readonly string[], how: How = {}): Promise<Outcome> =>
  command(process.execPath, [script, ...args], {
    cwd: how.cwd ?? dir,
    env: environment(how),
    input: how.input,
  });

/** What comes out of a pipe that `opt` is told to write to. */
function piped(...output: readonly string[]): string {
  const words = ['sh', process.execPath, script, 'opt', kernel, '-q', ...output];
  return spawnSync('sh', ['-c', '"$@" | cat', ...words], { encoding: 'utf8', env: environment({}) }).stdout;
}

const folderIn = (where: string): string => join(where, `orrery-${process.getuid!()}`);
const running = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
/** The folder of the one server in a runtime folder; null where there is none, or no longer. */
function foundIn(where: string): string | null {
  const folder = folderIn(where);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const build = names.find((name) => !name.startsWith('.'));
  return build === undefined ? null : join(folder, build);
}
/** The same, where it must be there. */
const serverIn = (where: string): string => foundIn(where)!;
/** What the server of a folder says of itself; null where there is none. */
async function status(where = runtime): Promise<State | null> {
  const server = foundIn(where);
  if (server === null) return null;
  const said = await askServer(server, 'status');
  return said === 'silent' ? null : said;
}
const commandsRun = async (): Promise<number> =>
  ((await status())?.processes ?? []).reduce((n, p) => n + p.commands, 0);
/** Whether the process of the server runs a command. */
const isBusy = async (): Promise<boolean> => (await status())?.processes[0]?.busy === true;

/** Waits until something holds; fails after half a minute. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 3000 && !(await holds()); n++) await sleep(10);
  expect(await holds()).toBe(true);
}

/** What takes time is left out, and how wide it makes its column. */
const still = (text: string): string =>
  text
    .replaceAll(/\d+(\.\d+)? m?s\b/g, 'TIME')
    .replaceAll(/ +TIME/g, ' TIME')
    .replaceAll(/ +time\b/g, ' time');

const windows = process.platform === 'win32';
mkdirSync(runtime, { mode: 0o700 });
beforeAll(() => {
  if (!windows) expect(orrery(['server', 'start', '--no-warm-up'])).toMatchObject({ code: 0, err: '' });
});
afterAll(() => {
  orrery(['server', 'stop']);
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

describe.skipIf(windows)('the server', () => {
  writeFileSync(join(dir, 'bad.ptx'), '.version 9.0\n.target sm_90\n.visible .entry k() { foo; ret; }\n');
  writeFileSync(join(dir, 'mine.yaml'), 'kind: order\nextends: binary\nedits:\n  - { drop: GvnCse }\n');
  writeFileSync(join(dir, 'refuses'), '#!/bin/sh\necho no; echo never >&2; exit 7\n', { mode: 0o755 });
  const commands: readonly (readonly [readonly string[], How])[] = [
    [['opt', kernel, '--emit', 'ptx'], {}],
    [['opt', kernel, '--emit', 'ptx', '--order', 'mine.yaml', '--verify-each', '--remarks'], {}],
    [['opt', kernel, '-q', '-o', '-'], {}],
    // What an earlier command was told is not kept.
    [['opt', kernel, '--emit', 'none', '--sm', 'sm_62'], {}],
    [['opt', kernel, '--emit', 'none', '--sm', 'sm_62'], {}],
    [['opt', 'bad.ptx', '--json', '--ptxas'], {}],
    [['opt', 'nowhere.ptx'], {}],
    [['opt', 'kernels/saxpy/saxpy.sm_90.ptx', '--emit', 'ptx'], { cwd: join(root, 'test') }],
    [['opt', kernel, '--emit', 'ptx', '-j', '2'], {}],
    [['opt', kernel, kernel, '--emit', 'none', '-j', '2'], {}],
    [['plan', '--order', 'seed', '--set', 'OptBudget=3', '--json'], {}],
    [['plan', '--set', 'OptBudgett=3'], {}],
    [['phases'], { env: { FORCE_COLOR: '1', NO_COLOR: '' } }],
    [['phases', '--status', 'unbound'], {}],
    [['run', join(root, 'test', 'kernels', 'saxpy', 'launch.yaml'), '--counters'], {}],
    [['check', 'mine.yaml', 'bad.ptx'], {}],
    [['--help'], {}],
    [['opt', '--help'], {}],
    [['opt', '--nonsense', kernel], {}],
    [['nonsense'], {}],
    [['--version'], {}],
    [['ptxas', '--help'], { env: { ORRERY_PTXAS: '/bin/echo' } }],
    [['ptxas', '-arch=sm_90', kernel], { env: { ORRERY_PTXAS: join(dir, 'refuses') } }],
    [['ptxas', '--orrery-nonsense'], { env: { ORRERY_PTXAS: '/bin/echo' } }],
  ];

  it.each(commands)('%j %j', async (args, how) => {
    const alone = orrery(args, { ...how, env: { ...how.env, ORRERY_SERVER: 'off' } });
    const before = await commandsRun();
    const served = orrery(args, how);
    expect({ ...served, err: still(served.err), out: still(served.out) }).toEqual({
      ...alone,
      err: still(alone.err),
      out: still(alone.out),
    });
    await until(async () => (await commandsRun()) === before + 1);
  });

  it('commands that hang on their own process run without it', async () => {
    const before = await commandsRun();
    const text = readFileSync(kernel, 'utf8');
    expect(orrery(['opt', '-', '--emit', 'ptx', '-q'], { input: text }).out).toContain('.entry saxpy');
    expect(orrery(['opt', kernel, '-q'], { env: { NODE_OPTIONS: '--no-warnings' } }).code).toBe(0);
    expect(orrery(['check', '/dev/null']).code).toBe(1);
    symlinkSync('/dev/stdout', join(dir, 'link'));
    expect(piped('-o', join(dir, 'link'))).toContain('.entry saxpy');
    expect(piped('--output=/dev/stdout')).toContain('.entry saxpy');
    expect(orrery(['measure', kernel, '--no-ptxas']).code).toBe(0);
    await sleep(200);
    expect(await commandsRun()).toBe(before);
  });

  it('a busy process leaves a command to run alone', async () => {
    // Another one may just take the place of one that has ended.
    await until(async () => (await status())!.processes.length === 1);
    const [{ pid }] = (await status())!.processes;
    const before = await commandsRun();
    const args = [script, 'rules', 'coverage', join(root, 'test', 'kernels')];
    const long = spawn(process.execPath, args, { cwd: dir, env: environment({}) });
    await until(isBusy);
    expect(orrery(['opt', kernel, '-q', '--emit', 'ptx']).out).toContain('.entry saxpy');
    expect([await isBusy(), await commandsRun()]).toEqual([true, before]);
    long.kill('SIGINT');
    await new Promise((done) => long.on('close', done));
    // One answer: between two of them the process that ends may be gone, and the next not there yet.
    await until(async () => {
      const { processes } = (await status())!;
      return processes.length === 1 && processes[0].pid !== pid;
    });
  });

  it("a user's own spec is read as it is now", () => {
    const order = join(dir, 'changing.yaml');
    const hash = (drop: string, env: Record<string, string> = {}): string => {
      writeFileSync(order, `kind: order\nextends: binary\nedits:\n  - { drop: ${drop} }\n`);
      return (JSON.parse(orrery(['plan', '--order', order, '--json'], { env }).out) as { hash: string }).hash;
    };
    const [first, second, third] = ['GvnCse', 'OriDoRemat', 'GvnCse'].map((drop) => hash(drop));
    expect([second !== first, third]).toEqual([true, hash('GvnCse', { ORRERY_SERVER: 'off' })]);
  });

  it('interrupting a command ends it, and the next one is served', async () => {
    const [first] = (await status())!.processes;
    const child = spawn(process.execPath, [script, 'rules', 'coverage', join(root, 'test', 'kernels')], {
      cwd: dir,
      env: environment({}),
    });
    await until(isBusy);
    await sleep(300);
    child.kill('SIGINT');
    const signal = await new Promise((done) => child.on('close', (_, s) => done(s)));
    expect(signal).toBe('SIGINT');
    await until(async () => {
      const s = (await status())!;
      return s.processes.length === 1 && s.processes[0].pid !== first.pid;
    });
    expect(orrery(['opt', kernel, '-q', '--emit', 'ptx']).out).toContain('.entry saxpy');
    await until(async () => (await commandsRun()) === 1);
  });

  it('a command ends with its client if that is killed, and no one waits for it', async () => {
    const [first] = (await status())!.processes;
    const args = [script, 'rules', 'coverage', join(root, 'test', 'kernels')];
    const child = spawn(process.execPath, args, { cwd: dir, env: environment({}) });
    await until(isBusy);
    await sleep(300);
    child.kill('SIGKILL');
    await new Promise((done) => child.on('close', done));
    expect(orrery(['--version']).code).toBe(0);
    await until(
      async () =>
        (await status())!.processes.length === 1 && (await status())!.processes[0].pid !== first.pid,
    );
    expect(running(first.pid)).toBe(false);
    orrery(['--version']);
    await until(async () => (await commandsRun()) === 1);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'where standard output cannot be written, the command ends as it does alone',
    async () => {
      const [first] = (await status())!.processes;
      const full = (env: Record<string, string>) => {
        const words = ['sh', process.execPath, script, 'phases'];
        const how = { cwd: dir, encoding: 'utf8', env: environment({ env }) } as const;
        const r = spawnSync('sh', ['-c', '"$@" > /dev/full', ...words], how);
        return [r.status, r.stderr];
      };
      const served = full({});
      expect(served).toEqual([1, 'error: cannot write standard output: the disk is full\n']);
      expect(served).toEqual(full({ ORRERY_SERVER: 'off' }));
      await until(
        async () =>
          (await status())!.processes.length === 1 && (await status())!.processes[0].pid !== first.pid,
      );
      orrery(['--version']);
      await until(async () => (await commandsRun()) === 1);
    },
  );

  it('files are made with the rights that the client asks for', () => {
    const file = join(dir, 'private.ptx');
    const line = `umask 077 && exec "$@"`;
    const words = ['sh', process.execPath, script, 'opt', kernel, '-q', '--emit', 'ptx', '-o', file];
    const r = spawnSync('sh', ['-c', line, ...words], { cwd: dir, env: environment({}) });
    expect([r.status, statSync(file).mode & 0o777]).toEqual([0, 0o600]);
  });

  it('a request that makes no sense is not answered, and the next one is', async () => {
    const [{ pid }] = (await status())!.processes;
    const token = writtenIn(serverIn(runtime))!.tokens.client;
    const request = JSON.stringify({
      argv: ['--version'],
      cwd: dir,
      env: {},
      umask: 0,
      terminals: [false, false],
    });
    for (const text of ['nonsense\n', '{}\n', 'null\n', `${request}\n`, `{"client":"${token}"}\n`]) {
      const socket = connect(join(serverIn(runtime), `${pid}.sock`), () => socket.write(text));
      let said = '';
      socket.on('data', (bytes) => {
        said += bytes;
      });
      await new Promise((done) => socket.on('close', done));
      // It says who it is, and nothing more.
      expect([text, said.slice(0, 1), said.length]).toEqual([text, 'h', 69]);
    }
    for (const text of [
      'nonsense\n',
      'null\n',
      '{"do":"stop"}\n',
      `{"do":"no","client":"${token}"}\n`,
      'x'.repeat(2000),
    ]) {
      const socket = connect(join(serverIn(runtime), 'keeper.sock'), () => socket.write(text));
      socket.on('error', () => undefined);
      await new Promise((done) => socket.on('close', done));
      expect([text, socket.bytesRead]).toEqual([text, 0]);
    }
    const before = await commandsRun();
    orrery(['--version']);
    await until(async () => (await commandsRun()) === before + 1);
    expect((await status())!.processes[0].pid).toBe(pid);
  });

  it('a socket that others could have put there is not used', async () => {
    const before = await commandsRun();
    const folder = folderIn(runtime);
    chmodSync(folder, 0o777);
    expect(orrery(['opt', kernel, '-q']).code).toBe(0);
    // Nor is what it says of a server believed.
    for (const command of ['status', 'stop', 'start'])
      expect(orrery(['server', command])).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringContaining('is not yours alone'),
      });
    chmodSync(folder, 0o700);
    await sleep(200);
    expect(await commandsRun()).toBe(before);
  });

  it('says what is running, once', async () => {
    expect(orrery(['server', 'start'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^error: a server is running already: process \d+\n {2}`orrery server stop`/,
      ),
    });
    const form = JSON.parse(
      readFileSync(join(root, 'schemas', 'output', 'server-status.schema.json'), 'utf8'),
    ) as object;
    const told = JSON.parse(orrery(['server', 'status', '--json']).out) as { server: State };
    expect([new Ajv({ allowUnionTypes: true }).validate(form, told), told.server.pid]).toEqual([
      true,
      (await status())!.pid,
    ]);
    expect(orrery(['server', 'status']).out).toMatch(
      /^server \d+, since [\s\S]*\n *\d+ +\d+ +\d+ MB +\d+\.\d s(?: {2}(?:getting warm|busy))?\n$/,
    );
  });

  it('needs a folder with a short name', () => {
    const long = join(dir, 'x'.repeat(90));
    expect(orrery(['server', 'run'], { runtime: long })).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error: the path of .* is too long for a socket\n {2}set XDG_RUNTIME_DIR/),
    });
  });

  it.each([
    [['--idle', 'soon'], /^error: --idle soon is not a valid time/],
    [['--warm-up', 'long'], /^error: --warm-up long is not a valid time/],
    [['--jobs', '0'], /^error: --jobs 0 is not a number of workers/],
  ])('start %j is an error', (args, message) => {
    const r = orrery(['server', 'start', ...args], { runtime: join(dir, 'none') });
    expect([r.code, r.err]).toEqual([1, expect.stringMatching(message)]);
  });
});

/** Servers of their own, which are waited for together. */
describe.skipIf(windows).concurrent('another server', () => {
  it('ends where its folder is taken away', async () => {
    const other = join(dir, 'away');
    mkdirSync(other, { mode: 0o700 });
    expect(
      (await later(['server', 'start', '--no-warm-up', '--idle', '0.05'], { runtime: other })).code,
    ).toBe(0);
    const { pid } = (await status(other))!;
    rmSync(folderIn(other), { recursive: true, maxRetries: 20, retryDelay: 10 });
    await until(() => !running(pid));
  });

  it('of two that are started at the same time one runs', async () => {
    const twice = join(dir, 'twice');
    mkdirSync(twice, { mode: 0o700 });
    const start = () =>
      new Promise<number | null>((done) =>
        spawn(process.execPath, [script, 'server', 'start', '--no-warm-up'], {
          env: environment({ runtime: twice }),
        }).on('close', done),
      );
    const codes = await Promise.all([start(), start(), start()]);
    expect(codes.filter((c) => c === 0).length).toBeGreaterThanOrEqual(1);
    const { pid } = (await status(twice))!;
    expect(readdirSync(folderIn(twice))).toHaveLength(1);
    await later(['server', 'stop'], { runtime: twice });
    expect([await status(twice), running(pid)]).toEqual([null, false]);
  });

  it('warms up for the given time', async () => {
    const other = join(dir, 'warm');
    mkdirSync(other, { mode: 0o700 });
    // Less than the six seconds of one that is not told anything.
    expect((await later(['server', 'start', '--warm-up', '2'], { runtime: other })).code).toBe(0);
    const first = (await status(other))!.processes[0];
    await until(async () => (await status(other))!.processes[0].warm);
    const { seconds } = (await status(other))!.processes[0];
    // On a busy machine it may have got warm before it was asked.
    expect([first.warm || seconds > first.seconds, seconds > 2, seconds < 6]).toEqual([true, true, true]);
    await later(['server', 'stop'], { runtime: other });
  });

  it('that is paused gets no twin, and commands run without it', async () => {
    const other = { runtime: join(dir, 'paused') };
    mkdirSync(other.runtime, { mode: 0o700 });
    expect((await later(['server', 'start', '--no-warm-up'], other)).code).toBe(0);
    const { pid } = (await status(other.runtime))!;
    process.kill(pid, 'SIGSTOP');
    try {
      // What it has written is as old as that of one that was killed long ago.
      const old = new Date(Date.now() - 3_600_000);
      utimesSync(join(serverIn(other.runtime), 'server.json'), old, old);
      const said = `error: a server is there and does not answer: process ${pid}`;
      for (const what of ['start', 'status', 'stop'])
        expect((await later(['server', what], other)).err.slice(0, said.length)).toBe(said);
      expect((await later(['opt', kernel, '-q', '--emit', 'ptx'], other)).out).toContain('.entry saxpy');
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect(readdirSync(folderIn(other.runtime))).toHaveLength(1);
    expect((await status(other.runtime))!.pid).toBe(pid);
    expect((await later(['server', 'stop'], other)).out).toBe(`server ${pid} has ended\n`);
  });

  it('that was killed leaves nothing that commands believe, or send signals to', async () => {
    const other = { runtime: join(dir, 'stale') };
    mkdirSync(other.runtime, { mode: 0o700 });
    expect((await later(['server', 'start', '--no-warm-up'], other)).code).toBe(0);
    const { pid, processes } = (await status(other.runtime))!;
    process.kill(pid, 'SIGKILL');
    await until(() => !running(processes[0].pid));
    // The numbers of its processes are those of others now, in a group of their own; a client that had one was killed long ago.
    const innocent = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    const folder = serverIn(other.runtime);
    const { tokens } = JSON.parse(readFileSync(join(folder, 'server.json'), 'utf8')) as { tokens: object };
    writeFileSync(join(folder, 'server.json'), JSON.stringify({ pid: innocent.pid, tokens }));
    writeFileSync(join(folder, `${innocent.pid}.lock`), '999999999');
    writeFileSync(join(folder, `${innocent.pid}.sock`), '');
    for (const args of [
      ['opt', kernel, '-q'],
      ['server', 'status'],
      ['server', 'stop'],
      ['opt', kernel, '-q'],
    ])
      expect((await later(args, other)).code).toBe(0);
    expect(running(innocent.pid!)).toBe(true);
    // Somebody else listens there now, and knows no token.
    rmSync(join(folder, 'keeper.sock'));
    const asked: string[] = [];
    const stranger = createServer((socket) => {
      socket.on('data', (bytes) => {
        asked.push(String(bytes));
        socket.end(`${JSON.stringify({ server: 'x', process: innocent.pid })}\n`);
      });
    }).listen(join(folder, 'keeper.sock'));
    expect((await later(['opt', kernel, '-q', '--emit', 'ptx'], other)).out).toContain('.entry saxpy');
    expect((await later(['server', 'stop'], other)).code).toBe(1);
    stranger.close();
    expect([asked.length > 0, asked.filter((text) => text.includes('argv'))]).toEqual([true, []]);
    expect(running(innocent.pid!)).toBe(true);
    innocent.kill('SIGKILL');
  });

  it('ends when it is no longer needed, and after a kill no process is left', async () => {
    const other = { runtime: join(dir, 'other') };
    mkdirSync(other.runtime, { mode: 0o700 });
    expect(
      (await later(['server', 'start', '--idle', '0.01', '-j', '2', '--no-warm-up'], other)).out,
    ).toMatch(/2 at a time/);
    await until(async () => (await status(other.runtime)) === null);
    expect((await later(['server', 'start', '--no-warm-up'], other)).code).toBe(0);
    const { pid, processes } = (await status(other.runtime))!;
    process.kill(pid, 'SIGKILL');
    await until(() => !running(processes[0].pid));
    expect(await status(other.runtime)).toBe(null);
    expect((await later(['opt', kernel, '-q', '--emit', 'ptx'], other)).out).toContain('.entry saxpy');
    expect((await later(['server', 'start', '--no-warm-up'], other)).code).toBe(0);
    expect((await later(['server', 'stop'], other)).out).toMatch(/^server \d+ has ended\n$/);
    expect((await later(['server', 'stop'], other)).out).toBe('no server of this build is running\n');
  });
});

it('shipped specs are read once, and again when one of them changes', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'orrery-specs-'));
  for (const file of shippedFiles()) {
    const to = join(copy, file.slice(ROOT.length));
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, readFileSync(file));
  }
  const first = await loadShipped(copy);
  expect(await loadShipped(copy)).toBe(first);
  const order = join(copy, 'pipelines', 'orders', 'late-branches.yaml');
  writeFileSync(order, `${readFileSync(order, 'utf8')}\n`);
  expect(await loadShipped(copy)).not.toBe(first);
  rmSync(copy, { recursive: true });
});
