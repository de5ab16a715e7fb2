// Measures the parts of the engine: parsing, phases, analyses, snapshots, rules, the simulator and the start of commands. Times are
// medians. To compare machines, use the ratios, which come from one run.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { divergenceOf } from '../analysis/uniformity/divergence.ts';
import { rangesOf } from '../analysis/values/ranges.ts';
import { countInstructions } from '../engine/journal.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { packProgram, packPrograms, unpackProgram, unpackPrograms } from '../ir/pack/index.ts';
import type { PtxStatement } from '../ptx/ast.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { applyRules } from '../rules/driver.ts';
import { compileGroup } from '../rules/group.ts';
import { Matcher } from '../rules/matcher.ts';
import type { Rule } from '../rules/rule.ts';
import { runLaunch } from '../sim/launch.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { benchAnalyses } from './bench-analyses.ts';
import { benchDraft } from './bench-draft.ts';
import { branchyKernel, kernel, straightKernel } from './bench-kernels.ts';
import { benchSharing } from './bench-sharing.ts';
import { shippedPlan } from './shipped-plan.ts';

const specs = await loadShipped();
const plan = await shippedPlan(specs, 'sm_80');
const paramBase = Number(plan.backend.facts['param-base']);
const say = (s: string) => process.stdout.write(`${s}\n`);

/** Median seconds of `f` over `n` runs after one warm-up. */
function time(f: () => unknown, n = 5): number {
  f();
  const t: number[] = [];
  for (let i = 0; i < n; i++) {
    const a = performance.now();
    f();
    t.push(performance.now() - a);
  }
  return t.sort((a, b) => a - b)[n >> 1] / 1000;
}

const lower = (text: string) =>
  lowerPtx(parsePtx(text, 'bench.ptx').module, { isa: plan.isa, paramBase, sm: 'sm_80' }).program;

// The texts of all test kernels for one target.
const dir = join(ROOT, 'test', 'kernels');
const texts = readdirSync(dir, { withFileTypes: true })
  .filter((d) => d.isDirectory())
  .flatMap((d) =>
    readdirSync(join(dir, d.name))
      .filter((f) => f.endsWith('.sm_80.ptx'))
      .map((f) => readFileSync(join(dir, d.name, f), 'utf8')),
  );
/** Number of instructions of a module, without declarations and directives. */
function instructions(text: string): number {
  let n = 0;
  const walk = (body: readonly PtxStatement[]): void => {
    for (const s of body)
      if (s.kind === 'instr') n++;
      else if (s.kind === 'scope') walk(s.body);
  };
  for (const i of parsePtx(text, 'bench.ptx').module.items)
    if (i.kind === 'function' && i.body !== null) walk(i.body);
  return n;
}
const total = texts.reduce((n, t) => n + instructions(t), 0);
const parse = time(() => texts.forEach((t) => parsePtx(t, 'bench.ptx')));
const both = time(() => texts.forEach(lower));
say(
  `parse                 ${(total / parse / 1e6).toFixed(2)} M PTX instructions/s  (${texts.length} kernels, ${total} instructions)`,
);
say(`parse + lower         ${(total / both / 1e6).toFixed(2)} M PTX instructions/s`);

say('');
for (const [name, make] of [
  ['straight', straightKernel],
  ['branchy', branchyKernel],
] as const) {
  const per: number[] = [];
  for (const n of [1000, 10_000, 100_000]) {
    const program = lower(make(n));
    const size = countInstructions(program);
    const ran = plan.phases.filter((p) => p.steps.length > 0).length;
    // A fresh copy for each run, so that no analysis is cached.
    const t = time(
      () => runPipeline({ ...program, functions: program.functions.map((f) => ({ ...f })) }, plan),
      3,
    );
    per.push(t / size);
    say(
      `${name.padEnd(9)} ${String(size).padStart(7)} instructions  ${(t * 1000).toFixed(1).padStart(8)} ms all phases  ${((size * ran) / t / 1e6).toFixed(2).padStart(6)} M instruction-phases/s`,
    );
  }
  say(
    `${name.padEnd(9)} cost for each instruction, 1 where growth is linear: at 100 k over 1 k ${(per[2] / per[0]).toFixed(2)}, over 10 k ${(per[2] / per[1]).toFixed(2)}`,
  );
}

// Value analyses on programs as lowered. Each run is on a fresh copy, so that only the control flow graph is cached.
for (const [what, analyse] of [
  ['divergence', divergenceOf],
  ['ranges', rangesOf],
] as const)
  for (const [name, make] of [
    ['straight', straightKernel],
    ['branchy', branchyKernel],
  ] as const) {
    const per = [1000, 10_000, 100_000].map((n) => {
      const program = lower(make(n));
      const fn = program.functions[0];
      return (time(() => analyse({ ...fn })) / countInstructions(program)) * 1e9;
    });
    say(
      `${what.padEnd(11)}${name.padEnd(9)}  ${per.map((t) => t.toFixed(0)).join(', ')} ns an instruction at 1 k, 10 k, 100 k`,
    );
  }

// Serialized snapshots, and the memory cost of keeping one after each phase.
const module = lower(branchyKernel(100_000));
const packed = packProgram(module, plan.isa);
const many = countInstructions(module);
const writing = time(() => packProgram(module, plan.isa), 9);
const reading = time(() => unpackProgram(packed, plan.isa), 9);
say(
  `\npack                  ${(many / writing / 1e6).toFixed(2)} M instructions/s, unpack ${(many / reading / 1e6).toFixed(2)} (${many} instructions, ${(packed.length / many).toFixed(1)} bytes each)`,
);
const kept = texts.map((t) => {
  const input = lower(t);
  return [...new Set([input, ...runPipeline(input, plan).records.map((r) => r.program)])];
});
const more = kept.reduce((n, all) => n + all.length - 1, 0);
const firsts = kept.map((all) => packProgram(all[0], plan.isa));
const alls = kept.map((all) => packPrograms(all, plan.isa));
/** Bytes of heap of unpacked snapshots, without analysis results. */
function heapOf(packs: readonly Uint8Array[]): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const held = packs.map((b) => unpackPrograms(b, plan!.isa));
  collect();
  return held.length > 0 ? process.memoryUsage().heapUsed - before : 0;
}
const bytesOf = (packs: readonly Uint8Array[]) => packs.reduce((n, b) => n + b.length, 0);
const [heapFirst, heapAll] = [heapOf(firsts), heapOf(alls)];
const kb = (n: number) => `${(n / 1024).toFixed(1)} KB`;
say(
  `kept snapshot         ${kb((heapAll - heapFirst) / more)} of heap where a whole program has ${kb(heapFirst / kept.length)}, ${kb((bytesOf(alls) - bytesOf(firsts)) / more)} packed where it has ${kb(bytesOf(firsts) / kept.length)} (${more} snapshots after phases that changed something, ${kept.length} kernels)\n`,
);

benchAnalyses(plan.isa, say);
await benchSharing(say);

say('');
benchDraft(
  say,
  plan.isa,
  [straightKernel, branchyKernel].map((make, i) => ({
    name: ['straight', 'branchy'][i],
    fns: [1000, 10_000, 100_000].map((n) => lower(make(n)).functions[0]),
  })),
);

/** Rules of one or two levels that match instructions of the program except for a constant, so that they never fire. */
function generatedRules(n: number): Rule[] {
  const shapes = [
    'IADD3 $d, $a, K, 0',
    'IMAD $d, $a, K, $c',
    'SHL $d, $a, K',
    'ISETP.LT $d, $a, K',
    'LOP3 $d, $a, K, _, 0xc0',
  ];
  const rules = Array.from({ length: n }, (_, i) => {
    const inner = shapes[i % 3].replace('$d', '$t').replace('$a', '$x');
    const root = shapes[Math.floor(i / 3) % shapes.length].replaceAll('K', String(100_003 + i));
    const two = i % 2 === 0;
    const match = two ? `${inner.replaceAll('K', String(200_003 + i))}\n${root.replace('$a', '$t')}` : root;
    const rewrite = root.startsWith('ISETP') ? 'PLOP3 $d, PT, PT, PT, 0xf0' : 'MOV $d, 1';
    return { id: `generated-${i}`, title: 'generated', match, rewrite, source: 'bench' };
  });
  const { rules: made, issues } = compileGroup({ group: 'generated', rules }, plan!.isa, 'texts');
  if (issues.length > 0) throw new Error(issues[0].message);
  return made;
}
const shape = lower(straightKernel(20_000)).functions[0];
const matching = [10, 100, 1000].map((n) => {
  const matcher = Matcher.of(generatedRules(n), plan.isa);
  const opts = {
    level: 3,
    sm: 80,
    knob: () => null,
  } as const;
  return time(() => applyRules({ ...shape }, matcher, { ...opts, mode: 'precedence' }), 9);
});
say(
  `\nmatching              ${(countInstructions(lower(straightKernel(20_000))) / matching[2] / 1e6).toFixed(2)} M instructions/s with 1,000 rules; time over that with 10: 100 rules ${(matching[1] / matching[0]).toFixed(2)}, 1,000 rules ${(matching[2] / matching[0]).toFixed(2)}\n`,
);

const arithmetic = lower(
  kernel(`mov.u32 %r4, 0;
$loop:
mad.lo.s32 %r1, %r1, 1664525, %r3;
xor.b32 %r2, %r2, %r1;
shr.u32 %r3, %r2, 5;
add.s32 %r2, %r3, %r1;
and.b32 %r3, %r2, 65535;
add.s32 %r4, %r4, 1;
setp.lt.u32 %p1, %r4, 5000;
@%p1 bra $loop;`),
);
let executed = 0;
const sim = time(() => {
  executed = runLaunch(
    arithmetic,
    plan.isa,
    {
      name: 'bench',
      kernel: 'k',
      grid: [4, 1, 1],
      block: [256, 1, 1],
      dynamicShared: 0,
      params: [
        { kind: 'buffer', type: 'u32', length: 4, bytes: new Uint8Array(16), expect: null, tolerance: 0 },
      ],
    },
    paramBase,
  ).warpInstructions;
}, 3);
say(
  `\nsimulator             ${((executed * 32) / sim / 1e6).toFixed(0)} M thread-instructions/s on an arithmetic loop`,
);

const wall = (args: string[]): number => time(() => spawnSync(process.execPath, args, { cwd: ROOT }), 5);
const file = join(dir, 'saxpy', 'saxpy.sm_80.ptx');
const empty = wall(['-e', '0']);
say(`\ncold start            ${(empty * 1000).toFixed(0)} ms for 'node -e 0'`);
for (const [what, ...args] of [
  ['orrery phases', 'phases'],
  ['orrery opt -O0', 'opt', file, '-O0', '--emit', 'none', '-q'],
  ['orrery opt -O3', 'opt', file, '-O3', '--emit', 'none', '-q'],
  ['orrery run', 'run', join(dir, 'saxpy', 'launch.yaml')],
]) {
  const t = wall([join(ROOT, 'bin', 'orrery.js'), ...args]);
  say(
    `${what.padEnd(22)}${(t * 1000).toFixed(0)} ms${args.includes(file) ? ' on saxpy' : ''}, ${(t / empty).toFixed(2)} times`,
  );
}
