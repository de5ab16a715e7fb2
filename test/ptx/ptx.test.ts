import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderDiagnostic } from '../../src/ir/diagnostic.ts';
import { NO_SPELLING } from '../../src/ir/opcode.ts';
import { printFn } from '../../src/ir/text.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import type { PtxFunction, PtxStatement } from '../../src/ptx/ast.ts';
import { checkPtx } from '../../src/ptx/check.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testIsa } from '../support/isa.ts';
import { runs } from '../support/size.ts';

const isa = testIsa();
const HEAD = '.version 9.0\n.target sm_80\n.address_size 64\n';
const REGS = `.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<16>; .reg .f64 %fd<8>;`;
const inKernel = (body: string): string =>
  `${HEAD}.visible .entry k(.param .u32 k_n, .param .u64 k_p)\n{\n${REGS}\n${body}\nret;\n}\n`;

/** Ori of a body without register numbers, one line per instruction. */
function ori(body: string): string[] {
  const { module, diagnostics } = parsePtx(inKernel(body), 'k.ptx');
  expect(diagnostics).toEqual([]);
  const r = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
  expect(r.diagnostics.map((d) => d.message)).toEqual([]);
  expect(verifyProgram(r.program).map(verifyMessage)).toEqual([]);
  return printFn(r.program.functions[0], { locs: false })
    .split('\n')
    .filter((l) => /^\s/.test(l) && !l.startsWith('  .'))
    .map((l) => l.trim())
    .slice(0, -1);
}

describe('parser', () => {
  it('reads declarations of every space, with initialisers', () => {
    const { module, diagnostics } = parsePtx(
      `${HEAD}.visible .global .align 4 .u32 a[2][2] = {{1, 0x10}, {-1, 07}};
.const .f32 c = 0f3F800000;
.global .u64 p[2] = {a+4, generic(a)};
.global .b8 m[2] = {0xFF(a), 0xFF00(a)};
.shared .align 16 .v4 .f32 s[8];
.extern .shared .align 16 .b8 dyn[];
.weak .global .attribute(.managed) .s32 managed = (3 + 4) * 2 << 1;
.extern .func (.param .b32 r) vprintf (.param .b64 x, .param .b64 y);
.func (.reg .b32 %out) f (.reg .b32 %in) { mov.b32 %out, %in; ret; }
.file 1 "a.cu"
.section .debug_str { .b8 1, 2 }
`,
      'd.ptx',
    );
    expect(diagnostics).toEqual([]);
    const v = Object.fromEntries(module.items.filter((i) => i.kind === 'variable').map((i) => [i.name, i]));
    expect(v.a).toMatchObject({ linkage: 'visible', align: 4, dims: [2, 2] });
    expect(v.managed.init).toEqual({ kind: 'int', value: 28n });
    expect(v.s).toMatchObject({ vector: 4, dims: [8] });
    expect(v.dyn).toMatchObject({ linkage: 'extern', dims: [0] });
    const { program } = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
    const bytes = (n: string) => [...program.variables.find((x) => x.name === n)!.init!];
    expect(bytes('a')).toEqual([1, 0, 0, 0, 16, 0, 0, 0, 255, 255, 255, 255, 7, 0, 0, 0]);
    expect(bytes('c')).toEqual([0, 0, 128, 63]);
    expect(program.variables.find((x) => x.name === 'p')!.relocs).toMatchObject([
      { at: 0, symbol: 'a', addend: 4, generic: false },
      { at: 8, symbol: 'a', generic: true },
    ]);
    expect(program.variables.find((x) => x.name === 'm')!.relocs).toMatchObject([{ byte: 0 }, { byte: 1 }]);
  });

  it('reads operands of every form', () => {
    const { module, diagnostics } = parsePtx(
      inKernel(`{ .reg .b32 t; mov.b32 t, 5; }
@!%p1 setp.lt.and.f32 %p2|%p3, %f1, 0f00000000, !%p4;
mov.b64 {%r1, _}, %rd1;
ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+-16];
call.uni (%r1), f, (%r2, 3);
wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2}, %rd1, %rd2, 1, 1, 1, 0, 0;
tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];
bra $L; $L:`).replace('{\n.reg', '{\n.reg'),
      'o.ptx',
    );
    expect(diagnostics).toEqual([]);
    const body = (module.items[0] as PtxFunction).body!;
    const instrs = body.filter((s): s is PtxStatement & { kind: 'instr' } => s.kind === 'instr');
    expect(instrs[0]).toMatchObject({
      opcode: 'setp',
      mods: ['lt', 'and', 'f32'],
      guard: { name: '%p1', not: true },
    });
    expect(instrs[0].operands.map((o) => o.kind)).toEqual(['pair', 'reg', 'float', 'reg']);
    expect(instrs[2].operands[1]).toMatchObject({ kind: 'addr', base: '%rd1', offset: -16n });
    expect(instrs[5].operands[1]).toMatchObject({ kind: 'addr', extra: [{ kind: 'vector' }] });
  });

  it('continues after errors and reports each, with a near miss', () => {
    const text = inKernel(
      'ad.s32 %r1, %r2, %r3;\nadd.s32 %r1, %r2,;\nmov.u32 %r1, (1/0);\n.rge .b32 %q;\nadd.s32 %r1, %r2, 3;',
    );
    const { diagnostics, module } = parsePtx(text, 'bad.ptx');
    expect(diagnostics.map((d) => renderDiagnostic(d, text))).toMatchInlineSnapshot(`
      [
        "error: unknown instruction 'ad'
        --> bad.ptx:7:1
          7 | ad.s32 %r1, %r2, %r3;
            | ^^
        did you mean 'add'?",
        "error: expected an operand, found ';'
        --> bad.ptx:8:18
          8 | add.s32 %r1, %r2,;
            |                  ^",
        "error: division by zero in a constant expression
        --> bad.ptx:9:16
          9 | mov.u32 %r1, (1/0);
            |                ^",
        "error: unknown directive '.rge'
        --> bad.ptx:10:1
         10 | .rge .b32 %q;
            | ^^^^
        did you mean '.reg'?",
      ]
    `);
    expect((module.items[0] as PtxFunction).body!.filter((s) => s.kind === 'instr')).toHaveLength(2);
  });

  it('checks names', () => {
    const { module } = parsePtx(
      inKernel('add.s32 %r1, %r99, %x1;\nbra $Lx;\n$La: $La: mov.u32 %r1, %tid.x;'),
      'n.ptx',
    );
    expect(checkPtx(module).map((d) => `${d.line}: ${d.message}`)).toEqual([
      "9: label '$La' is declared twice",
      "7: '%r99' is not declared",
      "7: '%x1' is not declared",
      "8: '$Lx' is not declared",
    ]);
  });

  it('never throws and never hangs, wherever a real file is cut or damaged', () => {
    const dir = new URL('../kernels/', import.meta.url);
    const text = readFileSync(new URL('interpreter/interpreter.sm_80.ptx', dir), 'utf8');
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(30),
        fc.constantFrom('', '{', '}', ';', '"', '/*', '[', '(', ',', '0f', '.', '%', '\n'),
        (at, cut, put) => {
          const damaged = text.slice(0, at) + put + text.slice(at + cut);
          const { module, diagnostics } = parsePtx(damaged, 'x.ptx');
          for (const d of diagnostics) expect(d.line).toBeLessThanOrEqual(damaged.split('\n').length);
          checkPtx(module);
          lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
        },
      ),
      { numRuns: runs(300), seed: 5 },
    );
  });
});

describe('lowering', () => {
  it('reports missing operands that the syntax check skipped', () => {
    const text = '.version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\ncvta.to.global.u64;\nret;\n}';
    const { program, diagnostics } = lowerPtx(parsePtx(text, 'x.ptx').module, {
      isa,
      paramBase: 0x160,
      sm: 'sm_80',
    });
    expect(program.functions).toEqual([]);
    expect(diagnostics).toHaveLength(1);
    expect(program.skipped.map((x) => x.why)).toEqual([
      ['cvta.to.global.u64 (1 time, first at line 6: an operand is missing)'],
    ]);
  });

  it.each([
    ['add.s32 %r1, %r2, 5;', ['IADD3 R10, R11, 5']],
    ['sub.s64 %rd1, %rd2, %rd3;', ['IADD3.64 RD1, RD2, -RD3']],
    ['mul.wide.u32 %rd1, %r2, 4;', ['IMAD_WIDE.U32 RD1, R2, 4']],
    ['mul.hi.s32 %r1, %r2, %r3;', ['IMAD.HI R1, R2, R3']],
    ['mad.lo.s64 %rd1, %rd2, %rd3, %rd4;', ['IMAD.S64 RD1, RD2, RD3, RD4']],
    ['shr.s32 %r1, %r2, 3;', ['SHR R1, R2, 3']],
    ['and.b32 %r1, %r2, 255;', ['LOP3 R1, R2, 255, RZ, 192']],
    ['not.b64 %rd1, %rd2;', ['LOP3.64 RD1, RD2, RZ, RZ, 15']],
    ['or.pred %p1, %p2, %p3;', ['PLOP3 P1, P2, P3, PT, 252']],
    ['setp.ltu.or.f32 %p1|%p2, %f1, %f2, !%p3;', ['FSETP.LTU.OR P1, P2, R1, R2, !P3']],
    ['setp.hi.u32 %p1, %r1, %r2;', ['ISETP.GT.U32 P1, R1, R2']],
    ['selp.f64 %fd1, %fd2, %fd3, %p1;', ['SEL.64 RD1, RD2, RD3, P1']],
    ['fma.rz.ftz.sat.f32 %f1, %f2, %f3, %f4;', ['FFMA.RZ.FTZ.SAT R1, R2, R3, R4']],
    ['neg.f32 %f1, %f2;', ['FADD R1, -R2, 0x80000000']],
    ['abs.f64 %fd1, %fd2;', ['DADD RD1, |RD2|, 0x8000000000000000']],
    ['cvt.rzi.s32.f32 %r1, %f1;', ['F2I.S32.F32.RZ R1, R1']],
    ['cvt.rni.f32.f32 %f1, %f2;', ['FRND.RN R1, R2']],
    ['cvt.rn.f16x2.f32 %r1, %f1, %f2;', ['F2FP R1, R1, R2']],
    ['cvt.u64.u32 %rd1, %r1;', ['I2I.U64.U32 RD1, R1']],
    ['add.s16 %rs1, %rs2, %rs3;', ['IADD3 R1, R2, R3', 'LOP3 R1, R1, 0xffff, RZ, 192']],
    ['setp.lt.s16 %p1, %rs1, 5;', ['SGXT R1, R1, 16', 'ISETP.LT P1, R1, 5']],
    ['mov.b64 %rd1, {%r1, %r2};', ['PAIR RD1, R1, R2', 'MOV.64 RD1, RD1']],
    ['mov.b32 {%rs1, %rs2}, %r1;', ['LOP3 R1, R1, 0xffff, RZ, 192', 'SHR.U32 R2, R1, 16']],
    ['mov.u32 %r1, %ctaid.y;', ['S2R.CTAID.Y R1', 'MOV R1, R1']],
    ['ld.param.u64 %rd1, [k_p];', ['LDC.B64 RD1, c[0x0][0x168]']],
    ['ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+8];', ['LDG.V2.NC {R1, R2}, [RD1+0x8]']],
    ['ld.volatile.shared.s8 %rs1, [%r1];', ['LDS.S8.VOLATILE R1, [R1]', 'LOP3 R1, R1, 0xffff, RZ, 192']],
    ['st.global.cs.u8 [%rd1], %rs1;', ['STG.U8.CS [RD1], R1']],
    ['atom.global.cas.b32 %r1, [%rd1], %r2, %r3;', ['ATOMG.CAS R1, [RD1], R2, R3']],
    ['red.shared.add.f32 [%r1], %f1;', ['ATOMS.ADD.F32.NORTN [R1], R1']],
    ['shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;', ['SHFL.BFLY R1, P1, R2, 1, 31, -1']],
    ['vote.sync.ballot.b32 %r1, %p1, -1;', ['VOTE.ANY R1, P1, -1']],
    ['bar.sync 1, 64;', ['BAR.SYNC 1, 64']],
    ['barrier.red.popc.u32 %r1, 0, %p1;', ['BAR.RED.POPC.UNALIGNED R1, RZ, RZ, P1']],
    ['clz.b32 %r1, %r2;', ['FLO.U32 R1, R2', 'IADD3 R1, 31, -R1']],
    [
      'add.cc.u32 %r1, %r2, %r3; addc.u32 %r4, %r5, %r6;',
      ['IADDX R1, P1, R2, R3, !PT', 'PLOP3 P2, P1, PT, PT, 240', 'IADDX R3, R4, R5, P2'],
    ],
    ['cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;', ['LDGSTS.B16.CG.L2_128B [R1], [RD1]']],
    ['@!%p1 exit;', ['@!P1 EXIT']],
    ['trap;', ['BPT.TRAP']],
  ])('%s', (ptx, expected) => {
    // Register numbers depend on declarations: compare the shape.
    const shape = (l: string) => l.replace(/\b(R|RD|P|RQ)\d+\b/g, '$1#');
    expect(ori(ptx).map(shape)).toEqual(expected.map(shape));
  });

  it('names every form it lacks, once, with count and line, and continues', () => {
    const { module } = parsePtx(
      `${inKernel('mov.u64 %rd1, nobody;\nmov.u64 %rd1, nobody;\nsqrt.rn.f32 %f1, %f2;')}.visible .entry ok() { ret; }\n`,
      'k.ptx',
    );
    const r = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
    expect(r.diagnostics.map((d) => `${d.line}: ${d.message}`)).toEqual([
      "7: 'k' is left out: mov.u64 has no Ori form yet (2 times)",
    ]);
    expect(r.program.functions.map((f) => f.name)).toEqual(['ok']);
    expect(r.program.skipped[0].name).toBe('k');
  });

  it('says in words of PTX what of an instruction has no form', () => {
    const { module } = parsePtx(
      inKernel('mov.u64 %rd1, nobody;\nmov.u64 %rd1, nobody;\nmov.u64 %rd1, nothing;'),
      'k.ptx',
    );
    const r = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
    expect(r.diagnostics.map((d) => [d.line, d.message, d.notes])).toEqual([
      [7, "'k' is left out: mov.u64 has no Ori form yet (2 times)", ["'nobody' is not declared"]],
      [9, "'k' is left out: mov.u64 has no Ori form yet (1 time)", ["'nothing' is not declared"]],
    ]);
    const wide = parsePtx(inKernel('cvt.rn.f32.f64 %rd1, %rd2;\ncvt.rn.f32.f64 %rd1, %rd3;'), 'k.ptx');
    const w = lowerPtx(wide.module, { isa, paramBase: 0x160, sm: 'sm_80' });
    expect(w.diagnostics.map((d) => [d.line, d.message, d.notes])).toEqual([
      [
        7,
        "'k' is left out: cvt.rn.f32.f64 has no Ori form yet (2 times)",
        ['its operands are not of the sizes or kinds that it takes'],
      ],
    ]);
  });

  it('says the reason whatever word it starts with, and none where the instruction as such has no form', () => {
    const said = (body: string, table = isa) =>
      lowerPtx(parsePtx(inKernel(body), 'k.ptx').module, {
        isa: table,
        paramBase: 0x160,
        sm: 'sm_80',
      }).diagnostics.map((d) => d.notes);
    const alone = { ...isa, foreign: [], spelling: NO_SPELLING };
    expect(said('mov.v2.b32 {%r1, %r2}, {%r3, %r4, %r5};', alone)).toEqual([
      ['its vectors differ in length'],
    ]);
    expect(said('mov.b128 %rd1, %rd2;', alone)).toEqual([[]]);
    const byName = new Map([...isa.byName].filter(([name]) => name !== 'I2I'));
    const without = { ...alone, byName };
    expect(said('cvt.u32.u64 %r1, %rd1;', without)).toEqual([['the instruction set has no I2I']]);
    // A row that would make an opcode that does not exist is not used.
    const noSum = new Map([...isa.byName].filter(([name]) => name !== 'FADD'));
    expect(said('add.f32 %f1, %f2, %f3;', { ...isa, byName: noSum })).toEqual([]);
  });

  it('lets a fault of its own out, whatever its text', () => {
    const byName = Object.assign(new Map(isa.byName), {
      get: () => {
        throw new Error('this lacks everything and has no modifier');
      },
    });
    const { module } = parsePtx(inKernel('add.f32 %f1, %f2, %f3;'), 'k.ptx');
    expect(() => lowerPtx(module, { isa: { ...isa, byName }, paramBase: 0x160, sm: 'sm_80' })).toThrow(
      /lacks everything/,
    );
  });

  it('gives names of inner scopes and of the module once each', () => {
    const scopes = Array.from(
      { length: 3 },
      () => '{ .shared .b32 s; .local .b32 l; st.shared.u32 [s], %r1; st.local.u32 [l], %r1; }',
    );
    const { module } = parsePtx(
      `.version 8.0\n.target sm_80\n.address_size 64\n.shared .b32 s$1;\n.extern .func x(.param .b32 a);\n.extern .func x(.param .b32 a);\n.entry k()\n{\n.reg .b32 %r<2>;\n${scopes.join('\n')}\nret;\n}\n`,
      'k.ptx',
    );
    const { program } = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
    expect(program.variables.map((v) => v.name)).toEqual(['s', 's$2', 's$3', 's$1']);
    expect(program.functions[0].variables.map((v) => v.name)).toEqual(['l', 'l$1', 'l$2']);
    expect(program.prototypes.map((p) => p.name)).toEqual(['x']);
  });

  it('thousands of declarations of every kind cost no more than their number', () => {
    // Were each to look at all others, this would not end within the time of a test.
    const n = 60_000;
    const many = (f: (i: number) => string) => Array.from({ length: n }, (_, i) => f(i)).join('\n');
    const text = `.version 8.0\n.target sm_80\n.address_size 64\n${many((i) => `.extern .func x${i}(.param .b32 a);`)}\n.entry k()\n{\n.reg .b32 %r<2>;\n${many(() => '{ .shared .b32 s; .param .b32 a; st.shared.u32 [s], %r1; st.param.b32 [a], %r1; }')}\nret;\n}\n`;
    const { module } = parsePtx(text, 'k.ptx');
    // Nor does any entry have so much shared memory.
    expect(checkPtx(module).map((d) => d.message)).toEqual([
      "'k' uses 240000 bytes of shared memory: at most 49152 have room",
    ]);
    const { program } = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
    expect([program.prototypes.length, program.variables.length]).toEqual([n, n]);
  });

  it('lowers every test kernel of every target completely', () => {
    const root = new URL('../kernels/', import.meta.url);
    let files = 0;
    for (const d of readdirSync(root, { withFileTypes: true }))
      if (d.isDirectory())
        for (const f of readdirSync(new URL(`${d.name}/`, root)).filter((x) => x.endsWith('.ptx'))) {
          const { module, diagnostics } = parsePtx(readFileSync(new URL(`${d.name}/${f}`, root), 'utf8'), f);
          expect(diagnostics).toEqual([]);
          expect(checkPtx(module)).toEqual([]);
          const r = lowerPtx(module, { isa, paramBase: 0x160, sm: 'sm_80' });
          expect(r.diagnostics).toEqual([]);
          expect(verifyProgram(r.program).map(verifyMessage)).toEqual([]);
          files++;
        }
    expect(files).toBeGreaterThan(60);
  });
});
