import { describe, expect, it } from 'vitest';
import * as core from '../../src/core.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { RecipeManager } from '../../src/engine/recipe-manager.ts';
import type { Program } from '../../src/ir/program.ts';
import { printProgram } from '../../src/ir/text.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { branchyPtx } from '../support/branchy.ts';
import { planOf } from '../support/recipes.ts';

const base = await planOf({});
const lowered = (ptx: string, file = 'x.ptx'): Program =>
  lowerPtx(parsePtx(ptx, file).module, { isa: base.isa, paramBase: 0x160, sm: 'sm_80' }).program;

/** Each call makes a new plan object. */
const some = (): Promise<Plan> =>
  planOf({
    r: `when: { kernel: 'k*' }
knobs: { DisableMergeEquivalentConditionalFlow: true }
phases: { disable: [OriBranchOpt] }`,
  });

const first = lowered(branchyPtx('k', 'other'), 'first.ptx');
const second = lowered(branchyPtx('k', 'third'), 'second.ptx');

/** Two kernels of the same name, one with a loop. */
const straight = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; st.global.u64 [%a], %a; ret; }`;
const loop = straight.replace('st.global', '$L: st.global').replace('ret;', 'bra $L; ret;');

describe('decisions about recipes in library mode', () => {
  it('equal functions of several programs are decided once, and everything comes out as alone', async () => {
    const recipes = new RecipeManager();
    const batch = recipes.acquire();
    const counts: unknown[] = [];
    for (const program of [first, second, first]) {
      const plan = await some();
      const journal = runPipeline(program, plan, { recipes });
      expect(printProgram(journal.last)).toBe(printProgram(runPipeline(program, plan).last));
      counts.push(journal.decisions);
    }
    expect(counts).toEqual([
      { made: 2, shared: 0 },
      { made: 1, shared: 1 },
      { made: 0, shared: 2 },
    ]);
    expect(recipes.counts).toEqual({ made: 3, shared: 3 });
    expect([recipes.size, recipes.users]).toEqual([3, 1]);
    batch.release();
    expect([recipes.size, recipes.users]).toEqual([0, 0]);
  });

  it('are held until the last user releases, and each releases once', async () => {
    const recipes = new RecipeManager();
    const [a, b] = [recipes.acquire(), recipes.acquire()];
    runPipeline(first, await some(), { recipes });
    a.release();
    a.release();
    expect([recipes.size, recipes.users]).toEqual([2, 1]);
    b.release();
    expect(recipes.size).toBe(0);
    expect(() => b.decision(base, first.functions[0], () => [])).toThrow(/after its release/);
  });

  it('a single run leaves no state, even if it fails', async () => {
    const recipes = new RecipeManager();
    const plan = await some();
    runPipeline(first, plan, { recipes });
    const failing = (): void => {
      throw new Error('stop');
    };
    expect(() => runPipeline(first, plan, { recipes, onBegin: failing })).toThrow('stop');
    expect([recipes.size, recipes.users]).toEqual([0, 0]);
  });

  it('functions of one name and different content, and plans of different recipes, are decided separately', async () => {
    const recipes = new RecipeManager();
    const batch = recipes.acquire();
    const [without, looping] = [lowered(straight), lowered(loop)];
    const level = (program: Program, plan: Plan) =>
      runPipeline(program, plan, { recipes })
        .records.map((r) => r.level)
        .at(-1);
    const loops = await planOf({ r: 'mode: 4\nlevel: 0' });
    const others = await planOf({ r: 'mode: 5\nlevel: 0' });
    const seen = [loops, others].map((p) => [without, looping].map((x) => level(x, p)));
    expect(seen).toEqual([
      [3, 0],
      [0, 3],
    ]);
    expect(recipes.counts).toEqual({ made: 4, shared: 0 });
    batch.release();
  });

  it('nothing is decided without conditions', () => {
    const recipes = new RecipeManager();
    expect(runPipeline(first, base, { recipes }).decisions).toEqual({ made: 0, shared: 0 });
    expect(recipes.counts).toEqual({ made: 0, shared: 0 });
  });

  it('orrery/core has the manager, and `optimize` takes it', async () => {
    const recipes = new core.RecipeManager();
    const batch = recipes.acquire();
    const plan = await some();
    core.optimize(first, plan, { recipes });
    expect(core.optimize(second, plan, { recipes }).decisions).toEqual({ made: 1, shared: 1 });
    batch.release();
  });
});
