import { match } from 'ts-pattern';
import { dataHash } from '../ir/hash.ts';
import type { CachedSpec, SpecFile, SpecKind } from './document.ts';
import type { Specs } from './specs.ts';
import { produce } from './state.ts';

/** All shipped specs and schemas as data. The build writes this for hosts without a file system. */
export interface ShippedSpecs {
  readonly specs: readonly (CachedSpec & { readonly file: string })[];
  /** JSON Schemas by kind. */
  readonly schemas: Readonly<Record<string, object>>;
}

/** A path's base name without its YAML extension: `mine` for `orders/mine.yaml`. */
export const stemOf = (file: string): string =>
  file
    .replaceAll('\\', '/')
    .replace(/^.*\//s, '')
    .replace(/\.ya?ml$/, '');

/** The name under which a spec is looked up: a back end's `name`, a rule file's `group`, or else the base name of the file. */
export const specName = (f: SpecFile): string =>
  f.kind === 'backend' ? String(f.data.name) : f.kind === 'rules' ? String(f.data.group) : stemOf(f.file);

/** Hash of a spec's data. The hash that the build stored is reused if the data is unchanged. */
export const hashOfSpec = ({ data, built }: Pick<SpecFile, 'data' | 'built'>): string =>
  built?.hash !== undefined && built.data === data ? built.hash : dataHash(data);

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
    reviews: files.find((f) => f.kind === 'reviews'),
    ptxasFaults: files.find((f) => f.kind === 'ptxas-faults'),
  };
}

/** Shipped specs as files without text; diagnostics about them therefore have no line numbers. */
export const shippedSpecFiles = (shipped: ShippedSpecs): SpecFile[] =>
  shipped.specs.map(({ file, ...built }) => ({ file, text: '', kind: built.kind, data: built.data, built }));

/** `Specs` with writable fields and maps; the documents themselves stay read-only. */
type Changeable = {
  -readonly [K in keyof Specs]: Specs[K] extends ReadonlyMap<string, SpecFile> | undefined
    ? Map<string, SpecFile>
    : Specs[K];
};

/**
 * Specs with a document added. Orders, recipes and knob sets are entered under `path`. A rule group, a back end or a file of opcodes
 * replaces the shipped one of the same name. A table of phases, constraints, knobs, PTX forms, reviews or ptxas faults replaces the only
 * one of its kind. An instruction file without `opcodes`, which only declares PTX that Ori carries unchanged, is added to the instruction
 * set.
 */
export const withSpec = (specs: Specs, f: SpecFile, path = f.file): Specs =>
  produce(specs, (draft: Changeable) => {
    match(f.kind)
      .with('phases', 'constraints', 'knobs', 'ptx', 'reviews', (kind) => void (draft[kind] = f))
      .with('ptxas-faults', () => void (draft.ptxasFaults = f))
      .with(
        'isa',
        () =>
          void (draft.isa = [
            ...specs.isa.filter((x) => f.data.opcodes === undefined || stemOf(x.file) !== stemOf(f.file)),
            f,
          ]),
      )
      .with('backend', () => void draft.backends.set(specName(f), f))
      .with('order', () => void draft.orders.set(path, f))
      .with('recipe', () => void draft.recipes.set(path, f))
      .with('knob-set', () => void draft.knobSets.set(path, f))
      .with('rules', () => {
        draft.rules ??= new Map();
        draft.rules.set(specName(f), f).set(path, f);
      })
      .with('ptx-syntax', 'launch', 'experiment', 'budget', 'machine', 'selection', () => undefined)
      .exhaustive();
  });
