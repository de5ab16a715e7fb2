import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkOne } from '../../src/cli/check/check.ts';
import { wrongIn } from '../../src/cli/machine/faults.ts';
import { liftedOf, machineFor } from '../../src/cli/machine/lifted.ts';
import { cubinOf, ptxasVersion } from '../../src/cli/optimize/ptxas-run.ts';
import { compare, planOf } from '../../src/core.ts';
import { renderDiagnostic } from '../../src/ir/diagnostic.ts';
import { avoidFaults, KnownFaults, sitesInPtx } from '../../src/known-faults.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { paramBase, readPtx } from '../../src/read.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { FAULT_RULES, hasFault, type PtxasFault, ptxasFaults } from '../../src/spec/ptxas-faults.ts';
import type { RulesSpec } from '../../src/spec/types.generated.ts';
import { faultsPage, PAGE } from '../../src/tools/ptxas-faults-page.ts';
import { NEAR_MISSES, SHAPES, type Shape } from '../ptxas-faults/shapes.ts';
import { shipped, testFolder } from '../support/specs.ts';

/*
 * Known faults of ptxas. The code of ptxas 13.0.88 determines which shapes are wrong, and which similar ones are right: where that version
 * is installed, the tables of shapes are checked against it, before and after the workaround.
 */

const SM = 'sm_90';
const rows = ptxasFaults(shipped.ptxasFaults);
const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);
const plans = new Map(
  ['sm_75', 'sm_80', SM, 'sm_100', 'sm_120'].map((sm) => [sm, planOf(shipped, { sm })] as const),
);
const how = (sm: string) => {
  const plan = plans.get(sm)!;
  return { isa: plan.isa, table, paramBase: paramBase(plan), sm };
};
const known = (sm: string, level = 3) => KnownFaults.of(shipped, plans.get(sm)!.isa, sm, level);
const sites = (ptx: string, sm = SM, level = 3) => {
  const faults = known(sm, level);
  return faults === null ? [] : sitesInPtx(ptx, faults, how(sm));
};
const without = (ptx: string, sm = SM) => avoidFaults(ptx, known(sm)!, how(sm));

const folder = testFolder();
const orrery = (env: NodeJS.ProcessEnv, ...args: readonly string[]) => {
  const r = spawnSync(process.execPath, [join(ROOT, 'bin/orrery.js'), ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', ...env },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
};

/** A kernel around a shape. */
const kernel = ({ body, w = 32 }: Pick<Shape, 'body' | 'w'>, target = SM): string => {
  const values = w === 32 ? '{%a, %b, %c, %e}' : '{%a, %b}';
  const v = w === 32 ? 'v4.u32' : 'v2.u64';
  return `.version 8.7
.target ${target}
.address_size 64
.visible .entry k(.param .u64 input, .param .u64 output)
{
  .reg .b64 %in, %out, %at, %l<9>; .reg .b32 %i, %x<9>; .reg .b16 %h<9>; .reg .pred %p<3>;
  .reg .b${w} %a, %b, %c, %e, %d, %t<9>;
  ld.param.u64 %in, [input]; ld.param.u64 %out, [output];
  mov.u32 %i, %tid.x; mul.wide.u32 %at, %i, 16; add.s64 %in, %in, %at; add.s64 %out, %out, %at;
  ld.global.${v} ${values}, [%in];
  ${body.join('\n  ')}
  st.global.b${w} [%out], %d;
  ret;
}
`;
};
/** Line of the last instruction of a shape. */
const rootLine = (ptx: string): number => ptx.split('\n').findIndex((l) => l.includes('st.global')) + 1;

describe.each(rows.map((f) => [f.name, f] as const))('%s', (_, f) => {
  const launchFile = join(ROOT, f.input);
  const ptx = readFileSync(launchFile.replace(/yaml$/, 'ptx'), 'utf8');
  const wrong = ptx.split('\n').findIndex((l) => l.endsWith('// wrong')) + 1;
  const own = f.targets === 'all' ? SM : f.targets[0];

  it('is warned of at its line, in `check` of its input', async () => {
    const file = launchFile.replace(/yaml$/, 'ptx');
    const found = await checkOne(file);
    expect(found.map((d) => [d.severity, d.code, d.file, d.line])).toEqual([
      ['warning', f.name, file, wrong],
    ]);
    expect(renderDiagnostic(found[0], ptx)).toContain(f.wrong);
    expect(found[0].notes).toContain(f.instead);
  });
  it('is not warned of for targets and levels without it', () => {
    expect(sites(ptx, own).map((s) => s.fault.name)).toEqual([f.name]);
    expect(sites(ptx, own, 0).length).toBe(f.levels.includes(0) ? 1 : 0);
    for (const sm of plans.keys())
      expect([sm, sites(ptx, sm).length]).toEqual([
        sm,
        f.targets === 'all' || f.targets.includes(sm) ? 1 : 0,
      ]);
    expect(hasFault(f, `${own}a`, 3)).toBe(true);
  });
  it('is avoided with the right values', async () => {
    const safe = without(ptx, own);
    expect([safe.found.length, safe.left]).toEqual([1, []]);
    expect(safe.text).not.toBe(ptx);
    const launch = await loadLaunch(launchFile);
    for (const text of [ptx, safe.text]) {
      const plan = plans.get(own)!;
      const { program } = readPtx(text, plan);
      expect(runLaunch(program, plan.isa, launch, paramBase(plan)).status).toBe('ok');
    }
  });
});

describe('shapes', () => {
  it.each(SHAPES.map((s) => [s.fault, s.name, s] as const))('%s: %s', (fault, _, shape) => {
    const ptx = kernel(shape);
    const found = sites(ptx);
    expect(found.map((s) => s.fault.name)).toEqual([fault]);
    expect(found[0].line).toBe(shape.line === undefined ? rootLine(ptx) - 1 : rootLine(ptx) - 1 - shape.line);
    const safe = without(ptx);
    expect(safe.left).toEqual([]);
    const plan = plans.get(SM)!;
    const [before, after] = [ptx, safe.text].map((text) => readPtx(text, plan).program);
    expect(compare(before, after, 'k', plan, 'low')).toMatchObject({ same: true });
  });
  it('need every rule that a fault names', () => {
    const group = shipped.rules!.get(FAULT_RULES)!.data as unknown as RulesSpec.Rules;
    const fired = new Set(SHAPES.flatMap((s) => sites(kernel(s)).map((x) => x.rule)));
    expect(group.rules.map((r) => r.id).filter((id) => !fired.has(id))).toEqual([]);
    expect(rows.flatMap((f) => f.rules ?? []).sort()).toEqual(group.rules.map((r) => r.id).sort());
  });
  it.each(NEAR_MISSES.map((s) => [s.fault, s.name, s] as const))(
    'like %s, but right: %s',
    (_f, _n, shape) => {
      expect(sites(kernel(shape))).toEqual([]);
    },
  );
});

const version = ptxasVersion();
const oracle = version?.startsWith('13.0.88') === true;
if (!oracle) console.warn('ptxas-faults.test.ts: ptxas 13.0.88 cannot be run, so that no code of it is read');

const THREADS = 512;
/** Numbers at which operations of integers change what they do. */
const LIMITS = [
  0, 1, 2, -1, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0x7fff_8000, 0x8001_8000, 0xff,
];

/** Whether the code that ptxas makes of each kernel of a text gives other results than the text, for limits and for random numbers. */
async function wrongKernels(text: string): Promise<ReadonlyMap<string, boolean>> {
  const elf = cubinOf(text, [`-arch=${SM}`, '-O3']);
  if (typeof elf === 'string') throw new Error(elf);
  const plan = plans.get(SM)!;
  const { program } = readPtx(text, plan);
  const machine = await machineFor(SM);
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 8;
  };
  const words = Uint32Array.from({ length: 4 * THREADS }, () =>
    next() % 2 === 0 ? LIMITS[next() % LIMITS.length] >>> 0 : Math.imul(next(), 0x9e3779b9) >>> 0,
  );
  const buffer = (bytes: Uint8Array, expect: Uint8Array | null) =>
    ({ kind: 'buffer', type: 'u32', length: 4 * THREADS, bytes, expect, tolerance: 0 }) as const;
  const launch = (kernel: string, expect: Uint8Array | null): Launch => ({
    name: kernel,
    kernel,
    grid: [1, 1, 1],
    block: [THREADS, 1, 1],
    dynamicShared: 0,
    params: [buffer(new Uint8Array(words.buffer), null), buffer(new Uint8Array(16 * THREADS), expect)],
  });
  return new Map(
    program.functions.map(({ name }) => {
      const right = runLaunch(program, plan.isa, launch(name, null), paramBase(plan));
      expect([name, right.status]).toEqual([name, 'ok']);
      const lifted = liftedOf({ elf }, machine, plan, program, name);
      if (typeof lifted === 'string') throw new Error(`${name}: ${lifted}`);
      const own = runLaunch(lifted.program, plan.isa, launch(name, right.buffers[1]), paramBase(plan));
      expect([name, own.error]).toEqual([name, null]);
      return [name, own.status === 'mismatch'];
    }),
  );
}

describe.skipIf(!oracle)('the code of ptxas', () => {
  it('is wrong of shapes, right of what only looks like them, and right of what is written for both', async () => {
    const all = [...SHAPES, ...NEAR_MISSES];
    const [header] = kernel(all[0]).split('.visible');
    const text = `${header}${all.map((s, k) => kernel(s).replace(/[\s\S]*?\.entry k\(/, `.visible .entry k${k}(`)).join('')}`;
    const safe = without(text);
    expect([safe.found.length, safe.left]).toEqual([SHAPES.length, []]);
    const [before, after] = [await wrongKernels(text), await wrongKernels(safe.text)];
    const shows = all.map((_, k) => [before, after].map((wrong) => wrong.get(`k${k}`)!));
    const named = (found: readonly (readonly boolean[])[]) =>
      found.map((x, k) => [all[k].fault, all[k].name, ...x]);
    expect(named(shows)).toEqual(named(all.map((s) => [SHAPES.includes(s), false])));
  });
  const targets = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_120', 'sm_121'];
  it.each(rows.map((f) => [f.name, f] as const))('of the input of %s, on all targets', async (_, f) => {
    const launch = await loadLaunch(join(ROOT, f.input));
    const ptx = readFileSync(launch.modulePath, 'utf8');
    const oldest = Number(/sm_(\d+)/.exec(ptx)![1]);
    for (const sm of targets.filter((t) => Number(t.slice(3)) >= oldest)) {
      const has = f.targets === 'all' || f.targets.includes(sm);
      expect([sm, await wrongIn(launch, ptx, sm)]).toEqual([sm, has]);
    }
    const own = f.targets === 'all' ? SM : f.targets[0];
    expect(await wrongIn(launch, without(ptx, own).text, own)).toBe(false);
    const written = orrery(
      {},
      'opt',
      f.input.replace(/yaml$/, 'ptx'),
      '--sm',
      own,
      '--retarget',
      '--emit',
      'ptx',
      '-q',
    );
    expect(await wrongIn(launch, written.out, own)).toBe(false);
  });
});

describe('what a module holds beside the shape', () => {
  const [shape] = SHAPES;
  const other = kernel({ body: ['add.s32 %d, %a, %b; // stays as it is'] }).replace(
    '.entry k',
    '.entry other',
  );
  const body = (text: string) => text.slice(text.indexOf('.visible'));

  it('is copied', () => {
    const text = `${kernel(shape)}\n${body(other)}`;
    const safe = without(text);
    expect(safe.found.map((s) => s.fn)).toEqual(['k']);
    expect(safe.text).toContain('// stays as it is');
    expect(safe.text).not.toContain(body(kernel(shape)));
  });
  it('is all of it, where the text is to stay', () => {
    const text = kernel(shape);
    const kept = avoidFaults(text, known(SM)!, how(SM), false);
    expect([kept.text, kept.left.length]).toEqual([text, 1]);
  });
});

describe('commands', () => {
  const shape = SHAPES.find((s) => s.fault === 'difference-made-rotation')!;
  const file = folder.write('shape.ptx', kernel(shape));
  const warning = (err: string) => /warning: 'k': ptxas makes wrong code of this \(([\w-]+)\)/.exec(err)?.[1];

  it('check says it in words and for scripts', () => {
    const words = orrery({}, 'check', file);
    expect([words.code, warning(words.err)]).toEqual([0, shape.fault]);
    expect(words.err).toContain(`${file}:${rootLine(kernel(shape)) - 1}:`);
    const { warnings } = JSON.parse(orrery({}, 'check', file, '--json').out) as {
      warnings: { code: string }[];
    };
    expect(warnings.map((w) => w.code)).toEqual([shape.fault]);
  });
  it('opt writes it otherwise, unless it is to stay', () => {
    // No phase of ours may change the shape before it is written.
    const plain = ['opt', file, '--start-at', 'OriBranchOpt', '--until', 'OriBranchOpt', '--emit', 'ptx'];
    const safe = orrery({}, ...plain);
    expect([safe.code, warning(safe.err)]).toEqual([0, undefined]);
    expect(safe.err).toContain(`note: 'k' is written so that ptxas gets it right: ${shape.fault}`);
    expect(sites(safe.out)).toEqual([]);
    const kept = orrery({}, ...plain, '--set', 'KeepPtxasFaults');
    expect([kept.code, warning(kept.err)]).toEqual([0, shape.fault]);
    expect(sites(kept.out).map((s) => s.fault.name)).toEqual([shape.fault]);
    expect(kept.err).toMatch(/--> <ptx>:\d+:\d+\n +\d+ \|.*sub\.s64|--> <ptx>:\d+:\d+\n +\d+ \|.*add\.s64/);
  });
  it('opt writes it otherwise at every level: ptxas has its own', () => {
    const r = orrery({}, 'opt', 'test/ptxas-faults/difference-made-rotation.ptx', '-O0', '--emit', 'ptx');
    expect([r.code, sites(r.out)]).toEqual([0, []]);
    expect(r.err).toContain('is written so that ptxas gets it right: difference-made-rotation');
  });
  it('opt says so with the line where a phase of ours removes it', () => {
    const input = 'test/ptxas-faults/difference-made-rotation.ptx';
    const r = orrery({}, 'opt', input, '--emit', 'ptx');
    expect([r.code, sites(r.out)]).toEqual([0, []]);
    const line = readFileSync(input, 'utf8')
      .split('\n')
      .findIndex((l) => l.includes('sub.s64'));
    expect(r.err).toMatch(
      new RegExp(
        `^note: 'shows' is written so that ptxas gets it right: difference-made-rotation \\(${input}:${line + 1}\\)$`,
        'm',
      ),
    );
  });
  it('opt warns of the input where it writes no PTX, and tells scripts', () => {
    const none = orrery({}, 'opt', file, '--emit', 'none');
    expect([none.code, warning(none.err)]).toEqual([0, shape.fault]);
    expect(none.err).toContain(`${file}:`);
    const said = (...args: string[]) =>
      (JSON.parse(orrery({}, 'opt', file, '--json', ...args).out) as { ptxasFaults: unknown[] }).ptxasFaults;
    const row = { name: shape.fault, function: 'k', line: rootLine(kernel(shape)) - 1, avoided: false };
    expect(said()).toEqual([row]);
    const little = ['-O1', '--start-at', 'OriBranchOpt', '--until', 'OriBranchOpt'];
    const avoided = [{ ...row, line: null, avoided: true }];
    expect(said('-o', join(folder.path, 'o.ptx'), ...little)).toEqual(avoided);
    if (oracle) expect(said('--ptxas', ...little)).toEqual(avoided);
  });
  it('the drop-in hands on what is safe', () => {
    const seen = join(folder.path, 'seen.ptx');
    const fake = folder.write(
      'ptxas',
      `#!/bin/sh\nfor a; do case "$a" in *.ptx) cp "$a" ${seen};; esac; done\n`,
    );
    chmodSync(fake, 0o755);
    const input = folder.write('drop-in.ptx', kernel(SHAPES[0]));
    const r = orrery(
      { ORRERY_PTXAS: fake },
      'ptxas',
      '-arch=sm_90',
      '-O3',
      '-o',
      join(folder.path, 'x'),
      input,
    );
    expect([r.code, r.err]).toEqual([0, '']);
    expect(sites(readFileSync(seen, 'utf8'))).toEqual([]);
  });
  it('faults lists them', () => {
    const { faults } = JSON.parse(orrery({}, 'faults', '--json').out) as { faults: PtxasFault[] };
    expect(faults.map((f) => f.name)).toEqual(rows.map((f) => f.name));
    const some = orrery({}, 'faults', '--sm', 'sm_80');
    expect(some.out).not.toContain('negation-lost-in-min-max');
    expect(some.out).toContain('difference-made-rotation');
    const one = orrery({}, 'faults', 'difference-made-rotation').out;
    for (const part of [rows[1].wrong, rows[1].instead, rows[1].source]) expect(one).toContain(part);
    const target = orrery({}, 'faults', '--sm', 'sm_9');
    expect([target.code, target.err]).toEqual([1, expect.stringContaining('--sm sm_9 is not a target')]);
    const unknown = orrery({}, 'faults', 'difference-made-rotations');
    expect([unknown.code, unknown.err]).toEqual([
      1,
      expect.stringContaining("did you mean 'difference-made-rotation'?"),
    ]);
  });
});

describe('the file', () => {
  const text = readFileSync(join(ROOT, 'pipelines/ptxas-faults.yaml'), 'utf8');
  const said = async (change: (t: string) => string) => {
    const changed = change(text);
    expect(changed).not.toBe(text);
    const file = folder.write('faults.yaml', changed);
    return (await checkOne(file)).map((d) => renderDiagnostic(d, changed)).join('\n');
  };

  it('has no faults of its own, and its inputs are there', async () => {
    expect(await checkOne(join(ROOT, 'pipelines/ptxas-faults.yaml'))).toEqual([]);
    for (const f of rows) expect(existsSync(join(ROOT, f.input))).toBe(true);
  });
  it.each([
    ['an unknown key', (t: string) => t.replace('    wrong: ', '    wrnog: '), /wrnog[\s\S]*\^/],
    [
      'an unknown rule',
      (t: string) => t.replace('[signed-minimum-of-', '[signed-minimun-of-'),
      /no rule 'signed-minimun-of-unsigned-maximum'[\s\S]*faults\.yaml:\d+:\d+[\s\S]*\^[\s\S]*did you mean 'signed-minimum-of-/,
    ],
    [
      'a rule that no fault names',
      (t: string) => t.replace(', sum-with-negated-right-shift', ''),
      /no fault names rule 'sum-with-negated-right-shift'/,
    ],
    [
      'a rule of two faults',
      (t: string) => t.replace('[signed-minimum-of-', '[short-shift-of-negative, signed-minimum-of-'),
      /'short-shift-of-negative' is of fault 'negative-shift-taken-for-positive' already/,
    ],
    [
      'an unknown target',
      (t: string) => t.replace('sm_103]', 'sm_104]'),
      /no back end for 'sm_104'[\s\S]*\^\^/,
    ],
    [
      'a name twice',
      (t: string) => t.replace('name: product-bit-wraps', 'name: difference-made-rotation'),
      /there is a fault 'difference-made-rotation' above/,
    ],
    [
      'a brace without its other',
      (t: string) => t.replace('@ testp.*', '@ test{p.*'),
      /the braces of '@ test\{p\.\*' do not pair up[\s\S]*\^/,
    ],
    [
      'a form of too many alternatives',
      (t: string) => t.replace('@ testp.*', `@ test${'{p|q}'.repeat(7)}`),
      /or list too much[\s\S]*at most 100 patterns/,
    ],
    [
      'a missing input',
      (t: string) => t.replace('product-bit-wraps.yaml', 'nothing.yaml'),
      /no file test\/ptxas-faults\/nothing\.yaml/,
    ],
    ['no version', (t: string) => t.replace('{ seen: [13.0.88] }', '{ seen: [] }'), /seen[\s\S]*\^/],
  ])('%s is an error at its place', async (_, change, expected) => {
    expect(await said(change)).toMatch(expected);
  });
  it('is what the page says', async () => {
    expect(readFileSync(join(ROOT, PAGE), 'utf8')).toBe(await faultsPage(shipped));
  });
});
