import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isCall } from '../../src/analysis/memory/memory-ops.ts';
import { loadLaunch, optimize, planFromFiles, readPtx, simulate } from '../../src/index.ts';
import type { ProgramContext, Remark } from '../../src/ir/pass.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseProgram, printProgram } from '../../src/ir/text.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { inlineFunctions } from '../../src/passes/calls/inline-functions.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { runPass } from '../support/run-pass.ts';
import { often, runs } from '../support/size.ts';
import { shipped } from '../support/specs.ts';

const isa = testIsa();
const BASE = 0x160;
const table = new PtxTable(
  parse(readFileSync(new URL('../../pipelines/isa/ptx.yaml', import.meta.url), 'utf8')) as PtxDoc,
);

/** A module with control operations at the ends of blocks. */
function moduleOf(text: string) {
  const { module, diagnostics } = parsePtx(`.version 9.0\n.target sm_80\n.address_size 64\n${text}`, 'm.ptx');
  expect(diagnostics.map((d) => d.message)).toEqual([]);
  const { program } = lowerPtx(module, { isa, paramBase: BASE, sm: 'sm_80' });
  const functions = program.functions.map((f) => runPass('split-control-flow', f, testContext(f)));
  return { module, program: { ...program, functions } };
}

function inlined(
  program: Program,
  params: Record<string, number> = {},
  opts: { open?: (fn: Fn) => boolean; rewrites?: { left: number } } = {},
): { program: Program; remarks: Remark[] } {
  const remarks: Remark[] = [];
  const ctx: ProgramContext = {
    isa,
    phase: 'Test',
    params,
    functions: program.functions.filter(opts.open ?? (() => true)),
    of: (fn) => ({
      ...testContext(fn, { rewrites: opts.rewrites }),
      program,
      params,
      remark: (kind, name, message) => void remarks.push({ kind, name, message } as Remark),
    }),
  };
  const out = inlineFunctions(program, ctx);
  expect(verifyProgram(out).map(verifyMessage)).toEqual([]);
  return { program: out, remarks };
}

const callsIn = (p: Program): number =>
  p.functions.reduce((n, f) => n + f.blocks.flatMap((b) => b.ins).filter(isCall).length, 0);

/** A kernel whose threads store what `body` leaves in %r9, given their number in %r0. */
const kernel = (body: string): string => `
.visible .entry k(.param .u64 out) {
.reg .b32 %r<20>; .reg .b64 %d<8>; .reg .pred %p<4>; .reg .b16 %h<8>;
mov.u32 %r0, %tid.x; mov.u32 %r9, 0; ld.param.u64 %d0, [out]; mad.wide.u32 %d0, %r0, 4, %d0;
${body}
st.global.u32 [%d0], %r9; ret; }`;

/** What the 64 threads of the kernel store. */
function values(program: Program): number[] {
  const launch = {
    name: 't',
    kernel: 'k',
    grid: [1, 1, 1],
    block: [64, 1, 1],
    dynamicShared: 0,
    params: [
      {
        kind: 'buffer',
        type: 's32',
        length: 64,
        bytes: new Uint8Array(256),
        expect: null,
        tolerance: 0,
      },
    ],
  } as const;
  const r = runLaunch(program, isa, launch as never, BASE, { counters: false, budget: 1_000_000 });
  expect([r.status, r.error]).toEqual(['ok', null]);
  return [...new Int32Array(r.buffers[0]!.buffer)];
}

const ADD = `
.func (.param .b32 r) add(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>;
ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; add.s32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret; }`;
/** A call of a function of two words and one result. */
const call = (f: string, d: string, a: string, b: string): string =>
  `{ .param .b32 a0; .param .b32 a1; .param .b32 r0; st.param.b32 [a0], ${a}; st.param.b32 [a1], ${b};
call.uni (r0), ${f}, (a0, a1); ld.param.b32 ${d}, [r0]; }`;

describe('inlining', () => {
  it('puts the code of the function where the call was, with variables of the call as local ones', () => {
    const { program } = moduleOf(ADD + kernel(call('add', '%r9', '%r0', '%r0')));
    const out = inlined(program);
    expect(out.remarks.map((r) => `${r.kind} ${r.name}: ${r.message}`)).toEqual([
      'passed inlined: CALL.U {}, &add, &, {&a0, &a1, &r0}: replaced by its code',
    ]);
    expect(printProgram(out.program, { locs: false } as never)).toMatchInlineSnapshot(`
      ".program "m.ptx" version 9.0 target sm_80 address 64
      .entry k
        .linkage visible
        .param u64 out size 8 align 8 at 0
        .var local b32 a0 size 4 align 4
        .var local b32 a1 size 4 align 4
        .var local b32 r0 size 4 align 4
      {
      BB0:
             S2R.TID.X R40
             MOV R0, R40
             MOV R9, RZ
             LDC.B64 RD20, c[0x0][0x160]
             IMAD_WIDE.U32 RD20, R0, 4, RD20
             STL [a0], R0
             STL [a1], R0
      BB2:
             LDL R41, [a0]
             LDL R42, [a1]
             IADD3 R43, R41, R42
             STL [r0], R43
      BB1:
             LDL R9, [r0]
             STG [RD20], R9
             RET
      }
      "
    `);
    expect(values(out.program)).toEqual(Array.from({ length: 64 }, (_, i) => 2 * i));
  });

  it('starts at the leaves, so that chains of calls collapse', () => {
    const chain = `${ADD}
.func (.param .b32 r) twice(.param .b32 a, .param .b32 b) { .reg .b32 %r<5>;
ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; ${call('add', '%r3', '%r1', '%r2')} ${call('add', '%r4', '%r3', '%r2')}
st.param.b32 [r], %r4; ret; }`;
    const { program } = moduleOf(chain + kernel(call('twice', '%r9', '%r0', '5')));
    const out = inlined(program);
    expect(callsIn(out.program)).toBe(0);
    expect(out.program.functions.map((f) => f.name)).toEqual(['k']);
    expect(values(out.program)).toEqual(Array.from({ length: 64 }, (_, i) => i + 10));
  });

  it('takes registers as parameters and results', () => {
    const { program } = moduleOf(`
.func (.reg .u32 r, .reg .u32 q) f(.reg .u32 a, .reg .u32 s, .reg .u64 w) { .reg .b32 %x; .reg .pred p; setp.lt.u32 p, s, 10; cvt.u32.u64 %x, w;
selp.u32 r, a, %x, p; set.gt.u32.u32 q, r, 7; and.b32 q, q, 100; ret; }
${kernel(`mov.b64 %d1, 9; call.uni (%r1, %r2), f, (%r0, %r0, %d1); add.u32 %r9, %r1, %r2;`)}`);
    const out = inlined(program);
    expect(callsIn(out.program)).toBe(0);
    const expected = Array.from(
      { length: 64 },
      (_, i) => (i < 10 ? i : 9) + ((i < 10 ? i : 9) > 7 ? 100 : 0),
    );
    expect(values(out.program)).toEqual(expected);
    expect(values(program)).toEqual(expected);
  });

  it('copies loops, early returns under a guard, tables, local arrays and pragmas', () => {
    const { program } = moduleOf(`
.func (.param .b32 r) f(.param .align 8 .b8 s[16], .param .b32 n)
{ .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p<3>; .reg .b16 %h<3>; .local .align 4 .b8 a[16];
.pragma "nounroll";
ld.param.b32 %r1, [s]; ld.param.u8 %r2, [s+5]; ld.param.b32 %r3, [n];
st.param.b32 [r], %r2; setp.gt.u32 %p1, %r3, 40; @%p1 ret;
mov.u64 %d1, a; st.local.u32 [%d1], %r1; st.local.u32 [%d1+4], %r2; st.local.u32 [%d1+8], %r3; st.local.u32 [%d1+12], 3;
mov.u32 %r4, 0; mov.u32 %r5, 0;
L: and.b32 %r6, %r5, 3; mad.wide.u32 %d2, %r6, 4, %d1; ld.local.u32 %r7, [%d2]; add.u32 %r4, %r4, %r7;
add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r3; @%p2 bra L;
and.b32 %r6, %r3, 1;
ts: .branchtargets X, Y;
brx.idx %r6, ts;
X: add.u32 %r4, %r4, 1000; bra Z;
Y: add.u32 %r4, %r4, 2000;
Z: st.param.b32 [r], %r4; ret; }
${kernel(`{ .param .align 8 .b8 s0[16]; .param .b32 n0; .param .b32 r0;
st.param.b32 [s0], 7; st.param.b32 [s0+4], 0x1234; st.param.b64 [s0+8], 0; st.param.b32 [n0], %r0;
call.uni (r0), f, (s0, n0); ld.param.b32 %r9, [r0]; }`)}`);
    const out = inlined(program);
    expect(callsIn(out.program)).toBe(0);
    const [k] = out.program.functions;
    expect(k.variables.map((v) => [v.name, v.space, v.align])).toEqual([
      ['s0', 'local', 8],
      ['n0', 'local', 4],
      ['r0', 'local', 4],
      ['a', 'local', 4],
    ]);
    expect(k.attrs.pragmas).toEqual([{ block: expect.any(Number), text: 'nounroll' }]);
    const header = k.blocks.find((b) => b.id === k.attrs.pragmas[0].block)!;
    expect(header.name).toBe('L');
    expect(values(out.program)).toEqual(values(program));
    const words = [7, 0x12, 0, 3];
    const expected = Array.from({ length: 64 }, (_, n) => {
      if (n > 40) return 0x12;
      let sum = n % 2 === 1 ? 2000 : 1000;
      for (let i = 0; i < Math.max(1, n); i++) sum += i % 4 === 2 ? n : words[i % 4];
      return sum;
    });
    expect(values(out.program)).toEqual(expected);
  });

  it('changes nothing the second time', () => {
    const { program } = moduleOf(ADD + kernel(call('add', '%r9', '%r0', '%r0')));
    const once = inlined(program).program;
    expect(inlined(once).program).toBe(once);
  });

  it('gives variables names of their own, call by call', () => {
    const f = `.func (.param .b32 r) f(.param .b32 a, .param .b32 b) { .reg .b32 %r<3>; .reg .b64 %d; .local .b32 t[2];
ld.param.b32 %r1, [a]; mov.u64 %d, t; st.local.u32 [%d+4], %r1; ld.local.u32 %r2, [%d+4]; st.param.b32 [r], %r2; ret; }`;
    const { program } = moduleOf(
      f + kernel(`${call('f', '%r1', '%r0', '1')} ${call('f', '%r2', '3', '1')} add.u32 %r9, %r1, %r2;`),
    );
    const out = inlined(program).program;
    expect(new Set(out.functions[0].variables.map((v) => v.name)).size).toBe(8);
    expect(values(out)).toEqual(Array.from({ length: 64 }, (_, i) => i + 3));
  });
});

describe('calls that stay, and why', () => {
  const why = (text: string, params: Record<string, number> = {}, opts = {}): string[] => {
    const { program } = moduleOf(text);
    const out = inlined(program, params, opts);
    expect(callsIn(out.program)).toBeGreaterThan(0);
    return out.remarks
      .filter((r) => r.kind === 'missed')
      .map((r) => r.message.replace(/^.* is not inlined: /, ''));
  };
  const sum = call('add', '%r9', '%r0', '%r0');

  it.each([
    [
      'recursion',
      `.func (.param .b32 r) add(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>; .reg .pred %p;
ld.param.b32 %r1, [a]; setp.eq.u32 %p, %r1, 0; @%p ret; sub.u32 %r1, %r1, 1; ${call('add', '%r3', '%r1', '%r1')} st.param.b32 [r], %r3; ret; }`,
      sum,
      'the function may call itself',
    ],
    [
      'a weak function',
      ADD.replace('.func', '.weak .func'),
      sum,
      'another definition may replace the function, which is weak',
    ],
    [
      'a declared function',
      ADD.replace(/\{[\s\S]*/, ';').replace('.func', '.extern .func'),
      sum,
      'the function is defined elsewhere',
    ],
    ['a guard', ADD, `setp.lt.u32 %p1, %r0, 5; ${sum.replace('call.uni', '@%p1 call')}`, 'it is guarded'],
    [
      'a variable of two calls',
      ADD,
      `{ .param .b32 a0; .param .b32 a1; .param .b32 r0; st.param.b32 [a0], 1; st.param.b32 [a1], 2;
call.uni (r0), add, (a0, a1); call.uni (r0), add, (a0, a1); ld.param.b32 %r9, [r0]; }`,
      'a0 is used other than by this call, loads and stores',
    ],
    [
      'a variable that is argument and result',
      ADD,
      `{ .param .b32 a0; .param .b32 a1; st.param.b32 [a0], 1; st.param.b32 [a1], 2;
call.uni (a1), add, (a0, a1); ld.param.b32 %r9, [a1]; }`,
      'a1 is passed to it more than once',
    ],
  ])('%s', (_, f, body, said) => expect(new Set(why(f + kernel(body)))).toEqual(new Set([said])));

  it('a parameter whose address is used otherwise, as Ori text can say', () => {
    const { program } = moduleOf(ADD + kernel(sum));
    const text = printProgram(program).replace(/LDPRM (R\d+), \[a\]/, 'MOV $1, &a');
    const out = inlined(parseProgram(text, isa).program);
    expect(out.remarks.map((r) => r.message)).toEqual([
      'CALL.U {}, &add, &, {&a0, &a1, &r0} is not inlined: the function uses its parameter a other than by loads and stores',
    ]);
  });

  it('a parameter that the function gives on to another one', () => {
    const given = `${ADD.replace('.func', '.weak .func')}
.func (.param .b32 r) mid(.param .b32 a, .param .b32 b) { .reg .b32 %r<2>; .param .b32 x; call.uni (x), add, (a, b);
ld.param.b32 %r1, [x]; st.param.b32 [r], %r1; ret; }
`;
    expect(why(given + kernel(call('mid', '%r9', '%r0', '%r0')))).toEqual([
      'another definition may replace the function, which is weak',
      'the function uses its parameter a other than by loads and stores',
    ]);
  });

  it('a target that is known only at run time', () => {
    expect(
      why(
        `${ADD}${kernel(`{ .param .b32 a0; .param .b32 a1; .param .b32 r0; mov.b64 %d1, add;
st.param.b32 [a0], 1; st.param.b32 [a1], 2;
pt: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);
call (r0), %d1, (a0, a1), pt; ld.param.b32 %r9, [r0]; }`)}`,
      ),
    ).toEqual(['its target is known only at run time']);
  });

  it('size, of functions called once and more often, and growth', () => {
    const two = `${call('add', '%r1', '%r0', '%r0')} ${call('add', '%r9', '%r1', '%r1')}`;
    expect(why(ADD + kernel(two), { 'max-instructions': 4 })).toEqual(
      Array(2).fill('5 instructions are more than 4'),
    );
    expect(why(ADD + kernel(sum), { 'max-instructions': 100, 'max-instructions-once': 4 })).toEqual([
      '5 instructions are more than 4',
    ]);
    expect(callsIn(inlined(moduleOf(ADD + kernel(sum)).program, { 'max-instructions': 4 }).program)).toBe(0);
    expect(why(ADD + kernel(two), { 'max-growth': 9 })).toEqual(['the function has grown by 5 instructions']);
  });

  it('a limit on rewrites', () => {
    const two = `${call('add', '%r1', '%r0', '%r0')} ${call('add', '%r9', '%r1', '%r1')}`;
    const { program } = moduleOf(ADD + kernel(two));
    expect(callsIn(inlined(program, {}, { rewrites: { left: 1 } }).program)).toBe(1);
  });

  it('callers for which the phase is not open', () => {
    const { program } = moduleOf(ADD + kernel(sum));
    expect(inlined(program, {}, { open: (f) => f.name !== 'k' }).program).toBe(program);
  });
});

describe('functions that nobody calls any more', () => {
  const body = call('add', '%r9', '%r0', '%r0');
  const left = (text: string): string[] =>
    inlined(moduleOf(text).program).program.functions.map((f) => f.name);

  it('are removed, unless other modules may call them, their address is taken, or they had no caller', () => {
    expect(left(ADD + kernel(body))).toEqual(['k']);
    expect(left(ADD.replace('.func', '.visible .func') + kernel(body))).toEqual(['add', 'k']);
    expect(left(`${ADD}${kernel(`${body} mov.b64 %d1, add;`)}`)).toEqual(['add', 'k']);
    expect(left(`${ADD}${ADD.replace('add(', 'other(')}${kernel(body)}`)).toEqual(['other', 'k']);
  });

  it('are not written as PTX, unless the text of another function is kept that may call them', () => {
    const { module, program } = moduleOf(ADD + kernel(body));
    const write = (p: Program): string => emitPtx(p, { table, paramBase: BASE, module }).text;
    const out = inlined(program).program;
    expect(write(out)).not.toContain('add(');
    expect(write({ ...out, skipped: [{ name: 'other', why: ['x'] }] })).not.toContain('.func');
    const kept = moduleOf(`${ADD}${kernel(body)}${kernel(body).replace('entry k', 'entry other')}`);
    const some = inlined(kept.program).program;
    const without = {
      ...some,
      functions: some.functions.filter((f) => f.name === 'k'),
      skipped: [{ name: 'other', why: ['no form'] }],
    };
    expect(emitPtx(without, { table, paramBase: BASE, module: kept.module }).text).toMatch(
      /\.func [^;]*add\(/,
    );
  });
});

describe('the recipe `inline`', () => {
  it('leaves neither calls nor parameters in memory where functions are small, and the same values', async () => {
    const folder = new URL('../kernels/device-functions/', import.meta.url);
    const text = readFileSync(new URL('device-functions.sm_80.ptx', folder), 'utf8');
    const plan = await planFromFiles({ sm: 'sm_80', level: 3, recipes: ['inline'] }, shipped);
    const { program } = readPtx(text, plan, 'device-functions.sm_80.ptx');
    const out = optimize(program, plan, { verify: true }).last;
    expect(callsIn(program)).toBe(9);
    expect(callsIn(out)).toBe(0);
    expect(out.functions.map((f) => f.kind)).toEqual(['entry', 'entry']);
    expect(out.functions.flatMap((f) => f.variables)).toEqual([]);
    for (const name of ['launch.yaml', 'launch-chain.yaml']) {
      const launch = await loadLaunch(fileURLToPath(new URL(name, folder)));
      const [before, after] = [program, out].map((p) => simulate(p, plan, launch));
      expect([before.status, before.mismatches, after.status, after.mismatches]).toEqual([
        'ok',
        [],
        'ok',
        [],
      ]);
      expect(after.warpInstructions).toBeLessThan(before.warpInstructions * 0.75);
    }
  });
});

describe('random modules of device functions', () => {
  /** A statement over the words %r1 to %r4. */
  const statement = fc.oneof(
    fc
      .tuple(fc.constantFrom('add', 'sub', 'xor', 'mul.lo', 'min'), word(), word(), word())
      .map(([op, d, a, b]) => `${op}.${op === 'xor' ? 'b32' : 'u32'} ${d}, ${a}, ${b};`),
    fc
      .tuple(word(), fc.integer({ min: 1, max: 60 }))
      .map(([a, n]) => `setp.lt.u32 %p0, ${a}, ${n}; @%p0 add.u32 %r1, %r1, ${n};`),
    fc
      .tuple(word(), fc.integer({ min: 1, max: 60 }), word())
      .map(([a, n, v]) => `setp.gt.u32 %p1, ${a}, ${n}; st.param.b32 [r], ${v}; @%p1 ret;`),
    fc.tuple(fc.integer({ min: 2, max: 5 }), word()).map(
      ([n, a]) => `{ .reg .b32 %i; .reg .pred %q; mov.u32 %i, 0;
L: add.u32 %r2, %r2, ${a}; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, ${n}; @%q bra L; }`,
    ),
    fc.tuple(fc.nat(2), word(), word(), word()).map(([f, d, a, b]) => ({ f, d, a, b })),
  );
  function word() {
    return fc.constantFrom('%r1', '%r2', '%r3', '%r4');
  }
  const bodies = fc.array(fc.array(statement, { minLength: 1, maxLength: 7 }), {
    minLength: 2,
    maxLength: 4,
  });

  it('leave the same values in memory, with any limits', () => {
    let changed = 0;
    const limits = fc.record({
      'max-instructions': fc.constantFrom(8, 20, 1000),
      'max-growth': fc.constantFrom(30, 10_000),
    });
    fc.assert(
      fc.property(bodies, limits, (all, params) => {
        const text = (body: (typeof all)[number], n: number): string =>
          body
            .map((s) => (typeof s === 'string' ? s : s.f < n ? call(`f${s.f}`, s.d, s.a, s.b) : ''))
            .join('\n');
        const functions = all.slice(0, -1).map(
          (body, n) => `.func (.param .b32 r) f${n}(.param .b32 a, .param .b32 b) {
.reg .b32 %r<5>; .reg .pred %p<2>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; mov.u32 %r3, 3; mov.u32 %r4, %tid.x;
${text(body, n)}
st.param.b32 [r], %r1; ret; }`,
        );
        const last = text(all[all.length - 1], all.length - 1).replace(/st\.param\.b32 \[r\], [^;]*;/g, '');
        const k = kernel(`mov.u32 %r1, %r0; mov.u32 %r2, 2; mov.u32 %r3, 3; mov.u32 %r4, 4;
${last.replace(/@%p1 ret;/g, '')} add.u32 %r9, %r1, %r2;`);
        const { program } = moduleOf(functions.join('\n') + k);
        const out = inlined(program, params).program;
        if (out !== program) changed++;
        expect(values(out)).toEqual(values(program));
      }),
      { numRuns: runs(150), seed: 20261124 },
    );
    expect(changed).toBeGreaterThan(often(40));
  });
});
