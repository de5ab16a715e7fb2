import { KINDS } from '../../spec/document.ts';
import { schemaOf } from '../../spec/node.ts';
import type { Path } from '../slots.ts';

/** As much of JSON Schema (draft-07) as the schemas of specs use for their structure. */
export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema | boolean>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly definitions?: Readonly<Record<string, Schema>>;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

const kept = new Map<string, Schema>();

/** The schema of a kind; undefined for a kind that does not exist. */
export function schemaOfKind(kind: string | undefined): Schema | undefined {
  if (kind === undefined || !(KINDS as readonly string[]).includes(kind)) return undefined;
  let schema = kept.get(kind);
  if (schema === undefined) kept.set(kind, (schema = schemaOf(kind) as Schema));
  return schema;
}

/** A schema with its reference followed and its alternatives beside it. */
function forms(root: Schema, schema: Schema | boolean | undefined, depth = 0): readonly Schema[] {
  if (schema === undefined || typeof schema === 'boolean' || depth > 8) return [];
  const to = /^#\/definitions\/(.+)$/.exec(schema.$ref ?? '')?.[1];
  return [
    schema,
    ...(to === undefined ? [] : forms(root, root.definitions?.[to], depth + 1)),
    ...[...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].flatMap((s) => forms(root, s, depth + 1)),
  ];
}

/** What a schema says about the value at a path: every form that it may have. */
function schemasAt(root: Schema, path: Path): readonly Schema[] {
  let at = forms(root, root);
  for (const step of path)
    at = at.flatMap((s) => {
      if (typeof step === 'number') return forms(root, s.items);
      const own = s.properties?.[step];
      if (own !== undefined) return forms(root, own);
      return typeof s.additionalProperties === 'object' ? forms(root, s.additionalProperties) : [];
    });
  return at;
}

/** A key, or a fixed value, with what the schema says about it. */
export interface Word {
  readonly word: string;
  readonly about: string;
}

const firstText = (root: Schema, s: Schema): string =>
  forms(root, s).find((f) => f.description !== undefined)?.description ?? '';

/** The keys of the map at a path. */
export function keysAt(root: Schema, path: Path): readonly Word[] {
  const out = new Map<string, string>();
  for (const s of schemasAt(root, path))
    for (const [word, p] of Object.entries(s.properties ?? {}))
      if (typeof p !== 'boolean' && !out.has(word)) out.set(word, firstText(root, p));
  return [...out].map(([word, about]) => ({ word, about }));
}

/** The values that the schema lists for a path. */
export function valuesAt(root: Schema, path: Path): readonly Word[] {
  const found = schemasAt(root, path).flatMap((s) => [
    ...(s.enum ?? []),
    ...(s.const === undefined ? [] : [s.const]),
    ...(s.type === 'boolean' ? [true, false] : []),
  ]);
  return [...new Set(found.map(String))].map((word) => ({ word, about: '' }));
}

/** What the schema says about the key or value at a path. */
export const aboutAt = (root: Schema, path: Path): string =>
  schemasAt(root, path).find((s) => s.description !== undefined)?.description ?? '';
