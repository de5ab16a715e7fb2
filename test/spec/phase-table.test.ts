import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { PhasesSpec } from '../../src/spec/types.generated.ts';

/*
 * Compares the phase table with a second transcription of the pages on the modelled compiler: names by number, the neighbours of hooks, the
 * encoder's chain, and which page prevails where they disagree.
 */
const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const yaml = (path: string) => parse(readFileSync(at(path), 'utf8'));
const rows = yaml('pipelines/phases.yaml').phases as PhasesSpec.Phase[];
const orderOf = (name: string) => yaml(`pipelines/orders/${name}.yaml`).phases as string[];
const seed = orderOf('seed');
const binary = orderOf('binary');

/** First number and names of each group of seed 004; it leaves the last twenty unnamed, whose names come from the reference (phases). */
const NAMES: readonly (readonly [number, string])[] = [
  [
    0,
    'OriCheckInitialProgram ApplyNvOptRecipes PromoteFP16 AnalyzeControlFlow AdvancedPhaseBeforeConvUnSup ' +
      'ConvertUnsupportedOps SetControlFlowOpLastInBB AdvancedPhaseAfterConvUnSup OriCreateMacroInsts ' +
      'ReportInitialRepresentation EarlyOriSimpleLiveDead ReplaceUniformsWithImm OriSanitize',
  ],
  [
    13,
    'GeneralOptimizeEarly DoSwitchOptFirst OriBranchOpt OriPerformLiveDeadFirst OptimizeBindlessHeaderLoads ' +
      'OriLoopSimplification OriSplitLiveRanges PerformPGO OriStrengthReduce OriLoopUnrolling GenerateMovPhi ' +
      'OriPipelining StageAndFence OriRemoveRedundantBarriers AnalyzeUniformsForSpeculation SinkRemat GeneralOptimize ' +
      'DoSwitchOptSecond OriLinearReplacement CompactLocalMemory OriPerformLiveDeadSecond ExtractShaderConstsFirst ' +
      'OriHoistInvariantsEarly EmitPSI',
  ],
  [
    37,
    'GeneralOptimizeMid OptimizeNestedCondBranches ConvertVTGReadWrite DoVirtualCTAExpansion MarkAdditionalColdBlocks ' +
      'ExpandMbarrier ForwardProgress OptimizeUniformAtomic MidExpansion GeneralOptimizeMid2 ' +
      'AdvancedPhaseEarlyEnforceArgs EnforceArgumentRestrictions GvnCse OriReassociateAndCommon ' +
      'ExtractShaderConstsFinal OriReplaceEquivMultiDefMov OriPropagateVaryingFirst OriDoRematEarly LateExpansion ' +
      'SpeculativeHoistComInsts RemoveASTToDefaultValues GeneralOptimizeLate',
  ],
  [
    59,
    'OriLoopFusion DoVTGMultiViewExpansion OriPerformLiveDeadThird OriRemoveRedundantMultiDefMov OriDoPredication ' +
      'LateOriCommoning GeneralOptimizeLate2 OriHoistInvariantsLate DoKillMovement DoTexMovement OriDoRemat ' +
      'OriPropagateVaryingSecond OptimizeSyncInstructions LateExpandSyncInstructions ConvertAllMovPhiToMov ' +
      'ConvertToUniformReg LateArchOptimizeFirst UpdateAfterOptimize AdvancedPhaseLateConvUnSup ' +
      'LateExpansionUnsupportedOps OriHoistInvariantsLate2 ExpandJmxComputation LateArchOptimizeSecond ' +
      'AdvancedPhaseBackPropVReg OriBackCopyPropagate OriPerformLiveDeadFourth OriPropagateGmma ' +
      'InsertPseudoUseDefForConvUR FixupGmmaSequence OriHoistInvariantsLate3 AdvancedPhaseSetRegAttr OriSetRegisterAttr ' +
      'OriCalcDependantTex AdvancedPhaseAfterSetRegAttr LateExpansionUnsupportedOps2 FinalInspectionPass ' +
      'SetAfterLegalization',
  ],
  [
    96,
    'ReportBeforeScheduling AdvancedPhasePreSched BackPropagateVEC2D OriDoSyncronization ApplyPostSyncronizationWars ' +
      'AdvancedPhaseAllocReg ReportAfterRegisterAllocation Get64bRegComponents AdvancedPhasePostExpansion ' +
      'ApplyPostRegAllocWars',
  ],
  [
    106,
    'AdvancedPhasePostSched OriRemoveNopCode OptimizeHotColdInLoop OptimizeHotColdFlow PostSchedule ' +
      'AdvancedPhasePostFixUp PlaceBlocksInSourceOrder PostFixForMercTargets FixUpTexDepBarAndSync ' +
      'AdvancedScoreboardsAndOpexes ProcessO0WaitsAndSBs MercEncodeAndDecode MercExpandInstructions MercGenerateWARs1 ' +
      'MercGenerateOpex MercGenerateWARs2 MercGenerateSassUCode ComputeVCallRegUse CalcRegisterMap ' +
      'UpdateAfterPostRegAlloc ReportFinalMemoryUsage AdvancedPhaseOriPhaseEncoding UpdateAfterFormatCodeList ' +
      'DumpNVuCodeText DumpNVuCodeHex DebuggerBreak',
  ],
  [
    132,
    'UpdateAfterConvertUnsupportedOps MergeEquivalentConditionalFlow AdvancedPhaseAfterMidExpansion ' +
      'AdvancedPhaseLateExpandSyncInstructions LateMergeEquivalentConditionalFlow LateExpansionUnsupportedOpsMid ' +
      'OriSplitHighPressureLiveRanges',
  ],
  [
    139,
    'ProcessO0WaitsAndSBs PostFixUp MercConverter MercEncodeAndDecode MercExpandInstructions MercGenerateWARs1 ' +
      'MercGenerateOpex MercGenerateWARs2 MercGenerateSassUCode ComputeVCallRegUse CalcRegisterMap ' +
      'UpdateAfterPostRegAlloc ReportFinalMemoryUsage AdvancedPhaseOriPhaseEncoding FormatCodeList ' +
      'UpdateAfterFormatCodeList DumpNVuCodeText DumpNVuCodeHex DebuggerBreak NOP',
  ],
];

describe('the phase table', () => {
  it.each(NAMES)('has the names of the page from number %i on', (first, names) => {
    const list = names.split(' ');
    expect(rows.slice(first, first + list.length).map((r) => [r.index, r.name])).toEqual(
      list.map((name, i) => [first + i, name]),
    );
  });

  it('is 139 names and 20 more', () => {
    const all = NAMES.flatMap(([, names]) => names.split(' '));
    expect([all.length, new Set(all.slice(0, 139)).size]).toEqual([159, 139]);
  });

  it('puts each hook where the page puts it', () => {
    // Hook, before or after which phase, orders in which it is so.
    const both = [seed, binary];
    const places: readonly (readonly [string, 'before' | 'after', string, string[][]])[] = [
      ['AdvancedPhaseBeforeConvUnSup', 'before', 'ConvertUnsupportedOps', both],
      ['AdvancedPhaseAfterConvUnSup', 'after', 'ConvertUnsupportedOps', both],
      ['AdvancedPhaseEarlyEnforceArgs', 'before', 'EnforceArgumentRestrictions', both],
      ['AdvancedPhaseLateConvUnSup', 'before', 'LateExpansionUnsupportedOps', both],
      ['AdvancedPhaseBackPropVReg', 'before', 'OriBackCopyPropagate', both],
      ['AdvancedPhaseSetRegAttr', 'before', 'OriSetRegisterAttr', both],
      ['AdvancedPhaseAfterSetRegAttr', 'after', 'OriSetRegisterAttr', both],
      ['AdvancedPhasePreSched', 'before', 'ScheduleInstructions', [binary]],
      ['AdvancedPhaseAllocReg', 'before', 'AllocateRegisters', [binary]],
      ['AdvancedPhasePostExpansion', 'after', 'Get64bRegComponents', both],
      ['AdvancedPhasePostSched', 'after', 'ScheduleInstructions', [binary]],
      ['AdvancedPhasePostFixUp', 'after', 'PostSchedule', both],
      ['AdvancedScoreboardsAndOpexes', 'before', 'ProcessO0WaitsAndSBs', both],
      // The page says before final encoding, but numbers it after that, as the executed table does.
      ['AdvancedPhaseOriPhaseEncoding', 'after', 'MercGenerateSassUCode', both],
      ['AdvancedPhaseAfterMidExpansion', 'after', 'MidExpansion', both],
      ['AdvancedPhaseLateExpandSyncInstructions', 'after', 'LateExpandSyncInstructions', [seed]],
      ['AdvancedPhaseLateExpandSyncInstructions', 'before', 'LateExpandSyncInstructions', [binary]],
    ];
    expect(new Set(places.map(([hook]) => hook))).toEqual(
      new Set(rows.filter((r) => r.hook !== undefined).map((r) => r.name)),
    );
    for (const [hook, side, phase, orders] of places)
      for (const order of orders) {
        const [h, p] = [order.indexOf(hook), order.indexOf(phase)];
        expect(Math.min(h, p), `${hook}, ${phase}`).toBeGreaterThanOrEqual(0);
        expect(h < p ? 'before' : 'after', `${hook}, ${phase}`).toBe(side);
      }
  });

  it('runs the encoder in the order of the page', () => {
    const chain = [
      'PostFixForMercTargets',
      'FixUpTexDepBarAndSync',
      'AdvancedScoreboardsAndOpexes',
      'ProcessO0WaitsAndSBs',
      'MercEncodeAndDecode',
      'MercExpandInstructions',
      'MercGenerateWARs1',
      'MercGenerateOpex',
      'MercGenerateWARs2',
      'MercGenerateSassUCode',
    ];
    expect(seed.slice(113, 123)).toEqual(chain);
    expect(binary.filter((id) => chain.includes(id))).toEqual(chain);
  });

  it('says whose word holds where pages disagree on a row', () => {
    // Number, and what the other page says.
    const said: readonly (readonly [number, RegExp])[] = [
      [3, /seed 002 .* level 1 exactly.* D7.* small kernels .* 12 /],
      [8, /fuse pairs.* ray-tracing unit alone, which is followed/],
      [13, /seed 001 .* OriSanitize.*Its introduction .* accessor > 1.* gate table .* none/],
      [14, /seeds 000 and 003 .* GeneralOptimizeEarly.* D8/],
      [15, /seeds 000 and 003 .* MergeEquivalentConditionalFlow.* D8/],
      [18, /seed 002 has OriLoopMakeSingleEntry at 18/],
      [21, /OriSplitLiveRanges/],
      [22, /seed 002 has OriLoopFusion at 22/],
      [24, /seed 002 has OriLoopSimplification at 24/],
      [29, /seed 001 .* OriRemoveRedundantBarriers/],
      [30, /seeds 000 and 003 .* AnalyzeUniformsForSpeculation.* D8/],
      [35, /in the text .* all four runs, in its excerpt the first alone/],
      [37, /seed 001 .* ConvertMemoryToRegisterOrUniform/],
      [38, /seeds 000 and 003 .* OriPerformLiveDeadSecond.* D8/],
      [46, /seed 001 .* slot 448.* DoVirtualCTAExpansion.*Its introduction .* accessor > 1.* gate table/],
      [49, /slot 184.* ForwardProgress/],
      [50, /slot 352.* OptimizeUniformAtomic/],
      [58, /OriReassociateAndCommon.* seed 001 is followed.*D10/],
      [64, /SpeculativeHoistComInsts.* seed 004/],
      [65, /seed 001 .* slot 392.* RemoveASTToDefaultValues/],
      [71, /level > 1.* text .* > 2.* D9/],
      [72, /level > 2.* text .* > 1.* D9/],
      [95, /12.* 19/],
      [97, /seed 002 has scheduling at 100/],
      [100, /seed 002 has scheduling at 100/],
      [101, /seed 002 has the register allocator at 110/],
      [104, /seed 004 .* after the expansion.* 126 and 127/],
      [110, /seed 002 has the register allocator at 110.* D11/],
      [111, /dispatch.* counter.* D6/],
      [112, /seed 002 has PlaceBlocksInSourceOrder at 119.* D12/],
      [119, /seed 002 has PlaceBlocksInSourceOrder at 119/],
      [120, /operand exchange.* operation extension/],
      [127, /seed 004 .* before final encoding/],
      [135, /seed 004 .* after LateExpandSyncInstructions.* before/],
      [138, /seed 004 .* D13/],
    ];
    expect(rows.flatMap((r) => (r.conflict === undefined ? [] : [r.index]))).toEqual(said.map(([n]) => n));
    for (const [n, what] of said) expect(rows[n].conflict, rows[n].name).toMatch(what);
  });
});

it('has as constraints the places that the page on branches gives', () => {
  const { constraints } = yaml('pipelines/constraints.yaml') as {
    constraints: readonly { readonly before: string; readonly after: string }[];
  };
  const pairs = new Set(constraints.map((c) => `${c.before} < ${c.after}`));
  for (const pair of [
    'SetControlFlowOpLastInBB < OriBranchOpt',
    'AnalyzeControlFlow < OriBranchOpt',
    'GeneralOptimizeEarly < DoSwitchOptFirst',
    'GeneralOptimizeEarly < OriBranchOpt',
    'DoSwitchOptFirst < OriBranchOpt',
    'OriBranchOpt < OriPerformLiveDeadFirst',
    'GeneralOptimize < DoSwitchOptSecond',
    'OriLoopUnrolling < DoSwitchOptSecond',
    'DoSwitchOptSecond < OriLinearReplacement',
    'DoSwitchOptSecond < ExpandJmxComputation',
    'LateExpansionUnsupportedOps < ExpandJmxComputation',
    'GeneralOptimizeMid < OptimizeNestedCondBranches',
    'OptimizeNestedCondBranches < OriDoPredication',
  ])
    expect(pairs).toContain(pair);
});

it('limit-fold-fp is off by default', () => {
  expect(yaml('knobs/catalog.yaml').knobs.LimitFoldFp.default).toBe(null);
});
