import type { BlockNo, Draft } from '../ir/draft/index.ts';
import { NO_REG } from '../ir/operand.ts';

/** Takes out a guarded branch whose ways lead to one block now. */
export function foldBranch(d: Draft, b: BlockNo): void {
  const n = d.terminator(b);
  if (n < 0) return;
  const { op, guard, src } = d.at(n);
  if (op.primitive !== 'branch' || guard === NO_REG || d.blockById(src[0].lo) !== d.fall(b)) return;
  d.setTerminator(b, null, d.fall(b));
}
