import { expect } from 'vitest';
import { host } from '../../src/engine/pipeline.ts';
import { loadShipped } from '../../src/spec/node.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import { shuffledOrder } from './shuffle.ts';

const specs = await loadShipped();
const base = { level: 3, sm: 'sm_80', order: 'binary', knobSets: [], set: [], disable: [] };
/** The shipped plan for sm_80. */
export const shippedPlan = resolve(specs, base, host).plan!;

const SMS = ['sm_50', 'sm_70', 'sm_75', 'sm_80', 'sm_89', 'sm_90', 'sm_100'];
const KNOBS = [
  'ExpandSyncInstLate',
  'Knob91=0,2,4',
  'MergeEquivalentConditionalFlowBudget=2',
  'DisableMergeEquivalentConditionalFlow',
  'DisableRedundantBarrierRemoval',
  'MembarFlowControl=0',
  'ConvertMemoryToRegIndexedSizeLimit=200',
  'Knob133=2',
  'Knob134=1',
  'Knob136=0.05',
  'MovWeightForConvertMemToReg=3',
  'GeneralOptimizeMidMaxAdd3RefCnt=1',
  'GeneralOptimizeMidBudget=3',
  'GeneralOptimizeBudget=3',
  'GeneralOptimizeEarlyBudget=3',
  'AllowReassociateCSE=0',
  'AllowReassociateCSE=1',
  'Knob603=1',
  'ReassociateCSEWindow=1',
  'LimitFoldFp',
  'OptBudget=20',
  'GeneralOptimizationBudget=4',
  'Knob577=1',
  'Knob579',
  'Knob228=2',
  'EnableGvnCseMode=0',
  'SwitchOptBudget=3',
  'UnrollFullInstLimit=4000',
  'OkToPipelineNoUnroll=1',
  'Knob429=1',
  'Knob429=2',
  'ExpandLongOperations',
  'OptimizeUniformAtomicMode=1',
  'RematEarlyEnable=1',
  'RematStressTest=1',
  'PerformLoopFusion=1',
];
const DISABLED = [
  'GvnCse',
  'OriReassociateAndCommon',
  'OptimizeNestedCondBranches',
  'OriBranchOpt',
  'GeneralOptimizeEarly',
];

const plans = new Map<number, Plan>();
/**
 * The plan with a number: any level, any target, knobs of the value and branch phases at values that change their effect, and for every
 * third number another legal order.
 */
export function randomPlan(n: number): Plan {
  let plan = plans.get(n);
  if (plan !== undefined) return plan;
  let a = Math.imul(n + 1, 0x9e3779b1) >>> 0;
  const dice = (below: number): number => {
    a = (Math.imul(a, 1664525) + 1013904223) >>> 0;
    return Math.floor((a / 2 ** 32) * below);
  };
  const pick = (list: readonly string[], most: number): string[] => [
    ...new Set(Array.from({ length: dice(most + 1) }, () => list[dice(list.length)])),
  ];
  // One value for each knob.
  const set = [...new Map(pick(KNOBS, 5).map((k) => [k.split('=')[0], k])).values()];
  const ids = n % 3 === 0 ? shuffledOrder(specs, 'binary', shippedPlan.phases, n + 1) : null;
  const orders =
    ids === null
      ? specs.orders
      : new Map([
          ...specs.orders,
          ['shuffle', { ...specs.orders.get('binary')!, data: { kind: 'order', phases: ids } }],
        ]);
  const order = ids === null ? ['binary', 'seed'][dice(2)] : 'shuffle';
  const request = {
    ...base,
    level: 1 + dice(5),
    sm: SMS[dice(SMS.length)],
    order,
    set,
    disable: ids === null ? pick(DISABLED, 2) : [],
  };
  const r = resolve({ ...specs, orders }, request, host);
  expect(r.issues.filter((i) => i.severity === 'error').map((i) => i.message)).toEqual([]);
  plans.set(n, (plan = r.plan!));
  return plan;
}
