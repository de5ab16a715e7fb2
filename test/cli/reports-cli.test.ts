import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'orrery-reports-'));
afterAll(() => rmSync(dir, { recursive: true }));
const saxpy = join('test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx');
const divmod = join('test', 'kernels', 'divmod', 'divmod.sm_80.ptx');

function opt(...args: string[]) {
  const r = spawnSync(process.execPath, [join(root, 'bin', 'orrery.js'), 'opt', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', XDG_CACHE_HOME: join(dir, 'cache') },
  });
  return { code: r.status, out: r.stdout, err: r.stderr };
}
const quiet = (file: string, ...args: string[]) => opt(file, '-q', '--emit', 'none', ...args);
const LINE =
  /^ {2}(\w+(?:#\d+)?) {2}:: {2}\[Total [\d.]+ (?:B|KB|MB)\] {2}\[Freeable [\d.]+ (?:B|KB|MB)\] {2}\[Freeable Leaked [\d.]+ (?:B|KB|MB)\] \(\d+%\)$/;

describe('opt --set PhaseTiming', () => {
  const r = quiet(saxpy, '--set', 'PhaseTiming');
  const lines = r.err.trimEnd().split('\n');

  it('prints the memory of every phase, run or not, then of all, then of the pool', () => {
    expect([r.code, r.out]).toEqual([0, '']);
    const phases = lines.slice(0, -2);
    expect(phases).toHaveLength(159);
    for (const l of phases) expect(l).toMatch(LINE);
    expect(phases[0]).toBe(
      '  OriCheckInitialProgram  ::  [Total 0 B]  [Freeable 0 B]  [Freeable Leaked 0 B] (0%)',
    );
    expect(phases.some((l) => l.includes('(100%)'))).toBe(true);
    expect(lines.at(-2)).toMatch(/^All Phases Summary {2}:: {2}\[Total /);
    expect(lines.at(-1)).toMatch(/^\[Pool Consumption = \d+\.\d{3} KB\]$/);
  });

  it('says the same each time', () => expect(quiet(saxpy, '--set', 'PhaseTiming').err).toBe(r.err));
});

describe('opt --print-phases and --ftrace-phase-after', () => {
  const all = quiet(saxpy, '--print-phases').err.trimEnd().split('\n');

  it('say which phase begins and ends', () => {
    expect(all.slice(0, 4)).toEqual([
      'Before OriCheckInitialProgram',
      'After OriCheckInitialProgram',
      'Before AnalyzeControlFlow',
      'After AnalyzeControlFlow',
    ]);
    expect(all.length).toBeGreaterThan(60);
    for (let i = 0; i < all.length; i += 2) expect(all[i + 1]).toBe(all[i].replace(/^Before/, 'After'));
  });

  it('from the phase after the one that is named, in any case', () => {
    const { err } = quiet(saxpy, '--ftrace-phase-after', 'anALYzecontrolflow');
    expect(err.trimEnd().split('\n')).toEqual(all.slice(4));
    // The last phase has none after it.
    expect(quiet(saxpy, '--ftrace-phase-after', 'NOP').err).toBe('');
  });

  it('the lines of one phase stand together with those of its memory and its listing', () => {
    const { err } = quiet(
      saxpy,
      '--ftrace-phase-after',
      'GeneralOptimizeEarly',
      '--set',
      'PhaseTiming',
      '--set',
      'DumpIR=OriBranchOpt',
    );
    expect(err).toMatch(
      /\nBefore OriBranchOpt\nAfter OriBranchOpt\nAfter OriBranchOpt\n# \d+ instructions[^}]*\}\n[\s\S]*\n {2}OriBranchOpt {2}:: {2}\[Total /,
    );
  });

  it('an unknown phase is one error', () => {
    const r = quiet(saxpy, '--ftrace-phase-after', 'GvnCsee');
    expect(r.code).toBe(1);
    expect(r.err).toBe("error: there is no phase 'GvnCsee' in the order\n  did you mean 'GvnCse'?\n");
    const dump = quiet(saxpy, '--set', 'DUMPIR=GvnCsee');
    expect(dump.code).toBe(1);
    expect(dump.err).toBe(
      "error: knob DumpIR: there is no phase 'GvnCsee' in the order\n  did you mean 'GvnCse'?\n",
    );
  });
});

describe('opt --stat', () => {
  it('is a table of the phases that ran, the costliest first, and of why others did not', () => {
    const { code, err } = opt(divmod, '--emit', 'none', '--stat');
    expect(code).toBe(0);
    const from = err.split('\n').findIndex((l) => /^phase +time +share +instr +new +dropped$/.test(l));
    const rows = err.split('\n').slice(from + 1);
    const end = rows.findIndex((l) => l.startsWith('all '));
    const times = rows.slice(0, end).map((l) => /^\S+ +([\d.]+) (ms|s)/.exec(l)!);
    const ms = times.map(([, n, unit]) => Number(n) * (unit === 's' ? 1000 : 1));
    expect(ms.length).toBeGreaterThan(30);
    expect(ms).toEqual([...ms].sort((a, b) => b - a));
    expect(rows[end]).toMatch(/^all +[\d.]+ m?s +[-+]?\d* +[\d.]+ KB +[\d.]+ KB/);
    expect(err).toMatch(
      /\n\d+ phases did not run:\n +\d+ {2}isNoOp: nothing fills the hook\n +\d+ {2}makes machine code, and none is asked for\n/,
    );
    expect(Math.max(...rows.slice(0, end + 1).map((l) => l.length))).toBeLessThanOrEqual(90);
  });

  it('--json is a document of the published form', () => {
    const r = opt(divmod, '--stat', '--json', '-q');
    expect([r.code, r.err]).toEqual([0, '']);
    const data = JSON.parse(r.out);
    const check = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(
      JSON.parse(readFileSync(join(root, 'schemas', 'output', 'stat.schema.json'), 'utf8')),
    );
    check(data);
    expect(check.errors ?? []).toEqual([]);
    const ms = data.phases.map((p: { ms: number }) => p.ms);
    expect(ms).toEqual([...ms].sort((a: number, b: number) => b - a));
    expect(data.phases.length + data.skipped.length).toBe(159);
    expect(data.skipped.flatMap((p: { id: string; isNoOp: boolean }) => (p.isNoOp ? [p.id] : []))).toEqual(
      expect.arrayContaining(['AdvancedPhaseAfterConvUnSup', 'UpdateAfterConvertUnsupportedOps']),
    );
    expect(data.timing).toHaveLength(160);
    expect(data.timing[0]).toEqual({ index: -1, name: 0x2030007, time: 0, flags: 0 });
    expect(data.timing[1]).toMatchObject({ index: 0, name: 'OriCheckInitialProgram', flags: 3 });
    const share = data.phases.reduce((t: number, p: { share: number }) => t + p.share, 0);
    expect(share).toBeCloseTo(1, 3);
  });

  it('--json and a program do not share standard output', () => {
    const both = opt(divmod, '--stat', '--json', '--emit', 'ptx');
    expect([both.code, JSON.parse(both.out).errors[0].message]).toEqual([
      1,
      '--json and --emit ptx would both print on standard output',
    ]);
    const o = join(dir, 'o.ptx');
    const apart = opt(divmod, '--stat', '--json', '-q', '--emit', 'ptx', '-o', o);
    expect([apart.code, JSON.parse(apart.out).version]).toEqual([0, 1]);
    expect(readFileSync(o, 'utf8')).toContain('.visible .entry');
    expect(JSON.parse(opt(divmod, '--json', '-q').out)).toMatchObject({ kind: 'opt', order: 'binary' });
    expect(opt(divmod, '--json', '--stat', '--ptxas').err).toContain('--json prints one document');
  });

  it('the journal has memory and timing records', () => {
    const j = JSON.parse(opt(saxpy, '--emit', 'json', '-q').out);
    expect(j.timing).toHaveLength(160);
    expect(j.memory.pool).toBeGreaterThan(0);
    expect(j.phases[0].memory).toEqual({ total: 0, freeable: 0, leaked: 0 });
  });
});

describe('opt --trace-events', () => {
  interface Event {
    name: string;
    ph: string;
    ts: number;
    dur: number;
  }
  const eventsOf = (file: string): Event[] => JSON.parse(readFileSync(file, 'utf8')).traceEvents;

  it('writes what a trace viewer reads: steps of the command, phases, counters', () => {
    const file = join(dir, 'trace.json');
    const r = quiet(saxpy, '--trace-events', file, '--check', 'auto');
    expect([r.code, r.out, r.err]).toEqual([0, '', '']);
    const events = eventsOf(file);
    const stretches = events.filter((e) => e.ph === 'X');
    expect(stretches.slice(0, 4).map((e) => e.name)).toEqual(['plan', 'read', 'check auto', 'phases']);
    expect(stretches.some((e) => e.name === 'GvnCse')).toBe(true);
    for (const e of stretches) {
      expect(e.ts).toBeGreaterThanOrEqual(0);
      expect(e.dur).toBeGreaterThanOrEqual(0);
    }
    expect(new Set(events.map((e) => e.ph))).toEqual(new Set(['M', 'X', 'C']));
  });

  it('of several files writes one into a folder for each', () => {
    const folder = join(dir, 'in');
    mkdirSync(folder);
    copyFileSync(join(root, saxpy), join(folder, 'a.ptx'));
    copyFileSync(join(root, divmod), join(folder, 'b.ptx'));
    for (const jobs of ['1', '2']) {
      const out = join(dir, `traces-${jobs}`);
      const r = opt(folder, '--emit', 'none', '-q', '--trace-events', out, '-j', jobs);
      expect([r.code, r.err]).toEqual([0, '']);
      for (const name of ['a', 'b'])
        expect(eventsOf(join(out, `${name}.trace.json`)).some((e) => e.name === 'phases')).toBe(true);
    }
    expect(opt(folder, '--emit', 'none', '--stat', '--json').err).toContain(
      '--json prints one document, of one file',
    );
  });

  it('what cannot be written is one error', () => {
    expect(quiet(saxpy, '--trace-events', '-').err).toBe(
      'error: --trace-events writes a file, not standard output (-)\n',
    );
    const r = quiet(saxpy, '--trace-events', join(root, saxpy, 'x.json'));
    expect(r.code).toBe(1);
    expect(r.err).toMatch(/^error: cannot write .*x\.json: /);
    expect(existsSync(join(dir, 'x.json'))).toBe(false);
  });
});

it('the page shows what the tool says', () => {
  const page = readFileSync(join(root, 'src', 'engine', 'README.md'), 'utf8');
  const shown = [...page.matchAll(/^```sh\nnpx orrery opt ([^\n]+)\n```\n(?:\n)```\n([\s\S]*?)^```$/gm)];
  expect(shown).toHaveLength(2);
  for (const [, args, text] of shown) {
    const { code, err } = opt(...args.split(' '));
    expect(code).toBe(0);
    expect(err.startsWith(text)).toBe(true);
  }
});
