import type { WorkList } from '../analysis/flow/changes.ts';
import type { Draft } from '../ir/draft/index.ts';
import type { PassContext } from '../ir/pass.ts';

// The types of passes are defined in `ir`, because plans, rules and the engine use knobs and passes without knowing
// any pass.
export type {
  KnobValue,
  Pass,
  PassContext,
  ProgramContext,
  ProgramPass,
  RecipeForFn,
  Remark,
} from '../ir/pass.ts';
export { isSet } from '../ir/pass.ts';

/**
 * An edit pass rewrites instructions of an open draft and keeps blocks and edges. Consecutive edit passes and rules share the draft.
 * When they are repeated, `work` contains what changed since the last run of the pass, and what that affects. A pass takes instructions
 * from `work` until it is empty; instructions that it changes are queued again automatically.
 */
export type EditPass = (d: Draft, work: WorkList, ctx: PassContext) => void;
