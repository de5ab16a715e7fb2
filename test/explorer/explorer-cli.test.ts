import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { commandLine, commandOf, reproducerOf } from '../../src/web/model/command.ts';
import { snapshotsOf } from '../../src/web/model/tables.ts';
import type { Start } from '../../src/web/protocol.ts';
import type { Recording } from '../../src/web/recording.ts';
import { kernelSource, Page } from '../support/explorer.ts';

/*
 * `orrery explore` and `orrery trace`.
 */

const dir = mkdtempSync(join(tmpdir(), 'orrery-explorer-cli-'));
afterAll(() => rmSync(dir, { recursive: true }));
const orrery = join(ROOT, 'bin', 'orrery.js');
const saxpy = join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx');
const env = { ...process.env, NO_COLOR: '1', ORRERY_REPRO: '' };
const command = (...args: string[]) =>
  spawnSync(process.execPath, [orrery, ...args], {
    cwd: dir,
    encoding: 'utf8',
    env,
    // Should it serve a page in place of an error, it would not end.
    ...(args[0] === 'explore' ? { timeout: 60_000 } : {}),
  });

const order = join(dir, 'mine.yaml');
writeFileSync(
  order,
  'kind: order\nextends: binary\nedits:\n  - { drop: GeneralOptimizeEarly, why: to see }\n',
);

describe('orrery trace', () => {
  test('writes one file whose policy lets its own script and styles run, and nothing else', () => {
    const r = command('trace', saxpy, '-o', 'trace.html', '--order', 'mine.yaml', '-O', '2');
    expect([r.status, r.stdout, r.stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/trace\.html: \d+ of 159 phases changed/),
    ]);
    const html = readFileSync(join(dir, 'trace.html'), 'utf8');
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html)![1];
    const hash = (tag: RegExp): string =>
      `'sha256-${createHash('sha256').update(tag.exec(html)![1]).digest('base64')}'`;
    expect(policy).toContain(`script-src ${hash(/<script type="module">([\s\S]*?)<\/script>/)};`);
    expect(policy).toContain(`style-src ${hash(/<style>([\s\S]*?)<\/style>/)};`);
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).not.toMatch(/unsafe/);
    expect(html).not.toMatch(/<(script|link|img)[^>]* (src|href)="(?!data:)/);
    const packed = /id="recording">([^<]*)</.exec(html)![1];
    const recording = JSON.parse(gunzipSync(Buffer.from(packed, 'base64')).toString()) as Recording;
    expect(recording.run.plan).toMatchObject({ level: 2, order: 'mine.yaml', sm: 'sm_90' });
    expect(recording.run.source.documents['mine.yaml']).toBe(readFileSync(order, 'utf8'));
    expect(recording.run.phases.find((p) => p.id === 'GeneralOptimizeEarly')?.ran ?? false).toBe(false);
    // Everything that the page can ask for is there.
    for (const f of new Set(snapshotsOf(recording.run).flat())) {
      expect(recording.flows[f].blocks.length).toBe(recording.tables.fns[f].blocks.length);
      for (const b of recording.tables.fns[f].blocks)
        for (const i of recording.tables.blocks[b].ins) expect(recording.tables.ins[i][0]).toMatch(/\S/);
    }
    expect('text' in recording.output && recording.output.text).toMatch(/\.visible \.entry saxpy/);
  });

  test('the same as JSON, and from standard input', () => {
    const { stdout } = command('trace', saxpy, '--json', '--site', 'https://example.org/orrery/#x');
    const json = JSON.parse(stdout) as Recording;
    expect(json).toMatchObject({ kind: 'recording', version: 1, site: 'https://example.org/orrery/' });
    // What it was compiled from, and what it is compiled to, are in it.
    expect(json.sources?.['saxpy.cu']).toContain('fmaf(a, x[i], y[i])');
    const fma = json.machine?.kernels.find((k) => k.name === 'saxpy')?.code.find((c) => /^FFMA/.test(c.text));
    expect(readFileSync(saxpy, 'utf8').split('\n')[(fma?.line ?? 0) - 1]).toMatch(/fma\.rn\.f32/);
    const r = spawnSync(process.execPath, [orrery, 'trace', '-', '--json'], {
      cwd: dir,
      encoding: 'utf8',
      env,
      input: readFileSync(saxpy, 'utf8'),
    });
    const piped = JSON.parse(r.stdout) as Recording;
    expect(piped.run.phases.map((p) => p.after)).toEqual(json.run.phases.map((p) => p.after));
  });

  test('takes a recipe that extends others by a list of files', () => {
    writeFileSync(join(dir, 'base.yaml'), 'kind: recipe\ntitle: base\nknobs: { UnrollFullInstLimit: 9 }\n');
    writeFileSync(join(dir, 'top.yaml'), 'kind: recipe\ntitle: top\nextends:\n  - ./base.yaml\n');
    const r = command('trace', saxpy, '--json', '--recipe', './top.yaml');
    expect([r.stderr, r.status]).toEqual([expect.not.stringContaining('error'), 0]);
  });

  test.each([
    [['trace', saxpy], /trace writes a file[\s\S]*-o trace\.html/],
    [['trace', 'none.ptx', '-o', 'x.html'], /cannot read none\.ptx: there is no such file/],
    [['trace', saxpy, '-o', 'nowhere/x.html'], /there is no folder 'nowhere'/],
    [['trace', saxpy, '-o', 'x.html', '--set', 'OptBudgett=1'], /OptBudget/],
    [['trace', 'bad.ptx', '-o', 'x.html'], /must begin with .\.version.[\s\S]*bad\.ptx:1:1/],
    [
      ['trace', saxpy, '-o', 'x.html', '--site', 'file:///etc'],
      /--site file:\/\/\/etc is not the address of a site/,
    ],
    [['explore', 'none.ptx'], /cannot read none\.ptx: there is no such file/],
    [['explore', '--port', 'x'], /--port x is not a port/],
    [['explore', '--order', 'nowhere'], /there is no order 'nowhere'/],
  ])('%j is refused with one error', (args, says) => {
    writeFileSync(join(dir, 'bad.ptx'), 'nonsense\n');
    const r = command(...args);
    expect([r.status, r.stderr]).toEqual([1, expect.stringMatching(says)]);
    expect(r.stderr).not.toMatch(/^\s+at /m);
  });
});

test('what the page shares is unpacked and run by orrery', () => {
  const page = new Page();
  const source = {
    ...kernelSource('saxpy', { level: 2, order: 'dir/mine.yaml', set: ['OptBudget=7'] }),
    documents: { 'dir/mine.yaml': readFileSync(order, 'utf8') },
  };
  const run = page.run(source);
  const shared = reproducerOf(run, page.session.data.version);
  const schema = JSON.parse(
    readFileSync(join(ROOT, 'schemas', 'output', 'reproducer.schema.json'), 'utf8'),
  ) as object;
  const ajv = new Ajv({ allowUnionTypes: true });
  expect([ajv.validate(schema, shared), ajv.errors]).toEqual([true, null]);
  writeFileSync(join(dir, 'shared.json'), JSON.stringify(shared));
  const kept = command('repro', 'shared.json', '--keep', 'kept');
  const [, folder, line] = /cd (\S+)\n +orrery (.*)/.exec(kept.stdout)!;
  expect(`orrery ${line}`).toBe(commandLine(commandOf(source)));
  const r = spawnSync(process.execPath, [orrery, ...line.split(' '), '--emit', 'json'], {
    cwd: folder,
    encoding: 'utf8',
    env,
  });
  expect(JSON.parse(r.stdout)).toMatchObject({ plan: run.plan.hash, level: 2 });
});

/** What a path of the server answers. */
const ask = (address: string, path: string, headers: Record<string, string> = {}) =>
  new Promise<{ status: number; body: string; headers: Record<string, unknown> }>((done, fail) => {
    get(`${address}${path}`, { headers }, (r) => {
      let body = '';
      r.on('data', (d) => (body += d));
      r.on('end', () => done({ status: r.statusCode ?? 0, body, headers: r.headers }));
    }).on('error', fail);
  });

describe('orrery explore', () => {
  test('serves the page to this machine, tells of changes, and ends when it is interrupted', async () => {
    const file = join(dir, 'kernel.ptx');
    const text = readFileSync(saxpy, 'utf8');
    writeFileSync(file, text);
    const child = spawn(process.execPath, [orrery, 'explore', 'kernel.ptx', '--set', 'OptBudget=5'], {
      cwd: dir,
      env,
    });
    const ended = new Promise<number | null>((done) => child.on('close', done));
    try {
      const address = await new Promise<string>((done) =>
        child.stdout.once('data', (d) => done(String(d).trim())),
      );
      expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
      // Others on the machine reach the port, and do not know the address.
      const { origin, pathname } = new URL(address);
      for (const path of [
        '/',
        '/start.json',
        '/events',
        '//start.json',
        '/x/start.json',
        `${pathname.slice(0, -2)}/start.json`,
      ])
        expect([path, (await ask(origin, path)).status]).toEqual([path, 403]);
      const page = await ask(address, '');
      expect(page.status).toBe(200);
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(String(page.headers['content-security-policy'])).not.toMatch(/unsafe/);
      const worker = await ask(address, 'worker.js');
      expect(worker.headers['content-security-policy']).toMatch(/'unsafe-eval'; connect-src 'self'$/);
      const start = JSON.parse((await ask(address, 'start.json')).body) as Start;
      expect(start).toMatchObject({
        files: [{ file: 'kernel.ptx', text }],
        request: { set: ['OptBudget=5'] },
        live: true,
      });
      const rows = JSON.parse((await ask(address, 'gallery/index.json')).body) as readonly { name: string }[];
      expect(rows.map((r) => r.name)).toContain('sha256');
      // Nothing but the page is given away: no other file, and not to a page that goes by another name.
      for (const path of [
        '../package.json',
        '..%2fpackage.json',
        'gallery/..%2f..%2fpackage.json',
        'specs.json/x',
        'none',
      ])
        expect([403, 404]).toContain((await ask(address, path)).status);
      expect((await ask(address, 'start.json', { host: 'example.org' })).status).toBe(403);
      const told = new Promise<string>((done) => {
        get(`${address}events`, (r) => r.on('data', (d) => String(d).startsWith('data:') && done(String(d))));
      });
      await new Promise((done) => setTimeout(done, 200));
      writeFileSync(file, `${text}// changed\n`);
      expect(JSON.parse((await told).slice(5))).toEqual({ file: 'kernel.ptx', text: `${text}// changed\n` });
    } finally {
      child.kill('SIGINT');
    }
    expect(await ended).toBe(0);
  });

  test('a port that is taken is one error', async () => {
    const taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    const { port } = taken.address() as AddressInfo;
    const r = command('explore', '--port', String(port));
    taken.close();
    expect([r.status, r.stderr]).toEqual([
      1,
      expect.stringMatching(new RegExp(`port ${port} is taken[\\s\\S]*free one`)),
    ]);
  });
});

test('a site is less than 2 MB for whoever opens it, compressed as hosts do', () => {
  const files = ['index.html', 'index.css', 'index.js', 'worker.js', 'specs.json', 'machine.json'];
  const bytes = files.reduce((n, f) => n + gzipSync(readFileSync(join(ROOT, 'dist', 'web', f))).length, 0);
  expect(bytes).toBeLessThan(2_000_000);
});
