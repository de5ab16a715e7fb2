import type { PassNeeds } from '../ir/pass.ts';
import { addressRecurrences } from './address-recurrences.ts';
import { analyzeControlFlow } from './analyze-control-flow.ts';
import { applyRecipes } from './apply-recipes.ts';
import { attachProfile } from './attach-profile.ts';
import { backCopyPropagation } from './back-copy-propagation.ts';
import { branchOpt } from './branch-opt.ts';
import { checkInitialProgram } from './check-initial-program.ts';
import { checkMatrixGroups } from './check-matrix-groups.ts';
import { compactLocal } from './compact-local.ts';
import { conditionalConstants } from './conditional-constants.ts';
import { constantFolding } from './constant-folding.ts';
import { constantGuards } from './constant-guards.ts';
import { constantOperands } from './constant-operands.ts';
import { convertMovPhi } from './convert-mov-phi.ts';
import { convertToUniform } from './convert-to-uniform.ts';
import { copyPropagation } from './copy-propagation.ts';
import { deadResults } from './dead-results.ts';
import { deadStores } from './dead-stores.ts';
import { dropRegions } from './drop-regions.ts';
import { earlyDeadCode } from './early-dead-code.ts';
import { enforceArguments } from './enforce-arguments.ts';
import { equalMultiDefMoves } from './equal-multi-def-moves.ts';
import { equivalentConditions } from './equivalent-conditions.ts';
import { expandReductions } from './expand-reductions.ts';
import { expandSync } from './expand-sync.ts';
import { expandTableJumps } from './expand-table-jumps.ts';
import { finalInspection } from './final-inspection.ts';
import { forwardProgress } from './forward-progress.ts';
import { forwardStores } from './forward-stores.ts';
import { generateMovPhi } from './generate-mov-phi.ts';
import { guardedSelects } from './guarded-selects.ts';
import { gvnCse } from './gvn-cse.ts';
import { hoistCommon } from './hoist-common.ts';
import { hoistInvariants } from './hoist-invariants.ts';
import { inlineFunctions } from './inline-functions.ts';
import { insertRegions } from './insert-regions.ts';
import { lateCommoning } from './late-commoning.ts';
import { liveDead } from './live-dead.ts';
import { loopFusion } from './loop-fusion.ts';
import { loopSimplification } from './loop-simplification.ts';
import { loopUnrolling } from './loop-unrolling.ts';
import { markColdBlocks } from './mark-cold-blocks.ts';
import { markOperands } from './mark-operands.ts';
import { mergeSync } from './merge-sync.ts';
import { moveInstructions } from './move-instructions.ts';
import { nestedConditions } from './nested-conditions.ts';
import { orderSharedVariables } from './order-shared-variables.ts';
import { pairWindow } from './pair-window.ts';
import type { EditPass, Pass, ProgramPass } from './pass.ts';
import { pipelining } from './pipelining.ts';
import { placeBlocks } from './place-blocks.ts';
import { predication } from './predication.ts';
import { promoteHalf } from './promote-half.ts';
import { promoteMemory } from './promote-memory.ts';
import { propagateVarying } from './propagate-varying.ts';
import { reassociate } from './reassociate.ts';
import { redundantBarriers } from './redundant-barriers.ts';
import { redundantMultiDefMoves } from './redundant-multi-def-moves.ts';
import { rematerialize } from './rematerialize.ts';
import { replaceUniforms } from './replace-uniforms.ts';
import { reportAllocation } from './report-allocation.ts';
import { reportInitial } from './report-initial.ts';
import { reportRegisters } from './report-registers.ts';
import { reportScheduling } from './report-scheduling.ts';
import { sanitize } from './sanitize.ts';
import { sinkValues } from './sink-values.ts';
import { speculativeLoads } from './speculative-loads.ts';
import { splitControlFlow } from './split-control-flow.ts';
import { splitHighPressure } from './split-high-pressure.ts';
import { splitLiveRanges } from './split-live-ranges.ts';
import { switchOpt } from './switch-opt.ts';
import { tailMerging } from './tail-merging.ts';
import { targetBranches } from './target-branches.ts';
import { trackAccumulators } from './track-accumulators.ts';
import { uniformAtomics } from './uniform-atomics.ts';
import { unneededBits } from './unneeded-bits.ts';
import { vectorize } from './vectorize.ts';

export { PASS_PARAMS } from './params.ts';

interface Entry {
  /** The name that phases bind to; also the file's name. */
  readonly name: string;
  /** Raised whenever the pass may give a different result for the same input: part of every cache key. */
  readonly version: number;
  readonly summary: string;
  /** What it reads and requires wherever it runs; phases that bind it declare the rest. */
  readonly needs?: PassNeeds;
}
/**
 * A pass over one function at a time; a pass that edits a draft, which it shares with adjacent ones; or a pass over
 * the whole program.
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
  entry('redundant-barriers', redundantBarriers, 3, 'remove barriers and fences that repeat the last one', {
    knobs: ['Knob358'],
  }),
  entry('sink-values', sinkValues, 2, 'sink values into the only path that needs them'),
  entry('rematerialize', rematerialize, 1, 'recompute cheap values where registers are short', {
    facts: ['limits', 'costs'],
    requires: ['ssa'],
  }),
  entry('move-instructions', moveInstructions, 1, 'start loads early, compute values late, within blocks', {
    knobs: ['Knob381'],
    facts: ['limits', 'costs', 'latencies'],
    requires: ['control-last', 'ssa'],
  }),
  entry('speculative-loads', speculativeLoads, 1, 'report which constants may be loaded anywhere'),
  entry('split-control-flow', splitControlFlow, 1, 'cut blocks so that control operations are last'),
  entry(
    'loop-simplification',
    loopSimplification,
    1,
    'give loops a preheader, one latch, and the test at the bottom',
  ),
  entry('loop-fusion', loopFusion, 1, 'let two loops that run equally often run as one', {
    knobs: ['PerformLoopFusionBudget'],
    requires: ['control-last', 'ssa'],
  }),
  entry('address-recurrences', addressRecurrences, 1, 'advance addresses from one iteration to the next'),
  entry('loop-unrolling', loopUnrolling, 2, 'unroll loops, in full or in part', { facts: ['limits'] }),
  entry('pipelining', pipelining, 1, 'start loads of an iteration while the one before still computes', {
    knobs: ['OkToPipelineNoUnroll'],
    facts: ['costs', 'latencies'],
    requires: ['control-last', 'ssa'],
  }),
  entry('split-live-ranges', splitLiveRanges, 1, 'split registers that are used for several values'),
  entry(
    'split-high-pressure',
    splitHighPressure,
    1,
    'split ranges of constants where registers do not suffice',
    {
      facts: ['limits', 'costs'],
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry('report-initial', reportInitial, 2, 'statistics header and Ori text for the report'),
  entry('report-scheduling', reportScheduling, 1, 'the same with a line for each loop'),
  entry('report-registers', reportRegisters, 1, 'the same with pressure, warps, and what lives across calls'),
  entry('report-allocation', reportAllocation, 1, 'the same, with what registers are'),
  entry('replace-uniforms', replaceUniforms, 1, 'replace special registers that directives fix by constants'),
  entry('early-dead-code', earlyDeadCode, 1, 'block-local dead-code removal'),
  entry('sanitize', sanitize, 1, 'verify, control operations last'),
  entry('branch-opt', branchOpt, 2, 'fold, simplify and thread branches, erase unreachable blocks'),
  entry('tail-merging', tailMerging, 1, 'merge equal blocks and equal ends of blocks'),
  entry(
    'equivalent-conditions',
    equivalentConditions,
    3,
    'resolve or bypass branches that earlier ones decide',
  ),
  entry('switch-opt', switchOpt, 1, 'choose jump table, search tree, bit test or cascade for each switch'),
  entry('expand-sync', expandSync, 1, 'put an error barrier behind fences of the system', {
    knobs: ['DisableErrbarAfterMembar'],
    facts: ['capabilities.error-barrier'],
  }),
  entry('expand-table-jumps', expandTableJumps, 1, 'make the indices of jump tables offsets into them', {
    facts: ['encoding.instruction-bytes'],
  }),
  entry('drop-regions', dropRegions, 1, 'regions in which no branch parts lanes any more go', {
    requires: ['control-last'],
  }),
  entry('insert-regions', insertRegions, 1, 'regions at whose ends lanes that parted wait for each other', {
    knobs: ['ExpandSyncInstLate'],
    facts: ['limits.convergence-barriers'],
    requires: ['control-last'],
  }),
  entry('target-branches', targetBranches, 1, 'what a target does with branches before they are simplified', {
    knobs: ['Knob232', 'Knob351'],
    facts: ['slots.136', 'encoding.instruction-bytes'],
    requires: ['control-last'],
  }),
  entry('generate-mov-phi', generateMovPhi, 2, 'enter SSA: one definition per register, phis at joins'),
  entry('gvn-cse', gvnCse, 4, 'global value numbering: compute equal expressions once'),
  entry('hoist-invariants', hoistInvariants, 4, 'move loop-invariant code in front of its loop'),
  entry('hoist-common', hoistCommon, 1, 'hoist expressions that both arms of a branch compute'),
  entry('nested-conditions', nestedConditions, 1, 'merge two branches that lead to the same places'),
  entry('predication', predication, 3, 'turn short branches into guarded instructions and selects'),
  entry('guarded-selects', guardedSelects, 1, 'compute selected values under the guard of the selection', {
    requires: ['ssa'],
  }),
  entry('apply-recipes', applyRecipes, 1, 'report which recipes apply to the function'),
  entry('attach-profile', attachProfile, 1, 'give blocks the counts of a profile'),
  entry('mark-cold-blocks', markColdBlocks, 1, 'report which blocks hardly ever run'),
  entry('place-blocks', placeBlocks, 1, 'order blocks along the paths of control, cold ones last'),
  entry('merge-sync', mergeSync, 2, 'remove synchronization that an adjacent one covers'),
  entry('propagate-varying', propagateVarying, 1, 'report which values and branches differ between lanes'),
  entry('forward-progress', forwardProgress, 1, 'give way in loops that wait for other threads', {
    requires: ['control-last', 'ssa'],
  }),
  entry('forward-stores', forwardStores, 1, 'replace loads by values that were surely stored'),
  entry('dead-stores', deadStores, 1, 'remove stores that nothing reads before they are overwritten or gone'),
  entry('promote-half', promoteHalf, 1, 'compute half-precision operations in single precision', {
    facts: ['operations'],
  }),
  entry('expand-reductions', expandReductions, 1, 'reduce over a whole warp by exchanges between lanes', {
    facts: ['operations'],
  }),
  entry('promote-memory', promoteMemory, 2, 'promote local variables at constant offsets to registers', {
    knobs: [
      'ConvertMemoryToRegIndexedSizeLimit',
      'MovWeightForConvertMemToReg',
      'Knob132',
      'Knob133',
      'Knob134',
      'Knob136',
    ],
    facts: ['limits'],
  }),
  entry('compact-local', compactLocal, 1, 'close gaps in local variables, remove unused ones'),
  entry(
    'conditional-constants',
    conditionalConstants,
    2,
    'propagate constants and ranges along executable paths, decide branches',
    { knobs: ['FoldApproximate', 'FPFoldDisable', 'LimitFoldFp'] },
  ),
  entry('mark-operands', markOperands, 1, 'mark what comparisons and selections write, then propagate it', {
    knobs: ['LimitFoldFp'],
    facts: ['code', 'slots.1312', 'slots.1320', 'capabilities.careful-constants'],
    requires: ['control-last', 'ssa'],
  }),
  entry('pair-window', pairWindow, 1, 'find equal pairs of operations in a window of six', {
    knobs: ['AllowReassociateCSE', 'Knob603', 'ReassociateCSEWindow'],
    facts: ['class'],
    requires: ['ssa'],
  }),
  entry('reassociate', reassociate, 2, 'put trees of integer operations in order, then number values'),
  [
    'inline-functions',
    {
      name: 'inline-functions',
      programPass: inlineFunctions,
      version: 1,
      summary: 'replace calls of device functions by their code',
      needs: { requires: ['control-last', 'phi-free'] },
    },
  ],
  [
    'order-shared-variables',
    {
      name: 'order-shared-variables',
      programPass: orderSharedVariables,
      version: 1,
      summary: 'declare shared variables in the order that pads least',
    },
  ],
  entry('late-commoning', lateCommoning, 2, 'value numbering once more'),
  entry('equal-multi-def-moves', equalMultiDefMoves, 1, 'merge phis that are equal around a loop'),
  entry('redundant-multi-def-moves', redundantMultiDefMoves, 1, 'remove phis with a single value'),
  entry(
    'back-copy-propagation',
    backCopyPropagation,
    1,
    'compute values directly into the target of their copy',
    {
      knobs: ['BackCopyPropBudget'],
    },
  ),
  entry('convert-mov-phi', convertMovPhi, 4, 'leave SSA with as few copies as live ranges allow'),
  entry('convert-to-uniform', convertToUniform, 1, 'move what a warp needs once to uniform registers', {
    knobs: ['Knob862', 'DisableConvergentWriteUR', 'DisableURLiveAcrossConvBound'],
    facts: ['uniform', 'limits'],
    requires: ['control-last', 'phi-free'],
  }),
  entry('constant-operands', constantOperands, 1, 'let arithmetic read parameters from the constant bank', {
    facts: ['capabilities.constant-operands'],
  }),
  entry(
    'enforce-arguments',
    enforceArguments,
    1,
    'load what an instruction cannot read from constant banks',
    {
      facts: ['capabilities.constant-operands'],
    },
  ),
  entry('unneeded-bits', unneededBits, 1, 'remove masks and extensions whose effect nobody sees'),
  edits('copy-propagation', copyPropagation, 2, 'replace operands by what they are copies of'),
  edits('constant-folding', constantFolding, 1, 'evaluate instructions with constant operands', {
    knobs: ['FoldApproximate', 'FPFoldDisable', 'LimitFoldFp'],
  }),
  edits('constant-guards', constantGuards, 1, 'remove known guards, and instructions that never run'),
  edits('dead-results', deadResults, 1, 'remove instructions whose results are never read'),
  [
    'vectorize',
    {
      name: 'vectorize',
      programPass: vectorize,
      version: 1,
      summary: 'make vector accesses of adjacent loads and stores',
      needs: {
        knobs: ['DisableReadVectorization', 'DisableWriteVectorization'],
        facts: ['param-base'],
        requires: ['control-last', 'ssa'],
      },
    },
  ],
  entry('uniform-atomics', uniformAtomics, 2, 'let one lane apply what the lanes of a warp would', {
    knobs: ['OptimizeUniformAtomicMode'],
    facts: ['capabilities.redux'],
    requires: ['ssa'],
  }),
  entry(
    'track-accumulators',
    trackAccumulators,
    1,
    'report how many accumulators matrix products keep in flight',
    {
      knobs: ['Knob364'],
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry(
    'check-matrix-groups',
    checkMatrixGroups,
    1,
    'say where ptxas will break up groups of matrix products',
    {
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry('live-dead', liveDead, 2, 'global liveness, removal of dead code and unused variables'),
  entry(
    'final-inspection',
    finalInspection,
    2,
    'verify before code is laid out, refuse what the target lacks',
    {
      facts: ['operations'],
    },
  ),
]);
