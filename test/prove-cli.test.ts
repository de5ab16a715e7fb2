import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MOST_JOBS } from '../src/cli/jobs.ts';
import { packagedSolver } from '../src/cli/solver.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-prove-'));
const stored = join(root, 'pipelines/rules/verdicts.json');
const before = readFileSync(stored, 'utf8');
const orrery = (...args: readonly string[]) => {
  const r = spawnSync('node', [join(root, 'bin/orrery.js'), ...args], {
    encoding: 'utf8',
    cwd: dir,
    env: { ...process.env, XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const prove = (...args: readonly string[]) => orrery('rules', 'prove', ...args);

describe('options of `rules prove`', () => {
  it.each(['0', '-1', '1.5', 'many', String(MOST_JOBS + 1)])('--jobs %s is no number of workers', (n) => {
    const r = prove('--jobs', n);
    expect([r.code, r.out, r.err]).toEqual([
      1,
      '',
      `error: --jobs ${n} is no number of workers\n  it is a whole number from 1 to ${MOST_JOBS}\n`,
    ]);
  });
  it.each(['0', '-1', 'x', '1000'])('--effort %s is no factor', (n) => {
    const r = prove('--effort', n);
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/^error: --effort .* is no factor of the limits\n/),
    ]);
  });
  it('a solver that cannot be used is told once, whatever the number of workers', () => {
    for (const jobs of ['1', '2']) {
      const r = prove('--group', 'shifts', '--all', '--jobs', jobs, '--solver', 'no-such-solver');
      expect([r.code, r.err.match(/cannot use/g)?.length]).toEqual([1, 1]);
    }
  }, 60_000);
});

describe.skipIf(!packagedSolver())('with a solver', () => {
  it('two workers say what one says', () => {
    const [one, two] = ['1', '2'].map((n) => prove('--group', 'wide-mad', '--all', '--json', '--jobs', n));
    expect([one.code, two.code]).toEqual([0, 0]);
    expect(JSON.parse(two.out)).toEqual(JSON.parse(one.out));
    expect(JSON.parse(one.out).length).toBeGreaterThan(5);
  }, 120_000);

  it('a stored proof stays where smaller limits do not find it, and the run says so', () => {
    const r = prove('--rule', 'rotate-left-variable', '--effort', '0.001', '--accept');
    expect(r.code).toBe(0);
    expect(r.out).toMatch(/^ {2}verified \(/m);
    expect(r.out).toMatch(/it was proved with greater limits than those of this run, which says: unknown: /);
    expect(readFileSync(stored, 'utf8')).toBe(before);
    const [json] = JSON.parse(prove('--rule', 'rotate-left-variable', '--effort', '0.001', '--json').out);
    expect(json).toMatchObject({ verdict: 'verified', stays: expect.stringContaining('greater limits') });
  }, 60_000);

  it('a verdict of a shipped rule is stored with --accept alone', () => {
    // In a copy, since other tests read the file meanwhile.
    const copy = join(dir, 'copy');
    for (const part of ['bin', 'pipelines', 'schemas', 'knobs', 'package.json'])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    cpSync(join(root, 'dist'), join(copy, 'dist'), {
      recursive: true,
      filter: (path) => !/\.map$|[\\/](?:site|tools)$/.test(path),
    });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const all = JSON.parse(before);
    const { 'add-of-nothing': _, ...rest } = all;
    const without = JSON.stringify(rest);
    const file = join(copy, 'pipelines/rules/verdicts.json');
    writeFileSync(file, without);
    const run = (...args: readonly string[]) =>
      spawnSync(
        'node',
        [join(copy, 'bin/orrery.js'), 'rules', 'prove', '--rule', 'add-of-nothing', ...args],
        {
          encoding: 'utf8',
        },
      );
    expect(run().stdout).toMatch(/--accept stores what was found/);
    expect(readFileSync(file, 'utf8')).toBe(without);
    expect(run('--accept').status).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(all);
  }, 60_000);

  it('a rule of a file that is not fully proved counts as open until it is accepted', () => {
    const file = join(dir, 'mine.yaml');
    writeFileSync(
      file,
      `kind: rules
group: mine
rules:
  - id: mine
    title: t
    match: |
      F2F.F64.F32 $x, $a
      F2F.F64.F32 $y, $b
      DADD.RN $t, $x, $y
      F2F.F32.F64 $d, $t
    rewrite: FADD.RN $d, $a, $b
    holds: as of single-sum-of-doubles
    source: s
`,
    );
    const few = ['--rules', file, '--group', 'mine', '--effort', '0.002'];
    const open = prove(...few);
    expect([open.code, open.out]).toEqual([
      0,
      expect.stringMatching(/by argument[\s\S]*mine rests on more than a proof and counts as open; --accept/),
    ]);
    expect(orrery('check', file).err).toContain("nobody has proved rule 'mine'");
    expect(prove(...few, '--accept').out).not.toMatch(/counts as open/);
    expect(orrery('check', file).err).not.toContain('nobody has proved');
  }, 120_000);
});

describe('reviews', () => {
  it('are printed with the rule', () => {
    for (const args of [
      ['prove', '--rule', 'divide-twice', '--effort', '0.001'],
      ['show', 'divide-twice'],
      ['explain', join(root, 'test/kernels/divmod/divmod.sm_80.ptx'), '--rule', 'divide-twice'],
    ])
      expect(orrery('rules', ...args).out, args[0]).toMatch(/reviewed by [\s\S]*0 <= r < j/);
  }, 60_000);
  it('of a rule that has changed, or is none, are errors of `check` at their lines', () => {
    const text = readFileSync(join(root, 'pipelines/rules/reviews.yaml'), 'utf8');
    const file = join(dir, 'reviews.yaml');
    writeFileSync(
      file,
      text
        .replace(/hash: '[0-9a-f]{16}'/, "hash: '0000000000000000'")
        .replace('rule: divide-twice', 'rule: divide-thrice'),
    );
    const r = orrery('check', file);
    expect(r.code).toBe(1);
    expect(r.err).toMatch(
      /error: rule 'single-sum-of-doubles' has changed since its review\n +--> .*reviews.yaml:\d+:/,
    );
    expect(r.err).toMatch(/error: there is no rule 'divide-thrice'[\s\S]*did you mean 'divide-twice'/);
    expect(orrery('check', join(root, 'pipelines/rules/reviews.yaml'))).toMatchObject({ code: 0, err: '' });
  });
});
