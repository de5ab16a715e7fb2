import type { Move } from '../lab/arms.ts';
import type { Asked } from '../lab/pair-effects.ts';
import type { Pair } from '../lab/pairs.ts';
import { servingTarget } from '../read.ts';
import type { SpecFile } from '../spec/document.ts';
import type { PlanRequest, Specs } from '../spec/specs.ts';
import type { RecipeSpec } from '../spec/types.generated.ts';
import type { Change } from './changes.ts';
import { canonical } from './data-diff.ts';
import { mainName, mainParts, type Requested, type Scope, usualTarget } from './requests.ts';
import { type Differences, withoutAdded } from './review.ts';

/** A plan of one side, with moves of phases applied to its order. */
export interface PlanOf {
  readonly of: 'base' | 'head';
  readonly request: PlanRequest;
  readonly moves: readonly Move[];
}

/** Two plans that are compared over kernels. */
export interface Comparison {
  /** Name for display: `sm_90 -O3`, `recipe X, sm_90, NvOpt 3`. */
  readonly name: string;
  /** Name of the plan whose difference it measures, as in `Change.where`; '' if there is none. */
  readonly plan: string;
  /**
   * `change`: a plan of the base against that of the head. `new`: the head's plan without a new document against the plan with it.
   * `allowed`: the head's plan against one with an order that only the head permits.
   */
  readonly kind: 'change' | 'new' | 'allowed';
  /** For the kind `allowed`: name of the removed constraint; otherwise ''. */
  readonly constraint: string;
  readonly sides: Pair<PlanOf>;
  readonly files: readonly string[];
  readonly asked: Asked;
}

/** A file of kernels, and the target for which they are compiled. */
export interface FoundKernels {
  readonly file: string;
  readonly target: string;
}

/** The available kernel files. */
export interface KernelFiles {
  readonly byTarget: ReadonlyMap<string, readonly string[]>;
  /**
   * Finds a kernel file for which a recipe states measurements; undefined: it does not exist.
   *
   * @param at index in `measured.kernels` of the recipe
   * @throws DiagnosticError if the file cannot be read, or is out of reach of the recipe
   */
  readonly find: (recipe: SpecFile, at: number) => Promise<FoundKernels | undefined>;
  /** True if kernels are measured even if they did not change. */
  readonly all: boolean;
}

/** Levels by how well they represent the others, the best first. */
const LEVELS = [3, 2, 4, 1, 5, 0];

/** The targets that have kernels, in ascending order. */
const kernelTargets = (kernels: KernelFiles): string[] =>
  [...kernels.byTarget.keys()].sort((a, b) => numberOf(a) - numberOf(b));

const numberOf = (sm: string): number => Number(sm.slice('sm_'.length));

/** The kernels to measure for a target: those of the target itself, or else those of the nearest older target. */
export function filesFor(sm: string, kernels: KernelFiles): readonly string[] {
  const serving = servingTarget(sm, kernels.byTarget.keys());
  return numberOf(serving) > numberOf(sm) ? [] : (kernels.byTarget.get(serving) ?? []);
}

/**
 * Chooses comparisons so that every change that can have an effect is measured where it has one: first each target that has kernels, at one
 * level; then plans for changes that these do not cover, including plans of documents; and orders that a removed constraint forbade.
 *
 * @param faultOf returns why a plan does not resolve; null if it does
 */
export async function comparisonsOf(
  found: Differences,
  base: Specs,
  head: Specs,
  scope: Scope,
  kernels: KernelFiles,
  faultOf: (plan: PlanOf) => Promise<string | null>,
): Promise<Chosen> {
  const cx: Choosing = { found, base, head, kernels, faultOf, out: new Map(), forbidden: new Map() };
  await chooseMains(cx, scope);
  for (const c of found.changes) if (!isMeasured(c, cx.out.values())) await cover(c, cx);
  for (const c of found.changes) if (c.acts.on === 'order') await chooseAllowed(c, scope, cx);
  return { comparisons: [...cx.out.values()], forbidden: cx.forbidden };
}

/** The chosen comparisons. */
export interface Chosen {
  readonly comparisons: readonly Comparison[];
  /** For waived constraints whose forbidden order is still illegal: the reason, by name of the constraint. */
  readonly forbidden: ReadonlyMap<string, string>;
}

interface Choosing {
  readonly found: Differences;
  readonly base: Specs;
  readonly head: Specs;
  readonly kernels: KernelFiles;
  readonly faultOf: (plan: PlanOf) => Promise<string | null>;
  /** The chosen comparisons by name. */
  readonly out: Map<string, Comparison>;
  readonly forbidden: Map<string, string>;
}

/** True if one of the comparisons measures a change. */
const isMeasured = (c: Change, comparisons: Iterable<Comparison>): boolean =>
  [...comparisons].some((x) => c.where.includes(x.plan));

/** Names of the plans that are worth measuring. */
const wantedPlans = ({ changes, differing }: Differences): ReadonlySet<string> =>
  new Set([...differing, ...changes.flatMap((c) => (c.acts.on === 'nothing' ? [] : c.where))]);

/** Adds each target that has kernels, at the most representative level. */
async function chooseMains(cx: Choosing, scope: Scope): Promise<void> {
  const wanted = wantedPlans(cx.found);
  for (const sm of scope.sm === null ? kernelTargets(cx.kernels) : [scope.sm]) {
    const level = LEVELS.find((l) => wanted.has(mainName(sm, l)));
    if (level !== undefined) await addPlan(mainName(sm, level), cx);
  }
}

/** Adds a plan that covers a change: the most representative target and level; if it affects none, the plans of all affected documents. */
async function cover(c: Change, cx: Choosing): Promise<void> {
  if (c.acts.on === 'nothing') return;
  const mains = c.where.flatMap((w) => mainParts(w) ?? []);
  const targets = kernelTargets(cx.kernels);
  const rank = (x: { readonly sm: string; readonly level: number }) =>
    LEVELS.indexOf(x.level) * 1000 + (targets.includes(x.sm) ? 0 : 500) + numberOf(x.sm);
  const best = mains
    .filter(({ sm }) => filesFor(sm, cx.kernels).length > 0)
    .sort((x, y) => rank(x) - rank(y))[0];
  if (best !== undefined) await addPlan(mainName(best.sm, best.level), cx);
  else if (mains.length === 0) for (const w of c.where) await addPlan(w, cx);
}

async function addPlan(name: string, cx: Choosing): Promise<void> {
  const requested = cx.found.requests.find((r) => r.name === name);
  if (requested === undefined) return;
  for (const [sides, kind] of sidesOf(requested, cx))
    if (requested.of?.what === 'recipe') await addRecipe(requested, sides, kind, cx);
    else {
      const { sm } = sides[0].request;
      add({ name, plan: name, kind, sides, files: filesFor(sm, cx.kernels) }, cx);
    }
}

type Sides = Pair<PlanOf>;

/** The plans to compare for a request: none if the head lacks the document; for a new one, the head's plan without it is the base. */
function sidesOf(r: Requested, { base, head, kernels }: Choosing): (readonly [Sides, Comparison['kind']])[] {
  const has = (s: Specs): boolean => {
    const { of } = r;
    if (of === null || of.what === 'default recipe') return true;
    return { order: s.orders, recipe: s.recipes, 'knob set': s.knobSets }[of.what].has(of.name);
  };
  if (!has(head)) return [];
  // Documents for all targets are measured on one that has kernels.
  const usual = usualTarget(kernelTargets(kernels));
  const forAll = r.of?.what === 'order' || r.of?.what === 'knob set';
  const request = forAll && usual !== undefined ? { ...r.request, sm: usual } : r.request;
  const plan = (of: 'base' | 'head', x: PlanRequest): PlanOf => ({ of, request: x, moves: [] });
  if (has(base)) return [[[plan('base', request), plan('head', request)], 'change']];
  const without = withoutAdded({ ...r, request }, head);
  return without === null ? [] : [[[plan('head', without), plan('head', request)], 'new']];
}

/**
 * Adds comparisons of a recipe: on the kernels for which it states measurements, for its first target and with the stated NvOpt level; and,
 * if its own settings changed or it states none, on all kernels for the target, where its `when` decides.
 */
async function addRecipe(r: Requested, sides: Sides, kind: Comparison['kind'], cx: Choosing): Promise<void> {
  const name = r.of!.name;
  const recipe = cx.head.recipes.get(name)!;
  const data = recipe.data as unknown as RecipeSpec.Recipe;
  const parts = new Map<string, { sm: string; nvopt: number | undefined; files: Set<string> }>();
  const put = (sm: string, nvopt: number | undefined, files: readonly string[]): void => {
    const key = `${sm} ${nvopt ?? ''}`;
    const part = parts.get(key) ?? { sm, nvopt, files: new Set<string>() };
    for (const f of files) part.files.add(f);
    parts.set(key, part);
  };
  for (const [i, m] of (data.measured?.kernels ?? []).entries()) {
    const found = await cx.kernels.find(recipe, i);
    if (found !== undefined) put(data.sm?.[0] ?? found.target, m.nvopt, [found.file]);
  }
  if (parts.size === 0 || settingsChanged(name, cx)) {
    const plain = [...parts.values()].find((p) => p.nvopt === undefined);
    const sm = data.sm?.[0] ?? plain?.sm ?? usualTarget(kernelTargets(cx.kernels)) ?? r.request.sm;
    put(sm, undefined, filesFor(sm, cx.kernels));
  }
  for (const { sm, nvopt, files } of parts.values()) {
    // A new recipe is compared with no recipe, and so without an NvOpt level, like the figures that it states.
    const of = (p: PlanOf, plain = false): PlanOf => ({
      ...p,
      request: { ...p.request, sm, ...(nvopt !== undefined && !plain && { nvopt }) },
    });
    const shown = `${r.name}, ${sm}${nvopt === undefined ? '' : `, NvOpt ${nvopt}`}`;
    add(
      {
        name: shown,
        plan: r.name,
        kind,
        sides: [of(sides[0], kind === 'new'), of(sides[1])],
        files: [...files],
      },
      cx,
      name,
    );
  }
}

/** True if a recipe's own settings changed. */
function settingsChanged(name: string, { base, head }: Choosing): boolean {
  const settings = (s: Specs) => {
    const { title: _, measured: __, ...does } = s.recipes.get(name)?.data ?? {};
    return canonical(does);
  };
  return settings(base) !== settings(head);
}

/** Adds a comparison for a removed constraint: the head's plan against the same with the two phases in the opposite order. */
async function chooseAllowed(c: Change, scope: Scope, cx: Choosing): Promise<void> {
  if (c.acts.on !== 'order') return;
  const sm = scope.sm ?? usualTarget(kernelTargets(cx.kernels));
  const main = cx.found.requests.find((r) => r.name === mainName(sm ?? '', scope.level ?? LEVELS[0]));
  if (sm === undefined || main === undefined) return;
  const { first, second } = c.acts;
  const side = (moves: readonly Move[]): PlanOf => ({ of: 'head', request: main.request, moves });
  // The other constraints determine which of the two can move.
  const moves: readonly Move[] = [
    { phase: second, at: 'before', anchor: first },
    { phase: first, at: 'after', anchor: second },
  ];
  for (const move of moves) {
    const sides = [side([]), side([move])] as const;
    const fault = await cx.faultOf(sides[1]);
    if (fault !== null) {
      if (!cx.forbidden.has(c.name)) cx.forbidden.set(c.name, fault);
      continue;
    }
    const files = filesFor(sm, cx.kernels);
    add(
      {
        name: `${second} before ${first}, ${sm}`,
        plan: '',
        kind: 'allowed',
        constraint: c.name,
        sides,
        files,
      },
      cx,
    );
    return;
  }
}

function add(
  c: Omit<Comparison, 'asked' | 'constraint'> & { readonly constraint?: string },
  cx: Choosing,
  recipe: string | null = null,
): void {
  if (cx.out.has(c.name) || c.files.length === 0) return;
  const acting = cx.found.changes.filter((x) => c.plan !== '' && x.where.includes(c.plan));
  const names = (on: 'rule' | 'opcode') => [
    ...new Set(acting.flatMap(({ acts }) => (acts.on === on ? [acts.name] : []))),
  ];
  const asked = {
    rules: names('rule'),
    opcodes: names('opcode'),
    recipe,
    all: cx.kernels.all && c.kind === 'change',
  };
  cx.out.set(c.name, { constraint: '', ...c, asked });
}
