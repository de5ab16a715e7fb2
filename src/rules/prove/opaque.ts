/**
 * Abstracts a goal: products and quotients of integers and operations on floats become uninterpreted functions, by Ackermann's reduction:
 * each application is an unknown, and equal operands imply equal results. Sound but incomplete: a proof of the abstracted goal proves the
 * goal; a failure to prove it means nothing.
 */
import type { CoreOp } from '../../isa/lang/graph.ts';
import { type Goal, type Input, prune } from './goal.ts';
import { NodeTable } from './nodes.ts';

const OPAQUE: ReadonlySet<CoreOp> = new Set<CoreOp>([
  'mul',
  'umulh',
  'smulh',
  'udiv',
  'fadd',
  'fmul',
  'ffma',
  'fdiv',
  'fsqrt',
  'frint',
  'fmin',
  'fmax',
  'f2f',
  'f2i',
  'i2f',
]);

/** The abstracted goal; null if the goal contains no operation to abstract. */
export function opaque(goal: Goal): Goal | null {
  const table = new NodeTable();
  const inputs: Input[] = [...goal.inputs];
  const given: number[] = [];
  const calls: { readonly kind: string; readonly args: readonly number[]; readonly result: number }[] = [];
  const results = new Map<string, number>();
  const at: number[] = [];
  for (const n of goal.nodes) {
    const args = n.args.map((a) => at[a]);
    if (!OPAQUE.has(n.op)) {
      at.push(table.intern({ ...n, args }));
      continue;
    }
    const kind = `${n.op} ${n.width} ${n.fmt} ${n.aux} ${n.n} ${args.map((a) => table.nodes[a].width)}`;
    const key = `${kind} ${args}`;
    let result = results.get(key);
    if (result === undefined) {
      inputs.push({ name: n.op, width: n.width, v: -1, wildcard: -1, constant: false });
      result = table.node('src', n.width, [], { n: inputs.length - 1 });
      for (const c of calls.filter((x) => x.kind === kind)) {
        const equal = args.map((a, i) => table.node('eq', 1, [a, c.args[i]]));
        const all = equal.reduce((x, y) => table.node('and', 1, [x, y]));
        const agree = table.node('eq', 1, [result, c.result]);
        given.push(table.node('or', 1, [table.node('not', 1, [all]), agree]));
      }
      calls.push({ kind, args, result });
      results.set(key, result);
    }
    at.push(result);
  }
  if (calls.length === 0) return null;
  return prune(
    table.nodes,
    inputs,
    [...goal.given.map((g) => at[g]), ...given],
    goal.results.map((r) => ({ v: r.v, left: at[r.left], right: at[r.right] })),
  );
}
