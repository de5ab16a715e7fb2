import { hashText } from '../ir/hash.ts';
import { numbering } from '../ir/memo.ts';
import type { Isa } from '../ir/opcode.ts';
import { buildIsa } from '../isa/build.ts';
import { checkMeaning } from '../isa/lang/check.ts';
import type { ResolvedBackend } from './backend.ts';
import { canonical } from './canonical.ts';
import { hashOfSpec } from './collect.ts';
import { pairsOf } from './constraints.ts';
import type { SpecFile } from './document.ts';
import { type Entry, RowTable } from './entries.ts';
import { resolveHooks } from './hooks.ts';
import type { Host } from './host.ts';
import { Issues, type SpecIssue } from './issues.ts';
import { type KnobTable, MANAGER_KNOB } from './knobs.ts';
import type { Layer } from './layers.ts';
import { reportBreaches, reportLacks } from './legal-places.ts';
import { checkNeeds } from './needs.ts';
import { buildOrder, orderChain } from './order.ts';
import { checkRows } from './params.ts';
import { resolvePhaseToggles, switchKnobs } from './phase-toggles.ts';
import { planPhases } from './phases.ts';
import { groupsOf, type Plan, type PlanPhase, type ResolvedKnob, type Setting, stepData } from './plan.ts';
import type { Profile } from './profile.ts';
import { shutOf } from './properties.ts';
import { ofRounds } from './repeats.ts';
import { whyRequired } from './required.ts';
import { checkForeignRules, checkRules, rulesFor, rulesOf } from './rules.ts';
import type { PlanRequest, Specs } from './specs.ts';
import type { OrderWalk } from './walk.ts';
import { knobsReadBy, warnIdleHooks, warnIdleSwitches } from './warnings.ts';

/** Everything in a plan except knob values, so that plans that differ only in knob values can share it. */
export interface PlanSkeleton {
  /** Null if the instruction set is faulty. */
  readonly isa: Isa | null;
  readonly phases: readonly PlanPhase[];
  readonly rules: Plan['rules'];
  /** Settings of recipes and back ends for hooks, and of recipes for phases. */
  readonly settings: readonly Setting[];
  /** Knobs that the resolver or a phase that runs may read. */
  readonly read: ReadonlySet<string>;
  /** Hash of everything in it that affects a plan, except knob values; null if there is an error. */
  readonly hash: string | null;
  /** The input for checks of the order; null if there is none. */
  readonly walk: OrderWalk | null;
  /** True if the order could not be built; the fields above are empty then. */
  readonly unordered: boolean;
  /** Faults of the order and of the steps that it runs. */
  readonly issues: readonly SpecIssue[];
  /** Faults that depend on the target. */
  readonly issuesOfTarget: readonly SpecIssue[];
}

/** The inputs of a skeleton. */
export interface SkeletonInput {
  readonly specs: Specs;
  readonly request: PlanRequest;
  readonly host: Host;
  /** The recipe layers that apply, weakest first. */
  readonly layers: readonly Layer[];
  readonly level: number;
  /** Null: the target has no back end. */
  readonly found: ResolvedBackend | null;
  readonly table: KnobTable;
  /** Issues found earlier. */
  readonly issues: Issues;
}

/** Maximum number of skeletons kept for one phase table; the oldest is dropped first. */
const MOST_SKELETONS = 32;

const skeletons = new WeakMap<SpecFile, Map<string, PlanSkeleton>>();

const numberOfObject = numbering<object>();

/** A number unique to an object; 0 for null. */
const numberOf = (x: object | null | undefined): number => (x == null ? 0 : numberOfObject(x));

/**
 * The skeleton of a request. Requests that differ only in knob values share one, provided that the documents are the same objects and
 * without errors, and that no knob switches phases.
 */
export function skeletonOf(x: SkeletonInput): PlanSkeleton {
  const { specs, request } = x;
  if (x.issues.failed || x.found === null || switchKnobs(x.table)) return makeSkeleton(x);
  const parts = [
    specs.constraints,
    specs.knobs,
    specs.isa,
    specs.ptx,
    specs.orders,
    specs.rules,
    x.found,
    x.host,
  ];
  const { order, disable, rules = [], wrongRules, sm } = request;
  // Other settings of recipes affect only the level and the knob values.
  const own = x.layers.filter((l) => l.data.hooks !== undefined || l.data.phases !== undefined);
  const layers = own.map((l) => [numberOf(l.at.file), l.at.path, l.name]);
  const key = JSON.stringify([parts.map(numberOf), x.level, sm, order, layers, disable, rules, wrongRules]);
  let kept = skeletons.get(specs.phases);
  if (kept === undefined) skeletons.set(specs.phases, (kept = new Map()));
  let skeleton = kept.get(key);
  if (skeleton === undefined) {
    skeleton = makeSkeleton(x);
    if (skeleton.hash === null) return skeleton;
    if (kept.size >= MOST_SKELETONS) kept.delete(kept.keys().next().value!);
    kept.set(key, skeleton);
  }
  return skeleton;
}

function makeSkeleton({
  specs,
  request,
  host,
  layers,
  level,
  found,
  table,
  issues: before,
}: SkeletonInput): PlanSkeleton {
  // Some steps below are skipped if there were errors before.
  const issues = new Issues(before.list);
  const from = issues.list.length;
  const nothing = {
    isa: null,
    phases: [],
    rules: new Map(),
    settings: [],
    read: new Set<string>(),
    hash: null,
    walk: null,
  };
  const isa = resolveIsa(specs, issues);
  const chain = orderChain(specs, request.order, issues);
  if (chain === null)
    return { ...nothing, unordered: true, issues: issues.list.slice(from), issuesOfTarget: [] };

  const { passes, rules = false, ruleKnobs = [], passNeeds = () => ({}) } = host;
  const rowTable = new RowTable(specs.phases);
  const { rows } = rowTable;
  const groups = new Set(specs.rules?.keys() ?? []);
  const properties = specs.phases.data.properties as OrderWalk['table'];
  const pairs = pairsOf(specs, orderName(specs, chain[chain.length - 1]));
  const why = (row: number, list: readonly Entry[]) => whyRequired(row, list, { rows, properties, pairs });
  const entries = buildOrder(
    chain,
    rowTable,
    level,
    { passes, params: host.passParams },
    groups,
    issues,
    why,
  );
  checkRows(specs.phases, host, issues);
  const names = {
    entries,
    rows,
    phases: specs.phases,
    passes,
    ruleGroups: groups,
    passParams: host.passParams,
  };
  const { hooks: filled, settings } = resolveHooks(layers, found, names, issues);
  const switched = resolvePhaseToggles(entries, rows, request, layers, table, issues);
  const hooks = ofRounds(filled, entries);
  const own = (id: string): boolean => switched.off.has(id) || switched.enabled.has(id);
  const switches = {
    off: ofRounds(switched.off, entries, own),
    enabled: ofRounds(switched.enabled, entries, own),
  };
  const phases = planPhases(
    entries,
    rows,
    specs.phases,
    { ...rulesFor(specs, request, ruleKnobs, issues), pass: passNeeds, host, rules: specs.rules },
    hooks,
    switches,
    issues,
    (row) => why(row, entries),
  );
  const givers = [...layers.map((l) => l.at), ...(found?.hooks ?? []), ...entries.map((e) => e.origin)];
  checkNeeds(specs, phases, [...new Set(givers.map((x) => x.file))], host, issues);
  const walk: OrderWalk = {
    phases,
    entries,
    off: switches.off,
    hooks,
    shut: found === null ? null : shutOf(phases, level, found.backend),
    pairs,
    constraints: specs.constraints,
    table: properties,
  };
  reportBreaches(walk, issues);
  if (!rules) refuseRules(phases, entries, issues);
  checkRules(
    specs,
    phases,
    entries.map((e) => e.origin),
    new Set(table.knobs.keys()),
    new Set(request.rules),
    issues,
  );
  const to = issues.list.length;
  const orderIssues = issues.list.slice(from);
  if (found === null) return { ...nothing, unordered: false, issues: orderIssues, issuesOfTarget: [] };

  const { backend } = found;
  // Otherwise, a missing property may be due to an edit that was removed because its form is invalid.
  if (chain.every((f) => (f.pruned?.removed ?? []).length === 0))
    reportLacks(
      walk,
      rows.filter((r) => r.required === true),
      issues,
    );
  warnIdleHooks(phases, filled, level, backend, issues);
  warnIdleSwitches(phases, switched.enabled, level, backend, issues);
  const run = rulesOf(specs, phases);
  if (isa !== null && !issues.failed) checkForeignRules(specs, run, request, isa, host, issues);
  return {
    isa,
    phases,
    rules: run,
    settings: [...settings, ...switched.settings],
    read: knobsReadBy(phases, level, backend),
    hash: isa === null || issues.failed ? null : hashOfParts(level, backend.facts, isa, phases, run),
    walk,
    unordered: false,
    issues: orderIssues,
    issuesOfTarget: issues.list.slice(to),
  };
}

/** Reports rule groups if the host cannot run rules: skipping them silently would change the result. */
function refuseRules(phases: readonly PlanPhase[], entries: readonly Entry[], issues: Issues): void {
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

/** Instruction sets by the list of specs from which they were built, so that plans of the same specs share them. */
const builtIsas = new WeakMap<
  readonly SpecFile[],
  { readonly table: SpecFile | undefined; readonly built: ReturnType<typeof buildIsa> }
>();

/** The documents from which an instruction set is built: opcodes, and their PTX forms. */
export const isaDocs = (specs: Pick<Specs, 'isa' | 'ptx'>): { file: string; data: unknown; hash: string }[] =>
  [...specs.isa, ...(specs.ptx === undefined ? [] : [specs.ptx])].map((f) => ({
    file: f.file,
    data: f.data,
    hash: hashOfSpec(f),
  }));

function resolveIsa(specs: Specs, issues: Issues): Isa | null {
  const known = builtIsas.get(specs.isa);
  const built = known !== undefined && known.table === specs.ptx ? known.built : buildIsa(isaDocs(specs));
  builtIsas.set(specs.isa, { table: specs.ptx, built });
  for (const d of built.diagnostics) {
    const file = specs.isa.find((x) => x.file === d.file) ?? null;
    const path =
      d.code === 'isa-foreign' ? ['foreign', Number(d.subject), 'as'] : ['opcodes', d.subject ?? ''];
    issues.error({ file, path }, d.code, d.message, { key: d.code !== 'isa-foreign', notes: d.notes });
  }
  if (built.diagnostics.length > 0) return null;
  let isRight = true;
  for (const f of specs.isa) {
    // The build has checked unchanged shipped files.
    if (f.built !== undefined && f.built.data === f.data) continue;
    for (const { op, message, notes } of meaningFaults(f, built.isa)) {
      isRight = false;
      issues.error({ file: f, path: ['opcodes', op, 'means'] }, 'meaning', message, { notes });
    }
  }
  return isRight ? built.isa : null;
}

interface MeaningFault {
  readonly op: string;
  readonly message: string;
  readonly notes: readonly string[];
}

const meaningsOf = new WeakMap<object, readonly MeaningFault[]>();

/** Faults in the meanings of a document's opcodes, for every combination of modifiers. */
function meaningFaults({ data, file }: SpecFile, isa: Isa): readonly MeaningFault[] {
  let found = meaningsOf.get(data);
  if (found === undefined) {
    found = Object.keys((data.opcodes ?? {}) as object).flatMap((name) => {
      const op = isa.byName.get(name);
      return op === undefined
        ? []
        : checkMeaning(op, file).map((d) => ({ op: name, message: d.message, notes: d.notes ?? [] }));
    });
    meaningsOf.set(data, found);
  }
  return found;
}

/*
 * The hash of a plan covers everything that determines what it does: level, facts, instruction set, phases that may run with their steps
 * and gates, rule groups, knob values and the profile. Titles, reasons, sources and origins of values are left out.
 */

function hashOfParts(
  level: number,
  facts: object,
  isa: Isa,
  phases: readonly PlanPhase[],
  rules: Plan['rules'],
): string {
  const running = phases
    .filter((p) => p.disabled === null)
    .map((p) => {
      const round = p.roundAfter === null ? '' : `,${canonical(p.roundAfter)}`;
      return `[${canonical(p.id)},${textOfSteps(p)},${canonical(p.noOp)},${canonical(p.progress)}${round}]`;
    });
  const groups = [...rules].map(([name, r]) => [name, r.hash]);
  const before = `${[level, facts, isa.hash].map((x) => canonical(x)).join(',')},[${running.join(',')}]`;
  return hashText(`[${before},${canonical(groups)}]`);
}

const stepsKnown = new WeakMap<
  PlanPhase['steps'],
  { readonly gate: PlanPhase['gate']; readonly text: string }
>();

/** Steps and gate of a phase as two elements of a canonical JSON list. Plans of one phase table share the text of most rows. */
function textOfSteps({ steps, gate }: PlanPhase): string {
  const known = stepsKnown.get(steps);
  if (known?.gate === gate) return known.text;
  const text = [steps.map(stepData), gate].map((x) => canonical(x)).join(',');
  stepsKnown.set(steps, { gate, text });
  return text;
}

/** Hash of a plan from its skeleton, its knob values and its profile. */
export function planHash(
  skeleton: string,
  knobs: ReadonlyMap<string, ResolvedKnob>,
  profile: Profile | null,
): string {
  const values = [...knobs.values()]
    .filter((k) => k.value !== null && k.name !== MANAGER_KNOB)
    .map((k) => (k.when === null ? [k.name, k.value] : [k.name, k.value, k.when]))
    .sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
  return hashText(canonical([skeleton, values, profile]));
}
