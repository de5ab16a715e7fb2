import { type Change, bisectPlans as search } from '../../debug/bisect-plans.ts';
import type { Judge } from '../../debug/judge.ts';
import { fileWord } from '../../ir/quote.ts';
import { type Arm, parseArm } from '../../lab/arms.ts';
import { planDifferences } from '../../lab/plan-differences.ts';
import { Plans } from '../../lab/plans.ts';
import { targetOf } from '../../read.ts';
import { type JudgeOptions, judgeWords } from '../check/judges.ts';
import { planWords } from '../command-line.ts';
import { programFor } from '../input/input.ts';
import type { PlanOptions } from '../input/options.ts';
import { baseOf } from '../lab/lab.ts';
import { Progress } from '../terminal/progress.ts';
import { table } from '../terminal/table.ts';
import { failWith, out, pc } from '../terminal/ui.ts';

export interface PlanPairOptions extends PlanOptions, JudgeOptions {
  readonly good?: string;
  readonly bad?: string;
  readonly json?: boolean;
}

/** Parses the options of one plan as an arm. Both plans run refuted rules anyway, so `--force-rules` is dropped. */
const armOf = (words = 'base'): Arm => parseArm(words.replace(/(?<!\S)--force-rules(?!\S)/g, ''));

/** `orrery bisect --good ... --bad ...`: finds a minimal set of differences that make the good plan bad. */
export async function bisectPlans(
  file: string,
  text: string,
  o: PlanPairOptions,
  judge: Judge,
): Promise<void> {
  const plans = new Plans(baseOf(o));
  const arms = [o.good, o.bad].map((words) => armOf(words));
  const [good, bad] = await Promise.all(arms.map((arm) => plans.plan(arm, targetOf(text))));
  const { program, module } = programFor(file, text, good);
  const progress = new Progress();
  const found = await search(
    { program, module },
    good,
    bad,
    planDifferences(good, bad),
    judge,
    { stopped: () => false },
    (t) => progress.update(t),
  );
  progress.done();
  if ('why' in found)
    switch (found.why) {
      case 'bad is good':
        return failWith('the bad plan is good: nothing to bisect', found.text);
      case 'good is bad':
        return failWith('the good plan is bad: nothing to bisect', found.text);
      case 'same':
        return failWith('the plans do not differ: nothing to bisect');
      case 'other program':
        return failWith('the plans cannot be mixed', found.text);
      case 'lost':
        return failWith('the differences between the plans cannot be separated', found.text);
    }
  if (o.json === true)
    return out(
      JSON.stringify(
        {
          version: 1,
          judge: judge.what,
          failure: { kind: found.failure.kind, text: found.failure.text },
          tests: found.tests,
          differences: found.of,
          changes: found.changes,
        },
        null,
        2,
      ),
    );
  out(`${pc.red('bad')}      ${found.failure.text}`);
  out(
    `because  ${found.changes.length} of ${found.of} differences between the plans, none of which can be dropped:\n`,
  );
  out(table(found.changes.flatMap(rowsOf), 'llll'));
  out(pc.dim(`\n${found.tests} plans judged by ${judge.what}`));
  const next = optionsOf(o, armOf(o.bad));
  if (next !== null)
    out(`\nwhere in it:  orrery bisect ${[fileWord(file), ...next, ...judgeWords(o)].join(' ')}`);
}

/** The options of a plan as words of a command line; null if only an arm can express it. */
function optionsOf(o: PlanOptions, arm: Arm): string[] | null {
  if (arm.moves !== undefined || arm.ref !== undefined) return null;
  const more = (a: readonly string[] = [], b: readonly string[] = []): readonly string[] => [...a, ...b];
  return planWords({
    level: arm.level === undefined ? o.level : String(arm.level),
    sm: arm.sm ?? o.sm,
    order: arm.order ?? o.order,
    recipe: arm.recipe ?? o.recipe,
    knobs: more(o.knobs, arm.knobs),
    set: more(o.set, arm.set),
    disable: more(o.disable, arm.disable),
    rules: more(o.rules, arm.rules),
  });
}

/** Table rows of one change. */
const rowsOf = (c: Change): string[][] =>
  c.from.map((from, i) => [
    i === 0 ? `  ${c.kind}` : '',
    i === 0 ? pc.bold(c.name) : '',
    `${from} ->`,
    c.to[i],
  ]);
