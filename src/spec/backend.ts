import { isMap } from '../ir/data.ts';
import { entryOf } from '../ir/entry-of.ts';
import type { SpecFile } from './document.ts';
import { COMMAND_LINE, type Issues } from './issues.ts';
import type { Backend, Origin } from './plan.ts';
import type { Specs } from './specs.ts';
import type { StepSpec } from './steps.ts';
import { targetHint, targetsOf } from './targets.ts';

/** Keys that are documentation or input of the resolver; passes cannot read them. */
const NOT_FACTS = new Set(['kind', 'name', 'extends', 'sources', 'doubts', 'knobs', 'recipe', 'hooks']);

/** True if a top-level key of a back end is a fact that phases may read, or a map of such facts. */
export const isFact = (key: string): boolean => !NOT_FACTS.has(key);

/** The back end of a target, and the knobs that it and the back ends that it extends set. */
export interface ResolvedBackend {
  readonly backend: Backend;
  readonly knobs: readonly { readonly name: string; readonly value: unknown; readonly file: SpecFile }[];
  /** The default recipe, the file that names it, and the application mode for recipes that state none. */
  readonly recipe: {
    readonly default: string | null;
    readonly mode: number | null;
    readonly file: SpecFile;
  } | null;
  /** Steps of the back end's slots, which fill hooks of kind B; extended back ends come first. */
  readonly hooks: readonly {
    readonly file: SpecFile;
    readonly hooks: Readonly<Record<string, readonly StepSpec[]>>;
  }[];
}

/**
 * Resolves the facts of a target along the `extends` chain, the base first. Maps are merged key by key, and any other value replaces the
 * inherited one. The origin of every leaf is kept.
 *
 * @returns null, with an issue, if the target or an extended back end does not exist, or the chain has a cycle
 */
export function resolveBackend(specs: Specs, sm: string, issues: Issues): ResolvedBackend | null {
  const targets = [...specs.backends.values()].filter((f) => f.data.sm !== undefined);
  const first = targets.find((x) => x.data.sm === sm);
  if (first === undefined) {
    const message = `there is no back end for '${sm}'`;
    issues.error(COMMAND_LINE, 'unknown-sm', message, { notes: [targetHint(sm, targetsOf(specs))] });
    return null;
  }
  const chain: SpecFile[] = [];
  for (let f: SpecFile | undefined = first; f !== undefined; ) {
    const at = { file: f, path: ['extends'] };
    if (chain.includes(f)) {
      issues.error(at, 'backend-cycle', `back end '${f.data.name}' extends itself`, {
        notes: [[...chain.slice(chain.indexOf(f)), f].map((x) => x.data.name).join(' -> ')],
      });
      return null;
    }
    chain.push(f);
    const up = f.data.extends as string | undefined;
    f = up === undefined ? undefined : specs.backends.get(up);
    if (up !== undefined && f === undefined) {
      const message = `there is no back end '${up}'`;
      issues.unknown(at, 'unknown-backend', message, up, specs.backends.keys(), '');
      return null;
    }
  }
  const facts: Record<string, unknown> = {};
  const origins = new Map<string, Origin>();
  const knobs: { name: string; value: unknown; file: SpecFile }[] = [];
  const hooks: { file: SpecFile; hooks: Readonly<Record<string, readonly StepSpec[]>> }[] = [];
  let recipe = null as ResolvedBackend['recipe'];
  for (const f of chain.reverse()) {
    for (const [key, value] of Object.entries(f.data))
      if (!NOT_FACTS.has(key)) mergeInto(facts, key, value, [key], f, origins);
    for (const [name, value] of Object.entries((f.data.knobs as Record<string, unknown> | undefined) ?? {}))
      knobs.push({ name, value, file: f });
    const stated = f.data.recipe as { readonly default?: string; readonly mode?: number } | undefined;
    if (stated !== undefined)
      recipe = {
        default: stated.default ?? recipe?.default ?? null,
        mode: stated.mode ?? recipe?.mode ?? null,
        file: stated.default === undefined && recipe !== null ? recipe.file : f,
      };
    if (f.data.hooks !== undefined)
      hooks.push({ file: f, hooks: f.data.hooks as Readonly<Record<string, readonly StepSpec[]>> });
  }
  const backend = { sm, code: Number(facts.code ?? 0), class: String(facts.class ?? ''), facts, origins };
  return { backend, knobs, recipe, hooks };
}

function mergeInto(
  into: Record<string, unknown>,
  key: string,
  value: unknown,
  path: readonly string[],
  file: SpecFile,
  origins: Map<string, Origin>,
): void {
  if (isMap(value)) {
    const old = entryOf(into, key);
    const next: Record<string, unknown> = isMap(old) ? old : {};
    into[key] = next;
    for (const [k, v] of Object.entries(value)) mergeInto(next, k, v, [...path, k], file, origins);
    return;
  }
  into[key] = value;
  origins.set(path.join('.'), { source: 'backend', file: file.file, path });
}

/** The fact at a path such as 'limits.max-registers'; undefined if there is none. */
export function factOf(backend: Pick<Backend, 'facts'>, path: string): unknown {
  let v: unknown = backend.facts;
  for (const part of path.split('.')) {
    if (!isMap(v)) return undefined;
    v = entryOf(v, part);
  }
  return v;
}
