/** Orrery for Node: everything in `orrery/core`, plus functions that read specs and launches from files. */
import { host } from './engine/pipeline.ts';
import { DiagnosticError } from './ir/diagnostic.ts';
import { targetFor } from './read.ts';
import { loadShipped, makePlan } from './spec/node.ts';
import type { Plan } from './spec/plan.ts';
import type { PlanRequest, Specs } from './spec/specs.ts';

export * from './core.ts';
export { loadShipped } from './spec/node.ts';
export { fitLaunch, type LoadedLaunch, loadLaunch } from './spec/node-launch.ts';

/**
 * The plan for a request. Orders, recipes, knob sets and rules may be given as paths of YAML files, as on the command line.
 *
 * @param request as for `planOf`
 * @param specs the result of `loadShipped`; loaded if absent
 * @throws DiagnosticError with every fault at its line
 */
export async function planFromFiles(
  request: Partial<PlanRequest> & { readonly sm: string },
  specs?: Specs,
): Promise<Plan> {
  // An unsound rule would silently produce wrong programs.
  const wrongRules = 'refuse' as const;
  const defaults = { wrongRules, level: null, order: 'binary', knobSets: [], set: [], disable: [] };
  const base = specs ?? (await loadShipped());
  const target = targetFor(base, request.sm);
  const whole: PlanRequest = { ...defaults, ...request, sm: target.sm };
  const { plan, diagnostics } = await makePlan(whole, host, base);
  if (plan === null) throw new DiagnosticError(diagnostics);
  return { ...plan, warnings: [...target.warnings, ...plan.warnings] };
}
