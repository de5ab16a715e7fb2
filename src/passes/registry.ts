import type { PassNeeds } from '../ir/pass.ts';
import { enforceArguments } from './calls/enforce-arguments.ts';
import { inlineFunctions } from './calls/inline-functions.ts';
import { analyzeControlFlow } from './flow/analyze-control-flow.ts';
import { attachProfile } from './flow/attach-profile.ts';
import { branchOpt } from './flow/branch-opt.ts';
import { constantGuards } from './flow/constant-guards.ts';
import { equivalentConditions } from './flow/equivalent-conditions.ts';
import { guardedSelects } from './flow/guarded-selects.ts';
import { hoistCommon } from './flow/hoist-common.ts';
import { markColdBlocks } from './flow/mark-cold-blocks.ts';
import { nestedConditions } from './flow/nested-conditions.ts';
import { placeBlocks } from './flow/place-blocks.ts';
import { predication } from './flow/predication.ts';
import { splitControlFlow } from './flow/split-control-flow.ts';
import { switchOpt } from './flow/switch-opt.ts';
import { tailMerging } from './flow/tail-merging.ts';
import { targetBranches } from './flow/target-branches.ts';
import { addressRecurrences } from './loops/address-recurrences.ts';
import { hoistInvariants } from './loops/hoist-invariants.ts';
import { loopFusion } from './loops/loop-fusion.ts';
import { loopSimplification } from './loops/loop-simplification.ts';
import { loopUnrolling } from './loops/loop-unrolling.ts';
import { pipelining } from './loops/pipelining.ts';
import { expandReductions } from './lowering/expand-reductions.ts';
import { expandSync } from './lowering/expand-sync.ts';
import { expandTableJumps } from './lowering/expand-table-jumps.ts';
import { promoteHalf } from './lowering/promote-half.ts';
import { compactLocal } from './memory/compact-local.ts';
import { deadStores } from './memory/dead-stores.ts';
import { forwardStores } from './memory/forward-stores.ts';
import { orderSharedVariables } from './memory/order-shared-variables.ts';
import { pairWindow } from './memory/pair-window.ts';
import { promoteMemory } from './memory/promote-memory.ts';
import { speculativeLoads } from './memory/speculative-loads.ts';
import { vectorize } from './memory/vectorize.ts';
import type { EditPass, Pass, ProgramPass } from './pass.ts';
import { moveInstructions } from './registers/move-instructions.ts';
import { rematerialize } from './registers/rematerialize.ts';
import { sinkValues } from './registers/sink-values.ts';
import { splitHighPressure } from './registers/split-high-pressure.ts';
import { splitLiveRanges } from './registers/split-live-ranges.ts';
import { trackAccumulators } from './registers/track-accumulators.ts';
import { applyRecipes } from './reports/apply-recipes.ts';
import { checkInitialProgram } from './reports/check-initial-program.ts';
import { dependentTextures } from './reports/dependent-textures.ts';
import { finalInspection } from './reports/final-inspection.ts';
import { reportAllocation } from './reports/report-allocation.ts';
import { reportInitial } from './reports/report-initial.ts';
import { reportRegisters } from './reports/report-registers.ts';
import { reportScheduling } from './reports/report-scheduling.ts';
import { sanitize } from './reports/sanitize.ts';
import { checkMatrixGroups } from './synchronization/check-matrix-groups.ts';
import { dropRegions } from './synchronization/drop-regions.ts';
import { forwardProgress } from './synchronization/forward-progress.ts';
import { insertRegions } from './synchronization/insert-regions.ts';
import { mergeSync } from './synchronization/merge-sync.ts';
import { redundantBarriers } from './synchronization/redundant-barriers.ts';
import { convertToUniform } from './uniformity/convert-to-uniform.ts';
import { propagateVarying } from './uniformity/propagate-varying.ts';
import { replaceUniforms } from './uniformity/replace-uniforms.ts';
import { uniformAtomics } from './uniformity/uniform-atomics.ts';
import { backCopyPropagation } from './values/back-copy-propagation.ts';
import { conditionalConstants } from './values/conditional-constants.ts';
import { constantFolding } from './values/constant-folding.ts';
import { constantOperands } from './values/constant-operands.ts';
import { convertMovPhi } from './values/convert-mov-phi.ts';
import { copyPropagation } from './values/copy-propagation.ts';
import { deadResults } from './values/dead-results.ts';
import { earlyDeadCode } from './values/early-dead-code.ts';
import { equalMultiDefMoves } from './values/equal-multi-def-moves.ts';
import { generateMovPhi } from './values/generate-mov-phi.ts';
import { gvnCse } from './values/gvn-cse.ts';
import { lateCommoning } from './values/late-commoning.ts';
import { liveDead } from './values/live-dead.ts';
import { markOperands } from './values/mark-operands.ts';
import { reassociate } from './values/reassociate.ts';
import { redundantMultiDefMoves } from './values/redundant-multi-def-moves.ts';
import { unneededBits } from './values/unneeded-bits.ts';

export { PASS_PARAMS } from './params.ts';

interface Entry {
  /** The name that phases bind to; also the file's name. */
  readonly name: string;
  readonly summary: string;
  /** Knobs, facts and properties that the pass needs wherever it runs; phases that bind it declare the rest. */
  readonly needs?: PassNeeds;
}
/**
 * A pass over one function at a time; a pass that edits a draft, which it shares with adjacent ones; a pass over the whole program; or a
 * pass of the back end over the machine code of one function, which runs only where machine code is asked for, and is given there.
 */
export type PassEntry = Entry &
  (
    | { readonly pass: Pass }
    | { readonly edit: EditPass }
    | { readonly programPass: ProgramPass }
    | { readonly machineCode: true }
  );

const entry = (name: string, pass: Pass, summary: string, needs: PassNeeds = {}): [string, PassEntry] => [
  name,
  { name, pass, summary, needs },
];

const edits = (name: string, edit: EditPass, summary: string, needs: PassNeeds = {}): [string, PassEntry] => [
  name,
  { name, edit, summary, needs },
];

const backEnd = (name: string, summary: string, needs: PassNeeds = {}): [string, PassEntry] => [
  name,
  { name, machineCode: true, summary, needs },
];

/** Every pass that a phase can be bound to, by name. */
export const passes: ReadonlyMap<string, PassEntry> = new Map<string, PassEntry>([
  entry('check-initial-program', checkInitialProgram, 'verify what the front end made'),
  entry('analyze-control-flow', analyzeControlFlow, 'annotate blocks and loops, report what is irregular'),
  entry('redundant-barriers', redundantBarriers, 'remove barriers and fences that repeat the last one', {
    knobs: ['Knob358'],
  }),
  entry('sink-values', sinkValues, 'sink values into the only path that needs them'),
  entry('rematerialize', rematerialize, 'recompute cheap values under high register pressure', {
    facts: ['limits', 'costs'],
    requires: ['ssa'],
  }),
  entry('move-instructions', moveInstructions, 'start loads early, compute values late, within blocks', {
    knobs: ['Knob381'],
    facts: ['limits', 'costs', 'latencies'],
    requires: ['control-last', 'ssa'],
  }),
  entry('speculative-loads', speculativeLoads, 'report which constants may be loaded anywhere'),
  entry('split-control-flow', splitControlFlow, 'split blocks after control operations'),
  entry(
    'loop-simplification',
    loopSimplification,
    'give loops a preheader, one latch, and the test at the bottom',
  ),
  entry('loop-fusion', loopFusion, 'fuse adjacent loops with equal trip counts', {
    knobs: ['PerformLoopFusionBudget'],
    requires: ['control-last', 'ssa'],
  }),
  entry('address-recurrences', addressRecurrences, 'advance addresses from one iteration to the next'),
  entry('loop-unrolling', loopUnrolling, 'unroll loops, in full or in part', {
    facts: ['limits', 'capabilities.constant-operands'],
  }),
  entry('pipelining', pipelining, 'overlap loads of an iteration with the computation of the one before', {
    knobs: ['OkToPipelineNoUnroll'],
    facts: ['costs', 'latencies'],
    requires: ['control-last', 'ssa'],
  }),
  entry('split-live-ranges', splitLiveRanges, 'split registers that are used for several values'),
  entry(
    'split-high-pressure',
    splitHighPressure,
    'split live ranges of constants under high register pressure',
    {
      facts: ['limits', 'costs'],
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry('report-initial', reportInitial, 'statistics header and Ori text for the report'),
  entry('report-scheduling', reportScheduling, 'the same with a line for each loop'),
  entry('report-registers', reportRegisters, 'the same with pressure, warps, and what lives across calls'),
  entry('report-allocation', reportAllocation, 'the same, with the number of allocated registers'),
  entry(
    'replace-uniforms',
    replaceUniforms,
    'replace special registers by constants where directives fix them',
  ),
  entry('early-dead-code', earlyDeadCode, 'block-local dead-code removal'),
  entry('sanitize', sanitize, 'verify, control operations last'),
  entry('branch-opt', branchOpt, 'fold, simplify and thread branches, erase unreachable blocks'),
  entry('tail-merging', tailMerging, 'merge equal blocks and equal ends of blocks'),
  entry('equivalent-conditions', equivalentConditions, 'resolve or bypass branches that earlier ones decide'),
  entry('switch-opt', switchOpt, 'choose jump table, search tree, bit test or cascade for each switch'),
  entry('expand-sync', expandSync, 'insert an error barrier after system-wide fences', {
    knobs: ['DisableErrbarAfterMembar'],
    facts: ['capabilities.error-barrier'],
  }),
  entry('expand-table-jumps', expandTableJumps, 'turn the indices of jump tables into offsets', {
    facts: ['encoding.instruction-bytes'],
  }),
  entry('drop-regions', dropRegions, 'remove regions in which lanes no longer diverge', {
    requires: ['control-last'],
  }),
  entry('insert-regions', insertRegions, 'insert regions at whose ends lanes reconverge', {
    knobs: ['ExpandSyncInstLate'],
    facts: ['limits.convergence-barriers'],
    requires: ['control-last'],
  }),
  entry(
    'target-branches',
    targetBranches,
    'apply changes of the target to branches before they are simplified',
    {
      knobs: ['Knob232', 'Knob351'],
      facts: ['slots.136', 'encoding.instruction-bytes'],
      requires: ['control-last'],
    },
  ),
  entry('generate-mov-phi', generateMovPhi, 'construct SSA: one definition per register, phis at joins'),
  entry('gvn-cse', gvnCse, 'global value numbering: compute equal expressions once', {
    facts: ['slots.184'],
  }),
  entry('hoist-invariants', hoistInvariants, 'move loop-invariant code in front of its loop'),
  entry('hoist-common', hoistCommon, 'hoist expressions that both arms of a branch compute'),
  entry('nested-conditions', nestedConditions, 'merge two branches with the same targets'),
  entry('predication', predication, 'turn short branches into guarded instructions and selects'),
  entry('guarded-selects', guardedSelects, 'compute selected values under the guard of the selection', {
    requires: ['ssa'],
  }),
  entry('apply-recipes', applyRecipes, 'report which recipes apply to the function'),
  entry('attach-profile', attachProfile, 'give blocks the counts of a profile'),
  entry('mark-cold-blocks', markColdBlocks, 'report cold blocks'),
  entry('place-blocks', placeBlocks, 'lay out blocks along hot paths, cold ones last'),
  entry('merge-sync', mergeSync, 'remove synchronization that an adjacent one covers'),
  entry('propagate-varying', propagateVarying, 'report which values and branches differ between lanes'),
  entry('forward-progress', forwardProgress, 'yield in loops that wait for other threads', {
    requires: ['control-last', 'ssa'],
  }),
  entry('forward-stores', forwardStores, 'replace loads by values that are known to be stored'),
  entry('dead-stores', deadStores, 'remove stores that are overwritten or out of scope before a read'),
  entry('promote-half', promoteHalf, 'compute half-precision operations in single precision', {
    facts: ['operations'],
  }),
  entry('expand-reductions', expandReductions, 'expand reductions over a warp to shuffles', {
    facts: ['operations'],
  }),
  entry('promote-memory', promoteMemory, 'promote local variables at constant offsets to registers', {
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
  entry('compact-local', compactLocal, 'close gaps in local variables, remove unused ones'),
  entry(
    'conditional-constants',
    conditionalConstants,
    'propagate constants and ranges along executable paths, decide branches',
    { knobs: ['FoldApproximate', 'FPFoldDisable', 'LimitFoldFp'] },
  ),
  entry('mark-operands', markOperands, 'mark what comparisons and selections write, then propagate it', {
    knobs: ['LimitFoldFp'],
    facts: ['code', 'slots.1312', 'slots.1320', 'capabilities.careful-constants'],
    requires: ['control-last', 'ssa'],
  }),
  entry('pair-window', pairWindow, 'find equal pairs of operations in a window of six', {
    knobs: ['AllowReassociateCSE', 'Knob603', 'ReassociateCSEWindow'],
    facts: ['class'],
    requires: ['ssa'],
  }),
  entry('reassociate', reassociate, 'sort trees of integer operations, then number values'),
  [
    'inline-functions',
    {
      name: 'inline-functions',
      programPass: inlineFunctions,
      summary: 'inline calls of device functions',
      needs: { requires: ['control-last', 'phi-free'] },
    },
  ],
  [
    'order-shared-variables',
    {
      name: 'order-shared-variables',
      programPass: orderSharedVariables,
      summary: 'declare shared variables in the order with the least padding',
    },
  ],
  entry('late-commoning', lateCommoning, 'number values a second time'),
  entry('equal-multi-def-moves', equalMultiDefMoves, 'merge phis that are equal around a loop'),
  entry('redundant-multi-def-moves', redundantMultiDefMoves, 'remove phis with a single value'),
  entry(
    'back-copy-propagation',
    backCopyPropagation,
    'compute values directly into the destination of their copy',
    {
      knobs: ['BackCopyPropBudget'],
    },
  ),
  entry('convert-mov-phi', convertMovPhi, 'destruct SSA with as few copies as live ranges allow'),
  entry('convert-to-uniform', convertToUniform, 'move values common to a warp to uniform registers', {
    knobs: ['Knob862', 'DisableConvergentWriteUR', 'DisableURLiveAcrossConvBound'],
    facts: ['uniform', 'limits'],
    requires: ['control-last', 'phi-free'],
  }),
  entry('constant-operands', constantOperands, 'let arithmetic read parameters from the constant bank', {
    facts: ['capabilities.constant-operands'],
  }),
  entry('enforce-arguments', enforceArguments, 'load what an instruction cannot read from constant banks', {
    facts: ['capabilities.constant-operands'],
  }),
  entry('unneeded-bits', unneededBits, 'remove masks and extensions whose effect is never observed'),
  edits('copy-propagation', copyPropagation, 'replace operands by what they are copies of'),
  edits('constant-folding', constantFolding, 'evaluate instructions with constant operands', {
    knobs: ['FoldApproximate', 'FPFoldDisable', 'LimitFoldFp'],
  }),
  edits('constant-guards', constantGuards, 'remove known guards, and instructions that never run'),
  edits('dead-results', deadResults, 'remove instructions whose results are never read'),
  [
    'vectorize',
    {
      name: 'vectorize',
      programPass: vectorize,
      summary: 'merge adjacent loads and stores into vector accesses',
      needs: {
        knobs: ['DisableReadVectorization', 'DisableWriteVectorization'],
        facts: ['param-base'],
        requires: ['control-last', 'ssa'],
      },
    },
  ],
  entry('uniform-atomics', uniformAtomics, 'combine atomics of a warp in one lane', {
    knobs: ['OptimizeUniformAtomicMode'],
    facts: ['capabilities.redux', 'capabilities.elect'],
    requires: ['ssa'],
  }),
  entry(
    'track-accumulators',
    trackAccumulators,
    'report how many accumulators matrix products keep in flight',
    {
      knobs: ['Knob364'],
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry('dependent-textures', dependentTextures, 'report how many texture fetches wait for one another'),
  entry(
    'check-matrix-groups',
    checkMatrixGroups,
    'report where ptxas will break up groups of matrix products',
    {
      requires: ['control-last', 'phi-free'],
    },
  ),
  entry('live-dead', liveDead, 'global liveness, removal of dead code and unused variables'),
  entry(
    'final-inspection',
    finalInspection,
    'verify before layout, reject operations that the target lacks',
    {
      facts: ['operations'],
    },
  ),
  backEnd('select-instructions', 'choose machine instructions, over virtual registers', {
    facts: ['capabilities'],
    requires: ['legal', 'phi-free', 'control-last'],
  }),
  backEnd('order-instructions', 'order instructions within blocks by their latencies', {
    facts: ['latencies'],
  }),
  backEnd('allocate-registers', 'give registers numbers, spill those that find none', {
    facts: ['limits'],
    requires: ['machine-instructions'],
  }),
  backEnd('expand-prologue', 'load the stack pointer and the descriptor of memory', {
    facts: ['capabilities'],
    requires: ['physical-registers'],
  }),
  backEnd('remove-idle-copies', 'remove copies of registers to themselves', {
    requires: ['physical-registers'],
  }),
  backEnd('lay-out-code', 'place machine code as the blocks of Ori are placed', {
    requires: ['machine-instructions'],
  }),
  backEnd('control-words', 'stalls and scoreboard barriers by dependences', {
    requires: ['physical-registers'],
  }),
  backEnd('wait-for-all', 'control words that always wait', {
    facts: ['slots.336'],
    requires: ['machine-instructions'],
  }),
  backEnd('check-encoding', 'encode, decode and compare every instruction', {
    requires: ['physical-registers'],
  }),
  backEnd('encode-instructions', 'write the words of the code', {
    requires: ['physical-registers', 'scoreboards'],
  }),
  backEnd('report-code', 'report machine code as text', { requires: ['encoded'] }),
  backEnd('report-words', 'report machine code in hexadecimal', { requires: ['encoded'] }),
]);

/** True for a pass over machine code, which runs only where machine code is asked for. */
export function isOverMachineCode(name: string): boolean {
  const entry = passes.get(name);
  return entry !== undefined && 'machineCode' in entry;
}
