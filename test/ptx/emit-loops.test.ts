import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { parseFn } from '../../src/ir/text.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { makePlan } from '../../src/spec/node.ts';
import { programOf } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { codeSections, hasPtxas, ptxas } from '../support/ptxas.ts';
import { passNames, plain, shipped } from '../support/specs.ts';

/*
 * ptxas unrolls loops whose iterations it can count. It no longer does if the loop follows a branch on a negated predicate, or if the
 * latch compares the counter's value before its step.
 */
const isa = testIsa();
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);
const oracle = hasPtxas('emit-loops');

describe('a branch where a predicate is false', () => {
  const fn = (branch: string) =>
    parseFn(`.entry k\n{\nBB0:\n${branch}\nBB1:\n       NOP\nBB2:\n       EXIT\n}`, isa);
  const emitted = (branch: string): string[] =>
    emitPtx(programOf(fn(branch)), { table, paramBase: 0x160, module: null })
      .text.split('\n')
      .filter((l) => /bra|^\$/.test(l))
      .map((l) => l.trim());

  it('is written around one where it is true', () => {
    expect(emitted('@!P1 BRA BB2')).toEqual(['@%p1 bra $BB1;', 'bra.uni $BB2;', '$BB1:', '$BB2:']);
    expect(emitted('@P1 BRA BB2')).toEqual(['@%p1 bra $BB2;', '$BB2:']);
    expect(emitted('@!P1 BRA.U BB2')).toEqual(['@%p1 bra.uni $BB1;', 'bra.uni $BB2;', '$BB1:', '$BB2:']);
  });
});

const HEAD = `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
.reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .b32 %r<19>; .reg .pred %p<9>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.f32 %f1, 0f00000000;
`;
const TAIL = '\nst.global.f32 [%rd1], %f1;\nret;\n}\n';
const BODY =
  'mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f2, [%rd3]; add.f32 %f1, %f1, %f2;';
const LOOPS = {
  'that counts down': `setp.eq.s32 %p1, %r1, 0; @%p1 bra E; mov.u32 %r6, %r1; mov.u32 %r3, %r2;
    L: ${BODY} add.s32 %r3, %r3, 1; add.s32 %r6, %r6, -1; setp.ne.s32 %p2, %r6, 0; @%p2 bra L; E:`,
  'behind a branch over an arm': `mov.u32 %r3, %r2; setp.lt.u32 %p1, %r1, 1; @%p1 bra S; bra.uni G;
    S: mov.f32 %f1, 0f3F800000; bra.uni E; G: mov.u32 %r6, 0;
    L: ${BODY} add.s32 %r3, %r3, 8; add.s32 %r6, %r6, 8; setp.gt.u32 %p2, %r6, %r1; @%p2 bra E; bra.uni L; E:`,
};

async function optimized(loop: string): Promise<{ text: string; after: string }> {
  const text = `${HEAD}${loop}${TAIL}`;
  const { plan } = await makePlan(plain, passNames, shipped);
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const { program } = lowerPtx(module, { isa: plan!.isa, paramBase: 0x160, sm: 'sm_80' });
  return {
    text,
    after: emitPtx(runPipeline(program, plan!).last, { table, paramBase: 0x160, module }).text,
  };
}

describe('the step of a loop', () => {
  it('is computed in front of it', async () => {
    const { after } = await optimized(`mov.u32 %r3, %r2; setp.ge.u32 %p1, %r3, %r1; @%p1 bra E;
    mov.u32 %r4, %nctaid.x; shl.b32 %r5, %r4, 5;
    L: ${BODY} add.s32 %r3, %r3, %r5; setp.lt.u32 %p2, %r3, %r1; @%p2 bra L; E:`);
    expect(after.indexOf('shl.b32')).toBeGreaterThan(0);
    expect(after.indexOf('shl.b32')).toBeLessThan(after.indexOf('\nL:'));
  });
});

describe.skipIf(!oracle)('ptxas unrolls as before a loop', () => {
  it.each(Object.entries(LOOPS))('%s', async (_name, loop) => {
    const { text, after } = await optimized(loop);
    const additions = (ptx: string): number => {
      const { cubin, errors } = ptxas(ptx, 'sm_80');
      expect(errors).toBe('');
      const code = codeSections(cubin!).get('k')!;
      let n = 0;
      // FADD of sm_80, by the low 9 bits of its opcode.
      for (let at = 0; at < code.byteLength; at += 16) if ((code.getUint16(at, true) & 0x1ff) === 0x021) n++;
      return n;
    };
    const before = additions(text);
    expect(before).toBeGreaterThan(1);
    expect(additions(after), after).toBe(before);
  });
});
