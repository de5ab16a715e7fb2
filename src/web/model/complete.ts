import type { About } from '../protocol.ts';

/** A completion for a position. */
export interface Word {
  readonly label: string;
  readonly detail: string;
  /** The inserted text, if it differs from the label. */
  readonly apply?: string;
}

/** Keys whose values are names, and the names. */
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
 * Completions in a spec: names after keys that take them, knobs under `knobs`, hooks under `hooks`, else keys of the schema of the kind.
 *
 * @param before the text up to the word that is being typed
 * @param kind kind of the spec; undefined if not stated yet
 */
export function completions(about: About, before: string, kind: string | undefined): readonly Word[] {
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const key = /([\w-]+):\s*(?:\[[^\]{]*)?$/.exec(line)?.[1];
  if (key === 'kind') return words(Object.keys(about.schemas));
  if (key !== undefined && Object.hasOwn(NAMES, key)) return words(NAMES[key](about));
  // No completion for a value that is not a name.
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

/** The parent key of the line that is being typed, by indentation. */
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

/** Every key of a schema, including its definitions. */
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
