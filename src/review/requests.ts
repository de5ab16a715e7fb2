import { fileError } from '../ir/diagnostic.ts';
import { MANAGER_KNOB } from '../spec/knobs.ts';
import { DEFAULT_ORDER, MAX_LEVEL, type PlanRequest, type Specs } from '../spec/specs.ts';
import { targetHint, targetsOf } from '../spec/targets.ts';

/** Restricts the plans to compare; null: all targets, or all levels. */
export interface Scope {
  /** Only this target. */
  readonly sm: string | null;
  readonly level: number | null;
}

/** Kinds of documents that have plans of their own, besides the plans of targets and levels. */
export type Added = 'order' | 'recipe' | 'knob set' | 'default recipe';

/** A plan that is resolved on both sides. */
export interface Requested {
  /** Name of the plan, such as `sm_90 -O3` or `recipe X`. */
  readonly name: string;
  readonly request: PlanRequest;
  /** The document for which the plan is compared; null for a target at a level. */
  readonly of: { readonly what: Added; readonly name: string } | null;
}

const PLAIN: PlanRequest = {
  level: null,
  sm: '',
  order: DEFAULT_ORDER,
  knobSets: [],
  set: [],
  disable: [],
  // A review reports unsound rules itself.
  wrongRules: 'run',
};

/** The preferred representative of all targets. */
const USUAL_TARGET = 'sm_90';

/** The target to use if one is enough to represent all; undefined if there are no targets. */
export const usualTarget = (targets: readonly string[]): string | undefined =>
  targets.includes(USUAL_TARGET) ? USUAL_TARGET : targets[0];

/**
 * Checks that a scope contains a plan: otherwise no difference would ever be found.
 *
 * @throws DiagnosticError if there is no such level, or neither side has the target
 */
export function checkScope(base: Specs, head: Specs, { sm, level }: Scope): void {
  const fault = (message: string, notes: readonly string[] = []): never => {
    throw fileError('', message, notes);
  };
  if (level !== null && !(Number.isInteger(level) && level >= 0 && level <= MAX_LEVEL))
    fault(`optimization level ${level} is not 0 to ${MAX_LEVEL}`);
  const targets = targetsOf(base, head);
  if (sm === null || targets.includes(sm)) return;
  fault(`there is no back end for '${sm}'`, [targetHint(sm, targets)]);
}

/** Name of the plan of a target at a level. */
export const mainName = (sm: string, level: number): string => `${sm} -O${level}`;

/** Inverse of `mainName`; null for the name of any other plan. */
export function mainParts(name: string): { readonly sm: string; readonly level: number } | null {
  const m = /^(sm_\d+) -O(\d)$/.exec(name);
  return m === null ? null : { sm: m[1], level: Number(m[2]) };
}

/** The requests of all plans that either side has, within the scope. */
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

/** Name of the default recipe of a target; undefined if there is none, or no such target. */
export function defaultRecipe(specs: Specs, sm: string): string | undefined {
  const byName = specs.backends;
  const seen = new Set<string>();
  let at = [...byName.values()].find((f) => f.data.sm === sm);
  while (at !== undefined) {
    const name = (at.data.recipe as { readonly default?: string } | undefined)?.default;
    if (name !== undefined) return name;
    const up = String(at.data.extends);
    if (seen.has(up)) return undefined;
    seen.add(up);
    at = byName.get(up);
  }
  return undefined;
}

/** True if the specs of a side have everything that a request names. */
export const hasAll = (specs: Specs, r: PlanRequest): boolean =>
  specs.orders.has(r.order) &&
  (r.recipes ?? []).every((n) => specs.recipes.has(n)) &&
  r.knobSets.every((k) => specs.knobSets.has(k)) &&
  [...specs.backends.values()].some((f) => f.data.sm === r.sm);
