// `node dist/tools/control-flow-table.js`: writes src/passes/CONTROL-FLOW.md, the effect on the test kernels for sm_80 of each phase that
// changes control flow. Phases are enabled cumulatively, in the order in which they run.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runPipeline } from '../engine/pipeline.ts';
import { loadModules, lowerModule } from '../lab/kernels.ts';
import { Measurer } from '../lab/measure.ts';
import type { Values } from '../lab/metrics.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { shippedPlan } from './shipped-plan.ts';
import { switchForms } from './switch-forms.ts';

/** The phases of the columns. If a phase runs other passes too, the pass to switch; null: all its steps. */
const PHASES: Readonly<Record<string, string | null>> = {
  MergeEquivalentConditionalFlow: null,
  DoSwitchOptFirst: null,
  OriBranchOpt: null,
  DoSwitchOptSecond: null,
  OriLinearReplacement: 'predication',
  OptimizeNestedCondBranches: null,
  MarkAdditionalColdBlocks: null,
  SpeculativeHoistComInsts: null,
  OriDoPredication: null,
  LateMergeEquivalentConditionalFlow: null,
  ExpandJmxComputation: null,
  OptimizeHotColdInLoop: null,
  OptimizeHotColdFlow: null,
  PlaceBlocksInSourceOrder: null,
};
const METRICS = ['warp-instructions', 'divergent-branches', 'branches', 'blocks'];
const FORMS_MARK = '<!-- switches -->';
const MARK = '<!-- tables -->';

const specs = await loadShipped();
const full = await shippedPlan(specs, 'sm_80');
const columns = full.phases.filter((p) => p.id in PHASES).map((p) => p.id);
/** The plan without some phases, or without the relevant pass of a phase. */
const without = (phases: readonly string[]): Plan => ({
  ...full,
  phases: full.phases.map((p) => {
    if (!phases.includes(p.id)) return p;
    const pass = PHASES[p.id];
    return { ...p, steps: pass === null ? [] : p.steps.filter((s) => s.kind !== 'pass' || s.pass !== pass) };
  }),
});
const plans = [...columns.keys(), columns.length].map((k) => without(columns.slice(k)));

/** For each kernel, its metrics with increasingly many phases enabled. */
const rows = new Map<string, Values[]>();
for (const m of await loadModules(['test/kernels/*/*.sm_80.ptx'], ROOT)) {
  const measurer = new Measurer(m, lowerModule(m, plans[0]), {});
  for (const [k, plan] of plans.entries()) {
    const { last } = runPipeline(lowerModule(m, plan).program, plan);
    for (const { kernel, values } of await measurer.kernels(last, plan)) {
      const name = `${basename(m.file).split('.')[0]}:${kernel}`;
      const list = rows.get(name) ?? [];
      list[k] = values;
      rows.set(name, list);
    }
  }
}

const mean = (ratios: readonly number[]): string =>
  Math.exp(ratios.reduce((sum, r) => sum + Math.log(r), 0) / Math.max(1, ratios.length)).toFixed(3);

/**
 * The table of one metric: a row for each kernel for which a phase changes it, and the geometric mean over all kernels that have the
 * metric.
 */
function tableOf(metric: string): string {
  const all = [...rows].filter(([, list]) => list[0][metric] !== undefined);
  const lines = all
    .filter(([, list]) => list.some((v) => v[metric] !== list[0][metric]))
    .map(([name, list]) => {
      const cells = list.map((v, k) => (k > 0 && v[metric] === list[k - 1][metric] ? '' : `${v[metric]}`));
      return `| ${name} | ${cells.join(' | ')} |`;
    });
  const means = plans.map((_, k) =>
    // One is added so that zeros count too.
    mean(all.map(([, list]) => (list[k][metric] + 1) / (list[0][metric] + 1))),
  );
  return [
    `## ${metric}`,
    '',
    `| kernel | none | ${columns.map((id) => `+ ${id}${PHASES[id] === null ? '' : ` (${PHASES[id]})`}`).join(' | ')} |`,
    `|---|${'---:|'.repeat(plans.length)}`,
    ...lines,
    `| geometric mean over ${all.length} | ${means.join(' | ')} |`,
  ].join('\n');
}

const page = join(ROOT, 'src', 'passes', 'CONTROL-FLOW.md');
const [head] = readFileSync(page, 'utf8').split(FORMS_MARK);
writeFileSync(
  page,
  `${head}${FORMS_MARK}\n\n${switchForms(full.isa)}\n\n${MARK}\n\n${METRICS.map(tableOf).join('\n\n')}\n`,
);
