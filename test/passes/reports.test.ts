import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { changedPhases } from '../../src/cli/optimize/report.ts';
import type { Journal, PhaseRecord } from '../../src/engine/journal.ts';
import {
  bytesOfBlock,
  bytesOfFn,
  bytesOfInstr,
  bytesOfProgram,
  MemoryAccount,
} from '../../src/engine/memory.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import {
  afterLine,
  beforeLine,
  memoryLine,
  memoryReport,
  poolLine,
  SUMMARY,
  sizeText,
  TIMING_SENTINEL,
  timingRecords,
} from '../../src/engine/report.ts';
import { traceOf } from '../../src/engine/trace-events.ts';
import { mapBlocks, withFunctions } from '../../src/ir/edit.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseFn, printFn, printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { Plan } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { planWith, saysOf } from '../support/specs.ts';

const isa = testIsa();
const planOf = async (change: Partial<PlanRequest> = {}, mine?: string): Promise<Plan> =>
  (await planWith({ order: 'binary', ...change }, mine)).plan!;
const base = await planOf();
const lowered = (ptx: string): Program =>
  lowerPtx(parsePtx(ptx, 'x.ptx').module, { isa: base.isa, paramBase: 0x160, sm: 'sm_80' }).program;
const kernel = (name: string): Program =>
  lowered(readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8'));

describe('sizes', () => {
  it.each([
    [0, '0 B'],
    [1, '1 B'],
    [1023, '1023 B'],
    [1024, '1.000 KB'],
    [1025, '1.001 KB'],
    [1_048_575, '1023.999 KB'],
    [1_048_576, '1024.000 KB'],
    // 9.999 MB are still told in KB.
    [10_484_712, '10238.977 KB'],
    [10_485_759, '10239.999 KB'],
    [10_485_760, '10240.000 KB'],
    [10_485_761, '10.000 MB'],
    [10_496_246, '10.010 MB'],
    [47_896_855, '45.678 MB'],
    [5_368_709_120, '5120.000 MB'],
  ])('%i: %s', (bytes, text) => expect(sizeText(bytes)).toBe(text));
});

describe('lines', () => {
  it('of a phase: name, three sizes, what of the freeable is leaked', () => {
    // The figures of the example in the source: 12 of 567 KB are 2 %.
    expect(memoryLine('GvnCse', { total: 1234 * 1024, freeable: 567 * 1024, leaked: 12 * 1024 })).toBe(
      '  GvnCse  ::  [Total 1234.000 KB]  [Freeable 567.000 KB]  [Freeable Leaked 12.000 KB] (2%)',
    );
    expect(memoryLine('X', { total: 0, freeable: 0, leaked: 0 })).toBe(
      '  X  ::  [Total 0 B]  [Freeable 0 B]  [Freeable Leaked 0 B] (0%)',
    );
    expect(memoryLine('X', { total: 5, freeable: 7, leaked: 7 })).toMatch(/ \(100%\)$/);
  });

  it('of all phases and of the pool', () => {
    expect(memoryLine(SUMMARY, { total: 10_485_761, freeable: 1023, leaked: 0 })).toBe(
      'All Phases Summary  ::  [Total 10.000 MB]  [Freeable 1023 B]  [Freeable Leaked 0 B] (0%)',
    );
    expect(poolLine(47_896_855)).toBe('[Pool Consumption = 45.678 MB]');
    expect(poolLine(1023)).toBe('[Pool Consumption = 1023 B]');
  });

  it('before and after', () => {
    expect([beforeLine({ id: 'GvnCse' }), afterLine({ id: 'GvnCse' })]).toEqual([
      'Before GvnCse',
      'After GvnCse',
    ]);
  });
});

describe('the table of phases that changed something', () => {
  const journal = runPipeline(kernel('sha256'), base);
  const rows = changedPhases(journal, Number.POSITIVE_INFINITY).split('\n');
  const whatOf = (lines: readonly string[], id: string): string =>
    new RegExp(` ${id} .* ms  (.*)$`).exec(lines.find((l) => l.includes(` ${id} `))!)![1];
  it('counts what was done, not the remarks that tell of it', () => {
    const { remarks } = journal.records.find((r) => r.phase.id === 'GeneralOptimizeEarly')!;
    for (const name of ['copies-propagated', 'dead-removed']) {
      const told = remarks.filter((m) => m.name === name).map((m) => Number(/^\d+/.exec(m.message)![0]));
      const all = told.reduce((sum, n) => sum + n, 0);
      expect(all).toBeGreaterThan(told.length);
      expect(whatOf(rows, 'GeneralOptimizeEarly')).toContain(`${all} ${name}`);
    }
  });
  it.each([80, 85, 95, 110, 140])('fits %i columns, and says all of it', (columns) => {
    const narrow = changedPhases(journal, columns).split('\n');
    for (const l of narrow) expect(l.length).toBeLessThanOrEqual(columns);
    const words = (lines: readonly string[]): string[] => lines.join(' ').split(/\s+/).filter(Boolean).sort();
    expect(words(narrow).filter((w) => w !== 'what')).toEqual(words(rows).filter((w) => w !== 'what'));
  });
});

/** A journal of three phases, one of which has no number and one of which did not run. */
const phase = (position: number, id: string, index: number | null) => ({
  position,
  id,
  index,
  category: 'Lowering',
});
const record = (over: object): PhaseRecord =>
  ({
    outcome: 'ran',
    why: '',
    level: 3,
    began: 0,
    ms: 0,
    memory: { total: 0, freeable: 0, leaked: 0 },
    cached: false,
    functionsChanged: 0,
    blocksChanged: 0,
    instructionsBefore: 10,
    instructionsAfter: 10,
    ...over,
  }) as unknown as PhaseRecord;
const journal = {
  plan: { hash: 'abc', order: 'binary', sm: 'sm_80', level: 3 },
  input: { name: 'k.ptx' },
  began: 1000,
  memory: { summary: { total: 2048, freeable: 1024, leaked: 512 }, pool: 4096 },
  records: [
    record({
      phase: phase(0, 'A', 4),
      began: 0.5,
      ms: 1.25,
      functionsChanged: 1,
      blocksChanged: 2,
      instructionsAfter: 8,
      memory: { total: 2048, freeable: 1024, leaked: 512 },
    }),
    record({
      phase: phase(1, 'B', 5),
      began: 2,
      outcome: 'skipped',
      why: 'isNoOp: nothing fills the hook',
      level: 1,
    }),
    record({
      phase: phase(2, 'C', null),
      began: 2.5,
      ms: 0.000_25,
      instructionsBefore: 8,
      instructionsAfter: 8,
    }),
  ],
} as unknown as Journal;

describe('a journal', () => {
  it('as a report of memory: a line for each phase, run or not, then all, then the pool', () => {
    expect(memoryReport(journal)).toEqual([
      '  A  ::  [Total 2.000 KB]  [Freeable 1.000 KB]  [Freeable Leaked 512 B] (50%)',
      '  B  ::  [Total 0 B]  [Freeable 0 B]  [Freeable Leaked 0 B] (0%)',
      '  C  ::  [Total 0 B]  [Freeable 0 B]  [Freeable Leaked 0 B] (0%)',
      'All Phases Summary  ::  [Total 2.000 KB]  [Freeable 1.000 KB]  [Freeable Leaked 512 B] (50%)',
      '[Pool Consumption = 4.000 KB]',
    ]);
  });

  it('as timing records after their sentinel', () => {
    // The source writes it in hexadecimal in two places; the decimal beside one of them, 33,739,079, is another number.
    expect(TIMING_SENTINEL).toBe(33_751_047);
    expect(timingRecords(journal)).toEqual([
      { index: -1, name: 33_751_047, time: 0, flags: 0 },
      { index: 4, name: 'A', time: 1_250_000, flags: 3 },
      { index: 5, name: 'B', time: 0, flags: 1 },
      { index: -1, name: 'C', time: 250, flags: 3 },
    ]);
  });

  it('as trace events', () => {
    const at = { pid: 1, tid: 1 };
    const args = { level: 3, cached: false };
    expect(traceOf(journal, [{ name: 'plan', began: 990, ms: 7 }])).toEqual({
      traceEvents: [
        { name: 'process_name', ph: 'M', ...at, args: { name: 'orrery' } },
        { name: 'thread_name', ph: 'M', ...at, args: { name: 'k.ptx' } },
        { name: 'plan', ph: 'X', ...at, ts: 0, dur: 7000, cat: 'step', args: {} },
        { name: 'phases', ph: 'X', ...at, ts: 10_000, dur: 2500.25, cat: 'step', args: {} },
        { name: 'instructions', ph: 'C', ...at, ts: 10_000, args: { instructions: 10 } },
        { name: 'memory of new objects', ph: 'C', ...at, ts: 10_000, args: { bytes: 0 } },
        {
          name: 'A',
          ph: 'X',
          ...at,
          ts: 10_500,
          dur: 1250,
          cat: 'Lowering',
          args: {
            index: 4,
            position: 0,
            ...args,
            functionsChanged: 1,
            blocksChanged: 2,
            instructionsBefore: 10,
            instructionsAfter: 8,
          },
        },
        { name: 'instructions', ph: 'C', ...at, ts: 11_750, args: { instructions: 8 } },
        { name: 'memory of new objects', ph: 'C', ...at, ts: 11_750, args: { bytes: 2048 } },
        {
          name: 'C',
          ph: 'X',
          ...at,
          ts: 12_500,
          dur: 0.25,
          cat: 'Lowering',
          args: {
            position: 2,
            ...args,
            functionsChanged: 0,
            blocksChanged: 0,
            instructionsBefore: 8,
            instructionsAfter: 8,
          },
        },
      ],
      displayTimeUnit: 'ms',
      otherData: { program: 'k.ptx', plan: 'abc', order: 'binary', sm: 'sm_80', level: '3' },
    });
  });

  it('without an account of memory has no summary, and no counter of memory', () => {
    const bare = { ...journal, memory: null };
    expect(memoryReport(bare)).toHaveLength(3);
    expect(traceOf(bare).traceEvents.some((e) => e.name.startsWith('memory'))).toBe(false);
  });
});

describe('memory of snapshots', () => {
  const text = '.entry k\n{\nBB0:\nMOV R1, 3\nIADD3 R2, R1, 1\nBB1:\nEXIT\n}';
  const fn = parseFn(text, isa);
  const input = programOf(fn);
  /** The same with a block that has lost its first instruction. */
  const shorter = (p: Program): Program =>
    withFunctions(p, [mapBlocks(p.functions[0], (b) => (b.id === 0 ? { ...b, ins: b.ins.slice(1) } : b))]);

  it('has sizes by the layout of objects: three words and the fields, lists apart', () => {
    const [mov, add] = fn.blocks[0].ins;
    // 11 words; a list of one is 7 words; an operand is 9.
    expect(bytesOfInstr(mov)).toBe(8 * (11 + 7 + (4 + 2 + mov.src.length) + 9 * mov.src.length));
    expect(bytesOfInstr(add) - bytesOfInstr(mov)).toBe(8 * 10 * (add.src.length - mov.src.length));
    expect(bytesOfBlock(fn.blocks[0])).toBe(8 * (6 + 8));
    expect(bytesOfBlock({ ...fn.blocks[0], ins: [] })).toBe(8 * 6);
    expect(bytesOfFn(fn)).toBe(8 * (14 + 8));
    expect(bytesOfFn({ ...fn, tables: [[1, 2]] })).toBe(8 * (14 + 8 + 7 + 8));
  });

  it('what is new, what is dropped, and what of that the input holds', () => {
    const account = new MemoryAccount(input, false);
    const first = shorter(input);
    const [before, after] = [input.functions[0], first.functions[0]];
    const dropped =
      bytesOfFn(before) + bytesOfBlock(before.blocks[0]) + bytesOfInstr(before.blocks[0].ins[0]);
    const made = bytesOfFn(after) + bytesOfBlock(after.blocks[0]);
    expect(account.phase(input, first)).toEqual({ total: made, freeable: dropped, leaked: dropped });
    expect(account.phase(first, first)).toEqual({ total: 0, freeable: 0, leaked: 0 });
    // The second phase drops what the first made, which nobody holds, and one more instruction of the input.
    const second = shorter(first);
    const [last] = second.functions;
    const rest = bytesOfInstr(before.blocks[0].ins[1]);
    expect(account.phase(first, second)).toEqual({
      total: bytesOfFn(last) + bytesOfBlock(last.blocks[0]),
      freeable: made + rest,
      leaked: rest,
    });
    expect(account.run.pool).toBe(held([input, second]));
  });

  it('all of it is leaked where every snapshot is kept', () => {
    const account = new MemoryAccount(input, true);
    const first = shorter(input);
    const second = shorter(first);
    for (const [a, b] of [
      [input, first],
      [first, second],
    ]) {
      const m = account.phase(a, b);
      expect(m.leaked).toBe(m.freeable);
    }
    expect(account.run.pool).toBe(held([input, first, second]));
  });

  it.each(['saxpy', 'divmod', 'sobel'])('%s: the pool is what the objects that are held take', (name) => {
    const program = kernel(name);
    const all = runPipeline(program, base, { memory: true });
    expect(all.memory!.pool).toBe(held([program, ...all.records.map((r) => r.program)]));
    expect(all.memory!.summary.leaked).toBe(all.memory!.summary.freeable);
    const ends = runPipeline(program, base, { memory: true, snapshots: 'ends' });
    expect(ends.memory!.pool).toBe(held([program, ends.last]));
    expect(ends.memory!.summary.leaked).toBeLessThan(ends.memory!.summary.freeable);
    const sum = ends.records.reduce((t, r) => t + r.memory!.total, 0);
    expect(ends.memory!.summary.total).toBe(sum);
    expect(ends.records.map((r) => r.memory!.total)).toEqual(all.records.map((r) => r.memory!.total));
    for (const r of ends.records)
      if (r.outcome === 'skipped') expect(r.memory).toEqual({ total: 0, freeable: 0, leaked: 0 });
  });

  /** Bytes of all objects of some programs, each counted once. */
  function held(programs: readonly Program[]): number {
    const seen = new Set<object>();
    const once = (x: object, bytes: number): number => (seen.has(x) ? 0 : (seen.add(x), bytes));
    let bytes = 0;
    for (const p of programs)
      for (const f of p.functions) {
        bytes += once(f, bytesOfFn(f));
        for (const b of f.blocks) {
          bytes += once(b, bytesOfBlock(b));
          for (const i of b.ins) bytes += once(i, bytesOfInstr(i));
        }
      }
    if (programs.length === 1) expect(bytes).toBe(bytesOfProgram(programs[0]));
    return bytes;
  }
});

describe('a run', () => {
  const program = lowered(branchyPtx('k', 'other'));

  it('releases the snapshots between its ends, and reading one is an error', () => {
    const seen: string[] = [];
    const all = runPipeline(program, base);
    const ends = runPipeline(program, base, {
      snapshots: 'ends',
      onPhase: (r) => void seen.push(printProgram(r.program)),
    });
    expect(printProgram(ends.last)).toBe(printProgram(all.last));
    expect(seen).toEqual(all.records.map((r) => printProgram(r.program)));
    expect(() => ends.records[3].program).toThrow('did not keep the snapshot after AnalyzeControlFlow');
    expect(ends.records.every((r) => r.reports.length === 0)).toBe(true);
    expect(JSON.stringify(ends.records[3].phase)).toBe(JSON.stringify(all.records[3].phase));
  });

  it('tells of each phase that runs before it does, and of every phase after', () => {
    const said: string[] = [];
    const j = runPipeline(program, base, {
      onBegin: (p) => void said.push(beforeLine(p)),
      onPhase: (r) => void (r.outcome === 'ran' && said.push(afterLine(r.phase))),
    });
    expect(said).toEqual(
      j.records
        .filter((r) => r.outcome === 'ran')
        .flatMap(({ phase: { id } }) => [`Before ${id}`, `After ${id}`]),
    );
    expect(said.length).toBeGreaterThan(40);
  });

  it('as a trace: phases follow one another inside of one stretch', () => {
    const j = runPipeline(program, base, { memory: true });
    const { traceEvents } = traceOf(j);
    const stretches = traceEvents.filter((e) => e.ph === 'X');
    const [all, ...phases] = stretches;
    expect(all.name).toBe('phases');
    expect(phases.map((e) => e.name)).toEqual(
      j.records.filter((r) => r.outcome === 'ran').map((r) => r.phase.id),
    );
    const ns = (x: number | undefined): number => Math.round(x! * 1000);
    let end = 0;
    for (const e of phases) {
      expect(ns(e.ts)).toBeGreaterThanOrEqual(end);
      end = ns(e.ts) + ns(e.dur);
    }
    expect(end).toBeLessThanOrEqual(ns(all.ts) + ns(all.dur));
    const counted = traceEvents.filter((e) => e.name === 'instructions').map((e) => e.args.instructions);
    expect(counted.at(-1)).toBe(j.records.at(-1)!.instructionsAfter);
  });
});

describe('knobs that the dispatcher reads', () => {
  const program = lowered(branchyPtx('k', 'other'));
  const dumps = (p: Plan): [string, string][] =>
    runPipeline(program, p).records.flatMap((r): [string, string][] =>
      r.dump === null ? [] : [[r.phase.id, r.dump.text]],
    );

  it.each(['PhaseTiming', 'Knob249', 'phasetiming=true'])('%s keeps an account of memory', async (set) => {
    expect(runPipeline(program, base).memory).toBeNull();
    expect(runPipeline(program, base).records.every((r) => r.memory === null)).toBe(true);
    const p = await planOf({ set: [set] });
    const j = runPipeline(program, p);
    expect(j.memory!.summary.total).toBeGreaterThan(0);
    expect(memoryReport(j)).toHaveLength(159 + 2);
    expect(printProgram(j.last)).toBe(printProgram(runPipeline(program, base).last));
    expect(await saysOf({ set: [set], order: 'binary' })).toBe('');
  });

  it('PhaseTiming=false keeps none', async () => {
    expect(runPipeline(program, await planOf({ set: ['PhaseTiming=false'] })).memory).toBeNull();
  });

  it('PhaseTiming is for a whole program', async () => {
    const mine = "kind: recipe\ntitle: t\nwhen: { kernel: 'k' }\nknobs: { Knob249: true }\n";
    expect(await saysOf({ recipes: ['mine'], order: 'binary' }, mine)).toContain(
      'knob Knob249 reports on the whole program, not on some kernels',
    );
  });

  it('DumpIR lists functions after the phases that it names, in any case, between + or ,', async () => {
    expect(dumps(base)).toEqual([]);
    const all = runPipeline(program, base);
    for (const set of ['DUMPIR=generateMovPhi+GvnCse', 'DumpIR=GvnCse, GenerateMovPhi']) {
      expect(await saysOf({ set: [set], order: 'binary' })).toBe('');
      const [first, second, ...more] = dumps(await planOf({ set: [set] }));
      expect(more).toEqual([]);
      expect([first[0], second[0]]).toEqual(['GenerateMovPhi', 'GvnCse']);
      const at = all.records.find((r) => r.phase.id === 'GenerateMovPhi')!.program;
      const lines = first[1].split('\n');
      expect(lines[0]).toBe('After GenerateMovPhi');
      expect(lines[1]).toMatch(/^# \d+ instructions, \d+ R-regs$/);
      expect(lines[4]).toMatch(/^# \[est latency = \d+\] \[LSpillB=0\] /);
      for (const f of at.functions) expect(first[1]).toContain(printFn(f));
    }
  });

  it('DumpIR lists after a reporting phase what its report says', async () => {
    const names = [
      'ReportInitialRepresentation',
      'ReportBeforeScheduling',
      'ReportBeforeRegisterAllocation',
      'ReportAfterRegisterAllocation',
    ];
    const journal = runPipeline(program, await planOf({ set: [`DUMPIR=${names.join('+')}`] }));
    for (const name of names) {
      const record = journal.records.find((r) => r.phase.id === name)!;
      const reports = record.reports.map((r) => r.text).join('\n');
      expect(record.dump!.text).toBe(`After ${name}\n${reports}`);
    }
  });

  it('DumpIR says why a phase that it names did not run', async () => {
    const [[id, text]] = dumps(await planOf({ set: ['DumpIR=DebuggerBreak'] }));
    expect(id).toBe('DebuggerBreak');
    expect(text.split('\n').slice(0, 2)).toEqual([
      'After DebuggerBreak',
      expect.stringMatching(/^# did not run: ./),
    ]);
  });

  it('DumpIR for some kernels lists those', async () => {
    const mine = "kind: recipe\ntitle: t\nwhen: { kernel: 'oth?r' }\nknobs: { DumpIR: GvnCse }\n";
    const [[, text]] = dumps(await planOf({ recipes: ['mine'] }, mine));
    expect(text).toContain('.entry other');
    expect(text).not.toContain('.entry k\n');
  });

  it('DumpCFG and DumpPerfMetricsForBlock add to what is listed, and say so where nothing is', async () => {
    const [[, bare]] = dumps(await planOf({ set: ['DumpIR=GvnCse'] }));
    const [[, cfg]] = dumps(await planOf({ set: ['DumpIR=GvnCse', 'DumpCFG'] }));
    expect(bare).not.toContain('Showing RPO state');
    expect(cfg).toContain('Control flow of k: ');
    expect(cfg).toContain('Control flow of other: ');
    const [[, blocks]] = dumps(await planOf({ set: ['DumpIR=GvnCse', 'DumpPerfMetricsForBlock'] }));
    const lines = blocks.split('\n').filter((l) => /^# BB\d/.test(l));
    expect(lines[0]).toMatch(/^# BB0 \[inst=\d+\] \[est runs=1\.000000\] \[est latency=\d+\]$/);
    expect(blocks.split('\n').filter((l) => !lines.includes(l))).toEqual(bare.split('\n'));
    for (const name of ['DumpCFG', 'DumpPerfMetricsForBlock']) {
      expect(await saysOf({ set: [name, 'DumpIR=GvnCse'], order: 'binary' })).toBe('');
      expect(await saysOf({ set: [name], order: 'binary' })).toBe(
        `warning: knob ${name} adds to what knob DumpIR lists, which names no phase`,
      );
    }
  });

  it('DumpIR=unset takes it away; an unknown phase is an error with the nearest name', async () => {
    expect(dumps(await planOf({ set: ['DumpIR=unset'] }))).toEqual([]);
    expect(await saysOf({ set: ['DumpIR=GvnCse+GenerateMovPhy'], order: 'binary' })).toBe(
      "error: knob DumpIR: there is no phase 'GenerateMovPhy' in the order\n  did you mean 'GenerateMovPhi'?",
    );
  });
});
