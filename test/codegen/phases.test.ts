import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkEncoding } from '../../src/codegen/encode-function.ts';
import type { KernelCode } from '../../src/codegen/kernel-code.ts';
import { compiledKernels, RECIPE } from '../../src/codegen/module.ts';
import { codePasses } from '../../src/codegen/passes.ts';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { printFn } from '../../src/ir/text.ts';
import { readPtx } from '../../src/read.ts';
import { makePlan } from '../../src/spec/node.ts';
import { ROOT } from '../../src/spec/node-cache.ts';
import { plain, shipped } from '../support/specs.ts';
import { type BackEnd, backEnd } from './compile.ts';

/* The back end as phases: what each leaves, what runs without it, and what a reader sees. */

const back = await backEnd('sm_80');
const file = join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_80.ptx');
const { program } = readPtx(readFileSync(file, 'utf8'), back.plan, file);
const passesOf = ({ machine, selection }: BackEnd) => codePasses({ sm: 'sm_80', machine, selection });
const journal = runPipeline(program, back.plan, { codePasses: passesOf(back) });
const after = (phase: string): string =>
  printFn(journal.records.find((r) => r.phase.id === phase)!.program.functions[0], { locs: false });
const line = (text: string, row: string): string =>
  text
    .split('\n')
    .find((l) => l.includes(row))!
    .trim();

describe('phases of the back end', () => {
  test('take a kernel from Ori to words', () => {
    expect(line(after('ReportBeforeScheduling'), 'FFMA')).toMatch(/^FFMA R\d+, /);
    expect(line(after('AdvancedPhasePreSched'), 'FFMA')).toMatch(
      /^FFMA %\d+, %\d+, c\[0x0\]\[0x164\], %\d+$/,
    );
    expect(line(after('AdvancedPhaseAllocReg'), 'FFMA')).toMatch(
      /^FFMA R\d+, R\d+, c\[0x0\]\[0x164\], R\d+$/,
    );
    expect(after('AdvancedPhaseAllocReg')).not.toContain('ULDC.64');
    expect(after('AdvancedPhasePostExpansion')).toContain('ULDC.64 UR4, c[0x0][0x118]');
    expect(line(after('AdvancedScoreboardsAndOpexes'), 'FFMA')).toMatch(/\[B[-0-5]{6}:R-:W-:.:S\d\d\]$/);
    expect(compiledKernels(journal.last).map((k) => 'code' in k && k.code.instructions > 0)).toEqual([
      true,
      true,
    ]);
  });

  test('leave a program alone where no machine code is asked for', () => {
    const { records, last } = runPipeline(program, back.plan);
    expect(last.functions.every((f) => f.code === undefined)).toBe(true);
    const shut = records.filter((r) => r.why === 'makes machine code, and none is asked for');
    expect(shut.map((r) => r.phase.id)).toEqual([
      'AdvancedPhasePreSched',
      'AdvancedPhaseAllocReg',
      'AdvancedPhasePostExpansion',
      'OriRemoveNopCode',
      'PostFixForMercTargets',
      'AdvancedScoreboardsAndOpexes',
      'ProcessO0WaitsAndSBs',
      'MercEncodeAndDecode',
      'MercGenerateSassUCode',
      'DumpNVuCodeText',
      'DumpNVuCodeHex',
    ]);
  });

  test('one that is switched off is missed by those that need it, or is done without', async () => {
    const without = async (phase: string) => {
      const { plan, diagnostics } = await makePlan(
        { ...plain, sm: 'sm_80', level: 3, recipes: [RECIPE], disable: [phase] },
        host,
        shipped,
      );
      if (plan === null) return diagnostics.map((d) => d.message).join('; ');
      const { last } = runPipeline(program, plan, { codePasses: passesOf(back) });
      return compiledKernels(last).every((k) => 'code' in k);
    };
    expect(await without('AdvancedPhaseAllocReg')).toMatch(/IR property 'physical-registers'/);
    expect(await without('AdvancedScoreboardsAndOpexes')).toMatch(/IR property 'scoreboards'/);
    expect(await without('OriRemoveNopCode')).toBe(true);
    expect(await without('PostFixForMercTargets')).toBe(true);
  });

  test('at level 0, OptBudget decides which of the two rows with control words sees the level', async () => {
    const with0 = async (budget: number) => {
      const { plan } = await makePlan(
        { ...plain, sm: 'sm_80', level: 0, recipes: [RECIPE], set: [`OptBudget=${budget}`] },
        host,
        shipped,
      );
      const { records, last } = runPipeline(program, plan!, { codePasses: passesOf(back) });
      const ran = (id: string): boolean => records.find((r) => r.phase.id === id)!.outcome === 'ran';
      const [first] = compiledKernels(last);
      return [
        ran('AdvancedScoreboardsAndOpexes'),
        ran('ProcessO0WaitsAndSBs'),
        'why' in first ? first.why : 'code',
      ];
    };
    expect(await with0(1000)).toEqual([false, true, 'code']);
    expect(await with0(0)).toEqual([true, false, 'code']);
    const some = [...Array(60).keys()].map((n) => n + 1);
    const results = await Promise.all(some.map(with0));
    expect(results).toContainEqual([false, false, 'no phase has chosen its control words']);
  });

  test('its text and its words are reported', () => {
    const reportOf = (phase: string): string =>
      journal.records.find((r) => r.phase.id === phase)!.reports[0].text;
    expect(reportOf('DumpNVuCodeText')).toMatch(/^saxpy\nBB0:\n +ULDC\.64 UR4/);
    expect(reportOf('DumpNVuCodeHex')).toMatch(/^saxpy\n\/\*0000\*\/ 0x[0-9a-f]{16} 0x[0-9a-f]{16}\n/);
    const allocation = reportOf('ReportAfterRegisterAllocation');
    expect(allocation).toContain('general registers, 0 registers spilled');
    const [first] = compiledKernels(journal.last);
    if (!('code' in first)) throw new Error(first.why);
    expect(allocation).toContain(`# ${first.code.registers} general registers`);
    expect(reportOf('DumpNVuCodeHex').split('\n').length - 1).toBe(first.code.code.length / 16);
  });

  test('an instruction that is encoded as another is found', () => {
    const { fn, of } = (journal.last.functions[0].code as KernelCode).parts;
    expect(() => checkEncoding(fn, of!, back.machine)).not.toThrow();
    // A register number beyond its field.
    const [v] = fn.blocks.flatMap((b) => b.ops.flatMap((x) => x.occurrences.map((o) => o.v)));
    const wrong = of!.map((r, k) => (k === v ? 256 : r));
    expect(() => checkEncoding(fn, wrong, back.machine)).toThrow(
      /another instruction once it is encoded|does not fit/,
    );
  });
});
