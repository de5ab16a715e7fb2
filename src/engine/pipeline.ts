import { memoPair } from '../ir/memo.ts';
import type { Isa } from '../ir/opcode.ts';
import type { Program } from '../ir/program.ts';
import { PASS_PARAMS, passes } from '../passes/registry.ts';
import { checkSet } from '../rules/checks.ts';
import type { RulesDoc } from '../rules/document.ts';
import { BANDS_KNOB, type RunnerOptions, ruleRunner } from '../rules/engine.ts';
import { rulesOfDoc } from '../rules/group.ts';
import { REFUTED, refutation } from '../rules/prove/refute.ts';
import type { RuleFault } from '../spec/host.ts';
import type { Plan } from '../spec/plan.ts';
import type { Host } from '../spec/resolve.ts';
import { FunctionPlans } from './function-plans.ts';
import type { Journal } from './journal.ts';
import type { RecipeManager } from './recipe-manager.ts';
import { type RunOptions, runPlan } from './run.ts';
import { settle } from './settle.ts';

/** What this engine can run: every registered pass, and rules. */
export const host: Host = {
  passes: new Set(passes.keys()),
  rules: true,
  ruleKnobs: [BANDS_KNOB],
  passParams: (pass) => PASS_PARAMS[pass] ?? {},
  passNeeds: (pass) => passes.get(pass)?.needs ?? {},
  checkRules: (docs, group, isa, costs) => {
    const all = docs.map((d) => ({ d, ...rulesOfDoc(d, isa) }));
    const own = all.find((x) => (x.d as RulesDoc).group === group);
    const wrong = own?.issues ?? [];
    const set = all.flatMap((x) => x.rules);
    return [...wrong, ...checkSet(set, isa, costs, settle, new Set([group]))];
  },
  refuteRules: (doc, isa) => refutedIn(doc as object, isa),
};

/** Faults for the unsound rules of a document, each with a counterexample as notes. */
const refutedIn = memoPair((doc: object, isa: Isa): readonly RuleFault[] =>
  rulesOfDoc(doc, isa).rules.flatMap((r): RuleFault[] => {
    const counterexample = refutation(r);
    if (counterexample === null) return [];
    const message = `rule '${r.id}' is wrong: its sides differ`;
    const notes = counterexample.split('\n');
    return [{ severity: 'error', code: REFUTED, rule: r.place, field: 'rewrite', message, notes }];
  }),
);

/** Options of `runPipeline`. */
export interface PipelineOptions extends Omit<RunOptions, 'passes' | 'rules' | 'plans'> {
  /** Decisions about recipes, shared with other runs that get the same manager. They do not affect results. */
  readonly recipes?: RecipeManager;
  readonly onRuleHit?: RunnerOptions['onHit'];
  readonly onRuleMiss?: RunnerOptions['onMiss'];
}

/**
 * Runs a plan with the registered passes and the plan's rule groups.
 * @throws DiagnosticError as `runPlan` does, for rules with faults, and if rules do not terminate
 */
export function runPipeline(input: Program, plan: Plan, opts: PipelineOptions = {}): Journal {
  const user = opts.recipes?.acquire();
  try {
    return runWith(new FunctionPlans(plan, input, user), input, opts);
  } finally {
    user?.release();
  }
}

function runWith(plans: FunctionPlans, input: Program, opts: PipelineOptions): Journal {
  const plan = plans.base;
  const groups = groupsOfAll(plans, input);
  const rules =
    groups.size === 0
      ? undefined
      : ruleRunner({
          isa: plan.isa,
          groups,
          phases: new Set(plan.phases.filter((p) => p.hook === null && p.index !== null).map((p) => p.name)),
          onHit: opts.onRuleHit,
          onMiss: opts.onRuleMiss,
        });
  return runPlan(input, plan, { ...opts, passes, rules, plans });
}

/** The rule groups that any function runs. */
function groupsOfAll(plans: FunctionPlans, input: Program): Plan['rules'] {
  if (!plans.vary) return plans.base.rules;
  const used = new Set([plans.base, ...input.functions.map((f) => plans.of(f.name))]);
  return new Map([...used].flatMap((p) => [...p.rules]));
}
