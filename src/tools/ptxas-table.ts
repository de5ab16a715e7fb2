// `node dist/tools/ptxas-table.js [sm]`: what ptxas makes of every test kernel before and after, as the table of
// src/ptx/emit/README.md, which is rewritten between its marks.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assemble, ptxasPresent } from '../cli/ptxas-run.ts';
import { host, runPipeline } from '../engine/pipeline.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { lowerPtx } from '../ptx/lower/index.ts';
import { parsePtx } from '../ptx/parse.ts';
import { loadShipped, makePlan, ROOT } from '../spec/node.ts';

const sm = process.argv[2] ?? 'sm_90';
if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
const specs = await loadShipped();
const { plan } = await makePlan(
  { level: 3, sm, order: 'binary', recipe: null, knobSets: [], set: [], disable: [] },
  host,
  specs,
);
if (plan === null) throw new Error('the shipped plan does not resolve');
const table = new PtxTable(specs.ptx?.data as unknown as PtxDoc);
const paramBase = Number(plan.backend.facts['param-base']);

interface Line {
  readonly name: string;
  readonly registers: readonly [number, number];
  readonly code: readonly [number, number];
  readonly spills: readonly [number, number];
}

const lines: Line[] = [];
const dir = join(ROOT, 'test', 'kernels');
for (const name of readdirSync(dir).sort()) {
  const file = join(dir, name, `${name}.${sm}.ptx`);
  if (!existsSync(file)) continue;
  const text = readFileSync(file, 'utf8');
  const { module } = parsePtx(text, file);
  const { program } = lowerPtx(module, { isa: plan.isa, paramBase, sm });
  const out = emitPtx(runPipeline(program, plan).last, { table, paramBase, module }).text;
  const [a, b] = [text, out].map((t) => assemble(t, [`-arch=${sm}`, '-O3']));
  if (!a.ok || !b.ok) throw new Error(`${name}: ${a.ok ? b.said : a.said}`);
  for (const x of a.functions) {
    const y = b.functions.find((f) => f.name === x.name);
    // Functions without a section of their own are part of the kernels that call them.
    if (y === undefined || x.code === 0) continue;
    lines.push({
      name: `${name}: ${x.name}`,
      registers: [x.registers, y.registers],
      code: [x.code, y.code],
      spills: [x.spillLoads + x.spillStores, y.spillLoads + y.spillStores],
    });
  }
}

const mean = (of: (l: Line) => readonly [number, number]): string =>
  Math.exp(lines.reduce((s, l) => s + Math.log(of(l)[1] / of(l)[0]), 0) / lines.length).toFixed(4);
const same = (l: Line) =>
  l.registers[0] === l.registers[1] && l.code[0] === l.code[1] && l.spills[0] === l.spills[1];
const cell = ([a, b]: readonly [number, number]) => (a === b ? String(a) : `${a} → **${b}**`);
const md = [
  `ptxas 13.0.88, \`-arch=${sm} -O3\`, order binary, ${lines.length} kernels; code in bytes, padding to 128 included.`,
  `Geometric mean of ours over the original: registers **${mean((l) => l.registers)}**, code size **${mean((l) => l.code)}**.`,
  `Equal in all of it: ${lines.filter(same).length}; worse in registers: ${lines.filter((l) => l.registers[1] > l.registers[0]).length}, better: ${lines.filter((l) => l.registers[1] < l.registers[0]).length}; worse in code size: ${lines.filter((l) => l.code[1] > l.code[0]).length}, better: ${lines.filter((l) => l.code[1] < l.code[0]).length}; with more spills: ${lines.filter((l) => l.spills[1] > l.spills[0]).length}.`,
  '',
  '| kernel | registers | code | spills |',
  '|---|---|---|---|',
  ...lines.map((l) => `| ${l.name} | ${cell(l.registers)} | ${cell(l.code)} | ${cell(l.spills)} |`),
];
const page = join(ROOT, 'src', 'ptx', 'emit', 'README.md');
const [begin, end] = ['<!-- table: begin -->', '<!-- table: end -->'];
const text = readFileSync(page, 'utf8');
const [at, to] = [text.indexOf(begin), text.indexOf(end)];
if (at < 0 || to < at) throw new Error(`${page} has lost its marks`);
writeFileSync(page, `${text.slice(0, at + begin.length)}\n${md.join('\n')}\n${text.slice(to)}`);
