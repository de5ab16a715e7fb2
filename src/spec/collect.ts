import { match } from 'ts-pattern';
import type { CachedSpec, SpecFile, SpecKind } from './document.ts';
import type { Specs } from './specs.ts';
import { produce } from './state.ts';

/** All specs and schemas that ship, as data: what the build makes, for hosts without files. */
export interface ShippedSpecs {
  readonly specs: readonly (CachedSpec & { readonly file: string })[];
  /** JSON Schemas by kind. */
  readonly schemas: Readonly<Record<string, object>>;
}

/** The name that a path gives to a spec: `mine` of `orders/mine.yaml`. */
const stem = (file: string): string => file.slice(file.lastIndexOf('/') + 1).replace(/\.ya?ml$/, '');

/** The name under which a spec is found: what it calls itself, or its file's name. */
export const specName = (f: SpecFile): string =>
  f.kind === 'backend'
    ? String(f.data.name)
    : f.kind === 'rules'
      ? String(f.data.group)
      : stem(f.file.replaceAll('\\', '/'));

/** Specs by kind and name. There must be one each of the kinds `phases`, `constraints` and `knobs`. */
export function specsOf(files: readonly SpecFile[]): Specs {
  const by = (kind: SpecKind) =>
    new Map(files.filter((f) => f.kind === kind).map((f) => [specName(f), f] as const));
  return {
    phases: files.find((f) => f.kind === 'phases')!,
    constraints: files.find((f) => f.kind === 'constraints')!,
    knobs: files.find((f) => f.kind === 'knobs')!,
    isa: files.filter((f) => f.kind === 'isa'),
    ptx: files.find((f) => f.kind === 'ptx'),
    orders: by('order'),
    backends: by('backend'),
    recipes: by('recipe'),
    knobSets: by('knob-set'),
    rules: by('rules'),
  };
}

/** Shipped specs as files without a text, so that nothing can be said about their lines. */
export const shippedSpecFiles = (shipped: ShippedSpecs): SpecFile[] =>
  shipped.specs.map(({ file, ...built }) => ({ file, text: '', kind: built.kind, data: built.data, built }));

/** Specs whose parts can be exchanged. The documents themselves stay as they are. */
type Changeable = {
  -readonly [K in keyof Specs]: Specs[K] extends ReadonlyMap<string, SpecFile> | undefined
    ? Map<string, SpecFile>
    : Specs[K];
};

/**
 * Specs with a document added: an order, recipe, knob set or group of rules is found by its file as given and by its name, so that
 * it takes the place of a shipped one of that name; a table of phases, constraints or knobs takes the place of the shipped one.
 */
export const withSpec = (specs: Specs, f: SpecFile): Specs =>
  produce(specs, (draft: Changeable) => {
    const enter = (map: Map<string, SpecFile>): void => void map.set(specName(f), f).set(f.file, f);
    match(f.kind)
      .with('phases', 'constraints', 'knobs', 'ptx', (kind) => void (draft[kind] = f))
      .with('isa', () => void (draft.isa = [...specs.isa.filter((x) => stem(x.file) !== stem(f.file)), f]))
      .with('backend', () => void draft.backends.set(specName(f), f))
      .with('order', () => enter(draft.orders))
      .with('recipe', () => enter(draft.recipes))
      .with('knob-set', () => enter(draft.knobSets))
      .with('rules', () => enter((draft.rules ??= new Map())))
      .with('launch', () => undefined)
      .exhaustive();
  });
