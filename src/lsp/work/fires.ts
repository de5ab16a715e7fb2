import { host, runPipeline } from '../../engine/pipeline.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { loadModules, lowerModule } from '../../lab/kernels.ts';
import { DEFAULT_SM } from '../../lab/plans.ts';
import { loadSpec, makePlan } from '../../spec/node.ts';
import { DEFAULT_ORDER } from '../../spec/specs.ts';
import type { Wanted } from './effect.ts';

/** How often a rule fired. */
export interface Fires {
  readonly rule: string;
  readonly times: number;
  /** Functions in which it fired, and of how many. */
  readonly kernels: number;
  readonly of: number;
}

/**
 * How often each rule of a group fires in kernels, in the plan that ships with the group as it is now.
 *
 * @param patterns kernels, relative to `folder`
 * @param partial called with the counts so far, after each module
 * @returns nothing if the spec is no group of rules, or has errors
 */
export async function firesOf(
  path: string,
  patterns: readonly string[],
  folder: string,
  wanted: Wanted,
  partial: (fires: readonly Fires[]) => void,
): Promise<readonly Fires[]> {
  const spec = await loadSpec(path);
  if (spec.kind !== 'rules') return [];
  const rules = (spec.data.rules as readonly { readonly id: string }[]).map((r) => r.id);
  const counts = new Map(rules.map((id) => [id, { times: 0, kernels: new Set<string>() }]));
  let of = 0;
  const now = (): Fires[] =>
    rules.map((rule) => ({
      rule,
      times: counts.get(rule)!.times,
      kernels: counts.get(rule)!.kernels.size,
      of,
    }));
  for (const module of await loadModules(patterns, folder)) {
    if (!(await wanted())) return [];
    const request = { level: null, sm: module.target ?? DEFAULT_SM, order: DEFAULT_ORDER, rules: [path] };
    const { plan } = await makePlan({ ...request, knobSets: [], set: [], disable: [] }, host);
    if (plan === null) return [];
    try {
      const { program } = lowerModule(module, plan);
      of += program.functions.length;
      runPipeline(program, plan, {
        onRewrite: ({ name, fn }) => {
          const count = counts.get(name);
          if (count === undefined) return;
          count.times++;
          count.kernels.add(`${module.file} ${fn}`);
        },
      });
    } catch (e) {
      // A module with faults is no kernel to measure; its own diagnostics say so.
      if (!(e instanceof DiagnosticError)) throw e;
    }
    partial(now());
  }
  return now();
}
