import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';
import { ptxasPresent } from '../../src/cli/optimize/ptxas-run.ts';
import { WARM } from '../support/warm.ts';

// What commands print for scripts, failures included, has a published schema.
const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-output-'));
afterAll(() => rmSync(dir, { recursive: true }));
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });

const orrery = (...args: string[]) => orreryWith('', ...args);

function orreryWith(input: string, ...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd: root,
    encoding: 'utf8',
    input,
    env: { ...process.env, ...WARM, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

function faults(schema: string, text: string) {
  const validate = ajv.compile(
    JSON.parse(readFileSync(join(root, 'schemas', 'output', `${schema}.schema.json`), 'utf8')) as object,
  );
  validate(JSON.parse(text));
  ajv.removeSchema();
  return validate.errors ?? [];
}

const saxpy = 'test/kernels/saxpy/saxpy.sm_90.ptx';
const bad = join(dir, 'bad.ptx');
const wrong = 'test/machine-code/max-of-absolute.sm_90.O3.cubin';
const loops = 'test/kernels/nested-conditions/nested-conditions.sm_90.ptx';
/** What passes for a CUDA toolkit. */
const cuda = join(dir, 'cuda');
mkdirSync(join(cuda, 'bin'), { recursive: true });
for (const name of ['nvcc', 'ptxas']) writeFileSync(join(cuda, 'bin', name), '');
writeFileSync(bad, '.version 9.0\n.target sm_90\n.visible .entry k() { foo; ret; }\n');

describe('what is printed has its form', () => {
  it.each([
    ['check', ['check', saxpy, 'pipelines/orders/seed.yaml', '--json'], 0],
    ['check', ['check', bad, '--json'], 1],
    ['trace', ['trace', saxpy, '--json'], 0],
    ['opt', ['opt', saxpy, '--check', 'auto', '--json'], 0],
    ['opt', ['opt', saxpy, loops, '--emit', 'none', '--json'], 0],
    ['faults', ['faults', '--json'], 0],
    ['phases', ['phases', '--json'], 0],
    ['phases', ['phases', 'GvnCse', '--json'], 0],
    ['why', ['opt', saxpy, '--why', 'saxpy.cu:6', '--json'], 0],
    ['plan', ['plan', '--json'], 0],
    ['plan-diff', ['plan', '--order', 'late-branches', '--diff', '--json'], 0],
    ['rules-list', ['rules', 'list', '--json'], 0],
    ['rules-explain', ['rules', 'explain', saxpy, '--json'], 0],
    ['rules-coverage', ['rules', 'coverage', 'test/kernels/saxpy', '--json'], 0],
    ['rules-prove', ['rules', 'prove', '--group', 'shifts', '--json'], 0],
    ['rules-show', ['rules', 'show', 'above-zero', '--json'], 0],
    ['order-suggest', ['order', 'suggest', 'OriDoPredication', '--json'], 0],
    ['recipes', ['recipes', '--json'], 0],
    ['recipes', ['recipes', saxpy, '--recipe', 'hopper', '--json'], 0],
    ['completion', ['completion', '--json'], 0],
    ['server-status', ['server', 'status', '--json'], 0],
    ['cfg', ['cfg', loops, '--json'], 0],
    ['cfg', ['cfg', loops, '--phase', 'OptimizeNestedCondBranches', '--json'], 0],
    ['cfg', ['cfg', saxpy, '--changes', '--function', 'saxpy', '--format', 'json'], 0],
    ['disasm', ['disasm', 'test/cubins/scale.sm_80.cubin', '--lines', '--json'], 0],
    ['disasm', ['disasm', 'test/cubins/scale.zstd.fatbin', '--sections', '--json'], 0],
    [
      'disasm',
      [
        'disasm',
        'test/machine-code/warp-redux.sm_80.O3.cubin',
        '--profile',
        'test/kernels/warp-redux/launch.yaml',
        '--json',
      ],
      0,
    ],
    ['hazards', ['disasm', 'test/cubins/scale.zstd.fatbin', '--hazards', '--json'], 0],
    ['asm', ['asm', 'test/kernels/saxpy/saxpy.sm_80.ptx', '--check', '--json'], 0],
    ['verify', ['verify', 'test/machine-code/max-of-absolute.ptx', wrong, '--json'], 1],
    ['toolkit', ['toolkit', join(dir, 'toolkit'), '--from', cuda, '--json'], 0],
    ['run', ['run', 'test/kernels/saxpy/launch.yaml', '--counters', '--json'], 0],
  ])('%s: %s', (schema, args, code) => {
    const r = orrery(...args);
    expect([r.code, faults(schema, r.out)]).toEqual([code, []]);
  });
});

it('evaluate answers in lines of its form, also where it is asked for JSON', () => {
  const args = [
    'evaluate',
    '--kernels',
    saxpy,
    '--no-ptxas',
    '--metrics',
    'instructions',
    '--per-kernel',
    '--json',
  ];
  const r = orreryWith('{"id":1,"order":"seed"}\nnothing\n', ...args);
  const lines = r.out.trim().split('\n');
  expect([r.code, lines.map((l) => (JSON.parse(l) as { ok: boolean }).ok)]).toEqual([0, [true, false]]);
  expect(lines.flatMap((l) => faults('evaluate', l))).toEqual([]);
});

it('cfg gives each block its edges and its loop', () => {
  const { functions } = JSON.parse(
    orrery('cfg', 'test/kernels/mandelbrot/mandelbrot.sm_90.ptx', '--json').out,
  ) as {
    functions: {
      blocks: { id: number; successors: number[]; predecessors: number[]; loop: number | null }[];
      loops: { header: number; size: number; latches: number[] }[];
    }[];
  };
  expect(functions.some((f) => f.loops.length > 0)).toBe(true);
  for (const { blocks, loops } of functions) {
    const byId = new Map(blocks.map((b) => [b.id, b]));
    for (const b of blocks) for (const s of b.successors) expect(byId.get(s)!.predecessors).toContain(b.id);
    for (const l of loops) {
      for (const latch of l.latches) expect(byId.get(latch)!.successors).toContain(l.header);
      expect(blocks.filter((b) => b.loop === l.header).length).toBeLessThanOrEqual(l.size);
    }
  }
});

it('a key that is a list is one error, and nothing of Node is on standard error', () => {
  const file = join(dir, 'key.yaml');
  writeFileSync(file, 'kind: recipe\n? [ 64 ]\n: 3\nlevel: 1\n');
  const r = orrery('check', file);
  expect([r.code, r.err.match(/^error: .*/gm)]).toEqual([
    1,
    ["error: unknown key '[ 64 ]' in the top level"],
  ]);
  expect(r.err).not.toContain('Warning');
});

/** Commands that take --json, and whose form has another name than they. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  opt: ['opt', 'stat', 'ptxas', 'why'],
  plan: ['plan', 'plan-diff'],
  merge: ['sweep'],
};

it('every command that takes --json has a published form', () => {
  interface Described {
    readonly name: string;
    readonly options: readonly string[];
    readonly commands: readonly Described[];
  }
  const { commands } = JSON.parse(orrery('completion', '--json').out) as { commands: Described[] };
  const taking = (list: readonly Described[], before: string): string[] =>
    list.flatMap((c) => [
      ...(c.options.includes('--json') ? [`${before}${c.name}`] : []),
      ...taking(c.commands, `${before}${c.name} `),
    ]);
  const names = taking(commands, '');
  expect(names.length).toBeGreaterThan(20);
  const there = readdirSync(join(root, 'schemas', 'output'));
  for (const name of names)
    for (const form of FORMS[name] ?? [name.replaceAll(' ', '-')])
      expect(there).toContain(`${form}.schema.json`);
});

describe('a document tells itself that something is wrong', () => {
  const rules = join(dir, 'wrong.yaml');
  writeFileSync(
    rules,
    'kind: rules\ngroup: wrong\nrules:\n  - { id: no-product, title: wrong, match: "FFMA $d, $x, $y, $z", rewrite: "FADD $d, $x, $z", source: nobody }\n',
  );
  const wrong = ['opt', saxpy, '--rules', rules, '--force-rules', '--json', '-q'];
  const checksOf = (form: string, ...args: string[]) => {
    const r = orrery(...wrong, ...args);
    expect([r.code, faults(form, r.out)]).toEqual([1, []]);
    return (JSON.parse(r.out) as { checks: { check: string; ok: boolean; text: string }[] }).checks;
  };
  const launch = 'test/kernels/saxpy/launch.yaml';

  it('opt --stat', () => {
    expect(checksOf('stat', '--stat', '--check', 'auto', '--check', launch)).toEqual([
      { check: 'auto', ok: false, text: expect.stringMatching(/^DIFFERENT: /) },
      { check: launch, ok: false, text: expect.stringMatching(/^WRONG: /) },
    ]);
  });
  it('opt --why, after each phase', () => {
    const checks = checksOf('why', '--why', 'saxpy.cu:6', '--check-each');
    expect(checks.at(-1)).toMatchObject({ check: 'each', ok: false });
    expect(checks.slice(0, -1).map((c) => [/^after \w+/.test(c.check), c.ok])).toEqual([[true, false]]);
  });
  it.skipIf(!ptxasPresent())('faults --ptxas', () => {
    expect(faults('faults', orrery('faults', '--ptxas', '--json').out)).toEqual([]);
  });
  it.skipIf(!ptxasPresent())('opt --ptxas', () => {
    expect(checksOf('ptxas', '--ptxas', '--check', 'auto')).toMatchObject([{ check: 'auto', ok: false }]);
  });
  it.skipIf(!ptxasPresent())('opt --ptxas of what ptxas refuses', () => {
    const file = join(dir, 'refused.ptx');
    const text = readFileSync(join(root, saxpy), 'utf8');
    writeFileSync(file, text.replace(/^\.version .*/m, '.version 99.0'));
    const r = orrery('opt', file, '--ptxas', '--json', '-q');
    expect([r.code, faults('errors', r.out)]).toEqual([1, []]);
    expect((JSON.parse(r.out) as { errors: { message: string }[] }).errors[0].message).toBe(
      'ptxas refuses the input',
    );
  });
  it('rules coverage, with the exit code that it has without JSON', () => {
    const folder = join(dir, 'empty');
    mkdirSync(folder);
    writeFileSync(join(folder, 'k.ptx'), '.version 9.0\n.target sm_90\n.visible .entry k() { ret; }\n');
    const r = orrery('rules', 'coverage', folder, '--json');
    expect([r.code, faults('rules-coverage', r.out)]).toEqual([1, []]);
    expect(orrery('rules', 'coverage', folder).code).toBe(1);
  });
});

describe('a command that fails', () => {
  const wrong = join(dir, 'nothing.ptx');
  it.each([
    [['opt', wrong, '--stat', '--json']],
    [['plan', '--order', 'nowhere', '--json']],
    [['phases', '--sm', 'sm_1', '--json']],
    [['measure', wrong, '--json']],
    [['rules', 'explain', wrong, '--json']],
    [['rules', 'coverage', join(dir, 'none'), '--json']],
    [['rules', 'prove', '--rule', 'nothing', '--json']],
    [['run', join(dir, 'none.yaml'), '--json']],
    [['bisect', wrong, '--json']],
    [['reduce', wrong, '--json']],
    [['repro', join(dir, 'none.json'), '--json']],
    [['ab', 'base', 'X=1', '--kernels', wrong, '--json']],
    [['cfg', wrong, '--json']],
    [['cfg', saxpy, '--phase', 'nowhere', '--json']],
    [['evaluate', '--json']],
    [['evaluate', '--kernels', wrong, '--json']],
    [['toolkit', dir, '--from', dir, '--json']],
    [['disasm', saxpy, '--json']],
    [['completion', 'tcsh', '--json']],
    [['recipes', wrong, '--json']],
    [['order', 'suggest', 'nowhere', '--json']],
    [['rules', 'show', 'nothing', '--json']],
    [['plan', '--nonsense', '--json']],
  ])('%s says so in JSON', (args) => {
    const r = orrery(...args);
    expect([r.code, faults('errors', r.out)]).toEqual([1, []]);
    expect((JSON.parse(r.out) as { errors: unknown[] }).errors.length).toBeGreaterThan(0);
  });
  it('and each form is named as its file is', () => {
    for (const f of readdirSync(join(root, 'schemas', 'output')))
      expect(JSON.parse(readFileSync(join(root, 'schemas', 'output', f), 'utf8'))).toMatchObject({
        $id: `output/${f}`,
      });
  });
});
