// Writes dist/specs.json: every shipped spec, parsed and validated, by the hash of its text. A spec that is changed after
// the build is found by its new hash and read from YAML again.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDiagnostic } from '../ir/diagnostic.ts';
import { readSpec } from '../spec/document.ts';
import { schemaOf, shippedFiles } from '../spec/node.ts';
import { type BuiltSpecs, type CachedSpec, ROOT, schemasHash, sha256 } from '../spec/node-cache.ts';

const specs: Record<string, CachedSpec> = {};
let faults = 0;
for (const path of shippedFiles()) {
  const text = readFileSync(path, 'utf8');
  const { spec, diagnostics } = readSpec(path.slice(ROOT.length + 1), text, schemaOf);
  for (const d of diagnostics) process.stderr.write(`${renderDiagnostic(d, text)}\n`);
  faults += diagnostics.length;
  if (spec !== null) specs[sha256(text)] = { kind: spec.kind, data: spec.data };
}
if (faults > 0) process.exit(1);
const out: BuiltSpecs = { schemas: schemasHash(), specs };
writeFileSync(join(ROOT, 'dist', 'specs.json'), JSON.stringify(out));
