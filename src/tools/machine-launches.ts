import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { cubinOf, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import type { Elf } from '../cubin/elf.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { loadModules, lowerModule } from '../lab/kernels.ts';
import { type Lifted, liftKernel } from '../lift/lift.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { mostShared, paramBase } from '../read.ts';
import { runLaunch } from '../sim/launch.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import { fitLaunch, loadLaunch } from '../spec/node-launch.ts';
import { loadMachine } from '../spec/node-machine.ts';
import { shippedPlan } from './shipped-plan.ts';

/** Columns of the table: the heading, whether our output or the original PTX is compiled, and the level of ptxas. */
export const COLUMNS = [
  { name: '-O0', ours: false, level: 0 },
  { name: '-O1', ours: false, level: 1 },
  { name: '-O3', ours: false, level: 3 },
  { name: 'ours, -O3', ours: true, level: 3 },
] as const;

/**
 * A kernel, with the number of machine instructions that the warps of its launches execute, by column; null if the code cannot be lifted.
 */
export interface LaunchRow {
  readonly kernel: string;
  readonly executed: readonly (number | null)[];
}

const MARK = '<!-- table -->';

/** The table, with a first row of geometric means of the ratios to the column -O3. */
export function launchTable(rows: readonly LaunchRow[]): string {
  const base = COLUMNS.findIndex((c) => !c.ours && c.level === 3);
  const means = COLUMNS.map((_, k) => {
    const logs = rows.flatMap((r) => {
      const [x, y] = [r.executed[k], r.executed[base]];
      return x === null || y === null || y === 0 ? [] : [Math.log(x / y)];
    });
    return logs.length === 0
      ? ''
      : `**${Math.exp(logs.reduce((a, b) => a + b, 0) / logs.length).toFixed(3)}** of ${logs.length}`;
  });
  return [
    `| kernel | ${COLUMNS.map((c) => c.name).join(' | ')} |`,
    `|---|${COLUMNS.map(() => '---:|').join('')}`,
    `| geometric mean over -O3 | ${means.join(' | ')} |`,
    ...rows.map(
      (r) => `| ${[r.kernel, ...r.executed.map((n) => (n === null ? '' : String(n)))].join(' | ')} |`,
    ),
  ].join('\n');
}

function madeOf(text: string, sm: string, level: number): Elf {
  const made = cubinOf(text, [`-arch=${sm}`, `-O${level}`]);
  if (typeof made === 'string') throw new Error(made);
  return made;
}

/** Number of machine instructions that warps executed, from the execution counts of blocks. */
const executedIn = (l: Lifted, blocks: Readonly<Record<number, number>>): number =>
  Object.entries(blocks).reduce((n, [id, count]) => n + count * (l.sizes.get(Number(id)) ?? 0), 0);

async function measured(sm: string): Promise<{ rows: LaunchRow[]; wrong: string[] }> {
  const specs = await loadShipped();
  const plan = await shippedPlan(specs, sm);
  const machine = await loadMachine(sm);
  if (machine === null) throw new Error(`the machine code of ${sm} is not known`);
  const table = new PtxTable(specs.ptx?.data as unknown as PtxDoc);
  const base = paramBase(plan);
  const rows: LaunchRow[] = [];
  const wrong: string[] = [];
  for (const m of await loadModules([`test/kernels/*/*.${sm}.ptx`], ROOT)) {
    const input = lowerModule(m, plan);
    const { last } = runPipeline(input.program, plan, { snapshots: 'ends' });
    const ours = emitPtx(last, { table, paramBase: base, module: input.ptx! }).text;
    const folder = join(ROOT, dirname(m.file));
    const launches = await Promise.all(
      readdirSync(folder)
        .filter((f) => /^launch.*\.yaml$/.test(f))
        .map((f) => loadLaunch(join(folder, f))),
    );
    const codes = COLUMNS.map((c) => madeOf(c.ours ? ours : m.text, sm, c.level));
    for (const kernel of new Set(launches.map((l) => l.kernel))) {
      const own = launches.filter((l) => l.kernel === kernel);
      const executed: (number | null)[] = [];
      for (const [k, elf] of codes.entries()) {
        const lifted = liftKernel(elf, machine, plan.isa, input.program, kernel, base);
        let sum: number | null = lifted.gaps.length > 0 ? null : 0;
        for (const launch of sum === null ? [] : own) {
          await fitLaunch(launch, input.program, mostShared(plan));
          const r = runLaunch(lifted.program, plan.isa, launch, base, { counters: true });
          if (r.status !== 'ok')
            wrong.push(
              `${basename(launch.file)} of ${kernel}, ${COLUMNS[k].name}: ${r.status} ${r.error ?? ''}`,
            );
          sum! += executedIn(lifted, r.counters?.blocks[kernel] ?? {});
        }
        executed.push(sum);
      }
      rows.push({ kernel: `${basename(m.file).split('.')[0]}: ${kernel}`, executed });
    }
  }
  return { rows, wrong };
}

if (process.argv[1]?.endsWith('machine-launches.js') === true) {
  if (!ptxasPresent()) throw new Error('there is no ptxas on PATH');
  const args = process.argv.slice(2);
  const sm = args.find((a) => a.startsWith('sm_')) ?? 'sm_80';
  const { rows, wrong } = await measured(sm);
  for (const w of wrong) console.log(w);
  const text = launchTable(rows);
  if (args.includes('--write')) {
    const page = join(ROOT, 'src', 'lift', 'LAUNCHES.md');
    const before = readFileSync(page, 'utf8');
    const at = before.indexOf(MARK);
    if (at < 0) throw new Error(`${page} has lost its mark`);
    writeFileSync(page, `${before.slice(0, at + MARK.length)}\n\nTarget ${sm}.\n\n${text}\n`);
  } else console.log(text.split('\n').slice(0, 3).join('\n'));
  console.log(`${rows.length} kernels, ${wrong.length} launches wrong`);
  if (wrong.length > 0) process.exitCode = 1;
}
