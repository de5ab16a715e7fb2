import type { ResolvedBackend } from './backend.ts';
import type { SpecFile } from './document.ts';
import { unknownRules } from './edits.ts';
import type { Entry, Row } from './entries.ts';
import type { Host } from './host.ts';
import { below, type Issues, type Spot } from './issues.ts';
import { inLayer, type Layer, originIn } from './layers.ts';
import { checkParams, unknownPass } from './params.ts';
import type { Origin, Setting, Step } from './plan.ts';
import { type StepSpec, stepsOf } from './steps.ts';

/** The steps that a recipe or a slot of a back end puts into one hook, and where they are written. */
export interface HookFilling {
  readonly steps: readonly Step[];
  readonly at: Spot;
}

/** Names that hook steps may refer to, and the file that defines named step lists. */
export interface HookNames {
  readonly entries: readonly Entry[];
  readonly rows: readonly Row[];
  /** The phase table. */
  readonly phases: SpecFile;
  readonly passes: ReadonlySet<string>;
  readonly ruleGroups: ReadonlySet<string>;
  readonly passParams: Host['passParams'];
}

/**
 * The filled hooks by phase id. Slots of the back end come first, then recipes; a later recipe replaces what earlier ones put there. A key
 * without a number means the first occurrence of the phase. Reports to `issues` a name that is not a phase or not a hook, a slot for a
 * hook that calls none, and unknown passes and rule groups.
 */
export function resolveHooks(
  layers: readonly Layer[],
  backend: ResolvedBackend | null,
  names: HookNames,
  issues: Issues,
): { readonly hooks: ReadonlyMap<string, HookFilling>; readonly settings: readonly Setting[] } {
  const hooks = new Map<string, HookFilling>();
  const settings = new Map<string, Setting>();
  const fill = (name: string, steps: readonly StepSpec[], at: Spot, origin: Origin): void => {
    const entry = hookNamed(name, at, origin.source === 'backend', names, issues);
    checkNames(steps, at, names, issues);
    if (entry === null) return;
    const before = hooks.get(entry.id);
    const filled = stepsOf(steps, names.phases, at, origin.source, issues, before?.steps);
    hooks.set(entry.id, { steps: filled, at });
    const lost = settings.get(entry.id);
    settings.set(entry.id, {
      what: 'hook',
      name: entry.id,
      value: steps,
      origin,
      overridden: lost === undefined ? [] : [...lost.overridden, { value: lost.value, origin: lost.origin }],
    });
  };
  for (const { file, hooks: given } of backend?.hooks ?? [])
    for (const [name, steps] of Object.entries(given)) {
      const path = ['hooks', name];
      fill(name, steps, { file, path }, { source: 'backend', file: file.file, path });
    }
  for (const layer of layers)
    for (const [name, steps] of Object.entries(layer.data.hooks ?? {}))
      fill(name, steps, inLayer(layer, 'hooks', name), originIn(layer, 'hooks', name));
  return { hooks, settings: [...settings.values()] };
}

/** The entry of a hook in the order; null, with an issue, if there is no such phase or it is not a hook that may be filled. */
function hookNamed(
  name: string,
  at: Spot,
  slot: boolean,
  { entries, rows }: HookNames,
  issues: Issues,
): Entry | null {
  const hooks = rows.filter((r) => r.hook !== undefined && (!slot || r.hook === 'B')).map((r) => r.name);
  const entry = entries.find((x) => x.id.toLowerCase() === name.toLowerCase());
  if (entry === undefined) {
    const otherwise = `hooks are ${hooks.join(', ')}`;
    issues.unknown(at, 'unknown-phase', `there is no phase '${name}' in the order`, name, hooks, otherwise, {
      key: true,
    });
    return null;
  }
  const kind = rows[entry.row]?.hook;
  if (kind === undefined) {
    issues.error(at, 'not-a-hook', `phase '${name}' is not a hook`, {
      key: true,
      notes: [`hooks are ${hooks.join(', ')}`],
    });
    return null;
  }
  if (slot && kind !== 'B') {
    const does = kind === 'A' ? 'dispatches a worker' : 'writes the progress counter';
    issues.error(at, 'not-a-hook', `hook '${name}' is of kind ${kind}: it ${does}, and calls no slot`, {
      key: true,
      notes: [`hooks that call a slot of the back end are ${hooks.join(', ')}; a recipe may fill any hook`],
    });
    return null;
  }
  return entry;
}

/** Reports passes and rule groups that do not exist. Step lists are checked when they are expanded. */
function checkNames(steps: readonly StepSpec[], at: Spot, names: HookNames, issues: Issues): void {
  const { passes, ruleGroups } = names;
  steps.forEach((s, i) => {
    if (s.pass !== undefined && !passes.has(s.pass))
      unknownPass(below(at, i, 'pass'), s.pass, passes, issues);
    else if (s.pass !== undefined)
      checkParams(below(at, i), s.pass, s.params, names.passParams?.(s.pass), issues);
    s.rules?.forEach((g, k) => {
      if (!ruleGroups.has(g)) unknownRules(below(at, i, 'rules', k), g, ruleGroups, issues);
    });
    if (s.repeat !== undefined) checkNames(s.repeat, below(at, i, 'repeat'), names, issues);
  });
}
