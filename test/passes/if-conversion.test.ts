import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { laneAgreementOf } from '../../src/analysis/uniformity/lane-agreement.ts';
import { withFunction } from '../../src/ir/edit.ts';
import { regOf } from '../../src/ir/operand.ts';
import type { Fn, Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { judgeKernel } from '../../src/judge/judge.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { testIsa } from '../support/isa.ts';
import { dice, ssaKernel } from '../support/random-memory.ts';
import { runPass } from '../support/run-pass.ts';
import { BASE } from '../support/sim-kernel.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const one = { grid: [1, 1, 1], block: [32, 1, 1], budget: 20_000, seeds: [1] } as const;

/**
 * A kernel of nested ifs, compound conditions, short loops, guarded instructions, loads and stores, in SSA.
 *
 * @param exits whether some branches lead to exits
 */
function structuredKernel(seed: number, exits = false): Fn {
  const d = dice(seed);
  const pick = <T>(all: readonly T[]): T => all[d(all.length)];
  const r = (): string => `R${2 + d(5)}`;
  const p = (): string => `P${10 + d(4)}`;
  const lines = [
    'BB0:',
    'LDC.B64 RD20, c[0x0][0x160]',
    'S2R.TID.X R2',
    'IMAD_WIDE.U32 RD21, R2, 64, RD20',
    'LDG R3, [RD21]',
    'LDG R4, [RD21+4]',
    'LOP3 R5, R2, 3, RZ, 0xc0',
    'MOV R6, 7',
    'ISETP.LT P10, R2, 9',
    'ISETP.EQ P11, R5, 1',
    'ISETP.GT P12, R3, R4',
    'LOP3 R7, R4, 1, RZ, 0xc0',
    'ISETP.EQ P13, R7, 1',
  ];
  let blocks = 1;
  const start = (b: number): void => void lines.push(`BB${b}:`);
  const branch = (to: number): void => void lines.push(`@${pick(['', '!'])}${p()} BRA BB${to}`);
  const some = (most: number): void => {
    for (let k = d(most + 1); k > 0; k--) {
      const guard = d(6) === 0 ? `@${pick(['', '!'])}${p()} ` : '';
      const at = `[RD21+${4 * d(16)}]`;
      lines.push(
        guard +
          pick([
            `IADD3 ${r()}, ${r()}, ${r()}`,
            `IADD3 ${r()}, ${r()}, ${d(9)}`,
            `MOV ${r()}, ${d(4)}`,
            `MOV ${r()}, ${r()}`,
            `ISETP.${pick(['LT', 'EQ', 'GE'])} ${p()}, ${r()}, ${r()}`,
            `PLOP3 ${p()}, ${p()}, !${p()}, PT, ${pick(['0xc0', '0xfc', '0xf0'])}`,
            `LDG ${r()}, ${at}`,
            `STG ${at}, ${r()}`,
          ]),
      );
    }
  };
  const ends: number[] = [];
  const region = (depth: number): void => {
    some(3);
    if (exits && d(2) === 0) {
      // An end that others may share.
      const end = ends.length > 0 && d(3) === 0 ? pick(ends) : blocks++;
      if (!ends.includes(end)) ends.push(end);
      branch(end);
      start(blocks++);
    }
    if (depth === 0) return;
    for (let k = d(3); k > 0; k--) {
      const join = blocks++;
      switch (d(4)) {
        case 0:
          branch(join);
          start(blocks++);
          region(depth - 1);
          break;
        case 1: {
          const other = blocks++;
          branch(other);
          start(blocks++);
          region(depth - 1);
          lines.push(`BRA BB${join}`);
          start(other);
          region(depth - 1);
          break;
        }
        case 2:
          // Conditions one after the other that lead to the same places.
          for (let n = 1 + d(3); n > 0; n--) {
            branch(join);
            start(blocks++);
            if (d(2) === 0) lines.push(`ISETP.LT ${p()}, ${r()}, ${r()}`);
          }
          branch(join);
          start(blocks++);
          region(depth - 1);
          break;
        default: {
          const head = blocks++;
          const counter = `R${30 + head}`;
          lines.push(`MOV ${counter}, RZ`);
          start(head);
          region(depth - 1);
          lines.push(`IADD3 ${counter}, ${counter}, 1`, `ISETP.LT P9, ${counter}, 2`);
          lines.push(`@P9 BRA BB${head}`);
          start(blocks++);
          if (d(2) === 0) branch(join);
          start(blocks++);
        }
      }
      start(join);
      some(2);
    }
  };
  region(3);
  for (let k = 0; k < 5; k++) lines.push(`STG [RD21+${4 * k}], R${2 + k}`);
  for (let k = 0; k < 4; k++) lines.push(`@P${10 + k} STG [RD21+${32 + 4 * k}], R2`);
  lines.push('EXIT');
  for (const end of ends) {
    start(end);
    if (d(2) === 0) some(2);
    lines.push(pick(['EXIT', 'RET']));
  }
  return constructSsa(
    parseFn(`.entry k\n  .param u64 p size 8 align 8 at 0\n{\n${lines.join('\n')}\n}`, isa),
    isa,
  );
}

const inProgram = (fn: Fn): Program => ({ ...ssaKernel(1), functions: [fn] });

describe.each(['nested-conditions', 'predication'])('%s', (name) => {
  it('keeps what structured kernels do, in SSA and after it, and is done after one application', () => {
    const count = { changed: 0, whole: 0 };
    for (let seed = 0; seed < runs(120); seed++) {
      const fn = structuredKernel(seed);
      expect(verifySsa(fn).map(verifyMessage)).toEqual([]);
      const opts =
        seed % 3 === 0
          ? {}
          : seed % 3 === 1
            ? { knobs: { Knob579: 1 } }
            : { params: { 'max-loss': 3, 'max-uniform-loss': 0, 'max-guarded': 1 } };
      const out = runPass(name, fn, testContext(fn, opts));
      if (out === fn) continue;
      count.changed++;
      if (out.blocks.length < 3) count.whole++;
      const text = `${printFn(fn)}\n${printFn(out)}`;
      expect(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), text).toEqual([]);
      expect(verifySsa(out).map(verifyMessage), text).toEqual([]);
      const program = inProgram(fn);
      for (const other of [out, leaveSsa(out, isa)]) {
        const compared = judgeKernel(program, withFunction(program, other), fn.name, BASE, one);
        expect(compared.differences, text).toEqual([]);
      }
      // Limits go by estimates, which are others for another flow graph.
      if ('params' in opts) continue;
      const again = runPass(name, out, testContext(out, opts));
      expect(printFn(again)).toBe(printFn(out));
      expect(again === out, `${seed}\n${text}`).toBe(true);
    }
    expect(count.changed).toBeGreaterThan(often(name === 'predication' ? 60 : 25));
  });
});

it('predication ends functions where branches led to their end, and keeps what structured kernels do', () => {
  let ended = 0;
  for (let seed = 0; seed < runs(120); seed++) {
    const fn = structuredKernel(seed, true);
    const opts =
      seed % 2 === 0 ? { params: { exits: true } } : { params: { exits: true }, knobs: { Knob579: 1 } };
    const ctx = testContext(fn, opts);
    const out = runPass('predication', fn, ctx);
    ended += ctx.remarks.filter((r) => r.name === 'exit-predicated').length;
    const text = `${seed}\n${printFn(fn)}\n${printFn(out)}`;
    expect(verifyFn(out, undefined, { controlLast: true }).map(verifyMessage), text).toEqual([]);
    expect(verifySsa(out).map(verifyMessage), text).toEqual([]);
    const program = inProgram(fn);
    for (const other of [out, leaveSsa(out, isa)]) {
      const compared = judgeKernel(program, withFunction(program, other), fn.name, BASE, one);
      expect(compared.differences, text).toEqual([]);
    }
    expect(runPass('predication', out, testContext(out, opts)) === out, text).toBe(true);
  }
  expect(ended).toBeGreaterThan(often(80));
});

describe('predication', () => {
  const text = readFileSync(new URL('../ori/predicate-triangle.ori', import.meta.url), 'utf8');
  const fn = parseFn(/# before\n([\s\S]*)# after/.exec(text)![1], isa);
  const converted = (f: Fn, knobs = {}, params = {}): boolean => {
    const inSsa = constructSsa(f, isa);
    return runPass('predication', inSsa, testContext(inSsa, { knobs, params })) !== inSsa;
  };

  it('heeds its knobs', () => {
    expect(converted(fn)).toBe(true);
    expect(converted(fn, { Knob228: 0 })).toBe(false);
    expect(converted(fn, {}, { 'max-guarded': 0 })).toBe(false);
    expect(converted(fn, { Knob228: 1 }, { 'max-guarded': 0 })).toBe(false);
    expect(converted(fn, { Knob228: 2 }, { 'max-guarded': 0 })).toBe(true);
    expect(converted(fn, { Knob577: 0 })).toBe(false);
  });

  const arms = (arm: string, other: string, counts: { block: number; count: number }[] = []): Fn => {
    const f = parseFn(
      `.entry k\n{\nBB0:\n LDG R2, [RD6]\n LDG R3, [RD6+4]\n ISETP.LT P1, R2, R3\n @P1 BRA BB2\nBB1:\n ${arm}\n BRA BB3\nBB2:\n ${other}\nBB3:\n STG [RD6], R4\n EXIT\n}`,
      isa,
    );
    return { ...f, attrs: { ...f.attrs, counts } };
  };

  it('keeps the branch between two slow sides where knob 260 is set', () => {
    const costs = { MUFU: 8, IADD3: 2 };
    const done = (f: Fn, knobs = {}): boolean => {
      const inSsa = constructSsa(f, isa);
      return runPass('predication', inSsa, testContext(inSsa, { knobs, facts: { costs } })) !== inSsa;
    };
    const [slow, quick] = ['MUFU.SIN R4, R2', 'IADD3 R4, R2, R3'];
    expect([done(arms(slow, slow)), done(arms(slow, quick))]).toEqual([true, true]);
    const set = { Knob260: true };
    expect([
      done(arms(slow, slow), set),
      done(arms(slow, quick), set),
      done(arms(quick, quick), set),
    ]).toEqual([false, true, true]);
  });

  it('keeps the branch around what hardly ever runs, unless knob 582 is set', () => {
    const counts = (rare: number) => [
      { block: 0, count: 100 },
      { block: 1, count: rare },
      { block: 2, count: 100 - rare },
      { block: 3, count: 100 },
    ];
    const f = (rare: number) => arms('IADD3 R4, R2, R3', 'IADD3 R4, R2, 5', counts(rare));
    expect([converted(f(50)), converted(f(4)), converted(f(96)), converted(f(6))]).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect(converted(f(4), { Knob582: true })).toBe(true);
  });

  it('heeds its parameters', () => {
    expect(converted(fn, {}, { only: 'values' })).toBe(false);
    expect(converted(fn, {}, { 'max-loss': -10 })).toBe(false);
    const tid = parseFn(printFn(fn).replace('LDG R2, [RD6]', 'S2R.TID.X R2').replace('R2, R3', 'R2, 5'), isa);
    expect(converted(tid, {}, { 'max-uniform-loss': 9 })).toBe(true);
    expect(converted(tid, {}, { 'max-uniform-loss': -9 })).toBe(false);
    expect(converted(tid, {}, { 'max-loss': -9 })).toBe(true);
  });
});

describe('lane agreement', () => {
  it('knows predicates that change at few places of a block', () => {
    const fn = parseFn(
      `.entry k
  .param u64 p size 8 align 8 at 0
{
BB0:
  LDC.B64 RD1, c[0x0][0x160]
  LDC R2, c[0x0][0x168]
  S2R.TID.X R3
  S2R.CTAID.X R4
  S2R.NTID.X R5
  IMAD R6, R4, R5, R3
  ISETP.LT P10, R6, R2
  ISETP.EQ P11, R3, RZ
  PLOP3 P12, P10, !P11, PT, 0xc0
  LOP3 R7, R3, 1, RZ, 0xc0
  ISETP.EQ P13, R7, RZ
  LDG R8, [RD1]
  ISETP.LT P14, R8, 3
  IMAD_WIDE.U32 RD9, R3, 4, RD1
  LDG R15, [RD9]
  ISETP.LT P16, R15, 3
  IMAD R17, R3, R3
  ISETP.LT P18, R17, 3
  S2R.LANEID R19
  ISETP.LT P20, R19, 3
  STG [RD1], R8
BB1:
  MOVPHI R21, {BB0: R6, BB1: R22}
  IADD3 R22, R21, R5
  ISETP.LT P23, R22, R2
  @P23 BRA BB1
BB2:
  EXIT
}`,
      isa,
    );
    const agree = (p: string): boolean => laneAgreementOf(fn).mostlyAgree(regOf(p));
    expect(['P10', 'P11', 'P12', 'P14', 'P23'].map(agree)).toEqual([true, true, true, true, true]);
    expect(['P13', 'P16', 'P18', 'P20'].map(agree)).toEqual([false, false, false, false]);
  });
});

describe('exits', () => {
  it('leaves a block that a convergence label names', () => {
    const fn = parseFn(
      `.entry k
{
BB0:
  S2R.TID.X R2
  ISETP.LT P3, R2, 7
  BSSY B9, BB2
  @P3 BRA BB2
BB1:
  MOV.64 RD4, 4096
  STG [RD4], R2
  EXIT
BB2:
  EXIT
}`,
      isa,
    );
    const out = runPass('predication', fn, testContext(fn, { params: { exits: true } }));
    expect(printFn(out)).toMatch(/@P3 EXIT/);
    expect(verifyFn(out)).toEqual([]);
  });
});
