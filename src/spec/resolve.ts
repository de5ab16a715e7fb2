import { type Diagnostic, DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import { memo } from '../ir/memo.ts';
import { type ResolvedBackend, resolveBackend } from './backend.ts';
import { canonical } from './canonical.ts';
import { Tests } from './conditions.ts';
import type { Host } from './host.ts';
import { COMMAND_LINE, Issues, type SpecIssue, type Spot } from './issues.ts';
import { knobLayers, MANAGER_KNOB, resolveKnobs } from './knobs.ts';
import { holding, inLayer, type Layer, originIn } from './layers.ts';
import { APPLY_PHASE, type Managed, manage, managerKnob, unapplied } from './manager.ts';
import type { Plan, PlanPhase, Setting } from './plan.ts';
import { planHash, skeletonOf } from './plan-skeleton.ts';
import { NO_RECIPES, type RecipeStack, recipeStack } from './recipes.ts';
import { checkReportKnobs } from './report-knobs.ts';
import { warnRulesOff } from './rules.ts';
import { DEFAULT_LEVEL, MAX_LEVEL, type PlanRequest, type Specs } from './specs.ts';
import { testSets } from './test-sets.ts';
import type { OrderWalk } from './walk.ts';
import { warnRecipes } from './warn-recipes.ts';
import { warnUnread } from './warnings.ts';

export type { Host, RuleFault } from './host.ts';
export type { SpecIssue } from './issues.ts';
export type { PlanRequest, Specs } from './specs.ts';

/** A plan, or null on errors; all issues; and the order checks' input for each variant of the plan. */
export interface Resolved {
  readonly plan: Plan | null;
  readonly issues: SpecIssue[];
  readonly walks: readonly OrderWalk[];
}

/** Data shared by all plan variants of a request; there is one for each set of `when` tests that may hold. */
interface Common {
  readonly specs: Specs;
  readonly request: PlanRequest;
  readonly host: Host;
  readonly found: ResolvedBackend | null;
  readonly managed: Managed;
  readonly stack: RecipeStack;
  readonly tests: Tests;
  /** Layers of recipes, knob sets and WHEN records, weakest first. */
  readonly layers: readonly Layer[];
}

/**
 * Resolves specs to a plan: builds the phase index array by name and determines the effective value of every knob and fact. Violated
 * constraints, missing IR properties and required phases, and unknown names are reported with the edit that causes them. If recipes or knob
 * sets apply to some functions only, the plans of those functions are resolved and checked too.
 *
 * @param host names of registered passes, or a full description of what the host can run
 * @returns the plan, or null on errors; and all errors and warnings, with paths instead of lines
 */
export function resolve(specs: Specs, request: PlanRequest, host: ReadonlySet<string> | Host): Resolved {
  const issues = new Issues();
  const found = backendOf(specs, request.sm, issues);
  const managed = manage(specs, request, found, issues);
  const first = resolveWith(specs, request, hostOf(host), found, managed, issues);
  const why =
    first.plan === null || first.plan.recipes.length === 0
      ? null
      : unapplied(specs, first.plan.phases, first.plan);
  if (why === null) return first;
  const again = new Issues();
  const { recipes = [] } = request;
  again.warning(
    COMMAND_LINE,
    'recipe-unapplied',
    `no recipe is applied (${recipes.join(', ') || 'by knob 391'}): ${why}`,
  );
  return resolveWith(specs, request, hostOf(host), found, { ...managed, names: [], on: false }, again);
}

function resolveWith(
  specs: Specs,
  request: PlanRequest,
  host: Host,
  found: ResolvedBackend | null,
  managed: Managed,
  issues: Issues,
): Resolved {
  const tests = new Tests();
  const stack = managed.on ? recipeStack(specs, managed, request, found, tests, issues) : NO_RECIPES;
  const layers = [...stack.layers, ...knobLayers(specs, request, tests, issues)];
  const common: Common = { specs, request, host, found, managed, stack, tests, layers };
  warnRecipes(specs, stack, request, issues);
  const base = resolveFor(common, [], null, issues);
  if (tests.list.length === 0) return base;
  const all = new Map(base.issues.map((i) => [issueKey(i), i]));
  const made = new Map<string, Plan>();
  const walks = new Set(base.walks);
  const asked = layers.map((l) => l.tests).filter((set) => set.length > 0);
  for (const set of testSets(tests.list, asked)) {
    const { plan, issues: found, walks: own } = resolveFor(common, set, base.plan, new Issues());
    for (const w of own) walks.add(w);
    for (const i of found) if (!all.has(issueKey(i))) all.set(issueKey(i), i);
    if (plan !== null) made.set(set.join(), plan);
  }
  const merged = new Issues([...all.values()]);
  if (base.plan === null || merged.failed) return { plan: null, issues: merged.list, walks: [...walks] };
  const plans = [...made].map(([set, p]) => [set, p.hash]);
  const hash = hashText(canonical([base.plan.hash, tests.list, layers.map(contentOf), plans]));
  const cases = [...new Map(asked.map((set) => [set.join(), set])).values()];
  const whole: Plan = { ...base.plan, hash, cases, variant: variants(common, base.plan, made) };
  return { plan: whole, issues: merged.list, walks: [...walks] };
}

/** The content of a layer for hashing: its settings and tests. The position in the list matters too, because later layers win. */
const contentOf = ({ source, tests, data }: Layer): unknown =>
  [source, tests, data.level, data.knobs, data.hooks, data.phases].map((x) => x ?? null);

/** Identifies an issue by location and text, so that an issue of several variants is reported once. */
const issueKey = (i: SpecIssue): string => JSON.stringify([i.file?.file, i.path, i.code, i.message, i.notes]);

/**
 * The variants of a plan. Those that were checked are reused, and others are resolved on demand.
 *
 * @param made plans by the indices of their tests, joined with commas
 */
function variants(common: Common, base: Plan, made: ReadonlyMap<string, Plan>): Plan['variant'] {
  const plans = new Map<string, Plan>([['', base]]);
  const variant = (tests: readonly number[]): Plan => {
    const key = tests.join();
    const known = plans.get(key);
    if (known !== undefined) return known;
    let plan = made.get(key);
    if (plan === undefined) {
      const r = resolveFor(common, tests, base, new Issues());
      if (r.plan === null) {
        const whose = `functions of: ${tests.map((t) => common.tests.list[t].text).join(', ')}`;
        const errors = r.issues.filter((i) => i.severity === 'error');
        throw new DiagnosticError(errors.map((i) => unplaced(i, whose)));
      }
      plan = r.plan;
    }
    plan = { ...plan, variant };
    plans.set(key, plan);
    return plan;
  };
  return variant;
}

/** A diagnostic with a path instead of a line: variants are resolved while a program is compiled, when the texts may not be available. */
const unplaced = (i: SpecIssue, whose: string): Diagnostic => ({
  ...fileFault(i.file?.file ?? '', i.message, [
    ...(i.path.length === 0 ? [] : [`at ${i.path.join('.')}`]),
    ...(i.label === undefined ? [] : [i.label]),
    ...(i.notes ?? []),
    `for ${whose}`,
  ]),
  code: i.code,
});

/** The optimization level of the last layer that states one; null if none does or the request states a level. */
const levelOf = (c: Common, layers: readonly Layer[]): { level: number; layer: Layer } | null => {
  const layer = layers.filter((l) => l.data.level !== undefined).at(-1);
  return layer === undefined || c.request.level !== null ? null : { level: layer.data.level!, layer };
};

/**
 * Resolves the plan for functions for which exactly the tests in `held` hold.
 *
 * @param base the plan for functions for which no test holds, whose order all variants must have; null: there is none, or this is it
 */
function resolveFor(c: Common, held: readonly number[], base: Plan | null, issues: Issues): Resolved {
  const { specs, request, host, found, stack, tests } = c;
  const layers = holding(c.layers, new Set(held));
  const level = request.level ?? levelOf(c, layers)?.level ?? DEFAULT_LEVEL;
  if (!Number.isInteger(level) || level < 0 || level > MAX_LEVEL)
    issues.error(COMMAND_LINE, 'level', `optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const table = resolveKnobs(specs, request, found, layers, tests.list, issues);
  const own = layers.filter((l) => l.source === 'recipe');
  const skeleton = skeletonOf({ specs, request, host, layers: own, level, found, table, issues });
  issues.add(skeleton.issues);
  const walks = skeleton.walk === null ? [] : [skeleton.walk];
  if (skeleton.unordered) return { plan: null, issues: issues.list, walks };
  warnRulesOff(specs, request, table.knobs, issues);
  if (found === null) return { plan: null, issues: issues.list, walks };
  issues.add(skeleton.issuesOfTarget);
  warnUnread(skeleton.phases, skeleton.read, table, issues);
  checkReportKnobs(skeleton.phases, table, issues);
  const { isa, hash, phases, rules } = skeleton;
  if (base !== null) checkSameOrder(specs, base, phases, levelOf(c, layers), issues);
  if (issues.failed || isa === null || hash === null) return { plan: null, issues: issues.list, walks };
  const why =
    held.length === 0 || own.length === 0
      ? null
      : unapplied(specs, phases, { level, backend: found.backend });
  if (why !== null) return withoutRecipes(c, held, base, phases, why);
  const knobs = c.managed.on
    ? new Map(table.knobs).set(MANAGER_KNOB, managerKnob(table.knobs.get(MANAGER_KNOB)!, c.managed, stack))
    : table.knobs;
  const plan: Plan = {
    hash: planHash(hash, table.knobs, request.profile ?? null),
    level,
    sm: request.sm,
    order: request.order,
    recipe: stack.names.join('+') || null,
    recipes: stack.layers.map((l) => ({ name: l.name, origin: originIn(l), tests: l.tests })),
    nvopt: stack.nvopt?.level ?? null,
    settings: [...levelSettings(c, layers), ...skeleton.settings],
    tests: tests.list,
    cases: [],
    knobSet: request.knobSets.join('+') || null,
    backend: found.backend,
    isa,
    phases,
    knobs,
    rules,
    profile: request.profile ?? null,
    warnings: [],
    variant: () => plan,
  };
  return { plan, issues: issues.list, walks };
}

/** Reports a variant with another order: all functions go through the phases together, so a different level must not change the order. */
function checkSameOrder(
  specs: Specs,
  base: Plan,
  phases: readonly PlanPhase[],
  stated: { readonly level: number; readonly layer: Layer } | null,
  issues: Issues,
): void {
  const at = phases === base.phases ? -1 : phases.findIndex((p, i) => p.id !== base.phases[i]?.id);
  if (at < 0) return;
  const [here, there] = [phases[at], base.phases[at]];
  const edit = [here, phases.find((p) => p.id === there.id), there, base.phases.find((p) => p.id === here.id)]
    .map((p) => p?.origin)
    .find((o) => o?.path[0] === 'edits');
  const file = [...specs.orders.values()].find((f) => f.file === edit?.file);
  issues.error(
    stated === null ? COMMAND_LINE : inLayer(stated.layer, 'level'),
    'level-of-some',
    `these functions would have '${here.id}' at position ${at} of the order, where others have '${there.id}'`,
    {
      notes: [
        'all functions of a program go through the phases in one order, and that has `levels` on an edit',
      ],
      ...(file !== undefined && { see: { what: 'the edit', file, path: edit!.path } }),
    },
  );
}

/** The plan of functions for which phase 1 does not run: no recipe is applied to them, and a warning says why. */
function withoutRecipes(
  c: Common,
  held: readonly number[],
  base: Plan | null,
  phases: readonly PlanPhase[],
  why: string,
): Resolved {
  const issues = new Issues();
  const origin = phases.find((p) => p.name === APPLY_PHASE)?.disabled?.origin;
  const file = c.layers.find((l) => l.at.file !== null && l.at.file.file === origin?.file)?.at.file;
  const whose = held.map((t) => c.tests.list[t].text).join(', ');
  issues.warning(
    file === undefined ? COMMAND_LINE : { file, path: origin!.path },
    'recipe-unapplied',
    `no recipe is applied to some functions (${whose}): ${why}`,
  );
  const layers = c.layers.filter((l) => l.source !== 'recipe');
  const without = { ...c, layers, stack: { ...c.stack, layers: [] }, managed: { ...c.managed, on: false } };
  return resolveFor(without, held, base, issues);
}

/** Optimization and NvOpt levels of recipes, for display, with the levels of the command line that override them. */
function levelSettings(c: Common, layers: readonly Layer[]): Setting[] {
  const { request, stack } = c;
  const command = { source: 'command-line', file: '', path: [] };
  const setting = (
    what: 'level' | 'nvopt',
    stated: { value: number; at: Spot }[],
    asked: number | null,
  ): Setting[] => {
    const all = stated.map(({ value, at }) => ({
      value,
      origin: { source: 'recipe', file: at.file?.file ?? '', path: at.path },
    }));
    if (asked !== null && all.length > 0) all.push({ value: asked, origin: command });
    const last = all.pop();
    return last === undefined ? [] : [{ what, name: '', ...last, overridden: all }];
  };
  const levels = layers
    .filter((l) => l.data.level !== undefined)
    .map((l) => ({ value: l.data.level!, at: inLayer(l, 'level') }));
  const nvopts = stack.files
    .filter((f) => f.file.data.nvopt !== undefined)
    .map(({ file }) => ({ value: Number(file.data.nvopt), at: { file, path: ['nvopt'] } }));
  return [...setting('level', levels, request.level), ...setting('nvopt', nvopts, request.nvopt ?? null)];
}

/** One host for each set of pass names, so that caches keyed by the host work. */
const plainHost = memo((passes: ReadonlySet<string>): Host => ({ passes }));

const hostOf = (host: ReadonlySet<string> | Host): Host => ('passes' in host ? host : plainHost(host));

/** Resolved back ends without faults, by the map that holds their specs. */
const backends = new WeakMap<Specs['backends'], Map<string, ResolvedBackend>>();

function backendOf(specs: Specs, sm: string, issues: Issues): ResolvedBackend | null {
  let kept = backends.get(specs.backends);
  if (kept === undefined) backends.set(specs.backends, (kept = new Map()));
  const known = kept.get(sm);
  if (known !== undefined) return known;
  const found = resolveBackend(specs, sm, issues);
  if (found !== null) kept.set(sm, found);
  return found;
}
