import { resolve as resolvePath } from 'node:path';
import { match } from 'ts-pattern';
import { type Diagnostic, DiagnosticError } from '../ir/diagnostic.ts';
import { specName, withSpec } from './collect.ts';
import type { SpecFile } from './document.ts';
import type { RuleFault } from './host.ts';
import { Issues } from './issues.ts';
import { MANAGER_KNOB } from './knobs.ts';
import { loadShipped, loadSpec, SpecFaults, toDiagnostics, withFiles, withRest } from './node.ts';
import { loadLaunch } from './node-launch.ts';
import { machineFaults } from './node-machine.ts';
import { selectionFaults } from './node-selection.ts';
import { groupsOf } from './plan.ts';
import { checkReferences } from './references.ts';
import { type Host, type PlanRequest, resolve, type SpecIssue, type Specs } from './resolve.ts';
import { DEFAULT_LEVEL, DEFAULT_ORDER, MAX_LEVEL } from './specs.ts';
import type { RecipeSpec, RulesSpec } from './types.generated.ts';

/** Target of the trial plans if the spec names none. */
const TRIAL_SM = 'sm_80';
const TRIAL: PlanRequest = {
  level: DEFAULT_LEVEL,
  sm: TRIAL_SM,
  order: DEFAULT_ORDER,
  knobSets: [],
  set: [],
  disable: [],
  wrongRules: 'refuse',
};

/** Trials stop once this many distinct faults of a spec are found. */
const ENOUGH = 200;

/** Request fields that turn the recipe manager on, with the default recipe of the back end. */
const DEFAULT_RECIPES = { set: [`${MANAGER_KNOB}=1`] };

/**
 * Checks any spec file: first its form, then its meaning, by resolving plans that use it together with the shipped specs, at every level
 * and for every target that it concerns. Faults of the input are returned, never thrown.
 *
 * @param base the specs to combine it with; absent: the shipped ones
 */
export async function checkFile(
  path: string,
  host: ReadonlySet<string> | Host,
  base?: Specs,
): Promise<Diagnostic[]> {
  try {
    const spec = await loadSpec(path);
    return await faultsOf(spec, path, host, base);
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    if (!(e instanceof SpecFaults) || e.rest === undefined) return [...e.diagnostics];
    if (e.rest.kind === 'launch') return checkFaults(() => loadLaunch(path, true));
    return withRest(e.diagnostics, await faultsOf(e.rest, path, host, base), sameMeaning(e.rest));
  }
}

/**
 * As `checkFile`, but with one plan instead of all, and without the checks of rules and launches that run them: for editors, which ask
 * after every key. Its errors are errors of `checkFile` too; its warnings may not be warnings there.
 */
export async function checkFileQuickly(
  path: string,
  host: ReadonlySet<string> | Host,
): Promise<Diagnostic[]> {
  const quickly = async (spec: SpecFile): Promise<Diagnostic[]> => {
    if (['launch', 'machine', 'selection'].includes(spec.kind)) return [];
    const shipped = await loadShipped();
    const full = resolvePath(path);
    const sense = new Issues();
    checkReferences(spec, shipped, sense);
    const rules = spec.kind === 'rules';
    const tried = rules ? [] : trials(spec, full, await around(spec, full, shipped), host, 1);
    return toDiagnostics([...tried, ...sense.list]);
  };
  try {
    return await quickly(await loadSpec(path));
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    if (!(e instanceof SpecFaults) || e.rest === undefined) return [...e.diagnostics];
    return withRest(e.diagnostics, await quickly(e.rest), sameMeaning(e.rest));
  }
}

/** True if pruning removed only single rules of a group, which does not change the meaning of the others. */
const sameMeaning = ({ kind, pruned }: SpecFile): boolean =>
  pruned?.removed.every(({ path }) => kind === 'rules' && path[0] === 'rules' && path.length === 2) === true;

/** The diagnostics that an action throws; other errors pass through. */
async function checkFaults(action: () => Promise<unknown>): Promise<Diagnostic[]> {
  try {
    await action();
    return [];
  } catch (e) {
    if (e instanceof DiagnosticError) return [...e.diagnostics];
    throw e;
  }
}

/** Faults in the meaning of a spec whose form is valid. */
async function faultsOf(
  spec: SpecFile,
  path: string,
  host: ReadonlySet<string> | Host,
  base?: Specs,
): Promise<Diagnostic[]> {
  if (spec.kind === 'launch') return checkFaults(() => loadLaunch(path, true));
  if (spec.kind === 'machine') return toDiagnostics(await machineFaults(spec));
  if (spec.kind === 'selection')
    return toDiagnostics(await selectionFaults(spec, base ?? (await loadShipped())));
  const shipped = base ?? (await loadShipped());
  const full = resolvePath(path);
  const used = [...(await toDiagnostics(trials(spec, full, await around(spec, full, shipped), host)))];
  return [...used, ...(await ownFaults(spec, shipped, host))];
}

/** Faults of a spec in the context of others that do not depend on a plan: undefined names, and rules that cannot be applied. */
export async function ownFaults(
  spec: SpecFile,
  others: Specs,
  host: ReadonlySet<string> | Host,
): Promise<Diagnostic[]> {
  const sense = new Issues();
  checkReferences(spec, others, sense);
  return toDiagnostics([...sense.list, ...(spec.kind === 'rules' ? ruleFaults(spec, others, host) : [])]);
}

/** The shipped specs, plus the files that an order or a recipe extends by path. */
async function around(spec: SpecFile, path: string, shipped: Specs): Promise<Specs> {
  if (spec.kind === 'recipe') return (await withFiles(shipped, { ...TRIAL, recipes: [path] })).specs;
  if (spec.kind === 'order') return (await withFiles(shipped, { ...TRIAL, order: path })).specs;
  return shipped;
}

/** Faults of the rules of a group, together with the groups that some phase runs with it. */
function ruleFaults(spec: SpecFile, shipped: Specs, host: ReadonlySet<string> | Host): SpecIssue[] {
  const name = specName(spec);
  const all = [...(shipped.rules ?? [])].filter(([g]) => g !== name).map(([, f]) => f);
  const taken = takenIds(spec, all);
  if (!('passes' in host) || host.checkRules === undefined) return placed(spec, taken);
  const groups = new Map([...(shipped.rules ?? []), [name, spec]]);
  const { plan } = resolve({ ...shipped, rules: groups }, TRIAL, host);
  if (plan === null) return placed(spec, taken);
  const costs = plan.backend.facts.costs as Readonly<Record<string, number>>;
  const together = new Set([name]);
  for (const p of plan.phases) if (groupsOf(p).includes(name)) for (const g of groupsOf(p)) together.add(g);
  const docs = [...groups].filter(([g]) => together.has(g)).map(([, f]) => f.data);
  // `takenIds` finds duplicate ids among all groups, so those that this check finds would be repeated.
  const faults = host.checkRules(docs, name, plan.isa, costs).filter((f) => f.code !== 'rule-id');
  return placed(spec, [...faults, ...taken]);
}

const placed = (spec: SpecFile, faults: readonly RuleFault[]): SpecIssue[] =>
  faults.map((f) => ({
    severity: f.severity,
    code: f.code,
    message: f.message,
    file: spec,
    path: ['rules', f.rule, f.field],
    notes: f.notes,
  }));

/**
 * Reports rule ids that are used more than once. Commands and reports name rules by id, so ids must be unique even among groups that never
 * run together. Rules with other faults count too.
 */
function takenIds(spec: SpecFile, others: readonly SpecFile[]): RuleFault[] {
  const idsOf = (f: SpecFile): string[] =>
    ((f.data as Partial<RulesSpec.Rules>).rules ?? []).map((r) => r.id);
  const owners = new Map(others.flatMap((f) => idsOf(f).map((id): [string, string] => [id, specName(f)])));
  return idsOf(spec).flatMap((id, rule) => {
    const owner = owners.get(id);
    owners.set(id, owner ?? specName(spec));
    if (owner === undefined) return [];
    const message = `rule id '${id}' is taken by a rule of group '${owner}'`;
    return [{ severity: 'error', code: 'rule-id', rule, field: 'id', message, notes: [] }];
  });
}

/**
 * Errors of any trial, and warnings that every trial gives: a knob that nothing reads at one level may be read at another.
 *
 * @param most maximum number of trials
 */
function trials(
  spec: SpecFile,
  path: string,
  shipped: Specs,
  host: ReadonlySet<string> | Host,
  most = Number.POSITIVE_INFINITY,
): SpecIssue[] {
  const { specs, requests: possible } = trialOf(spec, path, shipped);
  const requests = possible.slice(-most);
  const all = new Map<string, { issue: SpecIssue; trials: Set<PlanRequest> }>();
  let tried = 0;
  for (const request of requests) {
    // Other levels and targets would mostly repeat these.
    if (all.size > ENOUGH) break;
    tried++;
    for (const found of resolve(specs, request, host).issues) {
      // The target of a trial comes from the spec, so blame the spec and not the command line.
      const targets = spec.data.sm;
      const named = found.code === 'unknown-sm' && Array.isArray(targets) ? targets.indexOf(request.sm) : -1;
      const issue = named < 0 ? found : { ...found, file: spec, path: ['sm', named] };
      const { file, path, code, subject, see, severity, message } = issue;
      // A warning may give a different reason in each trial, and one is enough, but every distinct error is reported. The phases that lack
      // a property depend on the level; the longest list is kept.
      const text = severity === 'error' && code !== 'ir-property' ? message : null;
      const key = JSON.stringify([file?.file, path, code, subject, see?.path, text]);
      const known = all.get(key);
      if (known === undefined) all.set(key, { issue, trials: new Set([request]) });
      else {
        known.trials.add(request);
        if (lengthOf(issue) > lengthOf(known.issue)) known.issue = issue;
      }
    }
  }
  return (
    [...all.values()]
      .filter((x) => x.issue.severity === 'error' || x.trials.size === tried)
      // A rule group with a switch may be off by default.
      .filter((x) => x.issue.code !== 'rules-off')
      .map((x) => x.issue)
  );
}

/** Total length of the notes of an issue. */
const lengthOf = ({ notes = [] }: SpecIssue): number => notes.reduce((n, x) => n + x.length, 0);

/** The specs with the one to check added, and requests whose plans use it. */
function trialOf(spec: SpecFile, path: string, shipped: Specs): { specs: Specs; requests: PlanRequest[] } {
  const one = TRIAL;
  const levels = Array.from({ length: MAX_LEVEL + 1 }, (_, level) => level);
  const sms = [...shipped.backends.values()].flatMap((b) =>
    b.data.sm === undefined ? [] : [String(b.data.sm)],
  );
  const everywhere = (r: PlanRequest) => [
    ...levels.map((level) => ({ ...r, level })),
    ...sms.map((sm) => ({ ...r, sm })),
  ];
  // The spec is entered under its path, so that it may extend the shipped order of the same name.
  const there = shipped.recipes.get(path) ?? shipped.orders.get(path);
  const specs = there === undefined ? withSpec(shipped, spec, path) : shipped;
  const requests = match(spec.kind)
    .with('order', () => everywhere({ ...one, order: path }))
    .with('recipe', () => {
      const { sm = [TRIAL_SM], level, parts = [] } = spec.data as Partial<RecipeSpec.Recipe>;
      const tried = level === undefined ? levels : [level];
      const nvopts = parts.some((p) => p.nvopt !== undefined) ? levels : [];
      // Unknown targets of parts are reported elsewhere, so they are not tried.
      const ofParts = parts.flatMap((p) => p.sm ?? []).filter((s) => sms.includes(s));
      return [...new Set([...sm, ...ofParts])].flatMap((s) => {
        const request = { ...one, sm: s, recipes: [path] };
        return [
          ...tried.map((l) => ({ ...request, level: l })),
          ...nvopts.map((nvopt) => ({ ...request, nvopt })),
        ];
      });
    })
    .with('knob-set', () => levels.map((level) => ({ ...one, level, knobSets: [path] })))
    .with('backend', () =>
      [...specs.backends.values()]
        .filter((b) => b.data.sm !== undefined && reaches(b, spec, specs))
        .map((b) => ({
          ...one,
          sm: String(b.data.sm),
          ...(spec.data.recipe !== undefined && DEFAULT_RECIPES),
        })),
    )
    .with('rules', () => [{ ...one, rules: [specName(spec)] }])
    .with('isa', () => [one])
    // Plans do not contain these: PTX input is checked against the first, and the others do not change what rules do.
    .with('ptx-syntax', 'reviews', 'machine', 'selection', 'ptxas-faults', () => [])
    // The spec replaces the only one of its kind, so it affects every order and level.
    .with('phases', 'constraints', 'knobs', 'ptx', 'launch', 'experiment', 'budget', () =>
      [...shipped.orders.keys()].flatMap((order) => levels.map((level) => ({ ...one, order, level }))),
    )
    .exhaustive();
  return { specs, requests };
}

/** True if a back end is another one or extends it, directly or indirectly. */
function reaches(from: SpecFile, to: SpecFile, specs: Specs): boolean {
  const seen = new Set<SpecFile>();
  for (let f: SpecFile | undefined = from; f !== undefined && !seen.has(f); ) {
    if (f === to) return true;
    seen.add(f);
    f = specs.backends.get(String(f.data.extends));
  }
  return false;
}
