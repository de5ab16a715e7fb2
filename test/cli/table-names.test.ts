import { describe, expect, it } from 'vitest';
import { check } from '../../src/cli/check/check.ts';
import { captured } from '../../src/cli/terminal/ui.ts';
import { metricsLike } from '../../src/lab/metrics.ts';
import { goalMetric } from '../../src/lab/tune/goal.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { scalarValue } from '../../src/spec/launch-data.ts';
import { testFolder } from '../support/specs.ts';

/* Names that every JavaScript object has must not be found in any table that a file or a command line indexes by name. */
const folder = testFolder();
const NAMES = Object.getOwnPropertyNames(Object.prototype);
const faultsOf = async (text: string): Promise<string> =>
  (await captured(() => check([folder.write('spec.yaml', text)], {}))).err;

describe.each(NAMES)('%s', (name) => {
  it('is no metric and no goal', () => {
    expect(Array.isArray(metricsLike(name))).toBe(true);
    expect(() => goalMetric(name, { ptxas: true, launched: true })).toThrow(`there is no metric '${name}'`);
  });

  it('is no number of a launch', () => {
    expect(scalarValue('f32', name)).toEqual({ problem: `'${name}' is not a number` });
  });

  it('is no directive of PTX', () => {
    for (const text of [
      `.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() .${name} 1 { ret; }\n`,
      `.version 8.0\n.target sm_90\n.address_size 64\n.${name} 1\n`,
      `.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { .${name} 1; ret; }\n`,
    ])
      expect(parsePtx(text, 'k.ptx').diagnostics[0].message).toBe(`unknown directive '.${name}'`);
  });

  it('is no list of steps', async () => {
    const use = `[{ use: ${JSON.stringify(name)} }]`;
    const text = `kind: recipe\ntitle: x\nhooks:\n  AdvancedPhaseBeforeConvUnSup: ${use}\n`;
    expect(await faultsOf(text)).toContain(`there is no step list '${name}'`);
  });

  it('is no function of a condition of a rule', async () => {
    const rule = {
      id: 'a',
      title: 't',
      match: 'PLOP3 $d, $a, _, _, 0',
      rewrite: 'PLOP3 $d, !PT, PT, PT, 0xf0',
    };
    const rules = [{ ...rule, when: `${name}(a)`, source: 's' }];
    const group = { kind: 'rules', group: 'g', owner: ['GeneralOptimize'], priority: 1, title: 't', rules };
    expect(await faultsOf(JSON.stringify(group))).toContain(`unknown function '${name}'`);
  });
});
