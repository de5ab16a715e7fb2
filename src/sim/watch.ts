import type { Code, Decoded } from './decode.ts';
import type { Location } from './memory.ts';
import type { AsyncCopy, Barrier, Frame, Warp } from './state.ts';

/**
 * What has happened at an instruction in a run, as a bit set. `Ran`: it was executed. `True`, `False`: its guard was true, or false, for
 * some active lane. `Parted`: its lanes diverged there. `Asked`: set by the observer, which wants to be called before each execution.
 */
export const Seen = { Ran: 1, True: 2, False: 4, Asked: 8, Parted: 16 } as const;

/** An observer of a run in an open world. It may also determine the values of loads and clocks that other threads could influence. */
export interface Watch {
  /** `Seen` bits for each instruction of a function, which the machine updates. */
  seenIn(code: Code): Uint8Array;
  /** A thread is about to load. @returns the location of the bytes: `from`, unless other threads have written them meanwhile */
  load(w: Warp, d: Decoded, lane: number, address: number, bytes: number, from: Location): Location;
  /** A thread has stored to a location, which already holds the new value. */
  store(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void;
  /** A thread is about to execute an atomic operation. */
  atomic(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void;
  /** A thread has an asynchronous copy to shared memory: called when the copy starts, and again with `done` when it has been waited for. */
  copy(w: Warp, copy: AsyncCopy, done: boolean): void;
  /** Lanes are about to execute a primitive, including loads, stores and atomic operations. */
  execute(w: Warp, f: Frame, d: Decoded, lanes: number): void;
  /** Lanes arrive at a block barrier. */
  arrive(w: Warp, bar: Barrier, lanes: number): void;
  /** A block barrier opens for the lanes that wait. */
  open(bar: Barrier): void;
  /**
   * Lanes are about to execute an instruction marked `Asked`.
   *
   * @returns the lanes whose result is replaced by the run's `undefined` value
   */
  asked(f: Frame, pc: number, lanes: number): number;
  /** Value that a clock register shows a thread. */
  clock(w: Warp, lane: number): number;
}
