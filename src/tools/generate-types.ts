// Writes src/spec/types.generated.ts from schemas/*.schema.json: one namespace of TypeScript types for each kind of spec.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';
import { isMap } from '../ir/data.ts';
import { ROOT } from '../spec/node.ts';

type Schema = Record<string, unknown>;

/** True for alternatives that only constrain which keys occur together; in TypeScript they would become unreadable intersections. */
const onlyKeys = (v: unknown): boolean =>
  Array.isArray(v) && v.every((a) => isMap(a) && Object.keys(a).every((k) => k === 'required'));

/**
 * The part of a schema that types can express. Constraints on which keys occur together are left to the validator, and only maps with fixed
 * keys get a named type.
 */
function typed(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(typed);
  if (!isMap(v)) return v;
  const out: Schema = {};
  for (const [key, value] of Object.entries(v)) {
    if (key === 'dependencies' || key === 'propertyNames') continue;
    if ((key === 'oneOf' || key === 'anyOf') && onlyKeys(value)) continue;
    if (key === 'title' && typeof value === 'string' && !isMap(v.properties)) continue;
    if ((key === 'minItems' || key === 'maxItems') && !(v.minItems === v.maxItems)) continue;
    out[key] = key === 'properties' || key === 'definitions' ? typedAll(value as Schema) : typed(value);
  }
  return out;
}

const typedAll = (v: Schema): Schema => Object.fromEntries(Object.entries(v).map(([k, s]) => [k, typed(s)]));

/** The text of the generated file. */
export async function generatedTypes(): Promise<string> {
  const out = ['// Generated from schemas/*.schema.json by `npm run generate`. Do not edit.\n'];
  for (const f of readdirSync(join(ROOT, 'schemas')).sort()) {
    // The schemas of command output are in a subfolder.
    if (!f.endsWith('.schema.json')) continue;
    const schema = JSON.parse(readFileSync(join(ROOT, 'schemas', f), 'utf8')) as Schema;
    const name = f.replace('.schema.json', '').replace(/(^|-)(\w)/g, (_m, _d, c: string) => c.toUpperCase());
    // Each schema gets its own namespace, so that equal names of parts do not clash.
    const body = await compile({ ...(typed(schema) as Schema), title: name }, name, {
      bannerComment: '',
      additionalProperties: false,
      format: false,
      cwd: ROOT,
    });
    out.push(`export namespace ${name}Spec {\n${body.trimEnd()}\n}\n`);
  }
  return out.join('\n');
}

if (/generate-types\.[jt]s$/.test(process.argv[1] ?? ''))
  writeFileSync(join(ROOT, 'src', 'spec', 'types.generated.ts'), await generatedTypes());
