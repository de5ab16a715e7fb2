import type { LaneRegs } from '../isa/lanes.ts';
import type { Code, Decoded } from './decode.ts';
import type { Memory } from './memory.ts';

/** Why a path does not move. */
export interface Wait {
  /** The instruction at which it waits. */
  readonly d: Decoded;
  /**
   * `members`: until all lanes of `members` are at a matching instruction. `warp`: for the rest of the warp, at an
   * aligned barrier; given up when no other path can move. `barrier`: until the barrier opens. `region`: until all lanes
   * of `members` wait at the same convergence barrier.
   */
  readonly until: 'members' | 'warp' | 'barrier' | 'region';
  readonly members: number;
}

/**
 * A path of a warp: lanes that execute together from `pc` until they meet the others at `join`. The paths of a warp
 * form a stack; the top one runs. An entry whose lanes are also in entries above it is the meeting point of those; it
 * continues when they have arrived.
 */
export interface Path {
  readonly frame: Frame;
  pc: number;
  mask: number;
  readonly join: number;
  wait: Wait | null;
  /** When it last got the turn, counted in turns of its warp. */
  turn: number;
}

/** Registers of a frame, as words, singles and doubles. */
export interface Slab {
  readonly i32: Int32Array;
  readonly regs: LaneRegs;
}

/** A function call of a warp: registers and call parameters. */
export interface Frame {
  readonly code: Code;
  /** Where its registers are. */
  readonly slab: Slab;
  readonly regs: LaneRegs;
  /** Call parameters, lane by lane. */
  readonly params: Uint8Array;
  readonly paramView: DataView;
  /** Nesting depth: number of calling frames. */
  readonly depth: number;
  /** Number of paths inside; at zero the call is over. */
  live: number;
  /** First byte of this frame's local memory within a thread's. */
  readonly localBase: number;
  /** Called when lanes return, with these lanes; each returns once. */
  readonly onReturn: ((lanes: number) => void) | null;
  /** Where the stack of each lane ends, counted from `localBase`; null: behind the variables. */
  tops: Float64Array | null;
  /** By instruction: what has happened there (`Seen`); null if nobody asks. */
  readonly seen: Uint8Array | null;
}

/** A copy from global to shared memory that was started and not waited for yet. */
export interface AsyncCopy {
  readonly lane: number;
  readonly to: number;
  readonly from: number;
  readonly size: number;
  readonly n: number;
}

/** What a warp does of an asynchronous product of its warpgroup, begun and not waited for yet. */
export interface MatrixFlight {
  /** How many its warp began before it. */
  readonly number: number;
  readonly frame: Frame;
  /** Places of the registers that get the sums, -1 for none. */
  readonly to: Int32Array;
  /** The sums, by register and lane: made when first asked for. */
  sums(): Int32Array;
}

/** The asynchronous products of a warp. */
export interface MatrixFlights {
  begun: number;
  /** Those of no group yet. */
  readonly pending: MatrixFlight[];
  readonly groups: MatrixFlight[][];
  /** Registers as they were at the last fence. */
  fenced: { readonly frame: Frame; readonly words: Int32Array } | null;
}

/** Four warps that multiply matrices together. */
export interface Warpgroup {
  /** By number of a product that not all of them have begun: what it is, and how many have. */
  readonly begun: Map<number, { readonly what: string; readonly warps: number }>;
  /** Warps that wait until all have. */
  readonly waiting: { readonly warp: Warp; readonly path: Path }[];
}

/** A warp: its paths, and which lanes have ended. */
export interface Warp {
  readonly index: number;
  readonly block: BlockState;
  /** A stack; the last entry is the top. */
  readonly paths: Path[];
  /** How often a path took the turn of another. */
  turns: number;
  /** Lanes that ended. */
  exited: number;
  /** Lanes that exist. */
  readonly lanes: number;
  state: 'ready' | 'barrier' | 'done';
  readonly pending: AsyncCopy[];
  readonly groups: AsyncCopy[][];
  /** Null until it begins a product of matrices with its warpgroup. */
  flights: MatrixFlights | null;
  /** In an open world, what each lane stored in order: address, value, address, value, ... */
  readonly logs: readonly number[][] | null;
}

/** One of the numbered barriers of a block. */
export interface Barrier {
  /** Threads that have arrived, for a barrier with a count. */
  arrived: number;
  /** The count; 0 for all threads of the block. */
  expected: number;
  /** Lanes of each warp that have arrived, for a barrier of all threads. */
  readonly lanes: Map<Warp, number>;
  readonly waiting: { readonly warp: Warp; readonly path: Path }[];
  readonly reductions: {
    readonly finish: (and: boolean, or: boolean, count: number) => void;
  }[];
  and: boolean;
  or: boolean;
  count: number;
}

/** A memory barrier (`mbarrier`) in shared memory. */
export interface MBarrier {
  expected: number;
  pending: number;
  phase: number;
  tx: number;
  /** Bytes that it was told to wait for in this phase. */
  said: number;
  /** In an open world: instructions of unknown size deliver bytes, so none are waited for. */
  unmeasured?: true;
}

/** The blocks of a cluster, by rank, and its barrier. */
export interface ClusterState {
  readonly dims: readonly [number, number, number];
  readonly blocks: BlockState[];
  /** How often its barrier has opened. */
  phase: number;
  /** Lanes of each warp that have arrived since. */
  readonly arrived: Map<Warp, number>;
  /** For each warp, the phase at which each lane arrived last. */
  readonly arrivals: Map<Warp, Int32Array>;
}

/** A block of threads that is resident. */
export interface BlockState {
  readonly index: number;
  readonly id: readonly [number, number, number];
  readonly warps: Warp[];
  readonly shared: Memory;
  readonly barriers: Map<number, Barrier>;
  readonly mbarriers: Map<number, MBarrier>;
  readonly warpgroups: Map<number, Warpgroup>;
  readonly locals: Memory[];
  /** The blocks that it runs with; null if it is alone in an open world. */
  readonly cluster: ClusterState | null;
  /** Called when one of its barriers opens. */
  readonly onOpen: ((bar: Barrier) => void) | null;
  /** Whether nothing changed in the last turn of its warps. */
  idle: boolean;
  done: boolean;
}
