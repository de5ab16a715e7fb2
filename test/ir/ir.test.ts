import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Diagnostic, fileFault, gathered, nearest, renderDiagnostic } from '../../src/ir/diagnostic.ts';
import { FnEditor, mapBlocks, mapIns, withFunction } from '../../src/ir/edit.ts';
import { Mod, modOf, OpFlag, slotWidth, withMods } from '../../src/ir/opcode.ts';
import {
  addr,
  cbank,
  imm,
  immOf,
  immValue,
  Kind,
  label,
  makeReg,
  NO_REG,
  type Operand,
  PF,
  PT,
  RegFile,
  reg,
  regName,
  regOf,
  sym,
  text,
  withOperandMods,
} from '../../src/ir/operand.ts';
import { type Fn, type Instr, instr } from '../../src/ir/program.ts';
import { parseFn, parseProgram, printFn, printGuarded, printInstr, printProgram } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();

const SAMPLE = `.program "sample.ptx" version 9.0 target sm_80 address 64
.file 1 "sample.cu"
.var global u32 table size 16 align 4 linkage visible init 0x01000000020000000300000004000000
.var shared b8 tile size 0 align 16 linkage extern attrs [".managed"]
.var global u64 pointers size 8 align 8 init 0x0000000000000000 reloc 0 8 table 4 generic -1
.prototype vprintf
  .return s32 out size 4 align 4 at 0
  .param u64 fmt size 8 align 8 at 0
.skipped mma_kernel ["mma.sync (2 times, first at line 9)"]
.entry sample
  .linkage visible
  .param u32 n size 4 align 4 at 0
  .param u64 p size 8 align 8 at 8 ptr global pointee 16
  .directive ".maxntid 256, 1, 1"
  .var local b8 buf size 64 align 16
  .table T0 BB1 BB3
  .regs 40
{
BB0:
       LDC R1, c[0x0][0x160]                             ; 1
       LDC.B64 RD2, c[0x0][R1+0x168]
       ISETP.GE.U32 P3, R1, 0x40000                      ; 2
  @!P3 BRA BB3
       IADDX.64 RD4, P5, RD2, ~RD2, !P3
       IADDX R6, R1, R1
       FADD.FTZ R7, -|R1|, 0x80000000
       F2F.F16.F32 R8, R7
       S2R.TID.X R9
       LDG.V2.VOLATILE {R10, R11}, [RD2+0x8]
       STG.B64 [table+R9-0x4], RD4
       ST [RD2], -5
       CALL.U R12, &vprintf+0x4, &, {R1, RD2, &buf}
       BRX R9, T0
BB1 "$L__BB0_2":
       SEL R13, R1, RZ, !P3
       VOTE.ANY R14, P15, !P3, -1
       EXIT
BB3:
       RET
}
.loc 1 12 1 3 7
.loc 2 13 0 0 0
`;

describe('Ori text', () => {
  it('prints back exactly what it read', () => {
    const { program, diagnostics } = parseProgram(SAMPLE, isa, 'sample.ori');
    expect(diagnostics).toEqual([]);
    expect(printProgram(program)).toBe(SAMPLE);
    expect(parseProgram(printProgram(program), isa).program).toEqual(program);
  });

  it('leaves out trailing operands that hold their default, and restores them', () => {
    const fn = parseFn(
      'ISETP.LT P1, R2, R3\nISETP.LT P1, R2, R3, P4\nISETP.LT P1, P5, R2, R3, PT\nIADD3 R6, R2, R3\nEXIT',
      isa,
    );
    const [a, b, c, d] = fn.blocks[0].ins;
    expect([a.dst[1], a.src[2]]).toEqual([NO_REG, PT]);
    expect(regName(b.src[2].reg)).toBe('P4');
    expect(regName(c.dst[1])).toBe('P5');
    expect(d.src[2]).toEqual(imm(0));
    expect([a, b, c, d].map(printInstr)).toEqual([
      'ISETP.LT P1, R2, R3',
      'ISETP.LT P1, R2, R3, P4',
      'ISETP.LT P1, P5, R2, R3, PT',
      'IADD3 R6, R2, R3',
    ]);
  });

  it('reports every bad line with its place and a near miss', () => {
    const { diagnostics } = parseProgram(
      '.entry k\n{\nBB0:\n  IADD R1, R2\n  IADD3.QQ R1, R2, R3\n  IADD3 R1\n  EXIT\n}',
      isa,
      'bad.ori',
    );
    expect(diagnostics.map((d) => `${d.line}:${d.column} ${d.message} | ${d.notes?.join(' ')}`)).toEqual([
      "4:3 unknown opcode 'IADD' | did you mean DADD, FADD, IADD3?",
      "5:3 IADD3 has no modifier '.QQ' here | in this order: B32, 64",
      '6:8 IADD3 takes 4 operands (d, a, b, c), found 1 | ',
    ]);
    expect(renderDiagnostic(diagnostics[0], '.entry k\n{\nBB0:\n  IADD R1, R2')).toBe(
      "error: unknown opcode 'IADD'\n  --> bad.ori:4:3\n    4 |   IADD R1, R2\n      |   ^^^^\n  did you mean DADD, FADD, IADD3?",
    );
  });

  it('round-trips any instruction of any opcode', () => {
    const arbInstr = fc.integer({ min: 0, max: isa.opcodes.length - 1 }).chain((id) => {
      const op = isa.opcodes[id];
      return fc
        .tuple(...op.groups.map((g) => fc.integer({ min: 0, max: g.values.length - 1 })))
        .chain((picks) => {
          let mods = 0;
          op.groups.forEach((g, i) => {
            mods = (mods | (picks[i] << g.shift)) >>> 0;
          });
          const file = (bank: string, width: number) =>
            bank === 'p'
              ? RegFile.P
              : bank === 'b'
                ? RegFile.B
                : width === 64
                  ? RegFile.RD
                  : width === 128
                    ? RegFile.RQ
                    : RegFile.R;
          const regIn = (bank: string, width: number) =>
            fc.integer({ min: 0, max: 999 }).map((i) => makeReg(i, file(bank, width)));
          const dsts = fc.tuple(
            ...op.dsts.map((s) => {
              const one = regIn(s.bank, slotWidth(op, mods, s));
              return s.optional ? fc.option(one, { nil: NO_REG }) : one;
            }),
          );
          const srcs = fc.tuple(
            ...op.srcs.map((s) => {
              const width = slotWidth(op, mods, s) || 64;
              const kinds: fc.Arbitrary<Operand>[] = [];
              const has = (k: number) => (s.kinds & (1 << k)) !== 0;
              if (has(Kind.Reg))
                kinds.push(
                  fc
                    .tuple(
                      regIn(s.bank, width),
                      fc.subarray([Mod.Neg, Mod.Abs, Mod.Not].filter((m) => (s.mods & m) !== 0)),
                    )
                    .map(([r, m]) =>
                      reg(
                        r,
                        m.reduce((a, b) => a | b, 0),
                      ),
                    ),
                );
              if (has(Kind.Imm))
                kinds.push(
                  s.bank === 'p'
                    ? fc.constantFrom(PT, PF)
                    : fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }).map((v) => immOf(v, width)),
                );
              if (has(Kind.Imm) && s.bank !== 'p' && (s.mods & Mod.Neg) !== 0)
                kinds.push(
                  fc
                    .integer()
                    .map((v) => withOperandMods(imm(v), Mod.Neg))
                    .map((o) => (width > 32 ? withOperandMods(immOf(immValue(o, 32), 64), Mod.Neg) : o)),
                );
              if (has(Kind.CBank))
                kinds.push(
                  fc.tuple(fc.nat(3), fc.nat(4096)).map(([b, o]) => cbank(b, o)),
                  regIn('r', 64).map((r) => cbank(0, -8, r)),
                );
              if (has(Kind.Addr))
                kinds.push(
                  fc.tuple(regIn('r', 64), fc.integer({ min: -4096, max: 4096 })).map(([r, o]) => addr(r, o)),
                  fc.nat(4096).map((o) => addr(NO_REG, o, 'buffer$1')),
                );
              if (has(Kind.Label)) kinds.push(fc.nat(50).map((b) => ({ ...imm(b), kind: Kind.Label })));
              if (has(Kind.Table)) kinds.push(fc.nat(5).map((b) => ({ ...imm(b), kind: Kind.Table })));
              if (has(Kind.Sym)) kinds.push(fc.integer({ min: -64, max: 64 }).map((o) => sym('_Zfoo$x', o)));
              if (has(Kind.Text)) kinds.push(fc.string({ unit: 'grapheme' }).map((s) => text(s)));
              return fc.oneof(...kinds);
            }),
          );
          return fc.tuple(dsts, srcs, fc.boolean(), fc.boolean()).map(([d, s, not, named]) => {
            const dst = d as number[];
            const values = s as Operand[];
            if ((op.flags & OpFlag.Phi) !== 0) {
              const ways = values.filter((o) => o.kind !== Kind.Label).flatMap((o, k) => [label(k), o]);
              return instr(op, mods, dst, ways, 0);
            }
            // Another register of the destination's file stands for the value under a false guard.
            const otherwise = dst.map((r) => (r === NO_REG ? NO_REG : r + 8 * 2000));
            const some = named && otherwise.some((r) => r !== NO_REG);
            return instr(op, mods, dst, values, 0, makeReg(1000, RegFile.P), not, some ? otherwise : []);
          });
        });
    });
    fc.assert(
      fc.property(arbInstr, (ins: Instr) => {
        const text = `.entry k\n{\nBB0:\n${printGuarded(ins)}\n}`;
        const { program, diagnostics } = parseProgram(text, isa);
        expect(diagnostics, text).toEqual([]);
        expect(program.functions[0].blocks[0].ins[0]).toEqual(ins);
      }),
      { numRuns: runs(2000), seed: 7 },
    );
  });
});

describe('registers and operands', () => {
  it('names and reads registers of every file', () => {
    for (const file of Object.values(RegFile))
      expect(regOf(regName(makeReg(123, file)))).toBe(makeReg(123, file));
    expect(regOf('X1')).toBe(NO_REG);
  });

  it('keeps constants of any width', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
        (v) => immValue(immOf(v, 64), 64) === v && immValue(immOf(v, 32), 32) === (v & 0xffffffffn),
      ),
      { seed: 1 },
    );
  });

  it('packs and reads modifiers', () => {
    const op = isa.byName.get('F2F')!;
    const mods = withMods(op, 0, 'dt=F16', 'st=F64', 'RZ', 'FTZ');
    expect([
      modOf(op, mods, 'dt'),
      modOf(op, mods, 'st'),
      modOf(op, mods, 'rnd'),
      modOf(op, mods, 'ftz'),
    ]).toEqual(['F16', 'F64', 'RZ', 'FTZ']);
    expect(() => withMods(op, 0, 'F32')).toThrow("F2F has no modifier '.F32'");
  });
});

describe('verifier', () => {
  const errorsOf = (body: string, opts = {}) =>
    verifyFn(parseFn(body, isa), undefined, opts).map(verifyMessage);

  it('accepts the sample', () => {
    const { program } = parseProgram(SAMPLE, isa);
    expect(program.functions.flatMap((f) => verifyFn(f, program)).map(verifyMessage)).toEqual([]);
  });

  it.each([
    [
      'MOV R1, RD2\nEXIT',
      "test, BB0[0]: operand-file: source a of 'MOV R1, RD2' is RD2, expected a 32-bit register",
    ],
    [
      'MOV.64 R1, RD2\nEXIT',
      "test, BB0[0]: operand-file: 'MOV.64 R1, RD2' writes R1 as d, expected a 64-bit register",
    ],
    [
      'MOV R1, -R2\nEXIT',
      "test, BB0[0]: operand-modifier: source a of 'MOV R1, -R2' carries a modifier that the opcode does not take",
    ],
    [
      'MOV R1, [R2]\nEXIT',
      "test, BB0[0]: operand-kind: source a of 'MOV R1, [R2]' has a kind that the opcode does not take",
    ],
    ['BRA BB7', "test, BB0[0]: target: source to of 'BRA BB7' names BB7, which does not exist"],
    [
      'BRX R1, T2',
      "test, BB0[0]: table: source to of 'BRX R1, T2' names jump table T2, which does not exist",
    ],
    ['MOV R1, R2', 'test, BB0: fall-off: control falls off the end of the function'],
    [
      'MOV R1, R2\nMOV.64 RD2, RD3\nEXIT',
      'test, BB0[1]: register: index 2 is used in two register files (RD2)',
    ],
    ['BB0:\nEXIT\nBB0:\nEXIT', 'test, BB0: block-id: block id 0 is used twice'],
  ])('%s', (body, message) => expect(errorsOf(body)).toEqual([message]));

  it('checks the place of control instructions only when asked', () => {
    const body = 'BB0:\n@P1 BRA BB0\nEXIT';
    expect(errorsOf(body)).toEqual([]);
    expect(errorsOf(body, { controlLast: true })).toEqual([
      "test, BB0[0]: control-last: 'BRA BB0' transfers control in the middle of its block",
    ]);
  });

  it('knows symbols', () => {
    const { program } = parseProgram('.entry k\n{\nBB0:\n  LDG R1, [missing]\n  EXIT\n}', isa);
    expect(verifyFn(program.functions[0], program).map(verifyMessage)).toEqual([
      "k, BB0[0]: symbol: source ad of 'LDG R1, [missing]' names 'missing', which is not declared",
    ]);
  });
});

describe('editing', () => {
  const fn: Fn = parseFn('BB0:\nMOV R1, R2\nBB1:\nMOV R3, R4\nEXIT', isa);

  it('returns its argument when nothing changes', () => {
    expect(mapBlocks(fn, (b) => b)).toBe(fn);
    expect(mapIns(fn.blocks[0], (i) => i)).toBe(fn.blocks[0]);
    const ed = new FnEditor(fn);
    expect(ed.finish(fn.blocks)).toBe(fn);
    const { program } = parseProgram(SAMPLE, isa);
    expect(withFunction(program, program.functions[0])).toBe(program);
  });

  it('shares what stays', () => {
    const out = mapBlocks(fn, (b) => (b.id === 1 ? mapIns(b, (i) => (i.op.name === 'MOV' ? null : i)) : b));
    expect(out.blocks[0]).toBe(fn.blocks[0]);
    expect(out.blocks[1].ins[0]).toBe(fn.blocks[1].ins[1]);
    expect(printFn(out)).toContain('EXIT');
  });

  it('hands out fresh registers and blocks', () => {
    const ed = new FnEditor(fn);
    const r = ed.freshReg(RegFile.RD);
    expect(regName(r)).toBe(`RD${fn.regCount}`);
    expect(ed.freshBlock()).toBe(fn.blockCount);
  });
});

describe('many diagnostics that say the same', () => {
  const at = (line: number, message: string): Diagnostic => ({
    ...fileFault('k.ptx', message),
    line,
    column: 1,
    length: 2,
  });
  it('are one, with the lines of the others; a few are shown', () => {
    const few = [at(1, 'a'), at(2, 'a'), at(3, 'a')];
    expect(gathered(few)).toEqual(few);
    const other = at(7, 'b');
    const many = Array.from({ length: 12 }, (_, i) => at(10 + i, 'a'));
    expect(gathered([...many.slice(0, 5), other, ...many.slice(5)])).toEqual([
      { ...many[0], notes: ['the same 11 more times, in lines 11, 12, 13, 14, 15, 16, 17, 18 and 3 more'] },
      other,
    ]);
  });
});

describe('near misses', () => {
  it('finds transposed and mistyped words, nearest first', () => {
    expect(nearest('OriBranchOtp', ['OriBranchOpt', 'OriDoRemat', 'OriLoopFusion'])).toEqual([
      'OriBranchOpt',
    ]);
    expect(nearest('zzz', ['OriBranchOpt'])).toEqual([]);
    // Two of three letters differ.
    expect(nearest('Foo', ['NOP', 'for'])).toEqual(['for']);
    expect(nearest('ad', ['add', 'xor'])).toEqual(['add']);
    // Names that contain the word, where none is spelled like it.
    expect(nearest('remat', ['OriDoRematEarly', 'OriDoRemat', 'OriBranchOpt'])).toEqual([
      'OriDoRemat',
      'OriDoRematEarly',
    ]);
    expect(nearest('emat', ['OriDoRemat', 'Demat'])).toEqual(['Demat']);
    // Three letters are the start of few names, and in the middle of many.
    expect(nearest('gvn', ['LateGvn', 'GvnCse', 'OriDoRemat'])).toEqual(['GvnCse']);
    expect(nearest('Ori', ['OriDoRemat', 'OriBranchOpt', 'OriCopyProp', 'OriLoopFusion'])).toEqual([]);
  });
});
