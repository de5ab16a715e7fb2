import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { TargetOperations } from '../../src/analysis/schedule/target-operations.ts';
import { optimize, readPtx, writePtx } from '../../src/core.ts';
import { DiagnosticError } from '../../src/ir/diagnostic.ts';
import type { Program } from '../../src/ir/program.ts';
import { parseFn, printProgram } from '../../src/ir/text.ts';
import { runLaunch } from '../../src/sim/launch.ts';
import { loadLaunch } from '../../src/spec/node-launch.ts';
import { groupsOf, type Plan, passesOf } from '../../src/spec/plan.ts';
import { testIsa } from '../support/isa.ts';
import { hasPtxas, ptxas } from '../support/ptxas.ts';
import { runs } from '../support/size.ts';
import { planWith, shipped } from '../support/specs.ts';

const isa = testIsa();
const targets = [...shipped.backends.values()].flatMap((f) =>
  f.data.sm === undefined ? [] : [String(f.data.sm)],
);
const planFor = async (sm: string): Promise<Plan> => (await planWith({ sm, order: 'binary' })).plan!;
const tableOf = (p: Plan): [string, string][] =>
  Object.entries(p.backend.facts.operations as Record<string, string>);

/** A deterministic sequence of words (Marsaglia, xorshift, 2003). */
function sequence(seed: number): () => number {
  let x = seed;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x;
  };
}

const dir = new URL('../kernels/', import.meta.url);
const kernel = (name: string, plan: Plan) => {
  const file = new URL(`${name}/${name}.sm_80.ptx`, dir);
  return readPtx(readFileSync(file, 'utf8'), plan, `${name}.ptx`).program;
};

describe('the table of operations', () => {
  it('names opcodes with modifiers that they have, and phases with rules or a pass for them that run on the target', async () => {
    let expanded = 0;
    for (const sm of targets) {
      const plan = await planFor(sm);
      for (const [key, support] of tableOf(plan)) {
        const [name, ...mods] = key.split('.');
        const op = isa.byName.get(name);
        expect(op, key).toBeDefined();
        for (const m of mods) expect(op!.modByName.has(m), key).toBe(true);
        if (support === 'native' || support === 'none') continue;
        expanded++;
        const phase = plan.phases.find((p) => p.id === support)!;
        if (op!.unit === 'fp16') {
          expect(passesOf(phase), `${sm} ${key}`).toContain('promote-half');
          // What its gate asks for.
          expect(plan.backend.facts.operations).toMatchObject({ HMNMX2: phase.id });
          continue;
        }
        if (op!.name === 'REDUX') {
          expect(passesOf(phase), `${sm} ${key}`).toContain('expand-reductions');
          continue;
        }
        const rules = groupsOf(phase)
          .map((g) => shipped.rules!.get(g)!.data as { when?: string; rules: { match: string }[] })
          .filter(
            (g) => g.when === undefined || Number(sm.slice(3)) < Number(/^sm < (\d+)$/.exec(g.when)?.[1]),
          )
          .flatMap((g) => g.rules.map((r) => r.match.trim().split('\n').at(-1)!));
        expect(
          rules.some((r) => r.startsWith(`${name}.`) || r.startsWith(`${name} `)),
          `${sm} ${key}`,
        ).toBe(true);
      }
    }
    expect(expanded).toBeGreaterThan(0);
  });

  // PTX ISA 9.0, target notes of the instructions.
  it.each([
    ['sm_60', 'REDUX MATCH ELECT IDP LDGSTS', 'HADD2'],
    ['sm_75', 'REDUX ELECT LDGSTS HMNMX2.MIN', 'MATCH IDP MUFU.TANH'],
    ['sm_80', 'ELECT CGABAR F2FP_PACK8.E4M3', 'REDUX LDGSTS MBAR_INIT HMNMX2.MIN'],
    ['sm_89', 'ELECT', 'F2FP_PACK8.E4M3'],
    ['sm_90', 'REDUX_F32.MIN', 'ELECT CGABAR F2FP_PACK8.E4M3 REDUX'],
    ['sm_100', '', 'REDUX_F32'],
    ['sm_103', '', 'REDUX_F32'],
    ['sm_120', 'REDUX_F32', 'REDUX'],
  ])('of %s lacks %s and has %s', async (sm, lacks, has) => {
    const table = Object.fromEntries(tableOf(await planFor(sm)));
    const support = (what: string): string => {
      const [name, ...mods] = what.split('.');
      const rest = table[what] ?? table[name] ?? 'native';
      return mods.length > 0 ? rest : (table[name] ?? 'native');
    };
    for (const x of lacks.split(' ').filter((w) => w !== ''))
      expect([x, support(x)]).not.toEqual([x, 'native']);
    for (const x of has.split(' ')) expect([x, support(x)]).toEqual([x, 'native']);
  });

  it('takes the row with the most modifiers that are chosen', () => {
    const t = new TargetOperations({ MUFU: 'native', 'MUFU.TANH': 'none' });
    const { ins } = parseFn(
      '.entry k\n{\nBB0:\nMUFU.TANH R1, R2\nMUFU.RCP R3, R2\nIADD3 R4, R1, R3\nEXIT\n}',
      isa,
    ).blocks[0];
    expect(ins.map((x) => t.supportOf(x))).toEqual(['none', 'native', 'native', 'native']);
  });
});

describe('what the target lacks', () => {
  it('is refused with the instruction and its line', async () => {
    const plan = await planFor('sm_75');
    expect(() => optimize(kernel('warp-redux', plan), plan)).toThrow(DiagnosticError);
    try {
      optimize(kernel('warp-redux', plan), plan);
    } catch (e) {
      const [first] = (e as DiagnosticError).diagnostics;
      expect(first.message).toMatch(/^redux, BB\d+, instruction \d+: sm_75 has no operation for 'REDUX/);
      expect(first.line).toBeGreaterThan(0);
      // Nine reductions are over a whole warp and expanded, this one is not.
      expect((e as DiagnosticError).diagnostics).toHaveLength(1);
      expect(first.message).toMatch(
        /LateExpansionUnsupportedOps did not expand it: only a mask that is known to be 0xffffffff/,
      );
    }
  });

  it('is expanded where rules do, and gives what the host computed', async () => {
    for (const sm of ['sm_30', 'sm_50', 'sm_60']) {
      const plan = await planFor(sm);
      const before = kernel('dot-bytes', plan);
      expect(printProgram(before)).toMatch(/\bIDP\.4A[\s\S]*\bIDP\.2A/);
      const after = optimize(before, plan).last;
      expect(printProgram(after)).not.toMatch(/\bIDP\b/);
      const launch = await loadLaunch(new URL('dot-bytes/launch.yaml', dir).pathname);
      const r = runLaunch(after, plan.isa, launch, Number(plan.backend.facts['param-base']), {});
      expect([r.status, r.mismatchCount]).toEqual(['ok', 0]);
    }
    const plan = await planFor('sm_80');
    expect(printProgram(optimize(kernel('dot-bytes', plan), plan).last)).toMatch(/\bIDP\b/);
  });

  /** Every reduction over a warp; threads whose bit of `gone` is set exit before. */
  const REDUCTIONS = [
    'add.u32',
    'add.s32',
    'min.u32',
    'max.u32',
    'min.s32',
    'max.s32',
    'and.b32',
    'or.b32',
    'xor.b32',
  ];
  const reductions = (mask: string): string => `.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 gone)
{
.reg .b64 %rd<4>; .reg .b32 %r<20>; .reg .pred %p;
ld.param.u64 %rd1, [pin]; ld.param.u64 %rd2, [pout]; ld.param.u32 %r1, [gone];
mov.u32 %r2, %tid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd1, %rd1, %rd3;
mul.wide.u32 %rd3, %r2, ${4 * REDUCTIONS.length}; add.s64 %rd2, %rd2, %rd3;
ld.global.u32 %r3, [%rd1]; shr.u32 %r4, %r1, %r2; and.b32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0;
@%p exit;
mov.u32 %r5, ${mask};
${REDUCTIONS.map((op, k) => `redux.sync.${op} %r6, %r3, %r5; st.global.u32 [%rd2+${4 * k}], %r6;`).join('\n')}
ret;
}
`;

  const asks = hasPtxas('target-operations.test.ts');
  it('in reductions over a warp becomes exchanges, of those lanes alone that are there', async () => {
    const next = sequence(7);
    const word = (): number => ((next() & 3) === 0 ? (next() & 15) - 8 : next() | 0);
    for (const sm of ['sm_60', 'sm_75'])
      for (const level of [0, 3]) {
        const plan = (await planWith({ sm, order: 'binary', level })).plan!;
        const { program, module } = readPtx(reductions('0xffffffff'), plan, 'k.ptx');
        const after = optimize(program, plan).last;
        expect(printProgram(after)).not.toMatch(/\bREDUX\b/);
        expect(printProgram(after).match(/\bSHFL/g)).toHaveLength(5 * REDUCTIONS.length);
        const { text } = writePtx(after, plan, shipped, { module, target: sm });
        expect(text).not.toContain('redux');
        for (const [threads, gone] of [
          [32, 0],
          [64, 0],
          [45, 0],
          [33, 0],
          [1, 0],
          ...Array.from({ length: runs(4) }, () => [32 + (next() & 31), next() & next()]),
          [32, 0x7fffffff],
          [32, ~0x10010],
        ]) {
          const words = Int32Array.from({ length: threads }, word);
          const buffer = (bytes: Uint8Array) =>
            ({
              kind: 'buffer',
              type: 'u32',
              length: bytes.length / 4,
              bytes,
              expect: null,
              tolerance: 0,
            }) as const;
          const run = (p: Program): number[] => {
            const launch = {
              name: 't',
              kernel: 'k',
              grid: [1, 1, 1],
              block: [threads, 1, 1],
              dynamicShared: 0,
              params: [
                buffer(new Uint8Array(words.buffer)),
                buffer(new Uint8Array(4 * threads * REDUCTIONS.length)),
                { kind: 'scalar', type: 'u32', value: gone >>> 0 },
              ],
            } as const;
            const r = runLaunch(p, plan.isa, launch, Number(plan.backend.facts['param-base']), {});
            expect([r.status, r.error]).toEqual(['ok', null]);
            return [...new Int32Array(r.buffers[1]!.buffer)];
          };
          const isGone = (t: number): boolean => t < 32 && ((gone >>> t) & 1) === 1;
          const want = [...words.keys()].flatMap((t) => {
            const warp = [...words].filter((_, u) => u >> 5 === t >> 5 && !isGone(u));
            const of = (f: (a: number, b: number) => number): number => (isGone(t) ? 0 : warp.reduce(f) | 0);
            const sum = of((a, b) => (a + b) | 0);
            return [
              sum,
              sum,
              of((a, b) => (a >>> 0 < b >>> 0 ? a : b)),
              of((a, b) => (a >>> 0 > b >>> 0 ? a : b)),
              of((a, b) => Math.min(a, b)),
              of((a, b) => Math.max(a, b)),
              of((a, b) => a & b),
              of((a, b) => a | b),
              of((a, b) => a ^ b),
            ];
          });
          for (const p of [program, after, readPtx(text, plan, 'k.ptx').program])
            expect({ sm, level, threads, gone, got: run(p) }).toEqual({
              sm,
              level,
              threads,
              gone,
              got: want,
            });
        }
        if (sm === 'sm_75' && asks)
          expect(ptxas(text, sm)).toMatchObject({ cubin: expect.anything(), errors: '' });
      }
    const plan = await planFor('sm_80');
    expect(printProgram(optimize(readPtx(reductions('-1'), plan).program, plan).last)).toMatch(/\bREDUX\b/);
  });

  it.each(['0x7fffffff', '0', '%r3'])('in reductions of mask %s stays, and is refused', async (mask) => {
    const plan = await planFor('sm_75');
    const { program } = readPtx(reductions(mask), plan);
    expect(() => optimize(program, plan)).toThrow(
      /no operation for 'REDUX.*no lane outside of a mask may be read/,
    );
  });
});
