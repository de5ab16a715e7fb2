import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mustStay } from '../../src/analysis/calls/effects.ts';
import { cfgOf, controlIsLast } from '../../src/analysis/flow/cfg.ts';
import { LiveWalker, livenessOf } from '../../src/analysis/registers/liveness.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import { edit } from '../../src/ir/draft/index.ts';
import { withDst } from '../../src/ir/edit.ts';
import { isControl } from '../../src/ir/flow.ts';
import { movesOf } from '../../src/ir/moves.ts';
import { NO_REG, reg, regFile } from '../../src/ir/operand.ts';
import type { Fn, Instr } from '../../src/ir/program.ts';
import { parseFn, printFn } from '../../src/ir/text.ts';
import { verifyFn } from '../../src/ir/verify.ts';
import { passes } from '../../src/passes/registry.ts';
import { constructSsa } from '../../src/ssa/construct.ts';
import { leaveSsa } from '../../src/ssa/leave.ts';
import { verifySsa } from '../../src/ssa/verify.ts';
import { testContext } from '../support/context.ts';
import { expectNone } from '../support/expect-none.ts';
import { testIsa } from '../support/isa.ts';
import { sameBehaviour } from '../support/mini-run.ts';
import { randomFn } from '../support/random-fn.ts';
import { runPass } from '../support/run-pass.ts';
import { allRuns, often, runs } from '../support/size.ts';
import { planWith } from '../support/specs.ts';

const isa = testIsa();
const RUNS = { numRuns: runs(400), seed: 20261121 };

const run = (name: string, fn: Fn, opts?: Parameters<typeof testContext>[1]): Fn =>
  runPass(name, fn, testContext(fn, opts));

/** A second application has nothing to do, and says so by giving back what it got. */
function expectDone(name: string, out: Fn, opts?: Parameters<typeof testContext>[1]): void {
  const again = run(name, out, opts);
  if (again !== out) expect(printFn(again)).toBe(printFn(out));
  expect(again === out).toBe(true);
}

/** What holds for every pass: the result is valid, prints and parses, behaves the same, and shares what it kept. */
function checkPass(name: string, fn: Fn, controlLast: boolean): Fn {
  const out = run(name, fn);
  expectNone(verifyFn(out, undefined, { controlLast }), fn, out);
  expectNone(sameBehaviour(fn, out), fn, out);
  const text = printFn(out);
  const faults: string[] = [];
  if (printFn(parseFn(text, isa)) !== text) faults.push('reads back as another function');
  if (out !== fn && text === printFn(fn)) faults.push('another object for the same');
  const before = new Map(fn.blocks.map((b) => [b.id, b]));
  for (const b of out.blocks) {
    const old = before.get(b.id);
    if (old === b || old === undefined || old.ins.length !== b.ins.length) continue;
    if (b.ins.every((x, i) => x === old.ins[i])) faults.push(`another object for BB${b.id}`);
  }
  expectNone(faults, fn, out);
  return out;
}

/** A value of a head: a flag, a number, or a word. */
const parsedValue = (text: string): boolean | number | string =>
  text === 'true' ? true : text === 'false' ? false : Number.isNaN(Number(text)) ? text : Number(text);

describe('IR text tests', () => {
  const dir = new URL('../ori/', import.meta.url);
  const files = readdirSync(dir).filter((f) => f.endsWith('.ori'));
  it('are there', () => expect(files.length).toBeGreaterThan(10));
  for (const file of files) {
    const text = readFileSync(new URL(file, dir), 'utf8');
    // `# pass NAME [KNOB=VALUE ...]`, `# params NAME=N ...`, `# target SM` for its facts, `# before`, `# after`, and `# remarks` where they
    // matter.
    const head = /^# pass (\S+)((?: \w+=\S+)*)$/m.exec(text);
    const valuesIn = (list: string) =>
      Object.fromEntries([...list.matchAll(/(\S+)=(\S+)/g)].map((m) => [m[1], parsedValue(m[2])]));
    const params = valuesIn(/^# params (.*)$/m.exec(text)?.[1] ?? '');
    const section = (name: string): string | null => {
      const m = new RegExp(`^# ${name}\\n([\\s\\S]*?)(?=^# |(?![\\s\\S]))`, 'm').exec(text);
      return m === null ? null : m[1].trim();
    };
    const sm = /^# target (\S+)$/m.exec(text)?.[1];
    it(`${file}: ${/^# why (.*)$/m.exec(text)?.[1] ?? ''}`, async () => {
      const fn = parseFn(section('before')!, isa);
      expectNone(verifyFn(fn));
      const knobs = valuesIn(head![2]);
      const backend = sm === undefined ? undefined : (await planWith({ sm })).plan!.backend;
      const ctx = testContext(fn, { knobs, params, backend });
      const out = runPass(head![1], fn, ctx);
      const after = parseFn(section('after')!, isa);
      expect(printFn(out)).toBe(printFn({ ...after, regCount: out.regCount, blockCount: out.blockCount }));
      expectNone(verifyFn(out));
      if (printFn(fn) === printFn(out)) expect(out).toBe(fn);
      const remarks = section('remarks');
      if (remarks !== null)
        expect(ctx.remarks.map((r) => `${r.kind} ${r.name}: ${r.message}`).join('\n')).toBe(remarks);
      if (head![2] === '') expectDone(head![1], out, { params, backend });
      // A search for the first wrong rewrite can refuse each of them. Splitting only prepares.
      const refused = testContext(fn, { knobs, params, backend, rewrites: { left: 0 } });
      if (head![1] !== 'split-control-flow') expect(runPass(head![1], fn, refused)).toBe(fn);
    });
  }
});

describe('split-control-flow', () => {
  it('makes control last, changes nothing else, and only once', () => {
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        const out = checkPass('split-control-flow', fn, true);
        expect(controlIsLast(out)).toBe(true);
        expectDone('split-control-flow', out);
        expect(out.blocks.flatMap((b) => b.ins)).toEqual(fn.blocks.flatMap((b) => b.ins));
        expect(out === fn).toBe(controlIsLast(fn));
      }),
      RUNS,
    );
  });
});

describe('live-dead', () => {
  /** What is still dead by ordinary liveness: the definition of "nothing left". */
  const leftOver = (fn: Fn): number => {
    const walker = new LiveWalker(livenessOf(fn));
    let n = 0;
    fn.blocks.forEach((b, p) => {
      walker.enter(p);
      for (const x of [...b.ins].reverse()) {
        if (!mustStay(x) && !walker.anyResultLive(x)) n++;
        else walker.step(x);
      }
    });
    return n;
  };

  it('keeps behaviour, leaves nothing dead, and is done after one application', () => {
    let removed = 0;
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        const out = checkPass('live-dead', fn, false);
        expect(leftOver(out)).toBe(0);
        expectDone('live-dead', out);
        expect(out.blocks.map((b) => b.id)).toEqual(fn.blocks.map((b) => b.id));
        if (out !== fn) removed++;
      }),
      RUNS,
    );
    expect(removed).toBeGreaterThan(often(100));
  });

  it('knows what must stay', () => {
    const stays = (line: string): boolean => mustStay(parseFn(`BB0:\n${line}\nEXIT`, isa).blocks[0].ins[0]);
    for (const line of [
      'STG [RD1], R2',
      'ATOMG.ADD _, [RD1], R2, RZ',
      'LDG.VOLATILE R3, [RD1]',
      'LD.ACQUIRE.GPU R3, [RD1]',
      'CS2R.CLOCK R3',
      'MEMBAR',
      'WARPSYNC -1',
      'BRA BB0',
      'BPT.TRAP',
      'BSSY B1, BB0',
      'LDGDEPBAR',
      // Other lanes may wait elsewhere for those that are here.
      'SHFL.IDX R3, P4, R1, 0, 31, -1',
      'VOTE.ANY R3, P5, P4, -1',
    ])
      expect([line, stays(line)]).toEqual([line, true]);
    for (const line of [
      'LDG R3, [RD1]',
      'LDS.V2 {R3, R4}, [R1]',
      'LDC R3, c[0x0][0x160]',
      'MUFU.RCP R3, R4',
      'S2R.TID.X R3',
      'NOP',
    ])
      expect([line, stays(line)]).toEqual([line, false]);
  });
});

describe('operations between lanes without a reader', () => {
  const left = (header: string, guard: string): number => {
    const fn = parseFn(
      `${header}\n{\nBB0:\nLDC.B64 RD8, c[0x0][0x160]\nS2R.TID.X R1\nS2R.CTAID.X R2\nISETP.LT P1, R1, 5\nISETP.LT P2, R2, 5\n@${guard} BRA BB2\nBB1:\nSHFL.IDX R3, P4, R1, 0, 31, -1\nSTG [RD8], R2\nBB2:\nEXIT\n}`,
      isa,
    );
    return run('live-dead', fn)
      .blocks.flatMap((b) => b.ins)
      .filter((x) => x.op.name === 'SHFL').length;
  };

  it('are removed where all lanes of a warp reach them or none, in kernels', () => {
    expect([left('.entry k', 'P2'), left('.entry k', 'P1'), left('.func f', 'P2')]).toEqual([0, 1, 1]);
  });
});

describe('early-dead-code', () => {
  it('keeps behaviour and never removes more than live-dead', () => {
    let removed = 0;
    fc.assert(
      fc.property(randomFn({ midBlock: true }), (fn) => {
        const out = checkPass('early-dead-code', fn, false);
        expectDone('early-dead-code', out);
        expect(printFn(run('live-dead', out))).toBe(printFn(run('live-dead', fn)));
        if (out !== fn) removed++;
      }),
      RUNS,
    );
    expect(removed).toBeGreaterThan(often(100));
  });

  it('keeps SSA, where phis and values under false guards are uses too', () => {
    let removed = 0;
    fc.assert(
      fc.property(randomFn({ defined: true }), (input) => {
        const fn = constructSsa(input, isa);
        const out = run('early-dead-code', fn);
        expectNone(verifyFn(out));
        expectNone(verifySsa(out));
        expect(sameBehaviour(input, leaveSsa(out, isa))).toBe(null);
        expectDone('early-dead-code', out);
        if (out !== fn) removed++;
      }),
      RUNS,
    );
    expect(removed).toBeGreaterThan(often(100));
  });
});

describe('back-copy-propagation', () => {
  /** Every second sum is computed into a register of its own, and copied at the end of its block or where its register is touched. */
  const copiedLater = (fn: Fn): Fn =>
    edit(fn, (d) => {
      let k = 0;
      for (const b of d.layout())
        for (let n = d.first(b), next: number; n >= 0; n = next) {
          next = d.next(n);
          const x = d.at(n);
          if (x.op.name !== 'IADD3' || x.guard !== NO_REG || k++ % 2 === 0) continue;
          const own = d.freshReg(regFile(x.dst[0]));
          d.replace(n, withDst(x, [own]));
          let at = n;
          while (d.next(at) >= 0 && !isControl(d.at(d.next(at))) && !names(d.at(d.next(at)), x.dst[0]))
            at = d.next(at);
          d.insertAfter(at, movesOf(isa).move(x.dst[0], reg(own)));
        }
    });
  const names = (x: Instr, r: number): boolean =>
    x.guard === r || x.dst.includes(r) || x.src.some((o) => o.reg === r);

  it('takes away copies that nothing needs, and keeps behaviour', () => {
    let changed = 0;
    fc.assert(
      fc.property(randomFn({}), (f) => {
        const fn = copiedLater(f);
        const out = checkPass('back-copy-propagation', fn, false);
        expectDone('back-copy-propagation', out);
        if (out !== fn) changed++;
      }),
      RUNS,
    );
    expect(changed).toBeGreaterThan(often(40));
  });
});

describe('passes that edit', () => {
  it.each(['copy-propagation', 'constant-folding', 'constant-guards', 'dead-results'])(
    '%s keeps behaviour, and is done after one application',
    (name) => {
      let changed = 0;
      fc.assert(
        // Across blocks nothing is certain where control stands inside of blocks.
        fc.property(fc.oneof(randomFn({ midBlock: true }), randomFn({})), (f) => {
          // Guards are known where constants have been computed.
          const fn = name === 'constant-guards' ? run('constant-folding', f) : f;
          const out = checkPass(name, fn, false);
          expectDone(name, out);
          if (out !== fn) changed++;
        }),
        // Guards are decided in few of them.
        { ...RUNS, numRuns: allRuns(400) },
      );
      expect(changed).toBeGreaterThan(20);
    },
  );
});

describe('branch-opt', () => {
  it('keeps behaviour, leaves every block reachable, and is done after one application', () => {
    let changed = 0;
    fc.assert(
      fc.property(randomFn({ most: 12 }), (fn) => {
        const out = checkPass('branch-opt', fn, true);
        expectDone('branch-opt', out);
        const g = cfgOf(out);
        expect(g.rpo.length).toBe(out.blocks.length);
        const size = (f: Fn): number => f.blocks.reduce((n, b) => n + b.ins.length, 0);
        expect(size(out)).toBeLessThanOrEqual(size(fn));
        if (out !== fn) changed++;
      }),
      { numRuns: runs(1500), seed: 4 },
    );
    expect(changed).toBeGreaterThan(often(500));
  });

  it('each unit of the budget is one rewrite, and every prefix of them is correct', () => {
    fc.assert(
      fc.property(randomFn({ most: 8 }), fc.integer({ min: 0, max: 6 }), (fn, limit) => {
        const ctx = testContext(fn, { knobs: { MergeEquivalentConditionalFlowBudget: limit } });
        const out = runPass('branch-opt', fn, ctx);
        expectNone(verifyFn(out, undefined, { controlLast: true }));
        expect(sameBehaviour(fn, out)).toBe(null);
        const rewrites = ctx.remarks.filter((r) => r.kind === 'passed' && r.name !== 'unreachable-removed');
        expect(rewrites.length).toBeLessThanOrEqual(limit);
        if (rewrites.length < limit) expect(printFn(out)).toBe(printFn(run('branch-opt', fn)));
      }),
      RUNS,
    );
  });

  it('refuses control in the middle of blocks', () => {
    const fn = parseFn('BB0:\n@P1 BRA BB1\nMOV R2, 1\nBB1:\nEXIT', isa);
    const ctx = testContext(fn);
    expect(runPass('branch-opt', fn, ctx)).toBe(fn);
    expect(ctx.remarks[0].name).toBe('control-not-last');
  });
});

describe('checking phases', () => {
  const broken = parseFn('.entry k\n{\nBB0:\n@P1 BRA BB1\nBB1:\nEXIT\n}', isa);
  const bad: Fn = { ...broken, blocks: [broken.blocks[0], { ...broken.blocks[1], id: 7 }] };
  const midBlock = parseFn('.entry k\n{\nBB0:\n@P1 EXIT\nMOV R2, 1\nEXIT\n}', isa);
  const message = (name: string, fn: Fn): string => {
    try {
      return run(name, fn) === fn ? 'fine' : 'changed';
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      return e.diagnostics.map((d) => `${d.message} (${d.notes?.join('; ')})`).join('\n');
    }
  };

  it('name block, instruction and rule', () => {
    expect(message('check-initial-program', bad)).toMatchInlineSnapshot(`
      "k, BB7: block id is not below blockCount 2 (rule 'block-id', found by phase Test)
      k, BB0, instruction 0: source to of 'BRA BB1' names BB1, which does not exist (rule 'target', found by phase Test)"
    `);
    expect(message('sanitize', midBlock)).toMatchInlineSnapshot(
      `"k, BB0, instruction 0: 'EXIT' transfers control in the middle of its block (rule 'control-last', found by phase Test)"`,
    );
    expect(message('check-initial-program', midBlock)).toBe('fine');
    expect(message('final-inspection', broken)).toBe('fine');
  });

  it('pseudo instructions are refused only when asked', () => {
    const fn = parseFn('BB0:\nPAIR RD1, R2, R3\nEXIT', isa);
    expect(run('final-inspection', fn)).toBe(fn);
    expect(() => run('final-inspection', fn, { params: { 'no-pseudo': true } })).toThrow(/PAIR/);
  });
});

describe('reporting phases', () => {
  const fn = parseFn(
    '.entry k\n{\nBB0:\nMOV R1, 3\nBB1:\nIADD3 R1, R1, 1\nISETP.LT P2, R1, 9\n@P2 BRA BB1\nBB2:\nEXIT\n}',
    isa,
  );
  it('report-initial gives header and text', () => {
    const ctx = testContext(fn);
    expect(runPass('report-initial', fn, ctx)).toBe(fn);
    expect(ctx.reports.join('\n')).toContain(`# 5 instructions, 1 R-regs\n`);
    expect(ctx.reports.join('\n')).toContain('[non-unrolled loops=1]');
    expect(ctx.reports.join('\n').endsWith(printFn(fn))).toBe(true);
  });
  it('report-scheduling adds a line for each loop, with the cost of an iteration', () => {
    const ctx = testContext(fn);
    expect(runPass('report-scheduling', fn, ctx)).toBe(fn);
    const text = ctx.reports.join('\n');
    const [loop, ...more] = text.split('\n').filter((l) => l.startsWith('# loop'));
    expect(more).toEqual([]);
    expect(loop).toMatch(/^# loop BB1 \[depth=1\] \[blocks=1\] \[inst=3\] \[est runs=\d+\.\d{6}\] /);
    expect(Number(/est latency=(\S+)\]/.exec(loop)![1])).toBeGreaterThan(0);
    expect(text.endsWith(printFn(fn))).toBe(true);
  });
  it('report-registers tells the pressure of each file, the warps, and what lives across calls', () => {
    const calling = parseFn(
      `.entry k
  .directive ".reqntid 256"
{
BB0:
LDG R1, [RD2]
LDG RD3, [RD2+8]
ISETP.LT P4, R1, 5
CALL {R5}, &f, &, {R1}
BB1:
@P4 BRA BB3
BB2:
STG [RD2], R5
STG [RD2+8], RD3
BB3:
CALL {}, &f, &, {R1}
BB4:
EXIT
}`,
      isa,
    );
    const limits = {
      'warp-size': 32,
      'warps-per-sm': 64,
      'threads-per-sm': 2048,
      'ctas-per-sm': 32,
      'registers-per-sm': 65536,
      'register-allocation-unit': 256,
      'min-registers': 24,
      'max-registers': 255,
      subpartitions: 4,
    };
    const linesOf = (f: Fn): string[] => {
      const ctx = testContext(f, { facts: { limits } });
      expect(runPass('report-registers', f, ctx)).toBe(f);
      const text = ctx.reports.join('\n');
      expect(text.endsWith(printFn(f))).toBe(true);
      return text.split('\n').filter((l) => /^# (registers|warps|live)/.test(l));
    };
    // RD2, RD3 and R1, then R5 too. 65536 registers / 2048 threads: 32 each. Of what lives across the first call, R5 is its result.
    expect(linesOf(calling)).toEqual([
      '# registers R [most=6] [first=BB0]',
      '# registers P [most=1] [first=BB0]',
      '# warps by registers [64 with R=6] [the same up to R=32]',
      '# live across call BB0.3 f [R=5] [P=1]',
      '# live across call BB3.0 f none',
    ]);
    // 40 values that are all used behind the last one: 40 registers and the address; 65536 / 42 / 32 warps, in blocks of 8.
    const many = Array.from({ length: 40 }, (_, i) => i + 10);
    const text = `.entry k\n  .directive ".reqntid 256"\n{\nBB0:\n${[
      ...many.map((r) => `LDG R${r}, [RD2+${r * 4}]`),
      ...many.map((r) => `STG [RD2+${r * 4}], R${r}`),
    ].join('\n')}\nEXIT\n}`;
    expect(linesOf(parseFn(text, isa))).toEqual([
      '# registers R [most=42] [first=BB0]',
      '# warps by registers [40 with R=42] [the same up to R=48] [48 with R=40]',
    ]);
  });
  it('report-allocation says that nothing allocated registers', () => {
    const ctx = testContext(fn);
    expect(runPass('report-allocation', fn, ctx)).toBe(fn);
    expect(ctx.reports.join('\n')).toContain('# registers are virtual:');
    expect(ctx.reports.join('\n')).toContain('[LRefillB=0], [SSpillB=0]');
  });
  it('report-initial looks at nothing until somebody reads the report', () => {
    let looked = 0;
    const watched = Object.defineProperty({ ...fn }, 'blocks', { get: () => (looked++, fn.blocks) });
    const made: (() => string)[] = [];
    const ctx = { ...testContext(fn), report: (make: () => string) => void made.push(make) };
    expect(runPass('report-initial', watched, ctx)).toBe(watched);
    expect([looked, made.length]).toEqual([0, 1]);
    expect(made[0]()).toContain('# 5 instructions');
    expect(looked).toBeGreaterThan(0);
  });
  it('speculative-loads says which constants may be loaded anywhere', () => {
    const f = parseFn(
      `.entry k
{
BB0:
       LDC R1, c[0x0][0x160]
       LDC R2, c[0x3][R1+0x10]
       ISETP.LT P3, R2, 5
   @P3 BRA BB2
BB1:
       LDC R4, c[0x0][0x164]
       STS [R1], R4
BB2:
       EXIT
}`,
      isa,
    );
    const made: (() => string)[] = [];
    const ctx = { ...testContext(f), report: (make: () => string) => void made.push(make) };
    expect(runPass('speculative-loads', f, ctx)).toBe(f);
    expect(made[0]().split('\n')).toEqual([
      '# 2 of 3 loads from constant banks may run anywhere; 1 of them stands where control may not come',
      '# BB1: LDC R4, c[0x0][0x164]',
    ]);
  });

  it('target-branches reports the distance of branches', () => {
    const facts = { 'slots.136': 'branch-distance', 'encoding.instruction-bytes': 16 };
    const said = (body: string): readonly string[] => {
      const f = parseFn(`.entry k\n  .table T0 BB1 BB3\n{\n${body}\n}`, isa);
      const ctx = testContext(f, { facts });
      expect(runPass('target-branches', f, ctx)).toBe(f);
      return ctx.reports;
    };
    expect(said('BB0:\n @P1 BRA BB3\nBB1:\n BRX R2, T0\nBB2:\n NOP\n NOP\nBB3:\n BRA BB0')).toEqual([
      '# 4 branches, to targets 16 to 80 bytes away, half of them within 48',
    ]);
    expect(said('BB1:\n NOP\nBB3:\n EXIT')).toEqual(['# no branches']);
  });

  it('propagate-varying says which branches may part lanes, and where that comes from', () => {
    const f = parseFn(
      `.entry k
{
BB0:
       S2R.TID.X R1
       LDC R2, c[0x0][0x160]
       ISETP.LT P3, R2, 5
   @P3 BRA BB2
BB1:
       LOP3 R4, R1, 1, RZ, 0xc0
       ISETP.EQ P5, R4, RZ
   @P5 BRA BB4
BB3:
       MOV R7, 2
       ISETP.EQ P6, R1, RZ
   @P6 BRA BB2
BB4:
       MOVPHI R9, {BB1: 1, BB3: R7}
       ISETP.EQ P10, R9, 2
   @P10 BRA BB2
BB5:
       EXIT
BB2:
       STG [RD8], R2
       EXIT
}`,
      isa,
    );
    const made: (() => string)[] = [];
    const ctx = { ...testContext(f), report: (make: () => string) => void made.push(make) };
    expect(runPass('propagate-varying', f, ctx)).toBe(f);
    expect(made[0]().split('\n')).toEqual([
      '# 6 of 9 values differ between lanes of a warp, 0 between warps; 3 of 4 branches may be divergent',
      '# BB1: @P5 BRA BB4 may be divergent: it depends on S2R.TID.X R1',
      '# BB3: @P6 BRA BB2 may be divergent in few warps: it depends on S2R.TID.X R1',
      '# BB4: @P10 BRA BB2 may be divergent in few warps: it depends on the path by which lanes reached MOVPHI R9, {BB1: 1, BB3: R7}',
    ]);
  });

  it('analyze-control-flow says what it found', () => {
    const ctx = testContext(fn);
    expect(runPass('analyze-control-flow', fn, ctx)).toBe(fn);
    expect(ctx.remarks.map((r) => r.message)).toEqual([
      '3 blocks (0 unreachable), 3 edges, 1 loops (deepest 1), 1 blocks in loop intervals',
    ]);
  });
});

describe('registry', () => {
  it('names are those of the files', () => {
    const files = readdirSync(new URL('../../src/passes/', import.meta.url), {
      recursive: true,
      encoding: 'utf8',
    }).map((f) => basename(f, '.ts'));
    for (const [name, p] of passes) {
      expect(p.name).toBe(name);
      if (!('machineCode' in p)) expect(files).toContain(name);
      expect(p.summary.length).toBeGreaterThan(10);
    }
  });
});

it('registers are split into values where a rewrite is allowed', () => {
  const fn = parseFn(
    '.entry k\n{\nBB0:\n  LDG R1, [RD2]\n  STG [RD4], R1\n  LDG R1, [RD2+4]\n  STG [RD4+4], R1\n  EXIT\n}',
    isa,
  );
  expect(runPass('split-live-ranges', fn, testContext(fn, { rewrites: { left: 0 } }))).toBe(fn);
  const rewrites = { left: 1 };
  const out = runPass('split-live-ranges', fn, testContext(fn, { rewrites }));
  expect([out === fn, rewrites.left]).toEqual([false, 0]);
  // Nothing is left to ask for.
  const again = { left: 1 };
  expect(runPass('split-live-ranges', out, testContext(out, { rewrites: again }))).toBe(out);
  expect(again.left).toBe(1);
});
