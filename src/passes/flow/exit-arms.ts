import { predicateOf, twoWayBranchOf } from '../../analysis/flow/two-way-branch.ts';
import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { withGuard, withLoc } from '../../ir/edit.ts';
import type { Moves } from '../../ir/moves.ts';
import { Mod } from '../../ir/opcode.ts';
import { NO_REG, type Operand, type Reg } from '../../ir/operand.ts';
import { guardIn } from './if-conversion.ts';

/**
 * A branch with one successor that ends the function:
 *
 *     header
 *      |   \
 *     rest  last, which ends in EXIT or RET
 */
export interface ExitArm {
  readonly header: BlockNo;
  /** The block that ends the function. */
  readonly last: BlockNo;
  /** The other successor of the branch. */
  readonly rest: BlockNo;
  /** True if control goes to `last`. */
  readonly condition: Operand;
  /** Whether something other than control flow names `last`, which stays then. */
  readonly pinned: boolean;
  /** Instructions of `last` before its end. */
  readonly body: readonly Ins[];
}

const ENDS: ReadonlySet<string | null> = new Set(['exit', 'return']);

/**
 * The exit that the branch at the end of `header` jumps to; null if there is none. A block with other instructions must have no other
 * predecessor, so that it disappears; one that only ends the function may have more. An exit reached by falling through stays:
 * otherwise the path to `rest` would need an extra jump, around a loop for example.
 *
 * @param isPinned whether something other than control flow names the block
 */
export function exitArmOf(d: Draft, header: BlockNo, isPinned: (b: BlockNo) => boolean): ExitArm | null {
  const ways = twoWayBranchOf(d, header);
  if (ways === null) return null;
  const { taken: last, fall: rest } = ways;
  const n = d.terminator(last);
  if (n < 0 || !ENDS.has(d.at(n).op.primitive) || d.at(n).guard !== NO_REG) return null;
  if (d.phis(last).length > 0) return null;
  const body: Ins[] = [];
  for (let i = d.first(last); i !== n; i = d.next(i)) body.push(i);
  const pinned = isPinned(last);
  if (body.length > 0 && (pinned || d.predecessors(last).length > 1)) return null;
  return { header, last, rest, condition: predicateOf(ways, last), pinned, body };
}

/** Moves the body of the exit block into the header under the arm's condition, and ends the function there under that condition. */
export function applyExitArm(d: Draft, moves: Moves, arm: ExitArm): void {
  const { header, last, rest, condition, pinned, body } = arm;
  const end = d.at(d.terminator(last));
  const { loc } = d.at(d.terminator(header));
  const partial = new Set<Reg>();
  for (const n of body) {
    d.moveToEnd(n, header);
    guardIn(d, moves, n, condition, partial);
  }
  d.setTerminator(
    header,
    withLoc(withGuard(end, condition.reg, (condition.mods & Mod.Not) !== 0), end.loc || loc),
    rest,
  );
  if (!pinned && d.predecessors(last).length === 0 && d.isAlive(last) && last !== d.entryBlock)
    d.eraseBlock(last);
}
