import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { readPtx } from '../../src/read.ts';
import { makePlan } from '../../src/spec/node.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { runs } from '../support/size.ts';
import { passNames, plain, shipped } from '../support/specs.ts';

/* Phases with a limited number of rewrites. */

const { plan: found } = await makePlan({ ...plain, order: 'binary' }, passNames, shipped);
const plan: Plan = found!;
const NAMES = ['saxpy', 'divmod', 'crc', 'histogram', 'interpreter', 'tree-nodes', 'device-functions'];
const kernels = NAMES.flatMap((name) => {
  try {
    const text = readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8');
    return [{ name, program: readPtx(text, plan, name).program }];
  } catch {
    return [];
  }
});

/**
 * Phases that do something as a whole, which nobody is asked for: without it the program would not have the form that later phases
 * need, or something unreachable would stay.
 */
const WHOLE = ['SetControlFlowOpLastInBB', 'GenerateMovPhi', 'ConvertAllMovPhiToMov'];

describe('rewrites', () => {
  it('are all asked for: a phase that may make none changes nothing', () => {
    expect(kernels.length).toBeGreaterThan(3);
    const silent = new Set<string>();
    let asked = 0;
    for (const { program } of kernels) {
      const cache = new MemoryCache();
      const all = runPipeline(program, plan, { cache, inputKey: 'k' });
      for (const r of all.records) {
        if (r.blocksChanged === 0) continue;
        const none = runPipeline(program, plan, {
          cache,
          inputKey: 'k',
          until: r.phase.id,
          rewriteLimit: { phase: r.phase.id, count: 0 },
        });
        const last = none.records.at(-1)!;
        const before = none.records.at(-2)?.program ?? program;
        if (printProgram(last.program) !== printProgram(before)) silent.add(r.phase.id);
        else expect([r.phase.id, last.rewrites!.refused]).toEqual([r.phase.id, true]);
        asked++;
      }
    }
    expect([...silent].sort()).toEqual([...WHOLE].sort());
    expect(asked).toBeGreaterThan(30);
  });

  it('are counted without a change of what is made', () => {
    for (const { program } of kernels.slice(0, 3)) {
      const cache = new MemoryCache();
      const all = runPipeline(program, plan, { cache, inputKey: 'k' });
      for (const r of all.records.filter((x) => x.blocksChanged > 0)) {
        // Behind the phase both are the same program, with which the rest does the same.
        const counted = runPipeline(program, plan, {
          cache,
          inputKey: 'k',
          until: r.phase.id,
          rewriteLimit: { phase: r.phase.id, count: Number.POSITIVE_INFINITY },
        });
        expect(printProgram(counted.last)).toBe(printProgram(r.program));
        expect(counted.records.filter((x) => x.rewrites !== null)).toHaveLength(1);
      }
    }
  });

  it('leave a valid, equal program wherever they stop, and the first ones are always the same', () => {
    const busy = kernels.flatMap(({ name, program }) =>
      runPipeline(program, plan, {})
        .records.filter((r) => r.blocksChanged > 0 && !WHOLE.includes(r.phase.id))
        .map((r) => ({ name, program, phase: r.phase.id })),
    );
    fc.assert(
      fc.property(fc.constantFrom(...busy), fc.double({ min: 0, max: 1, noNaN: true }), (b, part) => {
        const limit = (count: number) => ({ phase: b.phase, count });
        const counterOf = (j: ReturnType<typeof runPipeline>) =>
          j.records.find((r) => r.rewrites !== null)!.rewrites!;
        // How many the phase makes, the phases behind it do not change.
        const counted = (count: number) =>
          counterOf(
            runPipeline(b.program, plan, { verify: true, until: b.phase, rewriteLimit: limit(count) }),
          );
        const all = counted(Number.POSITIVE_INFINITY).made;
        const n = Math.floor(part * all);
        const some = runPipeline(b.program, plan, { verify: true, rewriteLimit: limit(n) });
        expect(counterOf(some)).toMatchObject({ made: n, refused: n < all });
        // What is refused next is what one more makes.
        if (n < all) {
          const { next } = counterOf(some);
          const { last } = counted(n + 1);
          expect([last!.name, last!.fn, last!.block]).toEqual([next!.name, next!.fn, next!.block]);
        }
        for (const k of b.program.functions.filter((f) => f.kind === 'entry')) {
          const r = judgeKernel(b.program, some.last, k.name, 0x160, { seeds: [1], budget: 20_000 });
          expect([b.name, b.phase, n, r.differences]).toEqual([b.name, b.phase, n, []]);
        }
      }),
      { seed: 7, numRuns: runs(12) },
    );
  });

  it('of one function alone are counted where a function is named', () => {
    const { program } = kernels.find((k) => k.program.functions.length > 1)!;
    const phase = 'GeneralOptimizeEarly';
    const names = program.functions.map((f) => f.name);
    const run = (fn: string | null, count: number) =>
      runPipeline(program, plan, { until: phase, rewriteLimit: { phase, count, fn } });
    const all = run(null, Number.POSITIVE_INFINITY).records.at(-1)!.rewrites!.made;
    const each = names.map((n) => run(n, Number.POSITIVE_INFINITY).records.at(-1)!.rewrites!.made);
    expect(each.reduce((a, b) => a + b)).toBe(all);
    const free = run(null, Number.POSITIVE_INFINITY).last;
    const limited = run(names[0], 0).last;
    expect(limited.functions.slice(1).map((f) => f.blocks.length)).toEqual(
      free.functions.slice(1).map((f) => f.blocks.length),
    );
    expect(limited.functions[0]).not.toEqual(free.functions[0]);
  });

  it('that are limited come from no cache and stay out of it', () => {
    const { program } = kernels[0];
    const cache = new MemoryCache();
    const whole = printProgram(runPipeline(program, plan, { cache, inputKey: 'k' }).last);
    const limit = { phase: 'GeneralOptimizeEarly', count: 0 };
    const limited = runPipeline(program, plan, { cache, inputKey: 'k', rewriteLimit: limit });
    expect(printProgram(limited.last)).toBe(
      printProgram(runPipeline(program, plan, { rewriteLimit: limit }).last),
    );
    expect(printProgram(runPipeline(program, plan, { cache, inputKey: 'k' }).last)).toBe(whole);
  });
});
