import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-cli-'));
afterAll(() => rmSync(dir, { recursive: true }));
const kernels = join(root, 'test', 'kernels');
mkdirSync(join(dir, 'none'));
/** Numbers at the beginning of a sentence. */
const COUNTS = 'No One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen Fourteen'.split(
  ' ',
);
function orrery(...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

describe('commands', () => {
  it('opt: account, check, Ori that is read back, JSON', () => {
    const file = join(kernels, 'interpreter', 'interpreter.sm_80.ptx');
    const o = join(dir, 'i.ori');
    const a = orrery(
      'opt',
      file,
      '-O3',
      '--check',
      'auto',
      '--check-each',
      '--check',
      join(kernels, 'interpreter', 'launch.yaml'),
      '--verify-each',
      '-o',
      o,
    );
    expect(a.err).toMatch(/equal.*: 1 kernel left the same memory/);
    expect(a.err).toMatch(/right: .*launch.yaml gives what it expects/);
    expect(a.code).toBe(0);
    const b = orrery('opt', o, '--emit', 'ori', '-q');
    expect(b.code).toBe(0);
    expect(b.out).toContain('.entry interpret');
    const j = JSON.parse(orrery('opt', file, '--emit', 'json', '-q').out);
    const noOps = j.phases.filter((p: { isNoOp: boolean }) => p.isNoOp);
    expect(noOps).toContainEqual(
      expect.objectContaining({ id: 'AdvancedPhasePreSched', why: 'isNoOp: nothing fills the hook' }),
    );
    expect([j.order, j.phases.length]).toEqual(['binary', 159]);
  });

  it('opt --check: a launch that expects nothing compares with what the kernel did before the phases', () => {
    const folder = join(dir, 'expects-nothing');
    mkdirSync(folder);
    const yaml = (from: string) =>
      `kind: launch\nmodule: ${join(kernels, 'saxpy', 'saxpy.sm_90.ptx')}\nkernel: saxpy\ngrid: [1, 1, 1]\nblock: [32, 1, 1]\nparams:\n  - { scalar: s32, value: 32 }\n  - { scalar: f32, value: 3 }\n  - { buffer: f32, length: ${from}, fill: iota }\n  - { buffer: f32, length: 32, fill: iota }\n`;
    writeFileSync(join(folder, 'launch.yaml'), yaml('32'));
    writeFileSync(join(folder, 'short.yaml'), yaml('8'));
    writeFileSync(
      join(folder, 'wrong.yaml'),
      'kind: rules\ngroup: wrong\nrules:\n  - { id: no-product, title: wrong, match: "FFMA $d, $x, $y, $z", rewrite: "FADD $d, $x, $z", source: nobody }\n',
    );
    const file = join(kernels, 'saxpy', 'saxpy.sm_90.ptx');
    const check = (launch: string, ...more: string[]) =>
      orrery('opt', file, '--emit', 'none', '--check', join(folder, launch), ...more);
    const right = check('launch.yaml');
    expect([right.code, right.err]).toEqual([
      0,
      expect.stringMatching(/^right: \S+launch.yaml gives what it gave before; it expects nothing itself/m),
    ]);
    const wrong = check('launch.yaml', '--rules', join(folder, 'wrong.yaml'), '--force-rules');
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringMatching(/WRONG: \S+launch.yaml: 31 values differ; parameter 3\[0\] is 3, expected 0/),
    ]);
    writeFileSync(
      join(folder, 'nothing.yaml'),
      `kind: launch\nmodule: ${join(folder, 'k.ptx')}\nkernel: k\ngrid: [1, 1, 1]\nblock: [32, 1, 1]\nparams:\n  - { scalar: u32, value: 1 }\n`,
    );
    writeFileSync(
      join(folder, 'k.ptx'),
      '.version 8.0\n.target sm_90\n.address_size 64\n.global .u32 g;\n.visible .entry k(.param .u32 n) { .reg .b32 %r<2>; ld.param.u32 %r1, [n]; st.global.u32 [g], %r1; ret; }\n',
    );
    const nothing = orrery(
      'opt',
      join(folder, 'k.ptx'),
      '--emit',
      'none',
      '--check',
      join(folder, 'nothing.yaml'),
    );
    expect([nothing.code, nothing.err]).toEqual([
      1,
      expect.stringContaining('nothing.yaml expects nothing, and has no buffer to compare'),
    ]);
    const short = check('short.yaml');
    expect([short.code, short.err]).toEqual([
      1,
      expect.stringMatching(
        /not checked: \S+short.yaml expects nothing, and does not run before the phases: /,
      ),
    ]);
  });

  it('run: right kernels give 0, wrong expectations 1 with the differences', () => {
    const good = orrery('run', join(kernels, 'saxpy', 'launch.yaml'), '--counters');
    expect([good.code, good.out]).toEqual([0, expect.stringMatching(/^ok .*\n.*warp instructions/)]);
    const yaml = readFileSync(join(kernels, 'saxpy', 'launch.yaml'), 'utf8');
    const broken = yaml
      .replace(/kernel: \w+/, 'kernel: saxpi')
      .replaceAll(
        /(module|data|expect): ([\w.-]+)/g,
        (_m, k: string, f: string) => `${k}: ${join(kernels, 'saxpy', f)}`,
      );
    const file = join(dir, 'launch.yaml');
    writeFileSync(
      file,
      broken.replaceAll(
        /(data|expect|module): (\/\S+?)([,\s}])/g,
        (_m, k: string, f: string, e: string) => `${k}: '${f}'${e}`,
      ),
    );
    const bad = orrery('run', file);
    expect([bad.code, bad.out + bad.err]).toEqual([1, expect.stringMatching(/saxpi|cannot read/)]);
  });

  it('phases, plan and cfg', () => {
    expect(orrery('phases').out).toMatch(/159 rows in order 'binary': \d+ implemented/);
    expect(orrery('phases', '--order', 'seed').out).toMatch(/159 rows in order 'seed': \d+ implemented/);
    expect(JSON.parse(orrery('phases', '--json', '--status', 'implemented').out).length).toBeGreaterThan(5);
    expect(orrery('phases').out).toMatch(/ AdvancedPhaseAfterConvUnSup +marker +isNoOp hook C$/m);
    // Texts name phases by the numbers of the seed, positions are those of the order.
    expect(orrery('phases', 'GeneralOptimizeEarly').out.replace(/\s+/g, ' ')).toContain(
      'numbers of the seed: 29 is GeneralOptimize (position 33), 75 is LateArchOptimizeFirst (position 87)',
    );
    // A phase that is named, in any case: its row, the plan's values of its knobs, and what it must stand behind.
    const one = orrery('phases', 'generaloptimizelate', 'GvnCse', '--set', 'GeneralOptimizeLateBudget=3').out;
    expect(one).toMatch(
      /^GeneralOptimizeLate {2}position 66 of order 'binary', seed number 58;\s+Optimization, implemented\n {2}purpose /,
    );
    expect(one).toContain('\n            GeneralOptimizeLateBudget = 3: rewrites by rules in this phase\n');
    expect(one).toMatch(
      /\n\nGvnCse .*\n {2}requires {2}control-last, ssa\n {2}behind {4}EnforceArgumentRestrictions: /s,
    );
    const row = Number(
      /\n {2}row {7}pipelines\/phases.yaml:(\d+)$/m.exec(one.slice(one.indexOf('GvnCse')))![1],
    );
    expect(readFileSync(join(root, 'pipelines', 'phases.yaml'), 'utf8').split('\n')[row - 1]).toContain(
      'name: GvnCse,',
    );
    const hooks = JSON.parse(orrery('phases', '--json', '--category', 'hook', '--recipe', 'inline').out) as {
      id: string;
      isNoOp: boolean;
    }[];
    // All but the one that the recipe fills.
    expect(hooks).toHaveLength(16);
    expect(hooks.filter((h) => !h.isNoOp).map((h) => h.id)).toEqual(['AdvancedPhaseAfterConvUnSup']);
    const p = orrery('plan', '--set', 'OptBudget=3');
    expect(p.out).toMatch(/^plan \w+: -O3 sm_75 .*, order binary/);
    expect(p.out).toMatch(/OptBudget +499 +BDGT +3 +command-line/);
    const c = orrery('cfg', join(kernels, 'loops', 'loops.sm_80.ptx'));
    expect(c.out).toMatch(/RPO/);
    for (const format of ['dot', 'svg']) {
      const names = [...c.out.matchAll(/\b(\w+)\b/g)].map((m) => m[1]);
      const fn = readFileSync(join(kernels, 'loops', 'loops.sm_80.ptx'), 'utf8').match(/\.entry (\w+)/)![1];
      expect(names).toContain(fn);
      expect(
        orrery('cfg', join(kernels, 'loops', 'loops.sm_80.ptx'), '--format', format, '--function', fn).out,
      ).toMatch(format === 'svg' ? /^<svg/ : /digraph/);
    }
  });

  it('check says all that is wrong, and nothing about what is right', () => {
    writeFileSync(join(dir, 'bad.yaml'), 'kind: order\nextends: sed\nedits: []\n');
    writeFileSync(
      join(dir, 'bad.ptx'),
      '.version 9.0\n.target sm_80\n.entry k() { ad.s32 %r1, %r2; ret; }\n',
    );
    const r = orrery(
      'check',
      join(dir, 'bad.yaml'),
      join(dir, 'bad.ptx'),
      'pipelines/phases.yaml',
      join(kernels, 'saxpy', 'launch.yaml'),
    );
    expect(r.code).toBe(1);
    expect(r.err).toMatch(/did you mean 'seed'\?/);
    expect(r.err).toMatch(/did you mean 'add'\?/);
    expect(r.out.match(/^(good|bad )/gm)).toEqual(['bad ', 'bad ', 'good', 'good']);
  });
});

it('run --help shows a launch file of the form that is checked', () => {
  const help = orrery('run', '--help').out;
  const text = /^ {2}kind: launch\n(?: {2}.*\n)*/m.exec(help)![0];
  const validate = new Ajv({ strict: false }).compile(
    JSON.parse(readFileSync(join(root, 'schemas', 'launch.schema.json'), 'utf8')) as object,
  );
  expect([validate(parse(text)), validate.errors]).toEqual([true, null]);
});

it('a run that its budget ends may have had no end', () => {
  const r = orrery('run', join(kernels, 'saxpy', 'launch.yaml'), '--budget', '10');
  expect([r.code, r.out]).toEqual([1, expect.stringContaining('the kernel may run forever')]);
});

it('help fits 80 columns, of every command but ptxas, whose own it is', () => {
  interface Named {
    readonly name: string;
    readonly commands: readonly Named[];
  }
  const names = ({ name, commands }: Named): string[][] => [
    [name],
    ...commands.flatMap((c) => names(c).map((rest) => [name, ...rest])),
  ];
  const { commands } = JSON.parse(orrery('completion', '--json').out) as { commands: readonly Named[] };
  const all = commands.flatMap(names).filter(([name]) => name !== 'ptxas' && name !== 'help');
  expect(all.length).toBeGreaterThan(30);
  const wide = [[], ...all].flatMap((words) => {
    const { code, out } = orrery(...words, '--help');
    expect([words, code]).toEqual([words, 0]);
    return out.split('\n').flatMap((line) => (line.length > 80 ? [`${words.join(' ')}: ${line}`] : []));
  });
  expect(wide).toEqual([]);
}, 60_000);

it('the plan fits the width of other tables if the output is not a terminal', () => {
  const { out } = orrery('plan');
  expect(out).toMatch(/^ +\d+ {2}GvnCse\n {5}.*gvn-cse/m);
  expect(out.split('\n').filter((l) => l.length > 100 || l.endsWith(' '))).toEqual([]);
});

it('help is that of the command, also in a group', () => {
  expect(orrery('help', 'rules', 'prove').out).toMatch(/^Usage: orrery rules prove /);
  expect(orrery('rules', 'help', 'prove').out).toMatch(/^Usage: orrery rules prove /);
  expect(orrery('help').out).toBe(orrery('--help').out);
});

describe('mistakes give one clear error and exit code 1', () => {
  it.each([
    [['opt', 'nowhere.ptx'], /cannot read nowhere.ptx: there is no such file/],
    [['opt', join(kernels, 'saxpy', 'saxpy.sm_81.ptx')], /did you mean 'saxpy.sm_80.ptx'/],
    [['cfg', kernels], /cannot read .*: it is a folder/],
    [['cfg', process.execPath], /is not a text file/],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '-o', join(kernels, 'README.md', 'x', 'y')],
      /cannot write .*: there is no folder/,
    ],
    [
      [
        'opt',
        join(kernels, 'saxpy', 'saxpy.sm_80.ptx'),
        '--check',
        join(kernels, 'interpreter', 'launch.yaml'),
      ],
      /no kernel 'interpret' .*\n.*launch.yaml:\d+:\d+\n/,
    ],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--max-loss', '2'],
      /--max-loss needs --emit ptx or --ptxas/,
    ],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--emit', 'ptx', '--max-loss', '2%'],
      /--max-loss 2% is not a percentage/,
    ],
    ...['--retarget', '--lowest-version'].map((option): [string[], RegExp] => [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--emit', 'ori', option],
      new RegExp(`${option} needs --emit ptx`),
    ]),
    [['run', join(kernels, 'saxpy', 'saxpy.sm_80.ptx')], /is not a launch file/],
    [['phases', '--status', 'implementd'], /did you mean 'implemented'/],
    [['opt', 'README.md', '--sm', 'sm_81'], /no back end for 'sm_81'/],
    [['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '-O', '9'], /level 9 is not 0 to 5/],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--disable', 'OriBranchOtp'],
      /did you mean 'OriBranchOpt'/,
    ],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--print-after', 'Nothing'],
      /there is no phase 'Nothing'/,
    ],
    [['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--set', 'OptBudgte=1'], /did you mean 'OptBudget'/],
    [['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--emit', 'sass'], /--emit sass is not known/],
    [['run', 'package.json'], /error/],
    [
      ['opt', join(dir, 'none'), '--emit', 'none'],
      /error: the folder '.*none' holds no \.ptx or \.ori file\n$/,
    ],
    [['plan', '--sm', '90'], /no back end for '90'\n {2}did you mean 'sm_90'\?\n$/],
    [['plan', '--sm', 'compute_120a'], /no back end for 'compute_120a?'\n {2}did you mean 'sm_120'\?\n$/],
    [['plan', '--sm', 'hopper'], /\n {2}targets are sm_30, .*, sm_90, sm_100, /],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--cache', 'package.json/c'],
      /cannot keep results there: a part of the path is not a folder\n/,
    ],
    [['cfg', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--function', 'saxp'], /did you mean 'saxpy'/],
    [
      ['rules', 'explain', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--function', 'saxp'],
      /there is no function 'saxp' in .*\n {2}did you mean 'saxpy'\?/,
    ],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--rewrite-limit', 'GvnCse:saxp=0'],
      /there is no function 'saxp' in .*\n {2}did you mean 'saxpy'\?/,
    ],
    [
      ['opt', join(kernels, 'saxpy', 'saxpy.sm_80.ptx'), '--rewrite-limit', 'GvnCse:gemm=0'],
      /there is no function 'gemm' in .*\n {2}functions are saxpy, saxpyStride/,
    ],
    [['plan', '--set', 'oridopredication=0'], /OriDoPredication is a phase: `--disable OriDoPredication`/],
    [['frob'], /unknown command 'frob'/],
    [
      ['help', 'pln'],
      /^error: unknown command 'pln'\n\(Did you mean plan\?\)\n\(orrery --help lists the commands\)\n$/,
    ],
    [['pln', '--help'], /^error: unknown command 'pln'\n\(Did you mean plan\?\)/],
    [['help', 'rules', 'prov'], /^error: unknown command 'prov'\n\(Did you mean prove\?\)/],
    [['phases', 'GvnCs'], /there is no phase 'GvnCs' in the order\n {2}did you mean 'GvnCse'/],
    [['phases', 'GvnCse', '--status', 'partial'], /choose rows of the table/],
  ] as const)('%s', (args, message) => {
    const r = orrery(...args);
    expect([r.code, r.err]).toEqual([1, expect.stringMatching(message)]);
    expect(r.err).not.toMatch(/\n\s+at .*\.js:\d+/);
  });
});

it.each([
  [['phases', '--status', 'none'], /no phase has status 'none'/],
  [['plan', '--set', 'Nope=1'], /there is no knob 'Nope'/],
  [['run', 'none.yaml'], /there is no such file/],
  [['opt', 'none.ptx', '--ptxas'], /cannot read none.ptx/],
  [['phases', '--bogus'], /unknown option '--bogus'/],
  [['run'], /missing required argument/],
  [['help', 'plan'], /unknown option '--json'/],
])('%j --json fails in JSON', (args, said) => {
  const r = orrery(...args, '--json');
  expect(r.code).toBe(1);
  expect(r.err).toMatch(said);
  expect(JSON.parse(r.out).errors).toEqual([
    expect.objectContaining({ message: expect.stringMatching(said) }),
  ]);
});

it('check continues after a file that it cannot read, and takes files of known kinds from a folder', () => {
  const folder = mkdtempSync(join(dir, 'check-'));
  const good = join(kernels, 'saxpy', 'saxpy.sm_80.ptx');
  writeFileSync(join(folder, 'notes.txt'), 'x');
  writeFileSync(join(folder, 'other.yaml'), 'kind: Deployment\n');
  const r = orrery('check', folder, good);
  expect([r.code, r.out]).toEqual([1, `bad   ${folder}  1 error\ngood  ${good}\n`]);
  expect(r.err).toMatch(/^error: there is nothing to check in .*\n {2}of a folder, PTX and Ori files/);
  mkdirSync(join(folder, 'below'));
  writeFileSync(join(folder, 'below', 'order.yaml'), 'kind: ordr\n');
  copyFileSync(good, join(folder, 'below', 'saxpy.ptx'));
  const found = orrery('check', folder, join(folder, 'below', 'saxpy.ptx'));
  expect([found.code, found.out.match(/(?<=^\w+ +)\S+/gm)]).toEqual([
    1,
    ['order.yaml', 'saxpy.ptx'].map((f) => expect.stringMatching(new RegExp(`below/${f}$`))),
  ]);
  expect(found.err).toContain("did you mean 'order'?");
});

it('a reader that has enough ends the command without a word', () => {
  const r = spawnSync(
    'sh',
    ['-c', `"${process.execPath}" bin/orrery.js opt test/kernels/sha256/sha256.sm_80.ptx -q | head -1`],
    { cwd: root, encoding: 'utf8' },
  );
  expect([r.stdout.split('\n').length, r.stderr]).toEqual([2, '']);
});

describe.skipIf(!existsSync('/dev/full'))('standard output on a full disk', () => {
  const saxpy = join(kernels, 'saxpy', 'saxpy.sm_80.ptx');
  it.each([
    [['phases']],
    [['opt', saxpy, '--emit', 'ptx', '-q']],
    [['plan', '--json']],
    // Commander writes it, and ends the process.
    [['--help']],
  ])('%j is one error', (args) => {
    const words = ['sh', process.execPath, join(root, 'bin', 'orrery.js'), ...args];
    const env = { ...process.env, NO_COLOR: '1', ORRERY_SERVER: 'off' };
    const r = spawnSync('sh', ['-c', '"$@" > /dev/full', ...words], { cwd: root, encoding: 'utf8', env });
    expect([r.status, r.stderr]).toEqual([1, 'error: cannot write standard output: the disk is full\n']);
  });
  it('and standard error on one: the exit code says it alone', () => {
    const words = ['sh', process.execPath, join(root, 'bin', 'orrery.js'), 'opt', saxpy, '--emit', 'none'];
    const env = { ...process.env, ORRERY_SERVER: 'off' };
    expect(spawnSync('sh', ['-c', '"$@" 2> /dev/full', ...words], { cwd: root, env }).status).toBe(1);
  });
});

it('the level of a recipe holds unless the command line names one', () => {
  const first = (...args: string[]) => orrery('plan', '--recipe', 'quick-build', ...args).out.split('\n')[0];
  expect(first()).toContain(' -O1 ');
  expect(first('-O', '2')).toContain(' -O2 ');
});

it('the page of jobs shows what the tool says', () => {
  const readme = readFileSync(join(root, 'docs', 'jobs.md'), 'utf8');
  const mine = join(dir, 'mine.yaml');
  writeFileSync(
    mine,
    'kind: order\nextends: seed\nedits:\n  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }\n',
  );
  const said = orrery('plan', '--order', mine).err.replaceAll(/--> .*mine.yaml/g, '--> mine.yaml');
  expect(said).toContain(readme.match(/```\n(error: [\s\S]*?)```/)![1]);
  writeFileSync(mine, readme.match(/```yaml\n([\s\S]*?)```/)![1]);
  expect(orrery('plan', '--order', mine).code).toBe(0);
});

it('the pages and the help count what ships', () => {
  const readme = ['README.md', 'docs/jobs.md', 'docs/words.md']
    .map((page) => readFileSync(join(root, page), 'utf8').replace(/\s+/g, ' '))
    .join(' ');
  const shipped = (folder: string) =>
    readdirSync(join(root, 'pipelines', folder))
      .filter((f) => f.endsWith('.yaml'))
      .map((f) => f.slice(0, -'.yaml'.length));
  const phases = orrery('phases', '--order', 'seed').out;
  const counts = [/^(\d+) rows/m, /(\d+) partial/, /(\d+) with nothing bound yet/].map(
    (r) => phases.match(r)![1],
  );
  const said = /Of the (\d+) phases, (\d+) lack something and (\d+) have nothing bound/.exec(readme)!;
  expect(said.slice(1)).toEqual(counts);

  const recipes = JSON.parse(orrery('recipes', '--json').out) as { defaultOf: readonly string[] }[];
  const word = (n: number) => COUNTS[n] ?? String(n);
  const defaults = recipes.filter((r) => r.defaultOf.length > 0).length;
  expect(recipes.length).toBe(shipped('recipes').length);
  expect(readme).toContain(
    `${word(recipes.length)} ship, of which ${word(defaults).toLowerCase()} are the defaults`,
  );

  const orders = shipped('orders');
  const listed = readme.match(/(\w+) orders ship: (.*?)\. Every/)!;
  expect(listed[1]).toBe(word(orders.length));
  expect([...listed[2].matchAll(/`([a-z][\w-]*)`/g)].map((m) => m[1]).sort()).toEqual(orders);
  expect(orrery('opt', '--help').out.replace(/\s+/g, ' ')).toContain(
    `phase order: ${orders.join(', ')}, or a YAML file`,
  );
});
