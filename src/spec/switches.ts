import type { SpecFile } from './document.ts';
import { below, COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import type { KnobTable } from './knobs.ts';
import type { Entry, Row } from './order.ts';
import type { Origin } from './plan.ts';
import type { PlanRequest } from './specs.ts';

/** Why a phase is off, and who said so. */
export interface Off {
  readonly why: string;
  readonly origin: Origin;
  readonly at: Spot;
}

export interface Switches {
  /** By id. */
  readonly off: ReadonlyMap<string, Off>;
  /** Ids that run at every level, whatever the order or the level test of the gate says. */
  readonly enabled: ReadonlySet<string>;
}

/** Most entries that NamedPhases may have (reference, opt-levels 7). */
const MOST_NAMED = 256;

/**
 * Which phases are switched off or on: by the knobs DisablePhases and NamedPhases, by the recipe, by the command line. The
 * last that speaks is kept as the reason.
 */
export function resolveSwitches(
  entries: readonly Entry[],
  rows: readonly Row[],
  request: PlanRequest,
  recipe: SpecFile | null,
  table: KnobTable,
  issues: Issues,
): Switches {
  const off = new Map<string, Off>();
  const enabled = new Set<string>();
  const ids = entries.map((x) => x.id);
  const known = new Map(ids.map((id) => [id.toLowerCase(), id]));
  const find = (name: string, at: Spot, verb: string): string | undefined => {
    const id = known.get(name.toLowerCase());
    if (id === undefined)
      issues.unknown(
        at,
        'unknown-phase',
        `there is no phase '${name}' to ${verb}`,
        name,
        ids,
        '`orrery phases` lists them',
      );
    return id;
  };
  const disable = (name: string, why: string, at: Spot): void => {
    const id = find(name, at, 'disable');
    if (id !== undefined) off.set(id, { why, origin: originOf(at, 'recipe'), at });
  };

  disablePhases(entries, rows, table, off, issues);
  namedPhases(entries, rows, table, off, issues);
  const phases = recipe?.data.phases as
    | { readonly disable?: readonly string[]; readonly enable?: readonly string[] }
    | undefined;
  const here: Spot = { file: recipe, path: ['phases'] };
  phases?.disable?.forEach((name, i) =>
    disable(name, `disabled by recipe '${request.recipe}'`, below(here, 'disable', i)),
  );
  phases?.enable?.forEach((name, i) => {
    const at = below(here, 'enable', i);
    const id = find(name, at, 'enable');
    if (id === undefined) return;
    enabled.add(id);
    if (phases.disable?.some((d) => d.toLowerCase() === name.toLowerCase()) === true)
      issues.error(at, 'phase-switch', `phase '${id}' is both enabled and disabled`);
  });
  for (const name of request.disable) disable(name, 'disabled on the command line', COMMAND_LINE);
  return { off, enabled };
}

const originOf = (at: Spot, source: string): Origin => ({
  source: at.file === null ? 'command-line' : source,
  file: at.file?.file ?? '',
  path: at.path,
});

/** Whether a knob switches phases. */
export const switchKnobs = (table: KnobTable): boolean =>
  ['DisablePhases', 'NamedPhases'].some((k) => typeof table.knobs.get(k)?.value === 'string');

/** Value of a text knob that switches phases. It holds for the whole program, so a value for some kernels is an error. */
function switchText(name: string, table: KnobTable, issues: Issues): { text: string; at: Spot } | null {
  const knob = table.knobs.get(name);
  if (typeof knob?.value !== 'string') return null;
  const at = table.spots.get(name) ?? COMMAND_LINE;
  if (knob.when === null) return { text: knob.value, at };
  issues.error(at, 'knob-when', `knob ${name} switches phases of the whole program, not of some kernels`, {
    key: true,
    notes: ['set it without a `when`, or plan for one kernel'],
  });
  return null;
}

/** DisablePhases (185): names between `+`, each a part of a phase's name or alias, case ignored (reference, opt-levels 7). */
function disablePhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  table: KnobTable,
  off: Map<string, Off>,
  issues: Issues,
): void {
  const value = switchText('DisablePhases', table, issues);
  if (value === null) return;
  const origin = table.knobs.get('DisablePhases')!.origin;
  for (const part of value.text.split('+').map((x) => x.trim())) {
    if (part === '') continue;
    const hits = entries.filter(({ id, row }) =>
      [id, ...(rows[row]?.aliases ?? [])].some((name) => name.toLowerCase().includes(part.toLowerCase())),
    );
    for (const { id } of hits)
      off.set(id, { why: `knob DisablePhases names '${part}'`, origin, at: value.at });
    if (hits.length === 0)
      issues.warning(value.at, 'switch-idle', `knob DisablePhases: no phase has '${part}' in its name`, {
        subject: part,
      });
  }
}

/**
 * NamedPhases (298): only these phases run, and the required ones. `+` between entries and `,` before a parameter, or `,`
 * between entries and `=` before a parameter; a number between commas is a parameter too (reference, opt-levels 7).
 */
function namedPhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  table: KnobTable,
  off: Map<string, Off>,
  issues: Issues,
): void {
  const value = switchText('NamedPhases', table, issues);
  if (value === null) return;
  const origin = table.knobs.get('NamedPhases')!.origin;
  const plus = value.text.includes('+');
  const names = value.text
    .split(plus ? '+' : ',')
    .map((x) => x.split(plus ? /[,=]/ : '=')[0].trim())
    .filter((x) => x !== '' && !/^\d+$/.test(x));
  if (names.length > MOST_NAMED)
    issues.error(
      value.at,
      'knob-value',
      `knob NamedPhases has ${names.length} entries, at most ${MOST_NAMED} are read`,
    );
  const ids = new Map(entries.map((x) => [x.id.toLowerCase(), x.id]));
  for (const name of names)
    if (!ids.has(name.toLowerCase()))
      issues.unknown(
        value.at,
        'unknown-phase',
        `knob NamedPhases: there is no phase '${name}'`,
        name,
        ids.values(),
        '`orrery phases` lists them',
      );
  const only = new Set(names.map((x) => x.toLowerCase()));
  for (const x of entries)
    if (!only.has(x.id.toLowerCase()) && rows[x.row]?.required !== true)
      off.set(x.id, { why: 'knob NamedPhases does not name it', origin, at: value.at });
}
