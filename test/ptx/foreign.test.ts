import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { host, runPipeline } from '../../src/engine/pipeline.ts';
import { withFunction } from '../../src/ir/edit.ts';
import { fillPlaces } from '../../src/ir/foreign-text.ts';
import { foreignForm, OpFlag } from '../../src/ir/opcode.ts';
import { printMnemonic } from '../../src/ir/print.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseFn, parseProgram, printFn, printProgram } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { checkPtx } from '../../src/ptx/check.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { type Launch, runLaunch } from '../../src/sim/launch.ts';
import { loadShipped, makePlan, ROOT } from '../../src/spec/node.ts';
import { renameWebs } from '../../src/ssa/webs.ts';
import { foreignPage, PAGE } from '../../src/tools/foreign-table.ts';
import { testContext } from '../support/context.ts';
import { ptxas as assembled } from '../support/ptxas.ts';
import { dice, wildKernel } from '../support/random-memory.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE, kernel as oriKernel } from '../support/sim-kernel.ts';
import { runs } from '../support/size.ts';

const specs = await loadShipped();
const table = new PtxTable(specs.ptx!.data as unknown as PtxDoc);
const made = await makePlan(
  { level: 3, sm: 'sm_90', order: 'binary', knobSets: [], set: [], disable: [] },
  host,
  specs,
);
const plan = made.plan!;
const { isa } = plan;
const paramBase = Number(plan.backend.facts['param-base']);
const ptxas = spawnSync('ptxas', ['--version']).status === 0;

const kernel = (body: string, target = 'sm_90a') => `.version 9.0
.target ${target}
.address_size 64
.global .texref tref;
.global .samplerref sref;
.global .surfref uref;
.visible .entry k(.param .u64 k_p, .param .align 64 .b8 k_map[128])
{
.reg .pred %p<10>;
.reg .b16 %h<20>;
.reg .b32 %r<60>;
.reg .f32 %f<60>;
.reg .b64 %rd<20>;
.reg .f64 %fd<20>;
.reg .b128 %q<10>;
.shared .align 128 .b8 tile[4096];
.shared .align 8 .b64 bar;
${body}
ret;
}
`;

function lowered(text: string) {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  expect(diagnostics).toEqual([]);
  const l = lowerPtx(module, { isa, paramBase, sm: 'sm_90' });
  return { module, ...l };
}

/** PTX of the body's one foreign instruction, after the way through Ori and its text. */
function back(body: string, target = 'sm_90a'): { text: string; how: string; program: Program } {
  const { module, program, diagnostics } = lowered(kernel(body, target));
  expect(diagnostics.map((d) => [d.message, ...(d.notes ?? [])])).toEqual([]);
  expect(verifyProgram(program).map(verifyMessage)).toEqual([]);
  const ori = printProgram(program);
  const again = parseProgram(ori, isa);
  expect(again.diagnostics).toEqual([]);
  expect(printProgram(again.program)).toBe(ori);
  const { text, diagnostics: kept } = emitPtx(again.program, { table, paramBase, module });
  expect(kept).toEqual([]);
  const how = program.functions[0].blocks.flatMap((b) => b.ins).find((i) => i.op.primitive === 'foreign')!;
  expect(how, body).toBeDefined();
  return {
    text,
    how: `${printMnemonic(how.op, how.mods).replace(/\.(GLOBAL|SHARED)$/, '')} ${how.src[0].sym}`,
    program,
  };
}

/** Instructions of every family, by target; with what Ori calls them. */
const FORMS: readonly (readonly [target: string, opcode: string, ptx: string])[] = [
  [
    'sm_90a',
    'FOREIGN_LOAD_LANES',
    'ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5+16];',
  ],
  ['sm_90a', 'FOREIGN_LOAD_LANES', 'ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r1, %r2}, [tile+64];'],
  ['sm_90a', 'FOREIGN_STORE_LANES', 'stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd1], {%r1};'],
  ['sm_90a', 'FOREIGN_LANES', 'movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;'],
  [
    'sm_90a',
    'FOREIGN_LANES',
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};',
  ],
  [
    'sm_90a',
    'FOREIGN_LANES',
    'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1, %fd2}, {%fd3}, {%fd4}, {%fd5, %fd6};',
  ],
  [
    'sm_90a',
    'FOREIGN_LANES',
    'mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8, %r9, %r10}, {%r11, %r12}, %r13, 0x0;',
  ],
  [
    'sm_90a',
    'FOREIGN_LOAD_LANES',
    'wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%r9+32], 16;',
  ],
  [
    'sm_90a',
    'FOREIGN_STORE_LANES',
    'wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, %r1;',
  ],
  ['sm_90a', 'FOREIGN_LOAD', 'tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];'],
  [
    'sm_90a',
    'FOREIGN_LOAD',
    'tex.level.3d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tref, sref, {%f5, %f6, %f7, %f7}], %f8;',
  ],
  ['sm_90a', 'FOREIGN_LOAD', 'tld4.g.2d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%f1, %f2}];'],
  ['sm_90a', 'FOREIGN_VALUE', 'txq.width.b32 %r1, [%rd1];'],
  ['sm_90a', 'FOREIGN_LOAD', 'suld.b.2d.v2.b16.clamp {%h1, %h2}, [%rd1, {%r1, %r2}];'],
  ['sm_90a', 'FOREIGN_STORE', 'sust.b.2d.b16.zero [uref, {%r1, %r2}], {%h1};'],
  ['sm_90a', 'FOREIGN_MEMORY', 'sured.b.add.2d.u32.trap [%rd1, {%r1, %r2}], %r3;'],
  [
    'sm_90a',
    'FOREIGN_MEMORY',
    'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [bar];',
  ],
  [
    'sm_90a',
    'FOREIGN_MEMORY',
    'cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1, {%r2, %r3}], [%r4], %h1;',
  ],
  ['sm_90a', 'FOREIGN_MEMORY', 'cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2];'],
  [
    'sm_90a',
    'FOREIGN_MEMORY',
    'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], %r2;',
  ],
  ['sm_90a', 'FOREIGN_MEMORY', 'cp.async.bulk.wait_group.read 1;'],
  ['sm_90a', 'FOREIGN_MEMORY', 'prefetch.param.tensormap [k_map];'],
  ['sm_90a', 'FOREIGN_MEMORY', 'fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;'],
  ['sm_90a', 'FOREIGN_MEMORY', 'tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%rd1], %rd2;'],
  [
    'sm_90a',
    'FOREIGN_MEMORY',
    'st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3];',
  ],
  ['sm_90a', 'FOREIGN_MEMORY', 'mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];'],
  ['sm_90a', 'FOREIGN_VALUE', 'mapa.shared::cluster.u32 %r1, %r2, 3;'],
  ['sm_90a', 'FOREIGN_LOAD', 'ld.shared::cluster.u32 %r1, [%r2+4];'],
  ['sm_90a', 'FOREIGN_MEMORY', 'atom.global.exch.b128 %q1, [%rd1], %q2;'],
  ['sm_90a', 'FOREIGN_MEMORY', 'atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4};'],
  ['sm_90a', 'FOREIGN_MEMORY', 'multimem.ld_reduce.global.add.f32 %f1, [%rd1];'],
  ['sm_90a', 'FOREIGN_VALUE', 'mov.b128 %q1, {%rd1, %rd2};'],
  [
    'sm_90a',
    'FOREIGN_VALUE',
    'createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0f3F000000;',
  ],
  ['sm_90a', 'FOREIGN_MEMORY', 'mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 %rd1, [%r1], 16;'],
  ['sm_100a', 'FOREIGN_MEMORY', 'st.async.mmio.release.sys.global.b32 [%rd1], %r1;'],
  ['sm_100a', 'FOREIGN_MEMORY', 'red.async.mmio.release.gpu.global.add.u32 [%rd1], %r1;'],
  ['sm_90a', 'FOREIGN', 'setmaxnreg.inc.sync.aligned.u32 232;'],
  ['sm_90a', 'FOREIGN', 'mov.u32 %r1, %pm0;'],
  ['sm_90a', 'FOREIGN_VALUE', 'fma.rn.oob.f16x2 %r1, %r2, %r3, %r4;'],
  ['sm_100a', 'FOREIGN_VALUE', 'cvt.rs.f16x2.f32 %r1, %f1, %f2, %r3;'],
  [
    'sm_90a',
    'FOREIGN.BEGINS',
    'wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;',
  ],
  ['sm_100a', 'FOREIGN.BEGINS', 'tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];'],
  ['sm_100a', 'FOREIGN', 'tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;'],
  ['sm_100a', 'FOREIGN', 'tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;'],
  ['sm_100a', 'FOREIGN', 'tcgen05.st.sync.aligned.32x32b.x2.b32 [%r1], {%r2, %r3};'],
  ['sm_100a', 'FOREIGN_VALUE', 'clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;'],
];

/** An instruction with what may change on the way taken out: names of registers, how numbers are spelled. */
const shape = (line: string): string =>
  line
    .replace(/@!?%\w+ /, '')
    .replace(/%pm0/, 'pm0')
    .replace(/%\w+/g, '%')
    .replace(/0x0/, '0')
    .replace(/;$/, '')
    .trim();

describe('every family', () => {
  it.each(FORMS)('%s %s: %s', (target, opcode, ptx) => {
    const { text, how } = back(ptx, target);
    expect(how.split(' ')[0]).toBe(opcode);
    expect(text.split('\n').map(shape)).toContain(shape(ptx));
    // Names of registers are gone, all else stands as it stood.
    expect(how).not.toMatch(/%(?!pm0)/);
    const guarded = back(`@!%p9 ${ptx}`, target);
    expect(guarded.text).toMatch(new RegExp(`@!%p\\d+ ${ptx.split(' ')[0].replace(/\./g, '\\.')}`));
  });

  it.skipIf(!ptxas).each(['sm_90a', 'sm_100a'])('ptxas takes them on %s', (target) => {
    const all = FORMS.filter(([t]) => t === target).map(([, , ptx]) => ptx);
    // References and texture objects do not go together in one module.
    for (const [body, refs] of [
      [all.filter((x) => !/[tsu]ref/.test(x)), false],
      [all.filter((x) => /[tsu]ref/.test(x)), true],
    ] as const) {
      if (body.length === 0) continue;
      const mode = refs ? `${target}, texmode_independent` : target;
      const source = kernel([...body, ...body.map((x) => `@%p9 ${x}`)].join('\n'), mode);
      const { module, program } = lowered(refs ? source : source.replace(/\.global \.\w+ref \w+;\n/g, ''));
      expect(program.skipped).toEqual([]);
      expect(assembled(emitPtx(program, { table, paramBase, module }).text, target).errors).toBe('');
    }
  });
});

describe('what cannot be carried', () => {
  it.each([
    ['st.param.u32 [k_p], %r1;', /'k_p' is not a parameter that can be written/],
    ['tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [nobody, {%r1, %r2}];', /'nobody' is not declared/],
    ['ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r1}, [%r5];', /occurs twice/],
  ])('%s', (ptx, why) => {
    const { program } = lowered(kernel(ptx));
    expect(program.functions).toEqual([]);
    expect(program.skipped[0].why.join()).toMatch(why);
  });
});

describe('what nobody knows', () => {
  const body = (more: string) => `ld.param.u64 %rd1, [k_p];
mov.u32 %r1, 5;
${more}
st.global.u32 [%rd1], %r1;`;

  it('is carried with a warning, and taken to read and write all of its registers', () => {
    const { program, diagnostics } = lowered(kernel(body('tensormap.new %r1, [%rd1], 7;')));
    expect(diagnostics.map((d) => d.message)).toEqual(["'k': tensormap.new is not known (1 time)"]);
    const i = program.functions[0].blocks.flatMap((b) => b.ins).find((x) => x.op.name === 'FOREIGN')!;
    expect(i.src[0].sym).toBe('tensormap.new <d0=s0>, [<d1=s1:64>], 7');
    expect(i.src.slice(1).map((o) => o.reg)).toEqual(i.dst);
  });

  it('may be an instruction of a PTX that is newer, and of no other', () => {
    const text = kernel(body('quantum.entangle.b32 {%r1, %r2}, [%rd1+8];'));
    expect(parsePtx(text, 'k.ptx').diagnostics.map((d) => d.message)).toEqual([
      "unknown instruction 'quantum'",
    ]);
    const { program, diagnostics } = lowered(text.replace('9.0', '9.7'));
    expect(diagnostics.map((d) => d.message)).toEqual(["'k': quantum.entangle.b32 is not known (1 time)"]);
    const words = program.functions[0].blocks.flatMap((b) => b.ins.map((i) => i.src[0]?.sym));
    expect(words).toContain('quantum.entangle.b32 {<d0=s0>, <d1=s1>}, [<d2=s2:64>+8]');
  });

  it.each([
    ['add.u8x4 %r2, %r3, %r4;', "'add' has no modifier '.u8x4'", 'add.u8x4 <d0=s0>, <d1=s1>, <d2=s2>'],
    [
      'cvt.rn.satfinite.s2f6x2.f32 %h1, %f1, %f2;',
      "'cvt' has no modifier '.s2f6x2'",
      'cvt.rn.satfinite.s2f6x2.f32 <d0=s0:16>, <d1=s1>, <d2=s2>',
    ],
    [
      'tex.9d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f5}];',
      "'tex' has no modifier '.9d'",
      'tex.9d.v4.f32.f32 {<d0=s0>, <d1=s1>, <d2=s2>, <d3=s3>}, [<d5=s5:64>, {<d4=s4>}]',
    ],
    [
      'tcgen05.newthing.b32 [%r3], %r4;',
      "'tcgen05' has no modifier '.newthing'",
      'tcgen05.newthing.b32 [<d0=s0>], <d1=s1>',
    ],
    [
      'min.fast.u32 %r2, %r3, %r4;',
      "'min' has no modifier '.fast'",
      'min.fast.u32 <d0=s0>, <d1=s1>, <d2=s2>',
    ],
    [
      'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%rd1], %r2, %r3, %r4, [bar];',
      "'cp' has no modifier '.ignore_oob'",
      'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.ignore_oob [<d0=s0>], [<d1=s1:64>], <d2=s2>, <d3=s3>, <d4=s4>, [<s5:sym>]',
    ],
  ])('may be a form of an opcode that is known: %s', (line, said, words) => {
    const text = kernel(body(line));
    const errors = (t: string) => {
      const { module, diagnostics } = parsePtx(t, 'k.ptx');
      return [...diagnostics, ...checkPtx(module)]
        .filter((d) => d.severity === 'error')
        .map((d) => d.message);
    };
    expect(errors(text)).toEqual([said]);
    const newer = text.replace('9.0', '9.2');
    expect(errors(newer)).toEqual([]);
    const { program, diagnostics } = lowered(newer);
    expect(diagnostics.map((d) => d.message)).toEqual([`'k': ${line.split(' ')[0]} is not known (1 time)`]);
    const carried = program.functions[0].blocks.flatMap((b) => b.ins).filter((i) => i.op.name === 'FOREIGN');
    expect(carried.map((i) => i.src[0].sym)).toEqual([words]);
  });

  it('may not be a known form with operands that it does not take, nor a jump', () => {
    const wrong = (line: string) => {
      const { module } = parsePtx(kernel(body(line)).replace('9.0', '9.2'), 'k.ptx');
      return checkPtx(module).filter((d) => d.severity === 'error').length;
    };
    expect([wrong('add.s32 %r1, %r2;'), wrong('mul.s32 %r1, %r2, %r3;')]).toEqual([1, 1]);
    const { program } = lowered(kernel(body('bra.often $L; $L:')).replace('9.0', '9.2'));
    expect(program.skipped).toHaveLength(1);
  });

  it('gets its registers in one where passes made two of them', async () => {
    const { module, program } = lowered(
      kernel(body('tensormap.new %r1, [%rd1], 7;\nst.global.u32 [%rd1+4], 5;')),
    );
    const out = (await runPipeline(program, plan)).last;
    const { text } = emitPtx(out, { table, paramBase, module });
    const m = /tensormap\.new (%\w+), \[(%\w+)\], 7;/.exec(text)!;
    // What it leaves in its registers is what is stored, and where.
    const named = (r: string) =>
      [...text.matchAll(new RegExp(`mov\\.b(?:32|64) (%\\w+), ${r};`, 'g'))].map((x) => x[1]);
    const value = /st\.global\.b32 \[(%\w+)\], (%\w+);/.exec(text)!;
    expect([m[2], ...named(m[2])]).toContain(value[1]);
    expect([m[1], ...named(m[1])]).toContain(value[2]);
  });
});

describe('a register that is read and written', () => {
  /** A kernel in SSA, before and after it leaves, and as PTX. */
  function left(lines: readonly string[]) {
    const program = oriKernel(lines.join('\n'));
    const fn = program.functions[0];
    const out = runPass('convert-mov-phi', fn, { ...testContext(fn), program });
    expect(verifyFn(out).map(verifyMessage)).toEqual([]);
    const after = withFunction(program, out);
    expect(judgeKernel(program, after, 'k', BASE).differences).toEqual([]);
    const { text } = emitPtx(after, { table, paramBase: BASE, module: null });
    return { ori: printFn(out, { locs: false }), text };
  }
  const out = 'STG [RD3], R9\nEXIT';

  it('is one register, without a copy where the old value is dead', () => {
    const { ori } = left(['MOV R5, 7', 'FOREIGN R9, "brand.new <d0=s0>, 3", R5', out]);
    const [, to, from] = /FOREIGN (R\d+), "brand\.new <d0=s0>, 3", (R\d+)/.exec(ori)!;
    expect(to).toBe(from);
    expect(ori.match(/MOV/g)).toHaveLength(1);
  });

  it('gets a copy where the old value is needed', () => {
    const { ori } = left(['MOV R5, 7', 'FOREIGN R6, "brand.new <d0=s0>", R5', 'IADD3 R9, R5, R6', out]);
    const [, to, from] = /FOREIGN (R\d+), "brand\.new <d0=s0>", (R\d+)/.exec(ori)!;
    expect(to).toBe(from);
    expect(ori.match(/MOV/g)).toHaveLength(2);
  });

  it('in a loop is the register of the phi', () => {
    const { ori } = left([
      'MOV R5, 7',
      'MOV R20, RZ',
      'BB1:',
      'MOVPHI R6, {BB0: R5, BB1: R7}',
      'MOVPHI R21, {BB0: R20, BB1: R22}',
      'FOREIGN R7, "brand.new <d0=s0>", R6',
      'IADD3 R22, R21, 1',
      'ISETP.LT P30, R22, 3',
      '@P30 BRA BB1',
      'BB2:',
      'MOV R9, R7',
      out,
    ]);
    const body = ori.slice(ori.indexOf('BB1:'), ori.indexOf('BB2:'));
    expect(body).not.toContain('MOV');
  });

  it('stays apart where a guard leaves another value than the one it reads', () => {
    const { text } = left([
      'MOV R5, 7',
      'MOV R6, 8',
      'ISETP.LT P30, R2, 3',
      '@P30 FOREIGN R9 else R6, "brand.new <d0=s0>", R5',
      'STG [RD3+0x400], R5',
      out,
    ]);
    expect(text).toMatch(/mov\.b32 (%r\d+), (%r\d+);\n\t@(%p\d+) brand\.new \1;\n\t@\3 mov\.b32 %r\d+, \1;/);
  });

  it('stays one when live ranges are split', () => {
    const fn = oriKernel(
      [
        'MOV R5, 7',
        'STG [RD3+0x400], R5',
        'MOV R5, R2',
        'FOREIGN R5, "brand.new <d0=s0>", R5',
        'MOV R9, R5',
        out,
      ].join('\n'),
    ).functions[0];
    const split = printFn(renameWebs(fn, isa).fn, { locs: false });
    const [, to, from] = /FOREIGN (R\d+), "brand\.new <d0=s0>", (R\d+)/.exec(split)!;
    expect(to).toBe(from);
  });
});

describe('registers in flight', () => {
  const d = '{%f1, %f2, %f3, %f4}';
  const product = (regs: string) =>
    `wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 ${regs}, %rd1, %rd2, %p1, 1, 1, 0, 0;`;
  const [fence, commit] = ['wgmma.fence.sync.aligned;', 'wgmma.commit_group.sync.aligned;'];
  const wait = (groups: number) => `wgmma.wait_group.sync.aligned ${groups};`;
  const begin = `ld.param.u64 %rd1, [k_p];\nmov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;
mov.u64 %rd2, 3;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nsetp.ne.u32 %p1, %r1, 77;`;
  const end =
    'add.f32 %f1, %f1, %f2;\nadd.f32 %f3, %f3, %f4;\nadd.f32 %f1, %f1, %f3;\nst.global.f32 [%rd1], %f1;';

  /** What comes out at a level, and why functions were kept as they came. */
  async function out(lines: readonly string[], level = 3) {
    const m = await makePlan(
      { level, sm: 'sm_90', order: 'binary', knobSets: [], set: [], disable: [] },
      host,
      specs,
    );
    const { module, program, diagnostics } = lowered(kernel([begin, ...lines, end].join('\n')));
    expect(diagnostics).toEqual([]);
    const last = runPipeline(program, m.plan!).last;
    expect(judgeKernel(program, last, 'k', paramBase).differences).toEqual([]);
    const e = emitPtx(last, { table, paramBase, module });
    return { text: e.text, kept: e.diagnostics.map((x) => x.message), program };
  }
  const loop = [
    '$L:',
    fence,
    product(d),
    commit,
    wait(0),
    'add.u32 %r2, %r2, 1;',
    'setp.lt.u32 %p2, %r2, 5;',
    '@%p2 bra $L;',
  ];

  it.each([0, 1, 2, 3])('sums of a loop stay where they are, at level %i', async (level) => {
    const { text, kept, program } = await out(loop, level);
    expect(kept).toEqual([]);
    const flight = text.slice(text.indexOf('wgmma.fence'), text.indexOf('wgmma.wait'));
    expect(flight).not.toMatch(/mov\.b32|cvt/);
    const names = program.functions[0].blocks
      .flatMap((b) => b.ins)
      .find((x) => x.src[0]?.sym.startsWith('wgmma.wait'))!;
    expect(names.dst).toHaveLength(4);
    expect(names.src.slice(1).map((o) => o.reg)).toEqual(names.dst);
  });

  it('values computed from a sum stay after the wait', async () => {
    const { text, kept } = await out([fence, product(d), commit, wait(0), 'mul.f32 %f1, %f1, %f1;']);
    expect(kept).toEqual([]);
    expect(text.indexOf('mul.f32')).toBeGreaterThan(text.indexOf('wgmma.wait_group'));
  });

  it('a wait reaches as many groups as it says', async () => {
    const e = '{%f5, %f6, %f7, %f8}';
    const both = [fence, product(d), commit, product(e), commit];
    const use = 'add.f32 %f9, %f1, %f2;\nst.global.f32 [%rd1+64], %f9;';
    expect((await out([...both, wait(1), use, wait(0)])).kept).toEqual([]);
    const early = await out([...both, wait(2), use, wait(0)]);
    expect(early.kept).toEqual([
      expect.stringMatching(/'k' is kept unchanged: .* touches R\d+ while it is in flight/),
    ]);
    expect(early.text).toContain('wgmma.wait_group.sync.aligned 2;');
  });

  it('loads from tensor memory are like others where the source does not wait for them', () => {
    const load = 'tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];';
    const use = 'add.u32 %r3, %r1, %r1;';
    const how = (lines: readonly string[]) =>
      lowered(kernel(lines.join('\n'), 'sm_100a'))
        .program.functions[0].blocks.flatMap((b) => b.ins)
        .filter((x) => x.op.primitive === 'foreign')
        .map((x) => `${printMnemonic(x.op, x.mods)} ${x.dst.length}`);
    expect(how([load, 'tcgen05.wait::ld.sync.aligned;', use])).toEqual([
      'FOREIGN.BEGINS 1',
      'FOREIGN.ENDS 1',
    ]);
    expect(how([load, use])).toEqual(['FOREIGN 1']);
  });

  it.each([
    [
      'read in flight',
      [fence, product(d), 'add.f32 %f9, %f1, %f1;\nst.global.f32 [%rd1+8], %f9;', commit, wait(0)],
    ],
    [
      'read in flight on one way',
      [
        fence,
        product(d),
        commit,
        'setp.eq.u32 %p3, %r1, 3;',
        '@%p3 bra $S;',
        wait(0),
        '$S:',
        'st.global.f32 [%rd1+8], %f1;',
        wait(0),
      ],
    ],
    ['written behind the fence', [fence, 'ld.global.f32 %f1, [%rd1+4];', product(d), commit, wait(0)]],
  ] as const)('a function is kept unchanged where a register is %s', async (_what, lines) => {
    const { kept } = await out(lines);
    expect(kept).toHaveLength(1);
    expect(kept[0]).toMatch(/is kept unchanged/);
  });
});

describe('passes', () => {
  const optimized = async (body: string): Promise<{ text: string; differences: readonly string[] }> => {
    const { module, program, diagnostics } = lowered(kernel(body));
    expect(diagnostics).toEqual([]);
    const out = (await runPipeline(program, plan)).last;
    expect(verifyProgram(out).map(verifyMessage)).toEqual([]);
    const { differences } = judgeKernel(program, out, 'k', paramBase);
    return { text: emitPtx(out, { table, paramBase, module }).text, differences };
  };
  const count = (text: string, what: RegExp): number => [...text.matchAll(what)].length;

  it('remove pure instructions and loads without uses, and keep writes', async () => {
    const { text, differences } = await optimized(`ld.param.u64 %rd1, [k_p];
mov.u32 %r1, %tid.x;
tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r1}];
movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
fma.rn.oob.f16x2 %r3, %r1, %r1, %r1;
sust.b.2d.b32.zero [%rd1, {%r1, %r1}], {%r1};
atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f7, %f8};`);
    expect(differences).toEqual([]);
    expect(count(text, /tex\.|movmatrix|fns/g)).toBe(0);
    expect(count(text, /sust|atom/g)).toBe(2);
  });

  it('keep stores before instructions that read memory, and reload after those that write', async () => {
    const { text, differences } = await optimized(`ld.param.u64 %rd1, [k_p];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mov.u32 %r9, tile;
st.shared.u32 [tile], %r1;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r9];
st.shared.u32 [tile], 7;
ld.global.u32 %r3, [%rd2];
wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd2], {%r2, %r2, %r2, %r2, %r2, %r2, %r2, %r2}, %r1;
ld.global.u32 %r4, [%rd2];
ld.global.u32 %r5, [%rd2];
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r6, %r7}, {%r2, %r2}, {%r2}, {%r3, %r4};
ld.global.u32 %r8, [%rd2];
add.u32 %r6, %r6, %r8;
add.u32 %r6, %r6, %r5;
add.u32 %r6, %r6, %r7;
st.global.u32 [%rd2+4096], %r6;`);
    expect(differences).toEqual([]);
    expect(count(text, /st\.shared/g)).toBe(2);
    // One load before the fragments are stored, one behind: multiplying matrices touches no memory.
    expect(count(text, /ld\.global/g)).toBe(2);
  });

  it('hoist nothing out of loops, and put nothing that lanes do together under a condition', async () => {
    const { text, differences } = await optimized(`ld.param.u64 %rd1, [k_p];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 0;
$L:
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r6, %r7}, {%r1, %r1}, {%r1}, {%r1, %r1};
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 3;
@%p1 bra $L;
setp.lt.u32 %p2, %r1, 3;
@!%p2 bra $E;
st.global.u32 [%rd1], %r6;
$E:`);
    expect(differences).toEqual([]);
    expect(count(text, /mma/g)).toBeGreaterThanOrEqual(1);
    const at = text.indexOf('mma.sync');
    expect(at).toBeLessThan(text.indexOf('setp.', text.lastIndexOf('mma.sync')));
  });

  it('halves go through registers of their own, under the guard', async () => {
    const { text } = back(
      'mov.u16 %h1, 9;\nmov.u32 %r1, %tid.x;\n@%p1 suld.b.1d.b16.clamp {%h1}, [%rd1, {%r1}];',
    );
    expect(text).toMatch(
      /@(%p\d+) suld\.b\.1d\.b16\.clamp \{(%h\d+)\}, \[%rd\d+, \{%r\d+\}\];\n\t@\1 cvt\.u32\.u16 %r\d+, \2;/,
    );
  });
});

describe('running', () => {
  const two = (change: (text: string) => string, body: string) => {
    const text = kernel(body);
    const a = lowered(text).program;
    const b = lowered(change(text)).program;
    return judgeKernel(a, b, 'k', paramBase).differences;
  };
  const body = `ld.param.u64 %rd1, [k_p];
cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mov.u32 %r9, tile;
st.shared.u32 [tile], %r1;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r9];
sust.b.2d.b32.zero [%rd1, {%r1, %r1}], {%r1};
sured.b.add.2d.u32.trap [%rd1, {%r1, %r1}], %r1;
txq.width.b32 %r4, [%rd1];
add.u32 %r4, %r4, %r2;
mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd2, %rd2, %rd3;
st.global.u32 [%rd2+4096], %r4;`;

  it.each([
    ['nothing', (t: string) => t, false],
    ['a write that is dropped', (t: string) => t.replace(/sust.*\n/, ''), true],
    ['two writes in another order', (t: string) => t.replace(/(sust.*\n)(sured.*\n)/, '$2$1'), true],
    ['another operand', (t: string) => t.replace(/(sured.*), %r1;/, '$1, %r2;'), true],
    ['another name', (t: string) => t.replace('txq.width', 'txq.height'), true],
    ['a store that is dropped in front of a reader', (t: string) => t.replace(/st\.shared.*\n/, ''), true],
    ['a store behind its reader', (t: string) => t.replace(/(st\.shared.*\n)(ldmatrix.*\n)/, '$2$1'), true],
    ['registers of other names', (t: string) => t.replaceAll('%r9', '%r19'), false],
  ] as const)('an open world tells %s', (_what, change, different) => {
    expect(two(change, body).length > 0).toBe(different);
  });

  it('waits for bytes of a copy of unknown size', () => {
    const { program } = lowered(
      kernel(`ld.param.u64 %rd1, [k_p];
mov.u32 %r1, tile;
mov.u32 %r2, bar;
mov.u32 %r5, %tid.x;
setp.ne.u32 %p1, %r5, 0;
@%p1 bra $W;
mbarrier.init.shared.b64 [bar], 1;
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r5}], [%r2];
mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 64;
$W:
bar.sync 0;
$T:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra $T;`),
    );
    const r = judgeKernel(program, program, 'k', paramBase);
    expect([r.same, r.partial]).toEqual([true, false]);
  });

  it('a launch says what it cannot run', () => {
    const text = kernel('txq.width.b32 %r1, [%rd1];');
    const { program } = lowered(text.replace(/k\(.*\)/, 'k()'));
    const launch: Launch = {
      name: 't',
      kernel: 'k',
      grid: [1, 1, 1],
      block: [32, 1, 1],
      dynamicShared: 0,
      params: [],
    };
    const said = runLaunch(program, isa, launch, paramBase, { counters: false, budget: 1000 }).error;
    expect(said).toContain("the simulator cannot run 'txq.width.b32'");
  });
});

describe('any kernel', () => {
  const LINES = [
    'FOREIGN_LOAD R15, "tex.a <d0>, [<s0:64>+8]", RD12',
    'FOREIGN_LOAD_LANES.SHARED {R14, R15}, "ldmatrix.b {<d0>, <d1>}, [<s0>]", R11',
    'FOREIGN_STORE {}, "sust.c [<s0:64>+4], <s1>", {RD12, R15}',
    'FOREIGN_STORE_LANES.SHARED {}, "stmatrix.c [<s0>], <s1>", {R11, R14}',
    'FOREIGN_MEMORY R15, "atom.d <d0>, [<s0:64>], <s1>", {RD3, R14}',
    'FOREIGN_LANES R14, "mma.e <d0>, <s0>, <s1>", {R14, R15}',
    'FOREIGN R15, "brand.new <d0=s0>", R15',
    'FOREIGN_VALUE R15, "value.f <d0>, <s0>", R7',
    'FOREIGN.BEGINS R15, "wgmma.g <d0=s0>, <s1>", {R15, R14}',
    'FOREIGN.ENDS R15, "wgmma.wait 0 // <d0=s0>", R15',
  ];

  /** A kernel with such instructions behind some of its own, some of them under a guard. */
  function sown(seed: number): Program {
    const d = dice(seed);
    const program = wildKernel(seed);
    const text = printFn(program.functions[0], { locs: false }).split('\n');
    const from = text.findIndex((l) => l.includes('ISETP.NE P16'));
    const lines = text.flatMap((l, k) => {
      if (k <= from || !/^ {7}\S/.test(l) || /EXIT|BRA/.test(l) || d(3) > 0) return [l];
      return [l, `${d(4) === 0 ? `@${d(2) === 0 ? '!' : ''}P16` : ''} ${LINES[d(LINES.length)]}`];
    });
    return withFunction(program, parseFn(lines.join('\n'), isa));
  }

  it.each(['binary', 'seed'])('does the same when it is optimized, in the order %s', async (order) => {
    const m = await makePlan(
      { level: 3, sm: 'sm_90', order, knobSets: [], set: [], disable: [] },
      host,
      specs,
    );
    let some = 0;
    fc.assert(
      fc.property(fc.nat(1_000_000), (seed) => {
        const program = sown(seed);
        const { last } = runPipeline(program, m.plan!, { verify: true });
        if (printProgram(last).includes('FOREIGN')) some++;
        const { name } = program.functions[0];
        const worlds = { grid: [1, 1, 1], block: [2, 1, 1], budget: 4000, seeds: [1, 2] } as const;
        const { differences, partial } = judgeKernel(program, last, name, BASE, worlds);
        // Of runs that do not end, logs of stores are compared, where one that nobody reads is missed.
        if (!partial) expect(differences, `${printProgram(program)}\n${printProgram(last)}`).toEqual([]);
      }),
      { numRuns: runs(70), seed: 77, examples: [[897362]] },
    );
    expect(some).toBeGreaterThan(runs(70) / 2);
  });
});

const FOLDER = fileURLToPath(new URL('../foreign/', import.meta.url));
const files = readdirSync(FOLDER).filter((f) => f.endsWith('.ptx'));

describe.each(files)('%s', (file) => {
  it('is optimized as a whole, compares equal, and ptxas takes it', async () => {
    const sm = /sm_\d+/.exec(file)![0];
    const m = await makePlan(
      { level: 3, sm, order: 'binary', knobSets: [], set: [], disable: [] },
      host,
      specs,
    );
    const base = Number(m.plan!.backend.facts['param-base']);
    const { module } = parsePtx(readFileSync(FOLDER + file, 'utf8'), file);
    const { program, diagnostics } = lowerPtx(module, { isa, paramBase: base, sm });
    expect(diagnostics).toEqual([]);
    const carried = program.functions.map((f) =>
      f.blocks.flatMap((b) => b.ins).some((i) => i.op.primitive === 'foreign'),
    );
    expect(carried).toEqual(carried.map(() => true));
    const out = runPipeline(program, m.plan!).last;
    expect(verifyProgram(out).map(verifyMessage)).toEqual([]);
    for (const f of program.functions) {
      const r = judgeKernel(program, out, f.name, base, { effort: 'low' });
      expect([f.name, r.differences]).toEqual([f.name, []]);
    }
    const { text, diagnostics: kept } = emitPtx(out, { table, paramBase: base, module });
    expect(kept).toEqual([]);
    if (ptxas) expect(assembled(text, /sm_\d+a?/.exec(file)![0]).errors).toBe('');
  });
});

describe('the table', () => {
  it('is what the page says', () => {
    expect(readFileSync(join(ROOT, PAGE), 'utf8')).toBe(foreignPage(isa));
  });

  it('has a row for everything, and says less of what may do more', () => {
    expect(foreignForm(isa, 'brandnew.sync.b32')!.unknown).toBe(true);
    expect(isa.foreign.filter((f) => f.unknown)).toHaveLength(1);
    for (const f of isa.foreign) {
      if (f.op === null) continue;
      const { flags } = f.op;
      if ((flags & OpFlag.WritesMemory) !== 0) expect(flags & OpFlag.SideEffect, f.title).not.toBe(0);
      expect(flags & OpFlag.Pure, f.title).toBe(0);
    }
  });

  it('fills places', () => {
    expect(
      fillPlaces('a {<d0>, <d1:64>}, [<s0:sym>], <d2=s12:p>', (p) => `${p.dst}/${p.src}/${p.size}`),
    ).toBe('a {0/-1/32, 1/-1/64}, [-1/0/sym], 2/12/p');
  });
});
