import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cfgIsCurrent } from '../../src/analysis/flow/cfg.ts';
import { edit } from '../../src/ir/draft/index.ts';
import { withDst, withFunctions, withSrc } from '../../src/ir/edit.ts';
import { isPhi } from '../../src/ir/flow.ts';
import { imm, Kind, Mod, NO_REG, PT, reg, regOf } from '../../src/ir/operand.ts';
import { type Fn, instr, type Program } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn, verifyMessage } from '../../src/ir/verify.ts';
import { splitControlFlow } from '../../src/passes/flow/split-control-flow.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { sequence } from '../../src/ssa/parallel-copies.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { renameWebs } from '../../src/ssa/webs.ts';
import { testContext } from '../support/context.ts';
import { expectNone } from '../support/expect-none.ts';
import { testIsa } from '../support/isa.ts';
import { miniRun, sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runPass } from '../support/run-pass.ts';
import { often, runs } from '../support/size.ts';

const isa = testIsa();
const lines = (fn: Fn): string =>
  printFn(fn, { locs: false })
    .split('\n')
    .filter((l) => !/^[.{}]/.test(l) && !l.startsWith('  .'))
    .join('\n');
const whole = (fn: Fn): Fn => {
  expectNone(verifyFn(fn, undefined, { controlLast: true }).map(verifyMessage), fn);
  return fn;
};
const ssa = (fn: Fn): Fn => {
  const out = whole(constructSsa(fn, isa));
  expectNone(verifySsa(out).map(verifyMessage), out);
  return out;
};
const count = (fn: Fn): number => fn.blocks.reduce((n, b) => n + b.ins.length, 0);
const body = (text: string): string => lines(parseFn(text, isa));

describe('entering SSA', () => {
  it('puts a phi where definitions join and the value is live', () => {
    const fn = parseFn(
      `BB0:
  MOV R1, 0
  @P2 BRA BB2
BB1:
  MOV R1, 5
  MOV R3, 6
BB2:
  IADD3 R4, R1, 1, RZ
  STG [RD5], R4
  EXIT`,
      isa,
    );
    expect(lines(ssa(fn))).toBe(
      body(`BB0:
  MOV R6, 0
  @P2 BRA BB2
BB1:
  MOV R7, 5
  MOV R3, 6
BB2:
  MOVPHI R8, {BB0: R6, BB1: R7}
  IADD3 R4, R8, 1, RZ
  STG [RD5], R4
  EXIT`),
    );
  });

  it('names the value under a false guard, and what a return gives', () => {
    const fn = parseFn(
      `.func f
  .return u32 out size 4 align 4 at 0 reg R1
  .param u32 x size 4 align 4 at 0 reg R2
{
BB0:
  MOV R1, R2
  @P3 IADD3 R1, R1, 1, RZ
  @P4 RET
BB1:
  MOV R1, 7
  RET
}`,
      isa,
    );
    const out = ssa(fn);
    expect(lines(out)).toBe(
      body(`BB0:
  MOV R5, R2
  @P3 IADD3 R6 else R5, R5, 1, RZ
  @P4 RET R6
BB1:
  MOV R7, 7
  RET R7`),
    );
    expect(lines(whole(leaveSsa(out, isa)))).toBe(lines(fn));
  });

  it('is not there yet where a return names no value', () => {
    const fn = parseFn(
      '.func f\n  .return u32 out size 4 align 4 at 0 reg R1\n{\nBB0:\n  MOV R1, 7\n  RET\n}',
      isa,
    );
    expect(verifySsa(fn).map((e) => e.rule)).toEqual(['ssa-return']);
    expectNone(verifySsa(ssa(fn)));
  });

  it('leaves alone what is in SSA already', () => {
    const fn = parseFn('BB0:\nMOV R1, 0\nBB1:\nIADD3 R2, R1, 1, RZ\n@P3 BRA BB1\nBB2:\nEXIT', isa);
    expect(constructSsa(fn, isa)).toBe(fn);
    const once = ssa(parseFn('BB0:\nMOV R1, 0\nBB1:\nIADD3 R1, R1, 1, RZ\n@P3 BRA BB1\nBB2:\nEXIT', isa));
    expect(constructSsa(once, isa)).toBe(once);
  });

  it('gives the entry a block of its own where a loop begins there', () => {
    const fn = parseFn('BB0:\nIADD3 R1, R1, 1, RZ\n@P3 BRA BB0\nBB1:\nSTG [RD2], R1\nEXIT', isa);
    const out = ssa(fn);
    expect(out.blocks.length).toBe(3);
    expect(count(whole(leaveSsa(out, isa)))).toBe(count(fn));
  });

  it('understands tables, irreducible loops and blocks that nothing reaches', () => {
    const fn = parseFn(
      `.entry k
  .table T0 BB1 BB2 BB1
{
BB0:
  MOV R1, 0
  BRX R9, T0
BB1:
  IADD3 R1, R1, 1, RZ
  @P3 BRA BB2
  BRA BB3
BB2:
  IADD3 R1, R1, 2, RZ
  BRA BB1
BB4:
  MOV R1, 9
  BRA BB3
BB3:
  STG [RD2], R1
  EXIT
}`,
      isa,
    );
    const cut = splitControlFlow(fn, testContext(fn));
    const out = ssa(cut);
    expect(out.blocks.some((b) => b.id === 4)).toBe(false);
    expect(count(whole(leaveSsa(out, isa)))).toBe(count(fn) - 2);
  });
});

describe('leaving SSA', () => {
  it('orders copies that happen at once, with one register more for a cycle', () => {
    const r = (n: string) => regOf(n);
    const run = (copies: [string, string][]) =>
      sequence(
        copies.map(([to, from]) => ({ to: r(to), from: reg(r(from)) })),
        () => r('R99'),
      ).map((c) => [c.to, c.from.reg]);
    expect(
      run([
        ['R1', 'R2'],
        ['R2', 'R3'],
      ]),
    ).toEqual([
      [r('R1'), r('R2')],
      [r('R2'), r('R3')],
    ]);
    expect(run([['R1', 'R1']])).toEqual([]);
    const swap = run([
      ['R1', 'R2'],
      ['R2', 'R1'],
      ['R3', 'R1'],
    ]);
    expect(swap.length).toBe(4);
    const value = new Map(
      [
        ['R1', 1],
        ['R2', 2],
        ['R3', 3],
      ].map(([n, v]) => [r(n as string), v]),
    );
    for (const [to, from] of swap) value.set(to, value.get(from)!);
    expect([value.get(r('R1')), value.get(r('R2')), value.get(r('R3'))]).toEqual([2, 1, 1]);
  });

  it('keeps negations of predicates', () => {
    const not = sequence([{ to: regOf('P1'), from: reg(regOf('P1'), Mod.Not) }], () => regOf('P9'));
    expect(not.map((c) => [c.to, c.from.reg, c.from.mods])).toEqual([
      [regOf('P9'), regOf('P1'), 0],
      [regOf('P1'), regOf('P9'), Mod.Not],
    ]);
    const text = (way: string) => `BB0:
  MOV R0, 3
  ISETP.EQ P1, R0, 3
BB1:
  PMOVPHI P2, {BB0: P1, BB1: ${way}}
  MOVPHI R3, {BB0: R0, BB1: R4}
  IADD3 R4, R3, 1, RZ
  STG [RD9], R3
  @P2 BRA BB1
BB2:
  EXIT`;
    for (const way of ['!P2', '!P1']) {
      const fn = parseFn(text(way), isa);
      expect(miniRun(fn, 100)).toEqual({ stored: [3, 4], ended: 'exit', returned: [] });
      expect(sameBehaviour(fn, whole(leaveSsa(fn, isa)))).toBeNull();
    }
  });

  it('keeps the lost copy and the swap', () => {
    // The value of the phi is used behind the loop, after the next one is computed.
    const lost = parseFn(
      `BB0:
  MOV R1, 0
BB1:
  MOVPHI R2, {BB0: R1, BB1: R3}
  IADD3 R3, R2, 1, RZ
  ISETP.LT P4, R3, 10
  @P4 BRA BB1
BB2:
  STG [RD5], R2
  EXIT`,
      isa,
    );
    expectNone(verifySsa(lost));
    expect(count(whole(leaveSsa(lost, isa)))).toBe(count(lost));
    const swap = parseFn(
      `BB0:
  MOV R1, 0
  MOV R2, 1
BB1:
  MOVPHI R3, {BB0: R1, BB1: R4}
  MOVPHI R4, {BB0: R2, BB1: R3}
  @P5 BRA BB1
BB2:
  STG [RD6], R3
  STG [RD6+4], R4
  EXIT`,
      isa,
    );
    expectNone(verifySsa(swap));
    // Three moves for the swap, where two phis stood.
    expect(count(whole(leaveSsa(swap, isa)))).toBe(count(swap) + 1);
  });

  it('copies the result of a call after the call', () => {
    const fn = parseFn(
      `BB0:
  CALL {R1}, &f, &, {R9}
BB1:
  MOVPHI R2, {BB0: R1, BB1: R3}
  IADD3 R3, R1, R2, RZ
  @P4 BRA BB1
BB2:
  STG [RD5], R2
  STG [RD5+4], R3
  STG [RD5+8], R1
  EXIT`,
      isa,
    );
    expectNone(verifySsa(fn));
    const out = whole(leaveSsa(fn, isa));
    const call = out.blocks[0].ins;
    expect(call[call.length - 1].op.name).toBe('CALL');
    expect(out.blocks[1].ins.map((x) => x.op.name)).toEqual(['MOV']);
  });
});

/** Copies are seen through, so that live ranges of one variable's values overlap. */
const copied = (fn: Fn): Fn =>
  edit(fn, (d) => {
    for (const b of d.layout())
      for (let n = d.first(b); n >= 0; n = d.next(n)) {
        const { op, guard, dst, src } = d.at(n);
        if (op.name === 'MOV' && guard === NO_REG && src[0].kind === Kind.Reg)
          d.replaceUses(dst[0], src[0].reg);
      }
  });

/** Sums become copies, and combinations of predicates become negations, for somebody to see through. */
const copies = (fn: Fn): Fn =>
  edit(fn, (d) => {
    for (const b of d.layout())
      for (let n = d.first(b); n >= 0; n = d.next(n)) {
        const x = d.at(n);
        if (x.op.name === 'PLOP3' && x.src[1].kind === Kind.Reg)
          d.replace(n, withSrc(x, [x.src[1], PT, PT, imm(0xf0)]));
        else if (x.op.name === 'IADD3' && x.src[0].kind === Kind.Reg && x.src[1].kind === Kind.Reg)
          d.replace(n, instr(isa.byName.get('MOV')!, 0, x.dst, [x.src[1]], x.loc, x.guard, x.guardNot));
      }
  });
const anyFn = fc.boolean().chain((returns) => randomFn({ defined: true, most: 12, returns }));

describe('random functions', () => {
  it('do the same in SSA and after it, copies seen through or not', () => {
    fc.assert(
      fc.property(anyFn, (fn) => {
        const inSsa = ssa(fn);
        expectNone(sameBehaviour(fn, inSsa), inSsa);
        const left = whole(leaveSsa(inSsa, isa));
        expectNone(sameBehaviour(fn, left), left);
        const through = copied(inSsa);
        expectNone(verifySsa(through).map(verifyMessage));
        const out = whole(leaveSsa(through, isa));
        expectNone(sameBehaviour(fn, out), through, out);
      }),
      { numRuns: runs(500), seed: 23 },
    );
  });

  it('do the same at a join of many edges', () => {
    // Every case sets, keeps, adds to or swaps three variables; the loop goes through the switch a few times.
    const one = fc.constantFrom('R0', 'R1', 'R2');
    const step = fc.oneof(
      fc.tuple(one, fc.nat({ max: 9 })).map(([r, k]) => [`MOV ${r}, ${k + 1}`]),
      fc.tuple(one, one).map(([r, q]) => [`MOV ${r}, ${q}`]),
      fc.tuple(one, one).map(([r, q]) => [`MOV R5, ${r}`, `MOV ${r}, ${q}`, `MOV ${q}, R5`]),
      fc.tuple(one, one, one).map(([r, q, p]) => [`IADD3 ${r}, ${q}, ${p}, RZ`]),
    );
    const cases = fc.array(fc.array(step, { maxLength: 3 }), { minLength: 70, maxLength: 80 });
    fc.assert(
      fc.property(cases, fc.nat({ max: 69 }), (bodies, from) => {
        const n = bodies.length;
        const text = [
          '.entry wide',
          `  .table T0 ${bodies.map((_, i) => `BB${i + 2}`).join(' ')}`,
          '{',
          'BB0:',
          ...['MOV R0, 1', 'MOV R1, 2', 'MOV R2, 3', `MOV R3, ${from === 0 ? 'RZ' : from}`, 'MOV R4, 5'],
          'BB1:',
          'BRX R3, T0',
          ...bodies.flatMap((b, i) => [`BB${i + 2}:`, ...b.flat(), `BRA BB${n + 2}`]),
          `BB${n + 2}:`,
          ...['STG [RD9], R0', 'STG [RD9], R1', 'STG [RD9], R2'],
          ...['IADD3 R3, R3, 7, RZ', `ISETP.LT P8, R3, ${n}`, '@P8 BRA BB1'],
          `BB${n + 3}:`,
          'EXIT',
          '}',
        ].join('\n');
        const fn = parseFn(text, isa);
        const inSsa = ssa(fn);
        const through = runPass('copy-propagation', inSsa, testContext(inSsa));
        for (const f of [inSsa, through]) {
          const out = whole(leaveSsa(f, isa));
          expectNone(sameBehaviour(fn, out), f, out);
        }
      }),
      { numRuns: runs(25), seed: 31 },
    );
  });

  it('do the same where copies and negations stand in phis', () => {
    let negated = 0;
    fc.assert(
      fc.property(anyFn, (fn) => {
        const inSsa = ssa(copies(fn));
        const through = runPass('copy-propagation', inSsa, testContext(inSsa));
        for (const b of through.blocks)
          for (const x of b.ins) if (isPhi(x) && x.src.some((o) => o.mods === Mod.Not)) negated++;
        expectNone(sameBehaviour(inSsa, through), through);
        const out = whole(leaveSsa(through, isa));
        expectNone(sameBehaviour(inSsa, out), through, out);
      }),
      { numRuns: runs(250), seed: 29 },
    );
    expect(negated).toBeGreaterThan(often(30));
  });
});

/** Sums are computed a second time, for somebody to find. */
const doubled = (fn: Fn): Fn =>
  edit(fn, (d) => {
    for (const b of d.layout())
      for (let n = d.first(b), next: number; n >= 0; n = next) {
        next = d.next(n);
        const x = d.at(n);
        const again = regOf(x.dst[0] === regOf('R5') ? 'R4' : 'R5');
        if (x.op.name !== 'IADD3' || x.src.some((o) => o.reg === x.dst[0] || o.reg === again)) continue;
        d.insertAfter(n, withDst(x, [again]));
      }
  });

describe('webs', () => {
  it('are renamed apart, and a second time there is nothing to rename', () => {
    let split = 0;
    fc.assert(
      fc.property(randomFn({ defined: true, most: 10 }), (fn) => {
        const once = renameWebs(fn, isa);
        whole(once.fn);
        expectNone(sameBehaviour(fn, once.fn), once.fn);
        expect(renameWebs(once.fn, isa).fn === once.fn, printFn(once.fn)).toBe(true);
        if (once.split > 0) split++;
      }),
      { numRuns: runs(200), seed: 11 },
    );
    expect(split).toBeGreaterThan(often(40));
  });
});

describe('passes over functions in SSA', () => {
  it.each([
    'gvn-cse',
    'hoist-invariants',
    'branch-opt',
    'live-dead',
    'copy-propagation',
    'constant-folding',
    'constant-guards',
    'dead-results',
    'conditional-constants',
    'late-commoning',
  ])('%s keeps SSA and what a function does', (name) => {
    let changed = 0;
    fc.assert(
      fc.property(anyFn, (fn) => {
        const raw = ssa(doubled(fn));
        // Copies are left for those who look for them; guards are known where constants have been computed.
        const inSsa =
          name === 'copy-propagation'
            ? raw
            : name === 'constant-guards'
              ? runPass('constant-folding', raw, testContext(raw))
              : copied(raw);
        const out = whole(runPass(name, inSsa, testContext(inSsa)));
        expectNone(verifySsa(out).map(verifyMessage), out);
        expectNone(sameBehaviour(inSsa, out), inSsa, out);
        expect(cfgIsCurrent(out)).toBe(true);
        if (out !== inSsa) changed++;
        const left = whole(leaveSsa(out, isa));
        expectNone(sameBehaviour(doubled(fn), left), out, left);
      }),
      { numRuns: runs(120), seed: 5 },
    );
    expect(changed).toBeGreaterThan(often(15));
  });
});

const root = fileURLToPath(new URL('../kernels/', import.meta.url));
const kernels = readdirSync(root, { withFileTypes: true })
  .filter((d) => d.isDirectory() && readdirSync(`${root}${d.name}`).some((f) => /^launch.*\.yaml$/.test(f)))
  .map((d) => d.name);
/** The oldest target that the kernel was compiled for, from sm_80 on. */
const target = (name: string): string =>
  ['sm_80', 'sm_90'].find((sm) => existsSync(`${root}${name}/${name}.${sm}.ptx`))!;
const ratios: number[] = [];

describe('test kernels', () => {
  it.each(kernels)('%s runs in SSA and after it, and gains no instruction', async (name) => {
    const text = readFileSync(`${root}${name}/${name}.${target(name)}.ptx`, 'utf8');
    const lowered = lowerPtx(parsePtx(text, name).module, { isa, paramBase: 0x160, sm: 'sm_80' }).program;
    const each = (p: Program, f: (fn: Fn) => Fn): Program => withFunctions(p, p.functions.map(f));
    const cut = each(lowered, (fn) => splitControlFlow(fn, testContext(fn)));
    const inSsa = each(cut, ssa);
    const left = each(inSsa, (fn) => whole(leaveSsa(fn, isa)));
    for (const file of readdirSync(`${root}${name}`).filter((f) => /^launch.*\.yaml$/.test(f))) {
      const launch = await loadLaunch(`${root}${name}/${file}`);
      for (const p of [inSsa, left]) {
        const r = runLaunch(p, isa, launch, 0x160, { budget: 5_000_000 });
        expect({ file, status: r.status, error: r.error, first: r.mismatches[0] }).toEqual({
          file,
          status: 'ok',
          error: null,
          first: undefined,
        });
      }
    }
    const size = (p: Program): number => p.functions.reduce((n, fn) => n + count(fn), 0);
    const ratio = size(left) / size(each(cut, (fn) => edit(fn, () => {})));
    ratios.push(ratio);
    expect(ratio).toBeLessThanOrEqual(1.02);
  });

  it('in the geometric mean there is none more', () => {
    expect(ratios.length).toBe(kernels.length);
    const mean = Math.exp(ratios.reduce((s, r) => s + Math.log(r), 0) / ratios.length);
    expect(mean).toBeLessThanOrEqual(1);
  });
});
