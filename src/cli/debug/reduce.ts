import { basename, extname, resolve as resolvePath } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { attempt, outcome } from '../../debug/attempt.ts';
import { type Judge, openWorlds, openWorldsAsLongAs, type Subject, type Verdict } from '../../debug/judge.ts';
import { isFault, type Reduced, reduceProgram, sizeOf } from '../../debug/reduce.ts';
import { type ReducedPlan, reducePlan } from '../../debug/reduce-plan.ts';
import { grouped } from '../../ir/counts.ts';
import { fileWord, visible, yamlScalar } from '../../ir/quote.ts';
import { targetOf } from '../../read.ts';
import type { Plan } from '../../spec/plan.ts';
import { type JudgeOptions, judgeOf, judgeWords, withLaunch } from '../check/judges.ts';
import { planWords } from '../command-line.ts';
import { keepInputs, STANDARD_INPUT, writeTogether } from '../input/files.ts';
import { runsForeign } from '../input/foreign-rules.ts';
import { planFor, programFor, readText, sourceOf } from '../input/input.ts';
import { type PlanOptions, planOptionsOf } from '../input/options.ts';
import { Progress } from '../terminal/progress.ts';
import { err, failWith, out, pc } from '../terminal/ui.ts';

export interface ReduceOptions extends PlanOptions, JudgeOptions {
  readonly output?: string;
  readonly plan?: boolean;
  readonly program?: boolean;
  readonly tests?: string;
  readonly json?: boolean;
}

/** Default limit on the number of programs that are tried. A kernel of 300 lines needs some 1,500. */
const TESTS = 20_000;

/** `orrery reduce`: shrinks a plan and a program that fail, as long as they fail in the same way. */
export async function reduce(file: string, asked: ReduceOptions): Promise<void> {
  // The search is for wrong results, so refuted rules run.
  const o = withLaunch({ ...asked, forceRules: 'quiet' as const });
  const most = Number(o.tests ?? TESTS);
  if (!Number.isInteger(most) || most < 1) failWith(`--tests ${o.tests} is not a number of programs`);
  if (file === STANDARD_INPUT && o.output === undefined)
    failWith('standard input has no name from which that of the result is made', 'name it with -o');
  const text = readText(file);
  const plan = await planFor(o, targetOf(text));
  const { program, module } = programFor(file, text, plan);
  const ending = module === null ? '.ori' : '.ptx';
  const output = o.output ?? `${basename(file, extname(file))}.reduced${ending}`;
  const orderFile = `${output.slice(0, output.length - extname(output).length)}.order.yaml`;
  keepInputs([output, orderFile]);
  const judge = await judgeOf(o);
  const subject: Subject = { program, module, plan };
  const run = attempt(subject, { verify: true });
  // A fault outside the phases, such as rules that cannot be read, does not depend on the program, so every reduction would reproduce it.
  if (run.fault.state !== 'good' && run.where === null)
    failWith('the run fails, but in no phase: nothing to reduce', run.fault.text);
  const failure = run.fault.state === 'good' ? await judge.judge(subject, run.last) : run.fault;
  await refuseOthers(failure, subject, judge);

  let tests = 0;
  let interrupted = false;
  const onInterrupt = (): void => {
    interrupted = true;
  };
  // A second interrupt ends the command at once.
  process.once('SIGINT', onInterrupt);
  const limits = { stopped: () => interrupted || tests >= most };
  const failing = {
    failure,
    judge: judge === openWorlds ? await openWorldsAsLongAs(subject, attempt(subject).last) : judge,
    // Yields, so that an interrupt can be handled: a loop that never waits would not receive it.
    before: async () => {
      tests++;
      await turn();
    },
  };
  const progress = new Progress();
  const size = sizeOf(subject);
  let best: Reduced = { text, subject, size, tests: 0 };
  let reducedPlan: ReducedPlan | null = null;
  try {
    if (o.plan !== false)
      reducedPlan = await reducePlan(subject, await sourceOf(o, plan), failing, limits, (t) =>
        progress.update(t),
      );
    const now = { ...subject, plan: reducedPlan?.plan ?? plan };
    if (o.program !== false)
      best = await reduceProgram(now, failing, limits, (what, r) => {
        best = r;
        progress.update(`test ${tests}, ${what}: ${r.size} of ${size} instructions`);
      });
  } finally {
    process.removeListener('SIGINT', onInterrupt);
    progress.done();
  }
  const options = optionsAfter(o, reducedPlan, orderFile);
  const again = commandFor(output, options, o, reducedPlan?.plan ?? plan);
  const comment = module === null ? ';' : '//';
  const last = { ...best.subject, plan: reducedPlan?.plan ?? plan };
  const { kind } = await outcome(last, failing.judge, isFault(failure));
  const header = `${comment} ${visible(kind)}\n${comment} ${visible(again)}\n`;
  const made = reducedPlan?.order ?? null;
  writeTogether([
    ...(made === null ? [] : [[orderFile, orderText(made, failure)] as const]),
    [output, `${header}${best.text}`],
  ]);

  const stopped = interrupted ? 'interrupted' : tests >= most ? 'tests' : null;
  if (o.json === true) {
    out(
      JSON.stringify(
        {
          version: 1,
          judge: judge.what,
          failure: { kind: failure.kind, text: failure.text },
          tests,
          stopped,
          phases: reducedPlan === null ? null : { before: reducedPlan.of, after: reducedPlan.phases },
          instructions: { before: size, after: best.size },
          program: output,
          order: reducedPlan?.order == null ? null : orderFile,
          options,
          command: again,
        },
        null,
        2,
      ),
    );
    return;
  }
  if (stopped !== null)
    err(
      stopped === 'interrupted'
        ? 'interrupted: this is the best so far'
        : `stopped after ${grouped(most)} programs: --tests allows more`,
    );
  out(`${pc.red('bad')}           ${failure.text}`);
  if (reducedPlan !== null)
    out(`phases        ${reducedPlan.of} -> ${pc.bold(String(reducedPlan.phases))} that run something`);
  out(`instructions  ${grouped(size)} -> ${pc.bold(grouped(best.size))}`);
  out(pc.dim(`              ${grouped(tests)} programs tried, judged by ${judge.what}`));
  const order = reducedPlan?.order == null ? '' : ` and ${orderFile}`;
  out(`\nwritten to ${output}${order}, and it still fails:\n  ${again}`);
}

/** Ends the command if there is no failure, or none that depends on the plan. */
async function refuseOthers(failure: Verdict, subject: Subject, judge: Judge): Promise<void> {
  if (failure.state === 'good')
    failWith(
      'the plan is good: nothing to reduce',
      `its result for the file is good by ${judge.what}`,
      '--launch FILE, --command CMD or --ptxas may tell more than --check auto',
    );
  if (failure.state === 'unclear')
    failWith('the result of the plan cannot be judged: nothing to reduce', failure.text);
  const input = await judge.judge(subject, subject.program);
  if (input.state !== 'good')
    failWith(
      'the input is not good before any phase has run: nothing to reduce',
      `by ${judge.what}: ${input.text}`,
    );
}

/** The plan options that reproduce the failure. */
function optionsAfter(o: ReduceOptions, r: ReducedPlan | null, orderFile: string): PlanOptions {
  if (r === null) return planOptionsOf(o);
  const { request } = r;
  const list = (x: readonly string[] | undefined) => (x === undefined || x.length === 0 ? undefined : x);
  return {
    level:
      o.level ??
      (o.recipe !== undefined && (request.recipes ?? []).length === 0 ? String(r.plan.level) : undefined),
    sm: o.sm,
    order: r.order === null ? o.order : orderFile,
    recipe: list(request.recipes),
    nvopt: o.nvopt,
    knobs: list(request.knobSets),
    set: list(request.set),
    disable: list(request.disable),
    rules: list(request.rules),
    forceRules: o.forceRules,
    profile: o.profile,
  };
}

/** A command that fails with the reduced program: `opt --check`, or the command of the judge. */
function commandFor(output: string, options: PlanOptions, o: ReduceOptions, plan: Plan): string {
  const words = [fileWord(output), ...planWords(options, runsForeign(plan))];
  if (o.launch === undefined && o.command === undefined && o.ptxas !== true)
    return `orrery opt ${words.join(' ')} --verify-each --check auto --emit none`;
  return `orrery bisect ${[...words, ...judgeWords(o)].join(' ')}`;
}

/** An order as YAML text. */
function orderText(data: Readonly<Record<string, unknown>>, failure: Verdict): string {
  const lines = [
    `# The fewest phases with which this happens: ${visible(failure.kind)}`,
    'kind: order',
    `title: ${yamlScalar(String(data.title))}`,
  ];
  if (data.extends !== undefined) {
    const from = String(data.extends);
    const path = /\.ya?ml$|[/\\]/.test(from) ? resolvePath(from) : from;
    lines.push(`extends: ${yamlScalar(path)}`, 'edits:');
    for (const e of data.edits as readonly { drop: string }[]) lines.push(`  - { drop: ${e.drop} }`);
  } else {
    lines.push('phases:');
    for (const id of data.phases as readonly string[]) lines.push(`  - ${id}`);
  }
  return `${lines.join('\n')}\n`;
}
