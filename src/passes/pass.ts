import type { WorkList } from '../analysis/changes.ts';
import type { Draft } from '../ir/draft/index.ts';
import type { PassContext } from '../ir/pass.ts';

// What every pass is made of stands in `ir`, because plans, rules and the engine speak of knobs and passes without knowing one.
export type {
  KnobValue,
  Pass,
  PassContext,
  ProgramContext,
  ProgramPass,
  RecipeForFn,
  Remark,
} from '../ir/pass.ts';

/**
 * An edit pass rewrites instructions of an open draft and leaves blocks and edges as they are. Edit passes and rules that follow one
 * another share the draft, and when they are repeated, `work` holds what changed since the pass last looked, and what that touches.
 * A pass takes instructions from `work` until it is empty; what it changes comes back there by itself.
 */
export type EditPass = (d: Draft, work: WorkList, ctx: PassContext) => void;
