import { match } from 'ts-pattern';
import { dataHash } from '../ir/hash.ts';
import type { CachedSpec, SpecFile, SpecKind } from './document.ts';
import type { Specs } from './specs.ts';
import { produce } from './state.ts';

/** All shipped specs and schemas as data, written by the build for hosts without files. */
export interface ShippedSpecs {
  readonly specs: readonly (CachedSpec & { readonly file: string })[];
  /** JSON Schemas by kind. */
  readonly schemas: Readonly<Record<string, object>>;
}

/** The name of a spec by its path: `mine` for `orders/mine.yaml`. */
export const stemOf = (file: string): string =>
  file
    .replaceAll('\\', '/')
    .replace(/^.*\//s, '')
    .replace(/\.ya?ml$/, '');

/** The name under which a spec is looked up: its own `name`, or its file's. */
export const specName = (f: SpecFile): string =>
  f.kind === 'backend' ? String(f.data.name) : f.kind === 'rules' ? String(f.data.group) : stemOf(f.file);

/** Hash of the data of a spec; the build made it where nothing has changed since. */
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

/** Shipped specs as files without text, so messages about them cannot name lines. */
export const shippedSpecFiles = (shipped: ShippedSpecs): SpecFile[] =>
  shipped.specs.map(({ file, ...built }) => ({ file, text: '', kind: built.kind, data: built.data, built }));

/** `Specs` with replaceable parts; the documents themselves stay read-only. */
type Changeable = {
  -readonly [K in keyof Specs]: Specs[K] extends ReadonlyMap<string, SpecFile> | undefined
    ? Map<string, SpecFile>
    : Specs[K];
};

/**
 * Specs with a document added. An order, a recipe or a knob set is looked up by the path given here. A rule group, a back end or a
 * file of opcodes replaces the shipped one of its name, and a table of phases, constraints, knobs, PTX forms, reviews or faults of
 * ptxas the only one of its kind. A file that only says how PTX is carried is added to the instruction set.
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
      .with('ptx-syntax', 'launch', 'experiment', 'budget', 'machine', () => undefined)
      .exhaustive();
  });
