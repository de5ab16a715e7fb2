import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOST_TESTS, type Switch, Switches } from '../../src/analysis/flow/switches.ts';
import { type IntervalSet, meet, union, without } from '../../src/analysis/values/interval-sets.ts';
import { edit } from '../../src/ir/draft/index.ts';
import { regOf } from '../../src/ir/operand.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { type RandomSwitch, randomSwitch, runSwitch } from '../support/random-switch.ts';
import { runPass } from '../support/run-pass.ts';
import { allRuns, runs } from '../support/size.ts';

/** Accepts everything that is smaller at all, so that every form occurs. */
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

/** Settings of knobs for each choice of parameters; the last two are the pages' forms, without and with a budget. */
const knobs: readonly Readonly<Record<string, boolean | number>>[] = [
  ...params.map(() => ({})),
  { SwitchFormByCount: true },
  { SwitchFormByCount: true, SwitchOptBudget: 6 },
];

function check({ fn: source, selector, values }: RandomSwitch, choice: number): string[] {
  const fn = runPass('generate-mov-phi', source, testContext(source));
  expect(verifySsa(fn)).toEqual([]);
  const given = { params: params[choice] ?? eager, knobs: knobs[choice] };
  const ctx = testContext(fn, given);
  const out: Fn = runPass('switch-opt', fn, ctx);
  expect(verifyFn(out, undefined, { controlLast: true })).toEqual([]);
  expect(verifySsa(out)).toEqual([]);
  for (const v of values) expect([v, runSwitch(out, selector, v)]).toEqual([v, runSwitch(fn, selector, v)]);
  if (printFn(out) === printFn(fn)) expect(out).toBe(fn);
  const again = runPass('switch-opt', out, testContext(out, given));
  expect(printFn(again)).toBe(printFn(out));
  expect(again).toBe(out);
  return ctx.remarks.map((r) => `${r.name}: ${r.message}`);
}

describe('switch-opt', () => {
  it('keeps what every value of the selector does, and is done after one application', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(randomSwitch, fc.nat(knobs.length - 1), (s, choice) => {
        for (const r of check(s, choice))
          for (const [what, word] of Object.entries(FORMS))
            if (word.test(r)) seen.set(what, (seen.get(what) ?? 0) + 1);
      }),
      { numRuns: allRuns(160), seed: 20261122 },
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

/** A row of `n` comparisons of R1, too far apart for a table; what they choose meets in a phi. */
function sparseRow(n: number): Fn {
  const tests = Array.from(
    { length: n },
    (_, k) => `BB${k}:\n ISETP.EQ P${60 + k}, R1, ${caseValue(k)}\n @P${60 + k} BRA BB90000`,
  );
  const ways = Array.from({ length: n }, (_, k) => `BB${k}: ${k % 5}`).join(', ');
  return parseFn(
    `.entry k\n{\n${tests.join('\n')}\nBB80000:\n MOV R2, 99
BB90000:\n MOVPHI R55, {${ways}, BB80000: R2}\n STG [RD50], R55\n EXIT\n}`,
    testIsa(),
  );
}
const caseValue = (k: number): number => 1021 * k + (k % 7);

describe('large switches', () => {
  it('with some hundred sparse cases are one search tree', () => {
    const fn = sparseRow(600);
    const ctx = testContext(fn, { params: { ...eager, 'table-density': 0.4 } });
    const out = runPass('switch-opt', fn, ctx);
    expect(verifySsa(out)).toEqual([]);
    expect(ctx.remarks.map((r) => [r.name, /^600 comparisons become/.test(r.message)])).toEqual([
      ['switch-rewritten', true],
    ]);
    const selector = regOf('R1');
    for (let k = 0; k < 600; k += 23)
      for (const v of [caseValue(k), caseValue(k) + 1].map(BigInt))
        expect([v, runSwitch(out, selector, v)]).toEqual([v, runSwitch(fn, selector, v)]);
  });

  it('say where a switch ends because it is too large', () => {
    const fn = sparseRow(MOST_TESTS + 40);
    let found: Switch | null = null;
    edit(fn, (d) => void (found = new Switches(d, () => true).from(0, 'values', () => false)));
    const s = found! as Switch;
    expect(s.tests).toHaveLength(MOST_TESTS);
    expect(s.stops).toEqual([{ block: MOST_TESTS, why: `a switch has at most ${MOST_TESTS} blocks` }]);
  });
});

it('the difference of two sets of values is what the complement says', () => {
  const set = fc
    .array(fc.tuple(fc.bigInt(0n, 255n), fc.bigInt(0n, 20n)), { maxLength: 9 })
    .map(
      (all): IntervalSet => union(...all.map(([low, n]) => [{ low, high: low + n > 255n ? 255n : low + n }])),
    );
  const values = (s: IntervalSet): number[] =>
    s.flatMap(({ low, high }) => Array.from({ length: Number(high - low) + 1 }, (_, k) => Number(low) + k));
  fc.assert(
    fc.property(set, set, (a, b) => {
      const inB = new Set(values(b));
      expect(values(without(a, b))).toEqual(values(a).filter((v) => !inB.has(v)));
      expect(values(meet(a, b))).toEqual(values(a).filter((v) => inB.has(v)));
    }),
    { numRuns: runs(160), seed: 20261126 },
  );
});
