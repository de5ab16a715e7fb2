import type { Factor, Level } from './designs.ts';
import type { Experiment } from './experiment.ts';
import { LinearModel } from './least-squares.ts';
import { mean } from './statistics.ts';

/** The effect of a factor on the first metric. */
export interface Effect {
  readonly factor: string;
  /**
   * The levels in the order of the experiment, or by size for a range. `ratio` is the geometric mean ratio of the arms with the level; if
   * effects are fitted jointly, it is adjusted to a balanced design. It is null if the design does not determine it.
   */
  readonly levels: readonly { readonly name: string; readonly ratio: number | null; readonly arms: number }[];
  /** Highest ratio of a level divided by the lowest, minus one; null if the design does not determine it. */
  readonly size: number | null;
}

/** The joint effect of two factors beyond their single effects. */
export interface Interaction {
  readonly factors: readonly [string, string];
  /** Largest deviation of a pair of levels from the product of their single effects. */
  readonly size: number;
  readonly levels: readonly [string, string];
}

/**
 * How effects are estimated from the arms.
 * - `base`: each arm differs from the base in one factor.
 * - `means`: the design is balanced, so marginal means estimate the effects.
 * - `least squares`: it is not balanced, so all effects are fitted jointly.
 * - `nothing`: it is not balanced, and has too many levels to be fitted (`MOST_COLUMNS`).
 */
export type EffectsBy = 'base' | 'means' | 'least squares' | 'nothing';

/** Effects and interactions of all factors. */
export interface Effects {
  readonly effectsBy: EffectsBy;
  /** Residual standard deviation of the model in which effects only multiply, as a fraction; null if no degrees of freedom are left. */
  readonly deviation: number | null;
  readonly effects: readonly Effect[];
  /** The largest first. */
  readonly interactions: readonly Interaction[];
  /** Pairs of factors whose interaction the design does not determine. */
  readonly untold: readonly (readonly [string, string])[];
}

/** Maximum number of columns of a fit. Its time grows with their cube; with this many it takes a second. */
export const MOST_COLUMNS = 1000;

/** Number of groups for a range with more than twice as many distinct values. */
const GROUPS = 4;

/** The levels of a factor in display order; `of` has the index of the level of each arm, or null if the arm does not vary the factor. */
interface Levelled {
  readonly factor: string;
  readonly levels: readonly string[];
  readonly of: readonly (number | null)[];
}

/** True if a level makes no change to the base. */
const isBase = (l: Level): boolean => l.set === undefined && l.disable === undefined && l.move === undefined;

/** Levels of a factor; sampled ranges are grouped by size. */
function levelled(experiment: Experiment, f: Factor): Levelled {
  const names = experiment.arms.map((a) => a.choice.get(f.name)?.name ?? null);
  const distinct = [...new Set(names.filter((n) => n !== null))];
  const placed = (levels: readonly string[]): Levelled => ({
    factor: f.name,
    levels,
    of: names.map((n) => (n === null ? null : levels.indexOf(n))),
  });
  if ('levels' in f) return placed(f.levels.map((l) => l.name).filter((n) => distinct.includes(n)));
  const values = distinct.map(Number).sort((a, b) => a - b);
  if (distinct.length <= 2 * GROUPS) return placed(values.map(String));
  const cuts = Array.from({ length: GROUPS }, (_, k) => values[Math.floor((k * values.length) / GROUPS)]);
  return {
    factor: f.name,
    levels: cuts.map((from, k) => `${from} to ${cuts[k + 1] ?? values[values.length - 1]}`),
    of: names.map((n) => (n === null ? null : cuts.findLastIndex((from) => from <= Number(n)))),
  };
}

/**
 * Effects and interactions of the factors of an experiment.
 *
 * @param logs for each arm, the natural logarithm of its ratio to the base; null if it has none
 */
export function effectsOf(experiment: Experiment, logs: readonly (number | null)[]): Effects {
  const all = experiment.factors.map((f) => levelled(experiment, f));
  const pairs = all.flatMap((x, i) => all.slice(i + 1).map((y) => [x.factor, y.factor] as const));
  if (experiment.design === 'one-at-a-time') {
    const effects = experiment.factors.map((f, i) => againstBase(f, all[i], logs));
    return { effectsBy: 'base', deviation: null, effects: sorted(effects), interactions: [], untold: pairs };
  }
  // Arms that the experiment lists explicitly have no level of any factor and are left out.
  const arms = logs.flatMap((log, arm) =>
    log !== null && Number.isFinite(log) && all.every((x) => x.of[arm] !== null) ? [{ arm, log }] : [],
  );
  const design = new Design(
    all.map((x) => present(x, arms)),
    arms,
  );
  const balanced = design.balanced();
  if (!balanced && design.columns > MOST_COLUMNS)
    return { effectsBy: 'nothing', deviation: null, effects: [], interactions: [], untold: pairs };
  const fit = balanced ? null : design.fitted([]);
  const model = fit ?? design.ofMeans();
  const estimated = design.interactions();
  return {
    effectsBy: balanced ? 'means' : 'least squares',
    deviation: deviationOf(model, arms.length),
    effects: sorted(all.map((_, i) => (fit === null ? design.byMeans(i) : design.byFit(i, fit)))),
    interactions: estimated.sort((x, y) => y.size - x.size),
    untold: pairs.filter(([x, y]) => !estimated.some((t) => t.factors[0] === x && t.factors[1] === y)),
  };
}

function deviationOf(
  { rank, residual }: Pick<LinearModel, 'rank' | 'residual'>,
  arms: number,
): number | null {
  return arms <= rank ? null : Math.expm1(Math.sqrt(residual / (arms - rank)));
}

const sorted = (effects: readonly Effect[]): Effect[] =>
  [...effects].sort((a, b) => (b.size ?? -1) - (a.size ?? -1));

/** Size of an effect from the ratios of its levels; null for fewer than two. */
const sizeOf = (ratios: readonly number[]): number | null =>
  ratios.length < 2 ? null : Math.max(...ratios) / Math.min(...ratios) - 1;

/** The effect of a factor in a one-at-a-time design, where each arm differs from the base in this factor only. */
function againstBase(f: Factor, x: Levelled, logs: readonly (number | null)[]): Effect {
  const same = 'levels' in f ? f.levels.find(isBase)?.name : undefined;
  const levels = x.levels.flatMap((name, l) => {
    const own = logs.filter((log, i): log is number => x.of[i] === l && log !== null && Number.isFinite(log));
    return name === same || own.length === 0 ? [] : [{ name, ratio: Math.exp(mean(own)), arms: own.length }];
  });
  const size = levels.length === 0 ? null : sizeOf([1, ...levels.map((l) => l.ratio)]);
  return {
    factor: x.factor,
    levels: same === undefined ? levels : [{ name: same, ratio: 1, arms: 1 }, ...levels],
    size,
  };
}

/** A factor restricted to the levels that some of the arms have. */
function present({ factor, levels, of }: Levelled, arms: readonly { readonly arm: number }[]): Levelled {
  const has = new Set(arms.map(({ arm }) => of[arm]));
  const kept = levels.map((_, l) => l).filter((l) => has.has(l));
  return {
    factor,
    levels: kept.map((l) => levels[l]),
    of: of.map((l) => (l === null ? null : kept.indexOf(l))),
  };
}

/** The arms of a design that have a level of every factor. */
class Design {
  private readonly all: readonly Levelled[];
  private readonly logs: readonly number[];
  /** For each arm, the index of its level of each factor. */
  private readonly at: readonly (readonly number[])[];
  /** First column of each factor in a model; column 0 is the constant. */
  private readonly first: readonly number[];
  readonly columns: number;

  constructor(all: readonly Levelled[], arms: readonly { readonly arm: number; readonly log: number }[]) {
    this.all = all;
    this.logs = arms.map((a) => a.log);
    this.at = arms.map(({ arm }) => all.map((x) => x.of[arm]!));
    let next = 1;
    this.first = all.map((x) => {
      const first = next;
      next += x.levels.length;
      return first;
    });
    this.columns = next;
  }

  /**
   * Fits a model of all single effects.
   * @param further for each arm, additional columns that are 1
   * @param more number of additional columns
   */
  fitted(further: readonly (readonly number[])[], more = 0): LinearModel {
    const rows = this.at.map((levels, n) => [
      0,
      ...levels.map((l, f) => this.first[f] + l),
      ...(further[n] ?? []),
    ]);
    return new LinearModel(rows, this.columns + more, this.logs);
  }

  /**
   * Rank and residual of the model of all single effects in a balanced design, where an effect is the difference between the mean of a
   * level and the mean of all arms.
   */
  ofMeans(): Pick<LinearModel, 'rank' | 'residual'> {
    const all = mean(this.logs);
    const off = this.all.map((x, f) => x.levels.map((_, l) => mean(this.logsWith(f, l)) - all));
    return {
      rank: 1 + this.all.reduce((n, x) => n + x.levels.length - 1, 0),
      residual: this.at.reduce(
        (sum, levels, n) => sum + (this.logs[n] - all - levels.reduce((t, l, f) => t + off[f][l], 0)) ** 2,
        0,
      ),
    };
  }

  /** True if any two levels of different factors occur together in proportion to their own frequencies. */
  balanced(): boolean {
    const n = this.at.length;
    return this.all.every((x, f) =>
      this.all.slice(f + 1).every((y, k) => {
        const g = f + 1 + k;
        const times = (test: (levels: readonly number[]) => boolean) => this.at.filter(test).length;
        return x.levels.every((_, a) =>
          y.levels.every(
            (_, b) =>
              times((l) => l[f] === a && l[g] === b) * n ===
              times((l) => l[f] === a) * times((l) => l[g] === b),
          ),
        );
      }),
    );
  }

  private logsWith(f: number, level: number): number[] {
    return this.logs.filter((_, n) => this.at[n][f] === level);
  }

  byMeans(f: number): Effect {
    const x = this.all[f];
    const levels = x.levels.map((name, l) => {
      const own = this.logsWith(f, l);
      return { name, ratio: Math.exp(mean(own)), arms: own.length };
    });
    return { factor: x.factor, levels, size: sizeOf(levels.map((l) => l.ratio)) };
  }

  byFit(f: number, model: LinearModel): Effect {
    const x = this.all[f];
    const all = x.levels.map((_, l) => l);
    const against = (l: number, other: number) =>
      l === other
        ? 0
        : model.sum(
            new Map([
              [this.first[f] + l, 1],
              [this.first[f] + other, -1],
            ]),
          );
    // Compare only levels whose differences the model determines; if there are several such sets, take the largest.
    const sets = all.map((l) => all.filter((k) => against(k, l) !== null));
    const set = sets.reduce((most, s) => (s.length > most.length ? s : most), []);
    const arms = set.flatMap((l) => this.logsWith(f, l).map((log) => ({ l, log })));
    // Mean of the arms with these levels, minus the mean effect of their own levels; adding the effect of a level gives its adjusted mean.
    const off = (l: number) => against(l, set[0])!;
    const middle = mean(arms.map((a) => a.log)) - mean(arms.map((a) => off(a.l)));
    const levels = all.map((l) => ({
      name: x.levels[l],
      ratio: set.length >= 2 && set.includes(l) ? Math.exp(middle + off(l)) : null,
      arms: this.logsWith(f, l).length,
    }));
    return {
      factor: x.factor,
      levels,
      size: sizeOf(levels.flatMap((l) => (l.ratio === null ? [] : [l.ratio]))),
    };
  }

  /**
   * Interactions of all pairs of factors. They are fitted jointly, because an omitted one would bias the others. Pairs whose interaction is
   * not determined are left out; if there are too few arms or too many columns, all are.
   */
  interactions(): Interaction[] {
    const counts = this.all.map((x) => x.levels.length);
    const blocks: { f: number; g: number; first: number }[] = [];
    let next = this.columns;
    for (let f = 0; f < counts.length; f++)
      for (let g = f + 1; g < counts.length; g++) {
        blocks.push({ f, g, first: next });
        next += Math.max(0, counts[f] - 1) * Math.max(0, counts[g] - 1);
      }
    const needed = 1 + counts.reduce((s, c) => s + Math.max(0, c - 1), 0) + next - this.columns;
    if (needed > Math.min(this.at.length, MOST_COLUMNS)) return [];
    // The first level of each factor is the reference, so that columns are not redundant.
    const column = ({ g, first }: (typeof blocks)[number], x: number, y: number) =>
      x === 0 || y === 0 ? null : first + (x - 1) * (counts[g] - 1) + (y - 1);
    const further = this.at.map((l) => blocks.flatMap((b) => column(b, l[b.f], l[b.g]) ?? []));
    const model = this.fitted(further, next - this.columns);
    return blocks.flatMap((b) => {
      if (counts[b.f] < 2 || counts[b.g] < 2) return [];
      const table = Array.from({ length: counts[b.f] }, (_, x) =>
        Array.from({ length: counts[b.g] }, (_, y) => {
          const c = column(b, x, y);
          return c === null ? 0 : model.sum(new Map([[c, 1]]));
        }),
      );
      return table.flat().some((v) => v === null) ? [] : [this.largest(b.f, b.g, table as number[][])];
    });
  }

  /** The pair of levels with the largest deviation from the additive model of a table. */
  private largest(f: number, g: number, table: readonly (readonly number[])[]): Interaction {
    const [x, y] = [this.all[f], this.all[g]];
    const all = mean(table.flat());
    let size = 0;
    let levels: [string, string] = [x.levels[0], y.levels[0]];
    table.forEach((row, a) => {
      row.forEach((v, b) => {
        const off = v - mean(row) - mean(table.map((r) => r[b])) + all;
        const s = Math.expm1(Math.abs(off));
        if (s > size) [size, levels] = [s, [x.levels[a], y.levels[b]]];
      });
    });
    return { factors: [x.factor, y.factor], size, levels };
  }
}
