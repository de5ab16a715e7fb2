import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { inexactness } from '../../engine/inexact.ts';
import { counted, grouped } from '../../ir/counts.ts';
import { DiagnosticError, nearest } from '../../ir/diagnostic.ts';
import { enumerated } from '../../ir/listed.ts';
import type { Program } from '../../ir/program.ts';
import { EFFORTS, type EffortName } from '../../judge/effort.ts';
import { type Judgement, judgeKernel } from '../../judge/judge.ts';
import { equalWhereRun, percentRun } from '../../judge/reached.ts';
import { isLaunchFile } from '../../lab/files.ts';
import { mostShared, paramBase, readPtx } from '../../read.ts';
import { expectsAnything, judging, runLaunch, toleranceText } from '../../sim/launch.ts';
import { ROOT } from '../../spec/node-cache.ts';
import { fitLaunch, loadLaunch } from '../../spec/node-launch.ts';
import type { Plan } from '../../spec/plan.ts';
import { callersOf, uncalled, withCallers } from '../debug/callers.ts';
import { Progress } from '../terminal/progress.ts';
import { millisecondsOf } from '../terminal/times.ts';
import { failWith, pc } from '../terminal/ui.ts';
import type { Proof } from './proof.ts';

/** Values of `--check` besides a launch file. */
export const CHECK_WORDS = ['auto', 'thorough', 'prove', 'machine'] as const;

/** Ends the command if `--check` names neither one of these words nor a launch file. */
export function checkWord(how: string): void {
  if (isCheckWord(how) || isLaunchFile(how) || existsSync(how)) return;
  const words = [...CHECK_WORDS.map((w) => `'${w}'`), 'a launch file (.yaml)'];
  failWith(
    `--check ${how} is not known`,
    `it is ${enumerated(words, 'or')}`,
    ...nearest(how, CHECK_WORDS).map((w) => `did you mean '${w}'?`),
  );
}

/** Whether the value is one of the words and not an existing file. */
export const isCheckWord = (how: string): boolean => (CHECK_WORDS as readonly string[]).includes(how);

/** Result of a check. */
export interface Verdict {
  readonly ok: boolean;
  readonly text: string;
  /** If the program is equal in open worlds but did not run completely: percentage of its blocks that ran. */
  readonly ran?: number;
  /** Whether runs in open worlds ended at a limit before all was compared. */
  readonly stopped?: boolean;
}

/** Result of `--check` or `--check-each`. */
export interface Check extends Verdict {
  /** The value of `--check` as given; `after PHASE` and `each` for `--check-each`. */
  readonly check: string;
  /** For `prove`: the proof, region by region. */
  readonly proof?: Omit<Proof, 'refuted'>;
  /** With `prove`: everything is proved, and nothing was run. */
  readonly unrun?: boolean;
}

/** Effort of `--check` without a launch: `auto` tries fewer worlds. */
const EFFORT_OF: Readonly<Record<string, EffortName>> = { auto: 'medium', thorough: 'high' };

/** Limits on a comparison in open worlds. */
export interface CheckLimits {
  readonly effort?: EffortName;
  /** Milliseconds for the whole program; whatever is left then is not compared. */
  readonly milliseconds?: number;
  /** Maximum bytes of memory of the process; whatever is left then is not compared. */
  readonly bytes?: number;
}

const MEMORY: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9 };

/**
 * Parses the limits of `--check-limit`: a time (`500ms`, `10s`, `2min`), or memory of the process (`400MB`, `2GB`). Anything else ends the
 * command.
 */
export function limitsOf(given: readonly string[] = []): CheckLimits {
  const out: { milliseconds?: number; bytes?: number } = {};
  for (const text of given) {
    const time = millisecondsOf(text);
    const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(MB|GB)$/.exec(text) ?? [];
    const bytes = Number(number) * MEMORY[unit];
    if (time !== null) out.milliseconds = time;
    else if (bytes > 0) out.bytes = bytes;
    else
      failWith(
        `--check-limit ${text} is neither a time nor an amount of memory`,
        'such as 500ms, 10s, 2min, 400MB or 2GB',
      );
  }
  return out;
}

const { setCheckFlags } = createRequire(import.meta.url)(join(ROOT, 'bin', 'compile-late.cjs')) as {
  setCheckFlags(): void;
};

/** Compares two programs in open worlds: every kernel, and every function that none of them calls. */
export function checkOpen(before: Program, after: Program, plan: Plan, limits: CheckLimits = {}): Verdict {
  setCheckFlags();
  const progress = new Progress();
  const { effort = 'medium', milliseconds, bytes = Number.POSITIVE_INFINITY } = limits;
  const end = milliseconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + milliseconds;
  const given = uncalled(before).filter((f) => after.functions.some((g) => g.name === f.name));
  const callers = callersOf(before, given, plan);
  const [from, to] = [withCallers(before, callers), withCallers(after, callers)];
  const kernels = from.functions.filter((f) => f.kind === 'entry');
  if (kernels.length === 0)
    return { ok: true, text: `${pc.yellow('not checked')}: there is no kernel to run` };
  const { 'threads-per-sm': threadsPerSm } = (plan.backend.facts.limits ?? {}) as {
    'threads-per-sm'?: number;
  };
  const found = new Summary();
  const instructions = kernels.reduce((n, k) => n + k.blocks.reduce((m, b) => m + b.ins.length, 0), 0);
  const allowed = Math.max(EFFORTS[effort].module, EFFORTS[effort].perInstruction * instructions);
  const inexact = inexactness(plan, from).length > 0;
  for (const k of kernels) {
    const name = k.name.replace(/^call_of_/, '');
    const isLate = found.executed > allowed;
    const r = judgeKernel(from, to, k.name, paramBase(plan), {
      threadsPerSm,
      inexact,
      effort: isLate ? 'low' : effort,
      share: EFFORTS[effort].module / (2 * kernels.length),
      goOn: (world) => {
        progress.update(`checking ${name}: ${world}`);
        return (
          performance.now() < end && (bytes === Number.POSITIVE_INFINITY || process.memoryUsage().rss < bytes)
        );
      },
    });
    found.add(name, isLate ? { ...r, left: true } : r);
  }
  progress.done();
  return found.verdict(kernels.length - callers.length, callers.length);
}

/** Collects the judgements of all kernels of a program. */
class Summary {
  private readonly lines: string[] = [];
  private partial = 0;
  private raced = 0;
  private approximate = 0;
  private left = 0;
  executed = 0;
  private readonly missed: string[] = [];
  private readonly reached = { blocks: 0, allBlocks: 0, ways: 0, allWays: 0 };

  add(name: string, r: Judgement): void {
    this.executed += r.executed;
    if (r.partial) this.partial++;
    if (r.raced) this.raced++;
    if (r.approximate) this.approximate++;
    if (r.left) this.left++;
    if (!r.same) this.lines.push(`  ${name}: ${r.differences[0]}`);
    const { reached } = r;
    for (const key of ['blocks', 'allBlocks', 'ways', 'allWays'] as const) this.reached[key] += reached[key];
    const unreached = reached.allBlocks - reached.blocks;
    if (unreached > 0) {
      const at = reached.unreached.length > 0 ? `, at line ${reached.unreached.join(', ')}` : '';
      this.missed.push(`  ${name}: ${counted(unreached, 'block')} of ${reached.allBlocks} never ran${at}`);
    }
  }

  verdict(kernels: number, functions: number): Verdict {
    if (this.lines.length > 0)
      return {
        ok: false,
        text: [`${pc.red('DIFFERENT')}: the optimized program does something else`, ...this.lines].join('\n'),
      };
    const { blocks, allBlocks, ways, allWays } = this.reached;
    const notes = [
      `${grouped(this.executed)} warp instructions`,
      ...(this.partial > 0 ? [`${this.partial} compared only as far as the budget went`] : []),
      ...(this.left > 0 ? [`${this.left} not in all worlds: a limit came first`] : []),
      ...(this.approximate > 0 ? [`${this.approximate} within the tolerance of fused products`] : []),
      ...(this.raced > 0
        ? [
            `${this.raced} compared with fewer threads or one lane at a time: their behaviour depends on the order of threads`,
          ]
        : []),
      ...(ways < allWays ? [`${ways} of ${allWays} ways of branches taken`] : []),
    ];
    const what = [
      ...(kernels > 0 ? [counted(kernels, 'kernel')] : []),
      ...(functions > 0 ? [counted(functions, 'function')] : []),
    ].join(' and ');
    const head =
      blocks === allBlocks ? pc.green('equal') : pc.yellow(equalWhereRun(percentRun(this.reached)));
    return {
      ok: true,
      ...(blocks < allBlocks && { ran: percentRun(this.reached) }),
      ...(this.partial + this.left > 0 && { stopped: true }),
      text: [
        `${head}: ${what} left the same memory in open worlds (${notes.join('; ')})`,
        ...this.missed,
      ].join('\n'),
    };
  }
}

/**
 * Checks a result, by running the PTX that is written for it, if any.
 *
 * @param how `auto`, `thorough`, or the path of a launch
 * @param ptx the written text; '' if the output is not PTX
 */
export async function checkResult(
  how: string,
  before: Program,
  after: Program,
  ptx: string,
  plan: Plan,
  limits: CheckLimits = {},
): Promise<Verdict> {
  const effort = EFFORT_OF[how];
  const check = (program: Program): Verdict | Promise<Verdict> =>
    effort === undefined
      ? checkLaunch(how, before, program, plan)
      : checkOpen(before, program, plan, { effort, ...limits });
  if (ptx === '') return check(after);
  let written: Program;
  try {
    written = readPtx(ptx, plan, before.name).program;
  } catch (e) {
    if (!(e instanceof DiagnosticError)) throw e;
    const [{ message, line }] = e.diagnostics;
    return {
      ok: false,
      text: `${pc.red('WRONG')}: the written PTX is invalid: line ${line}: ${message}`,
    };
  }
  const found = await check(written);
  if (found.ok) return found;
  // Find out which one is wrong: the optimizer or the PTX writer.
  const own = await check(after);
  return own.ok ? { ok: false, text: `as written in PTX: ${found.text}` } : own;
}

/** Maximum number of characters of output that a verdict shows. */
const SHOWN = 60;

/**
 * Runs a launch on a program and compares the results with those that the launch expects; if it expects nothing, with the results before.
 */
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
    const how = `(${grouped(r.warpInstructions)} warp instructions)${toleranceText(loaded)}`;
    return {
      ok: true,
      text: `${pc.green('right')}: ${loaded.file} gives what ${what} ${how}`,
    };
  }
  return {
    ok: false,
    text: `${pc.red('WRONG')}: ${loaded.file}: ${r.error ?? `${r.mismatchCount} values differ; parameter ${r.mismatches[0].param}[${r.mismatches[0].index}] is ${r.mismatches[0].got}, expected ${r.mismatches[0].expected}`}`,
  };
}
