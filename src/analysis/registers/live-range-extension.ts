import type { BlockNo, Draft, Ins } from '../../ir/draft/index.ts';
import { isPredReg, NO_REG, type Reg, regWidth } from '../../ir/operand.ts';
import { draftCfg } from '../flow/draft-cfg.ts';
import { isLiveBehind, LiveClass, type Liveness, liveClassOf, livenessOf, Pool } from './liveness.ts';
import { type Pressure, pressureOf } from './pressure.ts';

/** Paths through more blocks than this count as paths through all blocks, so that queries stay cheap in large functions. */
const MOST_BLOCKS = 500;

/** Maximum units of a pool that may be live at once. */
export interface PoolLimits {
  /** 32-bit general registers. */
  readonly registers: number;
  readonly predicates: number;
}

/** The limits given by parameters of a pass; an absent one is no limit. */
export const poolLimits = (registers: unknown, predicates: unknown): PoolLimits => ({
  registers: Number(registers ?? Number.POSITIVE_INFINITY),
  predicates: Number(predicates ?? Number.POSITIVE_INFINITY),
});

/**
 * Tracks whether registers stay within their limits at every point if values live longer. Extensions that fit are recorded, so that
 * many small ones count together. Only live ranges that grow are counted, not those that may shrink in return.
 */
export class LiveRangeExtension {
  private readonly d: Draft;
  private readonly live: Liveness;
  private readonly pressure: Pressure;
  /** By pool, like the following fields: maximum units, */
  private readonly limits: readonly number[];
  /** units recorded so far by block, */
  private readonly booked: readonly Int32Array[];
  /** units recorded for the whole function, */
  private readonly everywhere = [0, 0];
  /** and units before each instruction of a block. */
  private readonly points: readonly Map<BlockNo, Int32Array>[] = [new Map(), new Map()];
  /** Blocks to whose end a register has been extended. */
  private readonly ends = new Map<Reg, Set<BlockNo>>();

  /** @param d a draft without edits */
  constructor(d: Draft, limits: PoolLimits) {
    this.d = d;
    this.live = livenessOf(d.fn);
    this.pressure = pressureOf(d.fn);
    this.limits = [limits.registers, limits.predicates];
    this.booked = this.limits.map(() => new Int32Array(d.fn.blocks.length));
  }

  /**
   * Records that a result of `def` lives on to `use`, which `def` dominates; false, and nothing recorded, if some point in between
   * would have too many live registers. Uniform registers are free.
   *
   * @param result the register at `use` that it replaces
   * @param r the result of `def`; NO_REG if it has none yet
   */
  prolong(result: Reg, r: Reg, def: Ins, use: Ins): boolean {
    const pool = isPredReg(result) ? Pool.P : Pool.R;
    if (pool === Pool.R && liveClassOf(result) !== LiveClass.R) return true;
    const units = pool === Pool.P ? 1 : regWidth(result) / 32;
    const booked = this.booked[pool];
    const [from, to] = [this.d.block(def), this.d.block(use)];
    if (from === to) {
      if (!this.fits(pool, r, from, def, use, units)) return false;
      booked[from] += units;
      return true;
    }
    const between = this.between(from, to);
    if (between === null) {
      if (this.pressure.most[pool] + this.everywhere[pool] + units > this.limits[pool]) return false;
      this.everywhere[pool] += units;
      return true;
    }
    const extended = this.ends.get(r) ?? new Set<BlockNo>();
    if (r !== NO_REG) this.ends.set(r, extended);
    const charged: BlockNo[] = [];
    // From its start, or from the last use in the first block, to its end.
    const toEnd = (b: BlockNo): boolean => {
      if (extended.has(b) || this.isLiveAfter(r, b)) return true;
      charged.push(b);
      return this.fits(pool, r, b, b === from ? def : -1, -1, units);
    };
    if (!toEnd(from)) return false;
    for (const b of between) if (!toEnd(b)) return false;
    if (!between.has(to) && !extended.has(to) && !this.isLiveAfter(r, to)) {
      if (!this.fits(pool, r, to, -1, use, units)) return false;
      booked[to] += units;
    }
    for (const b of charged) {
      extended.add(b);
      booked[b] += units;
    }
    return true;
  }

  /** Do `units` more fit in a block between two of its instructions (-1: its border)? Where `r` is live anyway, it needs none. */
  private fits(pool: number, r: Reg, b: BlockNo, after: Ins, before: Ins, units: number): boolean {
    if (this.isLiveAfter(r, b)) return true;
    const first = this.d.first(b);
    const at = this.pointsOf(pool, b);
    let begin = after < 0 ? 0 : after - first + 1;
    const { d } = this;
    if (r !== NO_REG)
      d.eachUse(r, (n) => {
        if (d.block(n) === b) begin = Math.max(begin, n - first + 1);
      });
    const end = before < 0 ? at.length - 1 : before - first;
    let most = 0;
    for (let i = begin; i <= end; i++) most = Math.max(most, at[i]);
    return begin > end || most + this.booked[pool][b] + this.everywhere[pool] + units <= this.limits[pool];
  }

  private isLiveAfter(r: Reg, b: BlockNo): boolean {
    return r !== NO_REG && isLiveBehind(this.live, r, b);
  }

  private pointsOf(pool: number, b: BlockNo): Int32Array {
    let at = this.points[pool].get(b);
    if (at === undefined) this.points[pool].set(b, (at = this.pressure.at(b, pool)));
    return at;
  }

  /**
   * Blocks on paths between two, the first of which dominates the second; the second is one of them only if a loop leads back to it.
   * Null if there are too many.
   */
  private between(from: BlockNo, to: BlockNo): ReadonlySet<BlockNo> | null {
    const { predStart, pred } = draftCfg(this.d);
    const found = new Set<BlockNo>();
    const work = [to];
    for (let b = work.pop(); b !== undefined; b = work.pop())
      for (let e = predStart[b]; e < predStart[b + 1]; e++) {
        const p = pred[e];
        if (p === from || found.has(p)) continue;
        if (found.size === MOST_BLOCKS) return null;
        found.add(p);
        work.push(p);
      }
    return found;
  }
}
