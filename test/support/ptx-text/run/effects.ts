import type { Modifiers } from '../table/case.ts';
import { asynchronous } from './effects/async.ts';
import { atomics } from './effects/atomic.ts';
import { barriers } from './effects/barrier.ts';
import { control } from './effects/control.ts';
import { moves } from './effects/move.ts';
import { warps } from './effects/warp.ts';
import type { Step } from './lane.ts';
import type { Operands } from './operands.ts';

/** An instruction that does more than compute a result from its operands: prepares it for given modifiers and operands. */
export type Effect = (m: Modifiers, o: Operands) => Step;
export type Effects = Readonly<Record<string, Effect>>;

export const EFFECTS: Effects = {
  ...moves,
  ...control,
  ...warps,
  ...barriers,
  ...atomics,
  ...asynchronous,
};
