import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { ptxasPresent } from '../../src/cli/optimize/ptxas-run.ts';
import { ARM_PARTS } from '../../src/lab/arm-words.ts';
import { parseArm } from '../../src/lab/arms.ts';
import { WARM } from '../support/warm.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-lab-'));
afterAll(() => rmSync(dir, { recursive: true }));
const kernels = join('test', 'kernels');
/** Commands whose cost is not measured here; other tests show that they start cold. */
const orrery = (...args: string[]) => run(WARM, args);
const cold = (...args: string[]) => run({}, args);
function run(how: Readonly<Record<string, string>>, args: readonly string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache'), ...how },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(join(root, 'schemas', 'output', `${name}.schema.json`), 'utf8')) as object;
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
function valid(name: string, text: string) {
  const data = JSON.parse(text);
  const check = ajv.compile(schemaOf(name));
  check(data);
  expect(check.errors ?? []).toEqual([]);
  ajv.removeSchema(`output/${name}.schema.json`);
  return data;
}
const fits = (text: string) => text.split('\n').filter((l) => l.length > 100 && !l.includes('orrery '));

describe('orrery measure', () => {
  it.skipIf(!ptxasPresent())('counts machine instructions as `disasm --profile` does', () => {
    const file = join(kernels, 'saxpy', 'saxpy.sm_80.ptx');
    const r = orrery('measure', file, '--no-opt', '--metrics', 'machine.executed,machine.stalls', '--json');
    const { modules } = JSON.parse(r.out) as {
      modules: { kernels: { values: Record<string, number> }[] }[];
    };
    const [saxpy] = modules[0].kernels;
    const cubin = join(dir, 'saxpy.cubin');
    const level = ['-arch=sm_80', '-O3'];
    expect(spawnSync('ptxas', [...level, join(root, file), '-o', cubin]).status).toBe(0);
    const profile = orrery('disasm', cubin, '--profile', join(kernels, 'saxpy', 'launch.yaml'));
    const executed = Number(/executed ([\d,]+) machine/.exec(profile.err)![1].replaceAll(',', ''));
    expect(saxpy.values['machine.executed']).toBe(executed);
    expect(saxpy.values['machine.stalls']).toBeGreaterThan(executed);
  });
  const saxpy = join(kernels, 'saxpy', 'saxpy.sm_80.ptx');

  it('shows one kernel in full, several as a table, and all as JSON', () => {
    const many = cold('measure', saxpy, '--no-ptxas');
    expect([many.code, fits(many.out)]).toEqual([0, []]);
    expect(many.out).toMatch(/^saxpy +15 /m);
    expect(many.out).toMatch(/2 kernels of 1 file, 2 with a launch/);
    const units = orrery('measure', saxpy, '--no-ptxas', '--metrics', 'code-bytes,blocks,compile-time');
    expect(units.out).toMatch(/^kernel +code-bytes +blocks +compile-time \(ms, noisy\)$/m);
    const one = orrery('measure', join(kernels, 'aes-table', 'launch.yaml'), '--no-ptxas');
    expect([one.code, fits(one.out)]).toEqual([0, []]);
    expect(one.out).toMatch(/1 of 1 launches right/);
    expect(one.out).toMatch(/transactions.shared +[\d,]+ +sectors/);
    for (const heading of ['of the program', 'by a model'])
      expect(one.out.split('\n').filter((l) => l === heading)).toHaveLength(1);
    expect(one.out.replace(/\s+/g, ' ')).toContain('static shared memory of a block, with padding');
    const j = valid('measure', orrery('measure', saxpy, '--no-ptxas', '--json').out);
    const values = j.modules[0].kernels[0].values;
    // The PTX has 4 loads and stores of global memory in 15 instructions, and the launch runs 16 warps.
    expect(values).toMatchObject({ 'memory.global': 3, occupancy: 100 });
    expect(j.metrics['compile-time']).toMatchObject({ exact: false, unit: 'ms', better: 'less' });
    for (const name of Object.keys(values)) expect(j.metrics[name]).toBeDefined();
  });

  it('what it counts in the simulator is what run counts', () => {
    const launch = join(kernels, 'saxpy', 'launch.yaml');
    const run = JSON.parse(orrery('run', launch, '--order', 'binary', '--counters', '--json').out)[0];
    const v = JSON.parse(orrery('measure', launch, '--no-ptxas', '--json').out).modules[0].kernels.find(
      (k: { kernel: string }) => k.kernel === 'saxpy',
    ).values;
    expect(v['warp-instructions']).toBe(run.counters.warpInstructions);
    expect(v['thread-instructions']).toBe(run.counters.threadInstructions);
    expect(v['transactions.global']).toBe(run.counters.transactions.global);
  });

  it('the estimate of a program before any phase is that of one whose phases change nothing', () => {
    const file = join(kernels, 'atomics-int', 'atomics-int.sm_80.ptx');
    const weights = (...how: string[]) =>
      JSON.parse(
        orrery('measure', file, '--no-ptxas', '--no-launches', '--json', ...how).out,
      ).modules[0].kernels.map((k: { values: Record<string, number> }) => k.values.weighted);
    const lowered: number[] = weights('--no-opt');
    const phases: number[] = weights('-O', '0');
    expect(lowered).toHaveLength(phases.length);
    lowered.forEach((w, i) => expect(Math.abs(w / phases[i] - 1)).toBeLessThan(0.1));
  });

  it('a profile takes the place of the guess by loops', () => {
    const launch = join(kernels, 'loops', 'launch.yaml');
    const profile = join(dir, 'profile.json');
    orrery('run', launch, '--order', 'binary', '--profile-out', profile);
    const with_ = orrery('measure', launch, '--no-ptxas', '--profile', profile, '--json');
    const kernel = JSON.parse(with_.out).modules[0].kernels.find(
      (k: { launches: unknown[] }) => k.launches.length > 0,
    );
    // Every warp comes in by the entry, so weights times warps are the instructions that were carried out.
    const warps = JSON.parse(readFileSync(profile, 'utf8'))[0].blocks[kernel.kernel]['0'];
    expect(kernel.values.weighted * warps).toBeCloseTo(kernel.values['warp-instructions']);
  });

  it('a profile of other kernels is warned of, by every command that takes one, unless one of several files has them', () => {
    const profile = join(dir, 'of-loops.json');
    orrery('run', join(kernels, 'loops', 'launch.yaml'), '--no-opt', '--profile-out', profile);
    const warning = /^warning: the profile has no effect: it counts 'loops', which the input does not have\n/;
    const quick = ['--no-ptxas', '--no-launches'];
    for (const args of [
      ['opt', saxpy, '-q', '--emit', 'none', '--profile', profile],
      ['opt', saxpy, saxpy.replace('80', '90'), '-q', '--emit', 'none', '--profile', profile],
      ['run', join(kernels, 'saxpy', 'launch.yaml'), '--profile', profile],
      ['measure', saxpy, '--profile', profile, ...quick],
      ['ab', 'base', `profile:${profile}`, '--kernels', saxpy, '--repeat', '0', ...quick],
      ['ab', 'base', 'level:1', '--profile', profile, '--kernels', saxpy, '--repeat', '0', ...quick],
    ]) {
      const r = orrery(...args);
      expect([args[0], r.code, r.err]).toEqual([args[0], 0, expect.stringMatching(warning)]);
    }
    const loops = join(kernels, 'loops', 'loops.sm_80.ptx');
    const one = orrery('opt', saxpy, loops, '-q', '--emit', 'none', '--profile', profile);
    expect([one.code, one.err]).toEqual([0, '']);
  });

  it('a recipe that names no function of any kernel is warned of, once for all arms, by every command that measures', () => {
    const recipe = join(dir, 'no-kernel.yaml');
    writeFileSync(recipe, 'kind: recipe\nparts:\n  - { when: { kernel: saxpi }, knobs: { OptBudget: 2 } }\n');
    const experiment = join(dir, 'no-kernel.experiment.yaml');
    const arms = ['base', `recipe:${recipe}`, `recipe:${recipe} level:2`];
    writeFileSync(
      experiment,
      JSON.stringify({ kind: 'experiment', kernels: [join(root, saxpy)], arms, metrics: ['instructions'] }),
    );
    const warning =
      /^warning:.* no function matches kernel saxpi, so what is set for it has no effect\n(?: {2}--> .*\n)? {2}did you mean 'saxpy'/;
    const other = join(kernels, 'loops', 'loops.sm_80.ptx');
    const quick = ['--no-ptxas', '--no-launches'];
    const ab = (...more: string[]) => ['ab', ...more, '--repeat', '0', ...quick];
    for (const args of [
      ['measure', saxpy, '--recipe', recipe, ...quick],
      ['measure', other, saxpy, '--recipe', recipe, ...quick],
      ab('base', `recipe:${recipe}`, '--kernels', saxpy),
      ab('base', 'level:2', '--recipe', recipe, '--kernels', saxpy, other),
      ['tune', saxpy, '--recipe', recipe, '--goal', 'instructions<=99', '--no-ptxas', '--budget', '1s'],
      ['sweep', experiment, '-o', join(dir, 'no-kernel.jsonl')],
    ]) {
      const r = orrery(...args);
      expect([args[0], r.code, r.err]).toEqual([args[0], 0, expect.stringMatching(warning)]);
      expect(r.err.split('no function matches')).toHaveLength(2);
    }
    // Names of C++ are mangled: a pattern mostly wants a star on both sides.
    writeFileSync(recipe, readFileSync(recipe, 'utf8').replace('saxpi', "'axpy*'"));
    expect(orrery('measure', saxpy, '--recipe', recipe, ...quick).err).toContain("did you mean '*axpy*'?");
    writeFileSync(recipe, readFileSync(recipe, 'utf8').replace("'axpy*'", 'saxpy'));
    const one = orrery(...ab('base', `recipe:${recipe}`, '--kernels', saxpy, other));
    expect([one.code, one.err]).toEqual([0, '']);
  });

  it('a recipe for another target is warned of, once, by every command that measures', () => {
    const recipe = join(dir, 'other-target.yaml');
    writeFileSync(recipe, 'kind: recipe\nsm: [sm_75]\nknobs: { OptBudget: 2 }\n');
    const experiment = join(dir, 'other-target.experiment.yaml');
    const arms = ['base', `recipe:${recipe}`];
    writeFileSync(
      experiment,
      JSON.stringify({ kind: 'experiment', kernels: [join(root, saxpy)], arms, metrics: ['instructions'] }),
    );
    const quick = ['--no-ptxas', '--no-launches'];
    for (const args of [
      ['measure', saxpy, '--recipe', recipe, ...quick],
      ['ab', 'base', `recipe:${recipe}`, '--kernels', saxpy, '--repeat', '0', ...quick],
      ['tune', saxpy, '--recipe', recipe, '--goal', 'instructions<=99', '--no-ptxas', '--budget', '1s'],
      ['sweep', experiment, '-o', join(dir, 'other-target.jsonl')],
    ]) {
      const r = orrery(...args);
      expect([args[0], r.code, r.err.match(/^warning: .* is for sm_75, not for sm_\d+$/gm)?.length]).toEqual([
        args[0],
        0,
        1,
      ]);
    }
  });

  it.each([
    [['measure', 'nope.ptx'], /there is no file or folder 'nope.ptx'/],
    [
      ['measure', join(kernels, 'saxpy', 'saxpy.sm_81.ptx')],
      /did you mean 'test\/kernels\/saxpy\/saxpy\.sm_\d\d\.ptx'/,
    ],
    [['measure', saxpy, '--metrics', 'weigted'], /did you mean 'weighted'/],
    [['measure', saxpy, '--set', 'OptBudgt=1'], /did you mean 'OptBudget'/],
    [['measure', saxpy, '--ptxas', '9'], /levels are 0 to 4/],
    [['measure', saxpy, '--profile', join(root, 'package.json')], /is not a profile/],
  ])('%j ends with one message', (args, says) => {
    const r = orrery(...args);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(says);
    expect(r.err).not.toMatch(/internal fault|\bat .*:\d+:\d+/);
  });
});

describe('orrery ab', () => {
  const files = [join(kernels, 'stencil', 'stencil.sm_90.ptx'), join(kernels, 'saxpy', 'saxpy.sm_90.ptx')];
  const off = '--set DisableMergeEquivalentConditionalFlow=true';

  it('says of a phase that is off for one kernel that it did not run, though it ran for others', () => {
    const recipe = join(dir, 'one-kernel.yaml');
    writeFileSync(
      recipe,
      "kind: recipe\nwhen: { kernel: 'jacobi3d' }\nphases: { disable: [GeneralOptimizeEarly] }\n",
    );
    const r = cold('ab', 'base', `recipe:${recipe}`, '--kernels', files[0], '--no-ptxas', '--repeat', '0');
    expect(r.out).toMatch(/jacobi3d: GeneralOptimizeEarly\n {2}A changed \d+ blocks\n {2}B not run: /);
  });

  it('its help has every part of an arm, each of which is read as it is written there', () => {
    const { out } = orrery('ab', '--help');
    for (const [word, [form]] of Object.entries(ARM_PARTS)) {
      expect(out).toContain(`\n  ${form} `);
      expect(Object.keys(parseArm(form.replace('NAME=VALUE', 'X=1'))).join()).toMatch(
        word === 'base' ? /^name$/ : new RegExp(`,${word}s?$`),
      );
    }
  });

  it('says what got worse, by how much, and which phase and knob did it', () => {
    const r = cold('ab', 'base', off, '--kernels', ...files, '--no-ptxas', '--repeat', '0');
    expect([r.code, fits(r.out)]).toEqual([0, []]);
    expect(r.out).toMatch(
      /0 helped, 1 HURT, 3 unchanged by warp-instructions \(geometric mean \+\d.\d+ %\); results equal/,
    );
    expect(r.out).toMatch(/jacobi3d: GeneralOptimizeEarly\n {2}A changed \d+ blocks\n {2}B not run/);
    expect(r.out).toContain('knob DisableMergeEquivalentConditionalFlow: unset -> true');
    // The command that it offers shows the diff.
    const again = /its diff: orrery (.*)/
      .exec(r.out)![1]
      .match(/'[^']*'|\S+/g)!
      .map((x) => x.replaceAll("'", ''));
    const diff = orrery(...again, '--no-ptxas', '--repeat', '0');
    expect(diff.code).toBe(0);
    expect(diff.out).toMatch(/^@@ -\d/m);
    expect(diff.out).toMatch(/^- /m);
    expect(diff.out).toMatch(/^\+ /m);
  });

  it('executed instructions decide where every kernel has a launch, else their estimate, and that is said', () => {
    const mandelbrot = join(kernels, 'mandelbrot', 'mandelbrot.sm_90.ptx');
    const status = (...how: string[]) => {
      const words = ['base', 'knobs:fused-products', '--kernels', mandelbrot, '--no-ptxas', '--repeat', '0'];
      return orrery('ab', ...words, ...how)
        .out.match(/unchanged (by [^(;]*)/)?.[1]
        .trim();
    };
    expect(status()).toBe('by warp-instructions');
    expect(status('--by', 'weighted')).toBe('by weighted, an estimate');
    expect(status('--no-launches')).toBe('by weighted, an estimate');
    // A launch that is named is the only one, and the other kernel has none.
    expect(status('--kernels', join(kernels, 'mandelbrot', 'launch.yaml'))).toBe('by weighted, an estimate');
  });

  it('short names of metrics mean the most exact variant, and registers, code and the estimate have a row', () => {
    const saxpy = join(kernels, 'saxpy', 'saxpy.sm_90.ptx');
    const of = (...more: string[]) =>
      orrery('ab', 'base', 'recipe:few-registers', '--kernels', saxpy, '--repeat', '0', '--no-ptxas', ...more)
        .out;
    for (const [by, metric] of [
      ['registers', 'pressure.R'],
      ['code', 'code-bytes'],
      ['executed', 'warp-instructions'],
    ]) {
      expect(of('--by', by).replace(/\s+/g, ' ')).toContain(`unchanged by ${metric}`);
      const shown = orrery('measure', saxpy, '--no-ptxas', '--json', '--metrics', by);
      expect(shown.code).toBe(0);
    }
    const same = of();
    for (const metric of ['weighted', 'code-bytes', 'pressure.R', 'warp-instructions'])
      expect(same).toMatch(new RegExp(`^${metric.replace('.', '\\.')} +[\\d.,]+ +[\\d.,]+ +`, 'm'));
    expect(orrery('measure', saxpy, '--no-ptxas', '--metrics', 'registers').out).toMatch(/^kernel +live R$/m);
  });

  it('a table for spreadsheets has a row for each kernel, with what JSON says', () => {
    const args = ['ab', 'level:0', 'base', '--kernels', ...files, '--repeat', '0', '--no-ptxas'];
    const r = orrery(...args, '--format', 'csv');
    expect(r.out).toMatch(/,made by\r\n/);
    for (const line of r.out.trimEnd().split('\r\n').slice(1))
      expect(line).toMatch(/,"orrery \d+\.\d+\.\d+, without ptxas"$/);
    const [head, ...rows] = r.out
      .trimEnd()
      .split('\r\n')
      .map((l) => l.split(','));
    const json = JSON.parse(orrery(...args, '--json').out) as {
      kernels: { kernel: string; values: Record<string, [number, number]> }[];
    };
    expect([r.code, rows.length]).toEqual([0, json.kernels.length]);
    json.kernels.forEach(({ kernel, values }, i) => {
      const at = (column: string) => rows[i][head.indexOf(column)];
      expect([at('kernel'), at('right A'), at('right B')]).toEqual([kernel, 'true', 'true']);
      for (const [name, pair] of Object.entries(values))
        expect([Number(at(`${name} A`)), Number(at(`${name} B`))]).toEqual(pair);
      // A file outlives the command that wrote it.
      for (const column of ['plan A', 'plan B']) expect(at(column)).toMatch(/^sm_\d+ [0-9a-f]{32}$/);
    });
  });

  it('a knob that differs for all functions, and otherwise for some, differs twice', () => {
    const recipe = join(dir, 'two.yaml');
    writeFileSync(
      recipe,
      `kind: recipe
title: two limits
knobs: { UnrollFullInstLimit: 4000 }
parts:
  - when: { kernel: 'sax*' }
    knobs: { UnrollFullInstLimit: 100 }
`,
    );
    const r = orrery('ab', 'base', `recipe:${recipe}`, '--kernels', files[1], '--no-ptxas', '--repeat', '0');
    expect(r.out).toMatch(
      /^ {2}knob UnrollFullInstLimit: 200 -> 4000\n {2}knob UnrollFullInstLimit: 200 \(kernel sax\*\) -> 100 \(kernel sax\*\)$/m,
    );
  });

  it('settings of parts are reported once, and not for functions that no name could be of', () => {
    const recipe = join(dir, 'parts.yaml');
    const part = (pattern: string, knob: string) =>
      `  - when: { kernel: '${pattern}' }\n    knobs: { ${knob} }\n`;
    writeFileSync(
      recipe,
      [
        'kind: recipe\ntitle: three\nparts:\n',
        part('saxpy', 'UnrollFullInstLimit: 9'),
        part('*pow*', 'ContractProducts: true'),
        part('sax*', 'SwitchOptBudget: 3'),
      ].join(''),
    );
    const r = orrery('plan', '--recipe', recipe, '--sm', 'sm_80', '--diff');
    expect(r.out.match(/^knob .*$/gm)).toEqual([
      'knob UnrollFullInstLimit: 200 (kernel saxpy) -> 9 (kernel saxpy)',
      'knob ContractProducts: unset (kernel *pow*) -> true (kernel *pow*)',
      'knob SwitchOptBudget: unset (kernel sax*) -> 3 (kernel sax*)',
    ]);
  });

  it('JSON, Markdown and HTML say the same; HTML asks for nothing', () => {
    const args = ['ab', 'base', off, '--kernels', ...files, '--no-ptxas', '--repeat', '1'];
    const j = valid('ab', orrery(...args, '--json').out);
    expect(j.status).toBe('measured');
    const total = j.totals.find((t: { metric: string }) => t.metric === 'weighted');
    const sums = [0, 1].map((i) =>
      j.kernels.reduce((s: number, k: { values: Record<string, number[]> }) => s + k.values.weighted[i], 0),
    );
    expect([total.a, total.b]).toEqual(sums);
    expect(j.noisy.map((n: { metric: string }) => n.metric)).toEqual(['compile-time', 'compile-memory']);
    // What is noisy is timed over and over; the others do without.
    const exact = args.with(-1, '0');
    const md = orrery(...exact, '--format', 'markdown').out;
    expect(md).toMatch(/^\*\*0 helped, 1 HURT/);
    expect(md).toMatch(/^\| `jacobi3d` \| .* \| HURT \| GeneralOptimizeEarly/m);
    expect(md).toMatch(/```diff\n@@ -\d+,\d+ \+\d+,\d+ @@\n[ +-]/);
    const page = join(dir, 'ab.html');
    expect(orrery(...exact, '--format', 'html', '-o', page).code).toBe(0);
    const html = readFileSync(page, 'utf8');
    expect(html.match(/<rect /g)).toHaveLength(4);
    // Without --format, the extension decides.
    const same = join(dir, 'same.html');
    expect(orrery(...exact, '-o', same).code).toBe(0);
    expect(readFileSync(same, 'utf8')).toBe(html);
    expect(html).not.toMatch(/(src|href)="(?!#)|url\(|@import|<script/);
    expect(html).toMatch(
      /orrery \d+\.\d+\.\d+, without ptxas<br>orrery ab .*<br>plan A: sm_\d+ [0-9a-f]{16}/,
    );
  });

  it('what no phase reads is said, and nothing is measured', () => {
    const r = orrery('ab', 'base', 'SwitchOptBudget=3', '--kernels', files[1], '--json');
    const j = valid('ab', r.out);
    expect([r.code, j.status, j.unread, j.kernels, j.noisy]).toEqual([
      0,
      'no effect',
      ['SwitchOptBudget'],
      [],
      [],
    ]);
    const text = orrery('ab', 'base', 'SwitchOptBudget=3', '--kernels', files[1]).out;
    expect(text).toContain('no effect: no phase read SwitchOptBudget; nothing was measured');
    expect(orrery('ab', 'base', 'level:3', '--kernels', files[1]).out).toContain(
      'both arms are the same plan',
    );
  });

  it('what no world reaches is said by every command that says that results are equal', () => {
    const far = join(dir, 'far.ptx');
    // No square is 3.
    writeFileSync(
      far,
      `.version 8.0
.target sm_90
.address_size 64
.visible .entry far(.param .u64 p, .param .u32 n)
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  ld.param.u32 %r1, [n];
  mul.lo.s32 %r2, %r1, %r1;
  setp.eq.s32 %p1, %r2, 3;
  @%p1 bra NEVER;
  add.s32 %r3, %r1, 0;
  st.global.u32 [%d1], %r3;
  ret;
NEVER:
  st.global.u32 [%d1], 7;
  ret;
}
`,
    );
    const saxpy = join(kernels, 'saxpy', 'saxpy.sm_90.ptx');
    const many = orrery('opt', far, saxpy, '--check', 'auto', '--emit', 'none');
    expect(many.err).toMatch(/^file +instructions \(Ori\) +after /);
    expect(many.err).toMatch(/far\.ptx .* equal where it ran, 66 % of the blocks\n.*saxpy.* equal\n/);
    const proved = orrery('opt', far, saxpy, '--check', 'prove', '--emit', 'none');
    expect(proved.err).toMatch(/far\.ptx .* proved (\d+)\/\1\n.*saxpy.* proved (\d+)\/\2\n/);
    const asData = orrery('opt', far, saxpy, '--check', 'prove', '--emit', 'none', '--json');
    const [{ proof, stopped }] = JSON.parse(asData.out).files;
    expect([proof.proved, stopped]).toEqual([proof.regions, false]);
    const short = orrery('opt', far, saxpy, '--check', 'auto', '--check-limit', '1ms', '--emit', 'none');
    expect(short.err).toMatch(/saxpy.* equal.*; stopped at a limit\n/);
    const compared = orrery('ab', 'level:0', 'base', '--kernels', far, saxpy, '--no-ptxas', '--repeat', '0');
    expect([compared.code, fits(compared.out)]).toEqual([0, []]);
    expect(compared.out.replace(/\s+/g, ' ')).toContain('results equal where they ran');
    expect(compared.out.replace(/\s+/g, ' ')).toContain(
      '1 of them left blocks unrun (far, 66 % of its blocks ran)',
    );
    const all = orrery('ab', 'level:0', 'base', '--kernels', saxpy, '--no-ptxas', '--repeat', '0');
    expect(all.out).toMatch(/results equal$/m);
    const tuned = orrery('tune', far, '--goal', 'instructions', '--no-ptxas', '--budget', '1s');
    expect(tuned.out.replace(/\s+/g, ' ')).toContain(
      '1 of them left blocks unrun (far, 66 % of its blocks ran)',
    );
  });

  it('a launch that expects nothing proves nothing: then open worlds decide', () => {
    const folder = join(dir, 'no-expectation');
    mkdirSync(folder, { recursive: true });
    copyFileSync(join(root, kernels, 'saxpy', 'saxpy.sm_80.ptx'), join(folder, 'saxpy.ptx'));
    writeFileSync(
      join(folder, 'launch.yaml'),
      `kind: launch
module: saxpy.ptx
kernel: saxpy
grid: [2, 1, 1]
block: [32, 1, 1]
params:
  - { scalar: s32, value: 64 }
  - { scalar: f32, value: 2 }
  - { buffer: f32, length: 64, fill: iota }
  - { buffer: f32, length: 64, fill: zero }
`,
    );
    writeFileSync(
      join(folder, 'wrong.yaml'),
      `kind: rules
group: wrong
rules:
  - id: other-factor
    title: a product is a sum
    match: FFMA $d, $x, $y, $z
    rewrite: FADD $d, $x, $z
    source: nobody
`,
    );
    const one = join(folder, 'saxpy.ptx');
    const arms = ['base', `rules:${join(folder, 'wrong.yaml')}`, '--force-rules'];
    const r = orrery('ab', ...arms, '--kernels', one, '--no-ptxas', '--repeat', '0');
    expect([r.code, r.out.match(/\d kernels WRONG/)?.[0]]).toEqual([1, '2 kernels WRONG']);
    expect(r.out).toMatch(/by open world: seed \d: byte 0x/);
  });

  it('nothing is no result: files without a kernel are an error, of measure, ab and evaluate', () => {
    const none = join(dir, 'none.ptx');
    writeFileSync(none, '.version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n');
    const kernels = ['--kernels', none, '--no-ptxas'];
    for (const [start, ...args] of [
      [orrery, 'measure', none, '--no-ptxas'],
      [orrery, 'ab', 'base', 'disable:GvnCse', ...kernels, '--repeat', '0'],
      // Reads standard input.
      [cold, 'evaluate', ...kernels],
    ] as const) {
      const r = start(...args);
      expect([args[0], r.code, r.out, r.err]).toEqual([
        args[0],
        1,
        '',
        expect.stringMatching(/no kernel was found\n {2}a kernel is a \.entry that has an Ori form/),
      ]);
    }
  });

  it('a line that is nested too deeply for evaluate is answered with its error', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const kernel = join(root, 'test/kernels/saxpy/saxpy.sm_80.ptx');
    const r = spawnSync(
      process.execPath,
      [join(root, 'bin/orrery.js'), 'evaluate', '--kernels', kernel, '--no-ptxas'],
      { encoding: 'utf8', input: `{"set":${deep}}\n{"id":${deep}}\n` },
    );
    const answer = '{"version":1,"id":null,"ok":false,"error":"this line is nested too deeply"}\n';
    expect([r.stderr, r.stdout]).toEqual(['', answer.repeat(2)]);
  });

  it('an arm that changes what a kernel does is found out', () => {
    // Fused products round once, which the exact results of this launch do not allow.
    const r = orrery(
      ...['ab', 'base', 'knobs:fused-products', '--kernels', join(kernels, 'stencil', 'stencil.sm_80.ptx')],
      ...['--no-ptxas', '--repeat', '0'],
    );
    expect([r.code, r.err, fits(r.out)]).toEqual([1, '', []]);
    // What is wrong counts as neither helped nor hurt.
    expect(r.out.replace(/\s+/g, ' ')).toMatch(
      /0 helped, 0 HURT, \d unchanged .*; 1 kernel WRONG \(left out\)/,
    );
    expect(r.out).not.toMatch(/^jacobi3d {2,}\S+ -> /m);
    const page = join(dir, 'wrong.html');
    const written = orrery(
      ...['ab', 'base', 'knobs:fused-products', '--kernels', join(kernels, 'stencil', 'stencil.sm_80.ptx')],
      ...['--no-ptxas', '--repeat', '0', '--format', 'html', '-o', page],
    );
    expect([written.code, written.out]).toEqual([1, '']);
    expect(written.err).toMatch(/wrong\.html; .*; 1 kernel WRONG \(left out\)\n$/);
    const equal = orrery(
      ...['ab', 'base', 'knobs:fused-products', '--kernels', join(kernels, 'softmax', 'softmax.sm_80.ptx')],
      ...['--no-ptxas', '--repeat', '0'],
    );
    expect([equal.code, equal.out.replace(/\s+/g, ' ')]).toEqual([
      0,
      expect.stringContaining(
        'equal: 2 by launch, 2 although knob ContractProducts lets rules change results: the product is not rounded before the sum',
      ),
    ]);
    // It is meant to, which whoever asked may not know.
    expect(r.out).toMatch(
      /^ +knob ContractProducts lets rules change results: the product is not rounded before the sum$/m,
    );
    expect(r.out.replace(/\s+/g, ' ')).toMatch(
      /jacobi3d under knobs:fused-products, by launch: .*launch-3d.yaml: parameter \d+\[\d+\] is .*, expected/,
    );
  });

  it('a ref is the specs of a commit', () => {
    const git = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' });
    if (git.status !== 0) return;
    const r = orrery('ab', 'HEAD..HEAD', '--kernels', files[1]);
    expect([r.code, r.out]).toEqual([0, expect.stringContaining('both arms are the same plan')]);
  });

  it.each([
    [['ab', 'base', '--kernels', files[1]], /ab compares two arms, and here is one/],
    [['ab', 'base', 'X=1'], /--kernels is missing/],
    [['ab', 'base', 'what', '--kernels', files[1]], /'what' is not part of an arm/],
    [
      ['ab', 'base', 'level:1', 'level:2', '--kernels', files[1]],
      /more arms: `orrery sweep EXPERIMENT\.yaml`/,
    ],
    [
      ['ab', 'base', 'level:1', '--kernels', files[1], '--by', 'ptxas.regs'],
      /did you mean 'ptxas\.registers'/,
    ],
    [['ab', 'base', 'order=x.yaml', '--kernels', files[1]], /no knob 'order': .*\n {2}write order:x\.yaml\n/],
    [['ab', 'base', 'OptBudgt=1', '--kernels', files[1]], /did you mean 'OptBudget'/],
    [['ab', 'base', 'ref:no-such-branch', '--kernels', files[1]], /names no commit/],
    [['ab', 'base', 'disable:OriBranchOpt', '--kernel', files[1]], /unknown option '--kernel'/],
    [['ab', 'base', 'level:1', '--kernels', files[1], '--by', 'compile-time'], /decides nothing/],
    [
      [
        'ab',
        'base',
        'level:1',
        '--kernels',
        files[1],
        '--by',
        'ptxas.registers',
        '--no-ptxas',
        '--repeat',
        '0',
      ],
      /no kernel has a value of 'ptxas.registers'\n {2}ptxas was not run/,
    ],
    [
      ['measure', files[1], '--metrics', 'ptxas.registers', '--no-ptxas'],
      /no kernel has a value of 'ptxas.registers'\n {2}ptxas was not run/,
    ],
    [
      ['ab', 'base', 'move:OriBranchOpt@before:SetControlFlowOpLastInBB', '--kernels', files[1]],
      /comes before .*\n {2}--> move:OriBranchOpt@before:SetControlFlowOpLastInBB\n[\s\S]*nearest legal place/,
    ],
  ])('%j ends with one message', (args, says) => {
    const r = orrery(...args);
    expect([r.code, r.out]).toEqual([1, '']);
    expect(r.err).toMatch(says);
    expect(r.err).not.toMatch(/internal fault|\bat .*:\d+:\d+/);
  });
});
