import { isMap } from '../ir/data.ts';
import type { PassNeeds } from '../ir/pass.ts';
import { factOf, isFact } from './backend.ts';
import type { SpecFile } from './document.ts';
import type { Host } from './host.ts';
import { COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { flatSteps, type PassStep, type PlanPhase } from './plan.ts';
import type { Specs } from './specs.ts';

/** A kind of name that passes may depend on. */
interface Kind {
  readonly field: keyof PassNeeds;
  readonly what: string;
  has(name: string): boolean;
  /** All names of this kind; computed only if one is missing. */
  names(): Iterable<string>;
  readonly otherwise: string;
}

/**
 * Reports passes that depend on a knob, a fact or an IR property that does not exist. The location is the step that runs the pass: in a
 * phase row, a hook or an inserted step. Such a pass would always find the name unset.
 *
 * @param files specs that the origins of steps may refer to, besides the phase table
 */
export function checkNeeds(
  specs: Specs,
  phases: readonly PlanPhase[],
  files: readonly (SpecFile | null)[],
  host: Host,
  issues: Issues,
): void {
  if (host.passNeeds === undefined) return;
  const kinds = kindsOf(specs);
  const lacking = new Map<string, readonly { readonly kind: Kind; readonly name: string }[]>();
  const reported = new Set<string>();
  for (const step of phases.flatMap((p) => flatSteps(p.steps))) {
    if (step.kind !== 'pass') continue;
    let lacks = lacking.get(step.pass);
    if (lacks === undefined) {
      const needs = host.passNeeds(step.pass);
      lacks = kinds.flatMap((kind) =>
        (needs[kind.field] ?? []).filter((name) => !kind.has(name)).map((name) => ({ kind, name })),
      );
      lacking.set(step.pass, lacks);
    }
    if (lacks.length === 0) continue;
    const at = placeOf(step, [specs.phases, ...files]);
    // One row may be in the order several times.
    const place = JSON.stringify([step.pass, at.file?.file, at.path]);
    if (reported.has(place)) continue;
    reported.add(place);
    for (const { kind, name } of lacks)
      issues.unknown(
        at,
        'pass-needs',
        `pass '${step.pass}' needs the ${kind.what} '${name}', which does not exist`,
        name,
        kind.names(),
        kind.otherwise,
        { subject: name, notes: ["'needs' of the pass in src/passes/registry.ts names it"] },
      );
  }
}

function kindsOf({ knobs, backends, phases }: Specs): Kind[] {
  const ofCatalog = knobs.data.knobs as object;
  const properties = phases.data.properties as object;
  return [
    {
      field: 'knobs',
      what: 'knob',
      has: (name) => Object.hasOwn(ofCatalog, name),
      names: () => Object.keys(ofCatalog),
      otherwise: '`orrery plan --all` prints every knob',
    },
    {
      field: 'facts',
      what: 'fact',
      has: (path) => [...backends.values()].some((f) => hasFact(f, path)),
      names: () => new Set([...backends.values()].flatMap(factPaths)),
      otherwise: 'back ends in pipelines/backends have them',
    },
    {
      field: 'requires',
      what: 'IR property',
      has: (name) => Object.hasOwn(properties, name),
      names: () => Object.keys(properties),
      otherwise: "'properties' of the phase table names them",
    },
  ];
}

const hasFact = ({ data }: SpecFile, path: string): boolean =>
  isFact(path.split('.', 1)[0]) && factOf({ facts: data }, path) !== undefined;

/** Paths of the facts of a back end, inner maps included. */
function factPaths({ data }: SpecFile): string[] {
  const below = (value: unknown, path: string): string[] => [
    path,
    ...(isMap(value) ? Object.entries(value).flatMap(([key, x]) => below(x, `${path}.${key}`)) : []),
  ];
  return Object.entries(data).flatMap(([key, value]) => (isFact(key) ? below(value, key) : []));
}

/** The location of the step that runs a pass. */
function placeOf({ origin }: PassStep, files: readonly (SpecFile | null)[]): Spot {
  const file = files.find((f) => f?.file === origin.file) ?? null;
  if (file === null) return COMMAND_LINE;
  return { file, path: origin.source === 'order' ? origin.path : [...origin.path, 'pass'] };
}
