import { controlIsLast } from '../../analysis/flow/cfg.ts';
import type { Fn } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

/** Whether control operations are at the ends of blocks only, which passes over the flow graph need; a remark says so if they are not. */
export function hasControlLast(fn: Fn, ctx: PassContext): boolean {
  if (controlIsLast(fn)) return true;
  ctx.remark(
    'missed',
    'control-not-last',
    'a control operation is in the middle of a block: run phase 6 first',
  );
  return false;
}
