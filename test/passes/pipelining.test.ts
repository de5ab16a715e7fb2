import { describe, expect, it } from 'vitest';
import { cfgIsCurrent } from '../../src/analysis/flow/cfg.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Fn } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { programOf, testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { kernelOf, runKernel } from '../support/kernel-set.ts';
import { oneBlockLoop } from '../support/one-block-loops.ts';
import { generator } from '../support/random-loops.ts';
import { runPass } from '../support/run-pass.ts';
import { runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const { backend } = (await planWith({ sm: 'sm_80' })).plan!;

/** Options: a maximum number of stages and bodies, however small the gain. */
const BOUND: readonly Record<string, unknown>[] = [
  { stages: 2, copies: 1 },
  { stages: 2, copies: 2 },
  { stages: 3, copies: 1 },
  { stages: 3, copies: 3 },
  { stages: 5, copies: 2 },
  { stages: 5, copies: 5 },
];

describe('pipelining', () => {
  const counts = new Map<string, number>();
  const apply = (fn: Fn, params: Record<string, unknown>): Fn => {
    const context = (f: Fn) =>
      testContext(f, {
        backend,
        knobs: { OkToPipelineNoUnroll: 1 },
        params: { 'least-rounds': 0, 'least-gain': 0, ...params },
      });
    const ctx = context(fn);
    const out = runPass('pipelining', fn, ctx);
    for (const r of ctx.remarks) {
      const what = r.name === 'pipelined' ? `pipelined ${/\d+ iterations/.exec(r.message)![0]}` : r.name;
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
    const text = `${printFn(fn)}\n${printFn(out)}`;
    expect(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), text).toEqual([]);
    expect(verifySsa(out).map(verifyMessage), text).toEqual([]);
    expect(cfgIsCurrent(out)).toBe(true);
    expect(runPass('pipelining', out, context(out)) === out, text).toBe(true);
    return out;
  };

  it('keeps what loops of one block do, however often they run', () => {
    const below = generator(20261126);
    for (let n = 0; n < runs(400); n++) {
      const fn = parseFn(oneBlockLoop(below), isa);
      expect(verifySsa(fn).map(verifyMessage), printFn(fn)).toEqual([]);
      const out = apply(fn, BOUND[n % BOUND.length]);
      if (out === fn) continue;
      const options = { grid: [1, 1, 1], block: [32, 1, 1], budget: 6000, seeds: [1, 2, 3] } as const;
      const { differences } = judgeKernel(
        programOf(leaveSsa(fn, isa)),
        programOf(leaveSsa(out, isa)),
        fn.name,
        0x160,
        options,
      );
      expect(differences, `${printFn(fn)}\n${printFn(out)}`).toEqual([]);
    }
  });

  it('did it often enough for this to mean something', () => {
    for (const what of ['pipelined 2 iterations', 'pipelined 3 iterations', 'pipelined 5 iterations'])
      expect([what, (counts.get(what) ?? 0) > 10]).toEqual([what, true]);
    for (const what of ['not-pipelined-gain', 'not-pipelined-pipelined'])
      expect([what, (counts.get(what) ?? 0) > 20]).toEqual([what, true]);
  });

  it.each(['dot-double', 'iterative-quicksort', 'loops', 'sobel', 'string-search'])(
    'leaves %s right after every phase where all loops are tried',
    async (kernel) => {
      const { plan } = await planWith({ order: 'binary', set: ['OkToPipelineNoUnroll=1'] });
      const { program, launches } = await kernelOf(kernel);
      const { records } = runPipeline(program, plan!, { verify: true });
      const changed = records.filter((r) => r.blocksChanged > 0);
      const at = changed.findIndex((r) => r.phase.id === 'OriPipelining');
      expect(at).toBeGreaterThanOrEqual(0);
      for (const launch of launches)
        for (const r of changed.slice(at)) {
          const result = runKernel(r.program, launch, 5_000_000);
          expect([r.phase.id, result.status, result.mismatches[0]]).toEqual([r.phase.id, 'ok', undefined]);
        }
    },
  );
});
