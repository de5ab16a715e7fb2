// Writes src/spec/types.generated.ts from schemas/*.schema.json: one TypeScript type for each kind of spec.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from 'json-schema-to-typescript';
import { ROOT } from '../spec/node.ts';

/** The text of the generated file. */
export async function generatedTypes(): Promise<string> {
  const out = ['// Generated from schemas/*.schema.json by `npm run generate`. Do not edit.\n'];
  for (const f of readdirSync(join(ROOT, 'schemas')).sort()) {
    const schema = JSON.parse(readFileSync(join(ROOT, 'schemas', f), 'utf8')) as Record<string, unknown>;
    const name = f.replace('.schema.json', '').replace(/(^|-)(\w)/g, (_m, _d, c: string) => c.toUpperCase());
    // Each schema is a module of its own, so that equal names of parts do not clash.
    const body = await compile({ ...schema, title: name }, name, {
      bannerComment: '',
      additionalProperties: false,
      format: false,
      cwd: ROOT,
    });
    out.push(`export namespace ${name}Spec {\n${body.trimEnd()}\n}\n`);
  }
  return out.join('\n');
}

if (
  process.argv[1]?.endsWith('generate-types.js') === true ||
  process.argv[1]?.endsWith('generate-types.ts') === true
)
  writeFileSync(join(ROOT, 'src', 'spec', 'types.generated.ts'), await generatedTypes());
