import type { About } from '../protocol.ts';

/** A word that may stand at a place. */
export interface Word {
  readonly label: string;
  readonly detail: string;
  /** Text that is put in where it is another than the label. */
  readonly apply?: string;
}

/** Keys behind which names of phases stand, and the like. */
const NAMES: Readonly<Record<string, (a: About) => readonly string[]>> = {
  move: (a) => a.phases,
  before: (a) => a.phases,
  after: (a) => a.phases,
  drop: (a) => a.phases,
  replace: (a) => a.phases,
  phase: (a) => a.phases,
  disable: (a) => a.phases,
  enable: (a) => a.phases,
  pass: (a) => a.passes,
  rules: (a) => a.groups,
  extends: (a) => [...a.orders, ...a.recipes].map((o) => o.name),
  sm: (a) => a.targets,
};

const words = (names: readonly string[]): readonly Word[] => names.map((label) => ({ label, detail: '' }));

/**
 * What may follow in a spec: names behind keys that take them, knobs under `knobs`, hooks under `hooks`, else keys of the kind's schema.
 *
 * @param before the text up to the word that is being typed
 * @param kind kind of the spec; undefined where it does not say yet
 */
export function completions(about: About, before: string, kind: string | undefined): readonly Word[] {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const key = /([\w-]+):\s*(?:\[[^\]{]*)?$/.exec(line)?.[1];
  if (key === 'kind') return words(Object.keys(about.schemas));
  if (key !== undefined && Object.hasOwn(NAMES, key)) return words(NAMES[key](about));
  // A value that is no name is anybody's guess.
  if (key !== undefined && key !== 'knobs') return [];
  const parent = line.includes('{') ? key : parentKey(before);
  if (parent === 'knobs')
    return about.knobs.map((k) => ({ label: k.name, detail: `${k.type} ${k.effect}`, apply: `${k.name}: ` }));
  if (parent === 'hooks') return words(about.phases.filter((p) => p.startsWith('AdvancedPhase')));
  const schema = kind === undefined ? undefined : about.schemas[kind];
  return schema === undefined
    ? [{ label: 'kind', detail: 'what this document is', apply: 'kind: ' }]
    : keysOf(schema);
}

/** The key under which the line that is being typed is indented. */
function parentKey(text: string): string | undefined {
  const lines = text.split('\n');
  const indent = /^[ -]*/.exec(lines.at(-1) ?? '')![0].length;
  for (let i = lines.length - 2; i >= 0; i--) {
    const m = /^( *)([\w-]+):\s*$/.exec(lines[i]);
    if (m !== null && m[1].length < indent) return m[2];
  }
  return undefined;
}

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly description?: string }>>;
  readonly definitions?: Readonly<Record<string, Schema>>;
  readonly oneOf?: readonly Schema[];
}

/** Every key of a schema, its definitions included. */
function keysOf(schema: Schema): readonly Word[] {
  const out = new Map<string, string>();
  const see = (s: Schema): void => {
    for (const [name, { description = '' }] of Object.entries(s.properties ?? {}))
      if (!out.has(name)) out.set(name, description);
    for (const d of [...Object.values(s.definitions ?? {}), ...(s.oneOf ?? [])]) see(d);
  };
  see(schema);
  return [...out].map(([label, detail]) => ({ label, detail, apply: `${label}: ` }));
}
