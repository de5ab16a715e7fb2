import type { Fn, Instr, Program } from '../ir/program.ts';
import type { Counters } from './counters.ts';
import type { Code, Decoded } from './decode.ts';
import type { FaultKind } from './faults.ts';
import type { FramePool } from './frames.ts';
import type { Location, Memory } from './memory.ts';
import type { Contents } from './open-memory.ts';
import type { Schedule } from './schedule.ts';
import type { BlockState, Frame, Path, Warp } from './state.ts';
import type { Watch } from './watch.ts';

/** How a kernel is run. */
export interface MachineOptions {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicShared: number;
  /** Blocks of a cluster along each axis. */
  readonly cluster?: readonly [number, number, number];
  /**
   * Total limit of warp instructions, counted exactly; a run that needs one more ends with status 'budget'. In a launch, an instruction
   * that does the work of many counts as many (`spend`).
   */
  readonly budget: number;
  readonly counters: Counters | null;
  /** Open world: every address exists, nothing is checked. */
  readonly open: boolean;
  readonly seed: number;
  /** Bytes of stack for a thread's calls, 65,536 by default; there is always room for every function once. */
  readonly stack?: number;
  /** Warp instructions before the next warp gets its turn; ten times that for a block. Default: 20,000. */
  readonly slice?: number;
  /** Warp instructions of diverged lanes before the other lanes of their warp get their turn. Default: 5000. */
  readonly pathSlice?: number;
  /** Lanes start as paths of their own, the first or the last one first, and meet where they must. Default: all at once. */
  readonly apart?: 'first' | 'last';
  /** Seed of an adversarial schedule (`Schedule`), which takes the place of both; absent: turns as above. */
  readonly schedule?: number;
  /** Seed of what is added to the last bits of results that are approximations, so that what depends on them shows. Default: 0, nothing. */
  readonly nudge?: number;
  /** True: each execution of an instruction gets an amount of its own. Default: all executions of one get the same. */
  readonly nudgeEach?: boolean;
  /** Whether lanes wait at a convergence barrier until the others come, whatever the turns: so does the hardware. */
  readonly holdsRegions?: boolean;
  /** The threads that run; the others have ended before they began. Default: all. */
  readonly only?: Selection;
  /** When asynchronous copies of single threads happen. Default: not before they are waited for. */
  readonly copies?: 'early' | 'late';
  readonly watch?: Watch;
  /** Where variables of shared memory are, by name. Default: in the order of their declarations. */
  readonly sharedAt?: ReadonlyMap<string, number>;
  /** Registers that runs share which follow each other. */
  readonly frames?: FramePool;
  /** What stands where PTX says nothing of a value: in registers, and in shared and local memory that nobody has written. */
  readonly undefined?: number;
  /** Whether shared and local memory that nobody has written is the same everywhere, so that it does not matter where variables are. */
  readonly blank?: boolean;
  /** Memory that nobody has written, for shared memory and local memory of an open world. */
  readonly contents?: Contents;
}

/** Some threads of a launch. */
export interface Selection {
  /** Numbers of blocks; null: all. */
  readonly blocks: readonly number[] | null;
  /** Numbers of warps, of each block; null: all. */
  readonly warps: readonly number[] | null;
  /** Lanes of each warp. */
  readonly lanes: number;
}

/** The machine as seen by the code that executes instructions. */
export interface Simulation {
  readonly program: Program;
  readonly opts: MachineOptions;
  /** Draws whose turn is next; null for fixed turns. */
  readonly schedule: Schedule | null;
  readonly global: Memory;
  /** Constant bank 0, including parameters. */
  readonly bank: DataView;
  readonly functions: ReadonlyMap<string, Fn>;
  readonly functionList: readonly Fn[];
  /** Addresses of the constant space: the program's constant variables. */
  readonly constants: { readonly from: number; readonly to: number };
  /** Bytes of shared memory of a block. */
  readonly sharedBytes: number;
  /** Warp instructions so far. */
  executed: number;
  /** Counts events that other threads can see: memory that changed, arrivals at barriers, threads that ended. */
  changes: number;
  /** What the kernel printed. */
  readonly output: string[];
  /** Characters of `output`. */
  printed: number;
  /** Address of the next `malloc` in an open world. */
  readonly heap: { next: number };
  /** Observer of the run, or null. */
  readonly watch: Watch | null;
  /** Listener for every load from global memory, or null. */
  readonly followed: { note(ins: Instr, address: number): void } | null;
  readonly kernelName: string;
  /** Lane that is being processed, for messages. */
  lane: number;
  /** A word for each lane, which each instruction may overwrite. */
  readonly scratch: Int32Array;
  /** Path that arrives at a barrier of the block. */
  arriving: Path | null;
  /** Set by a primitive if every lane has to wait for other threads, so that its warp gives up its turn. */
  yieldTurn: boolean;
  /**
   * Set where the rest is undefined: part of a warp came to a barrier, or to an operation on matrices, that all of it has to execute
   * together (PTX ISA 9.0, bar.sync, 9.7.14), or a matrix is where none may be.
   */
  unpromised: boolean;
  /** Address of a symbol in its own space (shared: an offset; functions: a unique number). */
  symbolAddress(name: string, code: Code): number;
  /** Total bytes of stack for a thread's calls. */
  readonly stackLimit: number;
  /** Local memory of a thread; created on first use. */
  localOf(w: Warp, lane: number): Memory;
  /** Grows the local memory of these lanes to at least this size, if they have any. */
  growLocals(w: Warp, mask: number, bytes: number): void;
  /** Counts bytes that a thread takes. @throws SimFault if the threads that run together hold more than a run may take */
  hold(bytes: number): void;
  /** In a launch: takes from the budget what an instruction costs beside itself. */
  spend(instructions: number): void;
  /** Resolves a generic address to its space and location. */
  generic(w: Warp, lane: number, address: number, size: number, write: boolean): Location;
  /** A frame for a call of `code`, with initialised registers. */
  newFrame(code: Code, depth: number, localBase: number, onReturn: ((lanes: number) => void) | null): Frame;
  /** In an open world: ends these lanes; others continue. */
  endLanes(w: Warp, lanes: number, kind: FaultKind): void;
  /**
   * In an open world: records a value that a thread makes visible other than through memory, as a store to a separate
   * place; not if it is the one that it made visible last and `unlessLast` holds.
   */
  show(w: Warp, lane: number, value: number, unlessLast?: boolean): void;
  /** In an open world: records a value under a key that only this block uses, once, whichever of its threads comes to it. */
  showOnce(b: BlockState, key: number, value: number): void;
  /** Instruction, function and source position, in words. */
  describe(d: Decoded, f: Frame | undefined): string;
  /** @throws SimFault that names instruction and thread */
  fault(message: string, d: Decoded, w: Warp, lane: number, kind?: FaultKind): never;
}
