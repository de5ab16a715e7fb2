import { isSafeLoad } from '../../analysis/calls/effects.ts';
import { isTexture } from '../../analysis/schedule/textures.ts';
import type { BlockNo, Draft } from '../../ir/draft/index.ts';
import type { PassContext } from '../pass.ts';
import type { BottomTested } from './unroll-shape.ts';

/** Defaults of UnrollUnknownCount and UnrollBudget, and the scale of knob 898 (reference passes-c). */
const FACTOR = 4;
const BUDGET = 140;
const SCALE = 0.5;
/** Knob 429 forces a factor of at most 2 to this power: 1,024 iterations at once. */
const MOST_FORCED = 10;

/** Numbers of the factor table (reference passes-c). */
const TABLE = {
  /** Instructions that each texture fetch allows, besides those of a loop without any, and the most that fetches allow. */
  perTexture: 5,
  withoutTexture: 22,
  mostByTextures: 100,
  /** Up to this cost, a loop with texture fetches is small. */
  small: 49,
  /** A nest, and a hot loop of several blocks, needs one texture fetch for so many instructions. */
  perFetch: 10,
};

/** What the factor of a loop depends on. */
export interface Priced {
  /** Instructions that each copy costs. */
  readonly cost: number;
  readonly textures: number;
}

/** The factor that a knob forces; null if none does. */
export function forcedFactor(ctx: PassContext): number | null {
  const power = ctx.knob('Knob429');
  if (power !== null) return 2 ** Math.min(Number(power), MOST_FORCED);
  const factor = Number(ctx.knob('Knob896') ?? 0);
  return factor > 0 ? Math.min(factor, 2 ** MOST_FORCED) : null;
}

/** Instructions that the copies of a partly unrolled loop may have together. */
export const partBudget = (ctx: PassContext): number => Number(ctx.knob('UnrollBudget') ?? BUDGET);

const unknownCount = (ctx: PassContext): number => Number(ctx.knob('UnrollUnknownCount') ?? FACTOR);

/** UnrollUnknownCount, halved until the copies fit the budget. */
export function halvedFactor(size: number, ctx: PassContext): number {
  let factor = unknownCount(ctx);
  while (factor > 1 && factor * size > partBudget(ctx)) factor = Math.floor(factor / 2);
  return factor;
}

/**
 * The cost of a copy: its instructions, less constants that an operand can name instead, and less a share of the blocks of inner loops
 * that a pragma keeps. The original also counts calls, which no loop that is unrolled has here, and what is overwritten unread, which
 * phase 16 has removed.
 * @param kept blocks of inner loops that may not be unrolled
 */
export function priced(
  d: Draft,
  loop: BottomTested,
  kept: ReadonlySet<BlockNo>,
  operands: boolean,
  ctx: PassContext,
): Priced {
  let folded = 0;
  let textures = 0;
  for (const b of loop.blocks)
    for (let n = d.first(b); n >= 0; n = d.next(n)) {
      const x = d.at(n);
      if (operands && isSafeLoad(x)) folded++;
      if (isTexture(x)) textures++;
    }
  const quiet = loop.blocks.filter((b) => kept.has(b)).length;
  return {
    cost: loop.size - folded - Math.floor(Number(ctx.knob('Knob898') ?? SCALE) * quiet),
    textures,
  };
}

/** May a nest be unrolled? It needs texture fetches, unless knob 894 allows nests without. */
export const nestIsWorthIt = ({ cost, textures }: Priced, ctx: PassContext): boolean =>
  isAllowed(ctx, 'Knob894') || TABLE.perFetch * textures >= cost;

/** The value of a flag that is set by default. */
export const isAllowed = (ctx: PassContext, knob: string): boolean => {
  const v = ctx.knob(knob);
  return v !== false && v !== 0;
};

/** The greatest factor up to the number of iterations whose copies fit the budget; the older text of the reference. */
export const knownFactor = (iterations: bigint, { cost }: Priced, ctx: PassContext): number => {
  const most = Math.floor(partBudget(ctx) / Math.max(1, cost));
  return iterations < BigInt(most) ? Number(iterations) : most;
};

/**
 * The factor of a loop that runs an unknown number of iterations, by the table of the reference. Several blocks need
 * LoopUnrollUnknownMultiBlock, unless the loop is hot.
 * @param blocks of the loop
 */
export function tabledFactor(
  { cost, textures }: Priced,
  blocks: number,
  hot: boolean,
  ctx: PassContext,
): number {
  const several = blocks > 1;
  if (several && !hot && ctx.knob('LoopUnrollUnknownMultiBlock') !== true) return 0;
  const four = unknownCount(ctx);
  const two = Math.min(2, four);
  const set = Number(ctx.knob('Knob900') ?? 0);
  const byTextures = Math.min(TABLE.perTexture * textures + TABLE.withoutTexture, TABLE.mostByTextures);
  const wanted =
    textures > 0 && cost <= TABLE.small
      ? several && hot
        ? two
        : four
      : (set > 0 ? set : byTextures) > cost
        ? four
        : two;
  return wanted * cost <= partBudget(ctx) ? wanted : 0;
}
