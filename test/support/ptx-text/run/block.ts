import { Barriers } from './barriers.ts';
import type { Code } from './code.ts';
import { Lane, type Wait } from './lane.ts';
import type { Machine } from './machine.ts';
import { type Region, region } from './memory.ts';

/** Lanes that synchronize at one instruction. */
interface Meeting {
  readonly mask: number;
  readonly arrived: Map<number, Wait & { kind: 'warp' }>;
}

const has = (mask: number, lane: number): boolean => ((mask >>> lane) & 1) === 1;

/** A warp of 32 lanes. */
export class Warp {
  readonly index: number;
  readonly lanes: Lane[] = [];
  readonly #meetings = new Map<string, Meeting>();

  constructor(index: number) {
    this.index = index;
  }

  get alive(): readonly Lane[] {
    return this.lanes.filter((l) => !l.exited);
  }

  /** A lane reaches a synchronizing instruction. @returns the lanes that may continue */
  meet(lane: Lane, wait: Wait & { kind: 'warp' }): readonly Lane[] {
    if (!has(wait.mask, lane.laneId)) lane.machine.fail(lane, 'the mask leaves out the lane itself');
    const key = `${wait.key} ${wait.mask >>> 0}`;
    let meeting = this.#meetings.get(key);
    if (meeting === undefined) this.#meetings.set(key, (meeting = { mask: wait.mask, arrived: new Map() }));
    meeting.arrived.set(lane.laneId, wait);
    return this.#finished(key, meeting);
  }

  /** A lane has exited; others may have waited for it. @returns the lanes that may continue */
  lose(): readonly Lane[] {
    return [...this.#meetings].flatMap(([key, meeting]) => this.#finished(key, meeting));
  }

  #finished(key: string, { mask, arrived }: Meeting): readonly Lane[] {
    const expected = this.alive.filter((l) => has(mask, l.laneId));
    if (!expected.every((l) => arrived.has(l.laneId))) return [];
    this.#meetings.delete(key);
    const inputs = new Map(expected.map((l) => [l.laneId, arrived.get(l.laneId)!.inputs]));
    if (inputs.size === 0) return [];
    const results = arrived.get(expected[0].laneId)!.combine(inputs);
    for (const l of expected) arrived.get(l.laneId)!.resume(results.get(l.laneId) ?? []);
    return expected;
  }
}

/** Blocks that run concurrently and access each other's shared memory. */
export class Cluster {
  readonly blocks: Block[] = [];
  /** Number of completed phases of the cluster's barrier. */
  phase = 0;
  readonly #arrived = new Set<Lane>();

  /** A lane arrives at the cluster's barrier. */
  arrive(lane: Lane): void {
    lane.arrivedPhase = this.phase;
    this.#arrived.add(lane);
    this.check();
  }

  /** Completes the phase if every lane that has not exited has arrived. */
  check(): void {
    const alive = this.blocks.flatMap((b) => b.lanes.filter((l) => !l.exited));
    if (this.#arrived.size === 0 || !alive.every((l) => this.#arrived.has(l))) return;
    this.#arrived.clear();
    this.phase++;
  }
}

/** A block of threads (CTA). */
export class Block {
  readonly index: readonly [number, number, number];
  readonly cluster: Cluster;
  readonly rank: number;
  readonly lanes: Lane[];
  readonly warps: Warp[] = [];
  readonly shared: Region;
  readonly barriers: Barriers;

  constructor(
    machine: Machine,
    index: readonly [number, number, number],
    cluster: Cluster,
    code: Code,
    sizes: { readonly threads: number; readonly sharedBytes: number },
  ) {
    this.index = index;
    this.cluster = cluster;
    this.rank = cluster.blocks.length;
    cluster.blocks.push(this);
    this.shared = region('shared', 0, machine.choices.fill(new Uint8Array(sizes.sharedBytes)));
    this.lanes = Array.from({ length: sizes.threads }, (_, t) => {
      if (t % 32 === 0) this.warps.push(new Warp(t / 32));
      const warp = this.warps.at(-1)!;
      const lane = new Lane(machine, this, warp, t, code);
      warp.lanes.push(lane);
      return lane;
    });
    this.barriers = new Barriers(this.warps);
  }

  get done(): boolean {
    return this.lanes.every((l) => l.exited);
  }
}
