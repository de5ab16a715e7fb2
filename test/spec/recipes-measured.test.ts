import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { measureOptions } from '../../src/cli/lab/lab.ts';
import type { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { type KnownInput, measureRecipe } from '../../src/lab/recipe-measure.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import type { RecipeSpec } from '../../src/spec/types.generated.ts';
import { hasPtxas } from '../support/ptxas.ts';
import { shipped } from '../support/specs.ts';

/*
 * Every shipped recipe states its effect on kernels in figures. Simulator counts are measured again; ptxas figures are measured again where
 * ptxas is installed in the version that they are from.
 */
const ptxas = hasPtxas('recipes-measured');
const version = ptxas
  ? (/V(\d+\.\d+\.\d+)/.exec(spawnSync('ptxas', ['--version'], { encoding: 'utf8' }).stdout)?.[1] ?? '')
  : '';

const TARGETS = ['sm_75', 'sm_80', 'sm_89', 'sm_90', 'sm_100', 'sm_120'];
const defaultOf = (sm: string): string =>
  ([...shipped.backends.values()].find((b) => b.data.sm === sm)!.data.recipe as { default: string }).default;

/** Purpose of the other recipes: the metric that must improve, and to which fraction of its original value in some kernel. */
const GAINS: Readonly<Record<string, readonly [metric: string, part: number]>> = {
  'whole-loops': ['warp-instructions', 0.5],
  'few-registers': ['ptxas.registers', 0.95],
  inline: ['warp-instructions', 0.5],
  'nvopt-levels': ['warp-instructions', 0.5],
  'quick-build': ['phases-run', 0.65],
  'shared-layout': ['shared-bytes', 0.999],
};
const recipeOf = (name: string): RecipeSpec.Recipe =>
  shipped.recipes.get(name)!.data as unknown as RecipeSpec.Recipe;

const known = new Map<string, KnownInput>();
it.each([...shipped.recipes.keys()])(
  '%s does to the kernels in its `measured` what it says there',
  async (name) => {
    const { measured } = recipeOf(name);
    const asked = ptxas && version === measured!.ptxas;
    const opts = measureOptions({ launches: true, ptxas: asked ? undefined : false }, shipped);
    const figures = await measureRecipe(name, shipped, opts, undefined, known);
    const seen = figures.filter((f) => asked || !f.metric.startsWith('ptxas.'));
    expect(seen.map((f) => [f.kernel, f.metric, f.now])).toEqual(
      seen.map((f) => [f.kernel, f.metric, f.stated]),
    );
    // The gain that it is for, which no kernel pays for in the same metric.
    const [metric, part] = GAINS[name] ?? ['warp-instructions', 0.5];
    const gains = figures.filter((f) => f.metric === metric);
    expect(gains.every((f) => f.stated[1] <= f.stated[0])).toBe(true);
    expect(Math.min(...gains.map((f) => f.stated[1] / f.stated[0]))).toBeLessThan(part);
  },
);

it('each of the targets has a default recipe of its own, for it alone', () => {
  const defaults = TARGETS.map(defaultOf);
  expect(new Set(defaults).size).toBe(TARGETS.length);
  expect(defaults.map((name) => recipeOf(name).sm)).toEqual(TARGETS.map((sm) => [sm]));
});

it('a measurement that is another in every run is refused, and so is one that there is none of', async () => {
  const stated = async (values: object): Promise<string> => {
    const file = 'test/kernels/saxpy/saxpy.sm_80.ptx';
    const data = { kind: 'recipe', measured: { kernels: [{ file, kernel: 'saxpy', values }] } };
    const mine = { ...shipped.recipes.get('inline')!, data };
    const recipes = new Map([...shipped.recipes, ['mine', mine]]);
    const opts = measureOptions({ launches: false, ptxas: false }, shipped);
    return measureRecipe('mine', { ...shipped, recipes }, opts).then(
      () => '',
      (e: Error) => e.message,
    );
  };
  expect(await stated({ 'compile-time': [1, 1] })).toContain("metric 'compile-time' differs in every run");
  expect(await stated({ speed: [1, 1] })).toContain("there is no metric 'speed'");
  expect(await stated({ 'phases-run': [1, 1] })).toBe('');
});

it('a recipe may be a file, whose kernels are relative to it; a name that is not quite one is met with one that is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-measured-'));
  copyFileSync(join(ROOT, 'test/kernels/saxpy/saxpy.sm_80.ptx'), join(folder, 'saxpy.ptx'));
  const path = join(folder, 'mine.yaml');
  writeFileSync(
    path,
    `kind: recipe
title: mine
phases: { disable: [GeneralOptimizeMid] }
measured:
  ptxas: 13.0.88
  kernels:
    - { file: saxpy.ptx, kernel: saxpy, values: { instructions: [15, 15] } }
`,
  );
  const opts = measureOptions({ launches: false, ptxas: false }, shipped);
  const [figure] = await measureRecipe(path, shipped, opts);
  rmSync(folder, { recursive: true });
  expect(figure).toMatchObject({ kernel: 'saxpy', metric: 'instructions', now: [15, 15] });
  const failure = (name: string) =>
    measureRecipe(name, shipped, opts).catch((e: DiagnosticError) => e.diagnostics);
  expect(await failure('hoper')).toMatchObject([
    { message: "there is no recipe 'hoper'", notes: ["did you mean 'hopper'?"] },
  ]);
  expect(await failure('nowhere.yaml')).toMatchObject([{ message: 'there is no such file' }]);
});
