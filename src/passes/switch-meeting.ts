import { commonDominator, postDominatorsOf } from '../analysis/dominators.ts';
import type { Leaf } from '../analysis/switches.ts';
import type { BlockNo } from '../ir/draft/index.ts';
import type { Fn } from '../ir/program.ts';

/** Blocks gone through from a leaf to where all leaves meet; where they meet further away, that is no matter of this switch. */
const FAR = 4096;

/**
 * Leaves that keep the others apart. Lanes that a jump through a table has parted run together again where all its ways meet
 * (the nearest common post-dominator); comparisons let those that meet earlier go on together earlier. So a case that returns, say,
 * while all others come together behind the switch, makes a table run what follows once for each case, unless it is asked for first.
 *
 * @returns those that pass by the place where most others meet; none where there is no such place
 */
export function escapesOf(fn: Fn, leaves: readonly Leaf[]): Leaf[] {
  const post = postDominatorsOf(fn);
  const known = leaves.filter(({ block }) => block < fn.blocks.length && post.depth[block] >= 0);
  if (known.length < leaves.length || leaves.length < 3) return [];
  const meeting = leaves.map(({ block }) => block).reduce((a, b) => commonDominator(post, a, b));
  /** By the last block in front of the meeting: the leaves that come by it. */
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
 * Do lanes that a switch has parted come together at one of its leaves, before all of them meet? That is so where several of its
 * blocks lead to one leaf. The machine then forms a group of lanes within the group: it costs setting up and waiting, and a step out
 * of it for lanes that go elsewhere.
 * @param waysTo by block of a leaf: how many blocks of the switch lead there
 */
export function regroups(fn: Fn, head: BlockNo, waysTo: ReadonlyMap<BlockNo, number>): boolean {
  const meeting = postDominatorsOf(fn).idom[head];
  for (const [b, ways] of waysTo) if (ways > 1 && b !== meeting) return true;
  return false;
}
