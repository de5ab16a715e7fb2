import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { TargetOperations } from '../src/analysis/target-operations.ts';
import { optimize, readPtx } from '../src/core.ts';
import { DiagnosticError } from '../src/ir/diagnostic.ts';
import { parseFn, printProgram } from '../src/ir/text.ts';
import { runLaunch } from '../src/sim/launch.ts';
import { loadLaunch } from '../src/spec/node-launch.ts';
import { groupsOf, type Plan, passesOf } from '../src/spec/plan.ts';
import { testIsa } from './support/isa.ts';
import { planWith, shipped } from './support/specs.ts';

const isa = testIsa();
const targets = [...shipped.backends.values()].flatMap((f) =>
  f.data.sm === undefined ? [] : [String(f.data.sm)],
);
const planFor = async (sm: string): Promise<Plan> => (await planWith({ sm, order: 'binary' })).plan!;
const tableOf = (p: Plan): [string, string][] =>
  Object.entries(p.backend.facts.operations as Record<string, string>);

const dir = new URL('./kernels/', import.meta.url);
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
});
