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

/** `Specs` with replaceable parts; the documents themselves stay read-only. */
type Changeable = {
  -readonly [K in keyof Specs]: Specs[K] extends ReadonlyMap<string, SpecFile> | undefined
    ? Map<string, SpecFile>
    : Specs[K];
};

/**
 * Specs with a document added. An order, recipe or knob set is found by the path that it is given, a group of rules by its name too, so
 * that it takes the place of a shipped one of that name; so does a back end. A table of phases, constraints, knobs or PTX forms
 * takes the place of the shipped one.
 */
export const withSpec = (specs: Specs, f: SpecFile, path = f.file): Specs =>
  produce(specs, (draft: Changeable) => {
    match(f.kind)
      .with('phases', 'constraints', 'knobs', 'ptx', (kind) => void (draft[kind] = f))
      .with('isa', () => void (draft.isa = [...specs.isa.filter((x) => stem(x.file) !== stem(f.file)), f]))
      .with('backend', () => void draft.backends.set(specName(f), f))
      .with('order', () => void draft.orders.set(path, f))
      .with('recipe', () => void draft.recipes.set(path, f))
      .with('knob-set', () => void draft.knobSets.set(path, f))
      .with('rules', () => {
        draft.rules ??= new Map();
        draft.rules.set(specName(f), f).set(path, f);
      })
      .with('ptx-syntax', 'launch', 'experiment', 'budget', () => undefined)
      .exhaustive();
  });
