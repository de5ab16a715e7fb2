import { predicateOf, type TwoWayBranch, twoWayBranchOf } from '../../analysis/flow/two-way-branch.ts';
import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import type { Operand } from '../../ir/operand.ts';

/**
 * One side of an if: a sequence of blocks that runs if a condition holds, and continues to the block where both sides
 * meet.
 */
export interface Arm {
  readonly blocks: readonly BlockNo[];
  readonly first: BlockNo;
  readonly last: BlockNo;
  /** True if control goes to the arm. */
  readonly condition: Operand;
  /** Its instructions except branches. */
  readonly body: readonly Ins[];
  /** Number of branches that disappear with it. */
  readonly jumps: number;
}

/**
 * A branch and the code that it skips: a triangle with one arm, or a diamond with two.
 *
 *     header          header
 *      |   \           /   \
 *      |   arm       arm   arm
 *      |   /           \   /
 *     meeting         meeting
 */
export interface IfShape {
  readonly header: BlockNo;
  readonly ways: TwoWayBranch;
  /** One or two, in layout order. */
  readonly arms: readonly Arm[];
  readonly meeting: BlockNo;
}

/**
 * The if whose branch ends `header`; null if there is none. Blocks reached only from an arm are part of it (the
 * extended diamond of the reference).
 *
 * @param isPinned whether something other than control flow names the block
 */
export function ifShapeOf(d: Draft, header: BlockNo, isPinned: (b: BlockNo) => boolean): IfShape | null {
  const ways = twoWayBranchOf(d, header);
  if (ways === null || ways.taken === header || ways.fall === header) return null;
  const taken = chain(d, ways.taken, isPinned);
  const fall = chain(d, ways.fall, isPinned);
  const afterTaken = after(d, taken);
  const afterFall = after(d, fall);
  const shape = (meeting: BlockNo, ...arms: BlockNo[][]): IfShape | null =>
    meeting === header
      ? null
      : { header, ways, arms: arms.map((a) => armOf(d, predicateOf(ways, a[0]), a)), meeting };
  if (afterFall >= 0 && afterFall === afterTaken) return shape(afterFall, fall, taken);
  if (afterFall === ways.taken) return shape(ways.taken, fall);
  return afterTaken === ways.fall ? shape(ways.fall, taken) : null;
}

const armOf = (d: Draft, condition: Operand, blocks: readonly BlockNo[]): Arm => ({
  blocks,
  first: blocks[0],
  last: blocks[blocks.length - 1],
  condition,
  body: blocks.flatMap((b) => bodyOf(d, b)),
  jumps: blocks.filter((b) => d.terminator(b) >= 0).length,
});

/** Does it have only one predecessor, and does nothing name it? Phis with one value are removed elsewhere. */
function mayBeArm(d: Draft, b: BlockNo, isPinned: (b: BlockNo) => boolean): boolean {
  return b !== d.entryBlock && d.predecessors(b).length === 1 && d.phis(b).length === 0 && !isPinned(b);
}

/** Maximum number of blocks of an arm; longer ones are never worth converting. */
const MOST_BLOCKS = 16;

/** The chain of blocks from `b` on that may belong to one arm; empty if `b` may not. */
function chain(d: Draft, b: BlockNo, isPinned: (b: BlockNo) => boolean): BlockNo[] {
  const out: BlockNo[] = [];
  for (
    let x = b;
    x >= 0 && out.length < MOST_BLOCKS && mayBeArm(d, x, isPinned) && !out.includes(x);
    x = onlySuccessor(d, x)
  )
    out.push(x);
  return out;
}

/** The successor of a chain; -1 if it is empty or ends differently. */
const after = (d: Draft, blocks: readonly BlockNo[]): BlockNo =>
  blocks.length === 0 ? -1 : onlySuccessor(d, blocks[blocks.length - 1]);

/** The only successor of a block that ends in an unguarded branch or falls through; -1 if it ends differently. */
function onlySuccessor(d: Draft, b: BlockNo): BlockNo {
  const n = d.terminator(b);
  if (n >= 0 && d.at(n).op.primitive !== 'branch') return -1;
  const to = d.successors(b);
  return to.length === 1 ? to[0] : -1;
}

/** Instructions except the terminator. */
function bodyOf(d: Draft, b: BlockNo): Ins[] {
  const out: Ins[] = [];
  const end = d.terminator(b);
  for (let n = d.first(b); n >= 0 && n !== end; n = d.next(n)) out.push(n);
  return out;
}
