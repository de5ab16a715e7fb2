import type { Fn, Instr, Program } from '../ir/program.ts';
import type { Counters } from './counters.ts';
import type { Code, Decoded } from './decode.ts';
import type { FaultKind } from './faults.ts';
import type { Location, Memory } from './memory.ts';
import type { Frame, Path, Warp } from './state.ts';

/** How a kernel is run. */
export interface MachineOptions {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicShared: number;
  /** Total limit of warp instructions, counted exactly; a run that needs one more ends with status 'budget'. */
  readonly budget: number;
  readonly counters: Counters | null;
  /** Open world: every address exists, nothing is checked. */
  readonly open: boolean;
  readonly seed: number;
  /**
   * Bytes of stack that the calls of a thread may take, 65,536 by default; what every function takes once is
   * there in any case.
   */
  readonly stack?: number;
  /** Warp instructions a warp may run before the next has its turn; a block ten times that. Default: 20,000. */
  readonly slice?: number;
  /** Warp instructions that lanes which parted from others of their warp may run before those have their turn. Default: 5000. */
  readonly pathSlice?: number;
}

/** What the machine offers to the code that executes instructions on it. */
export interface Simulation {
  readonly program: Program;
  readonly opts: MachineOptions;
  readonly global: Memory;
  /** Constant bank 0, parameters included. */
  readonly bank: DataView;
  readonly functions: ReadonlyMap<string, Fn>;
  readonly functionList: readonly Fn[];
  /** Addresses of the constant space: the program's constant variables. */
  readonly constants: { readonly from: number; readonly to: number };
  /** Bytes of shared memory of a block. */
  readonly sharedBytes: number;
  /** Warp instructions so far. */
  readonly executed: number;
  /** Counts events that other threads can see: memory that changed, arrivals at barriers, threads that ended. */
  changes: number;
  /** What the kernel printed. */
  readonly output: string[];
  /** Where an open world's next `malloc` is. */
  readonly heap: { next: number };
  /** Told of every load from global memory; null if nobody listens. */
  readonly followed: { note(ins: Instr, address: number): void } | null;
  readonly kernelName: string;
  /** Lane that is being worked on, for messages. */
  lane: number;
  /** Path that arrives at a barrier of the block. */
  arriving: Path | null;
  /** Set by a primitive when every lane has to wait for other threads, so that its warp gives up its turn. */
  askedInVain: boolean;
  /** Address of a symbol in its own space (shared: an offset; functions: a number of their own). */
  symbolAddress(name: string, code: Code): number;
  /** Bytes that the calls of a thread may take in all. */
  readonly stackLimit: number;
  /** Local memory of a thread; made when first used. */
  localOf(w: Warp, lane: number): Memory;
  /** Makes the local memory of these lanes at least so long, where they have any. */
  growLocals(w: Warp, mask: number, bytes: number): void;
  /** Resolves a generic address to its space and place. */
  generic(w: Warp, lane: number, address: number, size: number, write: boolean): Location;
  /** A frame for a call of `code`, its registers in place. */
  newFrame(code: Code, depth: number, localBase: number, onReturn: (() => void) | null): Frame;
  /** In an open world: ends these lanes; others go on. */
  endLanes(w: Warp, lanes: number, kind: FaultKind): void;
  /** In an open world: records what a thread shows other than by memory, as if it stored it to a place of its own. */
  show(w: Warp, lane: number, value: number): void;
  /** Instruction, function and source place, in words. */
  describe(d: Decoded, f: Frame | undefined): string;
  /** @throws SimFault that names instruction and thread */
  fault(message: string, d: Decoded, w: Warp, lane: number, kind?: FaultKind): never;
}
