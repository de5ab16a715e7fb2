import { describe, expect, test } from 'vitest';
import { KernelCode } from '../../src/codegen/kernel-code.ts';
import { laidOut } from '../../src/codegen/layout.ts';
import { listing } from '../../src/codegen/listing.ts';
import { codePasses } from '../../src/codegen/passes.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { backEnd } from './compile.ts';

const back = await backEnd('sm_80');

/** Selected code of a diamond: BB0 branches to BB2 or continues with BB1, both lead to BB3. */
const TEXT = `.program "diamond" version 9.0 target sm_80 address 64
.entry diamond
  .linkage visible
{
BB0:
       S2R.TID.X R1
       ISETP.GE P1, R1, 7
   @P1 BRA BB2
BB1:
       MOV R2, 5
       BRA BB3
BB2:
       MOV R2, 6
BB3:
       STS [0x0], R2
       RET
}
`;
const { program } = parseProgram(TEXT, back.plan.isa);
const { last } = runPipeline(program, back.plan, {
  codePasses: codePasses({ sm: 'sm_80', machine: back.machine, selection: back.selection }),
  startAt: 'AdvancedPhasePreSched',
  until: 'AdvancedPhasePreSched',
});
const code = last.functions[0].code as KernelCode;

/** Labels and branches of the code in an order of blocks. */
const shape = (order: readonly number[]): string =>
  listing({ ...code.parts, fn: laidOut(code.parts.fn, order, back.machine) })
    .filter((l) => /^BB|BRA|EXIT/.test(l))
    .map((l) => l.replace(/%\d+/, '%').replace(' PT,', '').replace(/\s+/g, ' ').trim())
    .join(' ');

describe('blocks of machine code take the order of those of Ori', () => {
  test.each([
    ['as they were', [0, 1, 2, 3], 'BB0: @% BRA BB2 BB1: BRA BB3 BB2: BB3: EXIT PT'],
    ['a condition is inverted', [0, 2, 1, 3], 'BB0: @!% BRA BB1 BB2: BRA BB3 BB1: BB3: EXIT PT'],
    ['a branch is added', [0, 3, 1, 2], 'BB0: @% BRA BB2 BRA BB1 BB3: EXIT PT BB1: BRA BB3 BB2: BRA BB3'],
    ['a block that Ori no longer has stays', [0, 1, 3], 'BB0: @% BRA BB2 BB1: BB3: EXIT PT BB2: BRA BB3'],
  ])('%s', (_, order, expected) => {
    expect(shape(order)).toBe(expected);
  });

  test('the same order is the same code', () => {
    expect(code).toBeInstanceOf(KernelCode);
    expect(laidOut(code.parts.fn, [0, 1, 2, 3], back.machine)).toBe(code.parts.fn);
  });
});
