import { namesReached } from '../analysis/memory/shared-layout.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { SimFault } from '../sim/faults.ts';
import type { FramePool } from '../sim/frames.ts';
import { findKernel, placeVariables } from '../sim/launch.ts';
import { Machine } from '../sim/machine.ts';
import { OpenMemory } from '../sim/open-memory.ts';
import { Symbols } from '../sim/symbols.ts';
import type { UsedAs } from '../sim/used-as.ts';
import type { Pool } from './constants.ts';
import { bankOf, contentsOf } from './contents.ts';
import { type Probe, type Traced, Watcher } from './watcher.ts';
import type { World } from './world.ts';

/** The result of one run in an open world. */
export interface Run {
  readonly status: 'done' | 'budget' | 'fault';
  /** What prevented it from running; null unless the status is 'fault'. */
  readonly fault: SimFault | null;
  /** Everything that was written: bytes by piece, and which of them. */
  readonly memory: OpenMemory;
  /** What each thread stored, in order: address, value, ... */
  readonly logs: readonly (readonly number[])[];
  /** Threads ended by a trap, and warps ended by a fault, by block, warp and lane, with the kind of fault. */
  readonly ended: ReadonlyMap<string, string>;
  readonly executed: number;
  /** `World.endless`. */
  readonly endless: boolean;
  readonly watcher: Watcher;
  /** Constant bank 0, with the arguments. */
  readonly bank: DataView;
  /** Whether what it did is undefined: part of a warp did what all of it has to do together, or a matrix is where none may be. */
  readonly unpromised: boolean;
  /** Widths in bits of the floats that the program computes with, where it is compared with machine code. */
  readonly floats: ReadonlySet<number>;
  /** Whether machine code ran, whose NaNs may have other payloads. */
  readonly machine: boolean;
}

/** What runs, besides the world. */
export interface Subject {
  readonly program: Program;
  readonly kernel: string;
  /** Offset of parameters in constant bank 0. */
  readonly paramBase: number;
  readonly pool: Pool;
  /** Whether it matters in worlds with distant pointers what is read as if nothing could write it. */
  readonly promises: boolean;
  /** Loads of which nobody uses the result. */
  readonly dead: ReadonlySet<Instr>;
  /** Where variables of shared memory are: those of both programs at the same places. */
  readonly sharedAt: ReadonlyMap<string, number>;
  /** Widths in bits of the floats that it computes with; absent: nobody asks. */
  readonly floats?: ReadonlySet<number>;
  /** Where constant variables are, from the beginning of their bank; absent: each is far from the others. */
  readonly constantsAt?: ReadonlyMap<string, number>;
  readonly frames: FramePool;
  /**
   * Whether it is machine code: its lanes begin together and meet where it says, it takes more instructions, and waits for memory in its
   * own way.
   */
  readonly machine: boolean;
  /** Whether memory that nobody has written is the same wherever variables of shared and local memory are. */
  readonly blank: boolean;
}

const NO_FLOATS: ReadonlySet<number> = new Set();

/** What a clock shows more each time that it is read. */
const TICK = 1000;

/** How many times the instructions of a program its machine code may take: each becomes several, and ptxas -O0 has more of them. */
const MACHINE_COST = 16;

/** Room of a variable that says it is larger: no GPU has as much memory, and addresses stay exact. */
const MOST_VARIABLE = 2 ** 38;
/** Where the variables of a module begin, above all that pointers lead to. */
export const VARIABLES = 2 ** 42;
/** Where a constant bank begins whose variables have their places, above all other variables. */
const BANK = VARIABLES + 2 ** 41;
/** Bytes of dynamic shared memory. */
const DYNAMIC = 4096;

/**
 * Where the variables of shared memory of a program are: those that a kernel reaches first, and dynamic memory behind them, as if the
 * others were not there, because descriptors of matrices hold only 18 bits of an address (PTX ISA 9.0, 9.7.15.5.1.2.2).
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

export interface RunOptions {
  /** Listener for every load from global memory. */
  readonly followed?: Machine['followed'];
  /** Whether strong reads of a single thread find another value each time, as if others wrote all the while. */
  readonly changing?: boolean;
  readonly turns?: World['turns'];
  readonly budget?: number;
  readonly probe?: Probe;
  readonly traced?: Traced;
  /** Whether accesses are looked at that nothing orders, whatever the world says. */
  readonly races?: boolean;
  /** What stands where PTX says nothing of a value. */
  readonly undefined?: number;
  /** Seed of what is added to the last bits of approximations, the same at each execution of an instruction or not (`nudgeEach`). */
  readonly nudge?: number;
  readonly nudgeEach?: boolean;
}

/** Turns of the lanes: those of machine code never begin apart, because it meets in convergence barriers alone. */
function turnsFor(s: Subject, turns: World['turns']): World['turns'] {
  if (!s.machine || turns.apart === undefined) return turns;
  const { apart, ...others } = turns;
  return others;
}

/** Runs a kernel in a world: every address exists; unwritten memory holds values made from its address. */
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
        ...(s.machine ? { holdsRegions: true } : { sharedAt: s.sharedAt }),
        frames: s.frames,
        contents,
        blank: s.blank,
        undefined: opts.undefined ?? 0,
        nudge: opts.nudge ?? 0,
        nudgeEach: opts.nudgeEach ?? false,
        ...turnsFor(s, opts.turns ?? world.turns),
      },
      memory,
      bank,
    );
    m.followed = opts.followed ?? null;
    let next = VARIABLES;
    // The host may have written to variables that it can name.
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
