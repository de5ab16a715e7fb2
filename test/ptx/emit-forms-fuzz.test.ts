import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ptxTable } from '../../src/cli/optimize/emit.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';

import { verifyProgram } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { planProducts } from '../../src/ptx/emit/products.ts';
import { paramBase, readPtx } from '../../src/read.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

/*
 * Address products, shifted bytes and narrow loads may be emitted in other forms (`products.ts`, `bytes.ts`, `loads.ts`), depending on all
 * readers and writers of their registers. The output, read back, must be equivalent: in kernels and device functions, not in SSA, with
 * guards, a loop, and paths around definitions.
 */
const plan = (await planWith({ order: 'binary', sm: 'sm_80' })).plan!;
const base = paramBase(plan);
const table = ptxTable(shipped);

const word = fc.constantFrom('R10', 'R11', 'R12', 'R13');
const wide = fc.constantFrom('RD20', 'RD21', 'RD22', 'RD23');
const guard = fc.oneof(
  { weight: 5, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('@P30 ', '@!P30 ', '@P31 ') },
);
const bits = fc.constantFrom(8, 8, 16, 16, 7, 32, 264);

/** Instructions that are written in other forms, and what stands in the way of that. */
const line = fc.oneof(
  fc
    .tuple(
      guard,
      wide,
      fc.constantFrom('U32', 'S32'),
      word,
      fc.constantFrom('4', '4', '8', '1', 'R14', 'R10'),
    )
    .chain(([g, d, t, a, b]) =>
      fc
        .constantFrom('RZ', 'RD7', 'RD8', '-RD7', d)
        .map(
          (c) => `${g}IMAD_WIDE.${t} ${d}, ${a}, ${b}, ${c}\nSTG.B64 [RD3+${8 * Number(d.slice(3))}], ${d}`,
        ),
    ),
  fc.tuple(wide, fc.constantFrom('RZ', 'RD7')).map(([d, c]) => `IMAD_WIDE.U32 ${d}, R14, 4, ${c}`),
  fc
    .tuple(wide, word)
    .map(
      ([a, d]) =>
        `LOP3.64 RD9, ${a}, 0x1fc, RZ, 192\nIADD3.64 RD9, RD9, RD29, RZ\nLDS R15, [RD9]\nLOP3 ${d}, ${d}, R15, RZ, 60`,
    ),
  // Where the sum itself is the address, the product is small.
  fc
    .tuple(
      wide,
      wide,
      fc.constantFrom('LDS', 'LDC'),
      fc.constantFrom('R14, 4', 'R14, 4', 'R16, 4', 'R14, R16'),
      fc.boolean(),
    )
    .map(([a, b, op, factors, negated]) => {
      const [low, high] = op === 'LDC' ? ['RD25', 'RD26'] : ['RD7', negated ? '-RD27' : 'RD8'];
      const at = (d: string, c: string, k: number): string =>
        `IMAD_WIDE.U32 ${d}, ${factors}, ${c}\n${op}.U8 R15, [${d}]\nSTG [RD3+${4 * k}], R15\n`;
      return at(a, low, 1) + at(b, high, 2);
    }),
  fc
    .tuple(guard, word, word, fc.constantFrom('0xff', '0xffff'))
    .map(([g, d, a, m]) => `${g}LOP3 ${d}, ${a}, ${m}, RZ, 192`),
  fc
    .tuple(word, word, word, fc.integer({ min: 1, max: 24 }))
    .map(([d, a, b, n]) => `LEA ${d}, ${a}, ${b}, ${n}`),
  fc
    .tuple(word, word, fc.oneof(fc.constant('R14'), fc.integer({ min: 1, max: 24 })))
    .map(([d, a, n]) => `SHL ${d}, ${a}, ${n}`),
  fc
    .tuple(guard, word, fc.constantFrom('U8', 'U16', 'S8', 'S16'), fc.integer({ min: 0, max: 15 }))
    .map(([g, d, t, at]) => `${g}LDG.${t} ${d}, [RD2+${2 * at}]`),
  fc
    .tuple(guard, word, word, bits, fc.constantFrom('S32', 'S32', 'U32'))
    .map(([g, d, a, n, t]) => `${g}SGXT.${t} ${d}, ${a}, ${n}`),
  fc.tuple(word, fc.integer({ min: 0, max: 3 })).map(([a, k]) => `STG [RD3+${64 + 4 * k}], ${a}`),
  // Bytes and loads with few readers.
  fc
    .tuple(guard, word, fc.constantFrom('0xff', '0xffff'), fc.integer({ min: 1, max: 20 }))
    .map(([g, a, m, n]) => `${g}LOP3 R40, ${a}, ${m}, RZ, 192\nLEA R41, R40, ${a}, ${n}\nSTG [RD3+32], R41`),
  fc
    .tuple(
      fc.constantFrom('U8', 'U8', 'U16'),
      fc.constantFrom(8, 8, 16, 264),
      fc.boolean(),
      fc.constantFrom('R42', 'R43', 'R44'),
    )
    .map(([t, n, two, r]) => {
      const load = (at: number): string => `LDG.${t} ${r}, [RD2+${at}]\n`;
      return `${two ? `@P30 ${load(5)}@!P30 ${load(8)}` : load(6)}SGXT.S32 R45, ${r}, ${n}\nSTG [RD3+40], R45`;
    }),
  fc.constant('STG [RD3+48], R40'),
  fc.constant('LEA R41, R10, R40, 3\nSTG [RD3+32], R41'),
  fc.constantFrom('R42', 'R43').map((r) => `LDG.U8 ${r}, [RD2]\nSTG [RD3+52], ${r}`),
  fc.constantFrom('LOP3 R16, R11, 15, RZ, 192', 'IADD3 R14, R14, 1', 'MOV R43, R10', 'MOV R44, R11'),
  fc.constant('LOP3 R16, R10, 31, RZ, 192'),
);
const lines = fc.array(line, { minLength: 1, maxLength: 7 }).map((l) => l.join('\n'));

/** Blocks in another order than they run, one around in a loop, one that lanes may miss. */
const body = fc.tuple(lines, lines, lines, lines, fc.boolean()).map(([first, loop, arm, last, early]) => {
  const end = early ? '' : 'BRA BB4\n';
  return `${first}
BRA BB3
BB1:
${arm}
${end}BB4:
${last}
BRA BB5
BB3:
${loop}
IADD3 R17, R17, 1
ISETP.LT P32, R17, 3
@P32 BRA BB3
BB6:
@P31 BRA BB4
BB7:
BRA BB1
BB5:
`;
});

const START = `LDG R10, [RD2]
LDG R11, [RD2+4]
LDG.U8 R12, [RD2+8]
LDG.U16 R13, [RD2+12]
S2R.LANEID R19
LOP3 R14, R19, 31, RZ, 192
MOV R40, R10
MOV R16, R14
MOV R17, RZ
LOP3 R18, R10, 0x3c, RZ, 192
PAIR RD7, R18, RZ
MOV.64 RD28, &c
IADD3.64 RD25, RD7, RD28, RZ
MOV.64 RD29, &s
IADD3.64 RD7, RD7, RD29, RZ
LOP3 R18, R11, 0x7c, RZ, 192
PAIR RD8, R18, RZ
IADD3.64 RD26, RD8, RD28, RZ
IADD3.64 RD8, RD8, RD29, RZ
IADD3.64 RD27, RZ, -RD8, RZ
ISETP.LT P30, R10, R11
ISETP.LT P31, R14, 9
IMAD_WIDE.U32 RD20, R14, 4, RZ
MOV.64 RD21, RD20
MOV.64 RD22, RD8
MOV.64 RD23, RD7
`;
const OWN = 'S2R.TID.X R4\nIMAD_WIDE.U32 RD3, R4, 512, RD1\nADD_PLACEHOLDER';

/** A kernel that does it, and a device function that does it and gives two of its registers back. */
const programs = fc.tuple(body, body, word, word).map(
  ([own, called, x, y]): string => `.program "t" version 9.0 target sm_80 address 64
.var shared b8 s size 4096 align 16
.var const b8 c size 4096 align 16
.func f
  .param u64 q size 8 align 8 at 0 reg RD1
  .return u32 a size 4 align 4 at 0 reg ${x}
  .return u32 b size 4 align 4 at 4 reg ${y}
{
BB0:
${OWN.replace('ADD_PLACEHOLDER', 'IADD3.64 RD2, RD3, 256, RZ')}
${START}${called}RET
}
.entry k
  .param u64 p size 8 align 8 at 0
{
BB0:
LDC.B64 RD1, c[0x0][0x${base.toString(16)}]
${OWN.replace('ADD_PLACEHOLDER', 'IADD3.64 RD2, RD3, 256, RZ')}
${START}${own}CALL {R10, R11}, &f, &, {RD1}
STG [RD3+96], R10
STG [RD3+100], R11
EXIT
}
`,
);

function parsed(source: string): Program {
  const { program, diagnostics } = parseProgram(source, plan.isa);
  expect(diagnostics, source).toEqual([]);
  expect(verifyProgram(program), source).toEqual([]);
  return program;
}

it('products, bytes and narrow loads do the same in the form that they are written in', () => {
  const seen = { sums: 0, bytes: 0, signed: 0 };
  fc.assert(
    fc.property(programs, (source) => {
      const program = parsed(source);
      const { text, diagnostics } = emitPtx(program, { table, paramBase: base, module: null });
      expect(diagnostics.filter((d) => d.severity === 'error')).toEqual([]);
      if (program.functions.some((fn) => planProducts(fn).shared.size > 0)) seen.sums++;
      if (/prmt/.test(text)) seen.bytes++;
      if (/ld\.global\.s/.test(text)) seen.signed++;
      const back = readPtx(text, plan).program;
      const { differences } = judgeKernel(program, back, 'k', base, {
        grid: [1, 1, 1],
        block: [32, 1, 1],
        seeds: [1],
      });
      expect(differences, `${source}\n${text}`).toEqual([]);
    }),
    { numRuns: runs(150), seed: 5 },
  );
  for (const n of Object.values(seen)) expect(n).toBeGreaterThan(10);
});
