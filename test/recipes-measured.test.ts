import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { measureOptions } from '../src/cli/lab.ts';
import { measureRecipe } from '../src/lab/recipe-measure.ts';
import type { RecipeSpec } from '../src/spec/types.generated.ts';
import { hasPtxas } from './support/ptxas.ts';
import { shipped } from './support/specs.ts';

/*
 * The recipes of the targets say in figures what they do to kernels. What the simulator counts is counted again; what ptxas makes is
 * asked again where ptxas is there, in the version that the figures are from.
 */
const ptxas = hasPtxas('recipes-measured');
const version = ptxas
  ? (/V(\d+\.\d+\.\d+)/.exec(spawnSync('ptxas', ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? '')
  : '';

const TARGETS = ['sm_75', 'sm_80', 'sm_89', 'sm_90', 'sm_100', 'sm_120'];
const defaultOf = (sm: string): string =>
  ([...shipped.backends.values()].find((b) => b.data.sm === sm)!.data.recipe as { default: string }).default;

it.each(TARGETS)(
  'the default recipe of %s does to the kernels in its `measured` what it says there',
  async (sm) => {
    const name = defaultOf(sm);
    const recipe = shipped.recipes.get(name)!.data as unknown as RecipeSpec.Recipe;
    expect(recipe.sm).toEqual([sm]);
    const asked = ptxas && version === recipe.measured!.ptxas;
    const opts = measureOptions({ launches: true, ptxas: asked ? undefined : false }, shipped);
    const figures = await measureRecipe(name, shipped, opts);
    const seen = figures.filter((f) => asked || !f.metric.startsWith('ptxas.'));
    expect(seen.map((f) => [f.kernel, f.metric, f.now])).toEqual(
      seen.map((f) => [f.kernel, f.metric, f.said]),
    );
    // The gain that it is for: fewer instructions of warps, in no kernel more.
    const executed = figures.filter((f) => f.metric === 'warp-instructions');
    expect(executed.every((f) => f.said[1] <= f.said[0])).toBe(true);
    expect(Math.min(...executed.map((f) => f.said[1] / f.said[0]))).toBeLessThan(0.5);
  },
);

it('each of these targets has a default recipe of its own, and all recipes with figures are among them', () => {
  const defaults = TARGETS.map(defaultOf);
  expect(new Set(defaults).size).toBe(TARGETS.length);
  const measured = [...shipped.recipes]
    .filter(([, f]) => f.data.measured !== undefined)
    .map(([name]) => name);
  expect(measured.sort()).toEqual(defaults.sort());
});
