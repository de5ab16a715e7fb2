import { evalNode } from '../../isa/lang/evaluate.ts';
import type { Node } from '../../isa/lang/graph.ts';
import type { Instance, Rule } from '../rule.ts';
import { constantsFor } from '../witness.ts';
import { type Goal, prune } from './goal.ts';
import { possible } from './question.ts';
import { ask, type Solver } from './solver.ts';

/** A goal for each of several choices of its constants. */
export interface Cases {
  readonly goals: readonly Goal[];
  /** The choices: values by variable. */
  readonly values: readonly ReadonlyMap<number, bigint>[];
  /** Whether these are all the choices for which the rule applies. */
  readonly complete: boolean;
}

/** More choices than this are not enumerated. All shift amounts, all powers of two and all truth tables are fewer. */
const MOST_CASES = 256;
/** Number of choices tried if there are more. */
const SOME_CASES = 24;
/** Milliseconds to find one more choice, and to find them all. */
const CASE_LIMIT = 1000;
const CASES_LIMIT = 10_000;

/**
 * All choices of constants for which the rule applies if they are few, otherwise some.
 * Null if the rule has no constants, or if none of those tried meets its condition.
 */
export async function casesOf(
  goal: Goal,
  rule: Rule,
  instance: Instance,
  solver: Solver,
): Promise<Cases | null> {
  const constants = goal.inputs.filter((x) => x.constant);
  if (constants.length === 0) return null;
  const all = instance.always ? null : await enumerate(goal, solver);
  const values = all ?? some(goal, rule, instance);
  if (values.length === 0) return null;
  return { goals: values.map((v) => specialised(goal, v)), values, complete: all !== null };
}

/** Asks for one choice after another until there are no more; null if they are too many or too hard to find. */
async function enumerate(goal: Goal, solver: Solver): Promise<Map<number, bigint>[] | null> {
  const { text } = possible(prune(goal.nodes, goal.inputs, goal.given, []), null);
  const inputs = prune(goal.nodes, goal.inputs, goal.given, []).inputs;
  const unbound = goal.inputs.some((x) => x.constant && !inputs.some((y) => y.v === x.v));
  if (unbound || inputs.some((x) => !x.constant)) return null;
  const out: Map<number, bigint>[] = [];
  const names = inputs.map((_, i) => `v${i}`);
  let blocked = '';
  const end = performance.now() + CASES_LIMIT;
  while (out.length <= MOST_CASES && performance.now() < end) {
    const a = await ask(solver, { text: text + blocked, names }, CASE_LIMIT);
    if (a.k === 'unknown') return null;
    if (a.k === 'unsat') return out.length > 0 ? out : null;
    const values = inputs.map((_, i) => a.model.get(names[i]) ?? 0n);
    out.push(new Map(inputs.map((x, i) => [x.v, values[i]])));
    const same = inputs.map((x, i) => `(= ${names[i]} (_ bv${values[i]} ${x.width}))`);
    blocked += `\n(assert (not (and ${same.join(' ')} true)))`;
  }
  return null;
}

/** Some choices that meet the condition. */
function some(goal: Goal, rule: Rule, instance: Instance): Map<number, bigint>[] {
  const out: Map<number, bigint>[] = [];
  for (let skip = 0; out.length < SOME_CASES; skip++) {
    const values = constantsFor(rule, instance, skip);
    if (values === null) break;
    out.push(new Map(goal.inputs.flatMap((x) => (x.constant ? [[x.v, values[x.v]] as const] : []))));
  }
  return out;
}

/** The goal with some inputs replaced by values; nodes that depend on constants alone are evaluated. */
export function specialised(goal: Goal, values: ReadonlyMap<number, bigint>): Goal {
  const nodes: Node[] = [];
  for (const n of goal.nodes) {
    const value = n.op === 'src' ? values.get(goal.inputs[n.n].v) : undefined;
    const known =
      value ??
      (n.op !== 'src' && n.op !== 'const' && n.op !== 'approx' && n.args.every((a) => nodes[a].op === 'const')
        ? evalNode(
            n,
            n.args.map((a) => nodes[a].value),
          )
        : undefined);
    nodes.push(
      known === undefined
        ? n
        : {
            op: 'const',
            width: n.width,
            args: [],
            fmt: '',
            aux: '',
            n: 0,
            value: BigInt.asUintN(n.width, known),
          },
    );
  }
  return prune(nodes, goal.inputs, goal.given, goal.results);
}
