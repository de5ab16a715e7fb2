// `node dist/tools/lab-docs.js [sm]`: updates src/lab/README.md between its marks: the output of each of its commands, how well our metrics
// rank the test kernels compared with ptxas -O3, and the kernels that deviate most.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ptxTable } from '../cli/optimize/emit.ts';
import { assemble, ptxasVersion, refusal } from '../cli/optimize/ptxas-run.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { loadModules, lowerModule } from '../lab/kernels.ts';
import { Measurer } from '../lab/measure.ts';
import type { Values } from '../lab/metrics.ts';
import { Plans } from '../lab/plans.ts';
import { spearman } from '../lab/statistics.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { DEFAULT_ORDER } from '../spec/specs.ts';

const sm = process.argv[2] ?? 'sm_90';
const version = ptxasVersion();
if (version === null) throw new Error('there is no ptxas on PATH');
const specs = await loadShipped();
const base = { level: 3, sm, order: DEFAULT_ORDER, knobSets: [], set: [], disable: [] };
const plans = new Plans(base, Promise.resolve(specs));
const ptxas = {
  version,
  level: 3,
  assemble: (text: string, arch: string, level: number) => {
    const r = assemble(text, [`-arch=${arch}`, `-O${level}`]);
    return r.cubin === null ? refusal(r.messages) : { functions: r.functions, cubin: r.cubin };
  },
};
const rows: { readonly kernel: string; readonly values: Values }[] = [];
for (const m of await loadModules([`test/kernels/*/*.${sm}.ptx`], ROOT)) {
  const plan = await plans.plan({ name: 'base' }, m.target);
  const input = lowerModule(m, plan);
  const { last } = runPipeline(input.program, plan);
  for (const k of await new Measurer(m, input, { ptxas, table: ptxTable(specs) }).kernels(last, plan))
    if (k.values['ptxas.code-bytes'] > 0) rows.push(k);
}

const OURS = [
  'instructions',
  'code-bytes',
  'weighted',
  'pressure.R',
  'blocks',
  'warp-instructions',
  'cycles',
];
const THEIRS = ['ptxas.code-bytes', 'ptxas.instructions', 'ptxas.registers'];
const both = (a: string, b: string) =>
  rows.filter((r) => r.values[a] !== undefined && r.values[b] !== undefined);
const correlation = (a: string, b: string): string => {
  const known = both(a, b);
  return spearman(
    known.map((r) => r.values[a]),
    known.map((r) => r.values[b]),
  ).toFixed(3);
};

/** Table rows of the kernels whose ratio of two metrics deviates most from the median ratio. */
function worst(a: string, b: string): string[] {
  const known = both(a, b).filter((r) => r.values[a] > 0);
  const logs = known.map((r) => Math.log(r.values[b] / r.values[a]));
  const middle = [...logs].sort((x, y) => x - y)[logs.length >> 1];
  return known
    .map((r, i) => ({ r, off: logs[i] - middle }))
    .sort((x, y) => Math.abs(y.off) - Math.abs(x.off))
    .slice(0, 5)
    .map(
      ({ r, off }) =>
        `| ${r.kernel.replace(/^_Z\d+/, '')} | ${a} ${r.values[a]} | ${b} ${r.values[b]} | ${Math.exp(Math.abs(off)).toFixed(1)} times ${off > 0 ? 'more' : 'less'} than usual |`,
    );
}

const lines = [
  `Rank correlation (Spearman) over ${rows.length} kernels of \`test/kernels\`, ${sm}, -O3, against ptxas ${version.split(' ')[0]} -O3:`,
  '',
  `| ours | ${THEIRS.join(' | ')} |`,
  `|---|${THEIRS.map(() => '---:|').join('')}`,
  ...OURS.map((a) => `| ${a} | ${THEIRS.map((b) => correlation(a, b)).join(' | ')} |`),
  '',
  'Where they mislead, as the ratio of theirs to ours against the ratio of the middle kernel:',
  '',
  '| kernel | ours | ptxas | |',
  '|---|---|---|---|',
  ...worst('code-bytes', 'ptxas.code-bytes'),
  ...worst('pressure.R', 'ptxas.registers'),
];
const page = join(ROOT, 'src', 'lab', 'README.md');
let text = readFileSync(page, 'utf8');

/** Replaces the text between two marks of the page. */
function put(mark: string, body: string): void {
  const [begin, end] = [`<!-- ${mark}: begin -->`, `<!-- ${mark}: end -->`];
  const [at, to] = [text.indexOf(begin), text.indexOf(end)];
  if (at < 0 || to < at) throw new Error(`${page} has lost its mark '${mark}'`);
  text = `${text.slice(0, at + begin.length)}\n\n${body}\n\n${text.slice(to)}`;
}

put('truth', lines.join('\n'));
// Each command precedes the mark for its output. Files that it writes go to a temporary folder.
const folder = mkdtempSync(join(tmpdir(), 'orrery-docs-'));
symlinkSync(join(ROOT, 'test'), join(folder, 'test'));
const orrery = `${process.execPath} ${join(ROOT, 'bin', 'orrery.js')}`;
for (const [, command, mark] of text.matchAll(/```sh\n(.*)\n```\n\n<!-- (shows-\w+): begin -->/g)) {
  const r = spawnSync('sh', ['-c', command.replace(/\bnpx orrery\b/g, orrery)], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  });
  if (r.status !== 0) throw new Error(`${command}: ${r.stderr}`);
  put(mark, `\`\`\`\n${r.stdout.trimEnd()}\n\`\`\``);
}
// The review needs a repository with the specs on `main` and a branch that its commands change.
const git = (...args: string[]) => {
  const r = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  if (r.status !== 0) throw new Error(r.stderr);
};
for (const f of ['pipelines', 'knobs']) cpSync(join(ROOT, f), join(folder, f), { recursive: true });
const budget = 'test/examples/orrery.budget.yaml';
cpSync(join(ROOT, budget), join(folder, 'orrery.budget.yaml'));
git('init', '--quiet', '--initial-branch', 'main');
git('config', 'user.name', 'orrery');
git('config', 'user.email', 'orrery@example.org');
git('add', 'pipelines', 'knobs', 'orrery.budget.yaml');
git('commit', '--quiet', '--message', 'specs');
git('switch', '--quiet', '--create', 'topic');
const steps = /```sh\n([^`]*)\n```\n\n<!-- review: begin -->/.exec(text)![1];
const reviewed = spawnSync('sh', ['-ec', steps.replace(/^npx orrery/m, orrery)], {
  cwd: folder,
  encoding: 'utf8',
  env: { ...process.env, NO_COLOR: '1' },
});
if (reviewed.status !== 2) throw new Error(`the review: ${reviewed.stderr}`);
put('review', `\`\`\`\n${reviewed.stdout.trimEnd()}\n\`\`\``);
put('budget', `\`\`\`yaml\n${readFileSync(join(ROOT, budget), 'utf8').trimEnd()}\n\`\`\``);
rmSync(folder, { recursive: true });
const experiment = 'test/examples/switches.experiment.yaml';
put('experiment', `\`\`\`yaml\n${readFileSync(join(ROOT, experiment), 'utf8').trimEnd()}\n\`\`\``);
writeFileSync(page, text);
