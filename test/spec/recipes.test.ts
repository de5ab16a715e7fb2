import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { functionHash } from '../../src/engine/content.ts';
import { FunctionPlans } from '../../src/engine/function-plans.ts';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { printFn, printProgram } from '../../src/ir/text.ts';
import { PASS_PARAMS } from '../../src/passes/params.ts';
import { passes } from '../../src/passes/registry.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { makePlan } from '../../src/spec/node.ts';
import { checkFile } from '../../src/spec/node-check.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { recipeId } from '../../src/spec/recipes.ts';
import type { Specs } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { binary, made, planOf, says, withRecipes } from '../support/recipes.ts';
import { passNames, shipped, specOf, testFolder } from '../support/specs.ts';

const folder = testFolder();

const base = await planOf({});
const lowered = (ptx: string): Program =>
  lowerPtx(parsePtx(ptx, 'x.ptx').module, { isa: base.isa, paramBase: 0x160, sm: 'sm_80' }).program;
/** The same kernel twice. */
const twice = lowered(branchyPtx('k', 'other'));
const kernelText = (name: string) =>
  readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');

/** Text of each function after a plan. */
const after = (p: Plan, program = twice) =>
  new Map(runPipeline(program, p, { verify: true }).last.functions.map((f) => [f.name, printFn(f)]));

const hook = (p: Plan, id: string) => p.phases.find((x) => x.id === id)!;
const knob = (p: Plan, name: string) => p.knobs.get(name)!.value;

describe('what a recipe says for some functions', () => {
  // Each changes what comes of the kernel, so that it shows where it holds.
  const parts: Readonly<Record<string, string>> = {
    hooks: 'hooks: { AdvancedPhaseBeforeConvUnSup: [{ rules: [wide-mad] }] }',
    disable: 'phases: { disable: [OriBranchOpt, MergeEquivalentConditionalFlow] }',
    enable: 'level: 1\nphases: { enable: [GvnCse, OriDoPredication] }',
    level: 'level: 0',
    knobs: 'knobs: { DisableMergeEquivalentConditionalFlow: true, DisablePhases: Predication }',
  };

  for (const [what, text] of Object.entries(parts))
    it(`${what}: each function comes out as where it holds for all, or for none`, async () => {
      const program = what === 'hooks' ? lowered(indexed('k', 'other')) : twice;
      // Without the phase that runs the same rules for every function.
      const rest: Record<string, string> =
        what === 'hooks' ? { rest: 'phases: { disable: [LateArchOptimizeSecond] }' } : {};
      const of = async (r: string): Promise<Plan> => planOf({ ...rest, r });
      const off = after(what === 'hooks' ? await planOf(rest) : base, program);
      const on = after(await of(text), program);
      expect(on.get('other')).not.toBe(off.get('other'));
      const some = after(await of(`${text}\nwhen: { kernel: 'oth*' }`), program);
      expect([some.get('k'), some.get('other')]).toEqual([off.get('k'), on.get('other')]);
      const none = after(await of(`${text}\nwhen: { kernel: 'x*' }`), program);
      expect(none).toEqual(off);
      const kernel = program.functions.find((f) => f.name === 'k')!;
      // Both functions are the same but for their names, and so have one hash.
      const all = after(await of(`${text}\nwhen: { hash: [${functionHash(kernel)}] }`), program);
      expect(all).toEqual(on);
    });

  it('a cache gives every function what its own plan makes of it', async () => {
    const cache = new MemoryCache();
    const text = (p: Plan) => printProgram(runPipeline(twice, p, { cache, inputKey: 'twice' }).last);
    const plans = await Promise.all(
      ['k', 'other', '*', 'none'].map((name) =>
        planOf({
          r: `${parts.disable}\nhooks: { AdvancedPhaseBackPropVReg: [{ pass: back-copy-propagation }] }\nwhen: { kernel: '${name}' }`,
        }),
      ),
    );
    for (const p of [...plans, ...plans]) expect(text(p)).toBe(printProgram(runPipeline(twice, p).last));
    expect(new Set(plans.map((p) => p.hash)).size).toBe(4);
  });

  it('parts, several at once: the later one wins where both hold', async () => {
    const text = `parts:
  - when: { kernel: 'k*' }
    knobs: { UnrollFullInstLimit: 1 }
    phases: { disable: [OriBranchOpt] }
  - when: { kernel: '*r' }
    knobs: { UnrollFullInstLimit: 2 }
    phases: { enable: [OriBranchOpt] }`;
    const p = await planOf({ r: text });
    const plans = new FunctionPlans(p, { ...twice, functions: [] });
    const seen = (fn: string) => [
      plans.knob('UnrollFullInstLimit', fn),
      hook(plans.of(fn), 'OriBranchOpt').disabled?.why ?? 'on',
    ];
    expect(['a', 'k1', 'or', 'kr'].map(seen)).toEqual([
      [200, 'on'],
      [1, "disabled by recipe 'r'"],
      [2, 'on'],
      [2, 'on'],
    ]);
  });

  it('application modes', async () => {
    const program = lowered(kernelText('device-functions'));
    const applied = async (mode: number, more = '') => {
      const p = await planOf({ r: `mode: ${mode}\nlevel: 0\n${more}` });
      const plans = new FunctionPlans(p, program);
      return program.functions.filter((f) => plans.of(f.name).level === 0).map((f) => f.name);
    };
    const names = (kind: string) => program.functions.filter((f) => f.kind === kind).map((f) => f.name);
    expect(await applied(0)).toEqual([]);
    expect(await applied(1)).toEqual(program.functions.map((f) => f.name));
    expect(await applied(2)).toEqual(names('entry'));
    expect(await applied(3)).toEqual(names('func'));
    expect(names('func').length).toBeGreaterThan(0);
    const first = program.functions[0].name;
    const rest = await planOf({ a: `when: { kernel: '${first}' }\nlevel: 1`, b: 'mode: 7\nlevel: 0' });
    const plans = new FunctionPlans(rest, program);
    expect(program.functions.map((f) => plans.of(f.name).level)).toEqual([
      1,
      ...program.functions.slice(1).map(() => 0),
    ]);
    const text = await says({ r: 'mode: 0' });
    expect(text).toBe('');
  });

  it('the back end says how a recipe is applied that names no mode', async () => {
    const program = lowered(kernelText('device-functions'));
    const sm80 = specOf(
      'sm_80.yaml',
      'kind: backend\nname: sm_80\nextends: ampere\nsm: sm_80\ncode: 28673\nrecipe: { mode: 3 }',
    );
    const applied = async (recipe: string) => {
      const specs = withRecipes({ r: recipe });
      const p = await planOf(
        {},
        { recipes: ['r'] },
        { ...specs, backends: new Map([...specs.backends, ['sm_80', sm80]]) },
      );
      const plans = new FunctionPlans(p, program);
      return program.functions.filter((f) => plans.of(f.name).level === 0).map((f) => f.kind);
    };
    expect(new Set(await applied('level: 0'))).toEqual(new Set(['func']));
    expect(new Set(await applied('mode: 2\nlevel: 0'))).toEqual(new Set(['entry']));
  });

  it('modes 4 and 5: what has a loop comes out as with the recipe, what has none as without, and the other way round', async () => {
    const program = lowered(`${branchyPtx('straight')}\n${counting('looped')}`);
    const level = async (mode: number) => after(await planOf({ r: `mode: ${mode}\nlevel: 0` }), program);
    const [none, all, loops, others] = await Promise.all([0, 1, 4, 5].map(level));
    for (const f of ['straight', 'looped']) expect(none.get(f)).not.toBe(all.get(f));
    expect([loops.get('looped'), loops.get('straight')]).toEqual([all.get('looped'), none.get('straight')]);
    expect([others.get('looped'), others.get('straight')]).toEqual([none.get('looped'), all.get('straight')]);
  });

  it('phase 1 says of each function what is applied to it', async () => {
    const p = await planOf({ r: `when: { kernel: 'k' }\n${parts.disable}` });
    const record = runPipeline(twice, p).records.find((r) => r.phase.id === 'ApplyNvOptRecipes')!;
    expect(record.outcome).toBe('ran');
    expect(record.remarks.map((m) => [m.kind, m.fn, m.message])).toEqual([
      ['passed', 'k', "recipe 'r' (kernel k) is applied"],
      ['missed', 'other', "recipe 'r' (kernel k) is not for this function"],
    ]);
    const none = runPipeline(twice, base).records.find((r) => r.phase.id === 'ApplyNvOptRecipes')!;
    expect([none.outcome, none.why]).toEqual(['skipped', 'knob Knob391 is not set']);
  });
});

/** A kernel that counts to its thread's number. */
const counting = (name: string): string => `.visible .entry ${name}(.param .u64 p) {
  .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d;
  ld.param.u64 %d, [p];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
$next:
  add.s32 %r2, %r2, 1;
  add.s32 %r3, %r2, 0;
  mul.lo.s32 %r3, %r3, 8;
  st.global.u32 [%d], %r3;
  setp.lt.u32 %p, %r2, %r1;
  @%p bra $next;
  ret;
}`;

/** Kernels that index an array, which wide-mad makes another code of. */
const indexed = (...names: string[]): string =>
  `.version 8.0\n.target sm_80\n.address_size 64\n${names
    .map(
      (n) => `.visible .entry ${n}(.param .u64 p) {
  .reg .b32 %r<4>; .reg .b64 %d<5>;
  ld.param.u64 %d1, [p];
  mov.u32 %r1, %tid.x;
  mul.wide.s32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r1;
  ret;
}`,
    )
    .join('\n')}\n`;

describe('several recipes', () => {
  const a =
    'knobs: { UnrollFullInstLimit: 1 }\nhooks: { AdvancedPhaseAfterConvUnSup: [{ pass: live-dead }] }';
  const b = 'knobs: { UnrollFullInstLimit: 2 }\nphases: { disable: [OriBranchOpt] }';

  it('combine in order, and the plan says what wins over what', async () => {
    const p = await planOf({ a, b });
    expect(p.recipe).toBe('a+b');
    expect(hook(p, 'AdvancedPhaseAfterConvUnSup').steps.length).toBe(1);
    expect(hook(p, 'OriBranchOpt').disabled?.why).toBe("disabled by recipe 'b'");
    const k = p.knobs.get('UnrollFullInstLimit')!;
    expect([k.value, k.overridden.map((o) => [o.value, o.origin.file])]).toEqual([
      2,
      [
        [200, expect.stringContaining('catalog.yaml')],
        [1, 'a.yaml'],
      ],
    ]);
    expect(knob(await planOf({ b, a }), 'UnrollFullInstLimit')).toBe(1);
  });

  it('a later one takes the place of a hook, or adds to it, and switches phases again', async () => {
    const steps = (p: Plan) =>
      hook(p, 'AdvancedPhaseAfterConvUnSup').steps.map((s) => (s.kind === 'pass' ? s.pass : s.kind));
    const fill = (list: string) => `hooks: { AdvancedPhaseAfterConvUnSup: [${list}] }`;
    expect(steps(await planOf({ a, c: fill('{ pass: branch-opt }') }))).toEqual(['branch-opt']);
    const more = await planOf({ a, c: fill('{ pass: branch-opt }, { inherited: true }') });
    expect(steps(more)).toEqual(['branch-opt', 'live-dead']);
    expect(more.settings).toMatchObject([
      { what: 'hook', origin: { file: 'c.yaml' }, overridden: [{ origin: { file: 'a.yaml' } }] },
    ]);
    const again = await planOf({ b, c: 'phases: { enable: [OriBranchOpt] }' });
    expect(hook(again, 'OriBranchOpt').disabled).toBeNull();
    expect(again.settings).toMatchObject([
      { what: 'phase', name: 'OriBranchOpt', value: 'enabled', overridden: [{ value: 'disabled' }] },
    ]);
  });

  it('extend others: each file once, the extended before the extending, conditions inherited by what is extended', async () => {
    const specs = withRecipes({
      root: 'knobs: { UnrollFullInstLimit: 1, Knob228: 1 }',
      left: 'extends: root\nknobs: { UnrollFullInstLimit: 2 }',
      right: 'extends: [root]\nknobs: { Knob228: 2 }',
      both: "extends: [left, right]\nwhen: { kernel: 'k*' }",
    });
    const p = await planOf({}, { recipes: ['both'] }, specs);
    expect(p.recipes.map((r) => r.name)).toEqual(['root', 'left', 'right', 'both']);
    expect([knob(p, 'UnrollFullInstLimit'), knob(p, 'Knob228')]).toEqual([200, null]);
    const k = p.variant([0]);
    expect([knob(k, 'UnrollFullInstLimit'), knob(k, 'Knob228')]).toEqual([2, 2]);
  });

  it('extend by paths, relative to the file that says it', async () => {
    folder.write('up.yaml', 'kind: recipe\nknobs: { UnrollFullInstLimit: 7 }\n');
    const mine = folder.write('mine.yaml', 'kind: recipe\nextends: up.yaml\n');
    const { plan } = await makePlan({ ...binary, recipes: [mine] }, passNames, shipped);
    expect(knob(plan!, 'UnrollFullInstLimit')).toBe(7);
    expect(await checkFile(mine, passNames, shipped)).toEqual([]);
  });

  it('what is wrong is said with file, line and what it conflicts with', async () => {
    expect(await says({ a: 'extends: nobdy', nobody: 'title: x' })).toMatchInlineSnapshot(`
      "error: there is no recipe 'nobdy'
        --> a.yaml:2:10
          2 | extends: nobdy
            |          ^^^^^
        did you mean 'nobody'?"
    `);
    expect(await says({ a: 'extends: b', b: 'extends: [a]' })).toMatchInlineSnapshot(`
      "error: recipe 'a' extends itself
        --> b.yaml:2:11
          2 | extends: [a]
            |           ^
        a.yaml -> b.yaml -> a.yaml"
    `);
    expect(
      await says({
        a,
        b: 'phases: { disable: [GenerateMovPhi] }',
      }),
    ).toMatchInlineSnapshot(`
      "error: phase 'GenerateMovPhi' is required and cannot be switched off (disabled by recipe 'b')
        --> b.yaml:2:21
          2 | phases: { disable: [GenerateMovPhi] }
            |                     ^^^^^^^^^^^^^^
        'OriPipelining', 'SinkRemat', 'GeneralOptimize' and 24 more need the IR property 'ssa', which it provides: each R, RD, P, UR, URD and UP register has one definition, which dominates its uses; joins are phi moves"
    `);
    expect(
      await says({
        a: "parts:\n  - when: { kernel: 'gemm*' }\n    hooks: { AdvancedPhaseAfterConvUnSup: [{ pass: gvn-cse }] }",
      }),
    ).toMatchInlineSnapshot(`
      "error: phase 'AdvancedPhaseAfterConvUnSup' (position 7) needs the IR property 'ssa', which does not hold there
        --> a.yaml:4:43
          4 |     hooks: { AdvancedPhaseAfterConvUnSup: [{ pass: gvn-cse }] }
            |                                           ^^^^^^^^^^^^^^^^^^^ each R, RD, P, UR, URD and UP register has one definition, which dominates its uses; joins are phi moves
        nothing before it provides it
        provided by GenerateMovPhi (position 26)"
    `);
    expect(await says({ a: 'knobs: { NvOptRecipe: 1 }' })).toMatchInlineSnapshot(`
      "error: knob Knob391 says which recipes are applied, so no recipe can set it
        --> a.yaml:2:10
          2 | knobs: { NvOptRecipe: 1 }
            |          ^^^^^^^^^^^
        \`extends\` names recipes that this one starts from"
    `);
    expect(
      await says({ a: 'hooks: { AdvancedPhaseAfterConvUnSup: [{ inherited: true }] }' }),
    ).toMatchInlineSnapshot(`
      "warning: there is nothing to inherit: no recipe before this one fills the hook, nor does the back end
        --> a.yaml:2:42
          2 | hooks: { AdvancedPhaseAfterConvUnSup: [{ inherited: true }] }
            |                                          ^^^^^^^^^"
    `);
  });

  it('a broken condition is reported by check too', async () => {
    const mine = folder.write(
      'some.yaml',
      "kind: recipe\nwhen: { kernel: 'gemm*' }\nhooks: { AdvancedPhaseAfterConvUnSup: [{ pass: gvn-cse }] }\n",
    );
    const said = await checkFile(mine, passNames, shipped);
    expect(said.map((d) => [d.code, d.line])).toEqual([['ir-property', 3]]);
    const two = folder.write('two.yaml', 'kind: recipe\nwhen: {}\n');
    expect((await checkFile(two, passNames, shipped)).map((d) => d.message)).toEqual(["'when' is empty"]);
  });
});

describe('parameters of passes', () => {
  const fill = (pass: string, params: string) =>
    says({ a: `hooks: { AdvancedPhaseLateConvUnSup: [{ pass: ${pass}, params: { ${params} } }] }` });

  it('that no pass reads, and values that are none, are errors', async () => {
    expect(await fill('tail-merging', 'least-tial: 1')).toMatchInlineSnapshot(`
      "error: pass 'tail-merging' has no parameter 'least-tial'
        --> a.yaml:2:71
          2 | …vancedPhaseLateConvUnSup: [{ pass: tail-merging, params: { least-tial: 1 } }] }
            |                                                             ^^^^^^^^^^
        did you mean 'least-tail' or 'least-arm'?"
    `);
    expect(await fill('tail-merging', 'least-tail: -1')).toMatch(
      /parameter 'least-tail' of pass 'tail-merging' cannot be -1: it must be a whole number of at least 0/,
    );
    expect(await fill('live-dead', 'x: 1')).toMatch(
      /pass 'live-dead' has no parameter 'x'[\s\S]*it takes none/,
    );
    expect(await fill('place-blocks', 'cold: loop')).toMatch(
      /cannot be "loop": it must be loops or function/,
    );
    expect(await fill('place-blocks', 'chains: 1')).toMatch(/it must be true or false/);
    expect(await fill('tail-merging', 'least-tail: 2')).toBe('');
  });

  it('in orders and in the table of phases too', async () => {
    const order = specOf(
      'o.yaml',
      'kind: order\nextends: binary\nedits:\n  - { insertPass: live-dead, params: { x: 1 }, after: GvnCse }',
    );
    const specs = { ...shipped, orders: new Map([...shipped.orders, ['o', order]]) };
    const said = await makePlan({ ...binary, order: 'o' }, passNames, specs);
    expect(said.diagnostics.map((d) => [d.message, d.line])).toEqual([
      ["pass 'live-dead' has no parameter 'x'", 4],
    ]);
    const data = structuredClone(shipped.phases.data) as unknown as {
      phases: { name: string; steps?: unknown }[];
    };
    data.phases.find((p) => p.name === 'GvnCse')!.steps = [
      { repeat: [{ pass: 'gvn-cse', params: { deep: true } }], rounds: 2 },
    ];
    const row = await makePlan(binary, passNames, {
      ...shipped,
      phases: { ...shipped.phases, data: data as never },
    });
    expect(row.plan).toBeNull();
    expect(row.diagnostics[0].message).toBe("pass 'gvn-cse' has no parameter 'deep'");
  });

  it('are declared where a pass reads them, and nowhere else', () => {
    const folder = fileURLToPath(new URL('../../src/passes/', import.meta.url));
    const files = new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((f) => [
        basename(f, '.ts'),
        join(folder, f),
      ]),
    );
    for (const [name, entry] of passes) {
      if ('machineCode' in entry) continue;
      const source = readFileSync(files.get(name)!, 'utf8');
      const declared = Object.keys(PASS_PARAMS[name] ?? {});
      // By name in brackets, taken apart, or by a helper that gets the name.
      const read = new Set(
        [
          ...source.matchAll(
            /params\[([^\]]*)\]|\b(?:limit|number)\('([\w-]+)'|const \{ (\w+) \} = ctx\.params|ctx\.params\.(\w+)/g,
          ),
        ].flatMap(([, key, helper, taken, member]) =>
          [...(key ?? '').matchAll(/'([\w-]+)'/g)]
            .map((m) => m[1])
            .concat(helper ?? [], taken ?? [], member ?? []),
        ),
      );
      if (/\bparams\b/.test(source)) expect([name, [...read].sort()]).toEqual([name, [...declared].sort()]);
      else expect([name, declared]).toEqual([name, []]);
    }
  });
});

describe('the recipe manager', () => {
  const r = 'knobs: { UnrollFullInstLimit: 9 }';
  const limit = async (set: string[], specs: Specs, recipes: string[] = []) =>
    (await planOf({}, { recipes, set }, specs)).knobs.get('UnrollFullInstLimit')!.value;

  it('knob 391 turns it on: 0 off, 1 the default of the back end, else the id of a recipe', async () => {
    const specs = withRecipes({ r });
    const sm80 = specOf(
      'sm_80.yaml',
      'kind: backend\nname: sm_80\nextends: ampere\nsm: sm_80\ncode: 28673\nrecipe: { default: r }',
    );
    const own = { ...specs, backends: new Map([...specs.backends, ['sm_80', sm80]]) };
    const id = recipeId(specs.recipes.get('r')!);
    expect(await limit([], own)).toBe(200);
    expect(await limit(['Knob391=1'], own)).toBe(9);
    expect(await limit(['NvOptRecipe=1'], own)).toBe(9);
    expect(await limit([`NvOptRecipe=${id}`], specs)).toBe(9);
    expect(await limit(['NvOptRecipe=0'], specs, ['r'])).toBe(200);
    expect(knob(await planOf({ r }), 'Knob391')).toBe(id);
    const bare = {
      ...specs,
      backends: new Map(
        [...specs.backends].map(([n, f]) => [n, { ...f, data: { ...f.data, recipe: undefined } }]),
      ),
    };
    const lost = specOf(
      'sm_80.yaml',
      `kind: backend\n${sm80.text.split('\n').slice(1, -1).join('\n')}\nrecipe: { default: rr }`,
    );
    const unknown = await made(
      {},
      { recipes: [], set: ['NvOptRecipe=1'] },
      { ...specs, backends: new Map([...specs.backends, ['sm_80', lost]]) },
    );
    expect(unknown.diagnostics.map((d) => [d.file, d.line, d.message])).toEqual([
      ['sm_80.yaml', 6, "there is no recipe 'rr'"],
    ]);
    const none = await makePlan({ ...binary, set: ['NvOptRecipe=1'] }, passNames, bare as Specs);
    expect(none.diagnostics.map((d) => d.message)).toEqual(["back end 'sm_80' names no default recipe"]);
    const wrong = await makePlan({ ...binary, set: ['NvOptRecipe=0x123'] }, passNames, specs);
    expect(wrong.diagnostics.map((d) => d.message)).toEqual(['knob Knob391: no recipe has the id 291']);
  });

  it('64 bits are an integer, more are none', async () => {
    const said = async (v: string) =>
      (await makePlan({ ...binary, set: [`NvOptRecipe=${v}`] }, passNames, shipped)).diagnostics.map(
        (d) => d.message,
      );
    expect(await said('0xffffffffffffffff')).toEqual([
      'knob Knob391: no recipe has the id 0xffffffffffffffff',
    ]);
    expect(await said('-1')).toEqual(['knob Knob391: no recipe has the id -1']);
    expect((await said('0x1ffffffffffffffff'))[0]).toMatch(/it has more than 64 bits/);
    expect((await said('x'))[0]).toMatch(/it must be an integer of 64 bits/);
  });

  it('64 bits that YAML would round are to be quoted', async () => {
    const id = recipeId(withRecipes({ r }).recipes.get('r')!);
    const written = (value: string) => ({
      ...withRecipes({ r }),
      knobSets: new Map([['s', specOf('s.yaml', `kind: knob-set\nknobs: { NvOptRecipe: ${value} }`)]]),
    });
    expect(BigInt(id) > 2n ** 53n).toBe(true);
    const quoted = await planOf({}, { recipes: [], knobSets: ['s'] }, written(`'${id}'`));
    expect(knob(quoted, 'UnrollFullInstLimit')).toBe(9);
    const bare = await made({}, { recipes: [], knobSets: ['s'] }, written(id));
    expect(bare.diagnostics.map((d) => [d.line, d.message])).toEqual([
      [2, expect.stringContaining('it loses digits as a number: quote it')],
    ]);
  });

  it('where phase 1 does not run, no recipe is applied', async () => {
    const { plan, diagnostics } = await made({ r }, { disable: ['ApplyNvOptRecipes'] });
    expect(knob(plan!, 'UnrollFullInstLimit')).toBe(200);
    expect(diagnostics.map((d) => d.message)).toEqual([
      'no recipe is applied (r): phase ApplyNvOptRecipes does not run: disabled on the command line',
    ]);
  });

  it('phase 1 stands before every hook', async () => {
    const order = specOf(
      'o.yaml',
      'kind: order\nextends: binary\nedits:\n  - { move: ApplyNvOptRecipes, after: AdvancedPhaseBeforeConvUnSup }',
    );
    const specs = { ...shipped, orders: new Map([...shipped.orders, ['o', order]]) };
    const { diagnostics } = await makePlan({ ...binary, order: 'o' }, passNames, specs);
    expect(diagnostics.map((d) => d.message)).toEqual([
      'AdvancedPhaseBeforeConvUnSup comes before ApplyNvOptRecipes',
    ]);
  });
});

describe('parts for some targets', () => {
  const text = `parts:
  - sm: [sm_90, sm_100]
    knobs: { UnrollFullInstLimit: 90 }
  - sm: [sm_80]
    when: { kernel: 'a*' }
    phases: { disable: [OriBranchOpt] }`;

  it('hold for these, and are left out for others', async () => {
    const at = async (sm: string) => {
      const p = await planOf({ r: text }, { sm });
      return [knob(p, 'UnrollFullInstLimit'), p.tests.map((t) => t.text)];
    };
    const [usual] = await at('sm_75');
    expect(usual).not.toBe(90);
    expect(await at('sm_90')).toEqual([90, []]);
    expect(await at('sm_100')).toEqual([90, []]);
    expect(await at('sm_80')).toEqual([usual, ['kernel a*']]);
  });

  it('are checked for each of them, and name targets that there are', async () => {
    const of = async (parts: string) =>
      (
        await checkFile(folder.write('targets.yaml', `kind: recipe\nparts:\n${parts}\n`), passNames, shipped)
      ).map((d) => [d.message, d.line, d.notes?.[0]]);
    expect(await of('  - { sm: [sm_90, sm_91], knobs: { OptBudget: 2 } }')).toEqual([
      ["there is no back end for 'sm_91'", 3, expect.stringContaining('sm_90')],
    ]);
    expect(await of('  - { sm: [sm_120], phases: { disable: [GenerateMovPhi] } }')).toEqual([
      [expect.stringContaining("phase 'GenerateMovPhi' is required"), 3, expect.anything()],
    ]);
  });
});

describe('NvOpt levels', () => {
  const text = `nvopt: 3
parts:
  - nvopt: [0, 1]
    knobs: { UnrollFullInstLimit: 1 }
  - nvopt: [3]
    knobs: { UnrollFullInstLimit: 3 }`;

  it('choose the parts that hold; the command line wins over recipes', async () => {
    const at = async (nvopt?: number) => {
      const p = await planOf({ r: text }, nvopt === undefined ? {} : { nvopt });
      return [p.nvopt, knob(p, 'UnrollFullInstLimit')];
    };
    expect(await at()).toEqual([3, 3]);
    expect(await at(0)).toEqual([0, 1]);
    expect(await at(1)).toEqual([1, 1]);
    const two = await planOf({ r: text }, { nvopt: 2 });
    expect(two.settings).toMatchObject([{ what: 'nvopt', value: 2, overridden: [{ value: 3 }] }]);
  });

  it('fill hooks', async () => {
    const filled = async (nvopt: number) =>
      hook(await planOf({}, { nvopt }), 'AdvancedPhaseBackPropVReg').steps.map((s) =>
        s.kind === 'pass' ? s.pass : s.kind,
      );
    expect(await filled(4)).toEqual([]);
    expect(await filled(5)).toEqual(['back-copy-propagation']);
  });

  it('above 5 there is warning 8000, and compilation continues', async () => {
    const { plan, diagnostics } = await made({ r: 'nvopt: 6\nknobs: { UnrollFullInstLimit: 4 }' });
    expect(knob(plan!, 'UnrollFullInstLimit')).toBe(4);
    expect(diagnostics.map((d) => [d.severity, d.message])).toEqual([
      ['warning', '8000: Invalid nvopt level : 6.'],
    ]);
    expect((await made({}, { nvopt: 7 })).diagnostics[0].message).toBe('8000: Invalid nvopt level : 7.');
    expect((await made({}, { nvopt: 1.5 })).plan).toBeNull();
  });
});

describe('kinds of hooks', () => {
  it('A: the worker runs in the place of the hook where the order does not list it', async () => {
    const data = structuredClone(shipped.phases.data) as {
      phases: { name: string; steps?: unknown; requires?: unknown }[];
    };
    const worker = data.phases.find((p) => p.name === 'ScheduleInstructions')!;
    worker.steps = [{ pass: 'live-dead' }];
    worker.requires = [];
    const specs = { ...shipped, phases: { ...shipped.phases, data: data as never } };
    const names = (p: Plan, id: string) =>
      hook(p, id).steps.map((s) => (s.kind === 'pass' ? s.pass : s.kind));
    const seed = await planOf({}, { order: 'seed' }, specs);
    expect([names(seed, 'AdvancedPhasePreSched'), hook(seed, 'AdvancedPhasePreSched').noOp]).toEqual([
      ['live-dead'],
      false,
    ]);
    const listed = await planOf({}, {}, specs);
    expect([names(listed, 'AdvancedPhasePreSched'), names(listed, 'ScheduleInstructions')]).toEqual([
      [],
      ['live-dead'],
    ]);
  });

  it('B: the slot of a back end runs, unless a recipe takes its place', async () => {
    const backend = (hooks: string) =>
      specOf(
        'sm_80.yaml',
        `kind: backend\nname: sm_80\nextends: ampere\nsm: sm_80\ncode: 28673\nhooks: { ${hooks} }`,
      );
    const specs = (hooks: string): Specs => ({
      ...withRecipes({
        r: 'hooks: { AdvancedPhaseBackPropVReg: [{ pass: live-dead }, { inherited: true }] }',
      }),
      backends: new Map([...shipped.backends, ['sm_80', backend(hooks)]]),
    });
    const slot = 'AdvancedPhaseBackPropVReg: [{ pass: back-copy-propagation }]';
    const steps = async (recipes: string[]) =>
      hook(await planOf({}, { recipes }, specs(slot)), 'AdvancedPhaseBackPropVReg').steps.map((s) =>
        s.kind === 'pass' ? s.pass : s.kind,
      );
    expect(await steps([])).toEqual(['back-copy-propagation']);
    expect(await steps(['r'])).toEqual(['live-dead', 'back-copy-propagation']);
    const wrong = await makePlan(binary, passNames, specs('AdvancedPhasePreSched: [{ pass: live-dead }]'));
    expect(wrong.diagnostics[0].message).toBe(
      "hook 'AdvancedPhasePreSched' is of kind A: it dispatches a worker, and calls no slot",
    );
  });

  it('C: the progress counter says how far a run has come, whether or not something runs there', async () => {
    const progress = (p: Plan, id: string) =>
      runPipeline(twice, p).records.find((r) => r.phase.id === id)!.progress;
    expect(progress(base, 'ApplyNvOptRecipes')).toBe(0);
    expect(progress(base, 'AdvancedPhaseBeforeConvUnSup')).toBe(1);
    expect(progress(base, 'SetControlFlowOpLastInBB')).toBe(1);
    expect(progress(base, 'AdvancedPhaseAfterConvUnSup')).toBe(2);
    const off = await planOf({}, { disable: ['AdvancedPhaseAfterConvUnSup'] });
    expect(progress(off, 'AdvancedPhaseAfterConvUnSup')).toBe(1);
  });
});

describe('records of the command line for functions of a hash', () => {
  const hash = functionHash(twice.functions[0]);
  it('hold for these, and win over what is set for all', async () => {
    const set = [
      `WHEN=SH=0x${hash};UnrollFullInstLimit=5~Knob228=3~K=Knob437=false`,
      'UnrollFullInstLimit=6',
    ];
    const p = await planOf({}, { set });
    const plans = new FunctionPlans(p, twice);
    const seen = (fn: string) => ['UnrollFullInstLimit', 'Knob228', 'Knob437'].map((k) => plans.knob(k, fn));
    expect(seen('k')).toEqual([5, 3, false]);
    expect(seen('unknown')).toEqual([6, null, false]);
  });

  for (const [text, message] of [
    ['WHEN=IH=12;A=1', /names the hash of an instruction/],
    ['WHEN=SH=12;UnrollFullInstLimit=1', /'12' .* is not the hash of a function/],
    [`WHEN=SH=${hash}`, /sets no knob/],
    ['WHEN=UnrollFullInstLimit=1', /names no functions/],
    [`WHEN=SH=${hash};UnrolFullInstLimit=1`, /there is no knob 'UnrolFullInstLimit'/],
  ] as const)
    it(`${text} is an error`, async () => {
      const { plan, diagnostics } = await made({}, { set: [text] });
      expect(plan).toBeNull();
      expect(diagnostics[0].message).toMatch(message);
    });
});

it('the hash of a function is that of its code, and not of its name, labels and lines', () => {
  const [k, other] = twice.functions;
  expect(functionHash(k)).toBe(functionHash(other));
  const [moved] = lowered(`// a comment\n\n${branchyPtx('q')}`).functions;
  expect(functionHash(moved)).toBe(functionHash(k));
  const changed = lowered(branchyPtx('q').replace(/add\.(s32|u32)/, 'sub.$1')).functions[0];
  expect(functionHash(changed)).not.toBe(functionHash(k));
});

it('the command line says what it cannot take, and what has no effect', () => {
  const root = new URL('../..', import.meta.url).pathname;
  const orrery = (...args: string[]) =>
    spawnSync(
      'node',
      ['bin/orrery.js', 'opt', 'test/kernels/divmod/divmod.sm_80.ptx', '--emit', 'none', ...args],
      {
        encoding: 'utf8',
        cwd: root,
      },
    );
  const wrong = orrery('--nvopt', 'x');
  expect([wrong.status, wrong.stderr]).toEqual([
    1,
    expect.stringContaining('--nvopt x is not an NvOpt level'),
  ]);
  const hash = '0123456789abcdef0123456789abcdef';
  const idle = orrery('--set', `WHEN=SH=${hash};UnrollFullInstLimit=5`);
  expect([idle.status, idle.stderr]).toEqual([
    0,
    expect.stringContaining(`no function matches hash ${hash}`),
  ]);
  const program = lowered(kernelText('divmod'));
  const there = orrery('--set', `WHEN=SH=${functionHash(program.functions[0])};UnrollFullInstLimit=5`);
  expect([there.status, there.stderr.includes('no function has')]).toEqual([0, false]);
});

it('unproved rules of a recipe cause a warning, as those of the command line do', () => {
  folder.write(
    'open.yaml',
    `kind: rules\ngroup: open-${process.pid}\nrules:\n  - { id: nothing-${process.pid}, title: x + 0 = x, match: "IADD3 $d, $x, 0, 0", rewrite: "MOV $d, $x", source: a test }\n`,
  );
  const mine = folder.write(
    'opens.yaml',
    `kind: recipe\nparts:\n  - when: { kernel: 'div*' }\n    hooks: { AdvancedPhaseAfterMidExpansion: [{ rules: [open.yaml] }] }\n`,
  );
  const root = new URL('../..', import.meta.url).pathname;
  const args = ['bin/orrery.js', 'opt', 'test/kernels/divmod/divmod.sm_80.ptx', '--emit', 'none'];
  const r = spawnSync('node', [...args, '--recipe', mine], { encoding: 'utf8', cwd: root });
  expect([r.status, r.stderr]).toEqual([
    0,
    expect.stringMatching(new RegExp(`rule 'nothing-${process.pid}' of \\S+ is not proved`)),
  ]);
});

describe('a recipe that breaks something', () => {
  it('is found by bisect: hook, function, rule and line', () => {
    const wrong = folder.write(
      'wrong.yaml',
      'kind: rules\ngroup: wrong\nrules:\n  - { id: off-by-one, title: x + 1 = x + 2, match: "IADD3 $d, $x, 1, 0", rewrite: "IADD3 $d, $x, 2, 0", source: a mistake }\n',
    );
    const mine = folder.write(
      'breaks.yaml',
      `kind: recipe\nwhen: { kernel: 'divV*' }\nhooks: { AdvancedPhaseAfterMidExpansion: [{ rules: [wrong.yaml] }] }\n`,
    );
    const root = new URL('../..', import.meta.url).pathname;
    const args = ['bisect', 'test/kernels/divmod/divmod.sm_80.ptx', '--recipe', mine, '--json'];
    const r = spawnSync('node', ['bin/orrery.js', ...args], { encoding: 'utf8', cwd: root });
    const found = JSON.parse(r.stdout);
    const { rule } = found.rewrite;
    expect([found.phase.id, found.function, { ...rule, file: resolvePath(root, rule.file) }]).toEqual([
      'AdvancedPhaseAfterMidExpansion',
      'divVariable',
      { id: 'off-by-one', title: 'x + 1 = x + 2', file: wrong, line: 4 },
    ]);
    // The command that it gives runs, though the rule is known to be wrong.
    const text = spawnSync('node', ['bin/orrery.js', ...args.slice(0, -1)], { encoding: 'utf8', cwd: root });
    const seen = /^see it: +orrery (.*)$/m.exec(text.stdout)![1].split(' ');
    expect(seen).toContain('--force-rules');
    const again = spawnSync('node', ['bin/orrery.js', ...seen], { encoding: 'utf8', cwd: root });
    expect([again.status, again.stderr]).toEqual([
      0,
      expect.stringContaining('it runs because rules are forced'),
    ]);
  });
});
