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
   * Maximum number of warp instructions, counted exactly; a run that needs one more ends with status 'budget'. In a launch, an instruction
   * that does the work of many is charged accordingly (`spend`).
   */
  readonly budget: number;
  readonly counters: Counters | null;
  /** Open world: every address is valid, and nothing is checked. */
  readonly open: boolean;
  readonly seed: number;
  /** Stack bytes of a thread, 65,536 by default; never less than one call of every function needs. */
  readonly stack?: number;
  /** Warp instructions before the next warp gets its turn; a block's turn is ten times as long. Default: 20,000. */
  readonly slice?: number;
  /** Warp instructions of diverged lanes before the other lanes of their warp get their turn. Default: 5000. */
  readonly pathSlice?: number;
  /**
   * Each lane starts as a path of its own, with the first or the last lane ahead, and lanes meet only where they must. Default: all lanes
   * start together.
   */
  readonly apart?: 'first' | 'last';
  /** Seed of an adversarial schedule (`Schedule`), which replaces `slice` and `pathSlice`. Default: fixed turns as above. */
  readonly schedule?: number;
  /** Seed of perturbations of the last bits of approximate results, which expose code that depends on those bits. Default: 0, none. */
  readonly nudge?: number;
  /** True: each execution of an instruction is perturbed by its own amount. Default: all executions of one instruction by the same. */
  readonly nudgeEach?: boolean;
  /** True: lanes wait at a convergence barrier until the others arrive, however long that takes, as the hardware does. */
  readonly holdsRegions?: boolean;
  /** The threads that run; the others count as exited from the start. Default: all. */
  readonly only?: Selection;
  /** When asynchronous copies and warpgroup products are performed: when started, or when waited for. Default: late. */
  readonly copies?: 'early' | 'late';
  readonly watch?: Watch;
  /** Offsets of shared-memory variables by name. Default: in the order of their declarations. */
  readonly sharedAt?: ReadonlyMap<string, number>;
  /** Register storage that consecutive runs share. */
  readonly frames?: FramePool;
  /** Value of whatever PTX leaves undefined: registers, and shared and local memory before the first write. */
  readonly undefined?: number;
  /** True: unwritten shared and local memory has the same contents everywhere, so that the addresses of variables are irrelevant. */
  readonly blank?: boolean;
  /** Contents of unwritten shared and local memory in an open world. */
  readonly contents?: Contents;
}

/** A subset of the threads of a launch. */
export interface Selection {
  /** Linear block indices; null for all. */
  readonly blocks: readonly number[] | null;
  /** Warp numbers within each block; null for all. */
  readonly warps: readonly number[] | null;
  /** Mask of lanes in each warp. */
  readonly lanes: number;
}

/** A listener for loads from global memory. */
export interface Followed {
  /** True if it wants to know the addresses that an instruction loads from. */
  wants(ins: Instr): boolean;
  /** Lanes are about to load from an address. */
  note(ins: Instr, address: number): void;
}

/** The machine as seen by the code that executes instructions. */
export interface Simulation {
  readonly program: Program;
  readonly opts: MachineOptions;
  /** Draws which warp or path runs next; null for fixed turns. */
  readonly schedule: Schedule | null;
  readonly global: Memory;
  /** Constant bank 0, including parameters. */
  readonly bank: DataView;
  readonly functions: ReadonlyMap<string, Fn>;
  readonly functionList: readonly Fn[];
  /** Address range of the constant space: the program's constant variables. */
  readonly constants: { readonly from: number; readonly to: number };
  /** Bytes of shared memory per block. */
  readonly sharedBytes: number;
  /** Warp instructions executed so far. */
  executed: number;
  /** Counts events that other threads can see: memory that changed, arrivals at barriers, threads that ended. */
  changes: number;
  /** Texts that the kernel printed. */
  readonly output: string[];
  /** Total length of `output` in characters. */
  printed: number;
  /** Address of the next `malloc` in an open world. */
  readonly heap: { next: number };
  /** Observer of the run, or null. */
  readonly watch: Watch | null;
  /** Listener for loads from global memory; null for none. */
  readonly followed: Followed | null;
  readonly kernelName: string;
  /** Lane that a primitive is processing, for fault messages. */
  lane: number;
  /** Scratch space of one word per lane, which any instruction may overwrite. */
  readonly scratch: Int32Array;
  /** Path that is arriving at a block barrier. */
  arriving: Path | null;
  /** Set by a primitive if every lane must wait for other threads; the warp then gives up its turn. */
  yieldTurn: boolean;
  /**
   * Set where the rest of the run is undefined: only part of a warp reached a barrier or matrix operation that the whole warp must execute
   * together (PTX ISA 9.0, bar.sync, 9.7.14), or a matrix lies where none may.
   */
  unpromised: boolean;
  /** Address of a symbol in its own space (shared: an offset; functions: a unique number). */
  symbolAddress(name: string, code: Code): number;
  /** Stack bytes of a thread. */
  readonly stackLimit: number;
  /** Local memory of a thread, created on first use. */
  localOf(w: Warp, lane: number): Memory;
  /** Grows the existing local memories of these lanes to at least `bytes`. */
  growLocals(w: Warp, mask: number, bytes: number): void;
  /** Accounts for `bytes` that a thread allocates (negative: frees). @throws SimFault if the resident threads exceed the limit */
  hold(bytes: number): void;
  /** In a launch: charges the budget for the cost of an instruction beyond one. */
  spend(instructions: number): void;
  /** Resolves a generic address. @throws MemoryFault */
  generic(w: Warp, lane: number, address: number, size: number, write: boolean): Location;
  /** Allocates a frame with initialised registers for a call of `code`. */
  newFrame(code: Code, depth: number, localBase: number, onReturn: ((lanes: number) => void) | null): Frame;
  /** In an open world: ends these lanes; the others continue. */
  endLanes(w: Warp, lanes: number, kind: FaultKind): void;
  /**
   * In an open world: records a value that a thread makes visible other than through memory, as a store to a reserved address. With
   * `unlessLast`, a value equal to the thread's last one is not recorded.
   */
  show(w: Warp, lane: number, value: number, unlessLast?: boolean): void;
  /** In an open world: records a value under a key of this block, once, whichever of its threads reports it. */
  showOnce(b: BlockState, key: number, value: number): void;
  /** Describes an instruction with its function and source position, for messages. */
  describe(d: Decoded, f: Frame | undefined): string;
  /** @throws SimFault that names instruction and thread */
  fault(message: string, d: Decoded, w: Warp, lane: number, kind?: FaultKind): never;
}
