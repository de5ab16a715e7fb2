import { MemoryCache } from '../../engine/memory-cache.ts';
import { host, runPipeline } from '../../engine/pipeline.ts';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { hashText } from '../../ir/hash.ts';
import { printProgram } from '../../ir/text.ts';
import { type Lowered, loadModules, lowerModule, type Module } from '../../lab/kernels.ts';
import { Measurer } from '../../lab/measure.ts';
import { DEFAULT_SM } from '../../lab/plans.ts';
import { geometricMean } from '../../lab/statistics.ts';
import { withSpec } from '../../spec/collect.ts';
import type { SpecFile } from '../../spec/document.ts';
import { loadShipped, loadSpec, withFiles } from '../../spec/node.ts';
import type { Plan } from '../../spec/plan.ts';
import { type PlanRequest, resolve, type Specs } from '../../spec/resolve.ts';
import { DEFAULT_ORDER } from '../../spec/specs.ts';

/** Tells whether a job is still wanted; lets messages arrive first, so that it can be told. */
export type Wanted = () => Promise<boolean>;

/** What a spec, or one entry of it, does to kernels. */
export interface Effect {
  /** Keys to the entry that it is about; empty: the whole spec. */
  readonly path: readonly (string | number)[];
  /** Kernels that were compared so far, and of how many. */
  readonly compared: number;
  readonly of: number;
  /** Kernels with other code. */
  readonly changed: number;
  /** The metric of the ratios: executed instructions where launches run every changed kernel, else the estimate. */
  readonly by: 'warp-instructions' | 'weighted';
  /** Geometric mean of the ratios with it to without it, over all compared kernels; 1 if nothing changed. */
  readonly mean: number;
  /** Largest ratio, and its kernel. */
  readonly worst: number;
  readonly worstKernel: string;
}

/** Entries of a spec that are compared one by one; of a spec with more, only the whole is. */
const MOST_ENTRIES = 8;

/** A version of the spec: all of it, or all but one entry. */
interface Version {
  readonly path: Effect['path'];
  readonly spec: SpecFile | null;
}

/** The spec without each of its entries: edits of an order, knobs, and parts of a recipe. */
function versionsOf(spec: SpecFile): Version[] {
  const entries: Version[] = [];
  const { data } = spec;
  const without = (key: string, value: unknown): SpecFile => ({ ...spec, data: { ...data, [key]: value } });
  for (const key of ['edits', 'parts']) {
    const list = data[key];
    if (Array.isArray(list) && list.length > 1)
      list.forEach((_, i) =>
        entries.push({
          path: [key, i],
          spec: without(
            key,
            list.filter((_x, k) => k !== i),
          ),
        }),
      );
  }
  const knobs = Object.entries((data.knobs ?? {}) as Record<string, unknown>);
  if (knobs.length > 1 || (knobs.length === 1 && spec.kind === 'recipe'))
    for (const [name] of knobs)
      entries.push({
        path: ['knobs', name],
        spec: without('knobs', Object.fromEntries(knobs.filter(([n]) => n !== name))),
      });
  return entries.length > MOST_ENTRIES ? [] : entries;
}

/** The kinds of specs whose effect is measured. */
export const HAS_EFFECT: ReadonlySet<string> = new Set(['order', 'recipe', 'knob-set']);

const TRIED = '<without>';

/** Makes plans of versions of a spec. */
class Arms {
  private readonly specs: Specs;
  private readonly path: string;
  private readonly kind: string;
  private readonly order: string;
  private readonly plans = new Map<string, Plan | null>();

  constructor(specs: Specs, path: string, kind: string, order: string) {
    this.specs = specs;
    this.path = path;
    this.kind = kind;
    this.order = order;
  }

  static request(kind: string, name: string | null, order: string, sm: string): PlanRequest {
    return {
      level: null,
      sm,
      order: kind === 'order' && name !== null ? name : order,
      recipes: kind === 'recipe' && name !== null ? [name] : [],
      knobSets: kind === 'knob-set' && name !== null ? [name] : [],
      set: [],
      disable: [],
    };
  }

  /** The plan with a version; null if it is illegal. `spec` null: without the spec. */
  plan(key: string, spec: SpecFile | null | 'whole', sm: string): Plan | null {
    const known = this.plans.get(`${sm} ${key}`);
    if (known !== undefined) return known;
    const name = spec === null ? null : spec === 'whole' ? this.path : TRIED;
    const specs = spec === null || spec === 'whole' ? this.specs : withSpec(this.specs, spec, TRIED);
    const { plan } = resolve(specs, Arms.request(this.kind, name, this.order, sm), host);
    this.plans.set(`${sm} ${key}`, plan);
    return plan;
  }
}

/** One module: its input, and what each plan makes of it. */
class Bench {
  readonly module: Module;
  private readonly cache = new MemoryCache();
  private readonly inputs = new Map<string, Lowered>();
  private measurer: Measurer | null = null;

  constructor(module: Module) {
    this.module = module;
  }

  run(plan: Plan) {
    let input = this.inputs.get(plan.isa.hash + plan.sm);
    if (input === undefined)
      this.inputs.set(plan.isa.hash + plan.sm, (input = lowerModule(this.module, plan)));
    this.measurer ??= new Measurer(this.module, input, {});
    return runPipeline(input.program, plan, { cache: this.cache, inputKey: input.key }).last;
  }

  /** Kernels under two plans that end with different code: executed or estimated instructions of each. */
  async compared(a: Plan, b: Plan): Promise<{ all: number; changed: Changed[] }> {
    const [x, y] = [this.run(a), this.run(b)];
    const all = x.functions.filter((f) => f.kind === 'entry').length;
    if (x === y || hashText(printProgram(x)) === hashText(printProgram(y))) return { all, changed: [] };
    const before = await this.measurer!.kernels(x, a);
    const after = await this.measurer!.kernels(y, b, before);
    const text = (p: typeof x, name: string): string =>
      printProgram({ ...p, functions: p.functions.filter((f) => f.name === name) });
    const changed = before.flatMap((k) => {
      const other = after.find((m) => m.kernel === k.kernel);
      if (other === undefined || text(x, k.kernel) === text(y, k.kernel)) return [];
      const pair = (name: string): readonly [number, number] | null =>
        k.values[name] === undefined || other.values[name] === undefined
          ? null
          : [k.values[name], other.values[name]];
      return [{ kernel: k.kernel, executed: pair('warp-instructions'), weighted: pair('weighted')! }];
    });
    return { all, changed };
  }
}

interface Changed {
  readonly kernel: string;
  readonly executed: readonly [number, number] | null;
  readonly weighted: readonly [number, number];
}

/**
 * Measures what a spec does to kernels, and what each of its entries does: the spec against the spec without it. Phases before the first
 * difference run once for each module.
 *
 * @param patterns kernels, relative to `folder`
 * @param partial called with the effects so far, after each module
 * @returns nothing if the spec is not of a kind with an effect, or has errors
 */
export async function effectOf(
  path: string,
  patterns: readonly string[],
  folder: string,
  wanted: Wanted,
  partial: (effects: readonly Effect[]) => void,
): Promise<readonly Effect[]> {
  const arms = await armsOf(path);
  if (arms === null) return [];
  const modules = await loadModules(patterns, folder);
  const totals = arms.versions.map(() => ({ all: 0, changed: [] as Changed[] }));
  let done = 0;
  let result: readonly Effect[] = [];
  for (const module of modules) {
    if (!(await wanted())) return [];
    const bench = new Bench(module);
    const sm = module.target ?? DEFAULT_SM;
    for (const [i, { path: at, spec }] of arms.versions.entries()) {
      const whole = arms.made.plan('', 'whole', sm);
      const without = arms.made.plan(JSON.stringify(at), spec, sm);
      if (whole === null || without === null) continue;
      try {
        const { all, changed } = await bench.compared(without, whole);
        totals[i].all += all;
        totals[i].changed.push(...changed);
      } catch (e) {
        // A module with faults is no kernel to measure; its own diagnostics say so.
        if (!(e instanceof DiagnosticError)) throw e;
      }
    }
    done++;
    // No plan is legal without the entry, or no module could be compared: nothing is known of it.
    result = totals.flatMap((t, i) =>
      t.all === 0 ? [] : [effect(arms.versions[i].path, t, done, modules.length)],
    );
    partial(result);
  }
  return result;
}

async function armsOf(path: string): Promise<{ made: Arms; versions: readonly Version[] } | null> {
  const spec = await loadSpec(path);
  if (!HAS_EFFECT.has(spec.kind)) return null;
  const order = DEFAULT_ORDER;
  const shipped = await loadShipped();
  const request = Arms.request(spec.kind, path, order, DEFAULT_SM);
  const { specs } = await withFiles(shipped, request);
  // Orders that extend another are compared with that one.
  const up = spec.kind === 'order' ? specs.orders.get(path)?.data.extends : undefined;
  const base = typeof up === 'string' && specs.orders.has(up) ? up : order;
  const whole = { path: [], spec: null };
  return { made: new Arms(specs, path, spec.kind, base), versions: [whole, ...versionsOf(spec)] };
}

function effect(
  path: Effect['path'],
  { all, changed }: { all: number; changed: readonly Changed[] },
  done: number,
  of: number,
): Effect {
  const executed = changed.every((c) => c.executed !== null);
  const pairs = changed.map((c) => (executed ? c.executed! : c.weighted));
  const ratios = pairs.map(([a, b]) => (a > 0 ? b / a : 1));
  const worst = Math.max(1, ...ratios);
  const product = geometricMean(pairs) ?? 1;
  return {
    path,
    compared: all,
    // Modules that are still to come have unknown numbers of kernels; the number is estimated until the last.
    of: done === of ? all : Math.round((all * of) / done),
    changed: changed.length,
    by: executed ? 'warp-instructions' : 'weighted',
    mean: product ** (changed.length / all),
    worst,
    worstKernel: worst > 1 ? changed[ratios.indexOf(worst)].kernel : '',
  };
}
