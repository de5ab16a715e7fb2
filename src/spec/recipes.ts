import { hashText } from '../ir/hash.ts';
import { memo } from '../ir/memo.ts';
import type { ResolvedBackend } from './backend.ts';
import { canonical } from './canonical.ts';
import { isWhen, MODE_ALL, MODE_OFF, MODE_REST, type Tests, type When } from './conditions.ts';
import type { SpecFile } from './document.ts';
import { below, COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { refuseManagerKnob } from './knobs.ts';
import { type Layer, type LayerData, testsOfMode, testsOfWhen } from './layers.ts';
import type { PlanRequest, Specs } from './specs.ts';
import { MAX_LEVEL } from './specs.ts';
import { targetHint, targetsOf } from './targets.ts';

/** The recipe whose parts are selected by NvOpt level alone; if a level is set, it comes before all others. */
export const NVOPT_RECIPE = 'nvopt-levels';

/** Number of the warning for an NvOpt level above 5 (seed 004). */
const INVALID_NVOPT = 8000;

/**
 * Maximum number of recipes of a request. A recipe that is reached for several kinds of functions counts several times: in a chain where
 * each recipe extends the next in two ways, the number doubles with every step.
 */
const MOST_RECIPES = 1000;

/** The recipes of a plan. */
export interface RecipeStack {
  /** The names as requested, in order. */
  readonly names: readonly string[];
  /** The files, weakest first: extended recipes come before those that extend them. */
  readonly files: readonly { readonly name: string; readonly file: SpecFile }[];
  readonly layers: readonly Layer[];
  /** NvOpt level, and where it is set; null: none. */
  readonly nvopt: { readonly level: number; readonly at: Spot } | null;
}

/** The stack of a plan without recipes. */
export const NO_RECIPES: RecipeStack = { names: [], files: [], layers: [], nvopt: null };

/**
 * The id of a recipe as a value of knob 391: `0x` and 64 bits (the width of the knob) of a hash of its contents, without title and
 * measurements.
 */
export const recipeId = memo((f: SpecFile): string => {
  const { title: _, measured: __, ...does } = f.data;
  return `0x${hashText(canonical(does)).slice(0, 16)}`;
});

/**
 * The layers of recipes. Each recipe comes after those that it extends, and a file that several recipes extend for the same functions
 * occurs once. A recipe's `when` also restricts what it extends. Parts for other NvOpt levels or targets are dropped. Faults go to
 * `issues`.
 */
export function recipeStack(
  specs: Specs,
  { names, at }: { readonly names: readonly string[]; readonly at: Spot },
  request: PlanRequest,
  backend: ResolvedBackend | null,
  tests: Tests,
  issues: Issues,
): RecipeStack {
  const mode = backend?.recipe?.mode ?? MODE_ALL;
  const collected = (list: readonly string[]): Chain[] => {
    const cx: Collecting = { specs, mode, tests, issues, chains: [], reached: 0 };
    for (const name of list) collect(name, at, null, cx);
    return cx.chains;
  };
  let chains = collected(names);
  let nvopt: RecipeStack['nvopt'] =
    request.nvopt === undefined ? null : { level: request.nvopt, at: COMMAND_LINE };
  for (const chain of chains) {
    const { data } = chain.file;
    if (data.nvopt === undefined || chain.mode === MODE_OFF) continue;
    const at = { file: chain.file, path: ['nvopt'] };
    if (isForSome(chain)) {
      issues.error(at, 'nvopt-of-some', 'an NvOpt level is for all functions, but this recipe is for some', {
        key: true,
        notes: [
          `it is applied to ${whoseText(chain, tests)}`,
          'leave `nvopt` to a recipe for all functions, or to --nvopt',
        ],
      });
    } else if (request.nvopt === undefined) nvopt = { level: Number(data.nvopt), at };
  }
  if (nvopt !== null && !(Number.isSafeInteger(nvopt.level) && nvopt.level >= 0)) {
    issues.error(nvopt.at, 'nvopt-level', `'${nvopt.level}' is not an NvOpt level`, {
      notes: [`levels are 0 to ${MAX_LEVEL}`],
    });
    nvopt = null;
  } else if (nvopt !== null && nvopt.level > MAX_LEVEL)
    issues.warning(nvopt.at, 'nvopt-level', `${INVALID_NVOPT}: Invalid nvopt level : ${nvopt.level}.`, {
      notes: [`levels are 0 to ${MAX_LEVEL}; only settings for all levels are applied`],
    });
  if (nvopt !== null && specs.recipes.has(NVOPT_RECIPE) && !chains.some((c) => c.name === NVOPT_RECIPE))
    chains = [...collected([NVOPT_RECIPE]), ...chains];
  const level = nvopt?.level ?? null;
  return {
    names,
    files: chains.map(({ name, file }) => ({ name, file })),
    layers: chains.flatMap((c) => layersOf(c, { nvopt: level, sm: request.sm }, specs, tests, issues)),
    nvopt,
  };
}

/** A recipe file as reached by one path of `extends`. */
interface Chain {
  readonly name: string;
  readonly file: SpecFile;
  /** Tests of its own `when` and of those of the recipes through which it was reached. */
  readonly tests: readonly number[];
  /** Application mode: its own, or else that of a recipe through which it was reached, or that of the back end. */
  readonly mode: number;
  /** The recipe that extends it on this path; null: it was requested. */
  readonly by: Chain | null;
}

interface Collecting {
  readonly specs: Specs;
  /** Application mode of recipes that state none. */
  readonly mode: number;
  readonly tests: Tests;
  readonly issues: Issues;
  readonly chains: Chain[];
  /** Number of recipes reached so far. */
  reached: number;
}

const isForSome = (c: Chain): boolean => c.tests.length > 0 || c.mode !== MODE_ALL;

/** The functions that a recipe applies to, as text. */
const whoseText = (c: Chain, tests: Tests): string =>
  [...c.tests, ...testsOfMode(c.mode, tests)].map((t) => tests.list[t].text).join(', ');

/** Appends a recipe after those that it extends, unless the list already has it for a superset of its functions. */
function collect(name: string, from: Spot, by: Chain | null, cx: Collecting): void {
  const { specs, issues } = cx;
  const file = specs.recipes.get(name);
  if (file === undefined) {
    const known = [...specs.recipes.keys()];
    issues.unknown(
      from,
      'unknown-recipe',
      `there is no recipe '${name}'`,
      name,
      known,
      `recipes are ${known.join(', ')}; a file is given by its path`,
    );
    return;
  }
  const cycle: string[] = [file.file];
  for (let c = by; c !== null; c = c.by) {
    cycle.unshift(c.file.file);
    if (c.file !== file) continue;
    issues.error(from, 'recipe-cycle', `recipe '${name}' extends itself`, { notes: [cycle.join(' -> ')] });
    return;
  }
  const chain: Chain = {
    name,
    file,
    tests: [...new Set([...(by?.tests ?? []), ...testsOfWhen(file.data.when as When | undefined, cx.tests)])],
    mode: (file.data.mode as number | undefined) ?? by?.mode ?? cx.mode,
    by,
  };
  const covers = (c: Chain): boolean =>
    c.file === file && c.mode === chain.mode && c.tests.every((t) => chain.tests.includes(t));
  if (cx.chains.some(covers)) return;
  cx.reached++;
  if (cx.reached > MOST_RECIPES) {
    if (cx.reached === MOST_RECIPES + 1)
      issues.error(from, 'recipe-many', `there are more than ${MOST_RECIPES} recipes in a request`, {
        notes: ['one that is extended for several kinds of functions counts once for each'],
      });
    return;
  }
  extendedBy(file).forEach((up, i) => {
    const path = Array.isArray(file.data.extends) ? ['extends', i] : ['extends'];
    collect(up, { file, path }, chain, cx);
  });
  cx.chains.push(chain);
}

/** Names or paths of the recipes that a recipe extends. */
export const extendedBy = (file: SpecFile): readonly string[] => {
  const stated = file.data.extends as string | readonly string[] | undefined;
  return stated === undefined ? [] : typeof stated === 'string' ? [stated] : stated;
};

/** A part of a recipe. */
interface Part extends LayerData {
  readonly when?: When;
  /** Targets that it applies to; absent: all. */
  readonly sm?: readonly string[];
  readonly nvopt?: readonly number[];
}

/** Reports targets of a part that have no back end. */
function checkTargets({ sm = [] }: Part, at: Spot, specs: Specs, issues: Issues): void {
  const known = targetsOf(specs);
  sm.forEach((name, i) => {
    if (!known.includes(name))
      issues.error(below(at, 'sm', i), 'unknown-target', `there is no back end for '${name}'`, {
        notes: [targetHint(name, known)],
      });
  });
}

function layersOf(
  { name, file, tests: inherited, mode }: Chain,
  { nvopt, sm }: { readonly nvopt: number | null; readonly sm: string },
  specs: Specs,
  tests: Tests,
  issues: Issues,
): Layer[] {
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
  /** Reports a layer with mode 7 and a `when`, which exclude each other. */
  const checkRest = (l: Layer, at: Spot | null): void => {
    const asked = l.tests.map((t) => tests.list[t]);
    if (at !== null && asked.some((t) => t.mode === MODE_REST) && asked.some(isWhen))
      issues.error(at, 'when-of-rest', `a \`when\` and mode ${MODE_REST} exclude each other`, {
        key: true,
        notes: [`mode ${MODE_REST} is for functions for which no \`when\` holds`],
      });
  };
  const out = [layer(file.data as LayerData, whole, [])];
  const own = ['when', 'mode'].find((key) => file.data[key] !== undefined);
  // If the file has neither key, the recipe that extends it has both and is reported itself.
  checkRest(out[0], own === undefined ? null : below(whole, own));
  ((file.data.parts ?? []) as readonly Part[]).forEach((part, i) => {
    checkTargets(part, below(whole, 'parts', i), specs, issues);
    if (part.sm?.includes(sm) === false) return;
    if (part.nvopt !== undefined && (nvopt === null || !part.nvopt.includes(nvopt))) return;
    const l = layer(part, below(whole, 'parts', i), testsOfWhen(part.when, tests));
    if (part.when !== undefined) checkRest(l, below(l.at, 'when'));
    out.push(l);
  });
  for (const l of out) refuseManagerKnob(specs, l, issues);
  return out;
}
