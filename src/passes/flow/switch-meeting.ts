import { commonDominator, postDominatorsOf } from '../../analysis/flow/dominators.ts';
import type { Leaf } from '../../analysis/flow/switches.ts';
import type { BlockNo } from '../../ir/draft/index.ts';
import type { Fn } from '../../ir/program.ts';

/** Maximum number of blocks visited between a leaf and the meeting of all leaves; a more distant meeting does not concern this switch. */
const FAR = 4096;

/**
 * Leaves that delay the reconvergence of the others. Lanes that diverge at a jump through a table reconverge where all its paths meet
 * (the nearest common post-dominator), while with comparisons, lanes whose paths join earlier reconverge earlier. So if, for example,
 * one case returns while all others join after the switch, a table makes the code after it run once per case, unless that case is
 * tested first.
 *
 * @returns the leaves that bypass the place where most others meet; none if there is no such place
 */
export function escapesOf(fn: Fn, leaves: readonly Leaf[]): Leaf[] {
  const post = postDominatorsOf(fn);
  const reachable = leaves.filter(({ block }) => block < fn.blocks.length && post.depth[block] >= 0);
  if (reachable.length < leaves.length || leaves.length < 3) return [];
  const meeting = leaves.map(({ block }) => block).reduce((a, b) => commonDominator(post, a, b));
  /** By the last block before the meeting: the leaves that pass through it. */
  const groups = new Map<BlockNo, Leaf[]>();
  for (const leaf of leaves) {
    let b = leaf.block;
    for (let left = FAR; b !== meeting && post.idom[b] !== meeting; b = post.idom[b])
      if (left-- === 0) return [];
    const group = groups.get(b);
    if (group === undefined) groups.set(b, [leaf]);
    else group.push(leaf);
  }
  groups.delete(meeting);
  let largest: readonly Leaf[] = [];
  for (const g of groups.values()) if (g.length > largest.length) largest = g;
  return 2 * largest.length <= leaves.length ? [] : leaves.filter((leaf) => !largest.includes(leaf));
}

/**
 * Do lanes that diverged in a switch reconverge at one of its leaves before all of them meet? They do if several of its blocks lead to
 * one leaf. The hardware then forms a nested group of lanes, which costs setup and waiting, and an extra step for lanes that go
 * elsewhere.
 * @param waysTo by target block of a leaf: how many blocks of the switch lead there
 */
export function regroups(fn: Fn, head: BlockNo, waysTo: ReadonlyMap<BlockNo, number>): boolean {
  const meeting = postDominatorsOf(fn).idom[head];
  for (const [b, ways] of waysTo) if (ways > 1 && b !== meeting) return true;
  return false;
}
