import { host } from '../../engine/pipeline.ts';
import type { Specs } from '../../spec/specs.ts';
import type { About, Choice, EngineData, KnobChoice } from '../protocol.ts';

/** Kinds of specs that can be edited on a page. */
const EDITED = ['order', 'recipe', 'knob-set', 'rules', 'launch'];

/** Names and schemas for menus and completion. */
export function aboutOf(specs: Specs, data: EngineData): About {
  const choices = (files: Specs['orders']): Choice[] =>
    [...files].map(([name, f]) => ({ name, title: String(f.data.title ?? '') }));
  const rows = specs.phases.data.phases as readonly { readonly name: string }[];
  return {
    version: data.version,
    orders: choices(specs.orders),
    recipes: choices(specs.recipes),
    knobSets: choices(specs.knobSets),
    targets: [...specs.backends.values()]
      .flatMap((b) => (typeof b.data.sm === 'string' ? [b.data.sm] : []))
      .sort((a, b) => Number(a.slice(3)) - Number(b.slice(3))),
    phases: [...new Set(rows.map((r) => r.name))],
    passes: [...host.passes],
    groups: [...(specs.rules?.keys() ?? [])],
    knobs: knobChoices(specs),
    schemas: Object.fromEntries(EDITED.map((kind) => [kind, data.shipped.schemas[kind]])),
  };
}

interface CatalogKnob {
  readonly index: number | null;
  readonly type: string;
  readonly default: unknown;
  readonly effect?: string;
  readonly readers?: readonly string[];
}

const knobChoices = (specs: Specs): KnobChoice[] =>
  Object.entries(specs.knobs.data.knobs as Readonly<Record<string, CatalogKnob>>).map(([name, k]) => ({
    name,
    index: k.index,
    type: k.type,
    value: k.default === null || k.default === undefined ? 'unset' : JSON.stringify(k.default),
    effect: k.effect ?? '',
    readers: k.readers ?? [],
  }));
