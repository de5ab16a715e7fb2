import { match } from 'ts-pattern';
import type { Move } from './arms.ts';
import { randomOf } from './statistics.ts';

/** One level of a factor: the change that it makes to the base. Without `set`, `disable` and `move` it makes none. */
export interface Level {
  /** Its name in output: '64', 'off', 'after OriCopyProp'. */
  readonly name: string;
  readonly set?: string;
  readonly disable?: string;
  readonly move?: Move;
}

/** A numeric range of a knob, both ends included. */
export interface Range {
  readonly from: number;
  readonly to: number;
  readonly log: boolean;
  readonly integer: boolean;
  /** Number of values in a grid. */
  readonly steps: number;
}

/** Something that varies: over named levels, or over a numeric range of the knob with its name. */
export type Factor =
  | { readonly name: string; readonly levels: readonly Level[] }
  | { readonly name: string; readonly range: Range };

/** How arms are chosen from the factors. */
export type Design = 'grid' | 'one-at-a-time' | 'random' | 'latin-hypercube';

/** The chosen level of each factor that an arm varies, by name of the factor. */
export type Choice = ReadonlyMap<string, Level>;

/** Maximum number of arms of a grid. */
export const MOST_ARMS = 100_000;

/** The level at a relative position from 0 to 1 in a knob's range. */
function levelAt(knob: string, { from, to, log, integer }: Range, at: number): Level {
  const value = log
    ? Math.exp(Math.log(from) + at * (Math.log(to) - Math.log(from)))
    : from + at * (to - from);
  const n = integer ? Math.round(value) : Number(value.toPrecision(6));
  return { name: String(n), set: `${knob}=${n}` };
}

/** The levels of a factor in a design that enumerates them; a range gives `steps` values, or fewer if some are equal after rounding. */
export function levelsOf(f: Factor): readonly Level[] {
  if ('levels' in f) return f.levels;
  const { steps } = f.range;
  const out = new Map<string, Level>();
  for (let i = 0; i < steps; i++) {
    const l = levelAt(f.name, f.range, i / (steps - 1));
    out.set(l.name, l);
  }
  return [...out.values()];
}

/** The level that a number in [0, 1) selects. */
const drawn = (f: Factor, u: number): Level =>
  'levels' in f ? f.levels[Math.floor(u * f.levels.length)] : levelAt(f.name, f.range, u);

/** Number of arms in a full grid. */
export const gridSize = (factors: readonly Factor[]): number =>
  factors.reduce((n, f) => n * levelsOf(f).length, 1);

/**
 * The choices of a design, in an order that depends only on the factors and the seed.
 *
 * @param samples number of arms for `random` and `latin-hypercube`; other designs ignore it
 */
export const choicesOf = (
  design: Design,
  factors: readonly Factor[],
  samples: number,
  seed: number,
): readonly Choice[] =>
  factors.length === 0
    ? []
    : match(design)
        .with('grid', () => grid(factors))
        .with('one-at-a-time', () => factors.flatMap((f) => levelsOf(f).map((l) => new Map([[f.name, l]]))))
        .with('random', () => {
          const random = randomOf(seed);
          return Array.from(
            { length: samples },
            () => new Map(factors.map((f) => [f.name, drawn(f, random())])),
          );
        })
        .with('latin-hypercube', () => hypercube(factors, samples, seed))
        .exhaustive();

function grid(factors: readonly Factor[]): Choice[] {
  let out: Map<string, Level>[] = [new Map()];
  for (const f of factors) out = out.flatMap((c) => levelsOf(f).map((l) => new Map(c).set(f.name, l)));
  return out;
}

/**
 * Divides each factor's range into as many parts as there are samples and uses each part once (McKay, Beckman and
 * Conover, "A Comparison of Three Methods for Selecting Values of Input Variables", 1979).
 */
function hypercube(factors: readonly Factor[], samples: number, seed: number): Choice[] {
  const random = randomOf(seed);
  const columns = factors.map(() => {
    const parts = Array.from({ length: samples }, (_, i) => i);
    for (let i = samples - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [parts[i], parts[j]] = [parts[j], parts[i]];
    }
    return parts.map((p) => (p + random()) / samples);
  });
  return Array.from(
    { length: samples },
    (_, i) => new Map(factors.map((f, k) => [f.name, drawn(f, columns[k][i])])),
  );
}
