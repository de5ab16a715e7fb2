/** Strongly connected components of a graph. */
export interface Components {
  /** The nodes of each component; a component comes after those that it leads to. */
  readonly members: readonly number[][];
  /** Index of the component of each node; -1 for nodes that were not reached. */
  readonly of: Int32Array;
}

/**
 * Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972), with explicit stacks.
 *
 * @param start by node: the place of its first edge in `items`; one more at the end
 * @param items targets of edges, by node
 * @param roots nodes to start from, in order
 * @param follows whether an edge counts; default: all do
 */
export function componentsOf(
  start: Int32Array,
  items: Int32Array,
  roots: Iterable<number>,
  follows: (from: number, to: number) => boolean = () => true,
): Components {
  const count = start.length - 1;
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const edge = new Int32Array(count);
  const of = new Int32Array(count).fill(-1);
  const members: number[][] = [];
  const path: number[] = [];
  const open: number[] = [];
  let next = 0;
  const enter = (v: number): void => {
    index[v] = low[v] = next++;
    edge[v] = start[v];
    path.push(v);
    open.push(v);
  };
  for (const s of roots) {
    if (index[s] >= 0) continue;
    enter(s);
    while (path.length > 0) {
      const v = path[path.length - 1];
      if (edge[v] < start[v + 1]) {
        const t = items[edge[v]++];
        if (!follows(v, t)) continue;
        if (index[t] < 0) enter(t);
        else if (of[t] < 0) low[v] = Math.min(low[v], index[t]);
        continue;
      }
      path.pop();
      if (path.length > 0) {
        const parent = path[path.length - 1];
        low[parent] = Math.min(low[parent], low[v]);
      }
      if (low[v] !== index[v]) continue;
      const own: number[] = [];
      for (let m = -1; m !== v; ) {
        m = open.pop()!;
        of[m] = members.length;
        own.push(m);
      }
      members.push(own);
    }
  }
  return { members, of };
}
