import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runPipeline } from '../../engine/pipeline.ts';
import { grouped } from '../../ir/counts.ts';
import { fileWord } from '../../ir/quote.ts';
import { paramBase, targetOf } from '../../read.ts';
import { runLaunch } from '../../sim/launch.ts';
import { ROOT, shownPath } from '../../spec/node.ts';
import { loadLaunch } from '../../spec/node-launch.ts';
import { checkOpen } from '../check/checks.ts';
import { planFor, programFor, readText } from '../input/input.ts';
import { codeOf } from '../machine/asm.ts';
import { machineRunner } from '../machine/machine-runner.ts';
import { CliExit, columnsOf, duration, err, out, pc } from '../terminal/ui.ts';
import { changedPhases, classTable } from './report.ts';

/** The kernel of the tour. */
const KERNEL = 'interpreter';

/** Limit on the warp instructions of the launch as machine code. */
const MOST_INSTRUCTIONS = 10_000_000;

/** `npm start`: a tour with one bundled kernel. */
export async function start(): Promise<void> {
  const dir = join(ROOT, 'test', 'kernels', KERNEL);
  const launchFile = join(dir, 'launch.yaml');
  if (!existsSync(launchFile)) {
    err(`the bundled kernel ${shownPath(dir)} is missing`);
    throw new CliExit(1);
  }
  const launch = await loadLaunch(launchFile);
  const text = readText(launch.modulePath);
  const plan = await planFor({ level: '3' }, targetOf(text));
  const { program } = programFor(shownPath(launch.modulePath), text, plan);
  const began = performance.now();
  const journal = runPipeline(program, plan, { verify: true });
  const took = performance.now() - began;
  const phases = journal.records.filter((r) => r.outcome === 'ran').length;
  const bound = plan.phases.filter((p) => p.steps.length > 0).length;
  out(`${pc.bold('orrery')} optimizes ${pc.cyan(shownPath(launch.modulePath))} for ${plan.sm} at -O3\n`);
  out(
    `${plan.phases.length} phases in the plan, ${bound} with a pass bound, ${phases} ran, each result verified, in ${duration(took)}\n`,
  );
  out(classTable(program, journal.last));
  out('');
  out(changedPhases(journal, columnsOf(process.stdout)));
  out('');
  const before = runLaunch(program, plan.isa, launch, paramBase(plan));
  const after = runLaunch(journal.last, plan.isa, launch, paramBase(plan));
  const say = (name: string, r: typeof before) =>
    out(
      `${r.status === 'ok' ? pc.green('right') : pc.red(r.status)}  ${name}: ${grouped(r.warpInstructions)} warp instructions in the simulator${r.error === null ? '' : `, ${r.error}`}`,
    );
  say('as lowered', before);
  say('optimized ', after);
  const made = await codeOf(shownPath(launch.modulePath), text, { level: '3' });
  const ran = await machineRunner()({
    cubin: made.cubin,
    target: plan.sm,
    input: program,
    plan: made.plan,
    launch,
    budget: MOST_INSTRUCTIONS,
  });
  const isRight = ran !== null && ran.why === '';
  const [{ code }] = made.kernels;
  const figures = `${grouped(ran?.executed ?? 0)} machine instructions, ${code.registers} registers`;
  const word = isRight ? pc.green('right') : pc.red('wrong');
  out(`${word}  as machine code (orrery asm): ${figures}${isRight ? '' : `, ${ran?.why ?? 'not run'}`}`);
  const open = checkOpen(program, journal.last, plan);
  out(open.text);
  out(
    `\nNext:  npx orrery opt ${fileWord(shownPath(launch.modulePath))} --print-changed --emit none\n` +
      '       npx orrery phases\n       npx orrery --help',
  );
  if (before.status !== 'ok' || after.status !== 'ok' || !isRight || !open.ok) throw new CliExit(1);
}
