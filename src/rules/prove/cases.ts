import { evalGraph, evalNode } from '../../isa/lang/evaluate.ts';
import type { Node } from '../../isa/lang/graph.ts';
import type { Instance, Rule } from '../rule.ts';
import { constantsFor } from '../witness.ts';
import { Draw } from './draw.ts';
import { type Goal, type Input, prune } from './goal.ts';
import { possible } from './question.ts';
import { ask, type Solver } from './solver.ts';

/** Goals for several choices of the constants of one goal. */
export interface Cases {
  readonly goals: readonly Goal[];
  /** The choices: values by variable. */
  readonly values: readonly ReadonlyMap<number, bigint>[];
  /** Whether these are all the choices for which the rule applies. */
  readonly complete: boolean;
}

/** Maximum number of choices that are enumerated: enough for all shift amounts, all powers of two and all 256 truth tables. */
const MOST_CASES = 256;
/** Number of choices tried if there are more. */
const SOME_CASES = 24;
/** Nodes of the condition that sampling evaluates, to see whether there are too many choices to enumerate. */
export const CASE_WORK = 1_000_000;
/** Solver steps to find one more choice, and to find them all. The shipped rules need less than a tenth. */
const CHOICE_LIMIT = 1_000_000;
const CHOICES_LIMIT = 10 * CHOICE_LIMIT;

/**
 * Splits a goal by the values of its constants: all choices for which the rule applies if there are few, otherwise some.
 * @param known cache of enumerated choices
 * @param most maximum number of choices that are enumerated
 * @returns null if the rule has no constants, or if no choice that was tried satisfies its condition
 */
export async function casesOf(
  goal: Goal,
  rule: Rule,
  instance: Instance,
  solver: Solver,
  known: KnownChoices,
  most: number = MOST_CASES,
): Promise<Cases | null> {
  const constants = goal.inputs.filter((x) => x.constant);
  if (constants.length === 0) return null;
  const free = goal.given.every((g) => goal.nodes[g].op === 'const');
  const all = free ? null : await enumerate(goal, rule, instance, { solver, known, most });
  const values = all ?? some(goal, rule, instance);
  if (values.length === 0) return null;
  return { goals: values.map((v) => specialised(goal, v)), values, complete: all !== null };
}

/** Whether sampling around known solutions finds more than `MOST_CASES` of them, so that enumeration would be in vain. */
function many({ nodes, inputs, given }: Goal, rule: Rule, instance: Instance): boolean {
  const draw = new Draw(inputs.map((x) => x.name).join());
  const met = new Set<string>();
  for (let work = 0; work < CASE_WORK && met.size <= MOST_CASES; work += nodes.length) {
    const known = constantsFor(rule, instance, draw.next() % SOME_CASES) ?? constantsFor(rule, instance);
    // One constant varies, since conditions seldom hold for several at once.
    const varied = draw.next() % inputs.length;
    const values = inputs.map((x, i) =>
      known === null || i === varied ? draw.value(x.width, true) : known[x.v],
    );
    if (evalGraph({ nodes, dsts: given, srcWidths: [] }, values).every((g) => g === 1n))
      met.add(values.join());
  }
  return met.size > MOST_CASES;
}

/** Cache of enumerated choices by the text of the query; null: too many. Instances of a rule mostly share a condition. */
export type KnownChoices = Map<string, readonly ReadonlyMap<number, bigint>[] | null>;

/** Parameters of the enumeration. */
interface Enumeration {
  readonly solver: Solver;
  readonly known: KnownChoices;
  /** Maximum number of choices; with more, there is no result. */
  readonly most: number;
}

/** All choices of constants; null if they are too many or too hard to find. */
async function enumerate(
  goal: Goal,
  rule: Rule,
  instance: Instance,
  { solver, known, most }: Enumeration,
): Promise<readonly ReadonlyMap<number, bigint>[] | null> {
  const condition = prune(goal.nodes, goal.inputs, goal.given, []);
  const { text } = possible(condition, null);
  const { inputs } = condition;
  const unbound = goal.inputs.some((x) => x.constant && !inputs.some((y) => y.v === x.v));
  if (unbound || inputs.some((x) => !x.constant)) return null;
  const key = `${most} ${text}`;
  let found = known.get(key);
  if (found === undefined) {
    found = many(condition, rule, instance) ? null : await allModels(text, inputs, solver, most);
    known.set(key, found);
  }
  return found;
}

/** All models of a query: each is blocked before the next is asked for. Null if they are too many or too hard to find. */
async function allModels(
  text: string,
  inputs: readonly Input[],
  solver: Solver,
  most: number,
): Promise<Map<number, bigint>[] | null> {
  const out: Map<number, bigint>[] = [];
  const names = inputs.map((_, i) => `v${i}`);
  let blocked = '';
  let left = CHOICES_LIMIT;
  while (out.length <= most && left > 0) {
    const a = await ask(solver, { text: text + blocked, names }, Math.min(CHOICE_LIMIT, left));
    left -= a.spent;
    if (a.k === 'unknown') return null;
    if (a.k === 'unsat') return out.length > 0 ? out : null;
    const values = inputs.map((_, i) => a.model.get(names[i]) ?? 0n);
    out.push(new Map(inputs.map((x, i) => [x.v, values[i]])));
    const same = inputs.map((x, i) => `(= ${names[i]} (_ bv${values[i]} ${x.width}))`);
    blocked += `\n(assert (not (and ${same.join(' ')} true)))`;
  }
  return null;
}

/** Up to `SOME_CASES` choices that satisfy the condition. */
function some(goal: Goal, rule: Rule, instance: Instance): Map<number, bigint>[] {
  const out: Map<number, bigint>[] = [];
  for (let skip = 0; out.length < SOME_CASES; skip++) {
    const values = constantsFor(rule, instance, skip);
    if (values === null) break;
    out.push(new Map(goal.inputs.flatMap((x) => (x.constant ? [[x.v, values[x.v]] as const] : []))));
  }
  return out;
}

/** The goal with some inputs replaced by values (by variable), and constants folded. */
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
