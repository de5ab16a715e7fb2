import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answer } from '../../src/web/engine/answer.ts';
import { align, countChanges } from '../../src/web/model/align.ts';
import { codeRows } from '../../src/web/model/code-rows.ts';
import { completions } from '../../src/web/model/complete.ts';
import {
  notUsingDocument,
  SPEC_KINDS,
  specTemplate,
  substanceOf,
  usesDocument,
  usingDocument,
  withDocument,
  withoutDocument,
} from '../../src/web/model/documents.ts';
import { Alignments } from '../../src/web/model/history.ts';
import { launchFor } from '../../src/web/model/launch-text.ts';
import { huesOf, ptxLines } from '../../src/web/model/lines.ts';
import { movedBetween } from '../../src/web/model/moved.ts';
import { pipelineRows } from '../../src/web/model/pipeline.ts';
import { snapshotsOf, Tables } from '../../src/web/model/tables.ts';
import { framesOf, placesOf, versionsOf } from '../../src/web/model/tracks.ts';
import type { About } from '../../src/web/protocol.ts';
import type { PhaseRow } from '../../src/web/recording.ts';
import { kernelSource, Page } from '../support/explorer.ts';

/* How the page processes tables: alignment, folding, completion. */

/** A function in the notation of this test: 'BB0: A R1, R2 @5' is an instruction that defines R1 and comes from line 5. */
type Written = Readonly<Record<number, readonly string[]>>;

function tablesOf(...fns: readonly Written[]): Tables {
  const t = new Tables();
  for (const fn of fns) {
    const blocks = Object.entries(fn).map(([id, lines]) => {
      const ins = lines.map((line) => {
        const [text, loc = '0'] = line.split(' @');
        t.ins.push([`       ${text}`, Number(loc), /^[A-Z]+ (R\d+)\b/.exec(text)?.[1] ?? '']);
        return t.ins.length - 1;
      });
      t.blocks.push({ id: Number(id), name: '', ins });
      return t.blocks.length - 1;
    });
    t.fns.push({ name: 'f', kind: 'entry', head: [], blocks, pressure: 0, size: 0 });
  }
  return t;
}

/** Pairs as texts: 'same A', 'changed A -> B', 'added B'. */
const told = (t: Tables): string[] =>
  align(t, 0, 1).flatMap((b) =>
    b.pairs.map((p) => {
      const [x, y] = [p.a, p.b].map((n) => (n < 0 ? '' : t.ins[n][0].trim()));
      return `${p.change} ${x === '' || y === '' || x === y ? x || y : `${x} -> ${y}`}`;
    }),
  );

describe('pairing instructions', () => {
  test('those that define the same registers, else those from one line with one opcode', () => {
    const t = tablesOf(
      { 0: ['LD R1, a @1', 'ADD R2, R1, R0 @2', 'MUL R3, R2, R2 @3', 'ST R3 @4'] },
      { 0: ['LD R1, a @1', 'ADD R9, R1, R0 @2', 'SHL R3, R9, 1 @3', 'ST R3 @4', 'NOP'] },
    );
    expect(told(t)).toEqual([
      'same LD R1, a',
      'changed ADD R2, R1, R0 -> ADD R9, R1, R0',
      'changed MUL R3, R2, R2 -> SHL R3, R9, 1',
      'same ST R3',
      'added NOP',
    ]);
  });

  test('blocks by their ids; what went to another block has moved', () => {
    const t = tablesOf(
      { 0: ['A R1'], 1: ['LD R2, x', 'B R3'], 2: ['C R4'] },
      { 0: ['A R1', 'LD R2, x'], 2: ['C R4'], 5: ['D R5'] },
    );
    expect(told(t)).toEqual([
      'same A R1',
      'moved LD R2, x',
      'moved LD R2, x',
      'removed B R3',
      'same C R4',
      'added D R5',
    ]);
    expect(countChanges(align(t, 0, 1))).toEqual({ same: 2, changed: 0, added: 1, removed: 1, moved: 1 });
    expect(align(t, 0, 1).map((b) => [b.id, b.a < 0, b.b < 0])).toEqual([
      [0, false, false],
      [1, false, true],
      [2, false, false],
      [5, true, false],
    ]);
  });

  test('every instruction of both sides stands in just one pair, in order, whatever the lists', () => {
    const line = fc.tuple(
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 3 }),
    );
    const list = fc.array(
      line.map(([r, s, l]) => `OP R${r}, R${s} @${l}`),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(list, list, (x, y) => {
        const t = tablesOf({ 0: x }, { 0: y });
        const [{ pairs }] = align(t, 0, 1);
        expect(pairs.flatMap((p) => (p.a < 0 ? [] : [p.a]))).toEqual(t.blocks[0].ins);
        expect(pairs.flatMap((p) => (p.b < 0 ? [] : [p.b]))).toEqual(t.blocks[1].ins);
        for (const p of pairs)
          if (p.a >= 0 && p.b >= 0) expect(p.change === 'same').toBe(t.ins[p.a][0] === t.ins[p.b][0]);
      }),
    );
  });

  test('of two orders of the same things, the fewest have moved', () => {
    expect([...movedBetween([1, 2, 3, 4, 5], [1, 4, 2, 3, 5])]).toEqual([4]);
    expect([...movedBetween([1, 2, 3], [1, 3])]).toEqual([]);
  });
});

test('what did not change is folded, blocks together, and opens again', () => {
  const many = Array.from({ length: 20 }, (_, i) => `X R${i}`);
  const t = tablesOf(
    { 0: many, 1: ['A R50'], 2: ['B R51'] },
    { 0: [...many, 'NEW R60'], 1: ['A R50'], 2: ['B R51'] },
  );
  const look = { folded: true, unified: false, opened: new Set<string>() };
  const rows = codeRows(t, align(t, 0, 1), look);
  expect(
    rows.map((r) =>
      r.kind === 'ins' ? r.change : r.kind === 'fold' ? `fold ${r.blocks}/${r.count}` : 'block',
    ),
  ).toEqual(['block', 'fold 0/17', 'same', 'same', 'same', 'added', 'fold 2/2']);
  const keys = rows.flatMap((r) => (r.kind === 'fold' ? r.key.split(',') : []));
  const open = codeRows(t, align(t, 0, 1), { ...look, opened: new Set(keys) });
  expect(open.filter((r) => r.kind === 'ins').length).toBe(23);
  const unfolded = codeRows(t, align(t, 0, 0), look);
  expect(unfolded.filter((r) => r.kind === 'fold')).toEqual([]);
});

describe('the list of phases', () => {
  const phase = (stage: number, changed = false): PhaseRow =>
    ({ stage, program: changed ? [] : null, ran: true }) as unknown as PhaseRow;

  test('a phase that was moved begins no stage, and ends none', () => {
    const phases = [1, 1, 4, 2, 2, 3, 1, 3, 4, 4].map((s) => phase(s, true));
    const rows = pipelineRows(phases, () => true, new Set(), false);
    expect(rows.flatMap((r) => (r.kind === 'stage' ? [r.stage] : []))).toEqual([1, 2, 3, 4]);
    expect(rows.map((r) => (r.kind === 'stage' ? `s${r.stage}` : r.kind === 'phase' ? r.at : ''))).toEqual([
      's1',
      0,
      1,
      2,
      's2',
      3,
      4,
      's3',
      5,
      6,
      7,
      's4',
      8,
      9,
    ]);
  });

  test('phases that changed nothing are folded, up to the next stage, and open', () => {
    const phases = [phase(1), phase(1), phase(1, true), phase(1), phase(2), phase(2)];
    const wanted = (p: PhaseRow) => p.program !== null;
    const rows = (open: ReadonlySet<number>) =>
      pipelineRows(phases, wanted, open, false).map((r) =>
        r.kind === 'fold' ? `${r.from}-${r.to}` : r.kind === 'phase' ? r.at : 's',
      );
    expect(rows(new Set())).toEqual(['s', '0-2', 2, 3, 's', '4-6']);
    expect(rows(new Set([4]))).toEqual(['s', '0-2', 2, 3, 's', '4-6', 4, 5]);
    // A search shows what it found, and nothing of the rest.
    expect(pipelineRows(phases, wanted, new Set(), true)).toEqual([
      { kind: 'stage', stage: 1, phases: 4, changed: 1 },
      { kind: 'phase', at: 2 },
    ]);
  });
});

describe('specs and launches to begin with', () => {
  test.each(SPEC_KINDS)('the sample of a new %s changes nothing until it is used', (kind) => {
    const page = new Page();
    const source = kernelSource('saxpy');
    const { file, text } = specTemplate(kind, source);
    const held = withDocument(source, file, text);
    expect(usesDocument(held, file)).toBe(false);
    expect(substanceOf(held)).toBe(substanceOf(source));
    expect(page.run(held).plan.hash).toBe(page.run(source).plan.hash);
    const used = usingDocument(held, file);
    expect(usesDocument(used, file)).toBe(true);
    expect(substanceOf(used)).not.toBe(substanceOf(source));
    expect(notUsingDocument(used, file)).toEqual(held);
    const run = page.run(used);
    expect(run.warnings.filter((w) => w.includes(file))).toEqual([]);
    expect(page.run(source).plan.hash).not.toBe(run.plan.hash);
  });

  test.each(SPEC_KINDS)('a %s taken out again leaves no trace', (kind) => {
    const source = kernelSource('saxpy');
    const { file, text } = specTemplate(kind, source);
    const held = usingDocument(withDocument(source, file, text), file);
    expect(held.documents).toEqual({ [file]: text });
    expect(usingDocument(withDocument(held, file, text), file)).toBe(held);
    expect(withoutDocument(held, file)).toEqual(source);
  });

  test('a launch for a kernel of which only the parameters are known runs', () => {
    const page = new Page();
    const source = kernelSource('saxpy');
    const run = page.run(source);
    const launch = launchFor(source.file, page.tables.fns[run.input[0]]);
    const r = answer(page.session, { id: 1, kind: 'simulate', ask: { source, launch, data: {} } });
    expect(r).toMatchObject({
      answer: { same: true, lowered: { status: 'ok' }, optimized: { status: 'ok' } },
    });
  });

  test('wrong expectations are counted, and the same on both sides', () => {
    const page = new Page();
    const source = kernelSource('saxpy');
    const launch = `kind: launch
module: saxpy.sm_90.ptx
kernel: saxpy
grid: [1, 1, 1]
block: [32, 1, 1]
params:
  - { scalar: s32, value: 32 }
  - { scalar: f32, value: 2 }
  - { buffer: f32, length: 32, data: x.bin }
  - { buffer: f32, length: 32, data: y.bin, expect: out.bin }
`;
    const bytes = (f: (i: number) => number) =>
      new Uint8Array(Float32Array.from({ length: 32 }, (_, i) => f(i)).buffer);
    const data = {
      'x.bin': bytes((i) => i),
      'y.bin': bytes(() => 1),
      'out.bin': bytes((i) => (i === 3 ? 0 : 2 * i + 1)),
    };
    const r = answer(page.session, { id: 1, kind: 'simulate', ask: { source, launch, data } });
    const out = { status: 'mismatch', buffers: [{ wrong: 0 }, { wrong: 1 }] };
    expect(r).toMatchObject({ answer: { same: true, lowered: out, optimized: out } });
    if ('answer' in r && r.answer !== null && typeof r.answer === 'object' && 'optimized' in r.answer)
      expect(r.answer.optimized.buffers[1].after.slice(0, 4)).toEqual(['1', '3', '5', '7']);
  });
});

test('completion gives names where names stand, and keys elsewhere', () => {
  const page = new Page();
  const reply = answer(page.session, { id: 1, kind: 'about', ask: null });
  const about = (reply as { answer: About }).answer;
  const words = (before: string, kind?: string) => completions(about, before, kind).map((w) => w.label);
  expect(words('kind: ')).toContain('order');
  expect(words('kind: order\nextends: ', 'order')).toContain('binary');
  expect(words('kind: order\nedits:\n  - { move: ', 'order')).toContain('OriCopyProp');
  expect(words('kind: order\nedits:\n  - { move: OriCopyProp, ', 'order')).toContain('after');
  expect(words('kind: recipe\nknobs:\n  ', 'recipe')).toContain('OptBudget');
  expect(words('kind: recipe\nhooks:\n  AdvancedPhaseAfterConvUnSup: [{ pass: ', 'recipe')).toContain(
    'live-dead',
  );
  expect(words('kind: recipe\n', 'recipe')).toContain('hooks');
  expect(words('kind: order\ntitle: ', 'order')).toEqual([]);
});

describe('two arms', () => {
  test('a phase less: what it cost, where they part, and that they do the same', () => {
    const page = new Page();
    const a = kernelSource('nested-conditions');
    const b = kernelSource('nested-conditions', { disable: ['OriDoPredication'] });
    const r = answer(page.session, { id: 1, kind: 'compare', ask: { a, b } });
    expect(r).toMatchObject({
      answer: {
        differences: [{ kind: 'phase', name: 'OriDoPredication', a: 'on', b: 'off' }],
        kernels: [{ kernel: 'nested', first: { phase: 'OriDoPredication' }, equal: { same: true } }],
      },
    });
    const { kernels } = (
      r as {
        answer: {
          kernels: readonly { metrics: readonly { name: string; a: number; b: number; verdict: string }[] }[];
        };
      }
    ).answer;
    const [x, y] = [page.run(a), page.run(b)].map((run) => run.phases.at(-1)!.after);
    expect(kernels[0].metrics.find((m) => m.name === 'instructions')).toMatchObject({
      a: x,
      b: y,
      verdict: y > x ? 'HURT' : 'helped',
    });
  });
});

describe('source lines of PTX', () => {
  test.each(['saxpy', 'nested-conditions', 'dot-bytes'])('%s: as lowering reads them', (name) => {
    const page = new Page();
    const source = kernelSource(name);
    const { locs, files } = page.session.ran(source).journal.input;
    const { of, by } = ptxLines(source.text);
    const named = new Map(files.map((f) => [f.index, f.name]));
    const lowered = locs.filter((l) => l.line > 0 && l.file > 0);
    expect(lowered.length).toBeGreaterThan(10);
    for (const l of lowered)
      expect([l.line, of[l.line]]).toEqual([l.line, { file: named.get(l.file), line: l.srcLine }]);
    for (const [file, lines] of by)
      for (const [line, ptx] of lines) for (const p of ptx) expect(of[p]).toEqual({ file, line });
  });

  test('neighbouring source lines have different colours, and one line has one', () => {
    const { text } = kernelSource('nested-conditions');
    const lines = ptxLines(text);
    const hue = huesOf(lines);
    const own = lines.by.get('nested-conditions.cu')!;
    const inOrder = [...own].sort((a, b) => a[0] - b[0]).map(([, ptx]) => new Set(ptx.map(hue)));
    for (const set of inOrder) expect(set.size).toBe(1);
    const colours = inOrder.map((set) => [...set][0]);
    expect(colours.some((c, i) => c === colours[i - 1])).toBe(false);
  });
});

describe('tracks', () => {
  const page = new Page();
  const run = page.run(kernelSource('nested-conditions'));
  const alignments = new Alignments(page.tables);
  const versions = versionsOf(page.tables, run, 'nested');

  test('versions are the lowered function and those that phases made, each different', () => {
    expect(versions[0].phase).toBe(-1);
    expect(versions.slice(1).map((v) => run.phases[v.phase].program)).not.toContain(null);
    expect(new Set(versions.map((v) => v.fn)).size).toBe(versions.length);
  });

  test('a frame of the film has the rows of its version, each with a key of its own', () => {
    const frames = framesOf(page.tables, alignments, versions);
    frames.forEach((rows, k) => {
      const { blocks } = page.tables.fns[versions[k].fn];
      expect(rows.filter((r) => r.isHead).map((r) => r.of)).toEqual([...blocks]);
      expect(rows.filter((r) => !r.isHead).map((r) => r.of)).toEqual(
        blocks.flatMap((b) => page.tables.blocks[b].ins),
      );
      expect(new Set(rows.map((r) => r.key)).size).toBe(rows.length);
    });
    // An instruction that two versions share keeps its key.
    for (let k = 1; k < frames.length; k++) {
      const before = new Map(frames[k - 1].map((r) => [`${r.isHead} ${r.of}`, r.key]));
      const shared = frames[k].filter((r) => !r.isHead && before.has(`false ${r.of}`));
      const kept = shared.filter((r) => before.get(`false ${r.of}`) === r.key);
      expect(kept.length / Math.max(1, shared.length)).toBeGreaterThan(0.9);
    }
  });

  test('an instruction is found in every snapshot that has it', () => {
    const last = versions.at(-1)!;
    const snapshots = snapshotsOf(run);
    for (const ins of page.tables.fns[last.fn].blocks
      .flatMap((b) => page.tables.blocks[b].ins)
      .slice(0, 40)) {
      const places = placesOf(page.tables, alignments, run, 'nested', last.snapshot, ins);
      expect(places[last.snapshot]).toBe(ins);
      places.forEach((p, s) => {
        if (p < 0) return;
        const { blocks } = page.tables.fns[snapshots[s][0]];
        expect(blocks.some((b) => page.tables.blocks[b].ins.includes(p))).toBe(true);
      });
    }
  });
});

describe('live ranges', () => {
  const page = new Page();
  const source = kernelSource('nested-conditions');
  const run = page.run(source);
  const fn = snapshotsOf(run).at(-1)![0];
  const r = answer(page.session, { id: 1, kind: 'registers', ask: { source, fn } });
  if (!('answer' in r)) throw new Error(r.faults[0].message);
  const l = r.answer;

  test('as many registers are live as the pressure says, and lanes do not touch', () => {
    const units = l.pressure.map(() => 0);
    const taken = new Set<string>();
    for (const { parts, lane, units: n } of l.ranges)
      for (const [from, to] of parts)
        for (let i = from; i <= to; i++) {
          units[i] += n;
          expect(taken.has(`${lane} ${i}`)).toBe(false);
          taken.add(`${lane} ${i}`);
        }
    expect(Math.max(...l.pressure)).toBe(page.tables.fns[fn].pressure);
    // What an instruction reads for the last time and what it makes are both drawn at it, although they may share a register.
    units.forEach((n, i) => expect([i, n >= l.pressure[i]]).toEqual([i, true]));
  });

  test('a range begins where it is made and ends where it is read last', () => {
    const ins = page.tables.fns[fn].blocks.flatMap((b) => page.tables.blocks[b].ins);
    for (const { register, defined, used } of l.ranges) {
      for (const d of defined) expect(page.tables.ins[ins[d]][2].split(' ')).toContain(register);
      for (const u of used) expect(page.tables.ins[ins[u]][0]).toMatch(new RegExp(`\\b${register}\\b`));
    }
  });

  test('warps fall where an SM of the target has no more registers', () => {
    // 65,536 registers, 256 threads, units of 8 a thread: 32 registers are the most for 2,048 threads, 40 for 1,536.
    expect(l.threads).toBe(256);
    expect(l.cliffs.slice(0, 3)).toEqual([
      { registers: 32, warps: 64 },
      { registers: 40, warps: 48 },
      { registers: 48, warps: 40 },
    ]);
  });
});
