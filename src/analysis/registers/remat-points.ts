import type { BlockNo } from '../../ir/draft/index.ts';
import type { Fn } from '../../ir/program.ts';
import type { LiveRange, LiveRanges } from './live-ranges.ts';
import { pressureOf } from './pressure.ts';

/** Examining this many points in a row costs as much as one block of a live range. */
const POINTS = 32;

/**
 * Units of one pool that are live at each point of the blocks where there are too many, kept exact while live ranges are cut into
 * parts.
 *
 * @see pressureOf for the meaning of a point
 */
export class PressurePoints {
  private readonly fn: Fn;
  private readonly live: LiveRanges;
  private readonly pool: number;
  /** Initial units at each point, by block, for the blocks that exceed the lowest target at some point. */
  private readonly pressed = new Map<BlockNo, Int32Array>();
  private now = new Map<BlockNo, Int32Array>();
  private target = 0;
  private above = 0;

  /** @param floor the lowest target that will be queried */
  constructor(fn: Fn, live: LiveRanges, pool: number, floor: number) {
    this.fn = fn;
    this.live = live;
    this.pool = pool;
    const { at, inBlock } = pressureOf(fn);
    for (let b = 0; b < fn.blocks.length; b++) if (inBlock(b, pool) > floor) this.pressed.set(b, at(b, pool));
  }

  /** Starts over, with the original live ranges of the function. */
  begin(target: number): void {
    this.target = target;
    this.now = new Map();
    this.above = 0;
    this.live.spent += this.pressed.size;
    for (const [b, at] of this.pressed) {
      this.now.set(b, at.slice());
      for (let i = 0; i < at.length; i++) if (at[i] > target) this.above++;
    }
  }

  /** Blocks where more than the lowest target is live at some point. */
  blocks(): Iterable<BlockNo> {
    return this.pressed.keys();
  }

  /** Number of points above the target. */
  get over(): number {
    return this.above;
  }

  /** Units at a point; in a block with low pressure, the maximum of the block. */
  at(b: BlockNo, at: number): number {
    return this.now.get(b)?.[at] ?? pressureOf(this.fn).inBlock(b, this.pool);
  }

  /** Charges an examination of a run of points to the work limit. */
  private charge(first: number, last: number): void {
    this.live.spent += 1 + (last - first) / POINTS;
  }

  /** The maximum units at any point of these blocks if all of these were removed at once. */
  mostWithout(all: Iterable<{ readonly units: number; readonly freed: readonly number[] }>): number {
    const off = new Map([...this.now].map(([b, at]) => [b, at.slice()]));
    for (const { units, freed } of all)
      for (let k = 0; k < freed.length; k += 3) {
        const at = off.get(freed[k])!;
        this.charge(freed[k + 1], freed[k + 2]);
        for (let i = freed[k + 1]; i <= freed[k + 2]; i++) at[i] -= units;
      }
    let most = 0;
    for (const at of off.values()) for (let i = 0; i < at.length; i++) if (at[i] > most) most = at[i];
    return most;
  }

  /** Units above the target, summed over all points, that would be removed. */
  gain(units: number, freed: readonly number[]): number {
    let gain = 0;
    for (let k = 0; k < freed.length; k += 3) {
      this.charge(freed[k + 1], freed[k + 2]);
      const at = this.now.get(freed[k])!;
      for (let i = freed[k + 1]; i <= freed[k + 2]; i++) {
        const over = at[i] - this.target;
        if (over > 0) gain += over < units ? over : units;
      }
    }
    return gain;
  }

  /** The points at which a value is no longer live if its range is reduced to these parts: triples of block, first and last point. */
  freedBy(was: LiveRange, parts: readonly LiveRange[]): readonly number[] {
    const out: number[] = [];
    this.freedIn(was.home, was, parts, out);
    for (const b of was.into) this.freedIn(b, was, parts, out);
    this.live.spent += was.into.size * (1 + parts.length);
    return out;
  }

  private freedIn(b: BlockNo, was: LiveRange, parts: readonly LiveRange[], out: number[]): void {
    const old = this.pressed.has(b) ? this.live.interval(was, b) : null;
    if (old === null) return;
    let [from] = old;
    const kept: (readonly [number, number])[] = [];
    for (const range of parts) {
      const x = this.live.interval(range, b);
      if (x !== null) kept.push(x);
    }
    if (kept.length > 1) kept.sort((x, y) => x[0] - y[0]);
    for (const [first, last] of kept) {
      if (first > from) out.push(b, from, first - 1);
      from = Math.max(from, last + 1);
    }
    if (from <= old[1]) out.push(b, from, old[1]);
  }

  /** Replaces the live range of a register of so many units by parts of it. */
  move(units: number, old: LiveRange, to: readonly LiveRange[]): void {
    this.moveIn(old.home, units, old, to);
    for (const b of old.into) this.moveIn(b, units, old, to);
  }

  private moveIn(b: BlockNo, units: number, old: LiveRange, to: readonly LiveRange[]): void {
    const at = this.now.get(b);
    if (at === undefined) return;
    this.add(at, this.live.interval(old, b), -units);
    for (const range of to) this.add(at, this.live.interval(range, b), units);
  }

  private add(at: Int32Array, points: readonly [number, number] | null, by: number): void {
    if (points === null) return;
    const [first, last] = points;
    this.charge(first, last);
    for (let i = first; i <= last; i++) {
      if (at[i] > this.target) this.above--;
      at[i] += by;
      if (at[i] > this.target) this.above++;
    }
  }
}
