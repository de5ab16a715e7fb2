import { castDraft } from 'immer';
import { memo } from '../ir/memo.ts';
import type { KnobValue } from '../ir/pass.ts';
import type { ResolvedBackend } from './backend.ts';
import { type Tests, testOfWhen } from './conditions.ts';
import type { SpecFile } from './document.ts';
import { below, COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { knobValue } from './knob-values.ts';
import { isWhenText, knobSetLayer, type Layer, whenRecords } from './layers.ts';
import type { ConditionTest, Origin, ResolvedKnob } from './plan.ts';
import type { PlanRequest, Specs } from './specs.ts';
import { produce } from './state.ts';
import type { KnobsSpec, PhasesSpec } from './types.generated.ts';

/** Option 391: its 64-bit value identifies the recipe; setting it turns the recipe manager on (seed 004). */
export const MANAGER_KNOB = 'Knob391';

/** Every knob with its effective value, and where that was set. */
export interface KnobTable {
  readonly knobs: ReadonlyMap<string, ResolvedKnob>;
  /** Where each effective value that is not the catalog default was set. */
  readonly spots: ReadonlyMap<string, Spot>;
}

interface Source {
  readonly source: Origin['source'];
  /** The functions that the value applies to, as text; null: all. */
  readonly when: string | null;
}

/** The catalog, prepared once for all requests. */
interface Catalog {
  readonly rows: Readonly<Record<string, KnobsSpec.Knob>>;
  /** Knob names by lower-case name, by lower-case alias, and by `knob` followed by the index. */
  readonly byName: ReadonlyMap<string, string>;
  /** Names and aliases. */
  readonly names: readonly string[];
  readonly defaults: ReadonlyMap<string, ResolvedKnob>;
  /** Defaults that do not fit the type of their knob. */
  readonly faults: readonly {
    readonly at: Spot;
    readonly message: string;
    readonly notes?: readonly string[];
  }[];
}

const catalogOf = memo((file: SpecFile): Catalog => {
  const rows = file.data.knobs as Catalog['rows'];
  const byName = new Map<string, string>();
  const names: string[] = [];
  const defaults = new Map<string, ResolvedKnob>();
  const faults: Catalog['faults'][number][] = [];
  for (const [name, row] of Object.entries(rows)) {
    for (const n of [name, ...(row.aliases ?? [])]) {
      byName.set(n.toLowerCase(), name);
      names.push(n);
    }
    const path = ['knobs', name, 'default'];
    const checked = knobValue(row, row.default);
    if (checked.problem !== undefined)
      faults.push({
        at: { file, path },
        message: refusal(name, row.default, checked.problem),
        notes: checked.notes,
      });
    defaults.set(name, {
      name,
      index: row.index,
      type: row.type,
      value: row.default as KnobValue,
      origin: { source: 'catalog', file: file.file, path },
      overridden: [],
      when: null,
      unread: row.unread ?? false,
      perFunction: row.perFunction ?? false,
    });
  }
  // References give numbers for knobs whose names they do not decode, so KnobNNN means the knob with that index, if only one has it.
  const indexed = new Map<number, string[]>();
  for (const [name, { index }] of Object.entries(rows))
    if (typeof index === 'number') indexed.set(index, [...(indexed.get(index) ?? []), name]);
  for (const [index, [name, other]] of indexed)
    if (other === undefined && !byName.has(`knob${index}`)) byName.set(`knob${index}`, name);
  return { rows, byName, names, defaults, faults };
});

const refusal = (name: string, value: unknown, why: string): string =>
  `knob ${name} cannot be ${JSON.stringify(value)}: ${why}`;

/** Reports defaults of a catalog that do not fit the type of their knob. */
function checkDefaults(catalog: SpecFile, issues: Issues): void {
  for (const { at, message, notes } of catalogOf(catalog).faults)
    issues.error(at, 'knob-value', message, { notes });
}

/** For a number given instead of a name: a note that names the knobs with that index, and how to set them. */
function indexNote(rows: Readonly<Record<string, KnobsSpec.Knob>>, key: string): string[] {
  if (!/^\d{1,9}$/.test(key)) return [];
  const found = Object.entries(rows)
    .filter(([, row]) => row.index === Number(key))
    .map(([name, { aliases = [], type }]) => {
      const known = `'${name}'${aliases.length === 0 ? '' : ` (${aliases.join(', ')})`}`;
      const set = `--set ${name}${type === 'NONE' ? '' : '=VALUE'}`;
      return `${known}, which \`${set}\` sets`;
    });
  return found.length === 0 ? [] : [`${key} is the index of ${found.join(' and of ')}`];
}

/** For a key that is a phase name: a note on how to switch a phase off, which takes no knob. */
function phaseNote(specs: Specs, key: string): string[] {
  const phase = (specs.phases.data.phases as readonly PhasesSpec.Phase[]).find(
    (p) => p.name.toLowerCase() === key.toLowerCase(),
  );
  return phase === undefined ? [] : [`${phase.name} is a phase: \`--disable ${phase.name}\` switches it off`];
}

/** The knob with a name or alias, ignoring case; undefined if there is none. */
export const knobNamed = (specs: Specs, name: string): string | undefined =>
  catalogOf(specs.knobs).byName.get(name.toLowerCase());

/**
 * Resolves the value of every knob. Sources are taken in the order catalog, back end, recipes, knob sets, command line. The last one that
 * sets a knob wins, and the overridden values are kept for display. Unknown knobs and invalid values go to `issues`.
 *
 * @param layers the layers that apply to the functions of this plan, weakest first
 * @param tests the function tests that layers refer to by index
 */
export function resolveKnobs(
  specs: Specs,
  request: PlanRequest,
  backend: ResolvedBackend | null,
  layers: readonly Layer[],
  tests: readonly ConditionTest[],
  issues: Issues,
): KnobTable {
  const { rows, byName, names, defaults } = catalogOf(specs.knobs);
  checkDefaults(specs.knobs, issues);
  const knobs = new Map(defaults);
  const spots = new Map<string, Spot>();
  let opcodes: ReadonlySet<string> | undefined;
  const give = (key: string, value: unknown, at: Spot, { source, when }: Source): void => {
    const name = byName.get(key.toLowerCase());
    if (name === undefined) {
      issues.unknown(
        at,
        'unknown-knob',
        `there is no knob '${key}'`,
        key,
        names,
        'knobs/catalog.yaml lists them',
        {
          key: true,
          notes: [...indexNote(rows, key), ...phaseNote(specs, key), '`orrery plan --all` prints every knob'],
        },
      );
      return;
    }
    const row = rows[name];
    if (row.type === 'OPLIST')
      opcodes ??= new Set(specs.isa.flatMap((f) => Object.keys(f.data.opcodes as object)));
    const checked = knobValue(row, value, opcodes);
    if (checked.problem !== undefined) {
      issues.error(at, 'knob-value', refusal(name, value, checked.problem), { notes: checked.notes });
      return;
    }
    const before = knobs.get(name)!;
    const overlaid = produce(before, (knob) => {
      knob.overridden.push({ value: knob.value, origin: knob.origin, when: knob.when });
      knob.value = castDraft(checked.value);
      knob.origin = { source, file: at.file?.file ?? '', path: [...at.path] };
      knob.when = when;
    });
    knobs.set(name, overlaid);
    spots.set(name, at);
  };
  for (const k of backend?.knobs ?? [])
    give(k.name, k.value, { file: k.file, path: ['knobs', k.name] }, { source: 'backend', when: null });
  const giveAll = (layer: Layer): void => {
    const when = layer.tests.length === 0 ? null : layer.tests.map((t) => tests[t].text).join(', ');
    const at = (key: string) => (layer.at.file === null ? layer.at : below(layer.at, 'knobs', key));
    for (const [k, v] of Object.entries(layer.data.knobs ?? {}))
      give(k, v, at(k), { source: layer.source, when });
  };
  // On the command line, a setting for some functions is more specific than one for all, so it wins.
  const last = layers.filter((l) => l.source === 'command-line');
  for (const layer of layers) if (!last.includes(layer)) giveAll(layer);
  for (const text of request.set) {
    if (isWhenText(text)) continue;
    const assigned = assignmentOf(text, specs, issues);
    if (assigned !== null)
      give(assigned[0], assigned[1], COMMAND_LINE, { source: 'command-line', when: null });
  }
  for (const layer of last) giveAll(layer);
  return { knobs, spots };
}

/** Name and value of `NAME=VALUE`, or of `NAME` alone, which sets a flag; null, with an issue, if the knob needs a value. */
function assignmentOf(text: string, specs: Specs, issues: Issues): [string, unknown] | null {
  const { rows, byName } = catalogOf(specs.knobs);
  const at = text.indexOf('=');
  const key = (at < 0 ? text : text.slice(0, at)).trim();
  const name = byName.get(key.toLowerCase());
  if (at >= 0 || name === undefined || rows[name].type === 'NONE')
    return [key, at < 0 ? true : text.slice(at + 1)];
  issues.error(COMMAND_LINE, 'knob-value', `knob ${name} needs a value`, {
    notes: [`--set ${name}=VALUE; only a flag may stand alone`],
  });
  return null;
}

/** The layers of a request's knob sets and of its WHEN records on the command line, in this order. */
export function knobLayers(specs: Specs, request: PlanRequest, tests: Tests, issues: Issues): Layer[] {
  const out: Layer[] = [];
  for (const name of request.knobSets) {
    const f = specs.knobSets.get(name);
    const sets = [...specs.knobSets.keys()];
    if (f !== undefined) out.push(knobSetLayer(f, name, tests));
    else
      issues.unknown(
        COMMAND_LINE,
        'unknown-knob-set',
        `there is no knob set '${name}'`,
        name,
        sets,
        `knob sets are ${sets.join(', ')}; a file is given by its path`,
      );
  }
  for (const text of request.set.filter(isWhenText))
    for (const { hash, assignments } of whenRecords(text, COMMAND_LINE, issues)) {
      const knobs = assignments.flatMap((x) => {
        const assigned = assignmentOf(x, specs, issues);
        return assigned === null ? [] : [assigned];
      });
      const own = hash === null ? [] : [tests.add(testOfWhen({ hash: [hash] }))];
      out.push({
        source: 'command-line',
        name: text,
        at: COMMAND_LINE,
        data: { knobs: Object.fromEntries(knobs) },
        tests: own,
      });
    }
  for (const l of out)
    if (l.tests.length > 0 || l.source === 'command-line') refuseManagerKnob(specs, l, issues);
  return out;
}

/** Reports a layer that sets knob 391: recipes are chosen before any of them is read and before any function is tested. */
export function refuseManagerKnob(specs: Specs, layer: Layer, issues: Issues): void {
  const recipe = layer.source === 'recipe';
  for (const key of Object.keys(layer.data.knobs ?? {}))
    if (knobNamed(specs, key) === MANAGER_KNOB)
      issues.error(
        layer.at.file === null ? layer.at : below(layer.at, 'knobs', key),
        'recipe-manager',
        `knob ${MANAGER_KNOB} says which recipes are applied, so ${recipe ? 'no recipe' : 'neither a `when` nor a WHEN record'} can set it`,
        {
          key: true,
          notes: [
            recipe
              ? '`extends` names recipes that this one starts from'
              : `--set ${MANAGER_KNOB}=VALUE sets it for all functions; a \`when\` in a recipe says which it is for`,
          ],
        },
      );
}
