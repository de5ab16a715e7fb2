import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Journal } from '../../src/engine/journal.ts';
import { MemoryCache } from '../../src/engine/memory-cache.ts';
import { runPipeline } from '../../src/engine/pipeline.ts';
import { type RegisteredPass, runPlan } from '../../src/engine/run.ts';
import type { Program } from '../../src/ir/program.ts';
import { printFn, printProgram } from '../../src/ir/text.ts';
import { passes } from '../../src/passes/registry.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { hasWork } from '../../src/spec/phases.ts';
import { groupsOf, type Plan, passesOf } from '../../src/spec/plan.ts';
import type { PlanRequest } from '../../src/spec/resolve.ts';
import { branchyPtx } from '../support/branchy.ts';
import { planWith, saysOf, shipped } from '../support/specs.ts';

const planOf = async (change: Partial<PlanRequest> = {}): Promise<Plan> =>
  (await planWith({ order: 'binary', ...change })).plan!;
const base = await planOf();
const lowered = (text: string): Program =>
  lowerPtx(parsePtx(text, 'x.ptx').module, { isa: base.isa, paramBase: 0x160, sm: 'sm_80' }).program;
const kernel = (name: string): Program =>
  lowered(readFileSync(new URL(`../kernels/${name}/${name}.sm_80.ptx`, import.meta.url), 'utf8'));

/** The sine of a constant, in the hardware's approximation. */
const approximate = branchyPtx('k').replace(
  'mov.b32 %r4, %f2;',
  'sin.approx.f32 %f3, %f2; mov.b32 %r4, %f3;',
);
/** A word that is stored to a local variable at a constant place, and loaded from there. */
const throughMemory = branchyPtx('k')
  .replace('.reg .pred', '.local .align 4 .b8 a[4];\n.reg .pred')
  .replace('st.global', 'st.local.u32 [a], %r5; ld.local.u32 %r5, [a]; st.global');
/** A store that has a guard of its own in an arm that carries another. */
const guardedTwice = branchyPtx('k').replace(
  'st.global',
  'and.b32 %r2, %r1, 2; setp.ne.u32 %p1, %r2, 0;\n' +
    '@%p1 bra E; and.b32 %r4, %r1, 1; setp.ne.u32 %p2, %r4, 0; @%p2 st.global.u32 [%rd1+4], %r5;\nE: st.global',
);
/** Two arms that compute the same product, and need it for something else. */
const sameInArms = branchyPtx('k').replace(
  'st.global',
  'and.b32 %r2, %r1, 2; setp.ne.u32 %p1, %r2, 0; @%p1 bra A;\n' +
    'mul.lo.s32 %r3, %r5, %r5; st.global.u32 [%rd1+4], %r3; st.global.u32 [%rd1+8], %r3; bra J;\n' +
    'A: mul.lo.s32 %r3, %r5, %r5; st.global.u32 [%rd1+12], %r3; st.global.u32 [%rd1+16], %r3; J: st.global',
);
/** A loop that tests at its top whether to go on. */
const topTested = branchyPtx('k').replace(
  'st.global',
  'mov.u32 %r2, 0;\nH: setp.ge.s32 %p1, %r2, %r4; @%p1 bra X; st.global.u32 [%rd1+4], %r2;\n' +
    'add.s32 %r2, %r2, 3; bra H;\nX: st.global',
);
/** A loop of two blocks and three rounds, and one that counts to a parameter. */
const counting = branchyPtx('k').replace(
  'st.global',
  'mov.u32 %r2, 0;\nH: st.global.u32 [%rd1+4], %r2; setp.eq.s32 %p1, %r1, 5; @%p1 bra M; st.global.u32 [%rd1+8], %r2;\n' +
    'M: add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, 3; @%p2 bra H;\n' +
    'ld.param.u32 %r3, [p]; mov.u32 %r2, 0;\nL: st.global.u32 [%rd1+12], %r2;\n' +
    'add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, %r3; @%p2 bra L; st.global',
);
/** A loop that adds up what it loads, as often as a parameter says. */
const adding = branchyPtx('k').replace(
  'st.global',
  'ld.param.u32 %r3, [p]; mov.u32 %r2, 0;\nL: ld.global.u32 %r1, [%rd1]; add.s32 %r5, %r5, %r1; add.s64 %rd1, %rd1, 4;\n' +
    'add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, %r3; @%p2 bra L; st.global',
);
/** Two barriers with nothing between them. */
const waitsTwice = branchyPtx('k').replace('st.global', 'bar.sync 0; bar.sync 0; st.global');
/** A fence for the whole system. */
const fenced = branchyPtx('k').replace('st.global', 'membar.sys; st.global');
const programs = [
  lowered(fenced),
  lowered(waitsTwice),
  lowered(topTested),
  lowered(counting),
  lowered(adding),
  lowered(sameInArms),
  lowered(guardedTwice),
  lowered(throughMemory),
  lowered(branchyPtx('k')),
  lowered(approximate),
  ...[
    'float-special',
    'sobel',
    'ray-sphere',
    'crc',
    'divmod',
    'merge-path',
    'state-machine',
    'bit-tricks',
  ].map(kernel),
];

/** What phases did to each program: a plan that differs in one knob runs again only what reads it, and what follows. */
const caches = programs.map(() => new MemoryCache());
/** All that phases did to a program: which ran, what they said, what came out. */
const done = (k: number, p: Plan): string =>
  doneIn(runPipeline(programs[k], p, { inputKey: `${k}`, cache: caches[k] }));
const doneIn = (j: Journal): string => {
  const records = j.records.map((r) => [r.phase.id, r.outcome, r.remarks.map((m) => `${m.name} ${m.fn}`)]);
  return `${JSON.stringify(records)}\n${printProgram(j.last)}`;
};

/** The same under the default plan. */
const journals = programs.map((x, k) => runPipeline(x, base, { inputKey: `${k}`, cache: caches[k] }));
const byDefault = journals.map(doneIn);

/** Knobs that the phases with work declare: their own and those of their gates. */
const declared = new Set(
  base.phases
    .filter(hasWork)
    .flatMap((p) => [...p.knobs, ...p.gate.set, ...p.gate.unset, ...p.gate.nonzero, ...p.gate.budget]),
);
const unread = [...declared].filter((k) => base.knobs.get(k)!.unread);
/** Knobs of rematerialization, whose effects another file tests. */
const REMAT: Readonly<Record<string, string>> = {
  RematEarlyEnable: '1',
  RematEnable: '0',
  RematBudget: '0',
  RematMaxRegCount: '8',
  RematCostInstLimit: '0',
  RematConservativeRegSlack: '1',
  RematRegTargetFactor: '0.9',
  RematRegTargetTrialLimit: '1',
  RematBackOffRegTargetFactor: '2',
  RematAbsCostFactor: '10',
  MovWeightForRemat: '6',
  RematLdcCost: '6',
  RematMemCost: '6',
  RematMinDistance: '32',
  RematPlacementLookback: '0',
  RematStressTest: '1',
  RematEnablePReg: '1',
  Knob356: '5',
  SinkRematEnable: '0',
  SinkRematAlways: '1',
  SinkRematBudget: '0',
  SinkRematAbsCostLimit: '0',
  SinkRematMinDefPlaceDist: '32',
};
/** A value that tells, for knobs that some code reads; flags are set, budgets are nothing. */
const telling: Readonly<Record<string, string>> = {
  GeneralOptimizeMidMaxAdd3RefCnt: '3',
  MembarFlowControl: '0',
  Knob228: '0',
  Knob91: '1,2,3,4,5',
  Knob132: '50',
  Knob133: '2',
  Knob134: '0',
  Knob136: '0',
  MovWeightForConvertMemToReg: '1000',
  Knob862: '0',
  OptimizeUniformAtomicMode: '1',
  Knob364: '0',
  Knob358: '0',
  Knob381: '3',
  EnableGvnCse: 'false',
  EnableGvnCseMode: '0',
  AllowReassociateCSE: '0',
  ReassociateCSEWindow: '1',
  SwitchOptExtendedPatternMatch: '0',
  ReassociateCSESkip: '100',
  ConvertMemoryToRegIndexedSizeLimit: '0',
  SpeculativeHoistCommonInsts: '0',
  LoopInversion: '0',
  SingleEntryLimit: '20',
  Knob437: '0',
  Knob427: '-',
  Knob429: '1',
  Knob896: '2',
  Knob894: '0',
  Knob895: '1',
  Knob898: '1',
  Knob900: '1',
  Knob902: '0',
  Knob220: 'false',
  Knob380: '2',
  HoistLoopInvBudget: '1',
  HoistBudget: '1',
  HoistCBOMode: '2',
  MaxMidHeaderSizeRateForAggressiveHoist: '1',
  UnrollBudget: '20',
  UnrollUnknownCount: '2',
  Knob897: '0',
  UnrollFullInstLimit: '2',
  PerformLoopFusion: '1',
  OkToPipelineNoUnroll: '1',
  ...REMAT,
  Knob391: '1',
  NamedPhases: 'GvnCse',
};
const settings = [...declared]
  .filter((k) => !unread.includes(k))
  .map((k) => {
    const { type } = base.knobs.get(k)!;
    return type === 'NONE' && telling[k] === undefined
      ? k
      : `${k}=${telling[k] ?? (type === 'BDGT' ? '0' : '?')}`;
  });

describe('every knob that a phase with work declares', () => {
  const budgets = new Set(base.phases.flatMap((p) => (p.ruleBudget === null ? [] : [p.ruleBudget])));
  // What it changes shows with groups made for it (rules-where.test.ts): of the shipped rules no two of equal priority fit one instruction.
  // What others change shows where registers are short, or at level 5 (rematerialize.test.ts), where there are more uniform values than
  // registers for them (uniform-registers.test.ts), or in atomics of a shared place (uniform-atomics.test.ts). What chooses among local
  // variables, and the window of pairs, needs kernels of its own (knobs-general-optimize.test.ts); so do two slow arms, and arms that
  // hardly ever run (if-conversion.test.ts), matrix products of a warpgroup (matrix-groups.test.ts), loops that are fused
  // (ori/fusion-budget.ori), sums of products (ori/distribution-budget.ori), and regions and marks that PTX does not have
  // (ori/target-*.ori). Some knobs of unrolling and hoisting matter only together with others (unroll-factor.test.ts, hoist-score.test.ts,
  // ori/unroll-*.ori), in nests (ori/hoist-*.ori), or in cycles with several entries (ori/loops-single-entry.ori).
  const elsewhere = new Set([
    'RulePriorityBands',
    'Knob232',
    'Knob351',
    'Knob132',
    'Knob134',
    'Knob603',
    'ReassociateCSEWindow',
    'Knob260',
    'Knob582',
    'Knob862',
    'DisableConvergentWriteUR',
    'OptimizeUniformAtomicMode',
    'Knob364',
    'PerformLoopFusionBudget',
    'HoistLoopInvBudget',
    'HoistBudget',
    'HoistCBOMode',
    'MaxMidHeaderSizeRateForAggressiveHoist',
    'DistributeAndReassociateMulBudget',
    'Knob380',
    'Knob220',
    'DisableNestedHoist',
    'SingleEntryLimit',
    'Knob894',
    'Knob895',
    'Knob898',
    'Knob900',
    'Knob902',
    'UnrollBudget',
    'UnrollUnknownCount',
    'LoopUnrollUnknownMultiBlock',
    ...Object.keys(REMAT),
  ]);
  const others = settings.filter((s) => !budgets.has(s.split('=')[0]) && !elsewhere.has(s.split('=')[0]));

  it.each(others)('%s changes what is done', async (set) => {
    const p = await planOf({ set: [set] });
    expect(programs.some((_, k) => done(k, p) !== byDefault[k])).toBe(true);
  });

  it('is read, or its row says that it is not, and then setting it warns', async () => {
    expect(unread.length).toBeGreaterThan(10);
    for (const k of unread) {
      const value = base.knobs.get(k)!.type === 'NONE' ? k : `${k}=1`;
      expect(await saysOf({ set: [value], order: 'binary' })).toBe(
        `warning: knob ${k} is set (command-line), but nothing reads it yet`,
      );
    }
    // What is read does not warn.
    for (const s of settings) {
      // The sinking phase runs at level 5.
      const level = s.startsWith('SinkRemat') ? 5 : 3;
      // Matrix products of a warpgroup are followed where there are any.
      const sm = s.startsWith('Knob364') ? 'sm_90' : 'sm_80';
      expect([s, await saysOf({ set: [s], order: 'binary', level, sm })]).toEqual([s, '']);
    }
  });

  it('says so no longer than that is true: reading it is a mistake that is reported', () => {
    for (const name of unread) {
      const phase = base.phases.find((p) => hasWork(p) && p.knobs.includes(name))!;
      const step = { kind: 'pass', pass: 'probe', params: {}, origin: phase.origin } as const;
      const own: Plan = { ...base, phases: [{ ...phase, steps: [step], gate: base.phases[0].gate }] };
      const read: RegisteredPass = {
        name: 'probe',
        summary: '',
        pass: (fn, ctx) => (ctx.knob(name), fn),
      };
      expect(() => runPlan(programs[0], own, { passes: new Map([...passes, ['probe', read]]) })).toThrow(
        `read the knob '${name}', which knobs/catalog.yaml marks as unread`,
      );
    }
  });
});

describe('a budget of rules', () => {
  const limited = base.phases.filter((p) => p.ruleBudget !== null && groupsOf(p).length > 0);

  it('stands at every phase that the sources give one', () => {
    expect(limited.map((p) => `${p.id} ${p.ruleBudget}`)).toEqual([
      'GeneralOptimizeEarly GeneralOptimizeEarlyBudget',
      'GeneralOptimize GeneralOptimizeBudget',
      'OriLinearReplacement Knob416',
      'GeneralOptimizeMid GeneralOptimizeMidBudget',
      'GeneralOptimizeMid2 GeneralOptimizeMid2Budget',
      'GeneralOptimizeLate GeneralOptimizeLateBudget',
      'GeneralOptimizeLate2 GeneralOptimizeLate2Budget',
    ]);
  });

  it.each(limited.map((p) => [p.id, p.ruleBudget!]))(
    '%s: %s allows so many rewrites, and no more',
    async (id, knob) => {
      // Alone, so that there is something left for it.
      const disable = base.phases
        .filter((p) => groupsOf(p).length > 0 && p.id !== id && !p.required)
        .map((p) => p.id);
      // What other phases do before it is the same for every limit.
      const shared = programs.map(() => new MemoryCache());
      const { perFunction } = base.knobs.get(knob)!;
      const hits = (p: Plan): number[] =>
        programs.flatMap((x, k) => {
          const n = new Map(x.functions.map((f) => [f.name, 0]));
          const count = (h: { readonly phase: string; readonly fn: string }) =>
            void (h.phase === id && n.set(h.fn, n.get(h.fn)! + 1));
          runPipeline(x, p, { until: id, inputKey: `${k}`, cache: shared[k], onRuleHit: count });
          return perFunction ? [...n.values()] : [[...n.values()].reduce((sum, m) => sum + m, 0)];
        });
      const free = hits(await planOf({ disable }));
      // Phase 29 has few rules: what it does to selections is no rule.
      expect(Math.max(...free)).toBeGreaterThan(1);
      for (const limit of [0, 1, 3]) {
        const some = hits(await planOf({ disable, set: [`${knob}=${limit}`] }));
        expect(some).toEqual(free.map((n) => Math.min(n, limit)));
      }
    },
  );

  it('holds where rules are chosen by bands too', async () => {
    const { id, ruleBudget } = limited[0];
    const hits = async (set: string[]): Promise<number[]> => {
      const p = await planOf({ set: ['RulePriorityBands', ...set] });
      return programs.flatMap((x) => {
        const n = new Map(x.functions.map((f) => [f.name, 0]));
        runPipeline(x, p, { until: id, onRuleHit: (h) => h.phase === id && n.set(h.fn, n.get(h.fn)! + 1) });
        return [...n.values()];
      });
    };
    const free = await hits([]);
    expect(Math.max(...free)).toBeGreaterThan(3);
    for (const limit of [0, 2])
      expect(await hits([`${ruleBudget}=${limit}`])).toEqual(free.map((n) => Math.min(n, limit)));
  });

  it('holds for each function of a program, and what it left is there for other phases', async () => {
    const both = lowered(branchyPtx('k', 'other'));
    const [first] = limited;
    const again = { ...first, id: `${first.id}#2`, ruleBudget: null };
    const hits = async (set: string[]): Promise<string[]> => {
      const p = await planOf({ set });
      const phases = [...p.phases.slice(0, first.position + 1), again];
      const out: string[] = [];
      runPipeline(both, { ...p, phases }, { onRuleHit: (h) => out.push(`${h.phase} ${h.fn}`) });
      return out;
    };
    const all = await hits([]);
    expect(all.filter((x) => x === `${first.id} other`).length).toBeGreaterThan(1);
    expect(all.filter((x) => x.startsWith(`${again.id} `))).toEqual([]);
    const some = await hits([`${first.ruleBudget}=1`]);
    expect(some.filter((x) => x.startsWith(`${first.id} `))).toEqual([`${first.id} k`, `${first.id} other`]);
    expect(some).toContain(`${again.id} k`);
    expect(some).toContain(`${again.id} other`);
  });

  it('is one of each function where the reference says so, and no gate asks such a budget', () => {
    const own = [...base.knobs.values()].filter((k) => k.perFunction);
    expect(own.map((k) => k.index).sort()).toEqual([344, 345, 346, 347, 348, 349]);
    // A gate takes a unit for the module.
    for (const { name } of own)
      expect(base.phases.filter((p) => p.gate.budget.includes(name)).map((p) => p.id)).toEqual([]);
  });

  it('of each function is used up by it alone, with a cache or without', async () => {
    const { id, ruleBudget } = limited[0];
    const p = await planOf({ set: [`${ruleBudget}=1`] });
    const texts = (program: Program, cache?: MemoryCache): string[] =>
      runPipeline(program, p, { until: id, ...(cache && { inputKey: 'x', cache }) })
        // Without the numbers of source lines.
        .last.functions.map((f) => printFn(f).replace(/ +; \d+$/gm, ''));
    const alone = ['k', 'other'].flatMap((name) => texts(lowered(branchyPtx(name))));
    const both = lowered(branchyPtx('k', 'other'));
    expect(texts(both)).toEqual(alone);
    const cache = new MemoryCache();
    for (let k = 0; k < 2; k++) expect(texts(both, cache)).toEqual(alone);
  });
});

it('each back-end fact that a row with work declares is read by its steps or its gate', () => {
  const rows = shipped.phases.data.phases as readonly {
    readonly name: string;
    readonly facts?: readonly string[];
  }[];
  const idle = base.phases.filter(hasWork).flatMap((p) => {
    const read = journals.flatMap((j) =>
      j.records.filter((r) => r.phase.id === p.id).flatMap((r) => r.factsRead),
    );
    const known = [
      ...read,
      ...p.gate.facts.map((f) => f.path),
      ...passesOf(p).flatMap((name) => passes.get(name)?.needs?.facts ?? []),
    ];
    const facts = rows.find((r) => r.name === p.name)?.facts ?? [];
    return facts
      .filter((f) => !known.some((k) => k === f || k.startsWith(`${f}.`)))
      .map((f) => `${p.name} ${f}`);
  });
  expect(idle).toEqual([]);
});
