import { xorshift32 } from '../ir/random.ts';
import { type Goal, type Input, prune } from '../rules/prove/goal.ts';
import { lawful } from '../rules/prove/laws.ts';
import { type Question, questionOf } from '../rules/prove/question.ts';
import { same, simplified } from '../rules/prove/simplify.ts';
import { ask, type Solver } from '../rules/prove/solver.ts';
import { drawn, valuesOf } from './samples.ts';
import type { Decide } from './validate.ts';

/** Maximum solver steps for one query: about a second. */
const WORK = 2_000_000;
/** Number of random inputs tried before the solver, since they cost far less. */
const SAMPLES = 40;
/** Maximum number of nodes of a query: the text alone of a larger one would be long. */
const MOST_NODES = 1_500;

/** Maximum solver steps for all queries of one function after one phase: four unanswered queries. */
const MOST_WORK = 8_000_000;

/**
 * Makes a decision procedure for each function: it tests two values for equality on a few random inputs, then by rewriting, then by a
 * solver. Results are cached across functions and phases, since phases leave most of a function unchanged.
 *
 * @param most maximum solver steps for all of them
 */
export function decidersBy(solver: Solver, most = Number.POSITIVE_INFINITY): () => Decide {
  const answers = new Map<string, boolean>();
  let all = most;
  return () => {
    let spent = 0;
    const steps = {
      get left() {
        return Math.min(MOST_WORK - spent, all);
      },
      spend(n: number) {
        spent += n;
        all -= n;
      },
    };
    return decideBy(solver, answers, steps);
  };
}

/** Solver steps that remain. */
interface Steps {
  readonly left: number;
  spend(n: number): void;
}

function decideBy(solver: Solver, answers: Map<string, boolean>, steps: Steps): Decide {
  return async (values, given, left, right) => {
    if (steps.left <= 0) return false;
    const inputs = values.leaves.map(
      ({ key, width }): Input => ({ name: key, width, v: -1, wildcard: -1, constant: false }),
    );
    const goal = prune(values.table.nodes, inputs, [given], [{ v: 0, left, right }]);
    if (goal.nodes.length > MOST_NODES) return false;
    const key = JSON.stringify(goal, (_, x: unknown) => (typeof x === 'bigint' ? String(x) : x));
    const old = answers.get(key);
    if (old !== undefined) return old;
    const equal = !differsSomewhere(goal) && (await proved(goal, solver, steps));
    answers.set(key, equal);
    return equal;
  };
}

async function proved(goal: Goal, solver: Solver, steps: Steps): Promise<boolean> {
  const simple = simplified(goal);
  if (same(simple)) return true;
  const laws = lawful(simple);
  if (laws !== null && same(laws)) return true;
  // Floats are compared by their algebraic laws only: a solver would multiply significands bit by bit.
  const asked: Question = questionOf(laws ?? simple);
  const answer = await ask(solver, asked, Math.min(WORK, steps.left));
  steps.spend(answer.spent);
  return answer.k === 'unsat';
}

/** True if a few random inputs show that the values differ although the assumptions hold. */
function differsSomewhere(goal: Goal): boolean {
  const draw = xorshift32(1);
  for (let i = 0; i < SAMPLES; i++) {
    const inputs = goal.inputs.map((x) => drawn(draw, x.width));
    const at = valuesOf(goal.nodes, inputs);
    if (goal.given.every((g) => at[g] === 1n) && goal.results.some((r) => at[r.left] !== at[r.right]))
      return true;
  }
  return false;
}
