import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import { endsFlow } from '../../ir/flow.ts';
import { Kind, NO_REG } from '../../ir/operand.ts';

/** Removes a guarded branch whose targets are now the same block. */
export function foldBranch(d: Draft, b: BlockNo): void {
  const n = d.terminator(b);
  if (n < 0) return;
  const { op, guard, src } = d.at(n);
  if (op.primitive !== 'branch' || guard === NO_REG || d.blockById(src[0].lo) !== d.fall(b)) return;
  d.setTerminator(b, null, d.fall(b));
}

/** Removes an unconditional branch to the next block. */
export function foldJump(d: Draft, b: BlockNo): void {
  const n = d.terminator(b);
  if (n < 0) return;
  const x = d.at(n);
  if (x.op.primitive !== 'branch' || !endsFlow(x) || x.src[0].kind !== Kind.Label) return;
  const to = d.blockById(x.src[0].lo);
  if (to >= 0 && to !== b && to === d.below(b)) d.setTerminator(b, null, to);
}
