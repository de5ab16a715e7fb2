import { expect, it } from 'vitest';
import { allocateKernel } from '../../src/codegen/kernel.ts';
import { KernelCode } from '../../src/codegen/kernel-code.ts';
import type { MachineFunction, MachineOp, Virtual } from '../../src/codegen/machine-op.ts';
import { blockLiveness } from '../../src/codegen/segments.ts';
import { checkPtx } from '../../src/ptx/check.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { loadMachine } from '../../src/spec/node-machine.ts';

/* Kernels of others may be of any size: work and memory that grow faster than they do have a limit, beyond which there is an error. */

const plain: Virtual = { file: 'R', words: 1, isTemporary: false, isReload: false };

/** An instruction that writes or reads a register. */
const touch = (v: number, isResult: boolean): MachineOp =>
  ({
    ...{ form: { row: 'IADD3', layout: 'R' }, values: [], guard: -1, guardNot: false, loc: 0, target: null },
    occurrences: [{ v, word: 0, words: 1, isResult }],
  }) as unknown as MachineOp;

it('values are moved to memory as long as that is no work without end', async () => {
  const machine = (await loadMachine('sm_80'))!;
  const all = Array.from({ length: 40 }, (_, v) => v);
  const fn = {
    registers: all.map(() => plain),
    blocks: [
      { id: 0, ops: [...all.map((v) => touch(v, true)), ...all.map((v) => touch(v, false))], next: [] },
    ],
  } as unknown as MachineFunction;
  const memory = { frameBytes: 0, sharedBytes: 0, sharedAlign: 1, hasDynamicShared: false };
  const code = new KernelCode({
    ...{ machine, fn, memory, of: null, spills: 0, heldPredicates: 0, controls: null, encoded: null },
    descriptor: 4,
  });
  expect(allocateKernel(code, 32).parts.spills).toBeGreaterThan(8);
  expect(() => allocateKernel(code, 32, 500)).toThrow(
    /do not fit 32 registers, and it is too long to move more than \d/,
  );
});

it('more blocks and registers than there is memory for are an error', () => {
  const fn = {
    registers: Array.from({ length: 2 ** 17 }, () => plain),
    blocks: Array.from({ length: 2 ** 14 }, (_, id) => ({ id, ops: [], next: [] })),
  } as unknown as MachineFunction;
  expect(() => blockLiveness(fn)).toThrow('16384 blocks with 131072 words of registers');
});

it('a name that is not there is compared with some of those that are', () => {
  const variables = Array.from({ length: 150_000 }, (_, k) => `.global .b8 v${k};`).join('\n');
  const text = `.version 8.0\n.target sm_80\n.address_size 64\n${variables}
.entry k() { .reg .b32 %r1; mov.u32 %r1, absent; ret; }\n`;
  const { module, diagnostics } = parsePtx(text, 'many.ptx');
  expect(diagnostics).toEqual([]);
  expect(checkPtx(module).map((d) => d.message)).toEqual(["'absent' is not declared"]);
});
