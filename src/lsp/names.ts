import { host } from '../engine/pipeline.ts';
import { isMap } from '../ir/data.ts';
import { memo } from '../ir/memo.ts';
import type { Isa } from '../ir/opcode.ts';
import { buildIsa } from '../isa/build.ts';
import { METRICS } from '../lab/metrics.ts';
import { isaDocs } from '../spec/plan-skeleton.ts';
import { factPaths } from '../spec/references.ts';
import type { Specs } from '../spec/specs.ts';
import { targetsOf } from '../spec/targets.ts';
import type { KnobsSpec, PhasesSpec } from '../spec/types.generated.ts';

/** What a name in a spec can stand for. */
export type Category =
  | 'phase'
  | 'hook'
  | 'pass'
  | 'knob'
  | 'order'
  | 'recipe'
  | 'knob-set'
  | 'group'
  | 'target'
  | 'backend'
  | 'opcode'
  | 'fact'
  | 'metric'
  | 'property'
  | 'step-list';

/** A name, and one line about it. */
export interface Named {
  readonly name: string;
  readonly about: string;
}

export type Knobs = Readonly<Record<string, KnobsSpec.Knob>>;
export const knobsOf = (specs: Specs): Knobs => specs.knobs.data.knobs as Knobs;
export const rowsOf = (specs: Specs): readonly PhasesSpec.Phase[] =>
  specs.phases.data.phases as readonly PhasesSpec.Phase[];

/** A value of a knob as written in YAML. */
export const valueText = (v: unknown): string =>
  v === null || v === undefined ? 'unset' : typeof v === 'string' ? v : JSON.stringify(v);

const knobLine = (k: KnobsSpec.Knob): string => `${k.type}, default ${valueText(k.default)}: ${k.effect}`;

/** The instruction set of specs. */
export const isaOf = memo((specs: Specs): Isa => buildIsa(isaDocs(specs)).isa);

/** Every name that specs may use, by what it stands for. */
export const namesOf = memo((specs: Specs): Readonly<Record<Category, readonly Named[]>> => {
  const rows = rowsOf(specs);
  const phase = (p: PhasesSpec.Phase): Named => ({ name: p.name, about: `${p.status}: ${p.purpose}` });
  const unique = new Map(rows.filter((p) => p.slot === undefined).map((p) => [p.name, p]));
  const titled = (specsByName: Specs['orders'] | undefined): Named[] =>
    [...(specsByName ?? [])].map(([name, f]) => ({ name, about: String(f.data.title ?? '') }));
  const data = specs.phases.data as { properties?: object; stepLists?: object };
  return {
    phase: [...unique.values()].map(phase),
    hook: [...unique.values()].filter((p) => p.hook !== undefined).map(phase),
    pass: [...host.passes].sort().map((name) => ({ name, about: `src/passes/**/${name}.ts` })),
    knob: Object.entries(knobsOf(specs)).map(([name, k]) => ({ name, about: knobLine(k) })),
    order: titled(specs.orders),
    recipe: titled(specs.recipes),
    'knob-set': titled(specs.knobSets),
    group: titled(specs.rules),
    target: targetsOf(specs).map((name) => ({ name, about: '' })),
    backend: [...specs.backends].map(([name, f]) => ({ name, about: String(f.data.gpu ?? '') })),
    opcode: [...isaOf(specs).byName.values()].map((o) => ({ name: o.name, about: o.title })),
    fact: [...factPaths(specs.backends.values())].map(([name, values]) => ({
      name,
      about: factLine(values),
    })),
    metric: METRICS.map((m) => ({ name: m.name, about: `${m.title}, in ${m.unit} (${m.source})` })),
    property: Object.entries(data.properties ?? {}).map(([name, p]) => ({
      name,
      about: String((p as { means?: string }).means ?? ''),
    })),
    'step-list': Object.keys(data.stepLists ?? {}).map((name) => ({ name, about: '' })),
  };
});

/** The values that back ends have for a fact. */
const factLine = (values: readonly unknown[]): string =>
  [...new Set(values.filter((v) => !isMap(v)).map((v) => JSON.stringify(v)))].slice(0, 6).join(', ');

/** The canonical name of a knob or of one of its aliases, in any case; undefined if there is none. */
export function knobCalled(specs: Specs, word: string): string | undefined {
  const wanted = word.toLowerCase();
  return Object.entries(knobsOf(specs)).find(([name, k]) =>
    [name, ...(k.aliases ?? [])].some((n) => n.toLowerCase() === wanted),
  )?.[0];
}
