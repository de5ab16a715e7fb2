import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fn } from '../src/ir/program.ts';
import { printFn } from '../src/ir/text.ts';
import { verifyFn } from '../src/ir/verify.ts';
import { verifySsa } from '../src/ssa/verify.ts';
import { testContext } from './support/context.ts';
import { type RandomSwitch, randomSwitch, runSwitch } from './support/random-switch.ts';
import { runPass } from './support/run-pass.ts';
import { runs } from './support/size.ts';

/** Everything that is smaller at all is taken, so that every form comes up. */
const eager = {
  'cascade-cases': 1,
  'least-gain': 0.001,
  'table-entries': 1024,
  'table-density': 0.4,
  'table-cost': 4,
  lanes: 4,
};
const params = [
  eager,
  { ...eager, 'table-entries': 0 },
  { ...eager, 'table-cost': 0, 'table-density': 0.01, lanes: 1 },
  { ...eager, 'table-cost': 100, lanes: 32 },
  { ...eager, 'cascade-cases': 4, 'least-gain': 0.1 },
];

function check({ fn: source, selector, values }: RandomSwitch, choice: number): string[] {
  const fn = runPass('generate-mov-phi', source, testContext(source));
  expect(verifySsa(fn)).toEqual([]);
  const ctx = testContext(fn, { params: params[choice] });
  const out: Fn = runPass('switch-opt', fn, ctx);
  expect(verifyFn(out, undefined, { controlLast: true })).toEqual([]);
  expect(verifySsa(out)).toEqual([]);
  for (const v of values) expect([v, runSwitch(out, selector, v)]).toEqual([v, runSwitch(fn, selector, v)]);
  if (printFn(out) === printFn(fn)) expect(out).toBe(fn);
  const again = runPass('switch-opt', out, testContext(out, { params: params[choice] }));
  expect(printFn(again)).toBe(printFn(out));
  expect(again).toBe(out);
  return ctx.remarks.map((r) => `${r.name}: ${r.message}`);
}

describe('switch-opt', () => {
  it('keeps what every value of the selector does, and is done after one application', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(randomSwitch, fc.nat(params.length - 1), (s, choice) => {
        for (const r of check(s, choice))
          for (const [what, word] of Object.entries(FORMS))
            if (word.test(r)) seen.set(what, (seen.get(what) ?? 0) + 1);
      }),
      { numRuns: runs(300), seed: 20261122 },
    );
    for (const what of Object.keys(FORMS)) expect([what, (seen.get(what) ?? 0) > 3]).toEqual([what, true]);
  }, 600_000);
});

const FORMS: Readonly<Record<string, RegExp>> = {
  table: /rewritten.*become.*jump table/,
  bits: /rewritten.*tests? of bits/,
  tree: /rewritten.*become \d+ comparisons?:/,
  stopped: /chain-stopped/,
  worse: /no-better/,
};
