import { hashText } from '../ir/hash.ts';
import type { Isa } from '../ir/opcode.ts';
import { buildIsa } from '../isa/build.ts';
import { resolveBackend } from './backend.ts';
import { checkConstraints } from './constraints.ts';
import type { SpecFile } from './document.ts';
import { resolveHooks } from './hooks.ts';
import { COMMAND_LINE, Issues, type SpecIssue } from './issues.ts';
import { resolveKnobs, settledWhen } from './knobs.ts';
import { buildOrder, orderChain, RowTable } from './order.ts';
import { planPhases } from './phases.ts';
import { type Backend, groupsOf, type Plan, type PlanPhase, type ResolvedKnob, stepData } from './plan.ts';
import { checkProperties } from './properties.ts';
import { checkRules, rulesFor, rulesOf, warnRulesOff } from './rules.ts';
import { DEFAULT_LEVEL, MAX_LEVEL, type PlanRequest, type Specs } from './specs.ts';
import { resolveSwitches } from './switches.ts';
import { warnIdleHooks, warnIdleSwitches, warnUnread } from './warnings.ts';

export type { SpecIssue } from './issues.ts';
export type { PlanRequest, Specs } from './specs.ts';

/** What the host can run. */
export interface Host {
  /** Names of registered passes. */
  readonly passes: ReadonlySet<string>;
  /** Rule groups can be run. */
  readonly rules?: boolean;
  /** Knobs that running rules reads, whatever the rules are. */
  readonly ruleKnobs?: readonly string[];
  /** Knobs that a pass reads wherever it runs. */
  readonly passKnobs?: (pass: string) => readonly string[];
  /** Checks the rules of one group, in the company of the groups that run with it. */
  readonly checkRules?: (
    docs: readonly unknown[],
    group: string,
    isa: Isa,
    costs: Readonly<Record<string, number>>,
  ) => readonly RuleFault[];
}

/** What is wrong with a rule: its place in the group's file, and the field that says it. */
export interface RuleFault {
  readonly severity: 'error' | 'warning';
  readonly code: string;
  readonly rule: number;
  readonly field: string;
  readonly message: string;
  readonly notes: readonly string[];
}

/**
 * Resolves specs to a plan: the phase index array is built by name, every knob and fact gets its winning value, and what
 * the result breaks (constraints, IR properties, required phases, unknown names) is reported with the edit that did it.
 *
 * @param host names of registered passes, or these and what else the host can run
 * @returns the plan, null if there is any error; and every error and warning, with paths in place of lines
 */
export function resolve(
  specs: Specs,
  request: PlanRequest,
  host: ReadonlySet<string> | Host,
): { plan: Plan | null; issues: SpecIssue[] } {
  const {
    passes,
    rules = false,
    ruleKnobs = [],
    passKnobs = () => [],
  }: Host = 'passes' in host ? host : { passes: host };
  const issues = new Issues();
  const recipe = resolveRecipe(specs, request, issues);
  const level = request.level ?? (recipe?.data.level as number | undefined) ?? DEFAULT_LEVEL;
  if (!Number.isInteger(level) || level < 0 || level > MAX_LEVEL)
    issues.error(COMMAND_LINE, 'level', `optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const found = resolveBackend(specs, request.sm, issues);
  const table = resolveKnobs(specs, request, found, recipe, issues);
  const isa = resolveIsa(specs, issues);
  const chain = orderChain(specs, request.order, issues);
  if (chain === null) return { plan: null, issues: issues.list };

  const rowTable = new RowTable(specs.phases);
  const { rows } = rowTable;
  const groups = new Set(specs.rules?.keys() ?? []);
  const entries = buildOrder(chain, rowTable, level, passes, groups, issues);
  const hooks = resolveHooks(recipe, entries, rows, passes, groups, issues);
  const switches = resolveSwitches(entries, rows, request, recipe, table, issues);
  const phases = planPhases(
    entries,
    rows,
    specs.phases,
    { ...rulesFor(specs, request, ruleKnobs, issues), pass: passKnobs },
    hooks,
    switches,
    issues,
  );
  checkConstraints(specs, orderName(specs, chain[chain.length - 1]), entries, issues);
  if (!rules) refuseRules(phases, entries, issues);
  checkRules(
    specs,
    phases,
    entries.map((e) => e.origin),
    new Set(table.knobs.keys()),
    new Set(request.rules),
    issues,
  );
  warnRulesOff(specs, request, table.knobs, issues);
  if (found === null) return { plan: null, issues: issues.list };

  const { backend } = found;
  checkProperties(specs, phases, entries, switches.off, level, backend, issues);
  if (recipe !== null) {
    warnRecipe(recipe, request, level, issues);
    warnIdleHooks(phases, hooks, level, backend, issues);
    const at = { file: recipe, path: ['phases', 'enable'] };
    warnIdleSwitches(phases, switches.enabled, level, backend, at, issues);
  }
  warnUnread(phases, table, level, backend, issues);
  if (issues.failed || isa === null) return { plan: null, issues: issues.list };
  const groupsRun = rulesOf(specs, phases);
  const plan: Plan = {
    hash: planHash(level, backend, isa, phases, table.knobs, groupsRun),
    level,
    sm: request.sm,
    order: request.order,
    recipe: recipe === null ? null : request.recipe,
    knobSet: request.knobSets.join('+') || null,
    backend,
    isa,
    phases,
    knobs: table.knobs,
    rules: groupsRun,
    warnings: [],
  };
  return { plan, issues: issues.list };
}

/** The recipe that is asked for; null where none is, or where it is for other kernels than the one that is planned. */
function resolveRecipe(specs: Specs, request: PlanRequest, issues: Issues): SpecFile | null {
  if (request.recipe === null) return null;
  const recipe = specs.recipes.get(request.recipe);
  if (recipe === undefined) {
    const names = [...specs.recipes.keys()];
    issues.unknown(
      COMMAND_LINE,
      'unknown-recipe',
      `there is no recipe '${request.recipe}'`,
      request.recipe,
      names,
      `recipes are ${names.join(', ')}; a file is given by its path`,
    );
    return null;
  }
  const when = settledWhen(recipe, request.kernel);
  if (when === false) return null;
  if (when !== null)
    for (const key of ['hooks', 'phases'])
      if (recipe.data[key] !== undefined)
        issues.error(
          { file: recipe, path: [key] },
          'recipe-when',
          `'${key}' of a recipe for some kernels ('${when}') cannot be settled for a whole program`,
          {
            key: true,
            notes: [
              'plan for one kernel, or move them to a recipe without `when`; `knobs` may stay conditional',
            ],
          },
        );
  return recipe;
}

function warnRecipe(recipe: SpecFile, request: PlanRequest, level: number, issues: Issues): void {
  const sm = recipe.data.sm as readonly string[] | undefined;
  if (sm !== undefined && !sm.includes(request.sm))
    issues.warning(
      { file: recipe, path: ['sm'] },
      'recipe-sm',
      `recipe '${request.recipe}' is for ${sm.join(', ')}, not for ${request.sm}`,
    );
  const wanted = recipe.data.level as number | undefined;
  if (wanted !== undefined && wanted !== level)
    issues.warning(
      { file: recipe, path: ['level'] },
      'recipe-level',
      `recipe '${request.recipe}' is for level ${wanted}, but level ${level} was asked for`,
    );
}

/** No phase may run rules that the host cannot run: that would leave them out without a word. */
function refuseRules(
  phases: readonly PlanPhase[],
  entries: ReturnType<typeof buildOrder>,
  issues: Issues,
): void {
  phases.forEach((p, i) => {
    const [group] = groupsOf(p);
    if (group !== undefined && p.disabled === null)
      issues.error(
        entries[i].origin,
        'no-rule-engine',
        `phase '${p.id}' runs rule group '${group}', but this host cannot run rules`,
      );
  });
}

const orderName = (specs: Specs, f: SpecFile): string =>
  [...specs.orders].find(([, x]) => x === f)?.[0] ?? f.file;

/** Built instruction sets by the list of their specs: a plan of the same specs shares them. */
const builtIsas = new WeakMap<readonly SpecFile[], ReturnType<typeof buildIsa>>();

function resolveIsa(specs: Specs, issues: Issues): Isa | null {
  let built = builtIsas.get(specs.isa);
  if (built === undefined) {
    built = buildIsa(specs.isa.map((f) => ({ file: f.file, data: f.data })));
    builtIsas.set(specs.isa, built);
  }
  for (const d of built.diagnostics) {
    const file = specs.isa.find((x) => x.file === d.file) ?? null;
    const path = ['opcodes', d.subject ?? ''];
    issues.error({ file, path }, d.code, d.message, { key: true, notes: d.notes });
  }
  return built.diagnostics.length > 0 ? null : built.isa;
}

/**
 * Hash of everything that decides what the plan does: level, facts, instruction set, phases that may run with what is
 * bound to them, and every knob value. Titles, reasons, sources and the way a value came about do not count.
 */
function planHash(
  level: number,
  backend: Backend,
  isa: Isa,
  phases: readonly PlanPhase[],
  knobs: ReadonlyMap<string, ResolvedKnob>,
  rules: Plan['rules'],
): string {
  const running = phases
    .filter((p) => p.disabled === null)
    .map((p) => [p.id, p.steps.map(stepData), p.gate, p.noOp, p.progress]);
  const values = [...knobs.values()]
    .filter((k) => k.value !== null || k.when !== null)
    .map((k) => (k.when === null ? [k.name, k.value] : [k.name, k.value, k.when, k.overridden.at(-1)?.value]))
    .sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
  const groups = [...rules].map(([name, r]) => [name, r.hash]);
  return hashText(canonical([level, backend.facts, isa.hash, running, values, groups]));
}

/** JSON with the keys of every map in order, so that the order of keys in a file does not count. */
function canonical(v: unknown): string {
  if (v === null || typeof v !== 'object') return JSON.stringify(v) ?? 'null';
  if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
  const keys = Object.keys(v).sort();
  return `{${keys.map((k) => `${JSON.stringify(k)}:${canonical((v as Record<string, unknown>)[k])}`).join(',')}}`;
}
