import type { MachineOptions, Selection } from '../sim/simulation.ts';

export type Triple = readonly [number, number, number];

/** Which threads there are, and which of them run. */
export interface Shape {
  readonly grid: Triple;
  readonly block: Triple;
  readonly cluster: Triple | null;
  /** Null: all. */
  readonly only: Selection | null;
}

/**
 * What values are like. `plain`: small integers, and floats whose products are exact, so that loops end as they do for simple data.
 * `rough`: larger ones, and floats in which every rounding shows. `near`: integers below six, so that many are equal or neighbours.
 * `extreme`: also limits, special numbers, the constants of the programs and their neighbours. `ascending`: integers in memory ascend as
 * offsets of rows do, every other one by 1, so that a loop from one offset to the next has no round or one.
 */
export type Profile = 'plain' | 'rough' | 'near' | 'extreme' | 'ascending';

export type Turns = Pick<MachineOptions, 'slice' | 'pathSlice' | 'schedule' | 'apart'>;

/** One way to run a kernel: its threads, its memory, its arguments, and whose turn it is. */
export interface World {
  /** What it is called in a finding. */
  readonly name: string;
  readonly seed: number;
  readonly profile: Profile;
  readonly shape: Shape;
  /** The value of each integer argument; null: as the profile has them. */
  readonly scalars: bigint | null;
  /** What every integer argument that is positive is a multiple of. */
  readonly steps: bigint;
  /** Bytes between the places that two pointers point to; null: they are far apart. */
  readonly apart: number | null;
  /** Number of the pointer among the arguments that is null; -1 for none. */
  readonly nullPointer: number;
  /** What every pointer is a multiple of. An access at no multiple of its size then ends its warp. 0: pointers are multiples of a page. */
  readonly alignment: number;
  readonly turns: Turns;
  readonly copies: 'early' | 'late';
  /** Most warp instructions. */
  readonly budget: number;
  /**
   * Whether runs that were cut off are compared store by store: what does not end for sizes like these never ends, so that no optimizer
   * brings later stores forward.
   */
  readonly endless: boolean;
  /** Whether most kernels are made for launches like this one, so that it is worth a word if a run is cut off. */
  readonly usual: boolean;
  /** Whether the order of accesses is looked at: with one thread alone. */
  readonly orders: boolean;
  /** Whether accesses of several threads are looked at that nothing orders. */
  readonly races: boolean;
  /** Words that are given: of memory by address, of parameters by offset. */
  readonly memory: ReadonlyMap<number, number>;
  readonly parameters: ReadonlyMap<number, number>;
}

const NONE: ReadonlyMap<number, number> = new Map();

/** A world with the values of `of`, and what most of them have in common. */
export const worldOf = (of: Partial<World> & Pick<World, 'name' | 'seed' | 'shape' | 'budget'>): World => ({
  profile: (of.seed & 1) === 1 ? 'plain' : 'rough',
  scalars: null,
  steps: 1n,
  apart: null,
  nullPointer: -1,
  alignment: 0,
  turns: {},
  copies: 'late',
  endless: true,
  usual: false,
  orders: false,
  races: false,
  memory: NONE,
  parameters: NONE,
  ...of,
});

export const isOneThread = ({ only }: Shape): boolean =>
  only !== null && only.lanes !== 0 && (only.lanes & (only.lanes - 1)) === 0;

/** A warp of a launch, by block and number in it. */
export const oneWarp = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [thread >> 5],
  lanes: -1,
});

/** The four warps of a launch that multiply together, by block and the number of a thread in it. */
export const oneWarpgroup = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [0, 1, 2, 3].map((k) => 4 * (thread >> 7) + k),
  lanes: -1,
});

/** A single thread of a launch, by block and number in it. */
export const oneThread = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [thread >> 5],
  lanes: 1 << (thread & 31),
});
