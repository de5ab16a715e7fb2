import type { Promotable, PromotableAccess } from '../../analysis/memory/promotable.ts';
import { defUseOf, useCount } from '../../analysis/values/defuse.ts';
import { NO_REG } from '../../ir/operand.ts';
import type { Fn } from '../../ir/program.ts';
import type { PassContext } from '../pass.ts';

/** Limits on promotion; the knobs and their numbers are from reference passes-g. */
export interface PromotionLimits {
  /** Knob 135: most loads and stores of a variable. */
  readonly most: number;
  /** Knob 474: cost of an access that becomes a plain copy, where another instruction costs `fullWeight`. */
  readonly copyWeight: number;
  /** Cost of an access that becomes another instruction. */
  readonly fullWeight: number;
  /** A copied value with more uses than this has the full weight. */
  readonly manyUses: number;
  /** Knob 133: fewest stores of a variable. */
  readonly leastStores: number;
  /** Knob 134: most loads per store. */
  readonly mostLoadsPerStore: number;
  /** Knob 132: number of stores above which loads per store do not matter. */
  readonly ratioUpTo: number;
  /** Knob 136, as a fraction of a thread's registers: bounds the registers of all promoted variables, and the cost of each one. */
  readonly capacity: number;
}

/** The limits, by the knobs of the phase, the weights of its row, and the registers of its target. */
export function limitsOf(
  ctx: PassContext,
  weights: Pick<PromotionLimits, 'fullWeight' | 'manyUses'>,
): PromotionLimits {
  const number = (knob: string, unset: number): number => Number(ctx.knob(knob) ?? unset);
  const registers = Number(
    (ctx.fact('limits') as Record<string, number> | undefined)?.['max-registers'] ?? 255,
  );
  return {
    most: number('ConvertMemoryToRegIndexedSizeLimit', Number.POSITIVE_INFINITY),
    copyWeight: number('MovWeightForConvertMemToReg', 1),
    ...weights,
    leastStores: number('Knob133', 0),
    mostLoadsPerStore: number('Knob134', Number.POSITIVE_INFINITY),
    ratioUpTo: number('Knob132', Number.POSITIVE_INFINITY),
    capacity: number('Knob136', 1) * registers,
  };
}

/** The variables that are promoted, as one list: `cells` and the positions in it. */
export type Promoted = Promotable;

/**
 * Chooses among the variables that can be promoted. One with too many accesses, too few stores, or too many loads per store stays in
 * memory. The others are taken by ascending cost until the registers are used up; one whose cost exceeds the capacity stays, and so do
 * all after it, which cost more.
 *
 * The cost of a variable is that of the instructions that its accesses become: a copy is cheap, unless its value has many uses; packing
 * or extracting parts of a word is not.
 *
 * @param missed called for each variable that stays, with the reason
 * @returns the accesses and cells of the chosen variables, as one list
 */
export function chosen(
  fn: Fn,
  candidates: readonly Promotable[],
  limits: PromotionLimits,
  missed: (variable: string, why: string) => void,
): Promoted {
  const costs = new Map(candidates.map((c) => [c, costOf(fn, c, limits)]));
  const refused = new Map(candidates.map((c) => [c, refusal(c, limits)]));
  const taken = new Set<Promotable>();
  let registers = 0;
  for (const c of [...candidates].sort((a, b) => costs.get(a)! - costs.get(b)!)) {
    if (refused.get(c) !== null) continue;
    const own = c.cells.reduce((sum, { bytes }) => sum + Math.ceil(bytes / 4), 0);
    const cost = costs.get(c)!;
    if (cost > limits.capacity)
      refused.set(c, `its accesses cost ${cost}, more than ${limits.capacity.toFixed(1)} (knob 136)`);
    else if (registers + own > limits.capacity)
      refused.set(c, `${registers + own} registers are more than ${limits.capacity.toFixed(1)} (knob 136)`);
    else {
      registers += own;
      taken.add(c);
    }
  }
  for (const c of candidates) if (!taken.has(c)) missed(c.cells[0].variable, refused.get(c)!);
  return together(candidates.filter((c) => taken.has(c)));
}

function refusal(c: Promotable, limits: PromotionLimits): string | null {
  const stores = c.accesses.filter((a) => a.isStore).length;
  const loads = c.accesses.length - stores;
  if (c.accesses.length > limits.most)
    return `${c.accesses.length} loads and stores are more than ${limits.most} (knob 135)`;
  if (stores < limits.leastStores) return `${stores} stores are fewer than ${limits.leastStores} (knob 133)`;
  if (stores <= limits.ratioUpTo && loads > stores * limits.mostLoadsPerStore)
    return `${loads} loads of ${stores} stores are more than ${limits.mostLoadsPerStore} for each (knob 134)`;
  return null;
}

function costOf(fn: Fn, c: Promotable, { copyWeight, fullWeight, manyUses }: PromotionLimits): number {
  const du = defUseOf(fn);
  const isPlain = ({ elements }: PromotableAccess, cell: number): boolean =>
    c.cells[cell].bytes === elements.bytes && elements.bytes >= 4;
  let cost = 0;
  for (const a of c.accesses)
    a.pieces.forEach(({ cell }, k) => {
      const to = a.isStore ? NO_REG : du.ins[a.n].dst[k];
      const many = to !== NO_REG && useCount(du, to) > manyUses;
      cost += isPlain(a, cell) && !many ? copyWeight : fullWeight;
    });
  return cost;
}

function together(list: readonly Promotable[]): Promoted {
  const cells = list.flatMap((c) => c.cells);
  let first = 0;
  const accesses = list.flatMap((c) => {
    const from = first;
    first += c.cells.length;
    return c.accesses.map((a) => ({ ...a, pieces: a.pieces.map((p) => ({ ...p, cell: from + p.cell })) }));
  });
  return { cells, accesses };
}
