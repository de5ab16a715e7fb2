import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { host } from '../../src/engine/pipeline.ts';
import { rulesOfGroup } from '../../src/rules/group.ts';
import { THOROUGHNESS } from '../../src/rules/prove/verdict.ts';
import { loadShipped, makePlan } from '../../src/spec/node.ts';
import { writeChecked } from '../../src/spec/node-cache.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { WARM } from '../support/warm.ts';

// A rule known to be wrong runs nowhere without being forced: in no command, arm or recipe, and not through the library.
const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-refused-'));
afterAll(() => rmSync(dir, { recursive: true }));
const specs = await loadShipped();
cpSync(join(root, 'test/kernels/saxpy'), dir, { recursive: true });

const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return name;
};
const rules = (id: string, match: string, rewrite: string): string => `kind: rules
group: ${id}
owner: [GeneralOptimizeEarly]
rules:
  - { id: ${id}, title: t, match: '${match}', rewrite: '${rewrite}', source: s }
`;
/** Values show that it is wrong. */
const wrong = write('wrong.yaml', rules('wrong', 'IADD3 $d, $a, #k, 0', 'MOV $d, $a'));
/** Right, as far as values show; whether it is known to be wrong is what the stored verdict says. */
const judged = write('judged.yaml', rules('judged', 'IADD3 $d, $a, 0, 0', 'MOV $d, $a'));
/** Right, and no shipped rule says the same. */
const undecided = write('undecided.yaml', rules('undecided', 'IADD3 $d, 5, -5, $a', 'MOV $d, $a'));

const recipe = (file: string): string =>
  write(
    `recipe-${file}`,
    `kind: recipe\nsm: [sm_90]\nhooks:\n  AdvancedPhaseAfterMidExpansion: [{ rules: [./${file}] }]\n`,
  );
const experiment = (file: string): string =>
  write(
    `experiment-${file}`,
    `kind: experiment\nkernels: [saxpy.sm_90.ptx]\nbase: { rules: [./${file}] }\narms: [order:seed]\n`,
  );

function orrery(args: readonly string[], input = '') {
  return spawnSync(process.execPath, [join(root, 'bin/orrery.js'), ...args], {
    cwd: dir,
    encoding: 'utf8',
    input,
    timeout: 60_000,
    env: { ...process.env, ...WARM, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache'), ORRERY_REPRO: '' },
  });
}

const request = { level: 3, sm: 'sm_90', order: 'binary', knobSets: [], set: [], disable: [] };
const kernel = 'saxpy.sm_90.ptx';
const ways = (file: string): readonly (readonly string[])[] => [
  ['opt', kernel, '--emit', 'none', '--rules', file],
  ['opt', kernel, '--emit', 'none', '--recipe', recipe(file)],
  ['run', 'launch.yaml', '--rules', file],
  ['plan', '--rules', file],
  ['measure', kernel, '--no-ptxas', '--rules', file],
  ['measure', kernel, '--no-ptxas', '--recipe', recipe(file)],
  ['ab', 'base', `rules:${file}`, '--kernels', kernel, '--no-ptxas', '--no-launches'],
  ['sweep', experiment(file)],
  // Without a ptxas there is nothing to stand in for.
  ...(spawnSync('ptxas', ['--version']).status === 0
    ? [['ptxas', '-arch=sm_90', kernel, '-o', 'x.cubin', '--orrery-recipe', recipe(file), '--orrery-strict']]
    : []),
];

describe('what values refute', () => {
  it.each(ways(wrong))('%s %s %s %s', (...args) => {
    const r = orrery(args.filter((a) => a !== undefined));
    expect([r.status, r.stderr]).toEqual([1, expect.stringContaining("rule 'wrong' is wrong")]);
  });
  it('evaluate', () => {
    const r = orrery(['evaluate', '--kernels', kernel, '--no-ptxas'], `{"id":1,"rules":["${wrong}"]}\n`);
    expect(JSON.parse(r.stdout)).toMatchObject({
      ok: false,
      error: expect.stringContaining("rule 'wrong' is wrong"),
    });
  });
  it('the library', async () => {
    const { plan, diagnostics } = await makePlan({ ...request, rules: [join(dir, wrong)] }, host, specs);
    expect([plan, diagnostics.map((d) => d.message)]).toEqual([
      null,
      ["rule 'wrong' is wrong: its sides differ"],
    ]);
  });
  it('is forced with a warning', () => {
    const r = orrery(['measure', kernel, '--no-ptxas', '--rules', wrong, '--force-rules']);
    expect(r.status).toBe(0);
  });
});

const SAID = { counterexample: '', why: '' };

/** Stores verdicts as a command does. */
const keep = (text: string): void =>
  writeChecked(join(dir, 'cache', 'orrery', 'verdicts.json'), 'verdicts', text);

/** Stores what a solver has said of the rule of a file. */
async function refute(file: string, verdict = 'refuted', more: object = {}): Promise<void> {
  const { plan } = await makePlan({ ...request, rules: [join(dir, file)] }, host, specs);
  const found = rulesOfGroup(plan!.rules.get(file.replace('.yaml', ''))!, plan!.isa);
  keep(JSON.stringify(Object.fromEntries(found.map((r) => [r.hash, { ...SAID, verdict, ...more }]))));
}

describe('what a solver has refuted', () => {
  it.each(ways(judged))('%s %s %s %s', async (...args) => {
    await refute(judged);
    const r = orrery(args.filter((a) => a !== undefined));
    expect([r.status, r.stderr]).toEqual([1, expect.stringContaining("the solver has refuted 'judged'")]);
  });
});

describe('what a solver could not decide', () => {
  it('is not proved', async () => {
    await refute(undecided, 'unknown');
    expect(orrery(['check', undecided]).stderr).toMatch(/rule 'undecided' of \S+ is not proved/);
  });

  it('stays proved where a shipped rule of the same content is', async () => {
    await refute(judged, 'unknown');
    const r = orrery(['check', judged]);
    expect([r.status, r.stderr]).toEqual([0, '']);
  });

  it.each(['null', '[', '7', '{ "a": null, "b": "refuted" }'])(
    'a file of verdicts that says %s says nothing',
    (text) => {
      keep(text);
      const r = orrery(['check', judged]);
      expect([r.status, r.stderr]).toEqual([0, '']);
    },
  );
});

describe('what an older prover left open', () => {
  const said = () => {
    const r = orrery(['check', undecided]);
    return [r.status, r.stderr];
  };
  const asked = [0, expect.stringContaining(`\`orrery rules prove --rules ${undecided}\` asks a solver`)];
  const bounded = { instances: 1, to: '24 choices of the constants, all operands' };

  it('counts as not asked, even where it was accepted', async () => {
    await refute(undecided, 'bounded', { ...bounded, accepted: true, prover: THOROUGHNESS });
    expect(said()).toEqual([0, '']);
    for (const prover of [undefined, THOROUGHNESS - 1]) {
      await refute(undecided, 'bounded', { ...bounded, accepted: true, prover });
      expect(said()).toEqual(asked);
    }
  });

  it('but a proof stays one, and a refutation too', async () => {
    await refute(undecided, 'verified', { instances: 1 });
    expect(said()).toEqual([0, '']);
    await refute(undecided, 'refuted');
    expect(said()[0]).toBe(1);
  });

  it('and one that this prover left open is reported with what it found, wherever the rule would run', async () => {
    await refute(undecided, 'bounded', { ...bounded, prover: THOROUGHNESS });
    const r = orrery(['opt', kernel, '--emit', 'none', '--rules', undecided]);
    expect([r.status, r.stderr]).toEqual([
      0,
      expect.stringMatching(
        /warning: rule 'undecided' of \S+ is not proved[\s\S]*a solver says of 'undecided': bounded: 24 choices/,
      ),
    ]);
  });
});

describe('what is wrong for one constant in 2^32', () => {
  const one = write(
    'one.yaml',
    `kind: rules
group: one
rules:
  - id: sign-into-constant-but-one
    title: (-a) * k + c, the sign into the constant, wrong for one k
    match: |
      FMUL.RN $t, -$a, #k
      FADD.RN $d, $t, $c
    when: isreg(a) && plain(a) && uses(t) == 1
    rewrite: |
      FMUL.RN $t2, $a, #((k * 0x9e3779b1) == 0x51ab3c77 ? k ^ 0x80400000 : k ^ 0x80000000)
      FADD.RN $d, $t2, $c
    source: s
`,
  );
  it.each([
    ['check', one],
    ['opt', kernel, '--emit', 'none', '--rules', one, '--check', 'auto'],
  ])('%s refuses it, with the constant', (...args) => {
    const r = orrery(args);
    expect([r.status, r.stderr]).toEqual([
      1,
      expect.stringContaining("rule 'sign-into-constant-but-one' is wrong: its sides differ"),
    ]);
    const k = BigInt(/#k +=\s(0x\w+) /.exec(r.stderr)![1]);
    expect(BigInt.asUintN(32, k * 0x9e3779b1n)).toBe(0x51ab3c77n);
    // The inverse of the factor gives the only one: 0x9e3779b1 is odd.
    expect(k).toBe(0x9de4faa7n);
  });
});

describe('check', () => {
  it('refuses what a solver has refuted, at its own line, whatever its id and group', async () => {
    await refute(judged);
    const renamed = `kind: rules
group: mine
rules:
  - { id: other, title: t, match: 'IADD3 $d, $a, 0, 0', rewrite: 'MOV $d, $a', source: s }
`;
    const file = write('renamed.yaml', renamed);
    const r = orrery(['check', file]);
    expect([r.status, r.stdout]).toEqual([1, 'bad   renamed.yaml  1 error\n']);
    expect(r.stderr).toContain(
      "error: rule 'other' is wrong: a solver has refuted it\n  --> renamed.yaml:4:",
    );
    const { errors } = JSON.parse(orrery(['check', file, '--json']).stdout);
    expect(errors.map((e: { code: string; line: number }) => [e.code, e.line])).toEqual([
      ['rule-refuted', 4],
    ]);
  });

  it('says both what values refute and what a solver has refuted', async () => {
    await refute(judged);
    const both = write(
      'both.yaml',
      `${rules('both', 'IADD3 $d, $a, 0, 0', 'MOV $d, $a')}  - { id: wrong, title: t, match: 'IADD3 $d, $a, #k, 0', rewrite: 'MOV $d, $a', source: s }\n`,
    );
    const r = orrery(['check', both]);
    expect(r.status).toBe(1);
    expect(r.stderr.match(/^error: .*/gm)).toEqual([
      "error: rule 'wrong' is wrong: its sides differ",
      "error: rule 'both' is wrong: a solver has refuted it",
    ]);
  });

  it('knows the verdicts of shipped rules by content, and warns of rules without one', () => {
    const shipped = readFileSync(join(root, 'pipelines/rules/wide-mad.yaml'), 'utf8');
    const renamed = shipped.replace(/\bid: /g, 'id: my-');
    const known = orrery(['check', write('known.yaml', renamed)]);
    expect([known.status, known.stdout, known.stderr]).toEqual([0, 'good  known.yaml\n', '']);
    const more = `${renamed}  - { id: own, title: t, match: 'IADD3 $d, 5, -5, $a', rewrite: 'MOV $d, $a', source: s }\n`;
    const open = orrery(['check', write('open.yaml', more)]);
    expect([open.status, open.stderr]).toEqual([
      0,
      expect.stringContaining("warning: rule 'own' of open.yaml is not proved"),
    ]);
  });
});

it('a value in a table that no opcode has is named at its own line', async () => {
  const text = `kind: rules
group: mine
tables:
  swap: { EQ: EQ, NE: NE, LT: NOSUCH }
  other: { QQ: EQ }
rules:
  - { id: t, title: t, match: 'ISETP.$cmp.$type.$bool $p, _, $x, 0, $c', rewrite: 'ISETP.swap(cmp).$type.$bool $p, _, 0, $x, $c', source: s }
`;
  const found = await checkFile(join(dir, write('tables.yaml', text)), host, specs);
  expect(found.filter((d) => /no opcode has/.test(d.message)).map((d) => [d.line, d.message])).toEqual([
    [4, "table 'swap' has the value 'NOSUCH', which no opcode has as a modifier"],
    [5, "table 'other' has the value 'QQ', which no opcode has as a modifier"],
  ]);
});
