import { DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import { MANAGER_KNOB } from '../spec/knobs.ts';
import { DEFAULT_ORDER, MAX_LEVEL, type PlanRequest, type Specs } from '../spec/specs.ts';
import { targetHint, targetsOf } from '../spec/targets.ts';

/** The plans to compare: every shipped target and level, and the plans that specs add to them. */
export interface Scope {
  /** Only this target. */
  readonly sm: string | null;
  readonly level: number | null;
}

/** What the specs of a side add to the plans of targets and levels: documents that a plan may name. */
export type Added = 'order' | 'recipe' | 'knob set' | 'default recipe';

/** A plan that is resolved on both sides. */
export interface Requested {
  /** `sm_90 -O3`, `recipe X`. */
  readonly name: string;
  readonly request: PlanRequest;
  /** The document that it is for; null for a target at a level. */
  readonly of: { readonly what: Added; readonly name: string } | null;
}

const PLAIN: PlanRequest = {
  level: null,
  sm: '',
  order: DEFAULT_ORDER,
  knobSets: [],
  set: [],
  disable: [],
  // A review tells of wrong rules itself.
  wrongRules: 'run',
};

/** The target that stands for all where one is enough, if it has a back end. */
const USUAL_TARGET = 'sm_90';

/** The target that stands for all where one is enough; undefined if there is none. */
export const usualTarget = (targets: readonly string[]): string | undefined =>
  targets.includes(USUAL_TARGET) ? USUAL_TARGET : targets[0];

/**
 * A scope without plans would find no difference, whatever differs.
 *
 * @throws DiagnosticError if there is no such level, or neither side has the target
 */
export function checkScope(base: Specs, head: Specs, { sm, level }: Scope): void {
  const fault = (message: string, notes: readonly string[] = []): never => {
    throw new DiagnosticError([fileFault('', message, notes)]);
  };
  if (level !== null && !(Number.isInteger(level) && level >= 0 && level <= MAX_LEVEL))
    fault(`optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const targets = targetsOf(base, head);
  if (sm === null || targets.includes(sm)) return;
  fault(`there is no back end for '${sm}'`, [targetHint(sm, targets)]);
}

/** Name of the plan of a target at a level. */
export const mainName = (sm: string, level: number): string => `${sm} -O${level}`;

/** Target and level of such a name; null for any other plan. */
export function mainParts(name: string): { readonly sm: string; readonly level: number } | null {
  const m = /^(sm_\d+) -O(\d)$/.exec(name);
  return m === null ? null : { sm: m[1], level: Number(m[2]) };
}

/** Every plan request that follows from the specs of both sides. */
export function requestsOf(base: Specs, head: Specs, scope: Scope): Requested[] {
  const out: Requested[] = [];
  const targets = targetsOf(base, head).filter((sm) => scope.sm === null || sm === scope.sm);
  const levels = Array.from({ length: MAX_LEVEL + 1 }, (_, i) => i).filter(
    (l) => scope.level === null || l === scope.level,
  );
  for (const sm of targets)
    for (const level of levels)
      out.push({ name: mainName(sm, level), request: { ...PLAIN, sm, level }, of: null });
  const usual = usualTarget(targets);
  if (usual === undefined) return out;
  const add = (what: Added, name: string, request: Partial<PlanRequest>): void =>
    void out.push({
      name: `${what} ${name}`,
      request: { ...PLAIN, sm: usual, ...request },
      of: { what, name },
    });
  for (const order of new Set([...base.orders.keys(), ...head.orders.keys()]))
    if (order !== DEFAULT_ORDER) add('order', order, { order });
  for (const [name, f] of new Map([...base.recipes, ...head.recipes])) {
    const sms = (f.data.sm as readonly string[] | undefined) ?? [usual];
    const sm = sms.find((x) => targets.includes(x));
    if (sm !== undefined) add('recipe', name, { sm, recipes: [name] });
  }
  for (const name of new Set([...base.knobSets.keys(), ...head.knobSets.keys()]))
    add('knob set', name, { knobSets: [name] });
  for (const sm of targets)
    if (defaultRecipe(base, sm) !== defaultRecipe(head, sm))
      add('default recipe', sm, { sm, set: [`${MANAGER_KNOB}=1`] });
  return out;
}

/** Name of the recipe that runs on a target where nobody names one; undefined if there is none, or no such target. */
export function defaultRecipe(specs: Specs, sm: string): string | undefined {
  const byName = specs.backends;
  const seen = new Set<string>();
  let at = [...byName.values()].find((f) => f.data.sm === sm);
  while (at !== undefined) {
    const said = (at.data.recipe as { readonly default?: string } | undefined)?.default;
    if (said !== undefined) return said;
    const up = String(at.data.extends);
    if (seen.has(up)) return undefined;
    seen.add(up);
    at = byName.get(up);
  }
  return undefined;
}

/** Does a side have everything that a request names? */
export const hasAll = (specs: Specs, r: PlanRequest): boolean =>
  specs.orders.has(r.order) &&
  (r.recipes ?? []).every((n) => specs.recipes.has(n)) &&
  r.knobSets.every((k) => specs.knobSets.has(k)) &&
  [...specs.backends.values()].some((f) => f.data.sm === r.sm);
