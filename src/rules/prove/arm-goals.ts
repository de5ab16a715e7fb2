/** Case splits of a goal by its selects whose condition depends on constants alone. */
import { type Goal, prune } from './goal.ts';
import { NodeTable } from './nodes.ts';

/** The condition of a select that depends on constants of the pattern alone; -1 if there is none. */
export function choiceOf({ nodes, inputs }: Goal): number {
  const known: boolean[] = [];
  const varies: boolean[] = [];
  for (const n of nodes) {
    const k = n.op === 'src' ? inputs[n.n].constant : n.op !== 'approx' && n.args.every((a) => known[a]);
    known.push(k);
    varies.push(k && (n.op === 'src' || n.args.some((a) => varies[a])));
  }
  // The last select is the outermost; deciding it may make inner ones dead.
  for (let i = nodes.length - 1; i >= 0; i--)
    if (nodes[i].op === 'ite' && varies[nodes[i].args[0]]) return nodes[i].args[0];
  return -1;
}

/**
 * One case of a goal: the condition is assumed to have a value, and the selects by it are replaced by the side taken.
 * @param condition a one-bit node of the goal
 */
export function underArm(goal: Goal, condition: number, holds: boolean): Goal {
  const table = new NodeTable();
  const at: number[] = [];
  for (const n of goal.nodes) {
    const [c, yes, no] = n.args;
    at.push(
      n.op === 'ite' && c === condition
        ? at[holds ? yes : no]
        : table.intern({ ...n, args: n.args.map((a) => at[a]) }),
    );
  }
  const assumed = holds ? at[condition] : table.node('not', 1, [at[condition]]);
  return prune(
    table.nodes,
    goal.inputs,
    [...goal.given.map((g) => at[g]), assumed],
    goal.results.map((r) => ({ v: r.v, left: at[r.left], right: at[r.right] })),
  );
}
