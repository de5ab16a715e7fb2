import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkOne } from '../../src/cli/check/check.ts';
import type { LoweringRow } from '../../src/ir/opcode.ts';
import { printProgram } from '../../src/ir/text.ts';
import { loweringFaults } from '../../src/ptx/lower/by-form.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import type { SpecFile } from '../../src/spec/document.ts';
import { makePlan } from '../../src/spec/node.ts';
import type { Specs } from '../../src/spec/specs.ts';
import { testIsa } from '../support/isa.ts';
import { passNames, plain, shipped, testFolder } from '../support/specs.ts';

/* The rows of `lowering` in ptx.yaml, their notation, and what `check` says of a wrong one. */
const isa = testIsa();
const url = new URL('../../pipelines/isa/ptx.yaml', import.meta.url);
const text = readFileSync(url, 'utf8');

const withRows = (...lowering: LoweringRow[]) => ({ ...isa, spelling: { ...isa.spelling, lowering } });
const faultOf = (ptx: string, ...ori: string[]) =>
  loweringFaults(withRows({ ptx, ori })).map((f) => f.message);

/** The Ori of PTX lines, which may use `%r1` to `%r9`, `%d1` to `%d9`, `%h1` to `%h9`, `%f1` to `%f9` and `%p1` to `%p9`. */
function lowered(lines: string, rows: readonly LoweringRow[] = isa.spelling.lowering): string[] {
  const ptx = `.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {
.reg .b32 %r<10>; .reg .b64 %d<10>; .reg .b16 %h<10>; .reg .f32 %f<10>; .reg .pred %p<10>;
${lines}
ret; }`;
  const { module, diagnostics } = parsePtx(ptx, 'k.ptx');
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  const { program } = lowerPtx(module, { isa: withRows(...rows), paramBase: 0x210, sm: 'sm_90' });
  return [
    ...printProgram(program, { locs: false }).matchAll(
      /^ +(?:@!?P\d+ )?([A-Z][A-Z0-9_]+[. ].*?) *(?:;.*)?$/gm,
    ),
  ]
    .map((m) => m[1])
    .filter((l) => !l.startsWith('RET'));
}

describe('rows of lowering', () => {
  it('can all be read, each has forms of its own, and every set is used', () => {
    expect(loweringFaults(isa)).toEqual([]);
    const { sets, rows } = parse(text).lowering as { sets: object; rows: { ptx: string }[] };
    const used = new Set(rows.flatMap((r) => [...r.ptx.matchAll(/\{\.?(?:\w+:)?(\w+)\}/g)].map((m) => m[1])));
    expect(Object.keys(sets).filter((s) => !used.has(s))).toEqual([]);
  });

  it.each([
    ['no opcode', 'mov.b32 $d, $a', ['NOSUCH $d, $a'], 'NOSUCH is not an opcode'],
    ['no modifier', 'mov.b32 $d, $a', ['MOV.S7 $d, $a'], "MOV has no modifier 'S7'"],
    [
      'an opcode of a similar name',
      'mov.b32 $d, $a',
      ['IMADD $d, $a, $a, RZ'],
      "IMADD is not an opcode; did you mean 'IMAD'?",
    ],
    [
      'no PTX',
      'mul25.lo.u32 $d, $a',
      ['MOV $d, $a'],
      "PTX has no instruction 'mul25'; did you mean 'mul24'?",
    ],
    ['no set', 'mov.{nosuch} $d, $a', ['MOV $d, $a'], "there is no set 'nosuch'"],
    [
      'a set that the form lacks',
      'mov.b32 $d, $a',
      ['MOV.{bits:size} $d, $a'],
      "'bits' is not a set of the instruction",
    ],
    [
      'an unknown part of a type',
      'mov.{bits} $d, $a',
      ['MOV.{bits:colour} $d, $a'],
      "a type has no 'colour'; expected size, int, long, half or lanes",
    ],
    ['no operand', 'mov.b32 $d, $a', ['MOV $d, $b'], "there is no operand '$b'"],
    ['a wrong operand', 'mov.b32 d, $a', ['MOV $d, $a'], "'d' is not an operand"],
    ['a wrong source', 'mov.b32 $d, $a', ['MOV $d, a'], "'a' is not a source"],
    ['a wrong result', 'mov.b32 $d, $a', ['MOV d, $a'], "'d' is not a result"],
    ['no result', 'mov.b32 $d, $a', ['IADDX $d'], 'IADDX has 2 results'],
    ['a source too many', 'mov.b32 $d, $a', ['MOV $d, $a, $a'], 'MOV has 1 source'],
    ['no type', 'mov $d, $a', ['MOV $d, $a'], "operand 'd' has no type"],
    ['a temporary that is not defined', 'mov.b32 $d, $a', ['IADD3 $d, $a, %t, RZ'], "'%t' is not defined"],
    [
      'a result of another width',
      'mov.b32 $d:64, $a',
      ['MOV $d, $a'],
      "'$d' has width 64, and MOV has 32 there",
    ],
    [
      'a source of another width',
      'mov.b32 $d, $a:pred',
      ['MOV $d, $a'],
      "'$a' has width 1, and MOV has 32 there",
    ],
    [
      'a temporary of another width',
      'mov.b64 $d, $a',
      ['MOV.64 %w, $a', 'MOV $d, %w'],
      "'%w' has width 64, and MOV has 32 there",
    ],
    [
      'a source that is read too late',
      'mov.b32 $d, $a, $b',
      ['MOV $d, $a', 'IADD3 %t, $b, RZ, RZ'],
      'a source is read after a result is written',
    ],
  ] as const)('reports %s', (_what, ptx, ori, message) => {
    expect(faultOf(ptx, ...ori)).toEqual([message]);
  });

  it('reports a row whose forms earlier rows have', () => {
    const row = { ptx: 'mov.{bits} $d, $a', ori: ['MOV.{bits:size} $d, $a'] };
    const late = { ptx: 'mov.b32 $x, $y', ori: ['MOV $x, $y'] };
    expect(loweringFaults(withRows(row, late))).toEqual([
      { row: 1, message: 'the rows before it have all of its forms' },
    ]);
    expect(loweringFaults(withRows(late, row))).toEqual([]);
  });

  it('are checked by `check`, which shows the line', async () => {
    const mine = text.replace(
      "ori: 'IADD3.{int:size} $d:masked, $a, -$b, RZ'",
      "ori: 'IADD3.{int:sise} $$d:masked, $$a, -$$b, RZ'",
    );
    const line = 1 + mine.split('\n').findIndex((l) => l.includes('{int:sise}'));
    const found = await checkOne(testFolder().write('ptx.yaml', mine));
    expect(found.map((d) => [d.line, d.message])).toEqual([
      [line, "a type has no 'sise'; expected size, int, long, half or lanes"],
    ]);
  });

  it('of a file that was checked are no part of later plans', async () => {
    const mine = text.replace(
      "ori: 'IADD3.{int:size} $d:masked, $a, -$b, RZ'",
      "ori: 'IADD3.{int:size} $d:masked, $b, -$a, RZ'",
    );
    expect(mine).not.toBe(text);
    const ptx = { ...shipped.ptx!, data: parse(mine) as SpecFile['data'] };
    const rowOf = async (specs: Specs): Promise<string> => {
      const { plan } = await makePlan(plain, passNames, specs);
      return plan!.isa.spelling.lowering[1].ori[0];
    };
    expect(await rowOf({ ...shipped, ptx })).toBe('IADD3.{int:size} $d:masked, $b, -$a, RZ');
    expect(await rowOf(shipped)).toBe('IADD3.{int:size} $d:masked, $a, -$b, RZ');
  });
});

describe('the notation of lowering', () => {
  it('takes modifiers in any order, and the first row with the number of operands', () => {
    const rows = [
      { ptx: 'add{.rn}{.ftz}.f32 $d, $a, $b', ori: ['FADD.{rn=CONTRACT}.{ftz} $d, $a, $b'] },
      { ptx: 'bar.sync $id:32', ori: ['BAR.SYNC _, _, $id, RZ, PT'] },
      { ptx: 'bar.sync $id:32, $n:32', ori: ['BAR.SYNC _, _, $id, $n, PT'] },
    ];
    expect(lowered('add.ftz.rn.f32 %f1, %f2, %f3; add.f32 %f1, %f2, %f3;', rows)).toEqual([
      'FADD.RN.FTZ R31, R32, R33',
      'FADD R31, R32, R33',
    ]);
    expect(lowered('bar.sync 1; bar.sync 2, 64;', rows)).toEqual(['BAR.SYNC 1', 'BAR.SYNC 2, 64']);
  });

  it('extends signed values below 32 bits, and cuts results', () => {
    expect(lowered('max.s16 %h1, %h2, %h3; max.u16 %h1, %h2, %h3;')).toEqual([
      'SGXT R50, R22, 16',
      'SGXT R51, R23, 16',
      'IMNMX.MAX R52, R50, R51',
      'LOP3 R21, R52, 0xffff, RZ, 192',
      'IMNMX.MAX.U32 R53, R22, R23',
      'LOP3 R21, R53, 0xffff, RZ, 192',
    ]);
  });

  it('leaves out a second result that is not given, and makes one that Ori needs', () => {
    expect(
      lowered('setp.lt.s32 %p1, %r1, %r2; setp.lt.s32 %p1|%p2, %r1, %r2; elect.sync _|%p1, -1;'),
    ).toEqual(['ISETP.LT P41, R1, R2', 'ISETP.LT P41, P42, R1, R2, PT', 'ELECT _, P41, -1']);
  });

  it('keeps no result of an arrival or an atomic that does not want it', () => {
    expect(
      lowered(
        `mbarrier.arrive.shared.b64 _, [%r1]; mbarrier.arrive.shared.b64 %d1, [%r1], 3;
         mbarrier.arrive.expect_tx.shared.b64 _, [%r1+8], %r2;`,
      ),
    ).toEqual(['MBAR_ARRIVE [R1]', 'MBAR_ARRIVE RD11, [R1], 3', 'MBAR_ARRIVE.ARRIVE_EXPECT_TX [R1+0x8], R2']);
    expect(
      lowered(
        'atom.global.add.u32 _, [%d1], 1; red.global.add.u32 [%d1], 1; atom.global.add.u32 %r1, [%d1], 1;',
      ),
    ).toEqual(['ATOMG.ADD.NORTN [RD11], 1', 'ATOMG.ADD.NORTN [RD11], 1', 'ATOMG.ADD R1, [RD11], 1, RZ']);
  });

  it('carries an instruction unchanged that has a register where Ori takes a constant', () => {
    const rows = [{ ptx: 'add.u32 $d, $a, $b', ori: ['LOP3 $d, $a, RZ, RZ, $b'] }];
    expect(lowered('add.u32 %r1, %r2, 7; add.u32 %r1, %r2, %r3;', rows)).toEqual([
      'LOP3 R1, R2, RZ, RZ, 7',
      'FOREIGN_VALUE R1, "add.u32 <d0>, <s0>, <s1>", {R2, R3}',
    ]);
  });

  it('is one error that names the row where a row that is used cannot be read', () => {
    const rows = [{ ptx: 'add.u32 $d, $a, $b', ori: ['IADD3 $d, $a, $b, RZ, RZ'] }];
    expect(() => lowered('add.u32 %r1, %r2, %r3;', rows)).toThrow(
      /ptx\.yaml:0:0: lowering, row 'add\.u32 \$d, \$a, \$b': IADD3 has 3 sources/,
    );
    expect(
      lowered('bar.sync 1;', [...rows, { ptx: 'bar.sync $id:32', ori: ['BAR.SYNC _, _, $id, RZ, PT'] }]),
    ).toEqual(['BAR.SYNC 1']);
  });
});
