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

/** A plan of one side, in whose order phases may be moved. */
export interface PlanOf {
  readonly of: 'base' | 'head';
  readonly request: PlanRequest;
  readonly moves: readonly Move[];
}

/** Two plans that are compared over kernels. */
export interface Comparison {
  /** As it is shown: `sm_90 -O3`, `recipe X, NvOpt 3`. */
  readonly name: string;
  /** The plan whose difference it measures, as changes name it in `where`; '' if it is none. */
  readonly plan: string;
  /**
   * `change`: a plan of the base and that of the head. `new`: what only the head has, against the head without it. `allowed`: what
   * orders the head allows and the base does not.
   */
  readonly kind: 'change' | 'new' | 'allowed';
  /** Of the kind `allowed`: name of the constraint that is gone. */
  readonly constraint: string;
  readonly sides: Pair<PlanOf>;
  readonly files: readonly string[];
  readonly asked: Asked;
}

/** A file of kernels, and the target whose back end serves them. */
export interface FoundKernels {
  readonly file: string;
  readonly target: string;
}

/** Kernel files by the target whose back end serves them. */
export interface KernelFiles {
  readonly byTarget: ReadonlyMap<string, readonly string[]>;
  /**
   * The files of which recipes say what was measured, as they are found here; undefined: there is none.
   *
   * @param at which of those of the recipe
   * @throws DiagnosticError if it cannot be read, or is out of reach of the recipe
   */
  readonly find: (recipe: SpecFile, at: number) => Promise<FoundKernels | undefined>;
  /** Whether all of them are measured, changed or not. */
  readonly all: boolean;
}

/** Levels from the one that stands for all where one is enough to the one that says least of others. */
const LEVELS = [3, 2, 4, 1, 5, 0];

/** The targets that kernels are for, the oldest first. */
const kernelTargets = (kernels: KernelFiles): string[] =>
  [...kernels.byTarget.keys()].sort((a, b) => numberOf(a) - numberOf(b));

const numberOf = (sm: string): number => Number(sm.slice('sm_'.length));

/** The kernels that run on a target: those for it, or else for the nearest older one. */
export function filesFor(sm: string, kernels: KernelFiles): readonly string[] {
  const serving = servingTarget(sm, kernels.byTarget.keys());
  return numberOf(serving) > numberOf(sm) ? [] : (kernels.byTarget.get(serving) ?? []);
}

/**
 * What to measure of a difference, so that every change that can have an effect is measured where it has one: each target that there
 * are kernels for, at one level; then changes that these do not show, where they do; documents by the plans that name them; and
 * orders that are allowed from now on.
 *
 * @param faultOf why a plan does not resolve; null if it does
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

/** What is to be measured. */
export interface Chosen {
  readonly comparisons: readonly Comparison[];
  /** By the name of a constraint that is waived, what forbids still what it forbade. */
  readonly forbidden: ReadonlyMap<string, string>;
}

interface Choosing {
  readonly found: Differences;
  readonly base: Specs;
  readonly head: Specs;
  readonly kernels: KernelFiles;
  readonly faultOf: (plan: PlanOf) => Promise<string | null>;
  /** By name. */
  readonly out: Map<string, Comparison>;
  readonly forbidden: Map<string, string>;
}

/** Is a change seen by one of these comparisons? */
const isMeasured = (c: Change, comparisons: Iterable<Comparison>): boolean =>
  [...comparisons].some((x) => c.where.includes(x.plan));

/** Plans that are to be looked at. */
const wantedPlans = ({ changes, differing }: Differences): ReadonlySet<string> =>
  new Set([...differing, ...changes.flatMap((c) => (c.acts.on === 'nothing' ? [] : c.where))]);

/** Each target that kernels are for, at the level that stands for most. */
async function chooseMains(cx: Choosing, scope: Scope): Promise<void> {
  const wanted = wantedPlans(cx.found);
  for (const sm of scope.sm === null ? kernelTargets(cx.kernels) : [scope.sm]) {
    const level = LEVELS.find((l) => wanted.has(mainName(sm, l)));
    if (level !== undefined) await addPlan(mainName(sm, level), cx);
  }
}

/** Adds what shows a change: of targets and levels the nearest; if it is in none of these, every document that has it. */
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

/** The plans that are compared for a request: none if the head does not have it, and of what is new, the head's plan without it. */
function sidesOf(r: Requested, { base, head, kernels }: Choosing): (readonly [Sides, Comparison['kind']])[] {
  const has = (s: Specs): boolean => {
    const { of } = r;
    if (of === null || of.what === 'default recipe') return true;
    return { order: s.orders, recipe: s.recipes, 'knob set': s.knobSets }[of.what].has(of.name);
  };
  if (!has(head)) return [];
  // What is for all targets is measured on one that there are kernels for.
  const usual = usualTarget(kernelTargets(kernels));
  const forAll = r.of?.what === 'order' || r.of?.what === 'knob set';
  const request = forAll && usual !== undefined ? { ...r.request, sm: usual } : r.request;
  const plan = (of: 'base' | 'head', x: PlanRequest): PlanOf => ({ of, request: x, moves: [] });
  if (has(base)) return [[[plan('base', request), plan('head', request)], 'change']];
  const without = withoutAdded({ ...r, request }, head);
  return without === null ? [] : [[[plan('head', without), plan('head', request)], 'new']];
}

/**
 * A recipe on the kernels that it is for: those of which it says what was measured, each for its first target and with the NvOpt
 * level named there; and, if its own text changed, all that there are for the target, where `when` chooses.
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
  if (parts.size === 0 || doesOtherwise(name, cx)) {
    const plain = [...parts.values()].find((p) => p.nvopt === undefined);
    const sm = data.sm?.[0] ?? plain?.sm ?? usualTarget(kernelTargets(cx.kernels)) ?? r.request.sm;
    put(sm, undefined, filesFor(sm, cx.kernels));
  }
  for (const { sm, nvopt, files } of parts.values()) {
    // What is new is compared with nothing, as a recipe's own figures are.
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

/** Does a recipe's own text say something else than before? */
function doesOtherwise(name: string, { base, head }: Choosing): boolean {
  const said = (s: Specs) => {
    const { title: _, measured: __, ...does } = s.recipes.get(name)?.data ?? {};
    return canonical(does);
  };
  return said(base) !== said(head);
}

/** What orders a constraint forbade do: the head's plan, and the same with the two phases the other way round. */
async function chooseAllowed(c: Change, scope: Scope, cx: Choosing): Promise<void> {
  if (c.acts.on !== 'order') return;
  const sm = scope.sm ?? usualTarget(kernelTargets(cx.kernels));
  const main = cx.found.requests.find((r) => r.name === mainName(sm ?? '', scope.level ?? LEVELS[0]));
  if (sm === undefined || main === undefined) return;
  const { first, second } = c.acts;
  const side = (moves: readonly Move[]): PlanOf => ({ of: 'head', request: main.request, moves });
  // Which of the two can move is up to the other constraints.
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
