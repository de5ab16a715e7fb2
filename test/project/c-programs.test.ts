import { expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { withoutSsa } from '../../src/ssa/program.ts';
import { cProgram, missingTools } from '../support/c-programs.ts';
import { randomPlan, shippedPlan } from '../support/random-plans.ts';
import { seeds } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

/*
 * Programs of C that Csmith makes up, which have one meaning: what gcc's code of them gives on the host. clang makes PTX of them at
 * several levels. The simulator gives the same of it as it was lowered, under a random plan, and once more through PTX. This
 * judges the meaning of instructions and the passes by other people's compilers. The nightly size is 200 programs.
 */
if (missingTools.length > 0)
  console.warn(
    `c-programs: skipped without ${missingTools.join(', ')} (Debian: apt-get install csmith libcsmith-dev gcc clang llvm)`,
  );
const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);

/** What a program leaves, as text: an error, or the eight bytes. */
function checksum(program: Program, plan: Plan): string {
  const result = { kind: 'buffer', type: 'u64', length: 1, expect: null, tolerance: 0 } as const;
  const launch = {
    name: 'c',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [1, 1, 1],
    dynamicShared: 0,
    params: [{ ...result, bytes: new Uint8Array(8) }],
  } as const;
  const paramBase = Number(plan.backend.facts['param-base']);
  const r = runLaunch(program, plan.isa, launch, paramBase, { counters: false, budget: 50_000_000 });
  return r.status === 'ok' ? Buffer.from(r.buffers[0]!.buffer).toString('hex') : `${r.status}: ${r.error}`;
}

it.skipIf(missingTools.length > 0)(
  'programs of C give in the simulator, under any plan, what they give on the host',
  () => {
    let compared = 0;
    for (const seed of seeds(2)) {
      const c = cProgram(seed, [0, 1, 2]);
      if (c === null) continue;
      for (const [level, text] of c.ptx) {
        const what = `csmith --seed ${seed}, clang -O${level}`;
        const { module } = parsePtx(text, 'c.ptx');
        // Every other program under a plan that is made up.
        const plan = seed % 2 === 0 ? randomPlan(3 * seed + level) : shippedPlan;
        const paramBase = Number(plan.backend.facts['param-base']);
        const lower = (m: typeof module): Program => {
          const r = lowerPtx(m, { isa: plan.isa, paramBase, sm: plan.sm });
          expect([what, r.diagnostics.map((d) => d.message)]).toEqual([what, []]);
          return r.program;
        };
        const program = lower(module);
        const expected = c.expected.toString('hex');
        expect([what, checksum(program, plan)]).toEqual([what, expected]);
        const { last } = runPipeline(program, plan);
        expect([what, plan.hash, checksum(last, plan)]).toEqual([what, plan.hash, expected]);
        const written = emitPtx(withoutSsa(last, plan.isa), { table, paramBase, module }).text;
        const again = lower(parsePtx(written, 'again.ptx').module);
        expect([what, plan.hash, checksum(again, plan)]).toEqual([what, plan.hash, expected]);
        compared++;
      }
    }
    // Of the two of the usual size, another version of a tool may take none.
    if (seeds(2).length > 3) expect(compared).toBeGreaterThan(0);
  },
  3_600_000,
);
