import { describe, expect, it } from 'vitest';
import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { frequencyOf } from '../../src/analysis/flow/frequency.ts';
import { staticFrequencyOf } from '../../src/analysis/flow/static-frequency.ts';
import { edit, splitEdge } from '../../src/ir/draft/index.ts';
import { packPrograms, unpackPrograms } from '../../src/ir/pack/index.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { otherFunctions, otherVersions, parseProfile, profiledRun } from '../../src/lab/profile-file.ts';
import { newCounters } from '../../src/sim/counters.ts';
import { countsIn } from '../../src/spec/profile.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';

const isa = testIsa();
const parse = (text: string): Fn => parseFn(text, isa);

const DIAMOND = `.entry k
{
BB0:
       LDG R2, [RD6]
       ISETP.LT P1, R2, 5
   @P1 BRA BB2
BB1:
       STG [RD8], R2
       BRA BB3
BB2:
       STG [RD9], R2
BB3:
       EXIT
}`;

const profiled = (fn: Fn, profile: Record<number, number>): Fn =>
  runPass('attach-profile', fn, testContext(fn, { profile }));

describe('phase 20', () => {
  it('gives counts to the blocks that a profile knows; text and packs keep them', () => {
    const fn = profiled(parse(DIAMOND), { 0: 8, 1: 2, 2: 6, 3: 8, 77: 1 });
    const text = printFn(fn);
    expect(text).toContain('.entry k\n  .count BB0 8\n  .count BB1 2\n  .count BB2 6\n  .count BB3 8\n{');
    expect(printFn(parse(text))).toBe(text);
    const [back] = unpackPrograms(packPrograms([programOf(fn)], isa), isa);
    expect(back.functions[0].attrs.counts).toEqual(fn.attrs.counts);
    expect([...frequencyOf(fn).block]).toEqual([1, 0.25, 0.75, 1]);
    expect([...frequencyOf(parse(text)).block]).toEqual([1, 0.25, 0.75, 1]);
    expect([...frequencyOf(parse(DIAMOND)).block]).not.toEqual([1, 0.25, 0.75, 1]);
  });

  it.each([
    ['.count BB0 -1', /a count from 0 to/],
    ['.count BB0 99999999999999999999', /a count from 0 to/],
    ['.count X 1', /expected a block/],
    ['.count BB0', /expected a count/],
  ])('%s is no line of a function', (line, says) => {
    expect(() => parse(DIAMOND.replace('\n{', `\n  ${line}\n{`))).toThrow(says);
  });

  it('leaves a function that the profile does not know, or knows as another', () => {
    const fn = parse(DIAMOND);
    expect(runPass('attach-profile', fn, testContext(fn))).toBe(fn);
    const ctx = testContext(fn, { profile: { 100: 3 } });
    expect(runPass('attach-profile', fn, ctx)).toBe(fn);
    expect(ctx.remarks.map((r) => r.name)).toEqual(['profile-unknown']);
    const once = profiled(fn, { 0: 8 });
    expect(profiled(once, { 0: 8 })).toBe(once);
  });

  it('what edges with a known count leave is divided among the others by the counts of their targets', () => {
    const fn = profiled(
      parse(
        '.entry k\n  .table T0 BB1 BB2 BB3\n{\nBB0:\nBRX R2, T0\nBB1:\n@P1 BRA BB3\nBB2:\nEXIT\nBB3:\nEXIT\n}',
      ),
      { 0: 100, 1: 40, 2: 30, 3: 70 },
    );
    const { succ, succStart } = cfgOf(fn);
    const { probability } = frequencyOf(fn);
    const ways = (b: number) =>
      [...succ.slice(succStart[b], succStart[b + 1])]
        .map((to, k) => [to, Math.round(100 * probability[succStart[b] + k])])
        .sort(([a], [c]) => a - c);
    // Only the table leads to BB1: 40. The other 60 are shared as 30 to 70.
    expect(ways(0)).toEqual([
      [1, 40],
      [2, 18],
      [3, 42],
    ]);
    expect(ways(1)).toEqual([
      [2, 30],
      [3, 70],
    ]);
  });

  it('a block that was made since runs as often as control flows into it', () => {
    const fn = profiled(parse(DIAMOND), { 0: 8, 1: 2, 2: 6, 3: 8 });
    const longer = edit(fn, (d) => void splitEdge(d, 0, 0), isa);
    expect(longer.blocks.length).toBe(5);
    const at = longer.blocks.findIndex((b) => ![0, 1, 2, 3].includes(b.id));
    const { block } = frequencyOf(longer);
    const estimate = staticFrequencyOf(longer).block[at];
    expect(block[at]).toBeCloseTo(estimate);
    expect(block.filter((_, b) => b !== at)).toEqual(Float64Array.of(1, 0.25, 0.75, 1));
  });
});

describe('what goes by a profile', () => {
  const cascade = (counts: string): Fn =>
    parse(`.entry k
${counts}{
BB0:
       S2R.CTAID.X R1
${[3, 90, 700, 4000, 50_000]
  .map((v, k) => `       ISETP.EQ P${k + 10}, R1, ${v}\n   @P${k + 10} BRA BB${k + 20}\nBB${k + 1}:`)
  .join('\n')}
       STG [RD8], R1
       EXIT
${[0, 1, 2, 3, 4].map((k) => `BB${k + 20}:\n       STG [RD8+${8 * k + 8}], R1\n       EXIT`).join('\n')}
}`);
  const params = {
    'cascade-cases': 4,
    'table-density': 0.4,
    'table-entries': 1024,
    'table-cost': 4,
    lanes: 4,
    'regroup-cost': 3,
    'least-gain': 0.1,
  };
  const hot = `${[0, 1, 2, 3, 4, 24].map((b) => `  .count BB${b} 100\n`).join('')}${[5, 20, 21, 22, 23].map((b) => `  .count BB${b} 0\n`).join('')}`;

  it('a switch tests the most frequent case first, and stays where the row says so', () => {
    const fn = cascade(hot);
    const out = runPass('switch-opt', fn, testContext(fn, { params: { ...params, profiled: 'weigh' } }));
    expect(out).not.toBe(fn);
    expect(
      out.blocks[0].ins.map((x) => x.src.find((o) => o.lo === 50_000 || o.lo === 49_999)).some(Boolean),
    ).toBe(true);
    const plain = runPass('switch-opt', cascade(''), testContext(fn, { params }));
    expect(printFn(plain)).not.toBe(printFn(out).replace(/ {2}\.count .*\n/g, ''));
    const ctx = testContext(fn, { params: { ...params, profiled: 'stays' } });
    expect(runPass('switch-opt', fn, ctx)).toBe(fn);
    expect(ctx.remarks.map((r) => r.name)).toEqual(['profiled']);
  });

  it('an arm that never runs keeps its branch, and one that nearly always runs loses it', () => {
    const triangle = (count: number): Fn =>
      parse(`.entry k
  .count BB0 100
  .count BB1 ${count}
  .count BB2 100
{
BB0:
       S2R.TID.X R1
       LOP3 R2, R1, 1, RZ, 0xc0
       ISETP.EQ P3, R2, RZ
   @P3 BRA BB2
BB1:
       IMAD R4, R1, R1, 7
       IMAD R5, R4, R4, R1
       IMAD R6, R5, R4, R1
BB2:
       MOVPHI R7, {BB0: R1, BB1: R6}
       STG [RD8], R7
       EXIT
}`);
    const converted = (count: number): boolean => {
      const fn = triangle(count);
      const costs = { costs: { IMAD: 4, BRA: 4 } };
      const limits = { 'max-loss': 6, 'max-uniform-loss': 0, 'max-guarded': 1 };
      return runPass('predication', fn, testContext(fn, { params: limits, facts: costs })) !== fn;
    };
    expect([converted(0), converted(100)]).toEqual([false, true]);
  });
});

describe('profile files', () => {
  const run = (fn: Fn, counts: Record<number, number>) => {
    const counters = newCounters();
    counters.blocks[fn.name] = counts;
    return profiledRun('l.yaml', fn.name, programOf(fn), counters);
  };

  it('count blocks that did not run as 0, and sum their runs', () => {
    const fn = parse(DIAMOND);
    const text = JSON.stringify([run(fn, { 0: 4, 2: 4, 3: 4 }), run(fn, { 0: 1, 2: 1, 3: 1 })]);
    const file = parseProfile(text, 'p.json');
    expect(file.counts).toEqual({ k: { 0: 5, 1: 0, 2: 5, 3: 5 } });
    expect(otherVersions('p.json', file, programOf(fn))).toEqual([]);
    expect(otherVersions('p.json', file, programOf(parse(DIAMOND.replace('5', '6'))))).toMatchObject([
      { severity: 'warning', file: 'p.json', message: expect.stringContaining("another version of 'k'") },
    ]);
    expect(otherFunctions('p.json', file.counts, ['a', 'k'])).toEqual([]);
    expect(otherFunctions('p.json', file.counts, ['a'])).toMatchObject([
      {
        severity: 'warning',
        message: "the profile has no effect: it counts 'k', which the input does not have",
      },
    ]);
  });

  it.each([
    ['{', /this is not a profile/],
    ['{"a": 1}', /this is not a profile/],
    ['[1]', /this is not a profile/],
    ['[{"blocks": {"k": {"0": -1}}}]', /this is not a profile/],
    ['[{"blocks": {"k": {"x": 1}}}]', /this is not a profile/],
    [
      '[{"blocks": {}, "versions": {"k": "1"}}, {"blocks": {}, "versions": {"k": "2"}}]',
      /different versions of 'k'/,
    ],
  ])('%s is refused', (text, says) => {
    expect(() => parseProfile(text, 'p.json')).toThrow(says);
  });

  it('a function called __proto__ is one like any other, and nothing else is written to', () => {
    const text = '[{ "blocks": { "__proto__": { "7": 5 } }, "versions": { "__proto__": "v" } }]';
    const { counts } = parseProfile(text, 'p.json');
    expect(({} as Record<string, unknown>)[7]).toBeUndefined();
    expect([...(countsIn(counts, '__proto__') ?? [])]).toEqual([[7, 5]]);
    const fn = parse('.entry __proto__\n{\nBB0:\n  EXIT\n}');
    const again = parseProfile(JSON.stringify([run(fn, { 0: 3 })]), 'p.json');
    expect([...(countsIn(again.counts, '__proto__') ?? [])]).toEqual([[0, 3]]);
    expect(again.versions.has('__proto__')).toBe(true);
  });
});
