import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeOf } from '../../src/cli/machine/asm.ts';
import { type MachineData, MachineSpecs } from '../../src/codegen/machine-specs.ts';
import { openSpecs, optimize, planOf, printFn, readPtx } from '../../src/core.ts';
import { readCubin } from '../../src/cubin/read.ts';
import { listCode } from '../../src/machine/listing.ts';
import { instructionText } from '../../src/machine/text.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { answer } from '../../src/web/engine/answer.ts';
import { Alignments, historyOf, namesOf, occurrencesOf } from '../../src/web/model/history.ts';
import { fnIn, snapshotsOf, type Tables } from '../../src/web/model/tables.ts';
import type { Source } from '../../src/web/recording.ts';
import { kernelSource, newSession, Page } from '../support/explorer.ts';

/* The session behind the explorer's page, without a browser. */

/** Lines of a function's code, from the tables. */
const listing = (t: Tables, fn: number): string[] =>
  t.fns[fn].blocks.flatMap((n) => {
    const b = t.blocks[n];
    return [`BB${b.id}${b.name === '' ? '' : ` "${b.name}"`}:`, ...b.ins.map((i) => t.ins[i][0])];
  });

describe('a run', () => {
  test('the tables hold every snapshot as the engine has it', () => {
    const page = new Page();
    const source = kernelSource('loops');
    const run = page.run(source);
    const { shipped } = page.session.data;
    const plan = planOf(openSpecs(shipped), { sm: 'sm_90' });
    const journal = optimize(readPtx(source.text, plan, source.file).program, plan);
    const snapshots = snapshotsOf(run);
    expect(snapshots.length).toBe(journal.records.length + 1);
    expect(run.phases.map((p) => [p.id, p.ran, p.after])).toEqual(
      journal.records.map((r) => [r.phase.id, r.outcome === 'ran', r.instructionsAfter]),
    );
    for (const [i, r] of journal.records.entries()) {
      const fns = snapshots[i + 1].map((f) => listing(page.tables, f).join('\n'));
      const own = r.program.functions.map((f) =>
        printFn(f, { locs: false }).split('\n{\n')[1].replace(/\n\}$/, ''),
      );
      expect(fns).toEqual(own);
    }
  });

  test('a phase says why it ran or did not, what it read, and which rules fired', () => {
    const { phases, rules, knobs } = new Page().run(kernelSource('saxpy'));
    const of = (id: string) => phases.find((p) => p.id === id)!;
    expect(of('OriSetRegisterAttr')).toMatchObject({ ran: false, status: 'not-applicable' });
    expect(of('OriSetRegisterAttr').why).not.toBe('');
    const early = of('GeneralOptimizeEarly');
    expect(early.ran).toBe(true);
    expect(early.knobs).toContain('GeneralOptimizationBudget');
    expect(knobs.map((k) => k.name)).toContain('GeneralOptimizationBudget');
    const hits = phases.flatMap((p) => p.hits);
    expect(hits.length).toBeGreaterThan(0);
    for (const h of hits) expect(rules.map((r) => r.id)).toContain(h.rule);
    // Every shipped rule has been put to the solver (rules-docs.test.ts), and what it said is shown.
    expect(rules.filter((r) => r.verdict === null)).toEqual([]);
    expect(rules.every((r) => r.match !== '' && r.rewrite !== '')).toBe(true);
  });

  test('what a late phase does differently is all that is run and sent again', () => {
    const page = new Page();
    const source = kernelSource('sha256');
    page.run(source);
    const late = 'LateArchOptimizeSecond';
    const changed: Source = { ...source, request: { ...source.request, disable: [late] } };
    const before = page.tables.ins.length;
    const run = page.run(changed);
    const at = run.phases.findIndex((p) => p.id === late);
    expect(run.phases[at].ran).toBe(false);
    expect(run.phases.slice(0, at).filter((p) => p.ran && !p.cached)).toEqual([]);
    expect(page.tables.ins.length - before).toBeLessThan(100);
    // Hits and times of phases that were taken from before are still known.
    expect(run.phases.filter((p) => p.cached && p.hits.length > 0).length).toBeGreaterThan(1);
    expect(run.phases.filter((p) => p.cached && p.ms > 0).length).toBeGreaterThan(10);
  });
});

describe('mistakes', () => {
  test('PTX: each with its line', () => {
    const source = kernelSource('saxpy');
    const text = source.text.replace('fma.rn.f32', 'fmaa.rn.f32');
    const line = text.split('\n').findIndex((l) => l.includes('fmaa')) + 1;
    const r = newSession().run({ ...source, text });
    expect(r).toMatchObject({ ok: false, faults: [{ file: 'saxpy.sm_90.ptx', line, severity: 'error' }] });
    expect(JSON.stringify(r)).toContain("'fma'");
  });

  test('order: the constraint that is broken, with its reason', () => {
    const source = kernelSource('saxpy');
    const text =
      'kind: order\nextends: binary\nedits:\n  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB, why: to see }\n';
    const r = newSession().run({
      ...source,
      request: { ...source.request, order: 'mine.yaml' },
      documents: { 'mine.yaml': text },
    });
    expect(r.ok).toBe(false);
    if (r.ok) return;
    expect(r.faults.every((f) => f.file === 'mine.yaml' && f.line === 4)).toBe(true);
    const said = r.faults.find((f) => f.message === 'OriBranchOpt comes before SetControlFlowOpLastInBB');
    const written = readFileSync(join(ROOT, 'pipelines', 'constraints.yaml'), 'utf8');
    expect(written).toContain(`why: ${said?.label}`);
  });

  test('knob and spec: what is meant instead', () => {
    const source = kernelSource('saxpy', { set: ['OptBudgett=1'] });
    const session = newSession();
    expect(JSON.stringify(session.run(source))).toContain("'OptBudget'");
    const faults = session.checkSpec('r.yaml', 'kind: recipe\ntitel: x\n');
    expect(faults[0]).toMatchObject({ file: 'r.yaml', line: 2, severity: 'error' });
    expect(JSON.stringify(faults)).toContain('title');
  });

  test('a fault of any question is its reply', () => {
    const r = answer(newSession(), {
      id: 7,
      kind: 'output',
      ask: { ...kernelSource('saxpy'), text: 'nonsense' },
    });
    expect(r).toMatchObject({
      id: 7,
      faults: expect.arrayContaining([expect.objectContaining({ line: 1 })]),
    });
  });
});

describe('edits', () => {
  const source = kernelSource('saxpy');

  test('a move makes an order, and another move adds to it', () => {
    const page = new Page();
    const once = page.session.edited(source, {
      kind: 'move',
      phase: 'GeneralOptimizeMid',
      after: 'OptimizeNestedCondBranches',
    });
    const run = page.run(once);
    const place = (id: string) => run.phases.findIndex((p) => p.id === id);
    expect(place('GeneralOptimizeMid')).toBe(place('OptimizeNestedCondBranches') + 1);
    const twice = page.session.edited(once, { kind: 'move', phase: 'OriCopyProp', after: null });
    expect(twice.documents['explorer-order.yaml'].match(/move:/g)?.length).toBe(2);
    const again = page.session.edited(once, {
      kind: 'move',
      phase: 'GeneralOptimizeMid',
      after: 'MidExpansion',
    });
    expect(again.documents['explorer-order.yaml'].match(/move:/g)?.length).toBe(1);
    expect(source.documents).toEqual({});
  });

  test.each([
    ['edits before the base', 'kind: order\nedits:\n- { drop: OriSanitize }\nextends: binary\n'],
    ['edits on one line', 'kind: order\nextends: binary\nedits: [{ drop: OriSanitize }]\n'],
  ])('a move joins an order of the user with %s', (_, text) => {
    const page = new Page();
    const own = {
      ...source,
      request: { ...source.request, order: 'mine.yaml' },
      documents: { 'mine.yaml': text },
    };
    const moved = page.session.edited(own, {
      kind: 'move',
      phase: 'GeneralOptimizeMid',
      after: 'OptimizeNestedCondBranches',
    });
    const phases = page.run(moved).phases.map((p) => p.id);
    expect(phases.indexOf('GeneralOptimizeMid')).toBe(phases.indexOf('OptimizeNestedCondBranches') + 1);
  });

  test('a place is judged before the phase is put there, as it is afterwards', () => {
    const { session } = new Page();
    for (const [phase, after] of [
      ['OriBranchOpt', 'OriCheckInitialProgram'],
      ['OriReassociateAndCommon', 'GeneralOptimizeMid'],
      ['GeneralOptimizeMid', 'OptimizeNestedCondBranches'],
    ]) {
      const tried = session.tryMove(source, { phase, after }).filter((f) => f.severity === 'error');
      const done = session.run(session.edited(source, { kind: 'move', phase, after }));
      const errors = done.ok ? [] : done.faults.filter((f) => f.severity === 'error');
      expect(tried.map((f) => f.message)).toEqual(errors.map((f) => f.message));
    }
    expect(
      session.tryMove(source, { phase: 'OriReassociateAndCommon', after: 'GeneralOptimizeMid' })[0].label,
    ).toMatch(/./);
  });

  test('knobs and switches enter the request, and leave it again', () => {
    const { session } = new Page();
    const set = session.edited(source, { kind: 'knob', name: 'OptBudget', value: '0' });
    expect(set.request.set).toEqual(['OptBudget=0']);
    expect(session.edited(set, { kind: 'knob', name: 'OptBudget', value: null }).request.set).toEqual([]);
    const off = session.edited(source, { kind: 'switch', phase: 'OriCopyProp', on: false });
    expect(off.request.disable).toEqual(['OriCopyProp']);
    expect(session.edited(off, { kind: 'switch', phase: 'OriCopyProp', on: true })).toEqual(source);
  });
});

describe('history', () => {
  const page = new Page();
  const run = page.run(kernelSource('loops'));
  const t = page.tables;
  const alignments = new Alignments(t);
  const names = run.input.map((f) => t.fns[f].name);
  const snapshots = snapshotsOf(run);
  const after = (id: string) => run.phases.findIndex((p) => p.id === id) + 1;

  test('phis start at the phase that inserts them, and end at the one that removes them', () => {
    const [made, gone] = [after('GenerateMovPhi'), after('ConvertAllMovPhiToMov')];
    let seen = 0;
    for (const name of names)
      for (const b of t.fns[fnIn(t, snapshots[made], name)].blocks)
        for (const ins of t.blocks[b].ins) {
          if (!t.mnemonic(ins).startsWith('MOVPHI')) continue;
          seen++;
          const steps = historyOf(t, alignments, run, name, made, ins);
          expect(steps[0]).toMatchObject({ phase: made - 1, what: 'introduced' });
          const end = steps.at(-1)!;
          expect(end.phase).toBeLessThanOrEqual(gone - 1);
          expect(end.after === -1 || !t.mnemonic(end.after).startsWith('MOVPHI')).toBe(true);
        }
    expect(seen).toBeGreaterThan(0);
  });

  test('every instruction that is left has a beginning, and each step leads to the next', () => {
    for (const name of names)
      for (const b of t.fns[fnIn(t, snapshots.at(-1)!, name)].blocks)
        for (const ins of t.blocks[b].ins) {
          const steps = historyOf(t, alignments, run, name, snapshots.length - 1, ins);
          expect(steps[0].what).toBe('introduced');
          expect(t.ins[steps.at(-1)!.after][0]).toBe(t.ins[ins][0]);
          for (let i = 1; i < steps.length; i++) {
            expect(steps[i].phase).toBeGreaterThan(steps[i - 1].phase);
            expect(t.ins[steps[i].before][0]).toBe(t.ins[steps[i - 1].after][0]);
          }
        }
  });

  test('a step names the rule that did it', () => {
    const hit = run.phases.flatMap((p, i) => p.hits.map((h) => ({ ...h, phase: i })));
    const told = names.flatMap((name) =>
      t.fns[fnIn(t, snapshots.at(-1)!, name)].blocks.flatMap((b) =>
        t.blocks[b].ins.flatMap((ins) => historyOf(t, alignments, run, name, snapshots.length - 1, ins)),
      ),
    );
    const byRule = told.filter((s) => s.rule !== '');
    expect(byRule.length).toBeGreaterThan(0);
    for (const s of byRule) expect(hit.some((h) => h.rule === s.rule && h.phase === s.phase)).toBe(true);
  });

  test('a value is found in every snapshot, under the name that it has there', () => {
    const name = names[0];
    const word = (register: string) => new RegExp(`\\b${register}\\b`);
    let renamed = 0;
    for (const b of t.fns[fnIn(t, snapshots.at(-1)!, name)].blocks)
      for (const ins of t.blocks[b].ins) {
        const [register] = t.ins[ins][2].split(' ');
        if (register === '') continue;
        const called = namesOf(t, alignments, run, name, snapshots.length - 1, register);
        expect(called.at(-1)).toBe(register);
        if (new Set(called.filter((c) => c !== '')).size > 1) renamed++;
        for (const o of occurrencesOf(t, run, name, called)) {
          if (o.name === '') continue;
          const lines = listing(t, fnIn(t, snapshots[o.snapshot], name)).filter((l) => word(o.name).test(l));
          expect(o.defined + o.used).toBe(lines.length);
          expect(o.defined).toBeGreaterThan(0);
        }
      }
    // SSA gives values of several definitions names of their own.
    expect(renamed).toBeGreaterThan(0);
  });
});

describe('machine code', () => {
  const data = JSON.parse(readFileSync(join(ROOT, 'dist', 'web', 'machine.json'), 'utf8')) as MachineData;
  const machineFor = (source: Source) => {
    const session = newSession();
    session.machine = new MachineSpecs(data);
    return answer(session, { id: 1, kind: 'machine', ask: source });
  };

  test('is what `orrery asm` writes, and its lines are those of the PTX', async () => {
    const source = kernelSource('nested-conditions');
    const r = machineFor(source);
    if (!('answer' in r)) throw new Error(r.faults[0].message);
    const [kernel] = r.answer.kernels;
    const made = await codeOf(source.file, source.text, {});
    const [listed] = listCode(readCubin(made.cubin), made.machine);
    expect(kernel.registers).toBe(made.kernels[0].code.registers);
    expect(kernel.code.map((x) => x.text)).toEqual(
      listed.code
        .slice(0, made.kernels[0].code.instructions)
        .map((i) => instructionText(made.machine, i.instruction!, i.address)),
    );
    const lines = source.text.split('\n');
    const stores = kernel.code.filter((x) => /\bSTG\b/.test(x.text));
    expect(stores.length).toBeGreaterThan(0);
    for (const x of stores) expect(lines[x.line - 1]).toMatch(/\bst\.global\b/);
    // What belongs to no line are the loads of the beginning, and where lanes meet again.
    const rest = kernel.code.filter((x) => x.line === 0).map((x) => x.text);
    expect(rest.filter((t) => !/\b(U?LDC|BSSY|BSYNC|WARPSYNC|BRA|EXIT)\b/.test(t))).toEqual([]);
  });

  test('that cannot be written: why, and where', () => {
    const barrier = machineFor(kernelSource('saxpy', { sm: 'sm_120' }));
    expect(barrier).toMatchObject({
      answer: { why: expect.stringMatching(/not written for sm_120 yet: it is for .*sm_90\.$/), kernels: [] },
    });
  });
});
