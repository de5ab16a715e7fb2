import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { makeWhole, writeTogether, writeWhole } from '../../src/cli/input/files.ts';
import { ROOT } from '../../src/spec/node.ts';

const dir = mkdtempSync(join(tmpdir(), 'orrery-files-'));
afterAll(() => rmSync(dir, { recursive: true }));
const at = (name: string) => join(dir, name);

/** Output of an action that ends with exit code 1. */
function complaint(action: () => void): string {
  const said: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((s) => said.push(String(s)) > 0);
  try {
    expect(action).toThrow('exit 1');
  } finally {
    spy.mockRestore();
  }
  return said.join('');
}

describe.skipIf(process.platform === 'win32')('a folder that is gone', () => {
  it('is one error, and not an internal fault', () => {
    mkdirSync(at('gone'));
    const line = 'rmdir "$PWD" && exec "$@"';
    const r = spawnSync(
      'sh',
      ['-c', line, 'sh', process.execPath, join(ROOT, 'bin', 'orrery.js'), 'phases'],
      {
        cwd: at('gone'),
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1' },
      },
    );
    expect([r.status, r.stderr]).toEqual([1, 'error: the folder that this command runs in is gone\n']);
  });
});

describe('inputs are not written over', () => {
  const kernel = readFileSync(join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx'), 'utf8');
  mkdirSync(at('in'));
  for (const name of ['a.ptx', 'b.ptx']) writeFileSync(join(at('in'), name), kernel);
  writeFileSync(at('mine.yaml'), 'kind: order\nextends: binary\nedits:\n  - { drop: GvnCse }\n');
  symlinkSync(join(at('in'), 'a.ptx'), at('link.ptx'));
  linkSync(join(at('in'), 'a.ptx'), at('hard.ptx'));
  const before = readdirSync(dir, { recursive: true });

  it.each([
    [['opt', 'in/a.ptx', '--emit', 'ptx', '-o', 'in/a.ptx'], 'in/a.ptx: it is an input'],
    [['opt', 'link.ptx', '-o', 'in/a.ptx'], 'in/a.ptx: it is the same file as the input link.ptx'],
    [['opt', 'in/a.ptx', '-o', 'hard.ptx'], 'hard.ptx: it is the same file as the input in/a.ptx'],
    [['opt', 'in', '--emit', 'ptx', '-o', 'in'], 'in/a.ptx: it is an input'],
    // A result that would take the place of another file's text.
    [['opt', 'link.ptx', 'in/b.ptx', '--emit', 'ptx', '-o', '.'], 'link.ptx: it is an input'],
    [['opt', 'in/a.ptx', '--emit', 'none', '--trace-events', 'in/a.ptx'], 'in/a.ptx: it is an input'],
    [
      ['opt', 'in/a.ptx', '--order', 'mine.yaml', '--emit', 'ori', '-o', 'mine.yaml'],
      'mine.yaml: it is an input',
    ],
    [['trace', 'in/a.ptx', '-o', 'in/a.ptx'], 'in/a.ptx: it is an input'],
    [['cfg', 'in/a.ptx', '-o', 'in/a.ptx'], 'in/a.ptx: it is an input'],
    [['reduce', 'in/a.ptx', '-o', 'in/a.ptx'], 'in/a.ptx: it is an input'],
    [['reduce', 'in/a.ptx', '--order', 'mine.yaml', '-o', 'mine.yaml'], 'mine.yaml: it is an input'],
  ])('%j', (args, said) => {
    const r = spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), ...args], {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    expect([r.status, r.stdout, r.stderr]).toEqual([
      1,
      '',
      `error: cannot write ${said}\n  inputs are left as they are: name another place for the result\n`,
    ]);
    expect(readdirSync(dir, { recursive: true })).toEqual(before);
    expect(readFileSync(join(at('in'), 'a.ptx'), 'utf8')).toBe(kernel);
  });
});

describe('files are written whole', () => {
  it('a link stays a link, a mode stays', () => {
    writeFileSync(at('real'), 'before');
    chmodSync(at('real'), 0o640);
    symlinkSync(at('real'), at('link'));
    writeWhole(at('link'), 'after');
    expect(lstatSync(at('link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(at('real'), 'utf8')).toBe('after');
    expect(statSync(at('real')).mode & 0o777).toBe(0o640);
  });

  it('a pipe is written to, and is a pipe afterwards', ({ skip }) => {
    if (spawnSync('mkfifo', [at('pipe')]).status !== 0) skip('no mkfifo');
    const reader = spawnSync(
      'sh',
      [
        '-c',
        'cat "$0" & exec "$1" --input-type=module -e \'const { writeWhole } = await import(process.argv[1]); writeWhole(process.argv[2], "text")\' "$2" "$0"',
        at('pipe'),
        process.execPath,
        new URL('../../dist/cli/input/files.js', import.meta.url).href,
      ],
      { encoding: 'utf8', timeout: 20_000 },
    );
    expect(reader.stdout).toBe('text');
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
  });

  it('standard output that takes a part is one error', ({ skip }) => {
    if (process.platform !== 'linux') skip('needs a limit of the size of files');
    // The limit stands for a disk that becomes full: the system takes what there is room for.
    const r = spawnSync(
      'bash',
      [
        '-c',
        'ulimit -f 4; exec "$0" "$1" plan > "$2"',
        process.execPath,
        join(ROOT, 'bin/orrery.js'),
        at('part'),
      ],
      { encoding: 'utf8', env: { ...process.env, ORRERY_SERVER: 'off' } },
    );
    expect([r.status, r.stderr]).toEqual([
      1,
      'error: cannot write standard output: it is larger than a file may be here\n',
    ]);
    expect(statSync(at('part')).size).toBe(4096);
  });

  it('a pipe without a reader is one error', ({ skip }) => {
    if (spawnSync('mkfifo', [at('unread')]).status !== 0) skip('no mkfifo');
    const r = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        'const { writeWhole } = await import(process.argv[1]); writeWhole(process.argv[2], "text")',
        new URL('../../dist/cli/input/files.js', import.meta.url).href,
        at('unread'),
      ],
      { encoding: 'utf8', timeout: 30_000 },
    );
    expect([r.signal, r.stderr]).toEqual([null, expect.stringContaining('it is a pipe without a reader')]);
  }, 40_000);

  it('of files that need each other all are written, or none', () => {
    mkdirSync(at('together/folder'), { recursive: true });
    symlinkSync(at('elsewhere'), at('together/link'));
    const names = readdirSync(at('together'));
    for (const bad of ['folder', 'link', 'none/x'])
      expect(
        complaint(() =>
          writeTogether([
            [at('together/first'), 'x'],
            [at(`together/${bad}`), 'x'],
          ]),
        ),
      ).toMatch(/^error: cannot write /);
    expect(readdirSync(at('together'))).toEqual(names);
    writeTogether([
      [at('together/first'), 'x'],
      [at('together/second'), 'y'],
    ]);
    expect(readFileSync(at('together/second'), 'utf8')).toBe('y');
  });

  it('nothing is left of what fails half-way, and the file before stays', () => {
    writeFileSync(at('kept'), 'before');
    const names = readdirSync(dir);
    const half = complaint(() =>
      makeWhole(at('kept'), (aside) => {
        writeFileSync(aside, 'half');
        throw Object.assign(new Error(), { code: 'ENOSPC' });
      }),
    );
    expect(half).toMatch(/^error: cannot write .*kept: the disk is full\n$/);
    expect(readdirSync(dir)).toEqual(names);
    expect(readFileSync(at('kept'), 'utf8')).toBe('before');
  });

  it('what cannot be made is one error, and ends', ({ skip }) => {
    if (process.platform !== 'linux') skip('needs a file system that refuses');
    for (const path of ['/proc/none', '/proc/none/file'])
      expect(complaint(() => writeWhole(path, 'x'))).toMatch(
        /^error: cannot write \/proc\/none.*: (nothing can be made there\n$|there is no folder)/,
      );
  });
});
