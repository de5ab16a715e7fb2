import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { Program } from '../../src/ir/program.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { testIsa } from './isa.ts';

const isa = testIsa();
const BASE = 0x160;
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

function lowered(
  text: string,
  sm: string,
): { program: Program; module: ReturnType<typeof parsePtx>['module'] } {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  const r = lowerPtx(module, { isa, paramBase: BASE, sm });
  expect(r.diagnostics.map((d) => d.message)).toEqual([]);
  expect(verifyProgram(r.program).map(verifyMessage)).toEqual([]);
  return { program: r.program, module };
}

/**
 * Runs `body` in one thread per row of `inputs`: the row's words are in %i0, %i1, ..., and the contents of %o0, %o1, ... are returned, one
 * row per thread. `before` precedes the kernel. The result must be the same after the kernel was written as PTX and read again.
 */
export function runPtx(
  body: string,
  inputs: readonly (readonly number[])[],
  outputs = 1,
  before = '',
  sm = 'sm_90',
): number[][] {
  const { program, text } = writtenPtx(body, inputs[0].length, outputs, before, sm);
  const out = launched(program, inputs, outputs);
  expect(launched(lowered(text, sm).program, inputs, outputs)).toEqual(out);
  return out;
}

/** The kernel that `runPtx` builds from `body` with `n` input words per thread, and its PTX. */
export function writtenPtx(
  body: string,
  n: number,
  outputs: number,
  before = '',
  sm = 'sm_90',
): { program: Program; text: string } {
  const load = Array.from({ length: n }, (_, k) => `ld.global.u32 %i${k}, [%in+${4 * k}];`).join(' ');
  const store = Array.from({ length: outputs }, (_, k) => `st.global.u32 [%out+${4 * k}], %o${k};`).join(' ');
  const text = `.version 9.0\n.target ${sm}\n.address_size 64\n${before}
.visible .entry k(.param .u64 pin, .param .u64 pout) {
.reg .b64 %in, %out; .reg .b32 %t, %n, %b, %i<${n}>, %o<${outputs}>, %r<8>; .reg .b16 %h<8>; .reg .b64 %d<8>; .reg .pred %p<4>;
ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];
mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %n, %b, %t;
mad.wide.u32 %in, %t, ${4 * n}, %in; mad.wide.u32 %out, %t, ${4 * outputs}, %out;
${load}
${body}
${store}
ret; }
`;
  const { program, module } = lowered(text, sm);
  const written = emitPtx(program, { table, paramBase: BASE, module });
  expect(written.diagnostics.map((d) => d.message)).toEqual([]);
  return { program, text: written.text };
}

function launched(program: Program, inputs: readonly (readonly number[])[], outputs: number): number[][] {
  const n = inputs[0].length;
  const rows = Math.ceil(inputs.length / 32) * 32;
  const flat = new Int32Array(rows * n);
  inputs.forEach((row, i) => {
    row.forEach((v, k) => (flat[i * n + k] = v));
  });
  const buffer = (words: number, bytes: Uint8Array) =>
    ({ kind: 'buffer', type: 's32', length: words, bytes, expect: null, tolerance: 0 }) as const;
  const result = runLaunch(
    program,
    isa,
    {
      name: 't',
      kernel: 'k',
      grid: [rows / 32, 1, 1],
      block: [32, 1, 1],
      dynamicShared: 0,
      params: [
        buffer(flat.length, new Uint8Array(flat.buffer)),
        buffer(rows * outputs, new Uint8Array(4 * rows * outputs)),
      ],
    },
    BASE,
    { counters: false, budget: 50_000_000 },
  );
  expect([result.status, result.error]).toEqual(['ok', null]);
  const out = new Int32Array(result.buffers[1]!.buffer);
  return inputs.map((_, i) => [...out.subarray(i * outputs, (i + 1) * outputs)]);
}
