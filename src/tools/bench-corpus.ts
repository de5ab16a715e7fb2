import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ptxTable } from '../cli/optimize/emit.ts';
import { ptxasCommand, ptxasPresent } from '../cli/optimize/ptxas-run.ts';
import { SCRIPT, type Served, type ServerState } from '../cli/server/server-ask.ts';
import { table } from '../cli/terminal/table.ts';
import { countInstructions } from '../engine/journal.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { DiagnosticError } from '../ir/diagnostic.ts';
import { kernelFiles } from '../lab/files.ts';
import { emitPtx } from '../ptx/emit/index.ts';
import { paramBase, readPtx, targetFor, targetOf } from '../read.ts';
import { loadShipped } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { withoutSsa } from '../ssa/program.ts';
import { shippedPlan } from './shipped-plan.ts';

/** Resolution of times that the shell reports, in seconds. */
const TICK = 0.01;

/** The costs of one file, in seconds of user and system time. */
interface Cost {
  readonly file: string;
  /** Cost of a separate process. */
  readonly alone: number;
  /** Cost of the client and of the server that runs the command; null if there is no server. */
  readonly served: number | null;
  /** Cost of ptxas; null if it is not measured. */
  readonly ptxas: number | null;
}

/**
 * Measures the cost of whole files: each in a separate process and by a server, on request compared with ptxas -O3 on the same file; and
 * all in one process from text to text, cold and warm.
 *
 * @param patterns files, folders and patterns of PTX files
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
  // Start a separate server that no one else uses.
  const environment = { ...process.env, XDG_RUNTIME_DIR: folder };
  const serving = await startServer(environment);
  try {
    for (const file of files) {
      const args = [SCRIPT, 'opt', '-O3', '--emit', 'none', file];
      const alone = cpuOf(process.execPath, args, { ...process.env, ORRERY_SERVER: 'off' });
      const served = serving && alone !== null ? await servedCost(args, environment) : null;
      const sm = targetOf(readFileSync(file, 'utf8')) ?? 'sm_75';
      const theirs = ptxas
        ? cpuOf(ptxasCommand(), [`-arch=${sm}`, '-O3', file, '-o', join(folder, 'out.cubin')])
        : null;
      if (alone === null || (ptxas && theirs === null)) refused++;
      else costs.push({ file, alone, served, ptxas: theirs });
    }
  } finally {
    if (serving) cpuOf(process.execPath, [SCRIPT, 'server', 'stop'], environment);
    rmSync(folder, { recursive: true, force: true });
  }
  const sum = (f: (c: Cost) => number): number => costs.reduce((t, c) => t + f(c), 0);
  const left = refused > 0 ? `, ${refused} refused by one of the two and left out` : '';
  say(`corpus                ${costs.length} files${left}`);
  say(
    `one process a file    ${sum((c) => c.alone).toFixed(2)} s of CPU, ${cpuOf(process.execPath, ['-e', '0'])?.toFixed(3)} s of each is node itself`,
  );
  if (serving)
    say(`by a server           ${sum((c) => c.served ?? 0).toFixed(2)} s of CPU, its own and the clients'`);
  if (ptxas && costs.length > 0) {
    say(`ptxas -O3             ${sum((c) => c.ptxas!).toFixed(2)} s of CPU`);
    sayRatios(costs, 'alone', say);
    if (serving) sayRatios(costs, 'served', say);
  }
  await inOneProcess(files, say);
}

/** Prints the ratio of our cost to that of ptxas: the median, and the worst files. */
function sayRatios(costs: readonly Cost[], how: 'alone' | 'served', say: (line: string) => void): void {
  // The shell counts in hundredths of a second, and the startup of Node dominates small files, so ratios are more reliable for files on
  // which ptxas takes longer.
  for (const least of [0, 0.1]) {
    const ratios = costs
      .filter((c) => c.ptxas! >= Math.max(least, TICK) && c[how] !== null)
      .map((c) => ({ ...c, ours: c[how]!, ratio: c[how]! / c.ptxas! }))
      .sort((a, b) => a.ratio - b.ratio);
    if (ratios.length === 0) continue;
    const which = least === 0 ? '' : ` of those that take ptxas ${least} s and more`;
    const name = how === 'alone' ? 'ratio by file       ' : 'ratio by file, served';
    say(
      `${name}  ${ratios[ratios.length >> 1].ratio.toFixed(1)} in the median${which} (${ratios.length} files); the worst:`,
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

/** The status of the first process of a server; undefined if no server runs. */
export function stateOf(environment: NodeJS.ProcessEnv): Served | undefined {
  const r = spawnSync(process.execPath, [SCRIPT, 'server', 'status', '--json'], {
    encoding: 'utf8',
    env: environment,
  });
  return (JSON.parse(r.stdout) as { server: ServerState | null }).server?.processes[0];
}

/** Starts a server and waits until it is warm, for at most 30 seconds. @returns false if it cannot be started */
export async function startServer(environment: NodeJS.ProcessEnv): Promise<boolean> {
  if (cpuOf(process.execPath, [SCRIPT, 'server', 'start'], environment) === null) return false;
  for (let n = 0; n < 300 && stateOf(environment)?.warm !== true; n++) await sleep(100);
  return true;
}

/** Seconds of processor time of a command that a server runs: that of the client plus what the server used meanwhile; null if it fails. */
async function servedCost(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number | null> {
  const before = stateOf(environment);
  const client = cpuOf(process.execPath, args, environment);
  if (client === null || before === undefined) return null;
  // The server counts a command once it has finished the work that follows the answer.
  for (let n = 0; n < 100; n++) {
    const after = stateOf(environment);
    if (after !== undefined && after.commands > before.commands)
      return client + after.seconds - before.seconds;
    await sleep(10);
  }
  return null;
}

/** Measures all files from text to text in this process, twice: cold and warm. */
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

/** Seconds of user and system time of a command, measured by a shell as its child; null if it fails. */
function cpuOf(command: string, args: readonly string[], env = process.env): number | null {
  const r = spawnSync('sh', ['-c', '"$@" >/dev/null 2>&1 || exit 1; times', 'sh', command, ...args], {
    encoding: 'utf8',
    env,
  });
  if (r.status !== 0) return null;
  const children = r.stdout.trim().split('\n').at(-1) ?? '';
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map((m) => 60 * Number(m[1]) + Number(m[2]));
  return seconds[0] + seconds[1];
}
