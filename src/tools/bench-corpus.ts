import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ptxTable } from '../cli/emit.ts';
import { ptxasCommand, ptxasPresent } from '../cli/ptxas-run.ts';
import { table } from '../cli/ui.ts';
import { countInstructions } from '../engine/journal.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import { kernelFiles } from '../lab/files.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { paramBase, readPtx, targetFor, targetOf } from '../read.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { withoutSsa } from '../ssa/program.ts';
import { shippedPlan } from './shipped-plan.ts';

/** Resolution of the shell's times, in seconds. */
const TICK = 0.01;

/** The cost of one file, in seconds of user and system time of a whole process. */
interface Cost {
  readonly file: string;
  readonly ours: number;
  readonly ptxas: number | null;
}

/**
 * Costs of whole files: each in a separate process, compared with ptxas -O3 on the same file on request, and all in
 * one process from text to text, cold and warm.
 *
 * @param patterns files, folders and patterns of PTX
 */
export async function benchCorpus(
  patterns: readonly string[],
  withPtxas: boolean,
  say: (line: string) => void,
): Promise<void> {
  const files = kernelFiles(patterns).filter((f) => f.endsWith('.ptx'));
  const ptxas = withPtxas && ptxasPresent();
  if (withPtxas && !ptxas) say('there is no ptxas on PATH: only ours is measured');
  const folder = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const costs: Cost[] = [];
  let refused = 0;
  try {
    for (const file of files) {
      const ours = cpuOf(process.execPath, [
        join(ROOT, 'bin', 'orrery.js'),
        'opt',
        '-O3',
        '--emit',
        'none',
        file,
      ]);
      const sm = targetOf(readFileSync(file, 'utf8')) ?? 'sm_75';
      const theirs = ptxas
        ? cpuOf(ptxasCommand(), [`-arch=${sm}`, '-O3', file, '-o', join(folder, 'out.cubin')])
        : null;
      if (ours === null || (ptxas && theirs === null)) refused++;
      else costs.push({ file, ours, ptxas: theirs });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const sum = (f: (c: Cost) => number): number => costs.reduce((t, c) => t + f(c), 0);
  const left = refused > 0 ? `, ${refused} refused by one of the two and left out` : '';
  say(`corpus                ${costs.length} files${left}`);
  say(
    `one process a file    ${sum((c) => c.ours).toFixed(2)} s of CPU, ${cpuOf(process.execPath, ['-e', '0'])?.toFixed(3)} s of each is node itself`,
  );
  if (ptxas && costs.length > 0) {
    say(`ptxas -O3             ${sum((c) => c.ptxas!).toFixed(2)} s of CPU`);
    // The shell counts in hundredths of a second, and node's startup dominates small files, so files that take ptxas
    // longer tell more.
    for (const least of [0, 0.1]) {
      const ratios = costs
        .filter((c) => c.ptxas! >= Math.max(least, TICK))
        .map((c) => ({ ...c, ratio: c.ours / c.ptxas! }))
        .sort((a, b) => a.ratio - b.ratio);
      if (ratios.length === 0) continue;
      const which = least === 0 ? '' : ` of those that take ptxas ${least} s and more`;
      say(
        `ratio by file         ${ratios[ratios.length >> 1].ratio.toFixed(1)} in the median${which} (${ratios.length} files); the worst:`,
      );
      const rows = ratios
        .slice(-10)
        .reverse()
        .map((c) => [
          `  ${basename(c.file)}`,
          c.ratio.toFixed(1),
          `${c.ours.toFixed(2)} s`,
          `${c.ptxas!.toFixed(2)} s`,
        ]);
      say(table([['  file', 'ratio', 'ours', 'ptxas'], ...rows], 'lrrr'));
    }
  }
  await inOneProcess(files, say);
}

/** All files from text to text in this process, twice. */
async function inOneProcess(files: readonly string[], say: (line: string) => void): Promise<void> {
  const specs = await loadShipped();
  const table = ptxTable(specs);
  const plans = new Map<string, Plan>();
  for (const turn of ['cold', 'warm']) {
    let instructions = 0;
    const start = process.cpuUsage();
    for (const file of files) {
      const text = readFileSync(file, 'utf8');
      const { sm } = targetFor(specs, targetOf(text) ?? 'sm_75');
      let plan = plans.get(sm);
      if (plan === undefined) {
        plan = await shippedPlan(specs, sm);
        plans.set(sm, plan);
      }
      try {
        const { program, module } = readPtx(text, plan, file);
        instructions += countInstructions(program);
        const { last } = runPipeline(program, plan);
        emitPtx(withoutSsa(last, plan.isa), {
          table,
          paramBase: paramBase(plan),
          module,
          target: null,
        });
      } catch (e) {
        if (!(e instanceof DiagnosticError)) throw e;
      }
    }
    const { user, system } = process.cpuUsage(start);
    const seconds = (user + system) / 1e6;
    say(
      `in one process, ${turn}  ${seconds.toFixed(2)} s of CPU, ${Math.round(instructions / seconds).toLocaleString('en')} instructions/s from PTX to PTX (${instructions.toLocaleString('en')})`,
    );
  }
}

/** Seconds of user and system time of a command, null if it fails. The shell knows the times of its children. */
function cpuOf(command: string, args: readonly string[]): number | null {
  const r = spawnSync('sh', ['-c', '"$@" >/dev/null 2>&1 || exit 1; times', 'sh', command, ...args], {
    encoding: 'utf8',
  });
  if (r.status !== 0) return null;
  const children = r.stdout.trim().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map((m) => 60 * Number(m[1]) + Number(m[2]));
  return seconds[0] + seconds[1];
}
