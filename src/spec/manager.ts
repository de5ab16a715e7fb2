import type { ResolvedBackend } from './backend.ts';
import { COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { knobValue } from './knob-values.ts';
import { knobNamed, MANAGER_KNOB } from './knobs.ts';
import { neverRuns } from './phases.ts';
import type { Plan, PlanPhase, ResolvedKnob } from './plan.ts';
import { type RecipeStack, recipeId } from './recipes.ts';
import type { PlanRequest, Specs } from './specs.ts';
import type { KnobsSpec } from './types.generated.ts';

/** Phase 1. If it does not run, no recipe is applied. */
export const APPLY_PHASE = 'ApplyNvOptRecipes';

/** Value of knob 391 that selects the default recipe of the back end. */
const DEFAULT_RECIPE = 1;

/** The decision of the recipe manager. */
export interface Managed {
  /** Names of the recipes to apply. */
  readonly names: readonly string[];
  /** Where they are named. */
  readonly at: Spot;
  readonly on: boolean;
  /** True if the knob is set explicitly. */
  readonly explicit: boolean;
}

/**
 * Decides which recipes apply: the requested ones, unless knob 391 is 0. If none is requested, the knob selects the default recipe of the
 * back end (value 1) or the recipe with that id. Faults go to `issues`.
 */
export function manage(
  specs: Specs,
  request: PlanRequest,
  backend: ResolvedBackend | null,
  issues: Issues,
): Managed {
  const asked = request.recipes ?? [];
  const given = givenValue(specs, request, backend);
  const wanted = asked.length > 0 || request.nvopt !== undefined;
  if (given === null) return { names: asked, at: COMMAND_LINE, on: wanted, explicit: false };
  const { value, at } = given;
  if (value === null || value === 0) {
    if (wanted)
      issues.warning(at, 'recipe-off', `knob ${MANAGER_KNOB} is off, so no recipe is applied`, {
        notes: ['without that setting a recipe that is named turns it on'],
      });
    return { names: [], at, on: false, explicit: true };
  }
  if (asked.length > 0) return { names: asked, at: COMMAND_LINE, on: true, explicit: true };
  if (value === DEFAULT_RECIPE) {
    const own = backend?.recipe?.default ?? null;
    if (own === null) {
      issues.warning(at, 'recipe-none', `back end '${request.sm}' names no default recipe`, {
        notes: ['`recipe: { default: NAME }` in its file does, and --recipe NAME names one for a run'],
      });
      return { names: [], at, on: true, explicit: true };
    }
    return {
      names: [own],
      at: { file: backend!.recipe!.file, path: ['recipe', 'default'] },
      on: true,
      explicit: true,
    };
  }
  const ids = new Map([...specs.recipes].map(([name, f]) => [BigInt(recipeId(f)), name]));
  const name = ids.get(BigInt(value));
  if (name === undefined)
    issues.error(at, 'unknown-recipe', `knob ${MANAGER_KNOB}: no recipe has the id ${value}`, {
      notes: ['1 is the default recipe of the back end; `orrery recipes` prints the ids of the others'],
    });
  return { names: name === undefined ? [] : [name], at, on: true, explicit: true };
}

/** The value that the back end, a knob set for all functions, or the command line gives the knob, the last of them; null: none does. */
function givenValue(
  specs: Specs,
  request: PlanRequest,
  backend: ResolvedBackend | null,
): { readonly value: number | string | null; readonly at: Spot } | null {
  const row = (specs.knobs.data.knobs as Record<string, KnobsSpec.Knob>)[MANAGER_KNOB];
  let last: { value: number | string | null; at: Spot } | null = null;
  const give = (key: string, value: unknown, at: Spot): void => {
    if (row === undefined || knobNamed(specs, key.trim()) !== MANAGER_KNOB) return;
    const checked = knobValue(row, value);
    if (checked.problem === undefined) last = { value: checked.value as number | string | null, at };
  };
  for (const k of backend?.knobs ?? []) give(k.name, k.value, { file: k.file, path: ['knobs', k.name] });
  for (const name of request.knobSets) {
    const file = specs.knobSets.get(name);
    if (file === undefined || file.data.when !== undefined) continue;
    for (const [k, v] of Object.entries((file.data.knobs ?? {}) as Record<string, unknown>))
      give(k, v, { file, path: ['knobs', k] });
  }
  for (const text of request.set) {
    const at = text.indexOf('=');
    if (at >= 0) give(text.slice(0, at), text.slice(at + 1), COMMAND_LINE);
  }
  return last;
}

/** Knob 391 as a plan shows it: the id of the applied recipes, unless it is set explicitly. Several ids are combined by hashing. */
export function managerKnob(knob: ResolvedKnob, { on, explicit }: Managed, stack: RecipeStack): ResolvedKnob {
  if (!on || explicit) return knob;
  const ids = stack.files.map((f) => recipeId(f.file));
  const file = stack.files.find((f) => f.name === stack.names[0])?.file ?? stack.files[0]?.file;
  return {
    ...knob,
    value: ids.length === 1 ? ids[0] : `0x${ids.map((x) => x.slice(2)).reduce(mixed, '0'.repeat(16))}`,
    origin: { source: 'recipe', file: file?.file ?? '', path: [] },
    overridden: [...knob.overridden, { value: knob.value, origin: knob.origin, when: null }],
  };
}

/** Combines two ids; the order matters. */
const mixed = (a: string, b: string): string =>
  BigInt.asUintN(64, BigInt(`0x${a}`) * 1099511628211n + BigInt(`0x${b}`))
    .toString(16)
    .padStart(16, '0');

/** Why a plan cannot apply recipes; null if it can. A phase table without phase 1 never prevents it. */
export function unapplied(
  specs: Specs,
  phases: readonly PlanPhase[],
  plan: Pick<Plan, 'level' | 'backend'>,
): string | null {
  const rows = specs.phases.data.phases as readonly { readonly name: string }[];
  if (!rows.some((r) => r.name === APPLY_PHASE)) return null;
  const phase = phases.find((p) => p.name === APPLY_PHASE);
  if (phase === undefined) return `phase ${APPLY_PHASE} is not in the order`;
  const why = neverRuns(phase, plan.level, plan.backend);
  return why === null ? null : `phase ${APPLY_PHASE} does not run: ${why}`;
}
