import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll } from 'vitest';
import { type Diagnostic, renderDiagnostic } from '../../src/ir/diagnostic.ts';
import { readSpec, type SpecFile } from '../../src/spec/document.ts';
import { loadShipped, makePlan, schemaOf } from '../../src/spec/node.ts';
import type { PlanRequest, Specs } from '../../src/spec/resolve.ts';

/** Everything that the engine can run. */
export { host as passNames } from '../../src/engine/pipeline.ts';

import { host as passNames } from '../../src/engine/pipeline.ts';

/** The shipped specs. */
export const shipped: Specs = await loadShipped();

/** A plain request, to be modified. */
export const plain: PlanRequest = {
  level: 3,
  sm: 'sm_80',
  order: 'seed',
  knobSets: [],
  set: [],
  disable: [],
  // Tests run wrong rules on purpose.
  wrongRules: 'run',
};

/** A temporary folder for this test file, removed at its end. */
export function testFolder(): { path: string; write: (name: string, text: string | Uint8Array) => string } {
  const path = mkdtempSync(join(tmpdir(), 'orrery-spec-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    write(name, text) {
      writeFileSync(join(path, name), text);
      return join(path, name);
    },
  };
}

/** Parses a spec. @throws on diagnostics */
export function specOf(file: string, text: string): SpecFile {
  const { spec, diagnostics } = readSpec(file, text, schemaOf);
  if (spec === null) throw new Error(rendered(diagnostics, text));
  return spec;
}

/** Diagnostics as users see them; texts of files by base name, or one text for all. */
export function rendered(
  diagnostics: readonly Diagnostic[],
  text: string | Readonly<Record<string, string>>,
): string {
  return diagnostics
    .map((d) => {
      const file = basename(d.file);
      return renderDiagnostic({ ...d, file }, typeof text === 'string' ? text : text[file]);
    })
    .join('\n');
}

/** Plan and diagnostics of a request over the shipped specs and one additional spec named `mine`. */
export async function planWith(change: Partial<PlanRequest>, mine?: string): ReturnType<typeof makePlan> {
  return makePlan({ ...plain, ...change }, passNames, mine === undefined ? shipped : withMine(mine));
}

/** Diagnostics of a request over one additional spec, as users see them. */
export async function saysOf(change: Partial<PlanRequest>, mine = ''): Promise<string> {
  const { diagnostics } = await planWith(change, mine === '' ? undefined : mine);
  return rendered(diagnostics, { 'mine.yaml': mine });
}

function withMine(text: string): Specs {
  const f = specOf('mine.yaml', text);
  switch (f.kind) {
    case 'order':
      return { ...shipped, orders: new Map([...shipped.orders, ['mine', f]]) };
    case 'recipe':
      return { ...shipped, recipes: new Map([...shipped.recipes, ['mine', f]]) };
    case 'knob-set':
      return { ...shipped, knobSets: new Map([...shipped.knobSets, ['mine', f]]) };
    case 'backend':
      return { ...shipped, backends: new Map([...shipped.backends, [String(f.data.name), f]]) };
    case 'rules':
      return { ...shipped, rules: new Map([[String(f.data.group), f]]) };
    default:
      return { ...shipped, [f.kind]: f };
  }
}
