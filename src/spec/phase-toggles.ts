import type { Entry, Row } from './entries.ts';
import { COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import type { KnobTable } from './knobs.ts';
import { inLayer, type Layer, originIn } from './layers.ts';
import type { Origin, Setting } from './plan.ts';
import type { PlanRequest } from './specs.ts';

/** Why a phase is off, and the setting that switched it off. */
export interface Off {
  readonly why: string;
  readonly origin: Origin;
  readonly at: Spot;
}

/** Phases that knobs, recipes or the command line switch off or on. */
export interface PhaseToggles {
  /** Phases that are switched off, by id. */
  readonly off: ReadonlyMap<string, Off>;
  /** Ids of phases that run at every level, regardless of levels in the order or the gate; with the setting that says so. */
  readonly enabled: ReadonlyMap<string, Spot>;
  /** Settings of recipes, for display. */
  readonly settings: readonly Setting[];
}

/** Maximum number of entries in NamedPhases (reference, opt-levels 7). */
const MOST_NAMED = 256;

/**
 * Resolves which phases are switched off or on by the knobs DisablePhases and NamedPhases, by recipes and by the command line, in this
 * order. The last setting wins and is kept as the reason.
 */
export function resolvePhaseToggles(
  entries: readonly Entry[],
  rows: readonly Row[],
  request: PlanRequest,
  layers: readonly Layer[],
  table: KnobTable,
  issues: Issues,
): PhaseToggles {
  const off = new Map<string, Off>();
  const enabled = new Map<string, Spot>();
  const settings = new Map<string, Setting>();
  const ids = entries.map((x) => x.id);
  const idsByLowerCase = new Map(ids.map((id) => [id.toLowerCase(), id]));
  const find = (name: string, at: Spot, verb: string): string | undefined => {
    const id = idsByLowerCase.get(name.toLowerCase());
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
  const say = (id: string, value: string, origin: Origin): void => {
    const lost = settings.get(id);
    const overridden =
      lost === undefined ? [] : [...lost.overridden, { value: lost.value, origin: lost.origin }];
    settings.set(id, { what: 'phase', name: id, value, origin, overridden });
  };

  disablePhases(entries, rows, table, off, issues);
  namedPhases(entries, rows, table, off, issues);
  for (const layer of layers) {
    const { disable = [], enable = [] } = layer.data.phases ?? {};
    disable.forEach((name, i) => {
      const at = inLayer(layer, 'phases', 'disable', i);
      const id = find(name, at, 'disable');
      if (id === undefined) return;
      const origin = originIn(layer, 'phases', 'disable', i);
      enabled.delete(id);
      off.set(id, { why: `disabled by recipe '${layer.name}'`, origin, at });
      say(id, 'disabled', origin);
    });
    enable.forEach((name, i) => {
      const at = inLayer(layer, 'phases', 'enable', i);
      const id = find(name, at, 'enable');
      if (id === undefined) return;
      if (disable.some((d) => d.toLowerCase() === name.toLowerCase()))
        return issues.error(at, 'phase-switch', `phase '${id}' is both enabled and disabled`);
      // Enabling cancels an earlier recipe's `disable`, but not a knob.
      if (off.get(id)?.origin.source === 'recipe') off.delete(id);
      enabled.set(id, at);
      say(id, 'enabled', originIn(layer, 'phases', 'enable', i));
    });
  }
  for (const name of request.disable) {
    const id = find(name, COMMAND_LINE, 'disable');
    if (id === undefined) continue;
    const origin = { source: 'command-line', file: '', path: [] };
    off.set(id, { why: 'disabled on the command line', origin, at: COMMAND_LINE });
    if (settings.has(id)) say(id, 'disabled', origin);
  }
  return { off, enabled, settings: [...settings.values()] };
}

/** True if a knob that switches phases is set. */
export const switchKnobs = (table: KnobTable): boolean =>
  ['DisablePhases', 'NamedPhases'].some((k) => typeof table.knobs.get(k)?.value === 'string');

/** Value of a text knob that switches phases, and where it is set; null if it is unset. */
function switchText(name: string, table: KnobTable): { text: string; at: Spot } | null {
  const knob = table.knobs.get(name);
  if (typeof knob?.value !== 'string') return null;
  const at = table.spots.get(name) ?? COMMAND_LINE;
  return { text: knob.value, at };
}

/**
 * Applies DisablePhases (185): a list separated by `+`, or by `,` if it has no `+`. Each element is a substring of a phase's name or alias,
 * ignoring case (reference, opt-levels 7, which has both syntaxes for lists of phases).
 */
function disablePhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  table: KnobTable,
  off: Map<string, Off>,
  issues: Issues,
): void {
  const value = switchText('DisablePhases', table);
  if (value === null) return;
  const origin = table.knobs.get('DisablePhases')!.origin;
  for (const part of value.text.split(value.text.includes('+') ? '+' : ',').map((x) => x.trim())) {
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
 * Applies NamedPhases (298): only these phases and the required ones run. Either `+` separates entries and `,` or `=` precedes a parameter,
 * or `,` separates entries and `=` precedes a parameter; then a bare number is a parameter too (reference, opt-levels 7).
 */
function namedPhases(
  entries: readonly Entry[],
  rows: readonly Row[],
  table: KnobTable,
  off: Map<string, Off>,
  issues: Issues,
): void {
  const value = switchText('NamedPhases', table);
  if (value === null) return;
  const origin = table.knobs.get('NamedPhases')!.origin;
  const plus = value.text.includes('+');
  const names = value.text
    .split(plus ? '+' : ',')
    .map((x) => x.split(plus ? /[,=]/ : '=')[0].trim())
    .filter((x) => x !== '' && !/^\d+$/.test(x));
  if (names.length === 0) {
    issues.error(value.at, 'knob-value', `knob NamedPhases: '${value.text}' names no phase`, {
      notes: [
        '`+` or `,` parts the names, as in NamedPhases=OriBranchOpt+GvnCse; only these and required phases run',
      ],
    });
    return;
  }
  const given = parameters(value.text, plus).filter((x) => x.trim() !== '');
  if (given.length > 0)
    issues.warning(
      value.at,
      'switch-parameter',
      `knob NamedPhases: no phase takes a parameter, so '${given[0]}' is without effect`,
    );
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
    if (
      ![x.id, x.firstRound ?? x.id].some((id) => only.has(id.toLowerCase())) &&
      rows[x.row]?.required !== true
    )
      off.set(x.id, { why: 'knob NamedPhases does not name it', origin, at: value.at });
}

/** Parameters in a list of phases: after `,` or `=` if `+` separates the entries; otherwise after `=`, or a number between commas. */
function parameters(text: string, plus: boolean): string[] {
  if (plus) return text.split('+').flatMap((x) => x.split(/[,=]/).slice(1));
  return text.split(',').flatMap((x) => (/^\s*\d+\s*$/.test(x) ? [x.trim()] : x.split('=').slice(1)));
}
