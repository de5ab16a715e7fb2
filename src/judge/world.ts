import type { MachineOptions, Selection } from '../sim/simulation.ts';

export type Triple = readonly [number, number, number];

/** The threads of a launch, and which of them run. */
export interface Shape {
  readonly grid: Triple;
  readonly block: Triple;
  readonly cluster: Triple | null;
  /** The threads that run; null for all. */
  readonly only: Selection | null;
}

/**
 * Distribution of values. `plain`: small integers, and floats with exact products, so that loops end as they do for simple data. `rough`:
 * larger integers, and floats in which every rounding shows. `near`: integers below six, so that many are equal or neighbours. `extreme`:
 * also limits, special numbers, and the constants of the programs with their neighbours. `ascending`: integers in memory ascend like row
 * offsets, growing by 1 at every other word, so that a loop from one offset to the next has zero or one iterations.
 */
export type Profile = 'plain' | 'rough' | 'near' | 'extreme' | 'ascending';

export type Turns = Pick<MachineOptions, 'slice' | 'pathSlice' | 'schedule' | 'apart'>;

/** One way to run a kernel: its threads, memory, arguments and schedule. */
export interface World {
  /** Name in findings. */
  readonly name: string;
  readonly seed: number;
  readonly profile: Profile;
  readonly shape: Shape;
  /** Value of each integer argument; null: chosen by the profile. */
  readonly scalars: bigint | null;
  /** Common factor of all positive integer arguments. */
  readonly steps: bigint;
  /** Distance in bytes between the targets of consecutive pointers; null: far apart. */
  readonly apart: number | null;
  /** Index among the pointer arguments of the one that is null; -1 for none. */
  readonly nullPointer: number;
  /**
   * Alignment of every pointer in bytes; a misaligned access then ends its warp. 0: page-aligned pointers, and accesses are not checked.
   */
  readonly alignment: number;
  readonly turns: Turns;
  readonly copies: 'early' | 'late';
  /** Maximum number of warp instructions. */
  readonly budget: number;
  /**
   * True: runs that were cut off are compared store by store. What does not end for such sizes never ends, so no optimizer moves later
   * stores forward.
   */
  readonly endless: boolean;
  /** True if most kernels are made for launches like this one; then a run that is cut off is reported. */
  readonly usual: boolean;
  /** True: checks the order of accesses; for a single thread only. */
  readonly orders: boolean;
  /** True: detects unordered accesses of several threads. */
  readonly races: boolean;
  /** True: if threads communicate, the second version runs under random schedules too. */
  readonly shuffled: boolean;
  /** Given words: of memory by address, of parameters by offset. */
  readonly memory: ReadonlyMap<number, number>;
  readonly parameters: ReadonlyMap<number, number>;
}

const NONE: ReadonlyMap<number, number> = new Map();

/** A world with the values of `of` and defaults for the rest. */
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
  shuffled: true,
  memory: NONE,
  parameters: NONE,
  ...of,
});

/** True if exactly one lane of each selected warp runs. */
export const isOneThread = ({ only }: Shape): boolean =>
  only !== null && only.lanes !== 0 && (only.lanes & (only.lanes - 1)) === 0;

/** Selects the warp of a thread, given by block and number in the block. */
export const oneWarp = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [thread >> 5],
  lanes: -1,
});

/** Selects the warpgroup (four warps) of a thread, given by block and number in the block. */
export const oneWarpgroup = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [0, 1, 2, 3].map((k) => 4 * (thread >> 7) + k),
  lanes: -1,
});

/** Selects a single thread, given by block and number in the block. */
export const oneThread = (block: number, thread: number): Selection => ({
  blocks: [block],
  warps: [thread >> 5],
  lanes: 1 << (thread & 31),
});
