import type { Warp } from './block.ts';
import type { Lane, Wait } from './lane.ts';

type BarrierWait = Wait & { kind: 'barrier' };

/** One of the barriers of a block. */
interface Barrier {
  /** Number of participating threads; null if all participate. */
  threads: number | null;
  /** Lanes that arrived, with their wait; a lane that only arrives continues as soon as its whole warp has arrived. */
  readonly arrived: Map<Lane, BarrierWait>;
}

const WARP_SIZE = 32;

/**
 * The barriers of a block (PTX ISA, 9.7.13.1). A warp arrives once all of its lanes that have not exited have arrived, and counts as 32
 * threads. A barrier for all threads does not wait for warps that have exited.
 */
export class Barriers {
  readonly #warps: readonly Warp[];
  readonly #barriers = new Map<number, Barrier>();

  constructor(warps: readonly Warp[]) {
    this.#warps = warps;
  }

  /** A lane arrives at a barrier. @returns the lanes that may continue */
  arrive(lane: Lane, wait: BarrierWait): readonly Lane[] {
    let b = this.#barriers.get(wait.id);
    if (b === undefined) this.#barriers.set(wait.id, (b = { threads: wait.threads, arrived: new Map() }));
    if (b.arrived.has(lane)) lane.machine.fail(lane, 'the lane has arrived at this barrier before');
    b.threads = wait.threads;
    b.arrived.set(lane, wait);
    return this.#released(b);
  }

  /** A lane has exited. @returns the lanes that may continue */
  lose(): readonly Lane[] {
    return [...this.#barriers.values()].flatMap((b) => this.#released(b));
  }

  #released(b: Barrier): readonly Lane[] {
    const there = this.#warps.filter((w) => w.alive.length > 0 && w.alive.every((l) => b.arrived.has(l)));
    const complete =
      b.threads === null
        ? there.length === this.#warps.filter((w) => w.alive.length > 0).length
        : there.length * WARP_SIZE >= b.threads;
    const lanes = there.flatMap((w) => w.alive);
    if (!complete || lanes.length === 0) {
      // Lanes that only arrive continue now; they remain counted.
      const free = lanes.filter((l) => l.waiting === b.arrived.get(l) && b.arrived.get(l)!.arrives);
      for (const l of free) b.arrived.get(l)!.resume([]);
      return free;
    }
    const predicates = lanes.map((l) => b.arrived.get(l)!.predicate);
    const waiting = lanes.filter((l) => l.waiting === b.arrived.get(l));
    for (const l of waiting) b.arrived.get(l)!.resume(predicates);
    for (const l of lanes) b.arrived.delete(l);
    return waiting;
  }
}
