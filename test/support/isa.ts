import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Isa } from '../../src/ir/opcode.ts';
import { buildIsa } from '../../src/isa/build.ts';

const dir = new URL('../../pipelines/isa/', import.meta.url);
let cached: Isa | null = null;

/** The shipped instruction set, read from YAML. */
export function testIsa(): Isa {
  if (cached !== null) return cached;
  const docs = readdirSync(dir)
    .filter((f) => f.endsWith('.yaml'))
    .sort()
    .map((file) => ({ file, data: parse(readFileSync(new URL(file, dir), 'utf8')) as { kind: string } }))
    .filter((d) => d.data.kind === 'isa' || d.data.kind === 'ptx')
    .sort((a, b) => (a.data.kind < b.data.kind ? -1 : a.data.kind > b.data.kind ? 1 : 0));
  const { isa, diagnostics } = buildIsa(docs);
  if (diagnostics.length > 0) throw new Error(diagnostics.map((d) => `${d.file}: ${d.message}`).join('\n'));
  cached = isa;
  return isa;
}
