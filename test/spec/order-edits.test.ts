import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { foldedRounds } from '../../src/lab/folded-rounds.ts';
import { placedDifferences, planDifferences } from '../../src/lab/plan-differences.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { once } from '../../src/rules/once.ts';
import { makePlan } from '../../src/spec/node.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { legalPlaces } from '../../src/spec/suggest.ts';
import { branchyPtx } from '../support/branchy.ts';
import { passNames, plain, rendered, saysOf, shipped, specOf, testFolder } from '../support/specs.ts';

const folder = testFolder();
const root = fileURLToPath(new URL('../..', import.meta.url));
const order = (edits: string, base = 'binary') => `kind: order\nextends: ${base}\nedits:\n${edits}\n`;

async function planOf(text: string, level = 3): Promise<Plan> {
  const f = specOf('mine.yaml', text);
  const specs = { ...shipped, orders: new Map([...shipped.orders, ['mine', f]]) };
  const { plan, diagnostics } = await makePlan({ ...plain, level, order: 'mine' }, passNames, specs);
  if (plan === null) throw new Error(rendered(diagnostics, text));
  return plan;
}

const base = resolve(shipped, { ...plain, order: 'binary' }, passNames).plan!;
const program = lowerPtx(parsePtx(branchyPtx('k', 'other'), 'x.ptx').module, {
  isa: base.isa,
  paramBase: 0x160,
  sm: 'sm_80',
}).program;

describe('repeat', () => {
  const text = order('  - { repeat: GvnCse, through: OriReassociateAndCommon, rounds: 4 }');

  it('puts later rounds after the first; after a round without changes, no phase runs', async () => {
    const p = await planOf(text);
    const at = p.phases.findIndex((x) => x.id === 'GvnCse');
    const span = base.phases.findIndex((x) => x.id === 'OriReassociateAndCommon') - at + 1;
    expect(p.phases.length).toBe(base.phases.length + 3 * span);
    const ids = p.phases.slice(at, at + 4 * span).map((x) => x.id);
    expect(ids.filter((id) => /^GvnCse/.test(id))).toEqual(['GvnCse', 'GvnCse#2', 'GvnCse#3', 'GvnCse#4']);
    const j = runPipeline(program, p, { verify: true });
    const rounds = [0, 1, 2, 3].map((k) => j.records.slice(at + k * span, at + (k + 1) * span));
    const changed = rounds.map((r) => r.some((x) => x.blocksChanged > 0));
    // Without a change in a round, nothing of the next runs.
    rounds.slice(1).forEach((r, k) => {
      if (changed[k]) return;
      expect(new Set(r.map((x) => x.why))).toEqual(new Set(['the round before changed nothing']));
    });
    expect(changed.at(-1)).toBe(false);
  });

  it('runs a phase again for as long as it changes something, and no longer than the rounds', async () => {
    // One conversion a time: each round takes the next away.
    const once = order('  - { repeat: OriBranchOpt, rounds: 3 }');
    const set = ['MergeEquivalentConditionalFlowBudget=2'];
    const f = specOf('mine.yaml', once);
    const specs = { ...shipped, orders: new Map([...shipped.orders, ['mine', f]]) };
    const { plan } = await makePlan({ ...plain, order: 'mine', set }, passNames, specs);
    const j = runPipeline(program, plan!);
    const rounds = j.records.filter((r) => r.phase.name === 'OriBranchOpt');
    expect(rounds.map((r) => r.phase.id)).toEqual(['OriBranchOpt', 'OriBranchOpt#2', 'OriBranchOpt#3']);
    expect([rounds[0].outcome, rounds[0].blocksChanged > 0, rounds[1].outcome]).toEqual(['ran', true, 'ran']);
    expect(rounds[2].why === 'the round before changed nothing').toBe(rounds[1].blocksChanged === 0);
  });

  it('is checked: phases in another order, rounds without bound, an order without end', async () => {
    const says = (edits: string) => saysOf({ order: 'mine' }, order(edits));
    expect(
      await says('  - { repeat: OriReassociateAndCommon, through: GvnCse, rounds: 2 }'),
    ).toMatchInlineSnapshot(`
      "error: 'GvnCse' (position 56) comes before 'OriReassociateAndCommon' (position 58)
        --> mine.yaml:4:49
          4 |   - { repeat: OriReassociateAndCommon, through: GvnCse, rounds: 2 }
            |                                                 ^^^^^^"
    `);
    expect(() => specOf('m.yaml', order('  - { repeat: GvnCse, rounds: 17 }'))).toThrow(/must be <= 16/);
    expect(() => specOf('m.yaml', order('  - { repeat: GvnCse }'))).toThrow(/rounds/);
    const whole = '  - { repeat: OriCheckInitialProgram, through: DebuggerBreak, rounds: 16 }\n';
    expect(await says(whole)).toMatch(/more than 2000 phases/);
  });
});

describe('what stands behind a repeat', () => {
  const twice = '  - { repeat: GvnCse, through: OriReassociateAndCommon, rounds: 3 }\n';
  const rounds = (p: Plan, name: string) => p.phases.filter((x) => x.name === name);
  const says = (edits: string) => saysOf({ order: 'mine' }, order(edits));

  it('drop and replace hold in every round, or in the one that is named', async () => {
    const off = (p: Plan) => rounds(p, 'GvnCse').map((x) => x.disabled !== null);
    expect(off(await planOf(order(`${twice}  - { drop: GvnCse }`)))).toEqual([true, true, true]);
    expect(off(await planOf(order(`${twice}  - { drop: 'GvnCse#2' }`)))).toEqual([false, true, false]);
    const p = await planOf(order(`${twice}  - { replace: OriReassociateAndCommon, with: OriCommoning }`));
    expect(rounds(p, 'OriReassociateAndCommon')).toEqual([]);
    const ids = new Set(p.phases.map((x) => x.id));
    const waits = p.phases.filter((x) => x.roundAfter !== null);
    expect(waits.length).toBeGreaterThan(0);
    // Each round waits for phases that are there.
    for (const x of waits) expect([x.id, x.roundAfter!.filter((id) => !ids.has(id))]).toEqual([x.id, []]);
    const replacing = rounds(p, 'OriCommoning').filter((x) => x.roundAfter !== null);
    expect(replacing.length).toBe(4);
    // With one phase in another's place a later round runs for as long as that one changes something.
    const one = order(
      '  - { repeat: LateOriCommoning, rounds: 3 }\n  - { replace: LateOriCommoning, with: OriBranchOpt }',
    );
    const last = (await planOf(one)).phases.filter((x) => x.roundAfter !== null);
    expect(last.map((x) => [x.id, x.roundAfter])).toEqual([
      ['OriBranchOpt#3', ['OriBranchOpt#2']],
      ['OriBranchOpt#4', ['OriBranchOpt#3']],
    ]);
  });

  it('rounds in rounds wait for the round before of the inner ones', async () => {
    const text =
      '  - { repeat: GvnCse, rounds: 2 }\n  - { repeat: GvnCse, through: OriReassociateAndCommon, rounds: 2 }\n';
    const after = (p: Plan) => Object.fromEntries(rounds(p, 'GvnCse').map((x) => [x.id, x.roundAfter]));
    const p = await planOf(order(text));
    const first = p.phases.slice(
      p.phases.findIndex((x) => x.id === 'GvnCse'),
      p.phases.findIndex((x) => x.id === 'OriReassociateAndCommon') + 1,
    );
    const outer = first.map((x) => x.id);
    expect(after(p)).toEqual({
      GvnCse: null,
      'GvnCse#2': ['GvnCse'],
      'GvnCse#3': outer,
      'GvnCse#4': ['GvnCse#3'],
    });
    const off = (q: Plan) => rounds(q, 'GvnCse').map((x) => x.disabled !== null);
    expect(off(await planOf(order(`${text}  - { drop: GvnCse }`)))).toEqual([true, true, true, true]);
  });

  it('nothing is moved out of rounds, or put among them, and no part of them is repeated', async () => {
    expect(await says(`${twice}  - { move: GvnCse, after: LateOriCommoning }`)).toMatchInlineSnapshot(`
      "error: 'GvnCse' is repeated, and cannot be moved alone
        --> mine.yaml:5:13
          5 |   - { move: GvnCse, after: LateOriCommoning }
            |             ^^^^^^
        an edit before the \`repeat\` applies to every round; after it, only \`drop\` and \`replace\` do
        the repeat: mine.yaml:4"
    `);
    expect(await says(`${twice}  - { insertPass: live-dead, after: GvnCse }`)).toMatchInlineSnapshot(`
      "error: 'GvnCse' and 'OriCommoning' are repeated together
        --> mine.yaml:5:37
          5 |   - { insertPass: live-dead, after: GvnCse }
            |                                     ^^^^^^
        an edit before the \`repeat\` applies to every round; after it, only \`drop\` and \`replace\` do
        the repeat: mine.yaml:4"
    `);
    expect(await says(`${twice}  - { move: LateOriCommoning, before: 'GvnCse#2' }`)).toContain(
      "'OriReassociateAndCommon' and 'GvnCse#2' are repeated together",
    );
    expect(await says(`${twice}  - { repeat: GvnCse, rounds: 2 }`)).toContain(
      "'GvnCse' is a part of what an earlier edit repeats",
    );
    // Around them is free.
    expect(await says(`${twice}  - { insertPass: live-dead, before: GvnCse }`)).toBe('');
    expect(await says(`${twice}  - { insertPass: live-dead, after: 'OriReassociateAndCommon#3' }`)).toBe('');
  });

  it('what fills or switches a phase does so in every round', async () => {
    const hook = 'AdvancedPhaseAfterConvUnSup';
    const recipe = (text: string) => specOf('r.yaml', `kind: recipe\n${text}`);
    const plan = async (edits: string, text: string, set: string[] = []) => {
      const specs = {
        ...shipped,
        orders: new Map([...shipped.orders, ['mine', specOf('mine.yaml', order(edits))]]),
        recipes: new Map([...shipped.recipes, ['r', recipe(text)]]),
      };
      const made = await makePlan({ ...plain, order: 'mine', recipes: ['r'], set }, passNames, specs);
      if (made.plan === null) throw new Error(rendered(made.diagnostics, ''));
      return made;
    };
    const steps = (p: Plan) =>
      rounds(p, hook).map((x) => [x.steps.map((s) => (s.kind === 'pass' ? s.pass : s.kind)), x.noOp]);
    const again = `  - { repeat: ${hook}, rounds: 2 }`;
    const filled = await plan(again, `hooks: { ${hook}: [{ pass: live-dead }] }`);
    expect(steps(filled.plan!)).toEqual([
      [['live-dead'], false],
      [['live-dead'], false],
    ]);
    const one = await plan(
      again,
      `hooks: { ${hook}: [{ pass: live-dead }], '${hook}#2': [{ pass: branch-opt }] }`,
    );
    expect(steps(one.plan!).map(([names]) => names)).toEqual([['live-dead'], ['branch-opt']]);
    const off = (p: Plan) => rounds(p, 'GvnCse').map((x) => x.disabled !== null);
    const disabled = await plan(twice, 'phases: { disable: [GvnCse] }');
    expect(off(disabled.plan!)).toEqual([true, true, true]);
    const named = await plan(twice, 'title: nothing', ['NamedPhases=GvnCse']);
    expect(off(named.plan!)).toEqual([false, false, false]);
    const but = await plan(twice, "phases: { disable: [GvnCse], enable: ['GvnCse#2'] }");
    expect(off(but.plan!)).toEqual([true, false, true]);
    expect(disabled.diagnostics).toEqual([]);
  });
});

describe('levels', () => {
  const ran = (p: Plan, id: string) => p.phases.find((x) => x.id === id)?.disabled?.why ?? 'on';
  it('of edits: at other levels all is as it was', async () => {
    const text = order(`  - { insertPass: live-dead, after: GvnCse, levels: [2] }
  - { move: LateOriCommoning, after: GvnCse, levels: [3] }
  - { replace: OriPerformLiveDeadThird, with: OriPerformLiveDeadFirst, levels: [4] }`);
    const [two, three, four] = await Promise.all([2, 3, 4].map((l) => planOf(text, l)));
    expect(ran(two, 'live-dead')).toBe('on');
    expect(ran(three, 'live-dead')).toBe('the order has it at level 2 only');
    const behind = (p: Plan) => p.phases[p.phases.findIndex((x) => x.id === 'GvnCse') + 1].id;
    expect([two, three, four].map(behind)).toEqual(['live-dead', 'LateOriCommoning', 'live-dead']);
    const third = (p: Plan) => p.phases.some((x) => x.id === 'OriPerformLiveDeadThird');
    expect([two, three, four].map(third)).toEqual([true, true, false]);
    // Where nothing holds, the result is that of the order itself.
    const zero = await planOf(text, 1);
    const plainly = resolve(shipped, { ...plain, level: 1, order: 'binary' }, passNames).plan!;
    expect(printProgram(runPipeline(program, zero).last)).toBe(
      printProgram(runPipeline(program, plainly).last),
    );
  });

  it('of elements of a full list', async () => {
    const ids = base.phases.map((p) => p.id);
    const list = ids.map((id) => (id === 'GvnCse' ? '{ phase: GvnCse, levels: [4, 5], why: slow }' : id));
    const text = `kind: order\nphases:\n${list.map((x) => `  - ${x}`).join('\n')}\n`;
    expect(ran(await planOf(text, 3), 'GvnCse')).toBe('the order has it at level 4, 5 only: slow');
    expect(ran(await planOf(text, 4), 'GvnCse')).toBe('on');
  });
});

describe('what an illegal edit says', () => {
  it('names the property, its meaning, the line and the nearest legal place', async () => {
    expect(
      await saysOf({ order: 'mine' }, order('  - { move: GvnCse, after: OriCreateMacroInsts }')),
    ).toMatchInlineSnapshot(`
      "warning: GvnCse comes before EnforceArgumentRestrictions
        --> mine.yaml:4:5
          4 |   - { move: GvnCse, after: OriCreateMacroInsts }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     copies made for calls are numbered too
        nearest legal place: after EnforceArgumentRestrictions (position 56)
        the constraint: pipelines/constraints.yaml:229
      error: phase 'GvnCse' (position 10) needs the IR property 'ssa', which does not hold there
        --> mine.yaml:4:5
          4 |   - { move: GvnCse, after: OriCreateMacroInsts }
            |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            |     each R, RD, P, UR, URD and UP register has one definition, which dominates its uses; joins are phi moves
        nothing before it provides it
        provided by GenerateMovPhi (position 27)
        nearest legal place: after GenerateMovPhi (position 27)"
    `);
  });

  it('the place that it names is legal', async () => {
    for (const id of [
      'GvnCse',
      'OriDoPredication',
      'OriLoopUnrolling',
      'OriStrengthReduce',
      'OriHoistInvariantsEarly',
    ])
      for (const to of ['OriCheckInitialProgram', 'DebuggerBreak', 'ConvertAllMovPhiToMov']) {
        const said = await saysOf({ order: 'mine' }, order(`  - { move: ${id}, after: ${to} }`));
        if (!said.includes('error:')) continue;
        const places = [...said.matchAll(/nearest legal place: (before|after) (\S+)/g)];
        expect(places.length, said).toBeGreaterThan(0);
        const [, side, anchor] = places.at(-1)!;
        expect(
          (await saysOf({ order: 'mine' }, order(`  - { move: ${id}, ${side}: ${anchor} }`))).includes(
            'error:',
          ),
          `${id} ${side} ${anchor}`,
        ).toBe(false);
      }
  });
});

describe('differences of orders', () => {
  it('are credited to the edit, with its line, whichever of two neighbours it moved', async () => {
    const differences = async (edits: string) =>
      planDifferences(base, await planOf(order(edits))).map((d) => `${d.kind} ${d.name}: ${d.a} -> ${d.b}`);
    expect(await differences('  - { move: SinkCodeIntoBlock, before: OriHoistInvariantsLate }')).toEqual([
      'order SinkCodeIntoBlock: after OriHoistInvariantsLate -> after GeneralOptimizeLate2',
    ]);
    expect(await differences('  - { move: OriHoistInvariantsLate, after: SinkCodeIntoBlock }')).toEqual([
      'order OriHoistInvariantsLate: after GeneralOptimizeLate2 -> after SinkCodeIntoBlock',
    ]);
    expect(await differences('  - { drop: OriDoRematEarly, why: registers are not short }')).toEqual([
      'phase OriDoRematEarly: on -> not in the order',
    ]);
    expect(await differences('  - { move: SinkCodeIntoBlock, after: OriHoistInvariantsLate }')).toEqual([]);
    const recipe = folder.write(
      'hook.yaml',
      'kind: recipe\nhooks: { AdvancedPhaseBackPropVReg: [{ pass: live-dead }] }\n',
    );
    const hooked = spawnSync('node', [`${root}bin/orrery.js`, 'plan', '--recipe', recipe, '--diff'], {
      encoding: 'utf8',
    });
    expect(hooked.stdout).toMatch(
      /phase AdvancedPhaseBackPropVReg: skipped, its hook is empty -> hook filled, runs always/,
    );
    const file = folder.write(
      'mine.yaml',
      order('  - { move: SinkCodeIntoBlock, before: OriHoistInvariantsLate }'),
    );
    const r = spawnSync('node', [`${root}bin/orrery.js`, 'plan', '--order', file, '--diff'], {
      encoding: 'utf8',
    });
    expect(r.stdout).toMatch(/order SinkCodeIntoBlock: .*\n {2}.*mine\.yaml:4\n/);
  });

  it('are at the line of the edit where a phase is replaced, in one round or in all', () => {
    const file = folder.write(
      'replacing.yaml',
      order(
        '  - { replace: GeneralOptimizeLate2, with: OriCopyProp }\n' +
          '  - { repeat: GvnCse, rounds: 2 }\n' +
          '  - { replace: GvnCse, with: OriBranchOpt }',
      ),
    );
    const r = spawnSync('node', [`${root}bin/orrery.js`, 'plan', '--order', file, '--diff', '--json'], {
      encoding: 'utf8',
    });
    const { differences } = JSON.parse(r.stdout) as { differences: { name: string; place: string }[] };
    const lines = differences.map((d) => `${d.name} ${d.place.replace(/^.*:/, '')}`);
    expect(lines).toContain('GeneralOptimizeLate2 4');
    expect(lines).toContain('GvnCse 6');
  });
});

describe('further rounds', () => {
  const folded = async (edits: string, from = base) =>
    foldedRounds(placedDifferences(from, await planOf(order(edits)))).map(
      ({ difference: d }) => `${d.kind} ${d.name}: ${d.a} -> ${d.b}`,
    );
  const rounds = (n: number) => `  - { repeat: GvnCse, through: OriReassociateAndCommon, rounds: ${n} }`;
  const name = 'phase GvnCse to OriReassociateAndCommon';

  it('are one difference for a reader, whichever side has them', async () => {
    expect(await folded(rounds(3))).toEqual([`${name}: 1 round -> 3 rounds`]);
    const three = await planOf(order(rounds(3)));
    expect(await folded(rounds(5), three)).toEqual([`${name}: 3 rounds -> 5 rounds`]);
    expect(await folded(rounds(2), three)).toEqual([`${name}: 3 rounds -> 2 rounds`]);
    expect(await folded('  - { repeat: GvnCse, rounds: 3 }')).toEqual(['phase GvnCse: 1 round -> 3 rounds']);
  });

  it('stay apart where the plans repeat other phases', async () => {
    const other = await folded(
      '  - { repeat: GeneralOptimizeMid2, through: GvnCse, rounds: 2 }',
      await planOf(order(rounds(2))),
    );
    expect(other).toContain('phase OriCommoning#2: on -> not in the order');
  });
});

describe('order suggest', () => {
  it('lists exactly the places at which the order resolves', () => {
    const request = { ...plain, order: 'binary' };
    for (const id of ['GvnCse', 'SetControlFlowOpLastInBB', 'OriLoopUnrolling']) {
      const found = legalPlaces(shipped, request, passNames, id)!;
      const others = base.phases.filter((p) => p.id !== id);
      const inRange = (k: number) =>
        found.legal.some((r) => {
          const from = r.after === null ? 0 : others.findIndex((p) => p.id === r.after!.id) + 1;
          const to = r.before === null ? others.length : others.findIndex((p) => p.id === r.before!.id);
          return from <= k && k <= to;
        });
      // Every fifth place is tried by itself, and those where the answer changes.
      for (let k = 0; k < others.length; k++) {
        if (k % 5 !== 0 && inRange(k) === inRange(k + 1)) continue;
        const f = specOf('mine.yaml', order(`  - { move: ${id}, before: ${others[k].id} }`));
        const specs = { ...shipped, orders: new Map([...shipped.orders, ['mine', f]]) };
        const { plan } = resolve(specs, { ...plain, order: 'mine' }, passNames);
        expect([id, others[k].id, plan !== null]).toEqual([id, others[k].id, inRange(k)]);
      }
      expect(found.legal.filter((r) => r.current).length).toBe(1);
    }
  });

  it('is judged for functions that a recipe is for, too', () => {
    const text =
      "kind: recipe\nwhen: { kernel: 'k*' }\nhooks: { AdvancedPhaseLateExpandSyncInstructions: [{ pass: gvn-cse }] }";
    const specs = { ...shipped, recipes: new Map([...shipped.recipes, ['r', specOf('r.yaml', text)]]) };
    const request = { ...plain, order: 'binary' };
    const last = (recipes: string[]) =>
      legalPlaces(specs, { ...request, recipes }, passNames, 'ConvertAllMovPhiToMov')!.legal[0].after!;
    expect(resolve(specs, { ...request, recipes: ['r'] }, passNames).plan).not.toBeNull();
    const hook = base.phases.findIndex((p) => p.id === 'AdvancedPhaseLateExpandSyncInstructions');
    expect(last([]).position).toBeLessThan(hook);
    expect(last(['r']).position).toBeGreaterThanOrEqual(hook);
  });

  it('does not move what is repeated, nor puts anything among it', () => {
    const file = specOf('mine.yaml', order('  - { repeat: GvnCse, rounds: 2 }'));
    const specs = { ...shipped, orders: new Map([...shipped.orders, ['mine', file]]) };
    const found = (id: string) => legalPlaces(specs, { ...plain, order: 'mine' }, passNames, id)!;
    expect(found('GvnCse').legal.map((r) => [r.after!.id, r.before!.id, r.current])).toEqual([
      ['EnforceArgumentRestrictions', 'GvnCse#2', true],
    ]);
    expect(found('GvnCse').reasons.map((r) => r.code)).toEqual(['edit-repeated']);
    const around = found('OriDoPredication');
    expect(around.legal.filter((r) => r.before?.id === 'GvnCse' || r.after?.id === 'GvnCse#2').length).toBe(
      2,
    );
    expect(around.reasons.map((r) => r.message)).toContain("'GvnCse' and 'GvnCse#2' are repeated together");
  });

  it('says why nowhere else, each reason once', () => {
    const { reasons } = legalPlaces(shipped, { ...plain, order: 'binary' }, passNames, 'GvnCse')!;
    const texts = reasons.map((r) => r.message);
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts).toContain("phase 'GvnCse' needs the IR property 'ssa'");
    for (const { positions } of reasons) expect(positions.length).toBeGreaterThan(0);
    const r = spawnSync('node', [`${root}bin/orrery.js`, 'order', 'suggest', 'GvnCse'], { encoding: 'utf8' });
    expect(r.stdout.split('nowhere else:')[1]).toMatch(/\(positions? \d+( to\s+\d+)?/);
  });
});

describe('edits of a dropped phase', () => {
  const says = (edits: string) => saysOf({ order: 'mine' }, order(edits));
  const drop = '  - { drop: GvnCse }\n';

  it('that have no effect are warned of: a move, another drop, a repeat', async () => {
    expect(await says(`${drop}  - { move: GvnCse, after: GeneralOptimizeMid }`)).toMatchInlineSnapshot(`
      "warning: the move has no effect: 'GvnCse' is dropped already
        --> mine.yaml:5:13
          5 |   - { move: GvnCse, after: GeneralOptimizeMid }
            |             ^^^^^^
        the drop: mine.yaml:4"
    `);
    expect(await says(`${drop}  - { drop: gvncse }`)).toMatch(/the drop has no effect: 'GvnCse' is dropped/);
    expect(await says(`${drop}  - { repeat: GvnCse, rounds: 2 }`)).toMatch(/the repeat has no effect/);
    const rounds = `  - { repeat: GvnCse, rounds: 2 }\n  - { drop: 'GvnCse#2' }\n`;
    expect(await says(`${rounds}  - { drop: 'GvnCse#2' }`)).toMatch(/'GvnCse#2' is dropped already/);
    expect(await says(`${rounds}  - { drop: GvnCse }`)).toBe('');
  });

  it('that have one are not: at other levels, beside it, in its place', async () => {
    const low = '  - { drop: GvnCse, levels: [0, 1] }\n';
    expect(await says(`${low}  - { move: GvnCse, after: OriCommoning }`)).toBe('');
    expect(await says(`${low}  - { move: GvnCse, after: OriCommoning, levels: [1, 2] }`)).toBe('');
    const same = await checkFile(
      folder.write('low.yaml', order(`${low}  - { move: GvnCse, after: OriCommoning, levels: [1] }`)),
      passNames,
      shipped,
    );
    expect(same.map((d) => [d.severity, d.code, d.line])).toEqual([['warning', 'edit-dropped', 5]]);
    expect(await says(`${drop}  - { replace: GvnCse, with: OriCommoning }`)).toBe('');
    expect(await says(`${drop}  - { insert: GvnCse, after: OriCommoning }`)).toBe('');
    expect(await says(`${drop}  - { repeat: GvnCse, through: OriCommoning, rounds: 2 }`)).toBe('');
  });

  it('order suggest names the edit, as no place matters', () => {
    const file = folder.write('dropped.yaml', order(drop));
    const r = spawnSync('node', [`${root}bin/orrery.js`, 'order', 'suggest', 'GvnCse', '--order', file], {
      encoding: 'utf8',
    });
    expect([r.status, r.stdout, r.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(/'GvnCse' does not run.*dropped by the order\n.*dropped\.yaml:4/),
    ]);
  });
});

describe('lists of phases in knobs', () => {
  const off = (set: string) => {
    const { plan, issues } = resolve(shipped, { ...plain, order: 'binary', set: [set] }, passNames);
    return [plan!.phases.filter((p) => p.disabled !== null).map((p) => p.id), issues.map((i) => i.message)];
  };
  it('DisablePhases takes both syntaxes', () => {
    const [ids] = off('DisablePhases=GvnCse+LateOriCommoning');
    expect(ids).toEqual(['GvnCse', 'LateOriCommoning']);
    expect(off('DisablePhases=gvncse, lateoricommoning')[0]).toEqual(ids);
  });
  it.each([
    ['Predication', ['OriDoPredication']],
    ['LoopUnrolling', ['OriLoopUnrolling']],
    ['SinkCodeIntoBlock', ['SinkCodeIntoBlock']],
    ['ConvertMemoryToRegisterOrUniform', ['GeneralOptimizeMid', 'ConvertMemoryToRegisterOrUniform']],
    [
      'HoistInvariants',
      ['Early', 'Late', 'Late2', 'Late3']
        .map((n) => `OriHoistInvariants${n}`)
        .concat('DoKillMovement', 'DoTexMovement'),
    ],
  ])('DisablePhases takes the word by which the original asks: %s', (word, phases) => {
    expect([...off(`DisablePhases=${word}`)[0]].sort()).toEqual(phases.sort());
  });
  it('NamedPhases takes both, and says that a parameter is without effect', () => {
    const plus = off('NamedPhases=GvnCse,3+LateOriCommoning');
    expect(off('NamedPhases=GvnCse=3,LateOriCommoning')).toEqual(plus);
    expect(off('NamedPhases=GvnCse,3,LateOriCommoning')).toEqual(plus);
    expect(plus[1]).toContain("knob NamedPhases: no phase takes a parameter, so '3' is without effect");
    expect(off('NamedPhases=GvnCse+LateOriCommoning')[0]).toEqual(plus[0]);
  });
});

it('an order may extend as many others, one by one, as one likes', async () => {
  const orders = new Map(shipped.orders);
  for (let i = 0; i < 40; i++)
    orders.set(
      `o${i}`,
      specOf(
        `o${i}.yaml`,
        order(i === 20 ? '  - { drop: GvnCse }' : '  []', i === 39 ? 'binary' : `o${i + 1}`),
      ),
    );
  const { plan } = resolve({ ...shipped, orders }, { ...plain, order: 'o0' }, passNames);
  expect(plan!.phases.find((x) => x.id === 'GvnCse')!.disabled).not.toBeNull();
});

it('an order that extends another by its path is checked', async () => {
  folder.write('first.yaml', order('  - { drop: GvnCse }'));
  const second = folder.write('second.yaml', order('  - { drop: LateOriCommoning }', 'first.yaml'));
  expect((await checkFile(second, passNames, shipped)).filter((d) => d.severity === 'error')).toEqual([]);
});

describe('completion', () => {
  const orrery = (...args: string[]) =>
    spawnSync('node', [`${root}bin/orrery.js`, ...args], { encoding: 'utf8' });
  const script = once(() => folder.write('complete.sh', `${orrery('completion', 'bash').stdout}\n`));
  const complete = (...words: string[]) => {
    const typed = words.map((w) => `'${w}'`).join(' ');
    const run = `source ${script()}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _orrery; echo "\${COMPREPLY[@]}"`;
    return spawnSync('bash', ['-c', run], { encoding: 'utf8' }).stdout.trim().split(' ');
  };
  it('of commands, options, phases, knobs, recipes and targets', () => {
    expect(complete('orrery', 'bis')).toEqual(['bisect']);
    expect(complete('orrery', 'order', 'su')).toEqual(['suggest']);
    expect(complete('orrery', 'order', 'suggest', 'GvnC')).toEqual(['GvnCse']);
    expect(complete('orrery', 'phases', 'GvnC')).toEqual(['GvnCse']);
    expect(complete('orrery', 'opt', '--disable', 'OriDoP')).toEqual(['OriDoPredication']);
    expect(complete('orrery', 'opt', '--recipe', 'whole')).toEqual(['whole-loops']);
    expect(complete('orrery', 'plan', '--sm', 'sm_12')).toEqual(['sm_120', 'sm_121']);
    expect(complete('orrery', 'plan', '--set', 'UnrollFullI')).toEqual(['UnrollFullInstLimit=']);
    expect(complete('orrery', 'phases', '--cat')).toEqual(['--category']);
    expect(complete('orrery', 'phases', '--category', 'Ho')).toEqual(['Hook']);
    expect(complete('orrery', 'phases', '--status', 'par')).toEqual(['partial']);
    expect(complete('orrery', 'opt', '--nvopt', '')).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(complete('orrery', 'opt', '--rules', 'wide')).toEqual(['wide-mad']);
    expect(complete('orrery', 'recipes', '--measure', 'hop')).toEqual(['hopper']);
  });
  it('of words that an option takes, of rules, of metrics between commas, and of what there is help for', () => {
    expect(complete('orrery', 'opt', '--emit', '')).toEqual(['ori', 'ptx', 'json', 'cubin', 'none']);
    expect(complete('orrery', 'sweep', '--emit', 's')).toEqual(['slurm']);
    expect(complete('orrery', 'cfg', '--format', '')).toEqual(['text', 'dot', 'svg', 'json']);
    expect(complete('orrery', 'opt', '--check', '')).toEqual(['auto', 'thorough', 'prove', 'machine']);
    expect(complete('orrery', 'opt', '--rewrite-limit', 'GvnC')).toEqual(['GvnCse=']);
    expect(complete('orrery', 'rules', 'show', 'above-z')).toEqual(['above-zero']);
    expect(complete('orrery', 'rules', 'explain', '--rule', 'above-z')).toEqual(['above-zero']);
    expect(complete('orrery', 'measure', '--metrics', 'instructions.fl')).toEqual(['instructions.float']);
    expect(complete('orrery', 'measure', '--metrics', 'weighted,instructions.fl')).toEqual([
      'weighted,instructions.float',
    ]);
    expect(complete('orrery', 'help', 'bis')).toEqual(['bisect']);
    expect(complete('orrery', 'rules', 'help', 'pro')).toEqual(['prove']);
  });
  it('of fish and zsh are made of the same, of another shell there is none', () => {
    expect(orrery('completion', 'fish').stdout).toMatch(/-l recipe -x -a '.*whole-loops/);
    expect(orrery('completion', 'fish').stdout).toContain(
      "'__fish_seen_subcommand_from cfg' -l format -r -a 'text dot svg json'",
    );
    expect(orrery('completion', 'zsh').stdout).toContain('bashcompinit');
    const none = orrery('completion', 'tcsh');
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining("no completion for 'tcsh'")]);
  });
});

it('the table of phases is as wide as a terminal, unless it is asked for whole', () => {
  const lines = (...args: string[]) =>
    spawnSync('node', [`${root}bin/orrery.js`, 'phases', ...args], { encoding: 'utf8' }).stdout.split('\n');
  expect(Math.max(...lines().map((l) => l.length))).toBeLessThanOrEqual(80);
  expect(Math.max(...lines('--wide').map((l) => l.length))).toBeGreaterThan(120);
  const hooks = lines('--category', 'hook').filter((l) => /^ *\d+ +\d+ /.test(l));
  expect(hooks.length).toBe(16);
  expect(
    readFileSync(`${root}pipelines/phases.yaml`, 'utf8').match(/category: Hook/g)!.length,
  ).toBeGreaterThanOrEqual(16);
});
