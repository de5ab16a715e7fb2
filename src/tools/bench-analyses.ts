import { effectsOf } from '../analysis/calls/mod-ref.ts';
import { branchProbabilitiesOf } from '../analysis/flow/branch-probability.ts';
import { cfgOf } from '../analysis/flow/cfg.ts';
import { analyzeControlFlow } from '../analysis/flow/control-flow.ts';
import { dominatorsOf, postDominatorsOf } from '../analysis/flow/dominators.ts';
import { frequencyOf } from '../analysis/flow/frequency.ts';
import { segmentsOf } from '../analysis/flow/segments.ts';
import { warpFrequencyOf } from '../analysis/flow/warp-frequency.ts';
import { loopsOf } from '../analysis/loops/loops.ts';
import { nestingOf } from '../analysis/loops/nesting.ts';
import { tripCountsOf } from '../analysis/loops/trip-count.ts';
import { accessesOf } from '../analysis/memory/address.ts';
import { mayBeCommon } from '../analysis/memory/memory-ops.ts';
import { memorySsaOf } from '../analysis/memory/memory-ssa.ts';
import { livenessOf } from '../analysis/registers/liveness.ts';
import { pressureOf } from '../analysis/registers/pressure.ts';
import { meetingsOf } from '../analysis/synchronization/convergent-operations.ts';
import { convergenceOf } from '../analysis/synchronization/warp-convergence.ts';
import { divergenceOf } from '../analysis/uniformity/divergence.ts';
import { partsLanes } from '../analysis/uniformity/lane-agreement.ts';
import { defUseOf } from '../analysis/values/defuse.ts';
import { rangesOf } from '../analysis/values/ranges.ts';
import { singleValuesOf } from '../analysis/values/single-values.ts';
import { copyFn } from '../ir/edit.ts';
import type { Isa } from '../ir/opcode.ts';
import { NO_REG } from '../ir/operand.ts';
import { type Fn, newShape, type Program } from '../ir/program.ts';
import { parseProgram } from '../ir/text.ts';

/**
 * Ori text of about `n` instructions in SSA form: pairs of nested counted loops with loads, stores, address arithmetic and a side exit.
 * Half of the outer loops have a bound that is not constant.
 */
export function loopsText(n: number): string {
  const out: string[] = [
    '.program "bench" version 9.0 target sm_80 address 64',
    '.entry k',
    '  .param u64 p size 8 align 8 at 0 reg RD1',
    '  .param u32 n size 4 align 4 at 8 reg R2',
    '{',
    'BB0:',
  ];
  let r = 8;
  let b = 0;
  const PAIR = 19;
  for (let i = 0; i < n / PAIR; i++) {
    const [x, y, a, v, s, p, q, x2, y2, a2] = Array.from({ length: 10 }, () => r++);
    const [before, outer, inner, rest, latch, exit] = [b, b + 1, b + 2, b + 3, b + 4, b + 5];
    b += 5;
    out.push(
      `BB${outer}:`,
      `MOVPHI R${x}, {BB${before}: RZ, BB${latch}: R${x2}}`,
      `IMAD R${s}, R${x}, 64, R2`,
      `BB${inner}:`,
      `MOVPHI R${y}, {BB${outer}: RZ, BB${rest}: R${y2}}`,
      `IADD3 R${r}, R${y}, R${s}`,
      `IMAD_WIDE RD${a}, R${r++}, 4, RD1`,
      `LDG.B32 R${v}, [RD${a}]`,
      `IADD3 R${r}, R${v}, 7`,
      `STG.B32 [RD${a}+0x100], R${r++}`,
      `ISETP.EQ P${r}, R${v}, 5`,
      `@P${r++} BRA BB${latch}`,
      `BB${rest}:`,
      `IADD3 R${y2}, R${y}, 1`,
      `ISETP.LT P${p}, R${y2}, 16`,
      `@P${p} BRA BB${inner}`,
      `BB${latch}:`,
      `IADD3.64 RD${a2}, RD1, 8`,
      `STG.B32 [RD${a2}], R${x}`,
      `IADD3 R${x2}, R${x}, 1`,
      `ISETP.LT P${q}, R${x2}, ${i % 2 === 0 ? 'R2' : '100'}`,
      `@P${q} BRA BB${outer}`,
      `BB${exit}:`,
    );
  }
  out.push('EXIT', '}');
  return out.join('\n');
}

/** An analysis, and the analyses that it uses (`asks`), which run before the measurement. */
interface Measured {
  readonly name: string;
  readonly run: (fn: Fn, program: Program) => unknown;
  readonly asks: readonly ((fn: Fn, program: Program) => unknown)[];
}

/** Computes all trip counts, and the evolution of every register that is defined in a loop. */
function allTrips(fn: Fn): void {
  const trips = tripCountsOf(fn);
  const { innermost } = loopsOf(fn);
  for (const l of loopsOf(fn).loops) trips.of(l.id);
  fn.blocks.forEach((block, b) => {
    if (innermost[b] < 0) return;
    for (const x of block.ins) for (const d of x.dst) trips.evolutions.evolutionOf(innermost[b], d);
  });
}

/** Computes the memory version that each load sees. */
function allVersions(fn: Fn, program: Program): void {
  const m = memorySsaOf(fn, program);
  const { ins } = m.accesses.du;
  for (let n = 0; n < ins.length; n++) if (mayBeCommon(ins[n])) m.versionSeenBy(n);
}

/** Computes whether lanes agree on the guard of each block's last instruction. */
function allAgreements(fn: Fn): void {
  for (const { ins } of fn.blocks) {
    const x = ins[ins.length - 1];
    if (x !== undefined && x.guard !== NO_REG) partsLanes(fn, x.guard);
  }
}

const ANALYSES: readonly Measured[] = [
  { name: 'flow graph', run: cfgOf, asks: [] },
  { name: 'dominators', run: dominatorsOf, asks: [cfgOf] },
  { name: 'post-dominators', run: postDominatorsOf, asks: [cfgOf] },
  { name: 'natural loops', run: loopsOf, asks: [dominatorsOf] },
  { name: 'nesting forest', run: nestingOf, asks: [cfgOf] },
  { name: 'definitions and uses', run: defUseOf, asks: [] },
  { name: 'segments', run: segmentsOf, asks: [cfgOf] },
  { name: 'liveness', run: livenessOf, asks: [segmentsOf] },
  { name: 'register pressure', run: pressureOf, asks: [livenessOf, loopsOf] },
  { name: 'single values', run: singleValuesOf, asks: [defUseOf, dominatorsOf] },
  { name: 'divergence', run: divergenceOf, asks: [defUseOf, postDominatorsOf, loopsOf, singleValuesOf] },
  { name: 'known bits, ranges', run: rangesOf, asks: [defUseOf, dominatorsOf, loopsOf] },
  {
    name: 'accesses',
    run: (fn, program) => accessesOf(fn, program.variables),
    asks: [defUseOf, dominatorsOf, singleValuesOf],
  },
  {
    name: 'memory SSA',
    run: memorySsaOf,
    asks: [(fn, program) => accessesOf(fn, program.variables)],
  },
  { name: 'what every load sees', run: allVersions, asks: [memorySsaOf] },
  { name: 'evolutions, trip counts', run: allTrips, asks: [defUseOf, loopsOf, dominatorsOf] },
  { name: 'block frequency', run: frequencyOf, asks: [allTrips, postDominatorsOf] },
  { name: 'frequency of warps', run: warpFrequencyOf, asks: [frequencyOf, divergenceOf] },
  { name: 'branch probabilities', run: branchProbabilitiesOf, asks: [allTrips, postDominatorsOf] },
  { name: 'agreement of lanes', run: allAgreements, asks: [divergenceOf] },
  { name: 'lanes together', run: convergenceOf, asks: [divergenceOf, postDominatorsOf] },
  { name: 'meetings of paths', run: meetingsOf, asks: [cfgOf, postDominatorsOf] },
  { name: 'annotations of blocks', run: (fn) => analyzeControlFlow(fn), asks: [loopsOf, dominatorsOf] },
  { name: 'call graph, effects', run: (_, program) => effectsOf({ ...program }), asks: [] },
];

/** Prints the cost of each analysis in nanoseconds per instruction, for functions of 1 k, 10 k and 100 k instructions. */
export function benchAnalyses(isa: Isa, say: (line: string) => void): void {
  const programs = [1000, 10_000, 100_000].map((n) => {
    const { program, diagnostics } = parseProgram(loopsText(n), isa);
    if (diagnostics.length > 0) throw new Error(diagnostics[0].message);
    return program;
  });
  say('\nanalyses: ns an instruction, what they ask of others not counted      1 k     10 k    100 k');
  for (const { name, run, asks } of ANALYSES) {
    const costs = programs.map((program) => {
      const [original] = program.functions;
      const size = original.blocks.reduce((n, b) => n + b.ins.length, 0);
      const times: number[] = [];
      // Small sizes run more often, so that V8 compiles the code.
      const runs = Math.max(5, Math.ceil(100_000 / size));
      for (let i = 0; i <= runs; i++) {
        // A new function and shape, so that nothing is cached.
        const fn = copyFn(original, original.blocks, original.regCount, original.blockCount, [], newShape());
        for (const ask of asks) ask(fn, program);
        const start = performance.now();
        run(fn, program);
        times.push(performance.now() - start);
      }
      // The first run warms up.
      return (times.slice(1).sort((a, b) => a - b)[runs >> 1] * 1e6) / size;
    });
    say(`  ${name.padEnd(60)}${costs.map((c) => c.toFixed(0).padStart(9)).join('')}`);
  }
}
