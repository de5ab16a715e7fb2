import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MOST_JOBS } from '../../src/cli/input/jobs.ts';
import { packagedSolver } from '../../src/cli/rules/solver.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
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

/** A copy of the installation, in which a test may change shipped files while other tests read them. */
function copied(name: string): string {
  const copy = join(dir, name);
  for (const part of ['bin', 'pipelines', 'schemas', 'knobs', 'package.json'])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  cpSync(join(root, 'dist'), join(copy, 'dist'), {
    recursive: true,
    filter: (path) => !/\.map$|[\\/](?:site|tools)$/.test(path),
  });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

describe('options of `rules prove`', () => {
  it.each(['0', '-1', '1.5', 'many', String(MOST_JOBS + 1)])('--jobs %s is not a number of workers', (n) => {
    const r = prove('--jobs', n);
    expect([r.code, r.out, r.err]).toEqual([
      1,
      '',
      `error: --jobs ${n} is not a number of workers\n  it is a whole number from 1 to ${MOST_JOBS}\n`,
    ]);
  });
  it.each(['0', '-1', 'x', '1000'])('--effort %s is not a factor', (n) => {
    const r = prove('--effort', n);
    expect([r.code, r.err]).toEqual([
      1,
      expect.stringMatching(/^error: --effort .* is not a factor of the limits\n/),
    ]);
  });
  it('a solver that cannot be used is reported once, whatever the number of workers', () => {
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
    const copy = copied('stored');
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

  describe.each([
    ['by argument', '    holds: as of single-sum-of-doubles\n'],
    ['unknown', ''],
  ])('a rule of a file that is %s', (verdict, holds) => {
    const group = `mine-${holds.length}`;
    const file = join(dir, `${group}.yaml`);
    writeFileSync(
      file,
      `kind: rules
group: ${group}
rules:
  - id: mine
    title: t
    match: |
      F2F.F64.F32 $x, $a
      F2F.F64.F32 $y, $b
      DADD.RN $t, $x, $y
      F2F.F32.F64 $d, $t
    rewrite: FADD.RN $d, $a, $b
${holds}    source: s
  - { id: proved, title: t, match: 'IADD3 $d, 5, -5, $a', rewrite: 'MOV $d, $a', source: s }
`,
    );
    const few = ['--rules', file, '--effort', '0.002'];
    it('fails, and says what comes next, until a person accepts it', () => {
      for (const more of [[], ['--json'], ['--accept', 'proved']]) {
        const open = prove(...few, ...more);
        expect([open.code, open.out, open.err], more.join()).toEqual([
          1,
          expect.stringContaining(verdict),
          expect.stringMatching(
            /^error: rule 'mine' is not proved\n.*--rule mine --effort 4` .*\n.*prove --rules .*yaml --accept mine` /m,
          ),
        ]);
      }
      const checked = orrery('check', file).err;
      expect(checked).toMatch(/rule 'mine' of \S+ is not proved/);
      expect(checked).toMatch(/a solver says of 'mine': .*\n.*--accept mine`/);
      expect(prove(...few, '--accept', 'mine').code).toBe(0);
      // From then on it passes without being named.
      expect(prove(...few)).toMatchObject({ code: 0, err: '' });
      expect(orrery('check', file).err).toBe('');
    }, 120_000);
    it('is accepted with all others where none is named, and by no name that is not its own', () => {
      const away = join(dir, `other-${group}`);
      const other = (...args: readonly string[]) =>
        spawnSync('node', [join(root, 'bin/orrery.js'), 'rules', 'prove', ...few, ...args], {
          encoding: 'utf8',
          cwd: dir,
          env: { ...process.env, XDG_CACHE_HOME: away },
        });
      const near = other('--accept', 'mime');
      expect([near.status, near.stderr]).toEqual([
        1,
        "error: --accept: this run has no rule 'mime'\n  did you mean 'mine'?\n",
      ]);
      expect(other('--accept').status).toBe(0);
      expect(other().status).toBe(0);
    }, 120_000);
  });

  it('a refuted rule is not accepted', () => {
    const file = join(dir, 'wrong.yaml');
    writeFileSync(
      file,
      `kind: rules
group: wrong
rules:
  - { id: wrong, title: t, match: 'IADD3 $d, $a, #k, 0', rewrite: 'MOV $d, $a', source: s }
`,
    );
    expect(prove('--rules', file, '--accept', 'wrong')).toMatchObject({
      code: 1,
      out: expect.stringContaining('refuted'),
    });
    expect(orrery('check', file).code).toBe(1);
  }, 60_000);

  it('a shipped rule passes by its review, and fails without', () => {
    const copy = copied('reviewed');
    const run = () =>
      spawnSync(
        'node',
        [join(copy, 'bin/orrery.js'), 'rules', 'prove', '--rule', 'divide-twice', '--effort', '0.001'],
        { encoding: 'utf8' },
      );
    expect(run()).toMatchObject({ status: 0, stderr: '' });
    const reviews = join(copy, 'pipelines/rules/reviews.yaml');
    const text = readFileSync(reviews, 'utf8');
    const stale = text.replace(/(rule: divide-twice\n {4}hash: )'\w+'/, "$1'0123456789abcdef'");
    expect(stale).not.toBe(text);
    writeFileSync(reviews, stale);
    const r = run();
    expect([r.status, r.stderr]).toEqual([
      1,
      expect.stringContaining("error: rule 'divide-twice' is not proved"),
    ]);
  }, 60_000);
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
  it('of many rules are one line each, and printed in full where that is asked for', () => {
    const args = ['rules', 'prove', '--group', 'division'];
    const short = orrery(...args);
    const full = orrery(...args, '--reviews');
    expect([short.code, full.code]).toEqual([0, 0]);
    const reviews = (text: string) => text.match(/^ {2}reviewed by .*$/gm) ?? [];
    expect(reviews(short.out).length).toBeGreaterThan(0);
    expect(reviews(full.out)).toEqual(reviews(short.out).map((l) => `${l}:`));
    const { review } = (
      JSON.parse(orrery(...args, '--json').out) as { review?: { argument: string } }[]
    ).find((r) => r.review !== undefined)!;
    const words = (text: string) =>
      text
        .split(/\s+/)
        .filter((w) => w !== '')
        .join(' ');
    expect(words(full.out)).toContain(words(review!.argument));
    expect(words(short.out)).not.toContain(words(review!.argument).slice(0, 40));
    expect(short.out).toContain('--reviews prints why');
  }, 60_000);
  it('of a rule that has changed, or is none, are errors of `check` at their lines', () => {
    const text = readFileSync(join(root, 'pipelines/rules/reviews.yaml'), 'utf8');
    const file = join(dir, 'reviews.yaml');
    writeFileSync(
      file,
      text
        .replace(/hash: '[0-9a-f]{40}'/, "hash: '0000000000000000000000000000000000000000'")
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
