// `node dist/tools/rules-table.js`: writes pipelines/rules/KERNELS.md, the effect of the rules on every test kernel, next to the number of
// machine instructions that ptxas -O1 generates for the same kernel.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assemble, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { runPipeline } from '../engine/pipeline.ts';
import type { Fn, Program } from '../ir/program.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { groupsOf } from '../spec/plan.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';
import { shippedPlan } from './shipped-plan.ts';

const SM = 'sm_80';
if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
const plan = await shippedPlan(await loadShipped(), SM);
const count = (f: Fn): number => f.blocks.reduce((n, b) => n + b.ins.length, 0);
const size = (p: Program, name: string): number => count(p.functions.find((f) => f.name === name)!);

interface Line {
  readonly name: string;
  readonly before: number;
  readonly after: number;
  readonly sass: number;
  readonly rules: string;
}
const lines: Line[] = [];
const total = new Map<string, number>();
const dir = join(ROOT, 'test', 'kernels');
for (const name of readdirSync(dir).sort()) {
  const file = join(dir, name, `${name}.${SM}.ptx`);
  if (!existsSync(file)) continue;
  const text = readFileSync(file, 'utf8');
  const { program } = lowerPtx(parsePtx(text, file).module, {
    isa: plan.isa,
    paramBase: Number(plan.backend.facts['param-base']),
    sm: SM,
  });
  const hits = new Map<string, Map<string, number>>();
  // The number of instructions that phases with rules add or remove; changes by other phases are not counted.
  const change = new Map<string, number>();
  let before = program;
  const { last } = runPipeline(program, plan, {
    onRuleHit: (h) => {
      const own = hits.get(h.fn) ?? new Map<string, number>();
      own.set(h.rule.id, (own.get(h.rule.id) ?? 0) + 1);
      hits.set(h.fn, own);
      total.set(h.rule.id, (total.get(h.rule.id) ?? 0) + 1);
    },
    onPhase: (r, was) => {
      before = was;
      if (groupsOf(r.phase).length > 0)
        for (const f of program.functions)
          change.set(f.name, (change.get(f.name) ?? 0) + size(r.program, f.name) - size(before, f.name));
    },
  });
  const made = assemble(text, [`-arch=${SM}`, '-O1']);
  if (!made.ok) throw new Error(`${name}: ${made.messages}`);
  for (const u of made.functions) {
    const f = last.functions.find((x) => x.name === u.name);
    if (f === undefined || u.instructions === 0) continue;
    const top = [...(hits.get(u.name) ?? [])].sort((a, b) => b[1] - a[1]).slice(0, 3);
    const after = count(f);
    lines.push({
      name: `${name}: ${u.name}`,
      before: after - (change.get(u.name) ?? 0),
      after,
      sass: u.instructions,
      rules: top.map(([id, n]) => `${id} ${n}`).join(', '),
    });
  }
}
const mean = (of: (l: Line) => number): string =>
  Math.exp(lines.reduce((s, l) => s + Math.log(of(l)), 0) / lines.length).toFixed(3);
const top = [...total].sort((a, b) => b[1] - a[1]).slice(0, 20);
writeFileSync(
  join(ROOT, 'pipelines/rules/KERNELS.md'),
  [
    '# What the rules do to the test kernels',
    '',
    `Made by \`npm run rules-table\`: Ori instructions without and with the rule phases of the order ${DEFAULT_ORDER}, -O3 ${SM}, and the machine instructions that ptxas 13.0.88 \`-O1\` makes of the same PTX (text section size / 16, without the padding at its end). Ori still has pseudo instructions that become several machine instructions (divisions, 64-bit operations), and moves and address parts that become none, so the columns show a direction, not a race.`,
    '',
    `${lines.length} kernels. Geometric means: after / before **${mean((l) => l.after / l.before)}**, before / SASS ${mean((l) => l.before / l.sass)}, after / SASS ${mean((l) => l.after / l.sass)}.`,
    '',
    `Rules that fired most: ${top.map(([id, n]) => `${id} ${n}`).join(', ')}.`,
    '',
    '| kernel | Ori before | Ori after | SASS -O1 | rules that did most |',
    '|---|---|---|---|---|',
    ...lines.map((l) => `| ${l.name} | ${l.before} | ${l.after} | ${l.sass} | ${l.rules} |`),
    '',
  ].join('\n'),
);
