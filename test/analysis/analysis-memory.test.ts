import { existsSync, readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callGraphOf } from '../../src/analysis/calls/call-graph.ts';
import { effectOf, effectsOf } from '../../src/analysis/calls/mod-ref.ts';
import { cfgOf } from '../../src/analysis/flow/cfg.ts';
import { dominates, dominatorsOf } from '../../src/analysis/flow/dominators.ts';
import { joinsOf } from '../../src/analysis/flow/joins.ts';
import { type Accesses, accessesOf, Does, rowsOf } from '../../src/analysis/memory/address.ts';
import { Alias, alias, distanceOf, staysInOrder } from '../../src/analysis/memory/alias.ts';
import { Mem, mayBeCommon, VISIBLE } from '../../src/analysis/memory/memory-ops.ts';
import { type MemorySsa, memorySsaOf } from '../../src/analysis/memory/memory-ssa.ts';
import { kernelParameter } from '../../src/analysis/memory/objects.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseProgram } from '../../src/ir/text.ts';
import { verifyMessage, verifyProgram } from '../../src/ir/verify.ts';
import { splitControlFlow } from '../../src/passes/flow/split-control-flow.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { type Event, LOCAL, runMemory } from '../support/memory-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { ssaKernel, wildKernel, world } from '../support/random-memory.ts';
import { allRuns, runs } from '../support/size.ts';

const isa = testIsa();
const SEED = 20261122;

const VARIABLES = `.var shared b8 s size 64 align 16
.var shared b8 t size 64 align 16
.var shared b8 u size 0 align 16 linkage extern
.var shared b8 v size 0 align 16 linkage extern
.var global b8 g size 64 align 16
.var const b8 c size 64 align 16
.var local b8 w size 64 align 16
`;

/** Indices are unique over all files: RD1 is written for RD21, P1 for P41. */
const numbered = (text: string): string =>
  text.replace(
    /\b(RD|P)(\d)\b/g,
    (_, file: string, n: string) => `${file}${Number(n) + (file === 'P' ? 40 : 20)}`,
  );

/** A module with the variables above; the last function is meant. */
function module(text: string): { program: Program; fn: Fn; a: Accesses; m: MemorySsa } {
  const { program, diagnostics } = parseProgram(
    `.program "t" version 9.0 target sm_80 address 64\n${VARIABLES}${numbered(text)}`,
    isa,
  );
  expect(diagnostics).toEqual([]);
  const fn = program.functions[program.functions.length - 1];
  return { program, fn, a: accessesOf(fn, program.variables), m: memorySsaOf(fn, program) };
}
const kernel = (body: string, extra = ''): ReturnType<typeof module> =>
  module(
    `.entry k\n  .param u64 p size 8 align 8 at 0 ptr global\n  .param u64 q size 8 align 8 at 8\n${extra}{\nBB0:\n${body}\nEXIT\n}\n`,
  );

/** How the first access relates to the second, in a straight piece of code. */
function relation(body: string, extra = ''): string {
  const { a } = kernel(body, extra);
  const rows = [...a.at.keys()].filter((x) => a.du.ins[a.at[x]].op.space !== 'const');
  return Object.keys(Alias)[alias(a, rows[0], rows[1])];
}

/** Do the last two loads give the same, as far as is known? */
function common(body: string, extra = ''): boolean {
  const { a, m } = kernel(body, extra);
  const loads = a.du.ins.flatMap((x, n) => (mayBeCommon(x) && x.op.space !== 'const' ? [n] : []));
  const [x, y] = loads.slice(-2);
  return m.versionSeenBy(x) === m.versionSeenBy(y);
}

describe('addresses', () => {
  it.each([
    // Constant distances through every kind of arithmetic, whatever the opcode.
    ['No', 'MOV R1, &s\nIADD3 R2, R1, 4, RZ\nSTS [R1], R9\nLDS R8, [R2]'],
    ['Must', 'MOV R1, &s\nIADD3 R2, R1, 4, RZ\nSTS [R1+4], R9\nLDS R8, [R2]'],
    ['May', 'MOV R1, &s\nIADD3 R2, R1, 3, RZ\nSTS [R1], R9\nLDS R8, [R2]'],
    ['No', 'LEA R2, R7, R6, 4\nIADD3 R3, R2, -16, RZ\nSTS [R2], R9\nLDS R8, [R3+4]'],
    ['Must', 'SHL R2, R7, 4\nIADD3 R3, R2, R6, RZ\nLEA R4, R7, R6, 4\nSTS [R3], R9\nLDS R8, [R4]'],
    ['Must', 'IMAD R2, R7, 12, R6\nIMAD R3, 12, R7, R6\nSTS [R3], R9\nLDS R8, [R2]'],
    [
      'Must',
      'LDC.B64 RD1, c[0x0][0x160]\nIMAD_WIDE.U32 RD2, R7, 4, RD1\nIMAD_WIDE.U32 RD3, R7, 4, c[0x0][0x160]\nSTG [RD2], R9\nLDG R8, [RD3]',
    ],
    [
      'Must',
      'I2I.U64.U32 RD1, R7\nIADD3.64 RD2, RD1, RD4, RZ\nPAIR RD3, R7, RZ\nIADD3.64 RD5, RD4, RD3, RZ\nSTG [RD2], R9\nLDG R8, [RD5]',
    ],
    // Extended sums may have wrapped, so this is no distance; the sum of extended numbers is one.
    [
      'May',
      'IADD3 R2, R7, 1, RZ\nIMAD_WIDE.U32 RD1, R7, 4, RD4\nIMAD_WIDE.U32 RD2, R2, 4, RD4\nSTG.U8 [RD1], R9\nLDG R8, [RD2+-3]',
    ],
    ['No', 'IMAD_WIDE.U32 RD1, R7, 4, RD4\nIADD3.64 RD2, RD1, 4, RZ\nSTG [RD1], R9\nLDG R8, [RD2]'],
    // Elements of different structures of one array: fields that do not overlap never do.
    ['No', 'LEA R2, R7, R6, 4\nLEA R3, R8, R6, 5\nSTS [R2+4], R9\nLDS R5, [R3+8]'],
    ['May', 'LEA R2, R7, R6, 4\nLEA R3, R8, R6, 5\nSTS [R2+4], R9\nLDS R5, [R3+20]'],
    // A converted address is the same place; its low half, too, in 32 bits.
    ['Must', 'CVTA.SHARED RD1, &s\nST [RD1+4], R9\nLDS R8, [s+4]'],
    [
      'Must',
      'CVTA.SHARED.TO RD1, RD2\nI2I.U32.U64 R3, RD1\nIADD3 R4, R3, 8, RZ\nI2I.U32.U64 R5, RD1\nSTS [R4], R9\nLDS R8, [R5+8]',
    ],
    ['No', 'MOV R1, &s\nSTS.B64 [R1+8], RD9\nLDS.B64 RD8, [s+16]'],
    ['May', 'MOV R1, &s\nSTS.B64 [R1+8], RD9\nLDS R8, [s+12]'],
    ['No', 'STS.V4 [s+16], {R1, R2, R3, R4}\nLDS R8, [s+32]'],
    ['May', 'STS.V4 [s+16], {R1, R2, R3, R4}\nLDS R8, [s+28]'],
  ])('%s: %#', (expected, body) => expect(relation(body)).toBe(expected));

  it('a register with several definitions is followed inside of a block', () => {
    const body = 'MOV R1, R6\nSTS [R1], R9\nIADD3 R1, R1, 4, RZ\nLDS R8, [R1]\nLDS R7, [R1+-4]';
    const { a } = kernel(body);
    expect([alias(a, 0, 1), alias(a, 0, 2), distanceOf(a, 0, 1)]).toEqual([Alias.No, Alias.Must, 4]);
    const { a: two } = kernel(
      'MOV R1, R6\nSTS [R1], R9\nBRA BB1\nBB1:\nLDS R8, [R1]\nIADD3 R1, R1, 4, RZ\n@P1 BRA BB1\nBB2:',
    );
    expect(alias(two, 0, 1)).toBe(Alias.May);
  });

  it('a guarded definition may leave what was there', () => {
    const body = 'MOV R1, &s\n@P1 IADD3 R1, R1, 4, RZ\nSTS [R1+4], R9\nLDS R8, [s+8]';
    expect(relation(body)).toBe('May');
    expect(relation(body.replace('@P1 ', ''))).toBe('Must');
  });

  it('knows the kernel parameter that an address comes from', () => {
    const { a, fn } = kernel(
      'LDC.B64 RD1, c[0x0][0x168]\nIMAD_WIDE.U32 RD2, R7, 4, RD1\nLDG R8, [RD2]\nIADD3.64 RD3, c[0x0][0x160], 8, RZ\nLDG R9, [RD3]',
    );
    const of = (row: number) => kernelParameter(fn, a.objects[a.object[row]], 0x160);
    expect([of(1)?.name, of(1)?.ptr, of(2)?.name, of(2)?.ptr]).toEqual(['q', '', 'p', 'global']);
  });
});

describe('objects', () => {
  it.each([
    ['No', 'STS [s], R9\nLDS R8, [t]'],
    ['No', 'MOV R1, &s\nLEA R2, R7, R1, 2\nSTS [R2], R9\nLDS R8, [t]'],
    ['No', 'MOV R1, &s\nLEA R2, R7, R1, 2\nSTS [R2], R9\nLDS R8, [u+4]'],
    // Unsized arrays of shared memory begin at one place.
    ['May', 'STS [u], R9\nLDS R8, [v]'],
    ['Must', 'STS [u], R9\nLDS R8, [u]'],
    // Beyond the end of a variable may be another one.
    ['May', 'STS [s+64], R9\nLDS R8, [t]'],
    ['No', 'STS [s+60], R9\nLDS R8, [t]'],
    // Spaces, and generic addresses that may be of any.
    ['No', 'STS [s], R9\nLDG R8, [RD1]'],
    ['May', 'STS [s], R9\nLD R8, [RD1]'],
    [
      'No',
      'CVTA.SHARED RD2, R1\nST [RD1], R9\nLDG R8, [g]'.replace('[RD1]', '[RD2]').replace('R1\n', 'RD5\n'),
    ],
    ['May', 'STG [g], R9\nLDG R8, [RD1]'],
    ['No', 'STG [g], R9\nLDG.NC R8, [RD1]'],
    ['No', 'CVTA.CONST RD2, &c\nST [RD1], R9\nLD R8, [RD2]'.replace('ST [RD1]', 'STG [RD1]')],
    // What the host passes may point to a variable of the module, and one parameter to where another does.
    ['May', 'STG [g], R9\nIADD3.64 RD1, c[0x0][0x160], 0, RZ\nLDG R8, [RD1]'],
    [
      'May',
      'IADD3.64 RD1, c[0x0][0x160], 0, RZ\nIADD3.64 RD2, c[0x0][0x168], 0, RZ\nSTG [RD1], R9\nLDG R8, [RD2]',
    ],
    // A difference of addresses is no index.
    ['May', 'MOV R1, &t\nMOV R2, &s\nIADD3 R3, R1, -R2, R1\nSTS [R3], R9\nLDS R8, [u]'],
    [
      'May',
      'MOV R1, &s\nMOV R2, &t\nIADD3 R3, R1, -R2, RZ\nLOP3 R4, R3, R3, R3, 0xf0\nIADD3 R5, R2, R4, RZ\nSTS [R5], R9\nLDS R8, [s]',
    ],
    [
      'Must',
      'MOV R1, &s\nMOV R2, &t\nIADD3 R3, R1, -R2, RZ\nIADD3 R5, R2, R3, RZ\nSTS [R5], R9\nLDS R8, [s]',
    ],
  ])('%s: %#', (expected, body) => expect(relation(body)).toBe(expected));

  const LOCAL_VAR = '  .var local b8 l size 64 align 16\n';
  it('local memory whose address does not escape is not accessed elsewhere', () => {
    const own = 'MOV R1, &l\nLEA R2, R7, R1, 2\nSTL [R2], R9\n';
    expect(relation(`${own}LDL R8, [R6]`, LOCAL_VAR)).toBe('No');
    expect(relation(`${own}LD R8, [RD6]`, LOCAL_VAR)).toBe('No');
    // Stored, it may come back.
    expect(relation(`STG [RD5], R1\n${own}LD R8, [RD6]`.split('\n').slice(1).join('\n'), LOCAL_VAR)).toBe(
      'No',
    );
    const { a } = kernel(`${own}LD R8, [RD6]\nSTG [RD5], R1`, LOCAL_VAR);
    expect(alias(a, 0, 1)).toBe(Alias.May);
  });

  it('loads of one address have one version across a call only if the local memory is not handed to it', () => {
    const around = (call: string): string =>
      `.func f\n{\nBB0:\nSTG [RD1], R1\nRET\n}\n.entry k\n${LOCAL_VAR}{\nBB0:\nMOV.64 RD3, &l\nSTL [RD3], R9\nLDL R8, [l]\n${call}\nBB1:\nLDL R7, [l]\nEXIT\n}\n`;
    const same = (text: string): boolean => {
      const { a, m } = module(text);
      const [x, y] = a.du.ins.flatMap((i, n) => (i.op.space === 'local' && mayBeCommon(i) ? [n] : []));
      return m.versionSeenBy(x) === m.versionSeenBy(y);
    };
    expect(same(around('CALL {}, &f, &, {}'))).toBe(true);
    expect(same(around('CALL {}, RD4, &, {}'))).toBe(true);
    expect(same(around('CALL {}, RD4, &, {RD3}'))).toBe(false);
    // A variable outside of functions is there for the called function too, though nobody hands it over.
    const outside = around('CALL {}, &f, &, {}')
      .replace(LOCAL_VAR, '')
      .replaceAll(/&l\b/g, '&w')
      .replace(/\[l\]/g, '[w]');
    expect(same(outside.replace('STG [RD1], R1', 'STL [w], R1'))).toBe(false);
  });
});

describe('what lies between two loads', () => {
  const X = 'LDG R1, [RD1]\n';
  it.each([
    [true, ''],
    [false, 'STG [RD2], R9'],
    [true, 'STG [RD1+4], R9'],
    [true, 'STS [R5], R9'],
    [false, 'ST [RD2], R9'],
    [true, 'CVTA.SHARED RD3, &s\nST [RD3], R9'],
    [true, 'LDG R3, [RD2]'],
    [true, 'SHFL.IDX R3, P4, R4, 0, 31, -1'],
    // Orderings. ptxas 13.0.88 keeps or joins the two loads alike in all of the cases below.
    [false, 'BAR.SYNC RZ'],
    [false, 'BAR.ARRIVE RZ, 64'],
    [false, 'WARPSYNC -1'],
    [false, 'MEMBAR.SC.CTA'],
    [false, 'LDG.VOLATILE R3, [RD2]'],
    [false, 'LDG.RELAXED.GPU R3, [RD2]'],
    [false, 'LDG.ACQUIRE.GPU R3, [RD2]'],
    [false, 'STG.VOLATILE [RD1+16], R9'],
    [false, 'ATOMG.ADD R3, [RD1+16], R9'],
    [true, 'ATOMS.ADD R3, [s], R9'],
    [false, 'ATOMS.ADD.ACQUIRE R3, [s], R9'],
    [true, 'LDGSTS.B4 [R5], [RD2]'],
    [false, 'DEPBAR 0'],
    [false, 'CCTL.DISCARD [RD2]'],
    [false, 'CALL {}, RD4, &, {}'],
  ])('%s: %s', (expected, between) => {
    expect(common(`${X}${between}${between.startsWith('CALL') ? '\nBB1:' : ''}\nLDG R2, [RD1]`)).toBe(
      expected,
    );
  });

  it('local memory knows no barrier, and read-only loads see no store', () => {
    expect(common('LDL R1, [R5]\nBAR.SYNC RZ\nMEMBAR.SC.SYS\nLDL R2, [R5]')).toBe(true);
    expect(common('LDG.NC R1, [RD1]\nSTG [RD2], R9\nBAR.SYNC RZ\nLDG.NC R2, [RD1]')).toBe(true);
  });

  it('plain loads may be common; what is volatile, strong or has an effect may not', () => {
    const one = (text: string): boolean => mayBeCommon(kernel(text).fn.blocks[0].ins[0]);
    expect(['LDG R1, [RD1]', 'LDG.NC R1, [RD1]', 'LDS R1, [s]', 'LDC R1, c[0x0][0x160]'].map(one)).toEqual(
      Array(4).fill(true),
    );
    const never = [
      'LDG.VOLATILE R1, [RD1]',
      'LDS.RELAXED.CTA R1, [s]',
      'LD.ACQUIRE.SYS R1, [RD1]',
      'LDG.MMIO R1, [RD1]',
    ];
    expect([...never, 'ATOMG.ADD R1, [RD1], R2', 'LDPRM R1, [R2]', 'STG [RD1], R2'].map(one)).toEqual(
      Array(7).fill(false),
    );
  });

  it('keeps strong operations in their order, and moves plain ones that touch nothing in common', () => {
    const { a } = kernel(
      'LDG.VOLATILE R1, [RD1]\nLDS.VOLATILE R2, [s]\nLDS R3, [t]\nSTS [t+4], R9\nSTS [t+6], R9\nBAR.SYNC RZ\nSTL [R5], R9',
    );
    const order = (n: number, m: number): boolean => staysInOrder(a, n, m);
    expect([
      order(0, 1),
      order(0, 2),
      order(1, 2),
      order(2, 3),
      order(3, 4),
      order(3, 5),
      order(5, 6),
    ]).toEqual([true, false, true, false, true, true, false]);
  });
});

describe('joins and loops', () => {
  const version = (text: string, nth: number): { v: number; m: MemorySsa; a: Accesses; n: number } => {
    const { a, m } = kernel(text);
    const loads = a.du.ins.flatMap((x, n) => (mayBeCommon(x) && x.op.space !== 'const' ? [n] : []));
    return { v: m.versionSeenBy(loads[nth]), m, a, n: loads[nth] };
  };

  it('a loop whose stores are elsewhere changes nothing for a load inside', () => {
    const loop = (store: string): string =>
      `STG [RD1], R9\nBB1:\nLDG R2, [RD1+4]\n${store}\nIADD3 R3, R3, 1, RZ\nISETP.LT P1, R3, 9\n@P1 BRA BB1\nBB2:`;
    const free = version(loop('STS [R6], R2'), 0);
    expect(free.v).toBe(0);
    expect(version(loop('STG [RD1], R2'), 0).v).toBe(0);
    const own = version(loop('STG [RD1+4], R2'), 0);
    expect([own.m.writerOf(own.v), own.m.blockOf(own.v)]).toEqual([-1, 1]);
    expect(version(loop('STG [RD2], R2'), 0).m.blockOf(own.v)).toBe(1);
  });

  it('what one turn writes the next one may read, whatever the distance within a turn', () => {
    const moving = (at: string): string =>
      `MOV R1, &s\nBRA BB1\nBB1:\nMOVPHI R2, {BB0: R1, BB1: R3}\nLDS R4, [R2]\nSTS [R2${at}], R9\nIADD3 R3, R2, 4, RZ\nISETP.LT P1, R3, 99\n@P1 BRA BB1\nBB2:`;
    // The store of the turn before went to where this turn reads.
    const r = version(moving('+4'), 0);
    expect([r.v > 0, r.m.blockOf(r.v)]).toEqual([true, 1]);
    // Steps of 8 never come to the second half of an element.
    const halves = moving('+4')
      .replaceAll('R2, 4, RZ', 'R2, 4, RZ')
      .replace('MOVPHI R2, {BB0: R1, BB1: R3}', 'MOVPHI R5, {BB0: RZ, BB1: R3}\nLEA R2, R5, R1, 3')
      .replace('IADD3 R3, R2', 'IADD3 R3, R5');
    expect(version(halves, 0).v).toBe(0);
  });

  it('the first block may be a loop: what it defines is another value in each turn', () => {
    const r = version(
      'LDG R2, [RD1]\nLDS R4, [R2]\nSTS [R2+4], R9\nISETP.LT P1, R4, 99\n@P1 BRA BB0\nBB1:',
      1,
    );
    expect([r.a.du.ins[r.n].op.name, r.v > 0, r.m.blockOf(r.v)]).toEqual(['LDS', true, 0]);
  });

  it('one definition is not one value where a use comes before it', () => {
    const around = (next: string): number =>
      version(
        `MOV R1, &s\nBRA BB1\nBB1:\nLDS R4, [R2]\nSTS [R2+4], R9\n${next}\nISETP.LT P1, R4, 99\n@P1 BRA BB1\nBB2:`,
        0,
      ).v;
    expect(around('IADD3 R2, R2, 4, RZ')).toBeGreaterThan(0);
    expect(around('IADD3 R3, R2, 4, RZ')).toBe(0);
  });

  it('a store on one of two paths counts, and one that cannot alias does not', () => {
    const diamond = (store: string): string =>
      `STS [R6], R9\n@P1 BRA BB2\nBB1:\n${store}\nBB2:\nLDS R2, [R6]`;
    const other = version(diamond('STG [RD1], R9'), 0);
    expect(other.a.du.ins[other.m.writerOf(other.v)].op.name).toBe('STS');
    const same = version(diamond('STS [R7], R9'), 0);
    expect([same.m.writerOf(same.v), same.m.blockOf(same.v)]).toEqual([-1, 2]);
  });

  it('knows nothing where control stands inside of blocks', () => {
    const { a, m } = kernel('LDG R1, [RD1]\n@P1 BRA BB1\nLDG R2, [RD1]\nBB1:');
    const [x, y] = [a.at[0], a.at[1]];
    expect([m.versionSeenBy(x) < 0, m.versionSeenBy(x) !== m.versionSeenBy(y)]).toEqual([true, true]);
  });

  it('memory phis are at the dominance frontier', () => {
    fc.assert(
      fc.property(
        randomFn({ most: 12 }),
        fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
        (fn, some) => {
          const g = cfgOf(fn);
          const t = dominatorsOf(fn);
          const makes = Uint8Array.from({ length: g.count }, (_, b) => (some[b] && t.depth[b] >= 0 ? 1 : 0));
          const got = joinsOf(g, t, makes);
          // The definition: b is in the frontier of x if x dominates a predecessor of b and does not dominate b strictly.
          const expected = new Set<number>();
          for (let grew = true; grew; ) {
            grew = false;
            for (let b = 0; b < g.count; b++) {
              if (expected.has(b) || t.depth[b] < 0) continue;
              const preds = [...g.pred.subarray(g.predStart[b], g.predStart[b + 1])].filter(
                (p) => t.depth[p] >= 0,
              );
              for (let x = 0; x < g.count; x++)
                if ((makes[x] === 1 || expected.has(x)) && !expected.has(b))
                  if (preds.some((p) => dominates(t, x, p)) && (x === b || !dominates(t, x, b))) {
                    expected.add(b);
                    grew = true;
                  }
            }
          }
          expect([...got.keys()].filter((b) => got[b] === 1)).toEqual([...expected].sort((x, y) => x - y));
        },
      ),
      { numRuns: runs(200), seed: SEED },
    );
  });
});

describe('calls', () => {
  const text = `.func pure\n{\nBB0:\nIADD3 R1, R1, 1, RZ\nRET\n}
.func reads\n{\nBB0:\nLDG R1, [RD1]\nRET\n}
.func shared\n{\nBB0:\nSTS [s], R1\nCALL {}, &pure, &, {}\nBB1:\nRET\n}
.func syncs\n{\nBB0:\nBAR.SYNC RZ\nRET\n}
.func even\n{\nBB0:\nCALL {}, &odd, &, {}\nBB1:\nLDS R1, [s]\nRET\n}
.func odd\n{\nBB0:\n@P1 CALL {}, &even, &, {}\nBB1:\nSTL [R2], R1\nRET\n}
.func through\n{\nBB0:\nCALL {}, RD1, &, {}\nBB1:\nRET\n}
.func outside\n{\nBB0:\nCALL {}, &printf, &, {}\nBB1:\nRET\n}
.func own\n  .var local b8 l size 16 align 8\n{\nBB0:\nSTL [l], R1\nRET\n}
.func taken\n{\nBB0:\nRET\n}
.entry k\n{\nBB0:\nMOV.64 RD1, &taken\nCALL {}, &even, &, {}\nBB1:\nCALL {}, &shared, &, {}\nBB2:\nCALL {}, RD1, &, {}\nBB3:\nEXIT\n}\n`;
  const full = `.prototype printf\n${text}`;

  it('the graph: callers, callees, components, indirect and unknown calls', () => {
    const { program } = module(full);
    const g = callGraphOf(program);
    const name = (i: number): string => program.functions[i].name;
    const at = (f: string): number => g.indexOf.get(f)!;
    const callees = (f: string): string[] =>
      [...g.callees.subarray(g.calleeStart[at(f)], g.calleeStart[at(f) + 1])].map(name).sort();
    const callers = (f: string): string[] =>
      [...g.callers.subarray(g.callerStart[at(f)], g.callerStart[at(f) + 1])].map(name).sort();
    expect(callees('k')).toEqual(['even', 'shared', 'taken']);
    expect(callers('pure')).toEqual(['shared']);
    expect(callers('even')).toEqual(['k', 'odd']);
    const marked = (m: Uint8Array): string[] => [...m.keys()].filter((i) => m[i] === 1).map(name);
    expect(marked(g.addressTaken)).toEqual(['taken']);
    expect(marked(g.indirect)).toEqual(['through', 'k']);
    expect(marked(g.leavesModule)).toEqual(['through', 'outside', 'k']);
    expect(marked(g.recursive)).toEqual(['even', 'odd']);
    // Callees come first.
    for (let f = 0; f < program.functions.length; f++)
      for (let e = g.calleeStart[f]; e < g.calleeStart[f + 1]; e++)
        expect(g.componentOf[g.callees[e]]).toBeLessThanOrEqual(g.componentOf[f]);
    expect(g.componentOf[at('even')]).toBe(g.componentOf[at('odd')]);
  });

  it('what functions may do to memory', () => {
    const { program } = module(full);
    const effects = new Map(
      effectsOf(program).map((e, i) => [program.functions[i].name, [e.reads, e.writes]]),
    );
    const all = Mem.Global | Mem.Shared | Mem.Local | Mem.Param;
    expect(effects.get('pure')).toEqual([0, 0]);
    expect(effects.get('reads')).toEqual([Mem.Global, 0]);
    expect(effects.get('shared')).toEqual([0, Mem.Shared]);
    expect(effects.get('syncs')).toEqual([VISIBLE, VISIBLE]);
    expect(effects.get('even')).toEqual([Mem.Shared, Mem.Local]);
    expect(effects.get('odd')).toEqual([Mem.Shared, Mem.Local]);
    expect(effects.get('through')).toEqual([all | Mem.Const, all]);
    expect(effects.get('outside')).toEqual([all | Mem.Const, all]);
    expect(effects.get('own')).toEqual([0, 0]);
  });

  it('a load sees past a call that cannot write it', () => {
    const at = (f: string): boolean => {
      const { a, m } = module(
        `${full.slice(0, full.indexOf('.entry'))}.entry m\n{\nBB0:\nLDG R1, [RD1]\nCALL {}, &${f}, &, {}\nBB1:\nLDG R2, [RD1]\nEXIT\n}\n`,
      );
      const [x, y] = a.du.ins.flatMap((i, n) => (mayBeCommon(i) ? [n] : []));
      return m.versionSeenBy(x) === m.versionSeenBy(y);
    };
    const seen = ['pure', 'reads', 'shared', 'own', 'even', 'syncs', 'through', 'outside'].map((f) => [
      f,
      at(f),
    ]);
    expect(Object.fromEntries(seen)).toEqual({
      pure: true,
      reads: true,
      shared: true,
      own: true,
      even: true,
      syncs: false,
      through: false,
      outside: false,
    });
  });

  it('instructions: what they read and write, and that leaving shows what was written', () => {
    const { a, program } = kernel(
      'LDGSTS.B16 [R1], [RD1]\nMBAR_INIT [s], 1\nLDS R2, [s]\nBAR.SYNC RZ\nIADD3 R1, R1, 1, RZ',
    );
    const of = (n: number): number[] => {
      const e = effectOf(a, program, n);
      return [e.reads, e.writes];
    };
    expect([0, 1, 2, 3, 4].map(of)).toEqual([
      [Mem.Global, Mem.Shared],
      [0, Mem.Shared],
      [Mem.Shared, 0],
      [VISIBLE, VISIBLE],
      [0, 0],
    ]);
    expect(of(5)).toEqual([Mem.Global | Mem.Shared | Mem.Local | Mem.Param, 0]);
    const { first, end } = rowsOf(a, 0);
    expect([...a.bytes.subarray(first, end)]).toEqual([16, 16]);
    expect(a.bytes[rowsOf(a, 1).first]).toBe(8);
  });
});

// ------------------------------------------------------------------ against runs of random programs

const touches = (x: Event, y: Event): boolean =>
  'at' in x && 'at' in y && x.at < y.at + BigInt(y.bytes) && y.at < x.at + BigInt(x.bytes);

/** What was found out in runs: how often the analysis knew something. */
interface Tally {
  loads: number;
  past: number;
  no: number;
  must: number;
}

/**
 * Runs a kernel and looks at each load: between the moment at which the version that it is said to see began and the load,
 * nothing may have written what it reads. What is said to be apart must never meet, in one block's run or in any.
 */
function check(program: Program, apart: number, tally: Tally): void {
  const fn = program.functions[0];
  const a = accessesOf(fn, program.variables);
  const m = memorySsaOf(fn, program);
  const events = runMemory(fn, world(apart), 700);
  const entered = new Map<number, number>();
  const came = new Map<number, number>();
  // Accesses of this run of the current block, and the last few of each instruction.
  let inBlock: Event[] = [];
  const recent = new Map<number, Event[]>();
  const row = (n: number): number => a.firstRow[n];
  for (const [time, e] of events.entries()) {
    if (e.k === 'enter') {
      entered.set(e.block, time);
      inBlock = [];
      continue;
    }
    if (e.k === 'came') {
      came.set(e.n, time);
      continue;
    }
    if (e.k === 'others') continue;
    for (const before of inBlock) {
      if (before.k !== 'read' && before.k !== 'write') continue;
      const r = alias(a, row(before.n), row(e.n));
      if (r === Alias.No) tally.no++;
      if (r === Alias.Must) tally.must++;
      if (r === Alias.No && touches(before, e)) throw new Error(`${before.n} and ${e.n} meet in one block`);
      if (r === Alias.Must && !('at' in before && before.at === e.at && before.bytes === e.bytes))
        throw new Error(`${before.n} and ${e.n} differ`);
    }
    for (const [n, list] of recent)
      if (list.some((x) => touches(x, e)) && alias(a, row(n), row(e.n), true) === Alias.No)
        throw new Error(`${n} and ${e.n} meet in different turns`);
    inBlock.push(e);
    const list = recent.get(e.n) ?? [];
    recent.set(e.n, [...list.slice(-12), e]);
    if (e.k !== 'read') continue;
    const v = m.versionSeenBy(e.n);
    tally.loads++;
    if (v !== m.versionBefore(e.n)) tally.past++;
    const writer = m.writerOf(v);
    const since = v === 0 ? -1 : writer >= 0 ? came.get(writer) : entered.get(m.blockOf(v));
    if (since === undefined) throw new Error(`load ${e.n} sees version ${v}, which never began`);
    for (let i = since + 1; i < time; i++) {
      const w = events[i];
      // The writer's own event follows the moment at which it ran.
      if ((w.k !== 'write' && w.k !== 'others') || w.n === writer) continue;
      if (w.k === 'others' ? e.at < LOCAL : touches(w, e))
        throw new Error(`load ${e.n} sees version ${v}, but ${w.n} wrote after it`);
    }
  }
}

describe('against runs of random kernels', () => {
  const RUNS = allRuns(150);
  it.each([
    ['any flow, registers written many times', wildKernel, 0.1, 10],
    ['SSA with joins and loops', ssaKernel, 0.25, 50],
  ] as const)('%s', (_, make, share, fewestMust) => {
    const tally: Tally = { loads: 0, past: 0, no: 0, must: 0 };
    for (let i = 0; i < RUNS; i++) {
      const program = make(SEED + i);
      expect(verifyProgram(program).map(verifyMessage)).toEqual([]);
      for (const apart of [0, 4, 16, 4096])
        try {
          check(program, apart, tally);
        } catch (e) {
          throw new Error(`seed ${SEED + i}, ${apart} apart: ${(e as Error).message}`);
        }
    }
    // It would be right, and of no use, to know nothing.
    expect(tally.past / tally.loads).toBeGreaterThan(share);
    expect(tally.no).toBeGreaterThan(2000);
    expect(tally.must).toBeGreaterThan(fewestMust);
  });
});

// ------------------------------------------------------------------ against a slow reference

/** Where a search upwards from a load ended: the writers that it met, and whether it came to the entry of the function. */
interface Above {
  readonly writers: ReadonlySet<number>;
  readonly entry: boolean;
}

/**
 * The writers that a load may see, by walking every path upwards from it, instruction by instruction, up to the first
 * writer that may have written what it reads.
 *
 * @param apart judge every pair as if it could belong to different iterations, which finds the most writers
 */
function writersAbove(a: Accesses, program: Program, load: number, apart: boolean): Above {
  const { fn, du } = a;
  const g = cfgOf(fn);
  const row = a.firstRow[load];
  const mayWrite = (n: number): boolean => {
    const { first, end } = rowsOf(a, n);
    const { writes } = effectOf(a, program, n);
    for (let x = first; x < end; x++)
      if (
        (a.does[x] & Does.Write) !== 0 &&
        (writes & a.memory[row]) !== 0 &&
        alias(a, x, row, apart) !== Alias.No
      )
        return true;
    return false;
  };
  const writers = new Set<number>();
  const done = new Set<number>();
  let entry = false;
  const from = (block: number, below: number): void => {
    for (let n = below - 1; n >= 0 && du.blockAt[n] === block; n--)
      if (mayWrite(n)) {
        writers.add(n);
        return;
      }
    if (block === 0) entry = true;
    for (let e = g.predStart[block]; e < g.predStart[block + 1]; e++) {
      const p = g.pred[e];
      if (done.has(p) || dominatorsOf(fn).depth[p] < 0) continue;
      done.add(p);
      let end = 0;
      for (let b = 0; b <= p; b++) end += fn.blocks[b].ins.length;
      from(p, end);
    }
  };
  from(du.blockAt[load], load);
  return { writers, entry };
}

describe('against every path upwards from each load', () => {
  it.each([
    ['any flow, registers written many times', wildKernel],
    ['SSA with joins and loops', ssaKernel],
  ] as const)('%s', (_, make) => {
    // How often the slow way knew the only writer, that there is none, and that there are several.
    const sorts = { one: 0, none: 0, several: 0 };
    for (let i = 0; i < runs(150); i++) {
      const program = make(SEED + 1000 + i);
      const fn = program.functions[0];
      const a = accessesOf(fn, program.variables);
      const m = memorySsaOf(fn, program);
      for (const [n, x] of a.du.ins.entries()) {
        const b = a.du.blockAt[n];
        if (!mayBeCommon(x) || dominatorsOf(fn).depth[b] < 0 || (a.memory[a.firstRow[n]] & VISIBLE) === 0)
          continue;
        const v = m.versionSeenBy(n);
        const writer = m.writerOf(v);
        const least = writersAbove(a, program, n, false);
        const most = writersAbove(a, program, n, true);
        const where = `seed ${SEED + 1000 + i}, load ${n}, version ${v} by ${writer}`;
        // Sound: what the load sees is no older than any writer above it.
        if (v === 0) expect([[...least.writers], least.entry], where).toEqual([[], true]);
        if (writer >= 0)
          expect([[...least.writers].filter((w) => w !== writer), least.entry], where).toEqual([[], false]);
        // Precise: where all paths end at one place, however pairs are judged, that is what it sees.
        const [only, ...others] = new Set([...least.writers, ...most.writers]);
        const sort =
          only === undefined
            ? 'none'
            : others.length === 0 && !least.entry && !most.entry
              ? 'one'
              : 'several';
        if (sort === 'none') expect(v, where).toBe(0);
        if (sort === 'one') expect(writer, where).toBe(only);
        sorts[sort]++;
      }
    }
    expect(Math.min(sorts.one, sorts.none, sorts.several)).toBeGreaterThan(runs(150) / 5);
  });
});

describe('on the test kernels', () => {
  const root = new URL('../kernels/', import.meta.url);
  const names = readdirSync(root, { withFileTypes: true })
    .filter((d) => d.isDirectory() && existsSync(new URL(`${d.name}/${d.name}.sm_80.ptx`, root)))
    .map((d) => d.name);

  /** Loads, those that see past the nearest writer, and those that repeat an earlier one, by kernel. */
  const found = new Map<string, { loads: number; past: number; repeated: number }>();
  for (const name of names) {
    const text = readFileSync(new URL(`${name}/${name}.sm_80.ptx`, root), 'utf8');
    const { program } = lowerPtx(parsePtx(text, name).module, { isa, paramBase: 0x160, sm: 'sm_80' });
    const count = { loads: 0, past: 0, repeated: 0 };
    for (const lowered of program.functions) {
      const fn = splitControlFlow(lowered, testContext(lowered));
      const a = accessesOf(fn, program.variables);
      const m = memorySsaOf(fn, program);
      const seen = new Set<string>();
      for (let x = 0; x < a.count; x++) {
        const n = a.at[x];
        if (!mayBeCommon(a.du.ins[n]) || a.memory[x] === Mem.Const) continue;
        count.loads++;
        if (m.versionSeenBy(n) !== m.versionBefore(n)) count.past++;
        if (a.form[x] < 0) continue;
        const key = `${m.versionSeenBy(n)} ${a.form[x]} ${a.offset[x]} ${a.bytes[x]} ${a.du.ins[n].mods}`;
        if (seen.has(key)) count.repeated++;
        seen.add(key);
      }
    }
    found.set(name, count);
  }

  it('every function has versions', () => {
    expect(found.size).toBeGreaterThan(70);
    expect([...found.values()].reduce((s, c) => s + c.loads, 0)).toBeGreaterThan(1000);
  });

  it.each([
    'bitonic-sort',
    'local-array',
    'matmul-tiled',
    'transpose',
    'histogram',
    'switch-dense',
    'string-search',
  ])('%s: loads see past stores that cannot matter', (name) =>
    expect(found.get(name)!.past).toBeGreaterThan(0),
  );

  it.each(['interpreter', 'switch-sparse', 'dot-bytes', 'spmv-csr', 'warp-shuffle'])(
    '%s: loads that repeat an earlier one',
    (name) => expect(found.get(name)!.repeated).toBeGreaterThan(0),
  );
});
