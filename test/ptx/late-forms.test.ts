import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { printProgram } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { makePlan } from '../../src/spec/node.ts';
import { passNames, plain, shipped } from '../support/specs.ts';

const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);

/** A kernel after all phases: Ori, and the PTX emitted for it. */
async function made(name: string, sm: string, disable: string[] = []) {
  const { plan } = await makePlan({ ...plain, sm, order: 'binary', disable }, passNames, shipped);
  const file = new URL(`../kernels/${name}/${name}.${sm}.ptx`, import.meta.url);
  const { module } = parsePtx(readFileSync(file, 'utf8'), `${name}.ptx`);
  const paramBase = Number(plan!.backend.facts['param-base']);
  const { program } = lowerPtx(module, { isa: plan!.isa, paramBase, sm });
  const { last } = runPipeline(program, plan!);
  return { ori: printProgram(last), ptx: emitPtx(last, { module, table, paramBase }).text };
}

const BANK = /FFMA .*c\[0x0\]\[/;
const WIDE = /IMAD_WIDE RD\d+, R\d+, 4, RD\d+/;

// saxpyStride: its loop has a * x[i] + y[i] with the parameter a, and two arrays under one index.
it('phase 81 makes wide multiply-adds, and operands from the bank where ptxas 13.0.88 has them', async () => {
  const ampere = await made('saxpy', 'sm_80');
  expect([ampere.ori.match(BANK), ampere.ori.match(WIDE)]).not.toContain(null);
  const without = await made('saxpy', 'sm_80', ['LateArchOptimizeSecond']);
  expect([without.ori.match(BANK), without.ori.match(WIDE)]).toEqual([null, null]);
  const hopper = await made('saxpy', 'sm_90');
  expect([BANK.test(hopper.ori), WIDE.test(hopper.ori)]).toEqual([false, true]);
});

it('PTX loads a parameter once, in front of every loop, and has products and sums apart', async () => {
  const { ptx } = await made('saxpy', 'sm_80');
  for (const body of ptx.split('.entry ').slice(1)) {
    const loads = [...body.matchAll(/ld\.param\.\w+ %\w+, \[(\S+)\]/g)];
    expect(new Set(loads.map((m) => m[1])).size).toBe(loads.length);
    const label = body.search(/^\$/m);
    expect(label < 0 || loads.every((m) => m.index < label)).toBe(true);
  }
  expect(ptx).not.toContain('mad.wide');
  expect(ptx).toContain('mul.wide');
});

it('phase 65 computes what is selected under its guard', async () => {
  // Each step of a bitwise CRC selects between a shifted word and the same with the polynomial.
  const guarded = /@!?P\d+ LOP3 (R\d+), \1, 0xedb88320/;
  expect((await made('crc', 'sm_80')).ori).toMatch(guarded);
  expect((await made('crc', 'sm_80', ['GeneralOptimizeLate2'])).ori).not.toMatch(guarded);
});
