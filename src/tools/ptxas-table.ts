// `node dist/tools/ptxas-table.js [sm]`: updates src/ptx/emit/README.md between its marks: registers, code size and spills by ptxas for
// every test kernel before and after optimization, and the effect of each rule group on them.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assemble, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { PtxasUse } from '../lab/measure.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { groupsOf, type Plan, type Step } from '../spec/plan.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import { shippedPlan } from './shipped-plan.ts';

const sm = process.argv[2] ?? 'sm_90';
if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
const specs = await loadShipped();
const plan = await shippedPlan(specs, sm);
const table = new PtxTable(specs.ptx?.data as unknown as PtxDoc);
const paramBase = Number(plan.backend.facts['param-base']);

interface Line {
  readonly name: string;
  readonly registers: readonly [number, number];
  readonly code: readonly [number, number];
  readonly spills: readonly [number, number];
}

const dir = join(ROOT, 'test', 'kernels');
const inputs = readdirSync(dir)
  .sort()
  .map((name) => ({ name, file: join(dir, name, `${name}.${sm}.ptx`) }))
  .filter((x) => existsSync(x.file))
  .map(({ name, file }) => {
    const text = readFileSync(file, 'utf8');
    const { module } = parsePtx(text, file);
    const { program } = lowerPtx(module, { isa: plan.isa, paramBase, sm });
    return { name, module, program, original: assembled(name, text) };
  });

function assembled(name: string, text: string): readonly PtxasUse[] {
  const a = assemble(text, [`-arch=${sm}`, '-O3']);
  if (!a.ok) throw new Error(`${name}: ${a.messages}`);
  return a.functions;
}

/** Steps without some rule groups. */
const withoutGroups = <S extends Step>(steps: readonly S[], gone: (group: string) => boolean): S[] =>
  steps.map((s) => {
    if (s.kind === 'rules') return { ...s, groups: s.groups.filter((g) => !gone(g)) };
    return s.kind === 'repeat' ? { ...s, steps: withoutGroups(s.steps, gone) } : s;
  });

/** Measures the original and the optimized version of each kernel, with all rule groups except one. */
function measure(plan: Plan, without: string | null): Line[] {
  const phases = plan.phases.map((p) => ({ ...p, steps: withoutGroups(p.steps, (g) => g === without) }));
  return inputs.flatMap(({ name, module, program, original }) => {
    const last = runPipeline(program, { ...plan, phases }).last;
    const ours = assembled(name, emitPtx(last, { table, paramBase, module }).text);
    // Functions without a separate section are part of the kernels that call them.
    return original.flatMap((x) => {
      const y = ours.find((f) => f.name === x.name);
      if (y === undefined || x.code === 0) return [];
      return [
        {
          name: `${name}: ${x.name}`,
          registers: [x.registers, y.registers],
          code: [x.code, y.code],
          spills: [x.spillLoads + x.spillStores, y.spillLoads + y.spillStores],
        } satisfies Line,
      ];
    });
  });
}

const lines = measure(plan, null);
const mean = (of: (l: Line) => readonly [number, number], lines: readonly Line[]): string =>
  Math.exp(lines.reduce((s, l) => s + Math.log(of(l)[1] / of(l)[0]), 0) / lines.length).toFixed(4);
const same = (l: Line) =>
  l.registers[0] === l.registers[1] && l.code[0] === l.code[1] && l.spills[0] === l.spills[1];
const cell = ([a, b]: readonly [number, number]) => (a === b ? String(a) : `${a} → **${b}**`);
const md = [
  `ptxas 13.0.88, \`-arch=${sm} -O3\`, order ${DEFAULT_ORDER}, ${lines.length} kernels; code in bytes, padding to 128 included.`,
  `Geometric mean of ours over the original: registers **${mean((l) => l.registers, lines)}**, code size **${mean((l) => l.code, lines)}**.`,
  `Equal in all of it: ${lines.filter(same).length}; worse in registers: ${lines.filter((l) => l.registers[1] > l.registers[0]).length}, better: ${lines.filter((l) => l.registers[1] < l.registers[0]).length}; worse in code size: ${lines.filter((l) => l.code[1] > l.code[0]).length}, better: ${lines.filter((l) => l.code[1] < l.code[0]).length}; with more spills: ${lines.filter((l) => l.spills[1] > l.spills[0]).length}.`,
  '',
  '| kernel | registers | code | spills |',
  '|---|---|---|---|',
  ...lines.map((l) => `| ${l.name} | ${cell(l.registers)} | ${cell(l.code)} | ${cell(l.spills)} |`),
];

// The effect of each group: the same without the group.
const groups = [...new Set(plan.phases.flatMap(groupsOf))];
const without = groups.map((g) => {
  const l = measure(plan, g);
  return `| ${g} | ${mean((x) => x.registers, l)} | ${mean((x) => x.code, l)} |`;
});
const none = measure(
  { ...plan, phases: plan.phases.map((p) => ({ ...p, steps: withoutGroups(p.steps, () => true) })) },
  null,
);
const ablation = [
  '| without | registers | code |',
  '|---|---|---|',
  `| nothing: all groups run | ${mean((l) => l.registers, lines)} | ${mean((l) => l.code, lines)} |`,
  ...without,
  `| any rules | ${mean((l) => l.registers, none)} | ${mean((l) => l.code, none)} |`,
];

const page = join(ROOT, 'src', 'ptx', 'emit', 'README.md');
let text = readFileSync(page, 'utf8');
for (const [mark, rows] of [
  ['groups', ablation],
  ['table', md],
] as const) {
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`];
  const [at, to] = [text.indexOf(begin), text.indexOf(end)];
  if (at < 0 || to < at) throw new Error(`${page} has lost its marks`);
  text = `${text.slice(0, at + begin.length)}\n\n${rows.join('\n')}\n\n${text.slice(to)}`;
}
writeFileSync(page, text);
