import { hashText } from '../ir/hash.ts';
import type { ResolvedBackend } from './backend.ts';
import { canonical } from './canonical.ts';
import { MODE_ALL, MODE_OFF, type Tests, type When } from './conditions.ts';
import type { SpecFile } from './document.ts';
import { below, COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { knobNamed, MANAGER_KNOB } from './knobs.ts';
import { inLayer, type Layer, type LayerData, testsOfMode, testsOfWhen } from './layers.ts';
import type { PlanRequest, Specs } from './specs.ts';
import { MAX_LEVEL } from './specs.ts';

/** The recipe of which parts hold by NvOpt level alone; it comes before all others where a level is set. */
export const NVOPT_RECIPE = 'nvopt-levels';

/** Number of the warning for an NvOpt level above 5 (seed 004). */
const INVALID_NVOPT = 8000;

/** Longest chain of `extends`; a longer one is a cycle or a mistake. */
const LONGEST_CHAIN = 16;

/** What recipes a plan is made of. */
export interface RecipeStack {
  /** As they were named, in order. */
  readonly names: readonly string[];
  /** The files, weakest first: those that are extended before those that extend. */
  readonly files: readonly { readonly name: string; readonly file: SpecFile }[];
  readonly layers: readonly Layer[];
  /** NvOpt level, and who said it; null: none. */
  readonly nvopt: { readonly level: number; readonly at: Spot } | null;
}

export const NO_RECIPES: RecipeStack = { names: [], files: [], layers: [], nvopt: null };

/** The id of a recipe, as the value of knob 391 names it: a hash of what it does. */
export function recipeId(f: SpecFile): string {
  const { title: _, measured: __, ...does } = f.data;
  return `0x${hashText(canonical(does))}`;
}

/**
 * The layers of recipes: each after those that it extends, a file that several extend once. What a recipe with `when` inherits holds where
 * the `when` does. Parts for NvOpt levels are settled here. Faults go to `issues`.
 */
export function recipeStack(
  specs: Specs,
  names: readonly string[],
  request: PlanRequest,
  backend: ResolvedBackend | null,
  tests: Tests,
  issues: Issues,
): RecipeStack {
  const chains: Chain[] = [];
  for (const name of names)
    collect(specs, name, COMMAND_LINE, [], { kernel: request.kernel, tests, issues, chains });
  let nvopt: RecipeStack['nvopt'] =
    request.nvopt === undefined ? null : { level: request.nvopt, at: COMMAND_LINE };
  if (request.nvopt === undefined)
    for (const { file } of chains)
      if (file.data.nvopt !== undefined)
        nvopt = { level: Number(file.data.nvopt), at: { file, path: ['nvopt'] } };
  if (nvopt !== null && !(Number.isSafeInteger(nvopt.level) && nvopt.level >= 0)) {
    issues.error(nvopt.at, 'nvopt-level', `'${nvopt.level}' is no NvOpt level`, {
      notes: [`levels are 0 to ${MAX_LEVEL}`],
    });
    nvopt = null;
  } else if (nvopt !== null && nvopt.level > MAX_LEVEL)
    issues.warning(nvopt.at, 'nvopt-level', `${INVALID_NVOPT}: Invalid nvopt level : ${nvopt.level}.`, {
      notes: [`levels are 0 to ${MAX_LEVEL}; only what holds at all of them is applied`],
    });
  if (nvopt !== null && specs.recipes.has(NVOPT_RECIPE) && !chains.some((c) => c.name === NVOPT_RECIPE)) {
    const base: Chain[] = [];
    collect(specs, NVOPT_RECIPE, COMMAND_LINE, [], { kernel: request.kernel, tests, issues, chains: base });
    chains.unshift(...base);
  }
  const level = nvopt?.level ?? null;
  return {
    names,
    files: chains.map(({ name, file }) => ({ name, file })),
    layers: chains.flatMap((c) =>
      layersOf(c, level, request.kernel, backend, tests, (l) => checkKnobs(specs, l, issues)),
    ),
    nvopt,
  };
}

/** A recipe file, and the tests of the ones that it came by. */
interface Chain {
  readonly name: string;
  readonly file: SpecFile;
  readonly tests: readonly number[];
  /** Application mode that it, or one by which it came, names. */
  readonly mode: number | undefined;
}

interface Collecting {
  readonly kernel: string | undefined;
  readonly tests: Tests;
  readonly issues: Issues;
  readonly chains: Chain[];
}

/** Adds a recipe behind those that it extends. */
function collect(specs: Specs, name: string, from: Spot, open: readonly Chain[], cx: Collecting): void {
  const file = specs.recipes.get(name);
  if (file === undefined) {
    const known = [...specs.recipes.keys()];
    cx.issues.unknown(
      from,
      'unknown-recipe',
      `there is no recipe '${name}'`,
      name,
      known,
      `recipes are ${known.join(', ')}; a file is given by its path`,
    );
    return;
  }
  if (open.some((c) => c.file === file) || open.length >= LONGEST_CHAIN) {
    cx.issues.error(from, 'recipe-cycle', `recipe '${open[0].name}' extends itself`, {
      notes: [
        [...open.slice(open.findIndex((c) => c.file === file)).map((c) => c.file.file), file.file].join(
          ' -> ',
        ),
      ],
    });
    return;
  }
  const own = testsOfWhen(file.data.when as When | undefined, cx.kernel, cx.tests);
  if (own === null) return;
  const chain: Chain = {
    name,
    file,
    tests: [...new Set([...(open.at(-1)?.tests ?? []), ...own])],
    mode: (file.data.mode as number | undefined) ?? open.at(-1)?.mode,
  };
  extendedBy(file).forEach((up, i) => {
    const path = Array.isArray(file.data.extends) ? ['extends', i] : ['extends'];
    collect(specs, up, { file, path }, [...open, chain], cx);
  });
  const same = (c: Chain): boolean => c.file === file && c.tests.every((t) => chain.tests.includes(t));
  if (!cx.chains.some(same)) cx.chains.push(chain);
}

/** Names or paths of the recipes that a recipe extends. */
export const extendedBy = (file: SpecFile): readonly string[] => {
  const said = file.data.extends as string | readonly string[] | undefined;
  return said === undefined ? [] : typeof said === 'string' ? [said] : said;
};

/** A part of a recipe. */
interface Part extends LayerData {
  readonly when?: When;
  readonly nvopt?: readonly number[];
}

function layersOf(
  { name, file, tests: inherited, mode: named }: Chain,
  nvopt: number | null,
  kernel: string | undefined,
  backend: ResolvedBackend | null,
  tests: Tests,
  check: (layer: Layer) => void,
): Layer[] {
  const mode = named ?? backend?.recipe?.mode ?? MODE_ALL;
  if (mode === MODE_OFF) return [];
  const all = [...inherited, ...testsOfMode(mode, tests)];
  const layer = (data: LayerData, at: Spot, own: readonly number[]): Layer => ({
    source: 'recipe',
    name,
    at,
    data,
    tests: [...new Set([...all, ...own])].sort((a, b) => a - b),
  });
  const whole: Spot = { file, path: [] };
  const out = [layer(file.data as LayerData, whole, [])];
  ((file.data.parts ?? []) as readonly Part[]).forEach((part, i) => {
    if (part.nvopt !== undefined && (nvopt === null || !part.nvopt.includes(nvopt))) return;
    const own = testsOfWhen(part.when, kernel, tests);
    if (own !== null) out.push(layer(part, below(whole, 'parts', i), own));
  });
  for (const l of out) check(l);
  return out;
}

/** A recipe cannot turn on what applies it. */
function checkKnobs(specs: Specs, layer: Layer, issues: Issues): void {
  for (const key of Object.keys(layer.data.knobs ?? {}))
    if (knobNamed(specs, key) === MANAGER_KNOB)
      issues.error(
        inLayer(layer, 'knobs', key),
        'recipe-manager',
        `knob ${MANAGER_KNOB} says which recipes are applied, so no recipe can set it`,
        { key: true, notes: ['`extends` names recipes that this one starts from'] },
      );
}
