import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { enumerated } from '../../src/lsp/specs/enumerated.ts';
import { KINDS } from '../../src/spec/document.ts';
import { loadShipped, loadSpec, schemaOf, shippedFiles } from '../../src/spec/node.ts';

/* The schemas with names, which the build writes for editors that know JSON Schema alone. */

const specs = await loadShipped();
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const validators = new Map(KINDS.map((k) => [k as string, ajv.compile(enumerated(k, schemaOf(k), specs))]));
const faults = (data: unknown): string[] => {
  const validate = validators.get((data as { kind: string }).kind)!;
  return validate(data) ? [] : validate.errors!.map((e) => `${e.instancePath} ${e.message}`);
};

describe('schemas with names', () => {
  test('accept every spec that ships', async () => {
    const files = shippedFiles();
    expect(files.length).toBeGreaterThan(60);
    const wrong: string[] = [];
    for (const f of files) wrong.push(...faults((await loadSpec(f)).data).map((m) => `${f}: ${m}`));
    expect(wrong).toEqual([]);
  });

  test.each([
    ['a phase', 'kind: recipe\nphases: { disable: [GvnCse] }', 'kind: recipe\nphases: { disable: [Gvn] }'],
    [
      'a second occurrence',
      'kind: order\nextends: binary\nedits: [{ drop: "OriBranchOpt#2" }]',
      'kind: order\nextends: binary\nedits: [{ drop: OriBranch }]',
    ],
    ['a knob', 'kind: recipe\nknobs: { OptBudget: 3 }', 'kind: recipe\nknobs: { Unro: 3 }'],
    [
      'an alias of a knob',
      'kind: knob-set\nknobs: { NvOptRecipe: 1 }',
      'kind: knob-set\nknobs: { NvOpt: 1 }',
    ],
    ['a target', 'kind: recipe\nsm: [sm_90]', 'kind: recipe\nsm: [sm_91]'],
    [
      'a metric',
      'kind: experiment\nkernels: [x]\nmetrics: [cycles]',
      'kind: experiment\nkernels: [x]\nmetrics: [cycle]',
    ],
    [
      'a pass',
      'kind: order\nextends: x.yaml\nedits: [{ insertPass: gvn-cse, after: GvnCse }]',
      'kind: order\nextends: seed\nedits: [{ insertPass: gvn, after: GvnCse }]',
    ],
    ['a recipe of a user', 'kind: recipe\nextends: ./mine.yaml', 'kind: recipe\nextends: []'],
  ])('%s: a right one and a wrong one', (_, right, wrong) => {
    expect(faults(parse(right))).toEqual([]);
    expect(faults(parse(wrong)).length).toBeGreaterThan(0);
  });
});
