import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256 } from '../../src/ir/sha256.ts';
import { otherFiles } from '../../src/review/files.ts';
import { reviewChanges, standing, type Trust } from '../../src/review/trust.ts';
import { rulesOfDoc } from '../../src/rules/group.ts';
import { isVerdict, needsReview, type Verdict, type Verdicts } from '../../src/rules/prove/verdict.ts';
import type { Rule } from '../../src/rules/rule.ts';
import { ROOT } from '../../src/spec/node.ts';
import type { Specs } from '../../src/spec/specs.ts';
import { testIsa } from '../support/isa.ts';
import { shipped } from '../support/specs.ts';
import { WARM } from '../support/warm.ts';

/* What the review of a pull request trusts: statements of the pull request about itself are only claims. */

const rules = new Map<string, Rule>(
  [...shipped.rules!.values()].flatMap((f) =>
    rulesOfDoc(f.data, testIsa(), 'texts').rules.map((r): [string, Rule] => [r.id, r]),
  ),
);
const verdicts = JSON.parse(readFileSync(join(ROOT, 'pipelines/rules/verdicts.json'), 'utf8')) as Verdicts;
/** A rule that relies on a review. */
const reviewed = [...rules.values()].find(
  (r) => verdicts[r.id] !== undefined && needsReview(verdicts[r.id]),
)!;
const verdict = verdicts[reviewed.id];

/** Specs of which one has no review of that rule. */
const without: Specs = {
  ...shipped,
  reviews: {
    ...shipped.reviews!,
    data: {
      ...shipped.reviews!.data,
      reviews: (shipped.reviews!.data.reviews as { rule: string }[]).filter((r) => r.rule !== reviewed.id),
    },
  },
};
const trust = (base: Specs, head: Specs, ...accepted: string[]): Trust => ({
  base,
  head,
  accepted: new Set(accepted),
});

describe('a rule that no solver proves', () => {
  const says = (t: Trust, v: Verdict = verdict) => standing(reviewed, { verdict: v }, t);

  it('passes by the review of the base', () => {
    expect(says(trust(shipped, shipped)).alarm).toBe(false);
  });

  it('needs a person where the change brings its own review, or none', () => {
    const own = says(trust(without, shipped));
    expect([own.alarm, own.note]).toEqual([
      true,
      expect.stringContaining(
        'the change brings the review of its own rule: a person must confirm it (--accept)',
      ),
    ]);
    const none = says(trust(without, without));
    expect([none.alarm, none.note]).toEqual([true, expect.stringContaining('no review says why it holds')]);
    expect(says(trust(without, shipped, reviewed.id)).alarm).toBe(false);
    expect(says(trust(without, shipped, 'another')).alarm).toBe(true);
  });

  it('is not excused by what it says of itself', () => {
    for (const kind of ['inexact', 'out of scope'] as const) {
      const own = says(trust(shipped, shipped), { verdict: kind, why: 'trust me' });
      expect([own.alarm, own.note]).toEqual([
        true,
        expect.stringContaining('what the rule states about itself'),
      ]);
      expect(says(trust(shipped, shipped, reviewed.id), { verdict: kind, why: 'x' }).alarm).toBe(false);
    }
  });

  it('passes by no claim', () => {
    const claimed: Verdict = { verdict: 'verified', instances: 1 };
    const said = standing(reviewed, { verdict: null, claimed }, trust(shipped, shipped, reviewed.id));
    expect([said.alarm, said.note]).toEqual([
      true,
      expect.stringMatching(/^claimed, not proved: .*verified/),
    ]);
  });
});

describe('reviews', () => {
  it('that the change adds, changes or takes away are shown as such', () => {
    const rows = (t: Trust) => reviewChanges(t).map((c) => [c.name, c.before, c.after, c.alarm]);
    const name = `review of ${reviewed.id}`;
    expect(rows(trust(shipped, shipped))).toEqual([]);
    expect(rows(trust(without, shipped))).toEqual([[name, 'nothing', 'new', true]]);
    expect(rows(trust(without, shipped, reviewed.id))).toEqual([[name, 'nothing', 'new', false]]);
    expect(rows(trust(shipped, without))).toEqual([[name, 'there', 'nothing', false]]);
    const [change] = reviewChanges(trust(without, shipped));
    expect(change.place).toMatch(/reviews\.yaml:\d+$/);
    expect(change.note).toContain('the change brings it itself: a person must confirm it');
  });
});

describe('verdicts from files', () => {
  it('belong to rules by a hash for which no second rule can be made', () => {
    const texts = [...Array.from({ length: 200 }, (_, n) => 'x'.repeat(n)), 'ä€😀\ud800'.repeat(99)];
    for (const text of texts)
      expect(sha256(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
    for (const { hash } of Object.values(verdicts)) expect(hash).toMatch(/^[0-9a-f]{40}$/);
    expect(Object.values(verdicts).map((v) => v.hash)).toContain(reviewed.hash);
  });

  it.each([
    [{ verdict: 'verified', instances: 1 }, true],
    [{ verdict: 'by argument', instances: 1, samples: 2, to: 'x' }, true],
    [{ verdict: 'verified' }, false],
    [{ verdict: 'bounded', instances: 1 }, false],
    [{ verdict: 'refuted' }, false],
    [{ verdict: 'verified', instances: 1, how: 7 }, false],
    [{ verdict: 'constructor', instances: 1 }, false],
    [{ verdict: ['verified'], instances: 1 }, false],
    ['verified', false],
    [null, false],
  ])('%j: %j', (data, is) => {
    expect(isVerdict(data)).toBe(is);
  });
});

describe('a pull request', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-trust-'));
  const repo = join(dir, 'repo');
  afterAll(() => rmSync(dir, { recursive: true }));
  const run = (program: string, args: readonly string[]) => {
    const env = { ...process.env, ...WARM, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') };
    const r = spawnSync(program, args, { cwd: repo, encoding: 'utf8', env });
    return { code: r.status, out: r.stdout, err: r.stderr };
  };
  const git = (...args: string[]) => {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false'];
    const r = run('git', [...who, ...args]);
    expect([r.code, r.err]).toEqual([0, r.err]);
  };
  const diff = (...args: string[]) =>
    run(process.execPath, [
      join(ROOT, 'bin', 'orrery.js'),
      ...['diff', 'base', 'head', '--no-kernels', '--sm', 'sm_90', '-O', '3', '--no-prove', ...args],
    ]);
  beforeAll(() => {
    for (const f of ['pipelines', 'knobs']) cpSync(join(ROOT, f), join(repo, f), { recursive: true });
    git('init', '-q', '-b', 'base');
    git('add', '-A');
    git('commit', '-qm', 'specs');
    git('checkout', '-qb', 'head');
  });

  it('that says of a rule what the base does not say shows it, and is not believed', () => {
    const file = join(repo, 'pipelines/rules/verdicts.json');
    const stated = { ...verdicts, [reviewed.id]: { verdict: 'verified', instances: 1, hash: verdict.hash } };
    writeFileSync(file, JSON.stringify(stated));
    git('commit', '-qam', 'verdict');
    const r = diff();
    expect(r.out).toMatch(/^1 change/m);
    expect(r.out).toMatch(
      new RegExp(`^rule \\w+: ${reviewed.id}: [^>]* -> verified \\(1 choice of modifiers\\)$`, 'm'),
    );
    // What the base has, with its review, is what counts.
    expect(r.out).not.toContain('ALARM');
    writeFileSync(file, 'nonsense');
    git('commit', '-qam', 'no verdicts');
    expect(diff().code).toBe(0);
  });

  it('that states verdicts of what is no rule as it stands shows them', () => {
    const file = join(repo, 'pipelines/rules/verdicts.json');
    git('checkout', '-q', 'base', '--', 'pipelines/rules/verdicts.json');
    // A rule with this hash could come in the next change, and its verdict would then be that of the base.
    const later = { verdict: 'verified', instances: 1, hash: '0'.repeat(40) };
    writeFileSync(file, JSON.stringify({ ...verdicts, 'comes-later': later, [reviewed.id]: later }));
    git('commit', '-qam', 'verdicts of what is to come');
    const { out } = diff();
    expect(out).toMatch(/^2 changes; 2 ALARMs/m);
    expect(out).toMatch(
      /^rule verdict of comes-later: no stored verdict -> verified .*\n {2}there is no such rule: /m,
    );
    expect(out).toMatch(new RegExp(`^rule verdict of ${reviewed.id}: `, 'm'));
    expect(out).toContain('the rule now has another hash: ');
    git('checkout', '-q', 'base', '--', 'pipelines/rules/verdicts.json');
    git('commit', '-qam', 'as they were');
  });

  it('that brings a rule, its verdict and its review does not pass without a person', () => {
    const group = join(repo, 'pipelines/rules/identities.yaml');
    const text = readFileSync(group, 'utf8').trimEnd();
    const rule = `
  - id: a-doubt
    title: no sample says anything against it
    match: |
      IMAD $t, $a, 0x9e3779b1, 12345
      ISETP.EQ.U32 $d, $t, 0x1234567
    rewrite: 'PLOP3 $d, !PT, PT, PT, 0xf0'
    holds: since I say so
    source: a mistake
`;
    writeFileSync(group, text + rule);
    git('commit', '-qam', 'rule');
    const r = diff();
    expect(r.out).toMatch(
      /^rule identities: a-doubt: nothing -> new\n {2}not proved: no solver could be asked$/m,
    );
    expect(r.out).toContain('ALARM');
    expect(diff('--accept', 'a-doubt').out).toContain('ALARM');
  });
});

describe('files that no reader of specs understands', () => {
  type Sides = readonly [base: readonly string[], head: readonly string[]];
  /** Compares two sides; of those that are folders, only what is asked for is there. */
  const compared = (sides: Sides, folders: readonly number[] = []) =>
    otherFiles(
      (of, names) => {
        const at = of === 'base' ? 0 : 1;
        if (names === null && folders.includes(at)) return null;
        const asked = (p: string) => names?.some((n) => p === n || p.startsWith(`${n}/`)) ?? true;
        return new Map(
          sides[at].filter(asked).map((p) => [p, p.includes('modules/') ? `submodule ${at}` : 'hash']),
        );
      },
      ['main:', ''],
      (path) => path === 'knobs/catalog.yaml',
    );
  const all = ['bin/orrery.js', 'src/read.ts', '.github/workflows/ci.yml', 'pipelines/machine/ada.yaml'];

  it('are named, also where the head has none of their folder left', () => {
    expect(compared([all, all])).toMatchObject({ changes: [], unread: [] });
    expect(compared([all, all.slice(0, 2)]).unread).toEqual(['.github/workflows/ci.yml']);
    expect(compared([all, all.slice(0, 3)]).changes).toMatchObject([
      { kind: 'spec', name: 'pipelines/machine/ada.yaml', basePlace: 'main:pipelines/machine/ada.yaml' },
    ]);
  });
  it('are all that two commits have, but what is for people and tests', () => {
    const files = [
      '.npmrc',
      'dist/specs.json',
      'package.json',
      'node_modules/a/index.js',
      'test/kernels/k/k.ptx',
    ];
    expect(compared([all, [...all, ...files]]).unread).toEqual([...files].sort());
    const pages = ['README.md', 'docs/a.yaml', 'LICENSE', 'test/cli/a.test.ts', 'pipelines/isa/A.md'];
    const specs = ['knobs/catalog.yaml', 'orrery.budget.yaml', 'pipelines/rules/verdicts.json'];
    expect(compared([all, [...all, ...pages, ...specs]])).toEqual({ changes: [], unread: [] });
    // A workflow may be the first file that is no spec.
    expect(
      compared([['knobs/sets/a.yaml'], ['knobs/sets/a.yaml', '.github/workflows/ci.yml']]).unread,
    ).toEqual(['.github/workflows/ci.yml']);
  });
  it('of a folder are those that decide, and what the commit has at its root', () => {
    const beside = ['node_modules/a.js', 'notes.txt', 'test/kernels/k/k.ptx'];
    expect(compared([all, [...all, ...beside]], [1]).unread).toEqual(['test/kernels/k/k.ptx']);
    expect(compared([[...all, 'dist/a.js'], all], [1]).unread).toEqual(['dist/a.js']);
    const submodule = [...all, 'modules/a'];
    expect(compared([submodule, [...submodule, 'modules/a/file.c']], [1]).unread).toEqual([]);
    expect(compared([submodule, submodule]).unread).toEqual(['modules/a']);
  });
  it('are not missed in a folder of specs alone', () => {
    expect(compared([all, all.slice(3)], [1]).unread).toEqual([]);
  });
});
