import { namesReached } from '../analysis/memory/shared-layout.ts';
import type { Fn, Instr, Program, Variable } from '../ir/program.ts';
import { SimFault } from '../sim/faults.ts';
import type { FramePool } from '../sim/frames.ts';
import { findKernel, placeVariables } from '../sim/launch.ts';
import { Machine } from '../sim/machine.ts';
import { OpenMemory } from '../sim/open-memory.ts';
import type { Followed } from '../sim/simulation.ts';
import { Symbols } from '../sim/symbols.ts';
import type { UsedAs } from '../sim/used-as.ts';
import type { Pool } from './constants.ts';
import { bankOf, contentsOf } from './contents.ts';
import { type Probe, type Traced, Watcher } from './watcher.ts';
import type { World } from './world.ts';

/** The result of one run in an open world. */
export interface Run {
  readonly status: 'done' | 'budget' | 'fault';
  /** The fault that prevented the run; null unless the status is 'fault'. */
  readonly fault: SimFault | null;
  /** The memory, with every byte that was written. */
  readonly memory: OpenMemory;
  /** Stores of each thread, in order: address, value, ... */
  readonly logs: readonly (readonly number[])[];
  /** Threads ended by a trap (key `block.warp.lane`) and warps ended by a fault (key `block.warp`), with the kind of fault. */
  readonly ended: ReadonlyMap<string, string>;
  readonly executed: number;
  /** `World.endless`. */
  readonly endless: boolean;
  readonly watcher: Watcher;
  /** Constant bank 0, with the arguments. */
  readonly bank: DataView;
  /** True if the run has undefined behaviour: only part of a warp executed what the whole warp must, or a matrix is where none may be. */
  readonly unpromised: boolean;
  /** Widths in bits of the program's floats; empty unless it is compared with machine code. */
  readonly floats: ReadonlySet<number>;
  /** True for a run of machine code, whose NaNs may have other payloads. */
  readonly machine: boolean;
}

/** A program to run, independent of the world. */
export interface Subject {
  readonly program: Program;
  readonly kernel: string;
  /** Offset of parameters in constant bank 0. */
  readonly paramBase: number;
  readonly pool: Pool;
  /** True: promises of read-only memory are checked in every world, not only in worlds with pointers near each other. */
  readonly promises: boolean;
  /** Loads whose results are unused. */
  readonly dead: ReadonlySet<Instr>;
  /** Offsets of shared-memory variables, the same for both programs. */
  readonly sharedAt: ReadonlyMap<string, number>;
  /** Widths in bits of the floats that it computes with; needed for comparison with machine code only. */
  readonly floats?: ReadonlySet<number>;
  /** Offsets of constant variables in their bank; if absent, each is far from the others. */
  readonly constantsAt?: ReadonlyMap<string, number>;
  readonly frames: FramePool;
  /**
   * True for machine code: its lanes start together and converge only where it says, it needs more instructions, and waits for memory in
   * other ways.
   */
  readonly machine: boolean;
  /** True: unwritten memory has the same contents wherever shared and local variables are. */
  readonly blank: boolean;
}

const NO_FLOATS: ReadonlySet<number> = new Set();

/** Increment of the clock per read. */
const TICK = 1000;

/** Budget multiplier for machine code: each instruction becomes several, and more with ptxas -O0. */
const MACHINE_COST = 16;

/** Size to which a variable is limited: no GPU has more memory, and addresses stay exact. */
const MOST_VARIABLE = 2 ** 38;
/** Base address of a module's variables, above everything that pointers lead to. */
export const VARIABLES = 2 ** 42;
/** Base address of a constant bank with fixed offsets, above all other variables. */
const BANK = VARIABLES + 2 ** 41;
/** Bytes of dynamic shared memory. */
const DYNAMIC = 4096;

/**
 * Offsets of a program's shared-memory variables: first those that the kernel reaches, then dynamic memory, as if the others did not exist,
 * because matrix descriptors hold only 18 bits of an address.
 */
export function sharedPlaces(program: Program, kernel: Fn): ReadonlyMap<string, number> {
  const reached = namesReached(program, kernel);
  const own = new Symbols(program, reached, DYNAMIC).shared;
  const inOrder = [true, false].flatMap((x) => program.variables.filter((v) => reached.has(v.name) === x));
  const places = new Map(new Symbols({ ...program, variables: inOrder }, null, DYNAMIC).shared);
  for (const v of program.variables)
    if (v.space === 'shared' && v.linkage === 'extern' && v.size === 0) places.set(v.name, own.get(v.name)!);
  return places;
}

/** Bytes between variables in `placesApart`: more than an index that is a few blocks beyond its row reaches. */
const GAP = 8192;

/** First address of shared memory that matrix descriptors cannot hold (PTX ISA 9.0, 9.7.15.5.1.2.2). */
const BEYOND_DESCRIPTORS = 2 ** 18;

/**
 * As `sharedPlaces`, but the variables are in reverse order and far apart, so that an access beyond the end of one, which PTX leaves
 * undefined, does not reach another as it does there. Null if the kernel has fewer than two, or they do not fit.
 */
export function placesApart(program: Program, kernel: Fn): ReadonlyMap<string, number> | null {
  const reached = namesReached(program, kernel);
  const all = program.variables.filter((v) => v.space === 'shared' && reached.has(v.name));
  const isDynamic = (v: Variable): boolean => v.linkage === 'extern' && v.size === 0;
  const own = all.filter((v) => !isDynamic(v)).reverse();
  const places = new Map<string, number>();
  let next = 0;
  for (const v of own) {
    const align = Math.max(128, v.align);
    next = Math.ceil(next / align) * align;
    places.set(v.name, next);
    next += v.size + GAP;
  }
  // Those whose size the launch gives are one memory.
  const dynamic = all.filter(isDynamic);
  next = Math.ceil(next / 1024) * 1024;
  for (const v of dynamic) places.set(v.name, next);
  const count = own.length + Math.min(1, dynamic.length);
  return count < 2 || next + DYNAMIC > BEYOND_DESCRIPTORS ? null : places;
}

/** Options of one run. */
export interface RunOptions {
  /** Makes a listener for loads from global memory, given the memory of the run. */
  readonly following?: (memory: OpenMemory) => Followed;
  /** True (default): strong reads of a single thread return another value each time, as if other threads wrote all the time. */
  readonly changing?: boolean;
  readonly turns?: World['turns'];
  readonly budget?: number;
  readonly probe?: Probe;
  readonly traced?: Traced;
  /** True: unordered accesses are detected even if the world does not ask for it. */
  readonly races?: boolean;
  /** Value of whatever PTX leaves undefined. */
  readonly undefined?: number;
  /** Places of variables in shared memory in place of the usual ones. */
  readonly places?: ReadonlyMap<string, number>;
  /** As `Subject.blank`, for this run. */
  readonly blank?: boolean;
  /** Seed of perturbations of the last bits of approximations; with `nudgeEach` they vary with each execution of an instruction. */
  readonly nudge?: number;
  readonly nudgeEach?: boolean;
}

/** Turns of the lanes. Lanes of machine code never start apart, because it converges only at convergence barriers. */
function turnsFor(s: Subject, turns: World['turns']): World['turns'] {
  if (!s.machine || turns.apart === undefined) return turns;
  const { apart, ...others } = turns;
  return others;
}

/** Runs a kernel in a world: every address exists, and unwritten memory holds values derived from its address. */
export function runIn(s: Subject, world: World, used: UsedAs, opts: RunOptions = {}): Run {
  const { shape } = world;
  const contents = contentsOf(world, used, s.pool);
  const memory = new OpenMemory(contents, world.alignment > 0);
  const perBlock = shape.block[0] * shape.block[1] * shape.block[2];
  const blocks = shape.only?.blocks?.length ?? shape.grid[0] * shape.grid[1] * shape.grid[2];
  const watcher = new Watcher({
    world,
    contents,
    changing: opts.changing ?? true,
    blocks,
    perBlock: Math.ceil(perBlock / 32) * 32,
    probe: opts.probe ?? null,
    traced: opts.traced ?? null,
    races: opts.races ?? world.races,
    promises: s.promises,
    dead: s.dead,
    tick: TICK * (1 + TICK * (opts.nudge ?? 0)),
  });
  const entry = s.program.functions.find((f) => f.name === s.kernel);
  const bank =
    entry === undefined ? new DataView(new ArrayBuffer(0)) : bankOf(entry, world, used, s.pool, s.paramBase);
  let m: Machine | null = null;
  const result = (status: Run['status'], fault: SimFault | null = null): Run => {
    memory.flush();
    return {
      status,
      fault,
      memory,
      logs: m?.logs ?? [],
      ended: m?.ended ?? new Map(),
      executed: m?.executed ?? 0,
      endless: world.endless,
      watcher,
      bank,
      unpromised: m?.unpromised ?? false,
      floats: s.floats ?? NO_FLOATS,
      machine: s.machine,
    };
  };
  try {
    const kernel = findKernel(s.program, s.kernel);
    m = new Machine(
      s.program,
      kernel,
      {
        grid: shape.grid,
        block: shape.block,
        ...(shape.cluster === null ? {} : { cluster: shape.cluster }),
        ...(shape.only === null ? {} : { only: shape.only }),
        dynamicShared: DYNAMIC,
        budget: (opts.budget ?? world.budget) * (s.machine ? MACHINE_COST : 1),
        counters: null,
        open: true,
        seed: world.seed,
        copies: world.copies,
        watch: watcher,
        ...(s.machine ? { holdsRegions: true } : { sharedAt: opts.places ?? s.sharedAt }),
        frames: s.frames,
        contents,
        blank: s.blank || opts.blank === true,
        undefined: opts.undefined ?? 0,
        nudge: opts.nudge ?? 0,
        nudgeEach: opts.nudgeEach ?? false,
        ...turnsFor(s, opts.turns ?? world.turns),
      },
      memory,
      bank,
    );
    m.followed = opts.following?.(memory) ?? null;
    let next = VARIABLES;
    // The host may have overwritten variables with a visible name.
    const rewritten = world.profile === 'extreme' || world.profile === 'near';
    placeVariables(m, s.program, (v) => {
      const given = v.space === 'const' ? s.constantsAt?.get(v.name) : undefined;
      const at = given === undefined ? next : BANK + given;
      const size = Math.min(Math.max(v.size, 1), MOST_VARIABLE);
      next += Math.ceil((size + 4096) / 4096) * 4096;
      const kept = !rewritten || v.linkage === '' || v.relocs.length > 0;
      if (v.init !== null && kept) memory.init(at, v.init, size);
      return at;
    });
    return result(m.run(kernel));
  } catch (e) {
    if (e instanceof SimFault) return result('fault', e);
    throw e;
  }
}
