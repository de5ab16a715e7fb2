import type { Code, Decoded } from './decode.ts';
import type { Location } from './memory.ts';
import type { AsyncCopy, Barrier, Frame, Warp } from './state.ts';

/**
 * What has happened at an instruction in a run, as a bit set: it ran; its guard was true, or false, for some lane that came to it; it
 * parted lanes that came together.
 * `Asked`: the observer wants to be told each time before it runs.
 */
export const Seen = { Ran: 1, True: 2, False: 4, Asked: 8, Parted: 16 } as const;

/** An observer of a run in an open world. It may also decide what loads and clocks give, where other programs could. */
export interface Watch {
  /** By instruction of a function: `Seen` bits, which the machine sets. */
  seenIn(code: Code): Uint8Array;
  /** A thread is about to load. @returns where it finds the bytes: `from`, unless others have written meanwhile */
  load(w: Warp, d: Decoded, lane: number, address: number, bytes: number, from: Location): Location;
  /** A thread has stored, at a place that holds it now. */
  store(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void;
  /** A thread is about to read and write in one operation. */
  atomic(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void;
  /**
   * A thread has a copy to shared memory made: it is told of when it starts, and again when the thread has waited for it, which is when
   * others may be told of it.
   */
  copy(w: Warp, copy: AsyncCopy, done: boolean): void;
  /** Lanes execute an instruction whose operation no expression describes; loads, stores and atomic operations are told of as well. */
  execute(w: Warp, f: Frame, d: Decoded, lanes: number): void;
  /** Lanes arrive at a barrier of the block. */
  arrive(w: Warp, bar: Barrier, lanes: number): void;
  /** A barrier of the block opens for the lanes that wait. */
  open(bar: Barrier): void;
  /**
   * Lanes are about to execute an instruction that the observer has asked for.
   *
   * @returns those whose result becomes `undefined` of the run's options
   */
  asked(f: Frame, pc: number, lanes: number): number;
  /** What a clock shows a thread. */
  clock(w: Warp, lane: number): number;
}
