import type { Node } from '../../isa/lang/graph.ts';

/** Hash-consed nodes of a graph under construction: equal nodes have the same number. Nothing is simplified. */
export class NodeTable {
  readonly nodes: Node[] = [];
  private readonly known = new Map<string, number>();

  /** The number of a node; equal nodes get the same one. */
  intern(n: Node): number {
    const key = `${n.op} ${n.width} ${n.args} ${n.fmt} ${n.aux} ${n.n} ${n.value}`;
    const old = this.known.get(key);
    if (old !== undefined) return old;
    this.nodes.push(n);
    this.known.set(key, this.nodes.length - 1);
    return this.nodes.length - 1;
  }

  /** The number of the node with this operation; `more` gives its format, `aux`, `n` and value. */
  node(op: Node['op'], width: number, args: readonly number[], more: Partial<Node> = {}): number {
    return this.intern({ op, width, args, fmt: '', aux: '', n: 0, value: 0n, ...more });
  }

  /** The number of a constant, taken modulo 2^width. */
  constant(value: bigint, width: number): number {
    return this.node('const', width, [], { value: BigInt.asUintN(width, value) });
  }
}
