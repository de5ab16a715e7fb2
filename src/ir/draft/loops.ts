import { NO_REG } from '../operand.ts';
import { splitPredecessors } from './blocks.ts';
import type { Draft } from './draft.ts';
import type { BlockNo } from './instruction-list.ts';

/** A loop as these edits need it: its header and its members. */
export interface LoopShape {
  readonly header: BlockNo;
  contains(b: BlockNo): boolean;
}

/**
 * The preheader: the only predecessor of the header from outside the loop, without another successor, so that code at its
 * end runs exactly when the loop is entered. It is created if there is none. Blocks created since the loop was found count
 * as outside, unless `contains` accepts them.
 */
export function preheader(d: Draft, loop: LoopShape): BlockNo {
  const b = existingPreheader(d, loop);
  return b >= 0 ? b : splitPredecessors(d, loop.header, outside(d, loop));
}

/** The loop's existing preheader, -1 if it has none. */
export function existingPreheader(d: Draft, loop: LoopShape): BlockNo {
  const [only, ...others] = outside(d, loop);
  const is =
    only !== undefined && others.length === 0 && loop.header !== d.entryBlock && onlyContinues(d, only);
  return is ? only : -1;
}

const outside = (d: Draft, loop: LoopShape): BlockNo[] =>
  d.predecessors(loop.header).filter((p) => !loop.contains(p));

/**
 * Does control at the end of the block do nothing but continue to one other block? A call or a guarded exit does more. A
 * guarded branch both of whose edges lead to that block does not qualify, because the layout may separate the edges.
 */
function onlyContinues(d: Draft, b: BlockNo): boolean {
  const t = d.terminator(b);
  if (d.successors(b).length !== 1) return false;
  return t < 0 || (d.at(t).op.primitive === 'branch' && d.at(t).guard === NO_REG);
}

/**
 * Ensures that every exit block of the loop is dedicated: all its predecessors are in the loop.
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
