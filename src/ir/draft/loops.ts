import { NO_REG } from '../operand.ts';
import { splitPredecessors } from './blocks.ts';
import type { Draft } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';

/** A loop as these edits need it: its header and who belongs to it. */
export interface LoopShape {
  readonly header: BlockNo;
  contains(b: BlockNo): boolean;
}

/**
 * The block from which alone control enters the loop, and which leads nowhere else: what is put at its end runs when the loop is entered
 * and only then. There may be one; otherwise it is made.
 * Blocks that the draft has made since the loop was found count as outside, unless `contains` knows them.
 */
export function preheader(d: Draft, loop: LoopShape): BlockNo {
  const b = existingPreheader(d, loop);
  return b >= 0 ? b : splitPredecessors(d, loop.header, outside(d, loop));
}

/** The preheader that a loop has already, -1 if it has none. */
export function existingPreheader(d: Draft, loop: LoopShape): BlockNo {
  const [only, ...others] = outside(d, loop);
  const is = only !== undefined && others.length === 0 && loop.header !== d.entryBlock && onlyGoesOn(d, only);
  return is ? only : -1;
}

const outside = (d: Draft, loop: LoopShape): BlockNo[] =>
  d.predecessors(loop.header).filter((p) => !loop.contains(p));

/**
 * Does control, once in the block, do nothing at its end but go to one other block? A call or a guarded exit does more, and a guarded
 * branch with both ways to that block is two of them, which a layout may part.
 */
function onlyGoesOn(d: Draft, b: BlockNo): boolean {
  const t = d.terminator(b);
  if (d.successors(b).length !== 1) return false;
  return t < 0 || (d.at(t).op.primitive === 'branch' && d.at(t).guard === NO_REG);
}

/**
 * Makes every block to which the loop leads one that only the loop leads to.
 * @param blocks the blocks of the loop
 * @returns these exit blocks, in the order found
 */
export function dedicatedExits(d: Draft, loop: LoopShape, blocks: readonly BlockNo[]): BlockNo[] {
  const exits: BlockNo[] = [];
  for (const b of blocks)
    for (const s of d.successors(b)) if (!loop.contains(s) && !exits.includes(s)) exits.push(s);
  return exits.map((s) => {
    const inside = d.predecessors(s).filter((p) => loop.contains(p));
    return inside.length === d.predecessors(s).length && s !== d.entryBlock
      ? s
      : splitPredecessors(d, s, inside);
  });
}
