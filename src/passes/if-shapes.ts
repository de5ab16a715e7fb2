import { conditionOf, type TwoWays, twoWaysOf } from '../analysis/two-ways.ts';
import type { BlockNo, Draft, Ins } from '../ir/draft/index.ts';
import type { Operand } from '../ir/operand.ts';

/** One side of an if: a block that runs where a condition holds, and goes on to the block where both sides meet. */
export interface Arm {
  readonly block: BlockNo;
  /** True where control goes to the arm. */
  readonly condition: Operand;
  /** Its instructions but for the branch at its end. */
  readonly body: readonly Ins[];
}

/**
 * A branch and what it skips: a triangle with one arm, or a diamond with two.
 *
 *     header          header
 *      |   \           /   \
 *      |   arm       arm   arm
 *      |   /           \   /
 *     meeting         meeting
 */
export interface IfShape {
  readonly header: BlockNo;
  readonly ways: TwoWays;
  /** One or two, in the order of the layout. */
  readonly arms: readonly Arm[];
  readonly meeting: BlockNo;
  /** Is there a branch at the end of an arm, that goes with it? */
  readonly jumps: number;
}

/**
 * The if whose branch ends `header`; null if there is none. An arm that goes on to blocks that only it leads to is made one block
 * first, so that longer arms are found (the extended diamond of the reference).
 *
 * @param isPinned says of blocks that something other than control names
 */
export function ifShapeOf(d: Draft, header: BlockNo, isPinned: (b: BlockNo) => boolean): IfShape | null {
  const ways = twoWaysOf(d, header);
  if (ways === null || ways.taken === header || ways.fall === header) return null;
  const taken = mayBeArm(d, ways.taken, isPinned);
  const fall = mayBeArm(d, ways.fall, isPinned);
  const afterTaken = taken ? endOfArm(d, ways.taken) : -1;
  const afterFall = fall ? endOfArm(d, ways.fall) : -1;
  const shape = (meeting: BlockNo, ...blocks: BlockNo[]): IfShape | null => {
    if (meeting === header) return null;
    const arms = blocks.map((b) => ({ block: b, condition: conditionOf(ways, b), body: bodyOf(d, b) }));
    const jumps = blocks.filter((b) => d.terminator(b) >= 0).length;
    return { header, ways, arms, meeting, jumps };
  };
  if (afterFall >= 0 && afterFall === afterTaken) return shape(afterFall, ways.fall, ways.taken);
  if (afterFall === ways.taken) return shape(ways.taken, ways.fall);
  return afterTaken === ways.fall ? shape(ways.fall, ways.taken) : null;
}

/** Does only one block lead to it, and nothing name it? Phis with one value are for others to take out. */
function mayBeArm(d: Draft, b: BlockNo, isPinned: (b: BlockNo) => boolean): boolean {
  return b !== d.entryBlock && d.predecessors(b).length === 1 && d.phis(b).length === 0 && !isPinned(b);
}

/** Where an arm goes on, after all that follows it alone is part of it; -1 where it is no arm. */
function endOfArm(d: Draft, b: BlockNo): BlockNo {
  while (goesOn(d, b) >= 0 && d.mergeWithSuccessor(b));
  const to = goesOn(d, b);
  return to === b ? -1 : to;
}

/** The one block to which an unguarded branch or the end of the block leads; -1 if it ends in any other way. */
function goesOn(d: Draft, b: BlockNo): BlockNo {
  const n = d.terminator(b);
  if (n >= 0 && d.at(n).op.primitive !== 'branch') return -1;
  const to = d.successors(b);
  return to.length === 1 ? to[0] : -1;
}

/** Instructions but for the terminator. */
function bodyOf(d: Draft, b: BlockNo): Ins[] {
  const out: Ins[] = [];
  const end = d.terminator(b);
  for (let n = d.first(b); n >= 0 && n !== end; n = d.next(n)) out.push(n);
  return out;
}
