import { type Node, NodeList } from '../../isa/lang/graph.ts';

/** A list of nodes in which nothing is simplified. */
export class NodeTable extends NodeList {
  /** The number of the node with this operation; `more` gives its format, `aux`, `n` and value. */
  node(op: Node['op'], width: number, args: readonly number[], more: Partial<Node> = {}): number {
    return this.intern({ op, width, args, fmt: '', aux: '', n: 0, value: 0n, ...more });
  }

  /** The number of a constant, taken modulo 2^width. */
  constant(value: bigint, width: number): number {
    return this.node('const', width, [], { value: BigInt.asUintN(width, value) });
  }
}
