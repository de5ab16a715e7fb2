import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Program } from '../ir/program.ts';
import { mostShared, paramBase, readPtx } from '../read.ts';
import { expectsAnything, judging, runLaunch } from '../sim/launch.ts';
import { sameOpenWorld } from '../sim/open-world.ts';
import { fitLaunch, loadLaunch } from '../spec/node-launch.ts';
import type { Plan } from '../spec/plan.ts';
import { grouped, Progress, pc } from './ui.ts';

/** What a check found. */
export interface Verdict {
  readonly ok: boolean;
  readonly text: string;
}

/** What `--check` or `--check-each` found. */
export interface Check extends Verdict {
  /** As it was asked for; `after PHASE` and `each` with `--check-each`. */
  readonly check: string;
}

/** Compares two programs in an open world, every kernel. */
export function checkOpen(before: Program, after: Program, plan: Plan): Verdict {
  const progress = new Progress();
  const kernels = before.functions.filter((f) => f.kind === 'entry');
  const lines: string[] = [];
  let ok = true;
  if (kernels.length === 0)
    return { ok: true, text: `${pc.yellow('not checked')}: there is no kernel to run` };
  let partial = 0;
  let raced = 0;
  let executed = 0;
  const limits = plan.backend.facts.limits as { 'threads-per-sm'?: number } | undefined;
  for (const k of kernels) {
    progress.update(`checking ${k.name}`);
    const r = sameOpenWorld(before, after, k.name, paramBase(plan), {
      threadsPerSm: limits?.['threads-per-sm'],
    });
    executed += r.executed;
    if (r.partial) partial++;
    if (r.raced) raced++;
    if (!r.same) {
      ok = false;
      lines.push(`  ${k.name}: ${r.differences[0]}`);
    }
  }
  progress.done();
  const notes = [
    ...(partial > 0 ? [`${partial} compared only as far as the budget went`] : []),
    ...(raced > 0
      ? [
          `${raced} compared with fewer threads or one lane at a time: what they do depends on the order of threads`,
        ]
      : []),
  ];
  const head = ok
    ? `${pc.green('equal')}: ${kernels.length} kernel${kernels.length === 1 ? '' : 's'} left the same memory in open worlds (${grouped(executed)} warp instructions${notes.map((n) => `; ${n}`).join('')})`
    : `${pc.red('DIFFERENT')}: the optimized program does something else`;
  return { ok, text: [head, ...lines].join('\n') };
}

/**
 * Checks a result, and then the PTX that is written for it, which has no other judge.
 *
 * @param how `auto`, or the path of a launch
 * @param ptx what is written; '' if that is no PTX
 */
export async function checkResult(
  how: string,
  before: Program,
  after: Program,
  ptx: string,
  plan: Plan,
): Promise<Verdict> {
  const check = (program: Program): Verdict | Promise<Verdict> =>
    how === 'auto' ? checkOpen(before, program, plan) : checkLaunch(how, before, program, plan);
  const found = await check(after);
  if (!found.ok || ptx === '') return found;
  let written: Program;
  try {
    written = readPtx(ptx, plan, before.name).program;
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    const [{ message, line }] = e.diagnostics;
    return {
      ok: false,
      text: `${pc.red('WRONG')}: the PTX that is written is no PTX: line ${line}: ${message}`,
    };
  }
  const again = await check(written);
  return again.ok ? found : { ok: false, text: `as written in PTX: ${again.text}` };
}

/** Characters of output that a verdict shows. */
const SHOWN = 60;

/** Runs a launch on a program, and compares with what the launch expects; if it expects nothing, with what the program gave before. */
export async function checkLaunch(
  path: string,
  before: Program,
  after: Program,
  plan: Plan,
): Promise<Verdict> {
  const loaded = await loadLaunch(path);
  await fitLaunch(loaded, after, mostShared(plan));
  const judge = judging(loaded, before, plan.isa, paramBase(plan));
  if ('failed' in judge)
    return {
      ok: false,
      text: `${pc.red('not checked')}: ${loaded.file} expects nothing, and ${judge.failed}`,
    };
  const { launch } = judge;
  const r = runLaunch(after, plan.isa, launch, paramBase(plan));
  if (r.status === 'ok' && judge.output !== null && r.output !== judge.output)
    return {
      ok: false,
      text: `${pc.red('WRONG')}: ${loaded.file}: it prints ${JSON.stringify(r.output.slice(0, SHOWN))}, and printed ${JSON.stringify(judge.output.slice(0, SHOWN))} before`,
    };
  if (r.status === 'ok') {
    const what = expectsAnything(loaded) ? 'it expects' : 'it gave before; it expects nothing itself';
    return {
      ok: true,
      text: `${pc.green('right')}: ${loaded.file} gives what ${what} (${grouped(r.warpInstructions)} warp instructions)`,
    };
  }
  return {
    ok: false,
    text: `${pc.red('WRONG')}: ${loaded.file}: ${r.error ?? `${r.mismatchCount} values differ; parameter ${r.mismatches[0].param}[${r.mismatches[0].index}] is ${r.mismatches[0].got}, expected ${r.mismatches[0].expected}`}`,
  };
}
