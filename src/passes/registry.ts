import type { PassNeeds } from '../ir/pass.ts';
import { analyzeControlFlow } from './analyze-control-flow.ts';
import { applyRecipes } from './apply-recipes.ts';
import { attachProfile } from './attach-profile.ts';
import { backCopyPropagation } from './back-copy-propagation.ts';
import { branchOpt } from './branch-opt.ts';
import { checkInitialProgram } from './check-initial-program.ts';
import { conditionalConstants } from './conditional-constants.ts';
import { constantFolding } from './constant-folding.ts';
import { constantGuards } from './constant-guards.ts';
import { constantOperands } from './constant-operands.ts';
import { convertMovPhi } from './convert-mov-phi.ts';
import { copyPropagation } from './copy-propagation.ts';
import { deadResults } from './dead-results.ts';
import { deadStores } from './dead-stores.ts';
import { earlyDeadCode } from './early-dead-code.ts';
import { equalMultiDefMoves } from './equal-multi-def-moves.ts';
import { equivalentConditions } from './equivalent-conditions.ts';
import { finalInspection } from './final-inspection.ts';
import { forwardStores } from './forward-stores.ts';
import { generateMovPhi } from './generate-mov-phi.ts';
import { guardedSelects } from './guarded-selects.ts';
import { gvnCse } from './gvn-cse.ts';
import { hoistCommon } from './hoist-common.ts';
import { hoistInvariants } from './hoist-invariants.ts';
import { lateCommoning } from './late-commoning.ts';
import { liveDead } from './live-dead.ts';
import { loopSimplification } from './loop-simplification.ts';
import { loopUnrolling } from './loop-unrolling.ts';
import { markColdBlocks } from './mark-cold-blocks.ts';
import { nestedConditions } from './nested-conditions.ts';
import type { EditPass, Pass, ProgramPass } from './pass.ts';
import { placeBlocks } from './place-blocks.ts';
import { predication } from './predication.ts';
import { promoteMemory } from './promote-memory.ts';
import { propagateVarying } from './propagate-varying.ts';
import { reassociate } from './reassociate.ts';
import { redundantBarriers } from './redundant-barriers.ts';
import { redundantMultiDefMoves } from './redundant-multi-def-moves.ts';
import { replaceUniforms } from './replace-uniforms.ts';
import { reportInitial } from './report-initial.ts';
import { sanitize } from './sanitize.ts';
import { sinkValues } from './sink-values.ts';
import { splitControlFlow } from './split-control-flow.ts';
import { splitLiveRanges } from './split-live-ranges.ts';
import { switchOpt } from './switch-opt.ts';
import { tailMerging } from './tail-merging.ts';

export { PASS_PARAMS } from './params.ts';

interface Entry {
  /** The name that phases bind to; the file's name. */
  readonly name: string;
  /** Raised whenever the pass may give another result for the same input: part of every cache key. */
  readonly version: number;
  readonly summary: string;
  /** What it reads and requires wherever it runs; the rest is declared by the phases that bind it. */
  readonly needs?: PassNeeds;
}
/**
 * A pass over one function after another; one that edits a draft, which it shares with its neighbours; or one over the whole program.
 */
export type PassEntry = Entry &
  ({ readonly pass: Pass } | { readonly edit: EditPass } | { readonly programPass: ProgramPass });

const entry = (
  name: string,
  pass: Pass,
  version: number,
  summary: string,
  needs: PassNeeds = {},
): [string, PassEntry] => [name, { name, pass, version, summary, needs }];

const edits = (
  name: string,
  edit: EditPass,
  version: number,
  summary: string,
  needs: PassNeeds = {},
): [string, PassEntry] => [name, { name, edit, version, summary, needs }];

/** Every pass that a phase can be bound to, by name. */
export const passes: ReadonlyMap<string, PassEntry> = new Map<string, PassEntry>([
  entry('check-initial-program', checkInitialProgram, 1, 'verify what the front end made'),
  entry('analyze-control-flow', analyzeControlFlow, 1, 'annotate blocks and loops, report what is irregular'),
  entry('redundant-barriers', redundantBarriers, 1, 'barriers and fences that repeat the last one', {
    knobs: ['Knob358'],
  }),
  entry('sink-values', sinkValues, 1, 'what only one way needs is computed on that way'),
  entry('split-control-flow', splitControlFlow, 1, 'cut blocks so that control operations are last'),
  entry(
    'loop-simplification',
    loopSimplification,
    1,
    'preheader, one latch, and the test at the bottom of loops',
  ),
  entry('loop-unrolling', loopUnrolling, 1, 'several rounds of a loop at once, in full or in part'),
  entry('split-live-ranges', splitLiveRanges, 1, 'a register used for several things becomes several'),
  entry('report-initial', reportInitial, 2, 'statistics header and Ori text for the report'),
  entry('replace-uniforms', replaceUniforms, 1, 'special registers that the kernel states are constants'),
  entry('early-dead-code', earlyDeadCode, 1, 'block-local dead-code removal'),
  entry('sanitize', sanitize, 1, 'verify, control operations last'),
  entry('branch-opt', branchOpt, 2, 'fold, simplify and thread branches, erase unreachable blocks'),
  entry('tail-merging', tailMerging, 1, 'equal blocks, and equal ends of blocks, become one'),
  entry(
    'equivalent-conditions',
    equivalentConditions,
    1,
    'branches that earlier ones decide are taken or passed by',
  ),
  entry('switch-opt', switchOpt, 1, 'jump table, search tree, test of bits or cascade for each switch'),
  entry('generate-mov-phi', generateMovPhi, 1, 'enter SSA: one definition a register, phis at joins'),
  entry('gvn-cse', gvnCse, 4, 'global value numbering: what is computed twice is computed once'),
  entry('hoist-invariants', hoistInvariants, 3, 'loop-invariant code moves in front of its loop'),
  entry('hoist-common', hoistCommon, 1, 'what both arms of a branch compute is computed in front of it'),
  entry('nested-conditions', nestedConditions, 1, 'two branches on the way to the same places become one'),
  entry('predication', predication, 1, 'short branches become guarded instructions and selects'),
  entry(
    'guarded-selects',
    guardedSelects,
    1,
    'what is selected is computed under the guard of its selection',
    { requires: ['ssa'] },
  ),
  entry('apply-recipes', applyRecipes, 1, 'report which recipes are applied to the function'),
  entry('attach-profile', attachProfile, 1, 'blocks have the counts of a profile'),
  entry('mark-cold-blocks', markColdBlocks, 1, 'report which blocks hardly ever run'),
  entry('place-blocks', placeBlocks, 1, 'blocks in the order in which control passes, cold ones last'),
  entry('propagate-varying', propagateVarying, 1, 'report which values and branches differ between lanes'),
  entry('forward-stores', forwardStores, 1, 'a load takes what a store has certainly written'),
  entry('dead-stores', deadStores, 1, 'remove stores that are overwritten or gone before anything reads'),
  entry('promote-memory', promoteMemory, 1, 'local variables at constant places become registers'),
  entry(
    'conditional-constants',
    conditionalConstants,
    2,
    'constants, ranges and branches, on the ways that control can take',
    { knobs: ['FoldApproximate', 'FPFoldDisable'] },
  ),
  entry('reassociate', reassociate, 2, 'trees of integer operations in one order, then common'),
  entry('late-commoning', lateCommoning, 2, 'value numbering once more'),
  entry('equal-multi-def-moves', equalMultiDefMoves, 1, 'phis that are equal around a loop become one'),
  entry('redundant-multi-def-moves', redundantMultiDefMoves, 1, 'phis of one value go'),
  entry('back-copy-propagation', backCopyPropagation, 1, 'compute where a copy would put it', {
    knobs: ['BackCopyPropBudget'],
  }),
  entry('convert-mov-phi', convertMovPhi, 3, 'leave SSA: phis become as few copies as live ranges allow'),
  entry('constant-operands', constantOperands, 1, 'arithmetic reads parameters in the constant bank', {
    facts: ['capabilities.constant-operands'],
  }),
  edits('copy-propagation', copyPropagation, 2, 'operands read what was copied'),
  edits('constant-folding', constantFolding, 1, 'compute instructions of constants', {
    knobs: ['FoldApproximate', 'FPFoldDisable'],
  }),
  edits('constant-guards', constantGuards, 1, 'drop guards that are known, and what never runs'),
  edits('dead-results', deadResults, 1, 'remove instructions whose results nobody reads'),
  entry('live-dead', liveDead, 1, 'global liveness and dead-code removal'),
  entry('final-inspection', finalInspection, 1, 'verify before code is laid out'),
]);
