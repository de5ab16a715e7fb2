// Writes dist/schemas: the schemas of specs with the names of phases, passes, knobs, orders and so on, for editors that complete and check
// by JSON Schema alone.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { enumerated } from '../lsp/specs/enumerated.ts';
import { KINDS } from '../spec/document.ts';
import { loadShipped, schemaOf } from '../spec/node.ts';
import { DIST } from './dist.ts';

const folder = join(DIST, 'schemas');
mkdirSync(folder, { recursive: true });
const specs = await loadShipped();
for (const kind of KINDS)
  writeFileSync(
    join(folder, `${kind}.schema.json`),
    `${JSON.stringify(enumerated(kind, schemaOf(kind), specs), null, 1)}\n`,
  );
