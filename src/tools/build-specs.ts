// Writes dist/specs.json: every shipped spec, parsed and validated, by the hash of its text. A spec that changes after the build has a new
// hash and is read from YAML again. Rules are checked and their automata built, so that this need not be done at run time. Machine-code
// forms, which few commands read, go to dist/machine.json. Also writes modules for hosts without a file system: dist/shipped.js has the
// same specs and the schemas, dist/machine-data.js the forms.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderDiagnostic } from '../ir/diagnostic.ts';
import { dataHash } from '../ir/hash.ts';
import { buildIsa } from '../isa/build.ts';
import { indexOfDoc, ruleDiagnostic, rulesOfDoc } from '../rules/group.ts';
import type { ShippedSpecs } from '../spec/collect.ts';
import { type CachedSpec, KINDS, readSpec, type SpecFile } from '../spec/document.ts';
import { schemaOf, shippedFiles } from '../spec/node.ts';
import { type BuiltSpecs, ROOT, schemasHash, schemasStamp, sha256, stampOf } from '../spec/node-cache.ts';
import { machineFiles } from '../spec/node-machine.ts';
import { selectionFiles } from '../spec/node-selection.ts';
import { DIST } from './dist.ts';

let faults = 0;
const say = (d: Parameters<typeof renderDiagnostic>[0], text?: string): void => {
  process.stderr.write(`${renderDiagnostic(d, text)}\n`);
  faults++;
};
const read = (paths: readonly string[]): SpecFile[] =>
  paths.flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const { spec, diagnostics } = readSpec(path.slice(ROOT.length + 1), text, schemaOf);
    for (const d of diagnostics) say(d, text);
    return spec === null ? [] : [spec];
  });
// Later steps would only report consequences of these faults.
const stopAtFaults = (): void => {
  if (faults > 0) process.exit(1);
};
const files = read(shippedFiles());
stopAtFaults();
const { isa, diagnostics } = buildIsa(['isa', 'ptx'].flatMap((kind) => files.filter((f) => f.kind === kind)));
for (const d of diagnostics) say({ ...d, severity: 'error', line: 0, column: 0, length: 0 });
stopAtFaults();
const specs: Record<string, CachedSpec> = {};
const stamps: Record<string, BuiltSpecs['files'][string]> = {};
const all: ShippedSpecs['specs'][number][] = [];
for (const { file, text, kind, data } of files) {
  if (kind === 'rules') for (const i of rulesOfDoc(data, isa).issues) say(ruleDiagnostic(i, file));
  const rules =
    kind === 'rules'
      ? {
          wholeFor: isa.hash,
          automaton: indexOfDoc(data, isa, 'none', null).automaton,
        }
      : undefined;
  const key = sha256(text);
  const hash = dataHash(data);
  specs[key] = { kind, data, hash, rules };
  stamps[file] = { key, stamp: stampOf(join(ROOT, file)) };
  all.push({ file, kind, data, hash, rules });
}
const machine = read([...machineFiles(), ...selectionFiles()]);
stopAtFaults();
const keyed = { schemas: schemasHash(), schemasStamp: schemasStamp() };
const write = (name: string, out: BuiltSpecs): void => writeFileSync(join(DIST, name), JSON.stringify(out));
write('specs.json', { ...keyed, specs, files: stamps });
write('machine.json', {
  ...keyed,
  specs: Object.fromEntries(machine.map(({ text, kind, data }) => [sha256(text), { kind, data }])),
  files: Object.fromEntries(
    machine.map(({ file, text }) => [file, { key: sha256(text), stamp: stampOf(join(ROOT, file)) }]),
  ),
});

const dataOf = (kind: string) => machine.filter((f) => f.kind === kind).map((f) => f.data);
const forms = { families: dataOf('machine'), selection: dataOf('selection') };
/** Writes data as a module, for hosts without a file system. */
function writeModule(
  name: string,
  value: string,
  data: unknown,
  type: string,
  from: string,
  does: string,
): void {
  const made = 'Made by the build from pipelines/, knobs/ and schemas/.';
  writeFileSync(join(DIST, `${name}.js`), `// ${made}\nexport const ${value} = ${JSON.stringify(data)};\n`);
  writeFileSync(
    join(DIST, `${name}.d.ts`),
    `import type { ${type} } from '${from}';\n\n/** ${does} */\nexport declare const ${value}: ${type};\n`,
  );
}
writeModule(
  'machine-data',
  'machine',
  forms,
  'MachineData',
  './codegen/machine-specs.js',
  'The forms of machine code, and how instructions are selected.',
);

const schemas = Object.fromEntries(KINDS.map((kind) => [kind, schemaOf(kind)]));
const shipped: ShippedSpecs = { specs: all, schemas };
writeModule(
  'shipped',
  'shipped',
  shipped,
  'ShippedSpecs',
  './spec/collect.js',
  'All specs and schemas that ship with Orrery.',
);
