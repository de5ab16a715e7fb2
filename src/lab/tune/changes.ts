import { inexactKnobs } from '../../engine/inexact.ts';
import { MemoryCache } from '../../engine/memory-cache.ts';
import { host, runPipeline } from '../../engine/pipeline.ts';
import type { Plan } from '../../spec/plan.ts';
import type { Specs } from '../../spec/specs.ts';
import { legalPlaces } from '../../spec/suggest.ts';
import type { KnobsSpec } from '../../spec/types.generated.ts';
import { type Arm, armText, knobText, type Move } from '../arms.ts';
import { lowerModule, type Module } from '../kernels.ts';
import type { Plans } from '../plans.ts';

/** One change of a plan. */
export interface Change {
  /** Text for output, such as `GvnCse off`. */
  readonly name: string;
  /** The knob, phase, recipe or position that it changes; an arm has at most one change of each subject. */
  readonly subject: string;
  readonly set?: string;
  readonly disable?: string;
  readonly recipe?: string;
  readonly move?: Move;
}

/** The arm that combines several changes. If they add recipes, these come after the recipes of the base. */
export function armOf(changes: readonly Change[], recipes: readonly string[]): Arm {
  const of = <K extends 'set' | 'disable' | 'recipe' | 'move'>(key: K) =>
    changes.flatMap((c) => (c[key] === undefined ? [] : [c[key] as NonNullable<Change[K]>]));
  const [set, disable, added, moves] = [of('set'), of('disable'), of('recipe'), of('move')];
  const arm = {
    ...(added.length > 0 && { recipe: [...recipes, ...added] }),
    ...(set.length > 0 && { set }),
    ...(disable.length > 0 && { disable }),
    ...(moves.length > 0 && { moves }),
  };
  return { name: armText({ name: '', ...arm }), ...arm };
}

/** If a knob has at most this many values, all are tried. */
const FEW_VALUES = 4;
/** Factors by which a number is changed. */
const FACTORS = [0.5, 2];

type Row = KnobsSpec.Knob;

/** Other values of a knob to try; none if the current value suggests none, as for texts, lists, unset numbers and budgets. */
function valuesOf(row: Row, value: unknown): readonly unknown[] {
  if (row.type === 'NONE') return [!(value === true)];
  if ((row.type !== 'INT' && row.type !== 'FLOAT' && row.type !== 'DBL') || typeof value !== 'number')
    return [];
  const [low, high] = [
    row.range?.[0] ?? Number.NEGATIVE_INFINITY,
    row.range?.[1] ?? Number.POSITIVE_INFINITY,
  ];
  const whole = row.type === 'INT';
  const tried =
    whole && high - low < FEW_VALUES
      ? Array.from({ length: high - low + 1 }, (_, i) => low + i)
      : value === 0
        ? [1]
        : FACTORS.map((f) => (whole ? Math.trunc(value * f) : value * f));
  return [...new Set(tried)].filter((v) => v !== value && v >= low && v <= high);
}

/** Proposes changes that may affect modules: only phases and knobs that are active under the current plan are varied. */
export class Changes {
  private readonly modules: readonly Module[];
  private readonly plans: Plans;
  private readonly specs: Specs;
  private readonly cache = new MemoryCache();

  constructor(modules: readonly Module[], plans: Plans, specs: Specs) {
    this.modules = modules;
    this.plans = plans;
    this.specs = specs;
  }

  /**
   * Changes to try on top of an arm: switching off phases that change the code, other values for knobs that are read, and recipes for its
   * targets.
   *
   * @param positions true to also move phases that change the code to the ends of their ranges of legal positions
   */
  async of(arm: Arm, positions: boolean): Promise<readonly Change[]> {
    const found = new Map<string, Change>();
    const add = (c: Change) => found.set(c.name, c);
    for (const module of this.modules) {
      const plan = await this.plans.plan(arm, module.target);
      const input = lowerModule(module, plan);
      const { records } = runPipeline(input.program, plan, {
        cache: this.cache,
        inputKey: `${input.key}|${plan.isa.hash}`,
      });
      const acting = records.filter((r) => r.blocksChanged > 0).map((r) => r.phase);
      for (const p of acting) if (!p.required) add({ name: `${p.id} off`, subject: p.id, disable: p.id });
      for (const c of this.knobs(plan, new Set(records.flatMap((r) => r.knobsRead)))) add(c);
      for (const c of this.recipes(plan)) add(c);
      if (positions) for (const p of acting) for (const c of await this.places(arm, plan, p.id)) add(c);
    }
    return [...found.values()];
  }

  private knobs(plan: Plan, read: ReadonlySet<string>): Change[] {
    const rows = this.specs.knobs.data.knobs as Readonly<Record<string, Row>>;
    const inexact = inexactKnobs(plan);
    return [...plan.knobs.values()].flatMap((k) => {
      const row = rows[k.name];
      if (!read.has(k.name) || k.unread || row?.inexact === true || inexact.has(k.name)) return [];
      return valuesOf(row, k.value).map((v) => {
        const set = `${k.name}=${knobText(v)}`;
        return { name: set, subject: k.name, set };
      });
    });
  }

  private recipes(plan: Plan): Change[] {
    return [...this.specs.recipes].flatMap(([name, f]) => {
      const targets = f.data.sm as readonly string[] | undefined;
      const fits = targets === undefined || targets.includes(plan.sm);
      return fits ? [{ name: `recipe ${name}`, subject: `recipe ${name}`, recipe: name }] : [];
    });
  }

  private async places(arm: Arm, plan: Plan, id: string): Promise<Change[]> {
    const { request, specs } = await this.plans.orderedSpecs(arm, plan.sm);
    const ranges = legalPlaces(specs, request, host, id)?.legal ?? [];
    const moves = ranges.flatMap(({ after, before, current }): Move[] => [
      ...(after === null ? [] : [{ phase: id, at: 'after' as const, anchor: after.id }]),
      ...(before === null || current ? [] : [{ phase: id, at: 'before' as const, anchor: before.id }]),
    ]);
    return moves.map((move) => ({
      name: `${id} ${move.at} ${move.anchor}`,
      subject: `place of ${id}`,
      move,
    }));
  }
}
