import type { LaneRegs } from '../isa/lanes.ts';
import type { Code, Decoded } from './decode.ts';
import type { Memory } from './memory.ts';

/** Why a path is not runnable. */
export interface Wait {
  /** The instruction at which it waits. */
  readonly d: Decoded;
  /**
   * `members`: until all lanes of `members` are at a matching instruction. `warp`: for the rest of the warp, at an aligned barrier; given
   * up when no other path can run. `barrier`: until the barrier opens. `region`: until all lanes of `members` wait at the same convergence
   * barrier.
   */
  readonly until: 'members' | 'warp' | 'barrier' | 'region';
  readonly members: number;
}

/**
 * A path of a warp: lanes that execute together from `pc` until they reconverge at `join`. The paths of a warp form a stack, and the top
 * one runs. An entry whose lanes are also in entries above it is their reconvergence point; it continues when they have arrived.
 */
export interface Path {
  readonly frame: Frame;
  pc: number;
  mask: number;
  readonly join: number;
  wait: Wait | null;
  /** When the path last got the turn, counted in turns of its warp. */
  turn: number;
}

/** Storage for the registers of a frame, viewed as words, singles and doubles. */
export interface Slab {
  readonly i32: Int32Array;
  readonly regs: LaneRegs;
}

/** A function call of a warp: registers and call parameters. */
export interface Frame {
  readonly code: Code;
  /** Storage of its registers. */
  readonly slab: Slab;
  readonly regs: LaneRegs;
  /** Call parameters, lane by lane. */
  readonly params: Uint8Array;
  readonly paramView: DataView;
  /** Nesting depth: number of calling frames. */
  readonly depth: number;
  /** Number of paths in this frame; at zero the call has ended. */
  live: number;
  /** Offset of this frame's local memory in the thread's. */
  readonly localBase: number;
  /** Called with the lanes that return; each lane returns once. */
  readonly onReturn: ((lanes: number) => void) | null;
  /** Stack top of each lane, relative to `localBase`; null: at the end of the variables. */
  tops: Float64Array | null;
  /** What has happened at each instruction (`Seen` bits); null without an observer. */
  readonly seen: Uint8Array | null;
}

/** An asynchronous copy from global to shared memory that is still in flight. */
export interface AsyncCopy {
  readonly lane: number;
  readonly to: number;
  readonly from: number;
  readonly size: number;
  readonly n: number;
}

/** A warp's part of an asynchronous warpgroup product that is still in flight. */
export interface MatrixFlight {
  /** Sequence number of the product in its warp. */
  readonly number: number;
  readonly frame: Frame;
  /** Places of the registers that receive the sums; -1 for none. */
  readonly to: Int32Array;
  /** The sums, by register and lane, computed on the first call. */
  sums(): Int32Array;
}

/** Asynchronous products of a warp. */
export interface MatrixFlights {
  begun: number;
  /** Products not committed to a group yet. */
  readonly pending: MatrixFlight[];
  readonly groups: MatrixFlight[][];
  /** Snapshot of the registers at the last fence. */
  fenced: { readonly frame: Frame; readonly words: Int32Array } | null;
}

/** Four warps that compute matrix products together. */
export interface Warpgroup {
  /** For each product that not all of the warps have started: what it computes, and how many have started it. */
  readonly begun: Map<number, { readonly what: string; readonly warps: number }>;
  /** Warps that wait until all have started a product. */
  readonly waiting: { readonly warp: Warp; readonly path: Path }[];
}

/** A warp: its paths, and the lanes that have exited. */
export interface Warp {
  readonly index: number;
  readonly block: BlockState;
  /** A stack; the last entry is the top. */
  readonly paths: Path[];
  /** Number of times that a path took over the turn. */
  turns: number;
  /** Lanes that have exited. */
  exited: number;
  /** Lanes that exist. */
  readonly lanes: number;
  state: 'ready' | 'barrier' | 'done';
  readonly pending: AsyncCopy[];
  readonly groups: AsyncCopy[][];
  /** Null until the warp executes its first warpgroup instruction. */
  flights: MatrixFlights | null;
  /** In an open world: the stores of each lane in order, as address, value, address, value, ... */
  readonly logs: readonly number[][] | null;
}

/** One of the numbered barriers of a block. */
export interface Barrier {
  /** Threads that have arrived, if the barrier has a thread count. */
  arrived: number;
  /** The thread count; 0 for all threads of the block. */
  expected: number;
  /** Arrived lanes of each warp, if the barrier is for all threads. */
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
  /** Bytes that `expect_tx` announced in this phase. */
  announced: number;
  /** In an open world: instructions of unknown size deliver bytes, so bytes are not waited for. */
  unmeasured?: true;
}

/** The blocks of a cluster, by rank, and its barrier. */
export interface ClusterState {
  readonly dims: readonly [number, number, number];
  readonly blocks: BlockState[];
  /** Number of times that the barrier has opened. */
  phase: number;
  /** Lanes of each warp that have arrived in the current phase. */
  readonly arrived: Map<Warp, number>;
  /** For each warp, the phase at which each lane arrived last. */
  readonly arrivals: Map<Warp, Int32Array>;
}

/** A resident block of threads. */
export interface BlockState {
  readonly index: number;
  readonly id: readonly [number, number, number];
  readonly warps: Warp[];
  readonly shared: Memory;
  readonly barriers: Map<number, Barrier>;
  readonly mbarriers: Map<number, MBarrier>;
  readonly warpgroups: Map<number, Warpgroup>;
  readonly locals: Memory[];
  /** The cluster of the block; null for a lone block of an open world. */
  readonly cluster: ClusterState | null;
  /** Called when one of its barriers opens. */
  readonly onOpen: ((bar: Barrier) => void) | null;
  /** True if nothing changed in the last turn of its warps. */
  idle: boolean;
  done: boolean;
}
