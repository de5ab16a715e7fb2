import { describe, expect, it } from 'vitest';
import { compare, planOf, readPtx, simulate } from '../../src/core.ts';
import { hashText } from '../../src/ir/hash.ts';
import type { Program } from '../../src/ir/program.ts';
import type { Plan } from '../../src/spec/plan.ts';
import {
  launchOfPair,
  type Pair,
  pairsIn,
  SIDES,
  type Side,
  table,
  type Verdict,
} from '../support/judge-pairs.ts';
import { askAll, hasPtxas, ptxas } from '../support/ptxas.ts';
import { allRuns, runs } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/*
 * Accuracy of `compare`: it judges pairs of kernels of which the second is known, independently of `compare`, to be wrong or right
 * (test/judge/README.md). ORRERY_JUDGE_TABLE=1 judges all of them and prints what it gets wrong; ORRERY_JUDGE_EFFORT=medium tries as many
 * worlds as `--check auto`; ORRERY_JUDGE_PAIRS names another folder of pairs.
 */
const wholeTable = process.env['ORRERY_JUDGE_TABLE'] === '1';
const folder = process.env['ORRERY_JUDGE_PAIRS'] ?? new URL('./pairs/', import.meta.url).pathname;

/** The effort of `--check thorough`; `medium` is that of `--check auto`. */
const EFFORT = process.env['ORRERY_JUDGE_EFFORT'] === 'medium' ? 'medium' : 'high';

/** Shares of the wrong pairs that have to be seen and of the right ones that have to pass: a little less than what is. */
const FLOOR = { seen: EFFORT === 'high' ? 0.95 : 0.92, passed: 0.92 };

/** Characters of a text that the usual run takes: larger kernels cost a second or more each. */
const SMALL = 1400;
/** Small ones that do as well, since they spin, or run to the end of the budget. */
const SLOW = new Set([
  'exchange-in-release-chain-made-store',
  'less-than-turned-into-not-equal',
  'mbarrier-count-halved',
  'mbarrier-parity-not-flipped',
  'mbarrier-wait-removed',
  'pointer-compare-misses-end',
]);

const pairs = pairsIn(folder);

/** In an order that is the same for everyone and mixes the kinds, so that a few pairs stand for all. */
const mixed = pairs.toSorted((a, b) => (hashText(a.id) < hashText(b.id) ? -1 : 1));
const isQuick = (p: Pair): boolean => p.before.length < SMALL && !SLOW.has(p.id);
const some = (usual: number, of: readonly Pair[] = mixed): readonly Pair[] =>
  wholeTable ? of : of.filter((p) => runs(1) > 1 || isQuick(p)).slice(0, allRuns(usual));

const plans = new Map<string, Plan>();
function planFor(pair: Pair): Plan {
  const sm = pair.target.replace(/[af]$/, '');
  if (!plans.has(sm)) plans.set(sm, planOf(shipped, { sm, level: 3 }));
  return plans.get(sm)!;
}

/** A program of a pair; the text must give no warning. */
function programOf(pair: Pair, side: Side): Program {
  const { program, warnings } = readPtx(pair[side], planFor(pair), `${pair.id}, ${side}`);
  expect([pair.id, side, warnings.map((d) => d.message)]).toEqual([pair.id, side, []]);
  return program;
}

const entriesOf = (p: Program): string[] => p.functions.filter((f) => f.kind === 'entry').map((f) => f.name);

describe('pairs of kernels', () => {
  it('both texts are read without a warning and have the same entries', () => {
    for (const pair of some(80)) {
      const [before, after] = SIDES.map((side) => programOf(pair, side));
      expect([pair.id, entriesOf(after)]).toEqual([pair.id, entriesOf(before)]);
    }
  });

  it.skipIf(!hasPtxas('judge'))('ptxas takes both texts', { timeout: 3_600_000 }, () => {
    for (const pair of askAll ? pairs : some(8))
      for (const side of SIDES)
        expect([pair.id, side, ptxas(pair[side], pair.target, '-O3').errors]).toEqual([pair.id, side, '']);
  });

  it('a launch leaves what was computed for it by other means, and shows that a wrong kernel is wrong', () => {
    for (const pair of some(
      40,
      mixed.filter((p) => p.launch !== null),
    )) {
      const launch = pair.launch!;
      const left = SIDES.map((side) => {
        const program = programOf(pair, side);
        const kernel = launch.kernel ?? entriesOf(program)[0];
        const budget = 5_000_000;
        const r = simulate(program, planFor(pair), launchOfPair(launch, kernel, side), { budget });
        const expected = launch.ends?.[side] ?? 'ok';
        expect([pair.id, side, r.status, r.mismatches]).toEqual([pair.id, side, expected, []]);
        if (launch.output !== undefined)
          expect([pair.id, side, r.output]).toEqual([pair.id, side, launch.output[side]]);
        return JSON.stringify([r.status, r.output, r.buffers.map((b) => b && [...b])]);
      });
      expect([pair.id, left[0] !== left[1]]).toEqual([pair.id, pair.wrong]);
    }
  });
});

function judged(pair: Pair): Verdict {
  const [before, after] = SIDES.map((side) => programOf(pair, side));
  const differences = entriesOf(before).flatMap((kernel) => {
    const r = compare(before, after, kernel, planFor(pair), EFFORT);
    return r.same ? [] : [r.differences[0] ?? ''];
  });
  return { pair, same: differences.length === 0, difference: differences[0] ?? '' };
}

it('compare sees wrong kernels, and lets right ones pass', () => {
  const verdicts = some(100).map(judged);
  if (wholeTable) console.log(table(verdicts));
  const wrong = verdicts.filter((v) => v.pair.wrong);
  const right = verdicts.filter((v) => !v.pair.wrong);
  expect(wrong.filter((v) => !v.same).length / wrong.length).toBeGreaterThanOrEqual(FLOOR.seen);
  expect(right.filter((v) => v.same).length / right.length).toBeGreaterThanOrEqual(FLOOR.passed);
}, 3_600_000);
