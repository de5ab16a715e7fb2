import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once as onceEmitted } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { once } from '../../src/rules/once.ts';
import { compileLate } from '../support/v8-flags.ts';
import { WARM } from '../support/warm.ts';

/* The commands bisect, reduce and repro, as typed. */

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-debug-'));
afterAll(() => rmSync(dir, { recursive: true }));
copyFileSync(join(root, 'test', 'kernels', 'divmod', 'divmod.sm_80.ptx'), join(dir, 'divmod.ptx'));
writeFileSync(
  join(dir, 'wrong.yaml'),
  `kind: rules
group: wrong
rules:
  - id: off-by-one
    title: x + 1 = x + 2
    match: IADD3 $d, $x, 1, 0
    rewrite: IADD3 $d, $x, 2, 0
    source: nobody
`,
);

interface How {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** That the command starts cold, as a user's does. */
  readonly cold?: true;
}
function orrery(args: readonly string[], how: How = {}) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), ...args], {
    cwd: how.cwd ?? dir,
    encoding: 'utf8',
    input: how.input ?? '',
    env: {
      ...process.env,
      NO_COLOR: '1',
      XDG_CACHE_HOME: join(dir, 'cache'),
      ...(how.cold ? {} : WARM),
      ...how.env,
    },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
function valid(name: string, text: string) {
  const schema = JSON.parse(
    readFileSync(join(root, 'schemas', 'output', `${name}.schema.json`), 'utf8'),
  ) as object;
  const data = JSON.parse(text);
  const check = ajv.getSchema(`output/${name}.schema.json`) ?? ajv.compile(schema);
  check(data);
  expect(check.errors ?? []).toEqual([]);
  return data;
}

/** Faults that can be planted in a pass: what it does to functions of more than one block. */
const FAULTS = {
  'gvn-cse': { pass: 'gvn-cse', body: 'throw new Error(`no value for R${fn.regCount}`)' },
  'hoist-invariants': { pass: 'hoist-invariants', body: 'throw new Error(`no value for R${fn.regCount}`)' },
  invalid: { pass: 'hoist-invariants', body: 'return { ...fn, blocks: fn.blocks.slice(0, -1) }' },
} as const;
interface Client {
  converse(
    to: { readonly path: string; readonly tokens: object },
    request: object,
    on: { onFrame(kind: string, content: Buffer): void; onEnd(known: boolean): void },
  ): void;
}
const { converse } = createRequire(import.meta.url)('../../bin/client.cjs') as Client;

/**
 * A process of a server whose passes can be broken: it runs the single files of `dist`, whose registry a module changes that is loaded
 * first. One process for each command would compile all of these anew.
 */
class Broken {
  private readonly folder = mkdtempSync(join(tmpdir(), 'orrery-broken-'));
  private readonly tokens = { client: 'client', server: 'server' };
  private child!: ChildProcess;

  /** @param input a file that is the standard input of its commands */
  async start(input: string): Promise<void> {
    const { href } = pathToFileURL(join(root, 'dist', 'passes', 'registry.js'));
    const faults = Object.entries(FAULTS).map(
      ([fault, { pass, body }]) => `{
  const old = passes.get('${pass}');
  passes.set('${pass}', { ...old, pass: (fn, ctx) => {
    if (process.env.BROKEN === '${fault}' && fn.blocks.length > 1) { ${body} }
    return old.pass(fn, ctx);
  } });
}`,
    );
    const breaking = join(this.folder, 'breaking.mjs');
    writeFileSync(breaking, [`import { passes } from '${href}';`, ...faults].join('\n'));
    writeFileSync(
      join(this.folder, 'server.json'),
      JSON.stringify({ pid: process.pid, tokens: this.tokens }),
    );
    const fd = openSync(input, 'r');
    this.child = fork(join(root, 'dist', 'cli', 'main.js'), ['server-process', this.folder, '0'], {
      stdio: [fd, 'ignore', 'ignore', 'ipc'],
      execArgv: [...compileLate, '--import', pathToFileURL(breaking).href],
      env: { ...process.env, ORRERY_SERVER: 'off' },
    });
    closeSync(fd);
    await onceEmitted(this.child, 'message');
  }

  end(): void {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true });
  }

  /** Runs a command with a fault. */
  run(fault: keyof typeof FAULTS, args: readonly string[], how: How = {}) {
    const env = {
      ...process.env,
      ...{ NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache'), BROKEN: fault },
      ...how.env,
    };
    const request = { argv: args, cwd: how.cwd ?? dir, env, umask: 0o022, terminals: [false, false] };
    const said: Record<string, string> = { o: '', e: '', x: '' };
    return new Promise<{ code: number; out: string; err: string }>((done) =>
      converse({ path: join(this.folder, `${this.child.pid}.sock`), tokens: this.tokens }, request, {
        onFrame: (kind, content) => void (said[kind] += content.toString()),
        onEnd: () => done({ code: Number(said['x']), out: said['o'], err: said['e'] }),
      }),
    );
  }
}

describe('orrery bisect', () => {
  const args = ['bisect', 'divmod.ptx', '--rules', 'wrong.yaml'];
  const found = once(() => orrery(args, { cold: true }));

  it('names phase, function, rule with its line, and the line of the PTX', () => {
    const r = found();
    expect([r.code, r.err]).toEqual([0, '']);
    expect(r.out).toMatch(/^phase +GeneralOptimizeEarly .*: good before any phase, bad after it$/m);
    expect(r.out).toMatch(/^function +divVariable, one of 2 that the phase changes$/m);
    expect(r.out).toMatch(/: rule off-by-one \(wrong\.yaml:4\): x \+ 1 = x \+ 2$/m);
    expect(r.out).toMatch(/^-.*IADD3 \S+, \S+, 1$/m);
    expect(r.out).toMatch(/^\+.*IADD3 \S+, \S+, 2$/m);
    const [, line] = /divmod\.ptx:(\d+), divmod\.cu:\d+: IADD3/.exec(r.out)!;
    const ptx = readFileSync(join(dir, 'divmod.ptx'), 'utf8').split('\n');
    expect(ptx[Number(line) - 1]).toMatch(/add\.s16 .*, 1;/);
  });

  it('gives commands that show the rewrite and the run without it', () => {
    const said = found().out;
    const see = /^see it: +orrery (.*)$/m.exec(said)![1].split(' ');
    const limit = see[see.indexOf('--rewrite-limit') + 1];
    const check = (n: number) =>
      orrery([
        ...[
          'opt',
          'divmod.ptx',
          '--rules',
          'wrong.yaml',
          '--force-rules',
          '--emit',
          'none',
          '--check',
          'auto',
          '--rewrite-limit',
        ],
        limit.replace(/\d+$/, String(n)),
        ...['--until', 'GeneralOptimizeEarly'],
      ]);
    const n = Number(/\d+$/.exec(limit)![0]);
    // Other functions have all their rewrites; here only this one is wrong.
    expect(check(n - 1)).toMatchObject({ code: 0, err: expect.stringContaining('and wanted more') });
    expect(check(n)).toMatchObject({ code: 1, err: expect.stringContaining('DIFFERENT') });
    expect(orrery(see).err).toMatch(/IADD3 \S+, \S+, 2/);
  });

  it('shows what the page of jobs shows', () => {
    const readme = readFileSync(join(root, 'docs', 'jobs.md'), 'utf8');
    const [, rules] = /`wrong\.yaml`:\n\n```yaml\n([\s\S]*?)```/.exec(readme)!;
    const cwd = join(dir, 'readme');
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'wrong.yaml'), rules);
    const kernel = 'test/kernels/divmod/divmod.sm_80.ptx';
    const r = orrery(['bisect', join(root, kernel), '--rules', 'wrong.yaml'], { cwd });
    const said = r.out.replaceAll(join(root, kernel), kernel);
    expect(said).toContain(/```\n(bad [\s\S]*?)```/.exec(readme)![1]);
    expect(said.split('\n').filter((l) => l.length > 100 && !l.includes('orrery '))).toEqual([]);
  });

  it('answers in JSON', () => {
    const j = valid('bisect', orrery([...args, '--json', '--linear']).out);
    expect(j).toMatchObject({ search: 'in turn', rewrite: { rule: { id: 'off-by-one', line: 4 } } });
  });

  it('asks launches and commands', () => {
    const launch = join(root, 'test', 'kernels', 'divmod', 'launch.yaml');
    if (existsSync(launch)) {
      for (const option of ['--launch', '--check']) {
        const r = orrery([...args, option, launch]);
        expect([r.code, r.out]).toEqual([0, expect.stringMatching(/rule off-by-one[\s\S]*by the launch/)]);
      }
    }
    // Bad is what adds 2 to a register.
    const grep = orrery([...args, '--command', "! grep -Eq 'add[.].*, 2;' {}"]);
    expect([grep.code, grep.out]).toEqual([0, expect.stringContaining('rule off-by-one')]);
    // Where it cannot tell it proves nothing.
    const dunno = orrery([...args, '--command', 'exit 125;']);
    expect([dunno.code, dunno.err]).toEqual([
      1,
      expect.stringContaining('cannot be judged: nothing to bisect'),
    ]);
    const slow = orrery([...args, '--command', 'sleep 5;', '--timeout', '0.2']);
    expect([slow.code, slow.err]).toEqual([1, expect.stringMatching(/input is not good.*\n.*time is up/)]);
  });

  it('says that there is nothing to find, and what is wrong with options', () => {
    const error = (...a: string[]) => {
      const r = orrery(a);
      expect(r.err).not.toMatch(/\bat .*:\d+:\d+|internal/);
      return [r.code, r.err.split('\n')[0]];
    };
    expect(error('bisect', 'divmod.ptx')).toEqual([1, 'error: the plan is good: nothing to bisect']);
    expect(error('bisect', 'divmod.ptx', '--bad', 'base')).toEqual([
      1,
      'error: the bad plan is good: nothing to bisect',
    ]);
    expect(error(...args, '--check', 'auto', '--ptxas')).toEqual([
      1,
      'error: --check and --ptxas exclude each other',
    ]);
    expect(error(...args, '--timeout', '3')).toEqual([1, 'error: --timeout needs --command']);
    expect(error('opt', 'divmod.ptx', '--rewrite-limit', 'x')).toEqual([
      1,
      'error: --rewrite-limit x names no phase and number',
    ]);
    expect(error('opt', 'divmod.ptx', '--rewrite-limit', 'Nowhere=3')).toEqual([
      1,
      "error: there is no phase 'Nowhere' in the order",
    ]);
    const json = orrery(['bisect', 'divmod.ptx', '--json']);
    expect([json.code, JSON.parse(json.out).errors[0].message]).toEqual([
      1,
      'the plan is good: nothing to bisect',
    ]);
  });

  it('finds the fewest differences between two plans', () => {
    const both = ['bisect', 'divmod.ptx', '--set', 'OptBudget=1000'];
    const bad = '--rules wrong.yaml --force-rules --set ContractProducts=true -O2';
    const r = orrery([...both, '--bad', bad]);
    expect([r.code, r.err]).toEqual([0, '']);
    expect(r.out).toMatch(/because +1 of \d+ differences/);
    expect(r.out).toMatch(/phase +GeneralOptimizeEarly +without -> +rules wrong/);
    expect(r.out).toMatch(
      /orrery bisect divmod\.ptx -O 2 --set OptBudget=1000 --set ContractProducts=true --rules wrong\.yaml$/m,
    );
    const j = valid('bisect', orrery([...both, '--bad', bad, '--json']).out);
    expect(j.changes).toEqual([
      { kind: 'phase', name: 'GeneralOptimizeEarly', from: ['without'], to: ['rules wrong'] },
    ]);
    const off = orrery([...args, '--good', 'disable:GeneralOptimizeEarly disable:GeneralOptimize']);
    expect([off.code, off.err]).toEqual([1, expect.stringContaining('the good plan is bad')]);
  });
});

describe('orrery reduce', () => {
  it('writes a program and an order, with a command that still fails', () => {
    const r = orrery(['reduce', 'divmod.ptx', '--rules', 'wrong.yaml', '--set', 'OptBudget=1000', '--json']);
    expect([r.code, r.err]).toEqual([0, '']);
    const j = valid('reduce', r.out);
    expect(j).toMatchObject({
      program: 'divmod.reduced.ptx',
      order: 'divmod.reduced.order.yaml',
      stopped: null,
    });
    expect(j.phases.before).toBeGreaterThan(30);
    // Those that are required stay.
    expect(j.phases.after).toBeLessThan(10);
    expect(j.instructions.after).toBeLessThan(12);
    // The knob does not matter.
    expect(j.command).not.toContain('OptBudget');
    expect(readFileSync(join(dir, j.program), 'utf8').split('\n').slice(0, 2)).toEqual([
      '// memory differs when run with fewer threads or one lane at a time',
      `// ${j.command}`,
    ]);
    const again = orrery(j.command.split(' ').slice(1));
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('DIFFERENT')]);
    expect(orrery(['check', j.order, j.program]).code).toBe(0);
    expect(readdirSync(dir).filter((f) => f.endsWith('.part'))).toEqual([]);
  });

  it('keeps the parts that options name, and stops at their limit', () => {
    const base = ['reduce', 'divmod.ptx', '--rules', 'wrong.yaml', '-o', 'small.ptx', '--json'];
    const plan = valid('reduce', orrery([...base, '--no-program']).out);
    expect(plan).toMatchObject({ instructions: { before: plan.instructions.after } });
    const program = valid('reduce', orrery([...base, '--no-plan', '--tests', '20']).out);
    expect(program).toMatchObject({ stopped: 'tests', tests: 20, order: null, phases: null });
    expect(program.command).toBe(
      'orrery opt small.ptx --rules wrong.yaml --force-rules --verify-each --check auto --emit none',
    );
    expect(orrery(program.command.split(' ').slice(1)).code).toBe(1);
  });

  it('writes into the current folder, and says where', () => {
    mkdirSync(join(dir, 'kernels'), { recursive: true });
    copyFileSync(join(dir, 'divmod.ptx'), join(dir, 'kernels', 'other.ptx'));
    const some = ['--rules', 'wrong.yaml', '--no-program', '--tests', '1'];
    const r = orrery(['reduce', 'kernels/other.ptx', ...some]);
    expect([r.code, r.out]).toEqual([
      0,
      expect.stringMatching(
        /^written to other\.reduced\.ptx( and other\.reduced\.order\.yaml)?, and it still/m,
      ),
    ]);
    expect(readdirSync(join(dir, 'kernels'))).toEqual(['other.ptx']);
    expect(existsSync(join(dir, 'other.reduced.ptx'))).toBe(true);
  });

  it('keeps the best so far where it is interrupted', async () => {
    const log = join(dir, 'asked');
    writeFileSync(log, '');
    // Each question leaves a line, by which the test knows how far it has come.
    const command = `echo x >> ${log}; ! grep -Eq 'add[.].*, 2;' {}`;
    const args = ['reduce', 'divmod.ptx', '--rules', 'wrong.yaml', '-o', 'cut.ptx', '--command', command];
    const child = spawn(process.execPath, [join(root, 'bin', 'orrery.js'), ...args, '--json'], {
      cwd: dir,
      env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
    });
    let said = '';
    child.stdout.on('data', (d) => (said += d));
    const ended = new Promise<number | null>((done) => child.on('close', done));
    while (readFileSync(log, 'utf8').length < 60) await new Promise((r) => setTimeout(r, 50));
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    const j = valid('reduce', said);
    expect(j.stopped).toBe('interrupted');
    expect(j.instructions.after).toBeGreaterThan(9);
    // The program still fails under what is left of the plan; what other phases would make of it is another matter.
    const plan = ['--order', 'cut.order.yaml', '--rules', 'wrong.yaml'];
    const again = orrery(['bisect', 'cut.ptx', ...plan, '--command', command]);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('rule off-by-one')]);
  });

  it('says that there is nothing to reduce', () => {
    const r = orrery(['reduce', 'divmod.ptx']);
    expect([r.code, r.err.split('\n')[0]]).toEqual([1, 'error: the plan is good: nothing to reduce']);
    expect(orrery(['reduce', '-'], { input: 'x' }).err).toMatch(/^error: standard input has no name/);
  });
});

describe('orrery repro', () => {
  const blocks = join(root, 'test', 'kernels', 'saxpy', 'saxpy.sm_80.ptx');
  const broken = new Broken();
  beforeAll(() => broken.start(blocks));
  afterAll(() => broken.end());

  it('runs a failure again from the one file that it wrote, wherever that is', async () => {
    const cwd = join(dir, 'deep', 'er');
    mkdirSync(cwd, { recursive: true });
    const fault = [
      'opt',
      join(dir, 'divmod.ptx'),
      '--rules',
      '../../wrong.yaml',
      '--force-rules',
      '--emit',
      'none',
    ];
    const failed = await broken.run('gvn-cse', fault.with(1, blocks), { cwd });
    expect(failed.code).toBe(1);
    expect(failed.err).toMatch(/^error: internal fault in phase GvnCse, function \w+: no value for R\d+$/m);
    expect(failed.err).not.toMatch(/\bat .*:\d+:\d+/);
    const files = readdirSync(cwd);
    expect(files).toEqual([expect.stringMatching(/^orrery-repro-[0-9a-f]{8}\.json$/)]);
    expect(failed.err).toContain(`orrery repro ${files[0]}`);
    const file = join(cwd, files[0]);
    const r = valid('reproducer', readFileSync(file, 'utf8'));
    expect(r).toMatchObject({
      failure: { phase: 'GvnCse', kind: 'internal fault: no value for R# ' },
      plan: { level: 3, sm: 'sm_80', options: { rules: ['../../wrong.yaml'] } },
    });
    expect(r.files.map((f: { content: string }) => f.content)).toEqual(
      expect.arrayContaining([readFileSync(join(dir, 'wrong.yaml'), 'utf8'), readFileSync(blocks, 'utf8')]),
    );

    // The same mistake again, in the same command, writes no second file.
    await broken.run('gvn-cse', fault.with(1, blocks), { cwd });
    expect(readdirSync(cwd)).toEqual(files);

    const elsewhere = join(dir, 'elsewhere');
    mkdirSync(elsewhere);
    const still = await broken.run('gvn-cse', ['repro', file], { cwd: elsewhere });
    expect([still.code, still.out.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/^it still happens: internal fault in phase GvnCse, function \w+: no value/),
    ]);
    const gone = orrery(['repro', file, '--json'], { cwd: elsewhere });
    expect(gone.code).toBe(2);
    expect(valid('repro', gone.out)).toMatchObject({ happens: false, now: null, samePlan: null, exit: 0 });
    const other = await broken.run('hoist-invariants', ['repro', file], { cwd: elsewhere });
    expect([other.code, other.out]).toEqual([2, expect.stringMatching(/^something else happens: /)]);
    // Nothing is left behind.
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  it('is written for a program that the verifier refuses, standard input and one of many files', async () => {
    const env = { ORRERY_REPRO: join(dir, 'repros') };
    const text = readFileSync(blocks, 'utf8');
    const piped = await broken.run('invalid', ['opt', '-', '--verify-each', '--emit', 'none'], { env });
    expect([piped.code, piped.err]).toEqual([1, expect.stringContaining('orrery repro')]);
    const [first] = readdirSync(env.ORRERY_REPRO);
    const file = join(env.ORRERY_REPRO, first);
    expect(valid('reproducer', readFileSync(file, 'utf8'))).toMatchObject({ stdin: text, files: [] });
    expect((await broken.run('invalid', ['repro', file])).code).toBe(0);

    rmSync(env.ORRERY_REPRO, { recursive: true });
    mkdirSync(join(dir, 'many'));
    for (const name of ['grid-3d', 'saxpy'])
      copyFileSync(
        join(root, 'test', 'kernels', name, `${name}.sm_80.ptx`),
        join(dir, 'many', `${name}.ptx`),
      );
    const many = await broken.run('gvn-cse', ['opt', 'many', '--emit', 'none'], { env });
    expect(many.code).toBe(1);
    const each = readdirSync(env.ORRERY_REPRO).map((f) =>
      valid('reproducer', readFileSync(join(env.ORRERY_REPRO, f), 'utf8')),
    );
    // A file for each failure, with the input that failed alone.
    expect(each.map((r) => r.files.length)).toEqual([1, 1]);
    expect(each.map((r) => r.files[0].path)).toContain('many/saxpy.ptx');
    // That one runs shows it of all: they differ in no more than the kernel.
    const one = readdirSync(env.ORRERY_REPRO)[0];
    expect((await broken.run('gvn-cse', ['repro', join(env.ORRERY_REPRO, one)])).code).toBe(0);

    const json = await broken.run('gvn-cse', ['opt', 'many/saxpy.ptx', '--ptxas', '--json'], { env });
    expect(JSON.parse(json.out).errors[0].notes[1]).toContain('`orrery repro ');
    const none = await broken.run('gvn-cse', ['opt', 'many/saxpy.ptx', '--emit', 'none'], {
      env: { ORRERY_REPRO: '' },
    });
    expect(none.err).toContain('with the command line and the input');
  });

  it('refuses what is no reproducer', () => {
    const error = (text: string) => {
      writeFileSync(join(dir, 'no.json'), text);
      const r = orrery(['repro', 'no.json']);
      return [r.code, r.err.split('\n')[0]];
    };
    expect(error('x')).toEqual([1, 'error: no.json is not a reproducer: it is not JSON']);
    expect(error('[]')).toEqual([1, 'error: no.json is not a reproducer']);
    const good = {
      kind: 'reproducer',
      version: 1,
      orrery: '0.1.0',
      node: 'v20.0.0',
      failure: { kind: 'x', text: 'x', phase: null, function: null, stack: [] },
      plan: null,
      seed: null,
      stdin: null,
      command: ['opt', 'x.ptx'],
      files: [],
    };
    expect(error(JSON.stringify({ ...good, version: 2 }))).toEqual([
      1,
      'error: no.json is a reproducer of form 2',
    ]);
    expect(error(JSON.stringify({ ...good, files: [{}] }))).toEqual([
      1,
      'error: no.json is a reproducer with parts missing, or of another form',
    ]);
    expect(error(JSON.stringify({ ...good, command: ['repro', 'no.json'] }))).toEqual([
      1,
      'error: no.json would run itself',
    ]);
    expect(
      error(JSON.stringify({ ...good, files: [{ path: '/etc/x', encoding: 'utf8', content: '' }] })),
    ).toEqual([1, 'error: the reproducer holds a file outside of its folder: /etc/x']);
  });
});
