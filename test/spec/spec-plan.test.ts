import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { covers, overlap } from '../../src/ir/glob.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { type CheckedValue, knobValue } from '../../src/spec/knob-values.ts';
import { makePlan } from '../../src/spec/node.ts';
import { groupsOf, type Plan, type PlanPhase } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { runs } from '../support/size.ts';
import { passNames, plain, planWith, rendered, saysOf, shipped, specOf } from '../support/specs.ts';

const recipe = (text: string) => `kind: recipe\n${text}\n`;
const knobSet = (text: string) => `kind: knob-set\n${text}\n`;
const phase = async (id: string, ...args: Parameters<typeof planWith>): Promise<PlanPhase> => {
  const { plan, diagnostics } = await planWith(...args);
  if (plan === null) throw new Error(rendered(diagnostics, args[1] ?? ''));
  return plan.phases.find((p) => p.id === id)!;
};

describe('values of knobs', () => {
  const check = (type: string, value: unknown, range?: [number | null, number | null]): CheckedValue =>
    knobValue({ type: type as 'INT', range }, value, new Set(['FADD', 'FMUL']));
  const good = (type: string, value: unknown, range?: [number | null, number | null]) => {
    const c = check(type, value, range);
    return c.problem === undefined ? c.value : `refused: ${c.problem}`;
  };
  const bad = (type: string, value: unknown, range?: [number | null, number | null]) =>
    check(type, value, range).problem;

  it('flags', () => {
    expect(['true', 'TRUE', 1, true, '1'].map((v) => good('NONE', v))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(['false', 0, false].map((v) => good('NONE', v))).toEqual([false, false, false]);
    expect(bad('NONE', 'maybe')).toBe('it must be a flag: true or false');
  });
  it('integers in any base, with a range', () => {
    expect(['12', '-0x10', '0b101', '0o17', 7].map((v) => good('INT', v))).toEqual([12, -16, 5, 15, 7]);
    expect(['1.5', 1.5, 'x', true, '', 2 ** 60, [1]].map((v) => bad('INT', v) !== undefined)).toEqual(
      Array(7).fill(true),
    );
    expect(good('INT', 5, [1, 5])).toBe(5);
    expect(bad('INT', 6, [1, 5])).toBe('it must lie in 1..5');
    expect(bad('INT', 0, [1, null])).toBe('it must lie in 1..');
  });
  it('budgets', () => {
    expect(good('BDGT', '0')).toBe(0);
    expect(bad('BDGT', -1)).toBe('a budget must not be negative');
    expect(bad('BDGT', 4294967296)).toBe('it has more than 32 bits');
    expect(bad('INT', '-2147483649')).toBe('it has more than 32 bits');
    expect(bad('BDGT', 'many')).toBe('it must be a budget: an integer that says how often it may be taken');
  });
  it('numbers', () => {
    expect(['1e-3', '.5', '2.', -3, '0x10'].map((v) => good('DBL', v))).toEqual([0.001, 0.5, 2, -3, 16]);
    expect(bad('FLOAT', 'nan')).toBe('it must be a number');
    expect(bad('FLOAT', '1e999')).toBe('it must be a number');
  });
  it('ranges with open ends', () => {
    const open = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
    expect(['3..9', '-4..-2', [3, 9], '5', 5].map((v) => good('IRNG', v))).toEqual([
      [3, 9],
      [-4, -2],
      [3, 9],
      [5, 5],
      [5, 5],
    ]);
    expect(good('IRNG', '..7')).toEqual([open[0], 7]);
    expect(good('IRNG', '7..')).toEqual([7, open[1]]);
    expect(bad('IRNG', '9..3')).toBe('the range is empty: 9 is above 3');
    expect(bad('IRNG', '1..9', [0, 5])).toBe('each end must lie in 0..5');
    for (const v of ['..', '1..2..3', 'a..b', [1], [1, 2, 3]])
      expect(bad('IRNG', v)).toMatch(/^it must be a range/);
  });
  it('lists of integers, of opcodes, of conditions', () => {
    expect(good('ILIST', '1, 2,0x3')).toEqual([1, 2, 3]);
    expect(good('ILIST', [1, 2])).toEqual([1, 2]);
    expect(bad('ILIST', '1,,2')).toBe("it must be a list of integers such as 1,2,3; '' is not an integer");
    expect(good('OPLIST', 'fadd,3, FMUL,2')).toBe('FADD,3,FMUL,2');
    expect(check('OPLIST', 'FAD,3')).toEqual({
      problem: "there is no opcode 'FAD'",
      notes: ["did you mean 'FADD'?"],
    });
    expect(bad('OPLIST', 'FADD')).toBe('it must be a list of opcodes with a number each: FADD,3,FMUL,2');
    expect(good('WHEN', 'SH=1f~ih=0x22~K=x')).toBe('SH=1f~ih=0x22~K=x');
    expect(bad('WHEN', 'SH=xyz')).toMatch(/'SH=xyz' is not one$/);
  });
  it('texts, and taking a value away', () => {
    expect([good('STR', 'a+b'), good('STR', 3), good('INT', 'unset'), good('STR', null)]).toEqual([
      'a+b',
      '3',
      null,
      null,
    ]);
    expect(bad('STR', true)).toBe('it must be text');
    expect(bad('STR', '')).toBe("the value is empty ('unset' removes a value)");
  });
  it('every integer and range reads back', () => {
    const n = fc.integer({ min: -1e9, max: 1e9 });
    fc.assert(
      fc.property(n, n, (a, b) => {
        expect(good('INT', String(a))).toBe(a === 0 ? 0 : a);
        const [lo, hi] = a < b ? [a, b] : [b, a];
        expect(good('IRNG', `${lo}..${hi}`)).toEqual([lo, hi]);
      }),
      { seed: 1, numRuns: runs(200) },
    );
  });
  it('patterns of kernel names agree with the regular expression', () => {
    const letters = (set: string) => fc.string({ unit: fc.constantFrom(...set), maxLength: 8 });
    fc.assert(
      fc.property(letters('ab*?'), letters('abc'), (pattern, name) => {
        const re = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`);
        expect(covers(pattern, name)).toBe(re.test(name));
      }),
      { seed: 2, numRuns: runs(1000) },
    );
    expect(covers(`${'*a'.repeat(30)}b`, 'a'.repeat(2000))).toBe(false);
  });
  it('two patterns overlap where a name matches both', () => {
    // Patterns of at most four characters that overlap have a common name of at most six.
    const names = [''];
    for (let i = 0; i < names.length && names[i].length < 6; i++)
      for (const c of 'abc') names.push(names[i] + c);
    const pattern = fc.string({ unit: fc.constantFrom(...'ab*?'), maxLength: 4 });
    fc.assert(
      fc.property(pattern, pattern, (p, q) => {
        expect([p, q, overlap(p, q)]).toEqual([p, q, names.some((n) => covers(p, n) && covers(q, n))]);
      }),
      { seed: 3, numRuns: runs(1000) },
    );
  });
});

describe('where a value comes from', () => {
  it('a knob is known by its number too, unless several share it', async () => {
    const { plan, diagnostics } = await planWith({ set: ['Knob487=3', 'knob464=5'] });
    expect(diagnostics).toEqual([]);
    const { knobs } = plan!;
    expect(knobs.get('GeneralOptimizationBudget')!.value).toBe(3);
    expect(knobs.get('MergeEquivalentConditionalFlowBudget')!.value).toBe(5);
    // Knob391 is a name of its own.
    expect(knobs.get('Knob391')!.index).toBe(391);
  });

  it('catalog, back end, recipe, knob sets, command line: the last wins, the others are kept', async () => {
    const name = 'MergeEquivalentConditionalFlowBudget';
    const give = (kind: string, n: number) =>
      specOf(`${kind}.yaml`, `kind: ${kind}\nknobs: { ${name}: ${n} }\n`);
    const sm = shipped.backends.get('sm_80')!;
    const specs = {
      ...shipped,
      backends: new Map([
        ...shipped.backends,
        ['sm_80', { ...sm, data: { ...sm.data, knobs: { [name]: 1 } } }],
      ]),
      recipes: new Map([['r', give('recipe', 2)]]),
      knobSets: new Map([
        ['one', give('knob-set', 3)],
        ['two', give('knob-set', 4)],
      ]),
    };
    const request = {
      ...plain,
      recipes: ['r'],
      knobSets: ['one', 'two'],
      set: [`${name.toLowerCase()}=5`, `${name}=6`],
    };
    const k = resolve(specs, request, passNames).plan!.knobs.get(name)!;
    expect([k.value, k.origin.source]).toEqual([6, 'command-line']);
    expect(
      k.overridden.map((o) => [o.value, o.origin.source, o.origin.file.replace(/.*\//, ''), o.origin.path]),
    ).toEqual([
      [null, 'catalog', 'catalog.yaml', ['knobs', name, 'default']],
      [1, 'backend', 'sm_80.yaml', ['knobs', name]],
      [2, 'recipe', 'recipe.yaml', ['knobs', name]],
      [3, 'knob-set', 'knob-set.yaml', ['knobs', name]],
      [4, 'knob-set', 'knob-set.yaml', ['knobs', name]],
      [5, 'command-line', '', []],
    ]);
  });

  it('facts: each leaf from the nearest file of the chain that says it', async () => {
    const { backend } = (await planWith({ sm: 'sm_90' })).plan!;
    const from = (path: string) => backend.origins.get(path)?.file.replace(/.*\//, '');
    expect([from('code'), from('capabilities.wgmma'), from('limits.warp-size'), from('param-base')]).toEqual([
      'sm_90.yaml',
      'hopper.yaml',
      'common.yaml',
      'hopper.yaml',
    ]);
    expect(backend.facts).not.toHaveProperty('sources');
    expect((backend.facts.limits as Record<string, number>)['warp-size']).toBe(32);
  });

  it('bindings and phases say where they were made', async () => {
    const p = await phase('AdvancedPhaseAfterConvUnSup', { recipes: ['inline'] });
    expect(p.steps.map((s) => [s.kind === 'pass' && s.pass, s.origin.source, s.origin.path])).toEqual([
      ['inline-functions', 'recipe', ['hooks', 'AdvancedPhaseAfterConvUnSup', 0]],
    ]);
    const q = await phase('OriBranchOpt', {});
    expect([q.steps[0].origin.source, q.steps[0].origin.path[0], q.origin.source]).toEqual([
      'phases',
      'phases',
      'order',
    ]);
  });
});

describe('a wrong request', () => {
  it('names and values', async () => {
    expect(
      await saysOf({
        set: ['OptBudget=-1', 'OptBudgett=1', 'DisableSourceOrder=maybe', 'OptBudget', 'DisablePhases='],
        sm: 'sm_81',
        level: 9,
        recipes: ['inlin'],
        knobSets: ['one-rewrit'],
        disable: ['OriBranchOp'],
      }),
    ).toMatchInlineSnapshot(`
      "error: there is no back end for 'sm_81'
        did you mean 'sm_80' or 'sm_86' or 'sm_87'?
      error: there is no recipe 'inlin'
        did you mean 'inline'?
      error: there is no knob set 'one-rewrit'
        did you mean 'one-rewrite'?
      error: optimization level 9 is not 0 to 5
      error: knob OptBudget cannot be "-1": a budget must not be negative
      error: there is no knob 'OptBudgett'
        did you mean 'OptBudget' or 'HoistBudget'?
        \`orrery plan --all\` prints every knob
      error: knob DisableSourceOrder cannot be "maybe": it must be a flag: true or false
      error: knob OptBudget needs a value
        --set OptBudget=VALUE; only a flag may stand alone
      error: knob DisablePhases cannot be "": the value is empty ('unset' removes a value)
      error: there is no phase 'OriBranchOp' to disable
        did you mean 'OriBranchOpt'?"
    `);
  });

  it('the index of a knob in place of its name', async () => {
    expect(await saysOf({ set: ['391=1'] })).toContain(
      "391 is the index of 'Knob391' (NvOptRecipe), which `--set Knob391=VALUE` sets",
    );
    expect(await saysOf({ set: ['249=1', '499=2', '100000=1'] })).toMatchInlineSnapshot(`
      "error: there is no knob '249'
        knobs/catalog.yaml lists them
        249 is the index of 'Knob249' (PhaseTiming), which \`--set Knob249\` sets
        \`orrery plan --all\` prints every knob
      error: there is no knob '499'
        knobs/catalog.yaml lists them
        499 is the index of 'OptBudget', which \`--set OptBudget=VALUE\` sets
        \`orrery plan --all\` prints every knob
      error: there is no knob '100000'
        knobs/catalog.yaml lists them
        \`orrery plan --all\` prints every knob"
    `);
  });

  it('a knob set that says nonsense', async () => {
    expect(
      await saysOf(
        { knobSets: ['mine'] },
        knobSet(
          'knobs:\n  OptBuget: 3\n  OptBudget: many\n  RegAllocRematDisableRange: [9, 3]\n  SchedResBusyOp: FAD,3',
        ),
      ),
    ).toMatchInlineSnapshot(`
      "error: there is no knob 'OptBuget'
        --> mine.yaml:3:3
          3 |   OptBuget: 3
            |   ^^^^^^^^
        did you mean 'OptBudget'?
        \`orrery plan --all\` prints every knob
      error: knob OptBudget cannot be "many": it must be a budget: an integer that says how often it may be taken
        --> mine.yaml:4:14
          4 |   OptBudget: many
            |              ^^^^
      error: knob RegAllocRematDisableRange cannot be [9,3]: the range is empty: 9 is above 3
        --> mine.yaml:5:30
          5 |   RegAllocRematDisableRange: [9, 3]
            |                              ^^^^^^
      error: knob SchedResBusyOp cannot be "FAD,3": there is no opcode 'FAD'
        --> mine.yaml:6:19
          6 |   SchedResBusyOp: FAD,3
            |                   ^^^^^
        did you mean 'FADD'?"
    `);
  });

  it('a recipe that says nonsense', async () => {
    expect(
      await saysOf(
        { recipes: ['mine'] },
        recipe(`hooks:
  OriBranchOpt: [{ pass: live-ded }]
  AdvancedPhaseAfterConvUnsupp: [{ rules: [peephole] }]
phases:
  disable: [SetControlFlowOpLastInBB, OriSanitise, OriLoopFusion]
  enable: [OriLoopFusion]`),
      ),
    ).toMatchInlineSnapshot(`
      "error: phase 'OriBranchOpt' is not a hook
        --> mine.yaml:3:3
          3 |   OriBranchOpt: [{ pass: live-ded }]
            |   ^^^^^^^^^^^^
        hooks are AdvancedPhaseBeforeConvUnSup, AdvancedPhaseAfterConvUnSup, AdvancedPhaseEarlyEnforceArgs, AdvancedPhaseLateConvUnSup, AdvancedPhaseBackPropVReg, AdvancedPhaseSetRegAttr, AdvancedPhaseAfterSetRegAttr, AdvancedPhasePreSched, AdvancedPhaseAllocReg, AdvancedPhasePostExpansion, AdvancedPhasePostSched, AdvancedPhasePostFixUp, AdvancedScoreboardsAndOpexes, AdvancedPhaseOriPhaseEncoding, AdvancedPhaseAfterMidExpansion, AdvancedPhaseLateExpandSyncInstructions
      error: there is no pass 'live-ded'
        --> mine.yaml:3:26
          3 |   OriBranchOpt: [{ pass: live-ded }]
            |                          ^^^^^^^^
        did you mean 'live-dead'?
      error: there is no phase 'AdvancedPhaseAfterConvUnsupp' in the order
        --> mine.yaml:4:3
          4 |   AdvancedPhaseAfterConvUnsupp: [{ rules: [peephole] }]
            |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        did you mean 'AdvancedPhaseAfterConvUnSup' or 'AdvancedPhaseLateConvUnSup' or 'AdvancedPhaseBeforeConvUnSup'?
      error: there is no rule group 'peephole'
        --> mine.yaml:4:44
          4 |   AdvancedPhaseAfterConvUnsupp: [{ rules: [peephole] }]
            |                                            ^^^^^^^^
        \`orrery rules list\` names the groups
      error: there is no phase 'OriSanitise' to disable
        --> mine.yaml:6:39
          6 |   disable: [SetControlFlowOpLastInBB, OriSanitise, OriLoopFusion]
            |                                       ^^^^^^^^^^^
        did you mean 'OriSanitize'?
      error: phase 'OriLoopFusion' is both enabled and disabled
        --> mine.yaml:7:12
          7 |   enable: [OriLoopFusion]
            |            ^^^^^^^^^^^^^
      error: phase 'SetControlFlowOpLastInBB' is required and cannot be switched off (disabled by recipe 'mine')
        --> mine.yaml:6:13
          6 |   disable: [SetControlFlowOpLastInBB, OriSanitise, OriLoopFusion]
            |             ^^^^^^^^^^^^^^^^^^^^^^^^
        'EarlyOriSimpleLiveDead', 'OriSanitize', 'GeneralOptimizeEarly' and 65 more need the IR property 'control-last', which it provides: a control operation is always the last of its block"
    `);
  });

  it('a phase that others need, switched off', () => {
    const rows = shipped.phases.data.phases as { name: string }[];
    const free = rows.map((r) => (r.name === 'SetControlFlowOpLastInBB' ? { ...r, required: false } : r));
    const phases = { ...shipped.phases, data: { ...shipped.phases.data, phases: free } };
    const r = specOf('r.yaml', recipe('phases: { disable: [SetControlFlowOpLastInBB] }'));
    const specs = { ...shipped, phases, recipes: new Map([['r', r]]) };
    const { issues } = resolve(specs, { ...plain, recipes: ['r'] }, passNames);
    expect(
      issues.map((i) => [i.code, i.file?.file, i.path, (i.notes?.[0].split(', ').length ?? 0) > 5]),
    ).toEqual([['ir-property', 'r.yaml', ['phases', 'disable', 0], true]]);
  });

  it('a back end that extends itself, or nothing', async () => {
    expect(
      await saysOf({ sm: 'sm_99' }, 'kind: backend\nname: sm_99\nsm: sm_99\nextends: sm_99\n'),
    ).toMatchInlineSnapshot(`
      "error: back end 'sm_99' extends itself
        --> mine.yaml:4:10
          4 | extends: sm_99
            |          ^^^^^
        sm_99 -> sm_99"
    `);
    expect(
      await saysOf({ sm: 'sm_99' }, 'kind: backend\nname: sm_99\nsm: sm_99\nextends: hoper\n'),
    ).toMatchInlineSnapshot(`
      "error: there is no back end 'hoper'
        --> mine.yaml:4:10
          4 | extends: hoper
            |          ^^^^^
        did you mean 'hopper'?"
    `);
  });
});

describe('warnings', () => {
  it('a knob that no phase reads, at its line', async () => {
    expect(await saysOf({ set: ['SchedTexLatency=3'] })).toMatchInlineSnapshot(`
      "warning: knob SchedTexLatency is set (command-line), but no phase that runs reads it"
    `);
    expect(
      await saysOf({ knobSets: ['mine'] }, knobSet('knobs: { SchedTexLatency: 3, OptBudget: 1 }')),
    ).toMatchInlineSnapshot(`
      "warning: knob SchedTexLatency is set (knob-set), but no phase that runs reads it
        --> mine.yaml:2:10
          2 | knobs: { SchedTexLatency: 3, OptBudget: 1 }
            |          ^^^^^^^^^^^^^^^"
    `);
  });

  it('a recipe for another target or level; a hook and a switch in vain', async () => {
    expect(
      await saysOf(
        { recipes: ['mine'], level: 1, disable: ['AdvancedPhaseAfterConvUnSup'] },
        recipe(`sm: [sm_90]
level: 3
hooks: { AdvancedPhaseAfterConvUnSup: [{ pass: live-dead }] }
phases: { enable: [PromoteFP16, GeneralOptimizeEarly] }`),
      ),
    ).toMatchInlineSnapshot(`
      "warning: recipe 'mine' is for sm_90, not for sm_80
        --> mine.yaml:2:5
          2 | sm: [sm_90]
            |     ^^^^^^^
      warning: recipe 'mine' is for level 3, but level 1 was asked for
        --> mine.yaml:3:8
          3 | level: 3
            |        ^
      warning: hook 'AdvancedPhaseAfterConvUnSup' is filled, but never runs: disabled on the command line
        --> mine.yaml:4:10
          4 | hooks: { AdvancedPhaseAfterConvUnSup: [{ pass: live-dead }] }
            |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^
      warning: phase 'PromoteFP16' is enabled, but never runs: on sm_80, operations.HMNMX2 is not "PromoteFP16"
        --> mine.yaml:5:20
          5 | phases: { enable: [PromoteFP16, GeneralOptimizeEarly] }
            |                    ^^^^^^^^^^^"
    `);
  });

  it('DisablePhases that names nothing', async () => {
    expect(await saysOf({ set: ['DisablePhases=LiveDeadF+nosuch'] })).toMatchInlineSnapshot(
      `"warning: knob DisablePhases: no phase has 'nosuch' in its name"`,
    );
  });
});

describe('switches', () => {
  it('a required phase cannot be switched off, by whatever means', async () => {
    expect(await saysOf({ disable: ['SetControlFlowOpLastInBB'] })).toMatch(
      /^error: phase 'SetControlFlowOpLastInBB' is required and cannot be switched off \(disabled on the command line\)/,
    );
    expect(await saysOf({ set: ['DisablePhases=controlflowoplast'] })).toMatch(
      /is required and cannot be switched off \(knob DisablePhases names 'controlflowoplast'\)/,
    );
  });

  it('says of each required phase why it is', async () => {
    const rows = shipped.phases.data.phases as { name: string; required?: boolean }[];
    const required = rows.filter((r) => r.required === true).map((r) => r.name);
    const said = await Promise.all(
      required.map(async (id) => (await saysOf({ disable: [id], order: 'seed' })).split('\n').slice(1)),
    );
    for (const [k, notes] of said.entries())
      expect([required[k], notes.join('\n')]).toEqual([
        required[k],
        expect.stringMatching(/ needs? the IR property '\S+', which it provides: |' has to come after it: /),
      ]);
    expect(said[required.indexOf('LateExpansion')]).toEqual([
      "  'LateExpansionUnsupportedOps' has to come after it: library calls become code before that code is legalized",
    ]);
  });

  it('DisablePhases knows a phase by its other names too', async () => {
    const { plan } = await planWith({ set: ['DisablePhases=memorytoregister'] });
    expect(plan!.phases.filter((p) => p.disabled !== null).map((p) => p.id)).toEqual(['GeneralOptimizeMid']);
  });

  it('DisablePhases takes parts of names, case ignored', async () => {
    const { plan } = await planWith({
      disable: ['oribranchopt'],
      set: ['disablephases=livedeadf+COMMONING'],
    });
    expect(plan!.phases.filter((p) => p.disabled !== null).map((p) => p.id)).toEqual([
      'OriBranchOpt',
      'OriPerformLiveDeadFirst',
      'LateOriCommoning',
      'OriPerformLiveDeadFourth',
    ]);
  });

  it('NamedPhases runs these and the required ones; parameters may stand beside names', async () => {
    for (const value of [
      'OriBranchOpt,OriSanitize',
      'oribranchopt+OriSanitize',
      'OriBranchOpt,3,OriSanitize=x',
    ]) {
      const { plan } = await planWith({ set: [`NamedPhases=${value}`] });
      const on = plan!.phases.filter((p) => p.disabled === null);
      expect(on.filter((p) => !p.required).map((p) => p.id)).toEqual(['OriSanitize', 'OriBranchOpt']);
      expect(on.filter((p) => p.required).length).toBe(8);
    }
    for (const value of [',+', '+', '3', ' , '])
      expect(await saysOf({ set: [`NamedPhases=${value}`] })).toMatch(
        /^error: knob NamedPhases: '[^']*' names no phase\n.*NamedPhases=OriBranchOpt\+GvnCse.*$/,
      );
    expect(await saysOf({ set: ['NamedPhases=OriBranchOpts'] })).toMatchInlineSnapshot(`
      "error: knob NamedPhases: there is no phase 'OriBranchOpts'
        did you mean 'OriBranchOpt'?"
    `);
  });

  it('a recipe enables a phase at every level, and brings back what the order dropped', async () => {
    const text = recipe('phases: { enable: [OriBranchOpt] }');
    expect((await phase('OriBranchOpt', { level: 1 })).gate.levels).toEqual([2, 3, 4, 5]);
    const p = await phase('OriBranchOpt', { level: 1, recipes: ['mine'] }, text);
    expect([p.gate.levels, p.gate.asksLevel, p.gate.unset]).toEqual([
      null,
      false,
      ['DisableMergeEquivalentConditionalFlow'],
    ]);
    const drop = specOf('o.yaml', 'kind: order\nextends: seed\nedits: [{ drop: OriBranchOpt }]\n');
    const specs = {
      ...shipped,
      orders: new Map([...shipped.orders, ['o', drop]]),
      recipes: new Map([['mine', specOf('r.yaml', text)]]),
    };
    const off = (recipe: string | null) =>
      resolve(specs, { ...plain, order: 'o', recipes: recipe === null ? [] : [recipe] }, passNames).plan!
        .phases[15].disabled?.why;
    expect([off(null), off('mine')]).toEqual(['dropped by the order', undefined]);
  });

  it('the level of a recipe holds where the request names none', async () => {
    const level = async (given: number | null, name: string | null) =>
      (await planWith({ level: given, recipes: name === null ? [] : [name] })).plan!.level;
    expect([
      await level(null, 'quick-build'),
      await level(2, 'quick-build'),
      await level(null, null),
    ]).toEqual([1, 2, 3]);
  });
});

describe('hooks', () => {
  it('a recipe fills a hook; the phase then declares what its passes may read', async () => {
    const empty = await phase('AdvancedPhaseAfterConvUnSup', {});
    const p = await phase(
      'AdvancedPhaseAfterConvUnSup',
      { recipes: ['mine'] },
      recipe(
        'hooks: { AdvancedPhaseAfterConvUnSup: [{ pass: branch-opt }, { pass: tail-merging, params: { least-tail: 3 } }] }',
      ),
    );
    expect([empty.noOp, empty.steps.length, p.noOp]).toEqual([true, 0, false]);
    expect(p.steps).toMatchObject([{ pass: 'branch-opt' }, { kind: 'pass', params: { 'least-tail': 3 } }]);
    expect(p.requires).toEqual(['control-last']);
    expect(p.destroys).toEqual(['loop-form']);
    expect(p.knobs).toContain('MergeEquivalentConditionalFlowBudget');
  });

  it('rule groups need a host that runs rules', async () => {
    const group = specOf(
      'g.yaml',
      'kind: rules\ngroup: mine\nrules:\n  - { id: a, title: a = a, match: x, rewrite: x, source: none }\n',
    );
    const r = specOf('r.yaml', recipe('hooks: { AdvancedPhaseAfterConvUnSup: [{ rules: [mine] }] }'));
    const specs = {
      ...shipped,
      rules: new Map([...shipped.rules!, ['mine', group]]),
      recipes: new Map([['r', r]]),
    };
    const request = { ...plain, recipes: ['r'] };
    const without = resolve(specs, request, passNames.passes).issues.map((i) => i.message);
    expect(without).toContain(
      "phase 'AdvancedPhaseAfterConvUnSup' runs rule group 'mine', but this host cannot run rules",
    );
    const { plan } = resolve(specs, request, passNames);
    expect(groupsOf(plan!.phases.find((p) => p.id === 'AdvancedPhaseAfterConvUnSup')!)).toEqual(['mine']);
  });
});

it('a fault of an opcode stands at its entry, whatever its name', () => {
  const isa = {
    ...shipped.isa[0],
    file: 'o.yaml',
    data: { kind: 'isa', opcodes: { 'A: B': { form: '?', props: [] } } },
  };
  const { issues } = resolve({ ...shipped, isa: [isa as SpecFile] }, plain, passNames);
  expect(issues.filter((i) => i.code === 'isa').map((i) => i.path)).toEqual([['opcodes', 'A: B']]);
});

describe('for some kernels only', () => {
  const text = recipe(
    "when: { kernel: 'gemm*' }\nhooks: { AdvancedPhaseAfterConvUnSup: [{ pass: live-dead }] }",
  );
  it('what is for some functions is in the plan of these alone', async () => {
    const set = knobSet("when: { kernel: 'gemm*' }\nknobs: { OptBudget: 1 }");
    const whole = (await planWith({ knobSets: ['mine'] }, set)).plan!;
    const valueIn = (p: Plan) => {
      const { value, when, overridden } = p.knobs.get('OptBudget')!;
      return [value, when, overridden.map((o) => o.value)];
    };
    expect(valueIn(whole)).toEqual([null, null, []]);
    expect(whole.tests.map((t) => t.text)).toEqual(['kernel gemm*']);
    expect(valueIn(whole.variant([0]))).toEqual([1, 'kernel gemm*', [null]]);
    expect(await saysOf({ recipes: ['mine'] }, text)).toBe('');
    const hook = (p: Plan) => p.phases.find((x) => x.id === 'AdvancedPhaseAfterConvUnSup')!;
    const p = (await planWith({ recipes: ['mine'] }, text)).plan!;
    expect([hook(p), hook(p.variant([0]))].map((x) => [x.noOp, x.steps.length])).toEqual([
      [true, 0],
      [false, 1],
    ]);
  });

  it('several sets for some functions hold together, the later one over the earlier', async () => {
    const one = specOf(
      'a.yaml',
      knobSet("when: { kernel: 'a*' }\nknobs: { OptBudget: 1, DisablePhases: Commoning }"),
    );
    const two = specOf('b.yaml', knobSet("when: { kernel: '*b' }\nknobs: { OptBudget: 2 }"));
    const specs = {
      ...shipped,
      knobSets: new Map([
        ['a', one],
        ['b', two],
      ]),
    };
    const { plan } = await makePlan({ ...plain, knobSets: ['a', 'b'] }, passNames, specs);
    const seen = [[], [0], [1], [0, 1]].map((x) => plan!.variant(x).knobs.get('OptBudget')!.value);
    const off = "knob DisablePhases names 'Commoning'";
    expect(plan!.phases.find((x) => x.id === 'LateOriCommoning')!.disabled).toBeNull();
    expect(plan!.variant([0]).phases.find((x) => x.id === 'LateOriCommoning')!.disabled?.why).toBe(off);
    expect(seen).toEqual([null, 1, 2, 2]);
  });
});

describe('the hash of a plan', () => {
  const hash = async (...args: Parameters<typeof planWith>) => (await planWith(...args)).plan!.hash;

  it('changes with what changes results', async () => {
    const all = await Promise.all([
      hash({}),
      hash({ level: 2 }),
      hash({ sm: 'sm_90' }),
      hash({ order: 'binary' }),
      hash({ recipes: ['inline'] }),
      hash({ knobSets: ['one-rewrite'] }),
      hash({ set: ['OptBudget=4'] }),
      hash({ disable: ['OriBranchOpt'] }),
    ]);
    expect(new Set(all).size).toBe(all.length);
  });

  it('does not change with how it was said', async () => {
    const base = await hash({ set: ['OptBudget=4'] });
    expect(await hash({ set: ['OptBudget=9', 'optbudget=0x4'] })).toBe(base);
    expect(await hash({ knobSets: ['mine'] }, knobSet('title: other\nknobs: { OptBudget: 4 }'))).toBe(base);
    expect(await hash({ set: ['OptBudget=unset'] })).toBe(await hash({}));
    const backend = shipped.backends.get('sm_80')!;
    const commented = { ...backend, data: { ...backend.data, doubts: { code: 'none' } } };
    const specs = { ...shipped, backends: new Map([...shipped.backends, ['sm_80', commented]]) };
    expect(resolve(specs, plain, passNames).plan!.hash).toBe(await hash({}));
  });

  it('changes with a default of the catalog', async () => {
    const rows = shipped.knobs.data.knobs as Record<string, object>;
    const data = { ...shipped.knobs.data, knobs: { ...rows, OptBudget: { ...rows.OptBudget, default: 4 } } };
    const specs = { ...shipped, knobs: { ...shipped.knobs, data } };
    expect(resolve(specs, plain, passNames).plan!.hash).toBe(await hash({ set: ['OptBudget=4'] }));
  });
});
