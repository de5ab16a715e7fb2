import { castDraft } from 'immer';
import type { KnobValue } from '../ir/pass.ts';
import type { ResolvedBackend } from './backend.ts';
import type { SpecFile } from './document.ts';
import { covers } from './glob.ts';
import { below, COMMAND_LINE, type Issues, type Spot } from './issues.ts';
import { knobValue } from './knob-values.ts';
import type { Origin, ResolvedKnob } from './plan.ts';
import type { PlanRequest, Specs } from './specs.ts';
import { produce } from './state.ts';
import type { KnobsSpec } from './types.generated.ts';

/** Every knob with its winning value, and the place that said it. */
export interface KnobTable {
  readonly knobs: ReadonlyMap<string, ResolvedKnob>;
  /** Places of the winning values that are not from the catalog. */
  readonly spots: ReadonlyMap<string, Spot>;
}

interface Source {
  readonly source: Origin['source'];
  /** Kernels that it is for; null: all. */
  readonly when: string | null;
}

/** The catalog as every request starts from it. */
interface Catalog {
  readonly rows: Readonly<Record<string, KnobsSpec.Knob>>;
  /** Names by their names and aliases in lower case. */
  readonly byName: ReadonlyMap<string, string>;
  /** Names and aliases. */
  readonly names: readonly string[];
  readonly defaults: ReadonlyMap<string, ResolvedKnob>;
}

const catalogs = new WeakMap<SpecFile, Catalog>();

function catalogOf(file: SpecFile): Catalog {
  let known = catalogs.get(file);
  if (known === undefined) catalogs.set(file, (known = readCatalog(file)));
  return known;
}

function readCatalog(file: SpecFile): Catalog {
  const rows = file.data.knobs as Catalog['rows'];
  const byName = new Map<string, string>();
  const names: string[] = [];
  const defaults = new Map<string, ResolvedKnob>();
  for (const [name, row] of Object.entries(rows)) {
    for (const n of [name, ...(row.aliases ?? [])]) {
      byName.set(n.toLowerCase(), name);
      names.push(n);
    }
    defaults.set(name, {
      name,
      index: row.index,
      type: row.type,
      value: row.default as KnobValue,
      origin: { source: 'catalog', file: file.file, path: ['knobs', name, 'default'] },
      overridden: [],
      when: null,
      unread: row.unread ?? false,
    });
  }
  return { rows, byName, names, defaults };
}

/**
 * Values in the order catalog, back end, recipe, knob sets, command line: the last that speaks wins, the others are kept
 * for display.
 */
export function resolveKnobs(
  specs: Specs,
  request: PlanRequest,
  backend: ResolvedBackend | null,
  recipe: SpecFile | null,
  issues: Issues,
): KnobTable {
  const { rows, byName, names, defaults } = catalogOf(specs.knobs);
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
          notes: ['`orrery plan --all` prints every knob'],
        },
      );
      return;
    }
    const row = rows[name];
    if (row.type === 'OPLIST')
      opcodes ??= new Set(specs.isa.flatMap((f) => Object.keys(f.data.opcodes as object)));
    const checked = knobValue(row, value, opcodes);
    if (checked.problem !== undefined) {
      const message = `knob ${name} (${row.type}) cannot be ${JSON.stringify(value)}: ${checked.problem}`;
      issues.error(at, 'knob-value', message, { notes: checked.notes });
      return;
    }
    const before = knobs.get(name)!;
    if (when !== null && before.when !== null)
      issues.error(at, 'knob-when', `knob ${name} has two values, each for some kernels only`, {
        key: true,
        notes: [
          `the other is for '${before.when}' (${before.origin.source} ${before.origin.file})`,
          'make one of them unconditional, or plan for one kernel',
        ],
      });
    const overlaid = produce(before, (knob) => {
      knob.overridden.push({ value: knob.value, origin: knob.origin, when: knob.when });
      knob.value = castDraft(checked.value);
      knob.origin = { source, file: at.file?.file ?? '', path: [...at.path] };
      knob.when = when;
    });
    knobs.set(name, overlaid);
    spots.set(name, at);
  };
  const giveAll = (file: SpecFile, source: string): void => {
    const when = settledWhen(file, request.kernel);
    if (when === false) return;
    const values = (file.data.knobs as Record<string, unknown> | undefined) ?? {};
    for (const [k, v] of Object.entries(values))
      give(k, v, below({ file, path: [] }, 'knobs', k), { source, when });
  };

  for (const k of backend?.knobs ?? [])
    give(k.name, k.value, { file: k.file, path: ['knobs', k.name] }, { source: 'backend', when: null });
  if (recipe !== null) giveAll(recipe, 'recipe');
  for (const name of request.knobSets) {
    const f = specs.knobSets.get(name);
    const sets = [...specs.knobSets.keys()];
    if (f !== undefined) giveAll(f, 'knob-set');
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
  for (const text of request.set) {
    const at = text.indexOf('=');
    const key = (at < 0 ? text : text.slice(0, at)).trim();
    const name = byName.get(key.toLowerCase());
    if (at < 0 && name !== undefined && rows[name].type !== 'NONE')
      issues.error(COMMAND_LINE, 'knob-value', `knob ${name} needs a value`, {
        notes: [`--set ${name}=VALUE; only a flag may stand alone`],
      });
    else give(key, at < 0 ? true : text.slice(at + 1), COMMAND_LINE, { source: 'command-line', when: null });
  }
  return { knobs, spots };
}

/**
 * Whether a spec with a `when` speaks: null where it holds for all kernels asked about, false where it holds for none of
 * them, else the pattern that is to be asked for each kernel.
 */
export function settledWhen(file: SpecFile, kernel: string | undefined): string | null | false {
  const when = (file.data.when as { readonly kernel?: string } | undefined)?.kernel ?? null;
  if (when === null || kernel === undefined) return when;
  return covers(when, kernel) ? null : false;
}
