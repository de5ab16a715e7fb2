import { type Finding, type NoFinding, bisect as search, workersOf } from '../../debug/bisect.ts';
import type { Judge, Subject } from '../../debug/judge.ts';
import { grouped } from '../../ir/counts.ts';
import { firstNames } from '../../ir/listed.ts';
import { type Fn, sourceOf } from '../../ir/program.ts';
import { fileWord, shellWord } from '../../ir/quote.ts';
import { printFn, printInstr } from '../../ir/text.ts';
import { targetOf } from '../../read.ts';
import { lineOf } from '../../spec/node.ts';
import { judgeOf, withLaunch } from '../check/judges.ts';
import { planWords } from '../command-line.ts';
import { runsForeign } from '../input/foreign-rules.ts';
import { planFor, programFor, readText } from '../input/input.ts';
import { unifiedDiff } from '../review/diff.ts';
import { Progress } from '../terminal/progress.ts';
import { failWith, out, pc } from '../terminal/ui.ts';
import type { PlanPairOptions } from './bisect-plans.ts';

export interface BisectOptions extends PlanPairOptions {
  readonly linear?: boolean;
}

/** `orrery bisect`: finds the phase, function and rewrite that make a result wrong. */
export async function bisect(file: string, asked: BisectOptions): Promise<void> {
  // The search is for wrong results, so refuted rules run.
  const o = withLaunch({ ...asked, forceRules: 'quiet' as const });
  const text = readText(file);
  const judge = await judgeOf(o);
  if (o.good !== undefined || o.bad !== undefined)
    return (await import('./bisect-plans.ts')).bisectPlans(file, text, o, judge);
  const plan = await planFor(o, targetOf(text));
  const { program, module } = programFor(file, text, plan);
  const progress = new Progress();
  const subject: Subject = { program, module, plan };
  const found = await search(subject, judge, { inTurn: o.linear, tell: (t) => progress.update(t) });
  progress.done();
  if ('why' in found) refuse(found, judge);
  const report = await reportOf(found, subject, judge, o.linear === true);
  out(
    o.json === true
      ? JSON.stringify(report, null, 2)
      : textOf(report, found, file, planWords(o, runsForeign(plan))),
  );
}

/** Ends the command if there is nothing to search for. */
function refuse({ why, verdict }: NoFinding, judge: Judge): never {
  switch (why) {
    case 'good':
      return failWith(
        'the plan is good: nothing to bisect',
        `its result for the file is good by ${judge.what}`,
        '--launch FILE, --command CMD or --ptxas may tell more than --check auto',
      );
    case 'input':
      return failWith(
        `the input is not good before any phase has run: nothing to bisect`,
        `by ${judge.what}: ${verdict.text}`,
      );
    case 'unclear':
      return failWith('the result of the plan cannot be judged: nothing to bisect', verdict.text);
    case 'outside':
      return failWith('the run fails, but in no phase: nothing to bisect', verdict.text);
  }
}

/** The finding as plain data (schemas/output/bisect.schema.json). */
async function reportOf(f: Finding, { program }: Subject, judge: Judge, inTurn: boolean) {
  const { rewrite } = f;
  const loc = rewrite?.ins?.loc ?? 0;
  const rule = rewrite?.rule ?? null;
  return {
    version: 1,
    judge: judge.what,
    failure: { kind: f.failure.kind, text: f.failure.text },
    search: inTurn ? 'in turn' : 'by halves',
    tests: f.tests,
    phase: {
      id: f.phase.id,
      position: f.phase.position,
      runs: workersOf(f.phase),
      lastGood: f.lastGood?.id ?? null,
      unclear: f.unclear.map((p) => p.id),
    },
    function: f.fn,
    rewrite:
      rewrite === null
        ? null
        : {
            number: rewrite.number,
            counted: rewrite.counted,
            name: rewrite.name,
            rule:
              rule === null
                ? null
                : {
                    id: rule.id,
                    title: rule.title,
                    file: rule.file,
                    line: await lineOf({ file: rule.file, path: ['rules', rule.place] }),
                  },
            block: rewrite.block,
            instruction: rewrite.ins === null ? null : printInstr(rewrite.ins),
            line: program.locs[loc]?.line ?? 0,
            source: sourceOf(program, loc),
          },
    whyNoRewrite: f.whyNoRewrite,
  };
}

type Report = Awaited<ReturnType<typeof reportOf>>;

/**
 * The report as text.
 *
 * @param words the plan options as words of a command line
 */
function textOf(r: Report, f: Finding, file: string, words: readonly string[]): string {
  const { phase, rewrite } = r;
  const since = phase.lastGood === null ? 'good before any phase' : `good after ${phase.lastGood}`;
  const lines = [
    `${pc.red('bad')}       ${r.failure.text}`,
    ...(f.failure.notes ?? []).map((n) => pc.dim(`          ${n}`)),
    `phase     ${pc.bold(phase.id)} (position ${phase.position}): ${since}, ${f.thrown ? 'fails in it' : 'bad after it'}`,
    `          runs ${some(phase.runs)}`,
  ];
  if (phase.unclear.length > 0)
    lines.push(`          or one of these, which could not be judged: ${phase.unclear.join(', ')}`);
  if (r.function !== null)
    lines.push(
      `function  ${pc.bold(r.function)}${f.changedFunctions > 1 ? `, one of ${f.changedFunctions} that the phase changes` : ''}`,
    );
  if (rewrite === null) lines.push(`rewrite   unknown: ${r.whyNoRewrite}`);
  else {
    const { rule } = rewrite;
    lines.push(
      `rewrite   number ${grouped(rewrite.number)} of the phase${rewrite.counted === null ? '' : ' there'}: ${
        rule === null
          ? pc.bold(rewrite.name)
          : `rule ${pc.bold(rule.id)} (${rule.file}${rule.line > 0 ? `:${rule.line}` : ''}): ${rule.title}`
      }`,
    );
    const at = [
      ...(rewrite.block >= 0 ? [`BB${rewrite.block}`] : []),
      ...(rewrite.line > 0 ? [`${file}:${rewrite.line}`] : []),
      ...(rewrite.source === null ? [] : [`${rewrite.source.file}:${rewrite.source.line}`]),
    ];
    if (at.length > 0 || rewrite.instruction !== null)
      lines.push(
        `          ${at.join(', ')}${rewrite.instruction === null ? '' : `: ${rewrite.instruction}`}`,
      );
  }
  lines.push(pc.dim(`          ${r.tests} programs judged by ${r.judge}, ${r.search}`));
  const changed = difference(f.before, f.after);
  if (changed !== '') lines.push('', changed);
  lines.push('', `see it:     ${seeIt(r, file, words)}`);
  if (!f.phase.required) lines.push(`without it: add --disable ${phase.id}`);
  return lines.join('\n');
}

/** The first three names, and the number of the others. */
const some = (names: readonly string[]): string => firstNames(names, 3);

const difference = (before: Fn | null, after: Fn | null): string =>
  before === null || after === null
    ? ''
    : unifiedDiff(printFn(before, { locs: false }), printFn(after, { locs: false }));

/** The command that shows the phase after the rewrite. */
function seeIt({ phase, rewrite }: Report, file: string, words: readonly string[]): string {
  const where = rewrite?.counted == null ? phase.id : `${phase.id}:${rewrite.counted}`;
  const limit = rewrite === null ? '' : ` --rewrite-limit ${shellWord(`${where}=${rewrite.number}`)}`;
  return `orrery opt ${[fileWord(file), ...words].join(' ')}${limit} --until ${phase.id} --print-after ${phase.id} --emit none`;
}
