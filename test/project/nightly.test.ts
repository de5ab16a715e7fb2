import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../src/spec/node-cache.ts';
import { testFolder } from '../support/specs.ts';

/* The script of the nightly searches, with a stand-in for the test runner that only records its arguments. */
const folder = testFolder();
const calls = join(folder.path, 'calls');
const npx = folder.write(
  'npx',
  `#!/usr/bin/env bash
echo "$ORRERY_TEST_SIZE $ORRERY_TEST_PART\${ORRERY_FUZZ_SEED:+seed $ORRERY_FUZZ_SEED}\${ORRERY_JUDGE_TABLE:+table of \
$ORRERY_JUDGE_EFFORT} $*" >> '${calls}'
[ "$ORRERY_TEST_PART" != "$FAILS" ]
`,
);
chmodSync(npx, 0o755);
chmodSync(
  folder.write('node', `#!/usr/bin/env bash\necho "node, $ORRERY_TEST_SIZE: $*" >> '${calls}'\n`),
  0o755,
);

/** Runs the script. @returns the recorded arguments */
function nightly(args: readonly string[], fails = '-') {
  folder.write('calls', '');
  const r = spawnSync('bash', [join(ROOT, '.ci', 'nightly'), ...args], {
    encoding: 'utf8',
    cwd: folder.path,
    env: { PATH: `${folder.path}:${process.env['PATH']}`, FAILS: fails },
  });
  const asked = readFileSync(calls, 'utf8').trimEnd().split('\n');
  return { code: r.status, out: r.stdout, err: r.stderr, asked: asked.filter((l) => l !== '') };
}

it('runs each search in its parts', () => {
  const r = nightly(['--logs', 'all']);
  expect([r.code, r.asked.length]).toEqual([0, 153]);
  expect(r.asked[0]).toBe('75 1/40 vitest run test/project/mutation-fuzz.test.ts');
  expect(r.asked[47]).toBe('200 8/8 vitest run test/project/fuzz.test.ts -t shuffles');
  expect(r.asked[97]).toBe('100 10/10 vitest run test/project/c-programs.test.ts');
  expect(r.asked[117]).toBe('200 20/20 vitest run test/project/oracle.test.ts');
  expect(r.asked[127]).toBe('250 10/10 vitest run test/machine/oracle-machine.test.ts');
  expect(r.asked[131]).toBe(
    '500 4/4 vitest run test/security/hostile-fuzz.test.ts test/security/hostile-cubins.test.ts',
  );
  expect(r.asked[132]).toBe('1 table of medium vitest run test/judge/judge.test.ts');
  expect(r.asked[138]).toBe('100 6/6 vitest run test/judge/validate-faults.test.ts');
  expect(r.asked[142]).toBe('1  vitest run --shard=4/4');
  const own = /^node, 1: dist\/tools\/mutate\.js --sample 300 --part 10\/10 --map \S+\/all\/own\.map$/;
  expect(r.asked[152]).toMatch(own);
  expect(r.asked[87]).toBe('5 seed 40 vitest run test/project/fuzz-programs.test.ts');
});

it('fails in the end if a part does, and runs again only what has not passed', () => {
  const args = ['--logs', 'some', '--only', 'shuffles', '--size', '0.5', '--parts', '3'];
  const first = nightly(args, '2/3');
  expect([first.code, first.asked.length]).toEqual([1, 3]);
  expect(first.out).toMatch(/^2 passed, 0 had passed before, 1 failed$/m);
  expect(readdirSync(join(folder.path, 'some')).sort()).toEqual([
    'shuffles-size-0.5-part-1-of-3.passed',
    'shuffles-size-0.5-part-2-of-3.failed',
    'shuffles-size-0.5-part-3-of-3.passed',
  ]);
  const again = nightly(args);
  expect([again.code, again.asked]).toEqual([
    0,
    ['0.5 2/3 vitest run test/project/fuzz.test.ts -t shuffles'],
  ]);
  expect(again.out).toMatch(/^1 passed, 2 had passed before, 0 failed$/m);
  // Another size is another search.
  expect(nightly([...args, '--size', '1']).asked).toHaveLength(3);
});

it.each([
  [['--help'], 0, /^usage: \.ci\/nightly/],
  [['--sizes', '1'], 2, /unknown option '--sizes'/],
  [['--size'], 2, /--size needs a value/],
  [['--size', 'many'], 2, /--size is a number above 0, not 'many'/],
  [['--size', '0.0'], 2, /--size is a number above 0, not '0\.0'/],
  [['--parts', '0'], 2, /--parts is a number from 1 on, not '0'/],
  [
    ['--only', 'all'],
    2,
    /--only is mutants, shuffles, programs, c, oracle, machine, hostile, judge, proofs, properties or own, not 'all'/,
  ],
])('%j', (args, code, says) => {
  const r = nightly(args);
  expect([r.code, r.asked]).toEqual([code, []]);
  expect(r.out + r.err).toMatch(says);
});
