import { type Goal, type Input, prune } from '../rules/prove/goal.ts';
import { lawful } from '../rules/prove/laws.ts';
import { type Question, questionOf } from '../rules/prove/question.ts';
import { same, simplified } from '../rules/prove/simplify.ts';
import { ask, type Solver } from '../rules/prove/solver.ts';
import { Drawing, drawn, valuesOf } from './samples.ts';
import type { Decide } from './validate.ts';

/** Steps of the solver for one question: about a second. */
const WORK = 2_000_000;
/** Random inputs that are tried before a solver is asked, since they cost far less. */
const SAMPLES = 40;
/** Nodes of a question. A larger one is not asked: its text alone would be long. */
const MOST_NODES = 1_500;

/** Steps for all questions of one function after one phase: four that get no answer. */
const MOST_WORK = 8_000_000;

/**
 * Makes, for each function, what asks a solver whether two values are equal, after a few inputs that could tell them apart. Answers are
 * kept: phases leave most of a function as it is.
 *
 * @param most steps for all of them
 */
export function decidersBy(solver: Solver, most = Number.POSITIVE_INFINITY): () => Decide {
  const known = new Map<string, boolean>();
  let all = most;
  return () => {
    let spent = 0;
    const purse = {
      get left() {
        return Math.min(MOST_WORK - spent, all);
      },
      spend(n: number) {
        spent += n;
        all -= n;
      },
    };
    return decideBy(solver, known, purse);
  };
}

/** Steps of a solver that may be spent. */
interface Steps {
  readonly left: number;
  spend(n: number): void;
}

function decideBy(solver: Solver, known: Map<string, boolean>, purse: Steps): Decide {
  return async (values, given, left, right) => {
    if (purse.left <= 0) return false;
    const inputs = values.leaves.map(
      ({ key, width }): Input => ({ name: key, width, v: -1, wildcard: -1, constant: false }),
    );
    const goal = prune(values.table.nodes, inputs, [given], [{ v: 0, left, right }]);
    if (goal.nodes.length > MOST_NODES) return false;
    const key = JSON.stringify(goal, (_, x: unknown) => (typeof x === 'bigint' ? String(x) : x));
    const old = known.get(key);
    if (old !== undefined) return old;
    const equal = !differsSomewhere(goal) && (await proved(goal, solver, purse));
    known.set(key, equal);
    return equal;
  };
}

async function proved(goal: Goal, solver: Solver, purse: Steps): Promise<boolean> {
  const simple = simplified(goal);
  if (same(simple)) return true;
  const laws = lawful(simple);
  if (laws !== null && same(laws)) return true;
  // Floats only by the laws that they obey: a solver would multiply significands bit by bit.
  const asked: Question = questionOf(laws ?? simple);
  const answer = await ask(solver, asked, Math.min(WORK, purse.left));
  purse.spend(answer.spent);
  return answer.k === 'unsat';
}

/** Is there an input, among a few, for which the values differ although what is given holds? */
function differsSomewhere(goal: Goal): boolean {
  const draw = new Drawing(1);
  for (let i = 0; i < SAMPLES; i++) {
    const inputs = goal.inputs.map((x) => drawn(draw, x.width));
    const at = valuesOf(goal.nodes, inputs);
    if (goal.given.every((g) => at[g] === 1n) && goal.results.some((r) => at[r.left] !== at[r.right]))
      return true;
  }
  return false;
}
