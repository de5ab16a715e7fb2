import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SpecFile } from '../../src/spec/document.ts';
import { makePlan } from '../../src/spec/node.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import { passesOf } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { runs } from '../support/size.ts';
import { passNames, plain, planWith, rendered, saysOf, shipped, testFolder } from '../support/specs.ts';

const { path: dir, write } = testFolder();

/** Modifies an order by edits of its YAML. */
const edited = (edits: string, from = 'seed'): string => `kind: order\nextends: ${from}\nedits:\n${edits}\n`;
const unchanged = (from: string): string => `kind: order\nextends: ${from}\nedits: []\n`;
const says = (edits: string) => saysOf({ order: 'mine' }, edited(edits));
const idsOf = async (edits: string): Promise<string[]> => {
  const { plan, diagnostics } = await planWith({ order: 'mine' }, edited(edits));
  if (plan === null) throw new Error(rendered(diagnostics, ''));
  return plan.phases.map((p) => p.id);
};

describe('shipped orders', () => {
  it('resolve without a word, for every target and level', () => {
    const targets = [...shipped.backends.values()].flatMap((b) =>
      b.data.sm === undefined ? [] : [String(b.data.sm)],
    );
    expect(targets.length).toBeGreaterThan(15);
    for (const order of shipped.orders.keys())
      for (const sm of targets)
        for (const level of [0, 1, 2, 3, 4, 5]) {
          const { plan, issues } = resolve(shipped, { ...plain, order, sm, level }, passNames);
          expect([order, sm, level, plan !== null, issues]).toEqual([order, sm, level, true, []]);
        }
  });
});

describe('SSA', () => {
  it('is where its passes are, or the edit that moves one gets the reason', async () => {
    for (const [edit, lost] of [
      ['{ move: GvnCse, before: GenerateMovPhi }', 'nothing before it provides it'],
      ['{ move: OriHoistInvariantsEarly, after: ConvertAllMovPhiToMov }', 'ConvertAllMovPhiToMov (position'],
    ]) {
      const said = await says(`  - ${edit}`);
      expect(said).toContain("needs the IR property 'ssa', which does not hold there");
      expect(said).toContain('has one definition, which dominates its uses');
      expect(said).toContain(lost);
      expect(said).toContain('provided by GenerateMovPhi (position');
    }
  });

  it('cannot be entered twice', async () => {
    expect(await says('  - { insert: GenerateMovPhi, before: GvnCse }')).toContain(
      "needs the IR property 'phi-free'",
    );
  });
});

describe('edits', () => {
  it('move, insert again, insert a pass, replace, drop at a level', async () => {
    const edits = `
  - { move: OriPerformLiveDeadThird, before: OriPerformLiveDeadFourth }
  - { insert: OriBranchOpt, after: OriPerformLiveDeadSecond }
  - { insert: OriBranchOpt, after: 'OriBranchOpt#2' }
  - { insertPass: live-dead, before: FinalInspectionPass }
  - { replace: OriReassociateAndCommon, with: OriCommoning }
  - { drop: OriPerformLiveDeadFirst, levels: [1], why: a cheap build }`;
    const ids = await idsOf(edits);
    const at = (id: string) => ids.indexOf(id);
    expect(ids[at('OriPerformLiveDeadFourth') - 1]).toBe('OriPerformLiveDeadThird');
    expect(ids.slice(at('OriPerformLiveDeadSecond') + 1, at('OriPerformLiveDeadSecond') + 3)).toEqual([
      'OriBranchOpt#2',
      'OriBranchOpt#3',
    ]);
    expect(ids[at('FinalInspectionPass') - 1]).toBe('live-dead');
    expect(ids).not.toContain('OriReassociateAndCommon');
    const phases = async (level: number) =>
      (await planWith({ order: 'mine', level }, edited(edits))).plan!.phases;
    const dead = (p: Awaited<ReturnType<typeof phases>>) =>
      p.find((x) => x.id === 'OriPerformLiveDeadFirst')!;
    expect(dead(await phases(1)).disabled).toEqual({
      why: 'dropped by the order: a cheap build',
      origin: { source: 'order', file: 'mine.yaml', path: ['edits', 5] },
    });
    expect(dead(await phases(2)).disabled).toBeNull();
    const again = (await phases(3)).find((p) => p.id === 'OriBranchOpt#2')!;
    expect([again.name, again.index, passesOf(again)]).toEqual(['OriBranchOpt', 15, ['branch-opt']]);
  });

  it('an inserted occurrence has the row of its name, not of the worker that has the next number', async () => {
    const { plan } = await planWith(
      { order: 'mine' },
      edited('  - { insert: ComputeVCallRegUse, after: ComputeVCallRegUse }'),
    );
    const rows = plan!.phases.filter((p) => p.name === 'ComputeVCallRegUse').map((p) => [p.id, p.index]);
    expect(rows).toEqual([
      ['ComputeVCallRegUse', 123],
      ['ComputeVCallRegUse#3', 123],
      ['ComputeVCallRegUse#2', 148],
    ]);
  });

  it('see what the ones above them did', async () => {
    const ids = await idsOf(`
  - { insertPass: early-dead-code, after: OriSanitize }
  - { move: early-dead-code, after: GeneralOptimizeEarly }`);
    expect(ids[ids.indexOf('GeneralOptimizeEarly') + 1]).toBe('early-dead-code');
  });
});

describe('what is wrong with an order is said at the edit', () => {
  it('a broken constraint: the reason, the constraint, the nearest legal place', async () => {
    expect(await says('  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }')).toMatchInlineSnapshot(`
      "error: OriBranchOpt comes before SetControlFlowOpLastInBB
        --> mine.yaml:4:5
          4 |   - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     OriBranchOpt looks for the branch at the end of its block
        nearest legal place: after SetControlFlowOpLastInBB (position 7)
        the constraint: pipelines/constraints.yaml:48
      warning: OriBranchOpt comes before GeneralOptimizeEarly
        --> mine.yaml:4:5
          4 |   - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     folding makes the constant conditions that branch simplification removes
        nearest legal place: after DoSwitchOptFirst (position 15)
        the constraint: pipelines/constraints.yaml:62
      warning: OriBranchOpt comes before DoSwitchOptFirst
        --> mine.yaml:4:5
          4 |   - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     switch lowering leaves branches to the next block, which are folded here
        nearest legal place: after DoSwitchOptFirst (position 15)
        the constraint: pipelines/constraints.yaml:67"
    `);
  });

  it('a constraint whose earlier half was moved', async () => {
    expect(await says('  - { move: SetControlFlowOpLastInBB, after: OriBranchOpt }')).toMatchInlineSnapshot(`
      "error: OriCreateMacroInsts comes before SetControlFlowOpLastInBB
        --> mine.yaml:4:5
          4 |   - { move: SetControlFlowOpLastInBB, after: OriBranchOpt }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     a compare is fused with the branch at the end of its block
        the IR property 'control-last' then does not hold where it is needed, in OriSanitize, GeneralOptimizeEarly and DoSwitchOptFirst
        nearest legal place: before OriCreateMacroInsts (position 7)
        the constraint: pipelines/constraints.yaml:28
      error: EarlyOriSimpleLiveDead comes before SetControlFlowOpLastInBB
        --> mine.yaml:4:5
          4 |   - { move: SetControlFlowOpLastInBB, after: OriBranchOpt }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     the backward walk over a block must not meet a side exit in it
        nearest legal place: before OriCreateMacroInsts (position 7)
        the constraint: pipelines/constraints.yaml:37
      error: OriBranchOpt comes before SetControlFlowOpLastInBB
        --> mine.yaml:4:5
          4 |   - { move: SetControlFlowOpLastInBB, after: OriBranchOpt }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     OriBranchOpt looks for the branch at the end of its block
        nearest legal place: before OriCreateMacroInsts (position 7)
        the constraint: pipelines/constraints.yaml:48"
    `);
  });

  it('a constraint, and the phases that then lack what the moved one provides', async () => {
    const said = await says('  - { move: GenerateMovPhi, after: ConvertAllMovPhiToMov }');
    expect(said.match(/^error: .*/gm)).toEqual([
      'error: OriPipelining comes before GenerateMovPhi',
      'error: ConvertAllMovPhiToMov comes before GenerateMovPhi',
    ]);
    expect(said.match(/'ssa' then does not hold where it is needed, in (\w+, ){3}\w+ and \w+/g)?.length).toBe(
      1,
    );
  });

  it('a misspelt key hides nothing of the other edits, nor of its own', async () => {
    const faultsOf = async (edits: string) => {
      const order = write('misspelt.yaml', edited(edits));
      const { diagnostics } = await makePlan({ ...plain, order }, passNames, shipped);
      expect(await checkFile(order, passNames, shipped)).toEqual(
        expect.arrayContaining(diagnostics.filter((d) => d.severity === 'error')),
      );
      return diagnostics.filter((d) => d.severity === 'error');
    };
    const errors = async (edits: string) => (await faultsOf(edits)).map((d) => d.message);
    const misspelt = (key: string) => `  - { insert: OriCopyProp, ${key}: SetControlFlowOpLastInBB }`;
    const others = `
  - { insert: OriBranchOpt, after: GeneralOptimise }
  - { move: OriBranchOpt, before: SetControlFlowOpLastInBB }
  - { move: GvnCse, after: ConvertAllMovPhiToMov }`;
    const found = await errors(`${misspelt('after')}${others}`);
    expect(found).toEqual([
      "there is no phase 'GeneralOptimise' in the order",
      'OriBranchOpt comes before SetControlFlowOpLastInBB',
      'OriReassociateAndCommon comes before GvnCse',
    ]);
    const key = "unknown key 'aftr' in 'edits.0'";
    expect(await errors(`${misspelt('aftr')}${others}`)).toEqual([key, ...found]);
    // What the edit itself gets wrong is at its place in the text too.
    const [, own] = await faultsOf('  - { insert: OriCopyProp, aftr: GeneralOptimise }');
    expect([own.message, own.line, own.column]).toEqual([found[0], 4, 34]);
    // A key that may mean several, or none, leaves its edit out, and nothing is said that may follow from that.
    expect(await errors(`${misspelt('beside')}${others}`)).toEqual([
      "unknown key 'beside' in 'edits.0'",
      found[0],
    ]);
  });

  it('a broken constraint names what its phase lacks there for another reason', async () => {
    const said = await says(`  - { move: GvnCse, after: ConvertAllMovPhiToMov }
  - { move: OriReassociateAndCommon, after: ConvertAllMovPhiToMov }`);
    expect(said).toMatch(/^error: OriReassociateAndCommon comes before GvnCse$/m);
    expect(said).toContain("'ssa' then does not hold where it is needed, in OriReassociateAndCommon");
    expect(said).toMatch(/^error: phase 'GvnCse' \(position \d+\) needs the IR property 'ssa'/m);
  });

  it('an IR property that does not hold', async () => {
    expect(
      await says('  - { insertPass: live-dead, before: SetControlFlowOpLastInBB }'),
    ).toMatchInlineSnapshot(`
      "error: phase 'live-dead' (position 6) needs the IR property 'control-last', which does not hold there
        --> mine.yaml:4:5
          4 |   - { insertPass: live-dead, before: SetControlFlowOpLastInBB }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     a control operation is always the last of its block
        nothing before it provides it
        provided by SetControlFlowOpLastInBB (position 7)
        nearest legal place: after SetControlFlowOpLastInBB (position 7)"
    `);
  });

  it('names that name nothing, with near misses', async () => {
    expect(
      await says(`  - { move: OriBranchOpts, after: OriSanitize }
  - { move: OriSanitize, after: OriSanitise }
  - { insert: BranchOpt, after: OriSanitize }
  - { replace: OriSanitize, with: OriSanitary }
  - { insertPass: live-ded, after: OriSanitize }
  - { insertRules: peephole, after: OriSanitize }
  - { move: OriSanitize, after: OriSanitize }`),
    ).toMatchInlineSnapshot(`
      "error: there is no phase 'OriBranchOpts' in the order
        --> mine.yaml:4:13
          4 |   - { move: OriBranchOpts, after: OriSanitize }
            |             ^^^^^^^^^^^^^
        did you mean 'OriBranchOpt'?
      error: there is no phase 'OriSanitise' in the order
        --> mine.yaml:5:33
          5 |   - { move: OriSanitize, after: OriSanitise }
            |                                 ^^^^^^^^^^^
        did you mean 'OriSanitize'?
      error: there is no phase 'BranchOpt'
        --> mine.yaml:6:15
          6 |   - { insert: BranchOpt, after: OriSanitize }
            |               ^^^^^^^^^
        did you mean 'OriBranchOpt'?
      error: there is no phase 'OriSanitary'
        --> mine.yaml:7:35
          7 |   - { replace: OriSanitize, with: OriSanitary }
            |                                   ^^^^^^^^^^^
        did you mean 'OriSanitize'?
      error: there is no pass 'live-ded'
        --> mine.yaml:8:19
          8 |   - { insertPass: live-ded, after: OriSanitize }
            |                   ^^^^^^^^
        did you mean 'live-dead'?
      error: there is no rule group 'peephole'
        --> mine.yaml:9:20
          9 |   - { insertRules: peephole, after: OriSanitize }
            |                    ^^^^^^^^
        \`orrery rules list\` names the groups
      error: 'OriSanitize' cannot be placed after itself
        --> mine.yaml:10:33
         10 |   - { move: OriSanitize, after: OriSanitize }
            |                                 ^^^^^^^^^^^"
    `);
  });

  it('required phases that are dropped, replaced or left out', async () => {
    expect(await says('  - { drop: SetControlFlowOpLastInBB }')).toMatchInlineSnapshot(`
      "error: phase 'SetControlFlowOpLastInBB' is required and cannot be switched off (dropped by the order)
        --> mine.yaml:4:5
          4 |   - { drop: SetControlFlowOpLastInBB }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        'EarlyOriSimpleLiveDead', 'OriSanitize', 'GeneralOptimizeEarly' and 65 more need the IR property 'control-last', which it provides: a control operation is always the last of its block"
    `);
    expect(await says('  - { replace: ConvertAllMovPhiToMov, with: OriCommoning }')).toMatchInlineSnapshot(`
      "error: phase 'ConvertAllMovPhiToMov' is required, but is not in the order
        --> mine.yaml:4:5
          4 |   - { replace: ConvertAllMovPhiToMov, with: OriCommoning }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        'ConvertToUniformReg', 'OriPropagateGmma', 'FixupGmmaSequence' and 'OriSplitHighPressureLiveRanges' need the IR property 'phi-free', which it provides: no phi moves"
    `);
    const short = await saysOf(
      { order: 'mine' },
      'kind: order\nphases: [OriCheckInitialProgram, OriSanitize]\n',
    );
    expect(short.match(/is required, but is not in the order/g)?.length).toBe(8);
    expect(
      await saysOf(
        { order: 'mine' },
        "kind: order\nphases: [OriSanitize, orisanitize, 'OriSanitize#3', Nothing]\n",
      ),
    ).toMatchInlineSnapshot(`
      "error: phase 'orisanitize' occurs twice in the order
        --> mine.yaml:2:23
          2 | phases: [OriSanitize, orisanitize, 'OriSanitize#3', Nothing]
            |                       ^^^^^^^^^^^
        a second occurrence has an id of its own: name#2
      error: there is no phase 'Nothing'
        --> mine.yaml:2:53
          2 | phases: [OriSanitize, orisanitize, 'OriSanitize#3', Nothing]
            |                                                     ^^^^^^^
        \`orrery phases\` lists them"
    `);
  });

  it('a phase that needs what a level-gated phase provides, at a level where that is shut', () => {
    const rows = shipped.phases.data.phases as { name: string }[];
    const gated = rows.map((r) =>
      r.name === 'SetControlFlowOpLastInBB' ? { ...r, gate: { levels: [2, 3] } } : r,
    );
    const phases: SpecFile = { ...shipped.phases, data: { ...shipped.phases.data, phases: gated } };
    const at = (level: number) => resolve({ ...shipped, phases }, { ...plain, level }, passNames);
    expect(at(3).issues).toEqual([]);
    expect(at(1).issues[0].notes?.at(-1)).toBe(
      'provided by SetControlFlowOpLastInBB (position 6, which does not run: its gate is shut at level 1 (open at 2, 3))',
    );
  });
});

describe('extends', () => {
  it('follows files, each relative to the one that names it', async () => {
    const a = write(
      'a.yaml',
      edited('  - { insert: OriBranchOpt, after: OriPerformLiveDeadSecond }', 'binary'),
    );
    const b = write(
      'b.yaml',
      edited("  - { move: 'OriBranchOpt#2', after: OriPerformLiveDeadThird }", './a.yaml'),
    );
    const { plan } = await makePlan({ ...plain, order: b }, passNames, shipped);
    const ids = plan!.phases.map((p) => p.id);
    expect(ids[ids.indexOf('OriPerformLiveDeadThird') + 1]).toBe('OriBranchOpt#2');
    expect((await makePlan({ ...plain, order: a }, passNames, shipped)).plan).not.toBeNull();
  });

  it('a cycle, and an order that is not there', async () => {
    const x = write('x.yaml', unchanged('./y.yaml'));
    write('y.yaml', unchanged(join(dir, 'x.yaml')));
    const { diagnostics } = await makePlan({ ...plain, order: x }, passNames, shipped);
    expect(diagnostics.map((d) => [d.code, d.message.replace(dir, ''), d.line])).toEqual([
      ['order-cycle', "order '/x.yaml' extends itself", 2],
    ]);
    expect(await saysOf({ order: 'sed' })).toMatchInlineSnapshot(`
      "error: there is no order 'sed'
        did you mean 'seed'?"
    `);
    expect(await saysOf({ order: 'mine' }, unchanged('sede'))).toMatchInlineSnapshot(`
      "error: there is no order 'sede'
        --> mine.yaml:2:10
          2 | extends: sede
            |          ^^^^
        did you mean 'seed'?"
    `);
    const missing = await makePlan({ ...plain, order: join(dir, 'xx.yaml') }, passNames, shipped);
    expect(rendered(missing.diagnostics, '')).toMatchInlineSnapshot(`
      "error: there is no such file
        --> xx.yaml
        did you mean 'x.yaml'?"
    `);
  });
});

describe('properties of edits', () => {
  const ids = shipped.orders.get('binary')!.data.phases as string[];
  const phase = fc.constantFrom(...ids);
  const side = fc.constantFrom('before', 'after');
  const edit = fc.oneof(
    fc.tuple(phase, side, phase).map(([m, s, a]) => ({ move: m, [s]: a })),
    fc.tuple(phase, side, phase).map(([m, s, a]) => ({ insert: m.replace(/#.*/, ''), [s]: a })),
    fc.tuple(side, phase).map(([s, a]) => ({ insertPass: 'live-dead', [s]: a })),
    phase.map((p) => ({ drop: p })),
  );
  type AnyEdit = { move?: string; insert?: string; insertPass?: string; drop?: string };
  const run = (edits: readonly unknown[]) => {
    const data = { kind: 'order', extends: 'binary', edits };
    const file: SpecFile = { ...shipped.orders.get('binary')!, data };
    const orders = new Map([...shipped.orders, ['mine', file]]);
    return resolve({ ...shipped, orders }, { ...plain, order: 'mine' }, passNames);
  };

  it('a plan comes out exactly if there is no error; it has every phase, and each once more for each insert', () => {
    let plans = 0;
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), (edits) => {
        const { plan, issues } = run(edits);
        expect(plan === null).toBe(issues.some((x) => x.severity === 'error'));
        for (const i of issues) if (i.severity === 'error') expect(i.file).not.toBeNull();
        if (plan === null) return;
        plans++;
        const got = plan.phases.map((p) => p.id);
        const inserted = (edits as AnyEdit[]).flatMap((e) => e.insert ?? e.insertPass ?? []);
        expect(new Set(got).size).toBe(got.length);
        expect(got.filter((x) => ids.includes(x)).sort()).toEqual([...ids].sort());
        const extra = got.filter((x) => !ids.includes(x)).map((x) => x.replace(/#.*/, ''));
        expect(extra.sort()).toEqual(inserted.sort());
        expect(plan.phases.map((p) => p.position)).toEqual(got.map((_, k) => k));
        const dropped = new Set((edits as AnyEdit[]).flatMap((e) => e.drop ?? []));
        for (const p of plan.phases) expect(p.disabled !== null).toBe(dropped.has(p.id));
      }),
      { numRuns: runs(150), seed: 3 },
    );
    expect(plans).toBeGreaterThan(15);
  });

  it('the place that a constraint error names breaks no constraint', () => {
    let tried = 0;
    fc.assert(
      fc.property(phase, side, phase, (m, s, a) => {
        if (m === a) return;
        for (const i of run([{ move: m, [s]: a }]).issues) {
          if (i.code !== 'order-constraint' || i.severity !== 'error') continue;
          const place = /^nearest legal place: (before|after) (\S+)/.exec(i.notes?.[0] ?? '');
          if (place === null) continue;
          tried++;
          const again = run([{ move: m, [place[1]]: place[2] }]).issues;
          expect(again.filter((x) => x.code === 'order-constraint' && x.severity === 'error')).toEqual([]);
        }
      }),
      { numRuns: runs(150), seed: 4 },
    );
    expect(tried).toBeGreaterThan(20);
  });

  it('moving a phase to where it is changes nothing but where it was said', () => {
    const base = run([{ drop: 'OriCommoning' }]).plan!;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: ids.length - 1 }), (k) => {
        const { plan } = run([{ drop: 'OriCommoning' }, { move: ids[k], after: ids[k - 1] }]);
        expect(plan?.hash).toBe(base.hash);
      }),
      { numRuns: runs(40), seed: 8 },
    );
  });
});
