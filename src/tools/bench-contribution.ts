import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { assemble, ptxasVersion, refusal } from '../cli/optimize/ptxas-run.ts';
import { MemoryCache } from '../engine/memory-cache.ts';
import { runPipeline } from '../engine/pipeline.ts';
import { hashText } from '../ir/hash.ts';
import { printProgram } from '../ir/text.ts';
import { type Lowered, loadModules, lowerModule, type Module } from '../lab/kernels.ts';
import { type MeasureOptions, Measurer } from '../lab/measure.ts';
import type { Values } from '../lab/metrics.ts';
import { Plans } from '../lab/plans.ts';
import { isOverMachineCode } from '../passes/registry.ts';
import { type PtxDoc, PtxTable } from '../ptx/emit/table.ts';
import { loadShipped, ROOT } from '../spec/node.ts';
import type { Plan } from '../spec/plan.ts';
import { DEFAULT_ORDER, type Specs } from '../spec/specs.ts';
import type { PhasesSpec } from '../spec/types.generated.ts';
import { shippedPlan } from './shipped-plan.ts';

const SM = 'sm_80';
const MARK = '<!-- table -->';
const PAGE = join(ROOT, 'src', 'passes', 'CONTRIBUTION.md');

/** Columns of the table: a metric and its heading. */
const COLUMNS: readonly (readonly [metric: string, heading: string])[] = [
  ['instructions', 'instructions'],
  ['warp-instructions', 'executed'],
  ['cycles', 'cycles'],
  ['pressure.R', 'pressure'],
  ['ptxas.code-bytes', 'ptxas code'],
  ['ptxas.registers', 'ptxas registers'],
];

/** Phases that do the same work: what one leaves undone the others do, so that they also are switched off together. */
const TOGETHER: readonly (readonly string[])[] = [
  ['EarlyOriSimpleLiveDead', 'OriSimpleLiveDead'].concat(
    ['First', 'Second', 'Third', 'Fourth'].map((n) => `OriPerformLiveDead${n}`),
  ),
  ['MergeEquivalentConditionalFlow', 'LateMergeEquivalentConditionalFlow'],
  ['OriHoistInvariantsEarly', 'OriHoistInvariantsLate', 'OriHoistInvariantsLate2', 'OriHoistInvariantsLate3'],
  ['Vectorization', 'LateVectorization'],
  ['GvnCse', 'OriCommoning', 'LateOriCommoning'],
  ['OriReplaceEquivMultiDefMov', 'OriRemoveRedundantMultiDefMov'],
];

/** The name of several phases that are switched off together. */
const nameOf = (phases: readonly string[]): string => phases.join(' + ');

/** A kernel whose final code differs if a phase is switched off. */
export interface Contribution {
  readonly kernel: string;
  /** Its metrics with the phase on. */
  readonly with: Values;
  /** Its metrics with the phase off; null if the code cannot be measured then. */
  readonly without: Values | null;
}

/** The effect of a phase on kernels. */
export interface Effect {
  /** Number of functions that it changes; if it is off, a later phase may do the same. */
  inPlace: number;
  /** Kernels whose final code differs if it is switched off. */
  readonly changed: Contribution[];
}

/**
 * The phases of the shipped plan that run something where PTX is written and can be switched off, in order, each with the plan in which it
 * is off; then those that are switched off together.
 */
export async function switchable(specs: Specs): Promise<Map<string, Plan>> {
  const plans = new Plans(
    { level: 3, sm: SM, order: DEFAULT_ORDER, knobSets: [], set: [], disable: [] },
    Promise.resolve(specs),
  );
  const out = new Map<string, Plan>();
  const busy = (await shippedPlan(specs, SM)).phases.filter((p) =>
    p.steps.some((s) => s.kind !== 'pass' || !isOverMachineCode(s.pass)),
  );
  for (const ids of [...busy.map(({ id }) => [id]), ...TOGETHER]) {
    const name = nameOf(ids);
    // There is no such plan for required phases, and for phases that provide a property that a later one requires.
    const { plan } = await plans.tryPlan({ name, disable: ids }, SM);
    if (plan !== null) out.set(name, plan);
  }
  return out;
}

const ratio = (c: Contribution, metric: string): number | null => {
  const [a, b] = [c.with[metric], c.without?.[metric]];
  // One is added so that zeros count too.
  return a === undefined || b === undefined ? null : (a + 1) / (b + 1);
};

/** True if any column is better with the phase on. Code that cannot be measured with the phase off counts as better. */
const pays = (c: Contribution): boolean =>
  c.without === null || COLUMNS.some(([metric]) => (ratio(c, metric) ?? 1) < 1);

/** One line of the table. */
export function rowOf(phase: string, { inPlace, changed: all }: Effect): string {
  const cells = COLUMNS.map(([metric]) => {
    const ratios = all.flatMap((c) => ratio(c, metric) ?? []);
    if (ratios.length === 0) return '';
    const mean = Math.exp(ratios.reduce((s, r) => s + Math.log(r), 0) / ratios.length);
    return mean.toFixed(3);
  });
  const worst = all
    .flatMap((c) => COLUMNS.flatMap(([metric, heading]) => ({ c, heading, r: ratio(c, metric) ?? 1 })))
    .reduce<{ c: Contribution; heading: string; r: number } | null>(
      (most, x) => (x.r > (most?.r ?? 1) ? x : most),
      null,
    );
  const named = worst === null ? '' : `${worst.c.kernel} (${worst.heading} ${worst.r.toFixed(3)})`;
  return `| ${[phase, inPlace, all.length, all.filter(pays).length, ...cells, named].join(' | ')} |`;
}

/**
 * The tables of the page, and a line for each phase with which no kernel is better, with the reason.
 * @param reasons by phase, why no kernel is better by it
 */
export function tableOf(found: ReadonlyMap<string, Effect>, reasons: ReadonlyMap<string, string>): string {
  const together = [...found].filter(([name]) => name.includes(' + '));
  const single = [...found].filter(([name]) => !name.includes(' + '));
  const rows = single.filter(([, x]) => x.changed.length > 0);
  const idle = single.filter(([, x]) => !x.changed.some(pays));
  const better = ({ changed }: Effect): number => changed.filter(pays).length;
  const reasonOf = (phase: string, inPlace: number): string => {
    // A phase that changes nothing where it stands has no part in what the others gain.
    const family = together.find(
      ([name, x]) => inPlace > 0 && name.split(' + ').includes(phase) && better(x) > 0,
    );
    const others = family?.[0].split(' + ').filter((p) => p !== phase);
    if (others !== undefined)
      return `; together with ${others.join(', ')} it makes ${better(family![1])} better`;
    const reason = reasons.get(phase);
    return reason === undefined ? '' : `: ${reason}`;
  };
  const effectOf = ({ inPlace, changed }: Effect): string => {
    if (changed.length > 0) return `changes ${changed.length} and makes none better`;
    return inPlace === 0
      ? 'changes none'
      : `changes ${inPlace} functions where it stands; without it later phases do the same`;
  };
  return [
    ...headOf('phase'),
    ...rows.map(([phase, x]) => rowOf(phase, x)),
    '',
    '## Phases that do the same work',
    '',
    ...headOf('phases'),
    ...together.map(([name, x]) => rowOf(name, x)),
    '',
    '## Phases that pay on no test kernel',
    '',
    ...idle.map(([phase, x]) => `- ${phase}: ${effectOf(x)}${reasonOf(phase, x.inPlace)}`),
  ].join('\n');
}

const headOf = (first: string): readonly string[] => [
  `| ${first} | in place | changed | better | ${COLUMNS.map(([, heading]) => heading).join(' | ')} | worst |`,
  `|---|---:|---:|---:|${COLUMNS.map(() => '---:|').join('')}---|`,
];

/** By phase, why it makes no test kernel better, as its row says. */
export const reasonsOf = (specs: Specs): Map<string, string> =>
  new Map(
    (specs.phases.data.phases as readonly PhasesSpec.Phase[]).flatMap(({ name, idle }) =>
      idle === undefined ? [] : [[name, idle] as const],
    ),
  );

/**
 * Measures what each phase contributes: compares kernels under the shipped plan and under the plan without the phase.
 *
 * @param patterns patterns of kernel files, relative to the project
 * @param ptxas true to measure with ptxas too
 * @param only ids of phases; empty: all that can be switched off
 */
export async function contributions(
  patterns: readonly string[],
  ptxas: boolean,
  only: readonly string[] = [],
): Promise<Map<string, Effect>> {
  const specs = await loadShipped();
  const plan = await shippedPlan(specs, SM);
  const phases = [...(await switchable(specs))].filter(([p]) => only.length === 0 || only.includes(p));
  const version = ptxas ? ptxasVersion() : null;
  const opts: MeasureOptions =
    version === null
      ? {}
      : {
          table: new PtxTable(specs.ptx?.data as unknown as PtxDoc),
          ptxas: {
            assemble: (text, arch, level) => {
              const r = assemble(text, [`-arch=${arch}`, `-O${level}`]);
              return r.cubin === null ? refusal(r.messages) : { functions: r.functions, cubin: r.cubin };
            },
            version,
            level: 3,
          },
        };
  const found = new Map<string, Effect>(phases.map(([p]) => [p, { inPlace: 0, changed: [] }]));
  for (const m of await loadModules(patterns, ROOT)) {
    const input = lowerModule(m, plan);
    for (const r of runPipeline(input.program, plan, { snapshots: 'ends' }).records) {
      for (const [name, effect] of found)
        if (name.split(' + ').includes(r.phase.id)) effect.inPlace += r.functionsChanged;
    }
    const measured = measurerOf(m, input, opts);
    const base = await measured(plan);
    for (const [phase, planWithout] of phases) {
      const without = await measured(planWithout);
      if (without === base) continue;
      for (const [kernel, { text, values }] of base ?? []) {
        const now = without?.get(kernel);
        if (now?.text === text) continue;
        const name = `${basename(m.file).split('.')[0]}: ${kernel}`;
        found.get(phase)!.changed.push({ kernel: name, with: values, without: now?.values ?? null });
      }
    }
  }
  return found;
}

/** Hash of the code of each kernel, and its metrics. */
type Measured = ReadonlyMap<string, { readonly text: string; readonly values: Values }>;

/** A function that measures a module under a plan. Equal code is measured once, and phases that plans share run once. */
function measurerOf(
  m: Module,
  input: Lowered,
  opts: MeasureOptions,
): (plan: Plan) => Promise<Measured | null> {
  const measurer = new Measurer(m, input, opts);
  const cache = new MemoryCache();
  const measuredByKey = new Map<string, Measured>();
  return async (plan) => {
    try {
      const { last } = runPipeline(input.program, plan, { cache, inputKey: input.key, snapshots: 'ends' });
      const key = hashText(printProgram(last));
      let made = measuredByKey.get(key);
      if (made === undefined) {
        const texts = new Map(last.functions.map((f) => [f.name, printProgram({ ...last, functions: [f] })]));
        // The measurements of a kernel include the functions that it calls.
        const shared = last.functions.filter((f) => f.kind !== 'entry').map((f) => texts.get(f.name)!);
        const kernels = await measurer.kernels(last, plan);
        made = new Map(
          kernels.map((k) => [
            k.kernel,
            { text: hashText([texts.get(k.kernel)!, ...shared].join('\n')), values: k.values },
          ]),
        );
        measuredByKey.set(key, made);
      }
      return made;
    } catch {
      // Without a legalizing phase, the program may not run or may have no PTX form.
      return null;
    }
  };
}

/**
 * Measures the contributions of phases and prints the table.
 * @param write true to write the table to src/passes/CONTRIBUTION.md instead
 */
export async function benchContribution(
  write: boolean,
  ptxas: boolean,
  say: (line: string) => void,
): Promise<void> {
  const found = await contributions(['test/kernels/*/*.sm_80.ptx'], ptxas);
  const table = tableOf(found, reasonsOf(await loadShipped()));
  if (!write) return say(table);
  const [head] = readFileSync(PAGE, 'utf8').split(MARK);
  writeFileSync(PAGE, `${head}${MARK}\n\n${table}\n`);
}
