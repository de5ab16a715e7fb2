import { describe, expect, it } from 'vitest';
import { FunctionPlans } from '../../src/engine/function-plans.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { recipesFor } from '../../src/engine/reads.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import type { Program } from '../../src/ir/program.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { branchyPtx } from '../support/branchy.ts';
import { made, planOf, says, withRecipes } from '../support/recipes.ts';
import { saysOf, specOf } from '../support/specs.ts';

/*
 * Recipes and knob sets for some functions only: what they cannot express, how several of them combine, and what many of them cost.
 */

const { isa } = await planOf({});
const programOf = (...names: string[]): Program =>
  lowerPtx(parsePtx(branchyPtx(...names), 'x.ptx').module, { isa, paramBase: 0x160, sm: 'sm_80' }).program;

const limit = 'UnrollFullInstLimit';
const knob = (p: Plan, name = limit) => p.knobs.get(name)!.value;

describe('what is for all functions cannot be said of some', () => {
  it('an order, of which a level would give them another', async () => {
    const specs = withRecipes({ r: "when: { kernel: 'k*' }\nlevel: 2" });
    const text =
      'kind: order\nextends: binary\nedits:\n  - { move: LateOriCommoning, after: GvnCse, levels: [2] }\n';
    const orders = new Map([...specs.orders, ['mine', specOf('mine.yaml', text)]]);
    const { plan, diagnostics } = await made({}, { recipes: ['r'], order: 'mine' }, { ...specs, orders });
    expect(plan === null).toBe(true);
    const [fault] = diagnostics.filter((d) => d.severity === 'error');
    expect([fault.code, fault.file, fault.line, fault.message]).toEqual([
      'level-of-some',
      'r.yaml',
      3,
      expect.stringMatching(/^these functions would have 'LateOriCommoning' at position \d+ of the order/),
    ]);
    expect(fault.notes!.join('\n')).toContain('the edit: mine.yaml:4');
    // What runs at some levels stands in the order at all of them.
    const inserted = text.replace('move: LateOriCommoning', 'insertPass: live-dead');
    const same = new Map([...specs.orders, ['mine', specOf('mine.yaml', inserted)]]);
    const some = await made({}, { recipes: ['r'], order: 'mine' }, { ...specs, orders: same });
    expect(some.plan!.variant([0]).phases.length).toBe(some.plan!.phases.length);
  });

  it('an NvOpt level, by a `when` or by a mode', async () => {
    expect(await says({ r: "when: { kernel: 'k*' }\nnvopt: 4" })).toMatchInlineSnapshot(`
      "error: an NvOpt level is for all functions, but this recipe is for some
        --> r.yaml:3:1
          3 | nvopt: 4
            | ^^^^^
        it is applied to kernel k*
        leave \`nvopt\` to a recipe for all functions, or to --nvopt"
    `);
    for (const nvopt of [undefined, 3])
      expect(await says({ r: 'mode: 2\nnvopt: 4' }, { nvopt })).toContain('it is applied to mode 2, kernels');
    const inherited = { up: 'nvopt: 4', r: "extends: up\nwhen: { kernel: 'k*' }" };
    expect(await says(inherited, { recipes: ['r'] })).toContain('--> up.yaml:2:1');
    // A recipe that is applied to nothing says nothing.
    expect((await planOf({ r: 'mode: 0\nnvopt: 4' })).nvopt).toBeNull();
    expect((await planOf({ r: 'mode: 1\nnvopt: 4' })).nvopt).toBe(4);
  });

  it('which recipes are applied', async () => {
    const set = "kind: knob-set\nwhen: { kernel: 'k*' }\nknobs: { NvOptRecipe: 1 }\n";
    expect(await saysOf({ knobSets: ['mine'] }, set)).toMatchInlineSnapshot(`
      "error: knob Knob391 says which recipes are applied, so neither a \`when\` nor a WHEN record can set it
        --> mine.yaml:3:10
          3 | knobs: { NvOptRecipe: 1 }
            |          ^^^^^^^^^^^
        --set Knob391=VALUE sets it for all functions; a \`when\` in a recipe says which it is for"
    `);
    for (const text of ['WHEN=K=NvOptRecipe=1', 'WHEN=SH=0123456789abcdef0123456789abcdef;Knob391=1'])
      expect(await says({}, { set: [text] })).toContain('neither a `when` nor a WHEN record can set it');
  });

  it('a `when` for the functions that no `when` is for', async () => {
    const part = "parts:\n  - when: { kernel: 'k*' }\n    level: 1";
    expect(await says({ r: `mode: 7\n${part}` })).toMatchInlineSnapshot(`
      "error: a \`when\` and mode 7 exclude each other
        --> r.yaml:4:5
          4 |   - when: { kernel: 'k*' }
            |     ^^^^
        mode 7 is for functions for which no \`when\` holds"
    `);
    expect(await says({ r: "mode: 7\nwhen: { kernel: 'k*' }" })).toContain('--> r.yaml:3:1');
    const inherited = { up: 'mode: 7\nlevel: 1', r: "extends: up\nwhen: { kernel: 'k*' }" };
    expect(await says(inherited, { recipes: ['r'] })).toContain('--> up.yaml:2:1');
    expect(await says({ r: 'mode: 7\nlevel: 1', other: part })).toBe('');
  });
});

describe('recipes that are reached in several ways', () => {
  it('for other functions by each: applied to all of these', async () => {
    const specs = withRecipes({
      up: `knobs: { ${limit}: 7 }`,
      kernels: 'extends: up\nmode: 2',
      devices: 'extends: up\nmode: 3',
    });
    const p = await planOf({}, { recipes: ['kernels', 'devices'] }, specs);
    expect(p.recipes.map((r) => [r.name, ...r.tests.map((t) => p.tests[t].mode)])).toEqual([
      ['up', 2],
      ['kernels', 2],
      ['up', 3],
      ['devices', 3],
    ]);
    expect([[], [0], [1]].map((held) => knob(p.variant(held)))).toEqual([200, 7, 7]);
  });

  it('by twice as many with every step: once, and soon', async () => {
    const texts: Record<string, string> = { s30: `knobs: { ${limit}: 7 }` };
    for (let i = 29; i >= 0; i--) {
      texts[`a${i}`] = texts[`b${i}`] = `extends: s${i + 1}`;
      texts[`s${i}`] = `extends: [a${i}, b${i}]`;
    }
    const p = await planOf({}, { recipes: ['s0'] }, withRecipes(texts));
    expect([p.recipes.length, knob(p)]).toEqual([91, 7]);
    // Under another condition by each way they are as many as the ways.
    for (let i = 0; i < 30; i++) texts[`a${i}`] += `\nwhen: { kernel: '*${i}' }`;
    for (let i = 0; i < 30; i++) texts[`b${i}`] += `\nwhen: { kernel: '${i}*' }`;
    expect(await says({}, { recipes: ['s0'] }, withRecipes(texts))).toContain('more than 1000 recipes');
  });

  it('through as many others as one likes', async () => {
    const texts: Record<string, string> = { r99: `knobs: { ${limit}: 7 }` };
    for (let i = 0; i < 99; i++) texts[`r${i}`] = `extends: r${i + 1}`;
    expect(knob(await planOf({}, { recipes: ['r0'] }, withRecipes(texts)))).toBe(7);
  });
});

describe('several that hold together', () => {
  const hook = 'AdvancedPhaseAfterConvUnSup';
  /** Patterns that one name may match all of. */
  const when = (letter: string) => `when: { kernel: '*${letter}*' }`;

  it('plans in which other ones win have other hashes', async () => {
    // What the first three say together wins over `u` or not; alone none of them says anything.
    const texts = {
      a: `${when('a')}\nknobs: { ${limit}: 5 }`,
      b: `${when('b')}\nextends: a`,
      c: `${when('c')}\nextends: b`,
      u: `knobs: { ${limit}: 3 }`,
      last: `${when('d')}\nknobs: { ${limit}: 9 }`,
    };
    const specs = withRecipes(texts);
    const [p, q] = await Promise.all(
      [
        ['c', 'u', 'last'],
        ['u', 'c', 'last'],
      ].map((recipes) => planOf({}, { recipes }, specs)),
    );
    const all = (x: Plan) =>
      x.variant(['a', 'b', 'c'].map((l) => x.tests.findIndex((t) => t.text === `kernel *${l}*`)).sort());
    expect([knob(all(p)), knob(all(q))]).toEqual([3, 5]);
    expect(p.hash).not.toBe(q.hash);
  });

  it('an illegal plan of some functions is reported with the path in the recipe, before anything runs', async () => {
    const letters = [...'abcdefghi'];
    const texts: Record<string, string> = { off: `phases: { disable: [${hook}] }` };
    for (const l of letters) texts[l] = when(l);
    texts.a += `\nhooks: { ${hook}: [{ pass: gvn-cse }] }`;
    texts.b += `\nphases: { enable: [${hook}] }`;
    // With all of them it is legal, as it is with each alone.
    texts.i += `\nphases: { disable: [${hook}] }`;
    const plan = await planOf(texts);
    expect(new FunctionPlans(plan, programOf('a', 'b', 'abcdefghi')).of('b').phases.length).toBeGreaterThan(
      0,
    );
    let said: unknown;
    try {
      runPipeline(programOf('a', 'ab'), plan, { onBegin: () => expect.unreachable('a phase has run') });
    } catch (e) {
      said = e;
    }
    expect(said).toBeInstanceOf(DiagnosticError);
    const [fault] = (said as DiagnosticError).diagnostics;
    expect([fault.file, fault.message, fault.notes]).toEqual([
      'a.yaml',
      expect.stringContaining(`phase '${hook}' (position 7) needs the IR property 'ssa'`),
      expect.arrayContaining([`at hooks.${hook}`, 'for functions of: kernel *a*, kernel *b*']),
    ]);
  });

  it('where phase 1 is off for some, none is applied to them, and that is said', async () => {
    const texts = {
      r: `knobs: { ${limit}: 3 }\nparts:\n  - ${when('k')}\n    phases: { disable: [ApplyNvOptRecipes] }`,
    };
    expect(await says(texts)).toMatchInlineSnapshot(`
      "warning: no recipe is applied to some functions (kernel *k*): phase ApplyNvOptRecipes does not run: disabled by recipe 'r'
        --> r.yaml:5:25
          5 |     phases: { disable: [ApplyNvOptRecipes] }
            |                         ^^^^^^^^^^^^^^^^^"
    `);
    const p = await planOf(texts);
    const plans = new FunctionPlans(p, programOf('k', 'other'));
    expect(
      ['k', 'other'].map((f) => [plans.knob(limit, f), recipesFor(plans, f).map((r) => r.holds)]),
    ).toEqual([
      [200, [false, false]],
      [3, [true, false]],
    ]);
  });
});

it('many for some functions share what they do not change, so that each costs little', async () => {
  const names = Array.from({ length: 200 }, (_, i) => `k${i}`);
  const texts = Object.fromEntries(
    names.map((n, i) => [n, `when: { kernel: '${n}' }\nknobs: { ${limit}: ${i} }`]),
  );
  const p = await planOf(texts);
  const program = programOf(...names);
  const plans = new FunctionPlans(p, program);
  expect(names.map((n) => plans.knob(limit, n))).toEqual(names.map((_, i) => i));
  expect(new Set(names.map((n) => plans.of(n).phases)).size).toBe(1);
  expect(p.phases.map((_, at) => plans.groups(at, program).length)).toEqual(p.phases.map(() => 1));
});
