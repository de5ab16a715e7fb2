import type { Node } from '../../isa/lang/graph.ts';
import { type Goal, prune } from './goal.ts';
import { NodeTable } from './nodes.ts';
import { BITWISE } from './normal.ts';

/**
 * Bit slice of a goal whose results are bitwise functions of its operands: the same goal about one-bit operands. Bitwise operations treat
 * all bit positions alike, and constants take part only if all their bits are equal; so a proof for one bit, with the constants symbolic,
 * holds for words of any width.
 *
 * @returns null if the goal is not bitwise
 */
export function oneBit(goal: Goal): Goal | null {
  const { nodes, inputs } = goal;
  const wide = nodes.map(() => false);
  let width = 0;
  for (const [i, n] of nodes.entries()) {
    wide[i] = n.op === 'src' ? !inputs[n.n].constant : n.args.some((a) => wide[a]);
    if (!wide[i]) continue;
    if (n.op !== 'src' && !BITWISE.has(n.op)) return null;
    if (width !== 0 && n.width !== width) return null;
    width = n.width;
  }
  if (width <= 1 || goal.given.some((g) => wide[g])) return null;
  const table = new NodeTable();
  const at: number[] = [];
  /** The node for the bit that a node has in every position; -1: positions differ. */
  const bit = (i: number): number => {
    const n: Node = nodes[i];
    if (wide[i]) return at[i];
    if (n.op === 'sext' && nodes[n.args[0]].width === 1) return at[n.args[0]];
    if (n.op === 'const' && n.value === 0n) return table.constant(0n, 1);
    if (n.op === 'const' && n.value === (1n << BigInt(n.width)) - 1n) return table.constant(1n, 1);
    return -1;
  };
  for (const [i, n] of nodes.entries()) {
    if (!wide[i]) at.push(table.intern({ ...n, args: n.args.map((a) => at[a]) }));
    else {
      const args = n.args.map(bit);
      if (args.includes(-1)) return null;
      at.push(table.intern({ ...n, width: 1, args }));
    }
  }
  const results = goal.results.map((r) => ({ v: r.v, left: bit(r.left), right: bit(r.right) }));
  if (results.some((r) => r.left < 0 || r.right < 0)) return null;
  const narrow = inputs.map((x) => (x.constant ? x : { ...x, width: 1 }));
  return prune(
    table.nodes,
    narrow,
    goal.given.map((g) => at[g]),
    results,
  );
}
