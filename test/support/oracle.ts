import { host, runPipeline } from '../../src/engine/pipeline.ts';
import type { Program } from '../../src/ir/program.ts';
import { emitPtx } from '../../src/ptx/emit/index.ts';
import { type PtxDoc, PtxTable } from '../../src/ptx/emit/table.ts';
import { lowerPtx } from '../../src/ptx/lower/index.ts';
import { parsePtx } from '../../src/ptx/parse.ts';
import { runLaunch, type Launch as SimLaunch } from '../../src/sim/launch.ts';
import { loadShipped } from '../../src/spec/node.ts';
import type { Plan } from '../../src/spec/plan.ts';
import { resolve } from '../../src/spec/resolve.ts';
import type { Launch } from './ptx-text/run/run.ts';
import { shuffledOrder } from './shuffle.ts';

/* Orrery's side of the comparison with the interpreter of PTX text: its output, and its simulator's results. */

const shipped = await loadShipped();
const table = new PtxTable(shipped.ptx!.data as unknown as PtxDoc);

/** Choices for a plan: level, order (a name, or the seed of a shuffled one), recipes, knob settings. */
export interface PlanChoice {
  readonly level: number;
  readonly order: string | number;
  readonly recipes?: readonly string[];
  readonly set?: readonly string[];
}

export const planText = (p: PlanChoice): string =>
  [`-O${p.level}`, `order ${p.order}`, ...(p.recipes ?? []), ...(p.set ?? [])].join(', ');

const plans = new Map<string, Plan>();

/** The plan of these choices for a target. */
export function planFor(sm: string, choice: PlanChoice): Plan {
  const key = `${sm} ${planText(choice)}`;
  let plan = plans.get(key);
  if (plan !== undefined) return plan;
  const request = {
    level: choice.level,
    sm,
    order: typeof choice.order === 'string' ? choice.order : 'binary',
    recipes: choice.recipes ?? [],
    knobSets: [],
    set: choice.set ?? [],
    disable: [],
  };
  const resolved = (specs: typeof shipped, order: string): Plan => {
    const r = resolve(specs, { ...request, order }, host);
    if (r.plan === null) throw new Error(r.issues.map((i) => i.message).join('\n'));
    return r.plan;
  };
  plan = resolved(shipped, request.order);
  if (typeof choice.order === 'number') {
    const phases = shuffledOrder(shipped, 'binary', plan.phases, choice.order);
    if (phases !== null) {
      const shuffled = { ...shipped.orders.get('binary')!, data: { kind: 'order', phases } };
      plan = resolved(
        { ...shipped, orders: new Map([...shipped.orders, ['shuffled', shuffled]]) },
        'shuffled',
      );
    }
  }
  plans.set(key, plan);
  return plan;
}

/** A module as Orrery reads it. */
export interface ReadModule {
  readonly program: Program;
  readonly module: ReturnType<typeof parsePtx>['module'];
}

const base = (plan: Plan): number => Number(plan.backend.facts['param-base']);

/** Reads a module for a target. @throws Error with Orrery's diagnostics */
export function readModule(text: string, sm: string, plan: Plan): ReadModule {
  const { module, diagnostics } = parsePtx(text, 'k.ptx');
  const lowered = lowerPtx(module, { isa: plan.isa, paramBase: base(plan), sm });
  const said = [...diagnostics, ...lowered.diagnostics].filter((d) => d.severity === 'error');
  if (said.length > 0) throw new Error(said.map((d) => `${d.line ?? 0}: ${d.message}`).join('\n'));
  return { program: lowered.program, module };
}

/** The output of `opt` for a module under a plan. */
export function written({ program, module }: ReadModule, plan: Plan): string {
  const { last } = runPipeline(program, plan, {});
  return emitPtx(last, { table, paramBase: base(plan), module }).text;
}

/** Converts a launch of the interpreter for Orrery's simulator. */
export const simLaunch = (launch: Launch): SimLaunch => ({
  name: launch.kernel,
  kernel: launch.kernel,
  grid: launch.grid,
  block: launch.block,
  ...(launch.cluster === undefined ? {} : { cluster: launch.cluster }),
  dynamicShared: launch.dynamicShared,
  params: launch.args.map((a) =>
    a.kind === 'buffer'
      ? { kind: 'buffer', type: 'u8', length: a.bytes.length, bytes: a.bytes, expect: null, tolerance: 0 }
      : { kind: 'bytes', bytes: a.bytes },
  ),
});

/** Runs a launch of the interpreter in Orrery's simulator: the final buffers, or why it stopped. */
export function simulated(
  { program }: ReadModule,
  plan: Plan,
  launch: Launch,
  budget: number,
): { readonly buffers: readonly (Uint8Array | null)[]; readonly why: string | null } {
  const r = runLaunch(program, plan.isa, simLaunch(launch), base(plan), { budget });
  return { buffers: r.buffers, why: r.error };
}
