import { expect } from 'vitest';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { type Launch, type LaunchParam, runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from './isa.ts';

const isa = testIsa();
/** Offset of kernel parameters in constant bank 0. */
export const BASE = 0x160;

/** A kernel `k` with one pointer parameter and a body in Ori. */
export function kernel(body: string, extra = ''): Program {
  const { program, diagnostics } = parseProgram(
    `.program "t" version 9.0 target sm_80 address 64\n.var shared b8 s size 1024 align 16\n${extra}\n.entry k\n  .param u64 p size 8 align 8 at 0\n{\nBB0:\nLDC.B64 RD1, c[0x0][0x160]\nS2R.TID.X R2\nIMAD_WIDE.U32 RD3, R2, 4, RD1\n${body}\n}\n`,
    isa,
  );
  expect(diagnostics).toEqual([]);
  return program;
}

const out = (n: number): LaunchParam => ({
  kind: 'buffer',
  type: 's32',
  length: n,
  bytes: new Uint8Array(4 * n),
  expect: null,
  tolerance: 0,
});
const names = (p: Program, symbol: string): boolean =>
  p.functions.some((f) => f.blocks.some((b) => b.ins.some((i) => i.src.some((o) => o.sym === symbol))));

/** Runs it on zeroed output; `values` is the final output. */
export function run(
  program: Program,
  threads = 32,
  opts: { length?: number; budget?: number; grid?: number } = {},
) {
  const launch: Launch = {
    name: 't',
    kernel: 'k',
    grid: [opts.grid ?? 1, 1, 1],
    block: [threads, 1, 1],
    // Kernels without named shared variables use the dynamic part, starting at 0.
    dynamicShared: names(program, 's') ? 0 : 1024,
    params: [out(opts.length ?? threads)],
  };
  const r = runLaunch(program, isa, launch, BASE, { counters: true, budget: opts.budget ?? 100_000 });
  return {
    ...r,
    values:
      r.buffers[0] === undefined || r.buffers[0] === null ? [] : [...new Int32Array(r.buffers[0].buffer)],
  };
}
