import { chosen } from '../ir/opcode.ts';
import type { Fn, Program } from '../ir/program.ts';
import type { Code } from '../sim/decode.ts';
import { FramePool } from '../sim/frames.ts';
import { findKernel } from '../sim/launch.ts';
import { poolOf } from './constants.ts';
import { EFFORTS, type Effort, type EffortName } from './effort.ts';
import { deadLoads, type Features, featuresOf, programOf } from './features.ts';
import { runFollowing, type Uses, usesOf } from './follow.ts';
import { addSeen, type Reached, reachedIn } from './reached.ts';
import { type RunOptions, type Subject, sharedPlaces } from './run.ts';
import { type First, type Judgement, type Original, Trial, type Tried } from './trial.ts';
import { isOneThread, type Triple, type World } from './world.ts';
import { blockWorlds, canBeLaunched, FEWEST_THREADS, type Look, ThreadWorlds } from './worlds.ts';

export type { Judgement } from './trial.ts';

/** Options of a judgement. */
export interface JudgeOptions {
  /** Seeds of the worlds with whole blocks. Default: 1 and 2. */
  readonly seeds?: readonly number[];
  /** Maximum warp instructions of a block run. Default: by the size of the kernel; single threads always use that, and at most this. */
  readonly budget?: number;
  /** If a block or a grid is given, only worlds of this shape are tried. */
  readonly block?: Triple;
  readonly grid?: Triple;
  /** Threads per multiprocessor: `limits.threads-per-sm` of the back end. */
  readonly threadsPerSm?: number;
  /**
   * The other version is machine code: memory, thread ends and the set of loaded words count; the order of accesses and the addresses of
   * shared and local variables do not.
   */
  readonly machine?: boolean;
  /**
   * The other version may round products and sums differently, as a plan with inexact rules does. Then only differences beyond the last
   * bits of unrounded products and sums count.
   */
  readonly inexact?: boolean;
  /** Offsets of machine code's constant variables in their bank; both versions then read the same bytes after a variable. */
  readonly constantsAt?: ReadonlyMap<string, number>;
  /** Effort of the comparison. Default: 'medium'. */
  readonly effort?: EffortName;
  /** Warp instructions for whole blocks, and the same again for single threads, if less than the effort allows. */
  readonly share?: number;
  /** Called with the name of each world before it is tried; false stops, and the remaining worlds count as left out. */
  readonly goOn?: (world: string) => boolean;
}

/**
 * Compares a kernel with other versions of it in open worlds. In every world both must write the same memory, every warp must end the same
 * way, and where threads communicate the order of accesses must agree. Runs that exhaust the budget or fault are compared by each thread's
 * stores to each address, as far as both got; overwritten stores may be missing. If the runs differ and the original also differs from
 * itself under other schedules, its threads race; then a single warp decides, or a single thread if the lanes of that warp race too. Lanes
 * that race although they run in lockstep are compared one after the other.
 */
export class KernelJudge implements Original {
  private readonly before: Subject;
  private readonly look: Look;
  private readonly share: number;
  private readonly uses: Uses;
  private readonly goOn: (world: string) => boolean;
  private readonly firsts = new Map<World, Tried>();
  private readonly shorts = new Map<World, World>();
  private readonly blocks: readonly World[];
  private readonly threads: readonly World[];
  private readonly ofThreads: ThreadWorlds | null;
  readonly inexact: boolean;
  private longOnes: readonly World[] | null = null;
  private readonly seen = new Map<Code, Uint8Array>();

  /** @param after a version to compare with, whose constants contribute test values @throws SimFault if there is no such kernel */
  constructor(original: Program, after: Program, kernel: string, paramBase: number, opts: JudgeOptions = {}) {
    const before = programOf(original, kernel);
    const fn = findKernel(before, kernel);
    const own = featuresOf(before, fn);
    // Machine code need not access memory in source order, nor repeat reads of memory that others may change.
    const features = opts.machine === true ? { ...own, orders: false } : own;
    const other = after.functions.find((f) => f.name === kernel);
    const theirs = other === undefined ? null : featuresOf(after, other);
    this.before = {
      program: before,
      kernel,
      paramBase,
      pool: poolOf([...features.functions, ...(theirs?.functions ?? [])]),
      sharedAt: sharedPlaces(before, fn),
      frames: new FramePool(),
      ...(opts.constantsAt !== undefined && { constantsAt: opts.constantsAt }),
      dead: features.orders ? deadLoads(features.functions) : new Set(),
      machine: false,
      blank: opts.machine === true,
      ...(opts.machine === true && { floats: floatsOf(features.functions) }),
      promises: theirs !== null && theirs.readOnlyLoads > features.readOnlyLoads,
    };
    this.look = {
      kernel: fn,
      features,
      threadsPerSm: opts.threadsPerSm ?? FEWEST_THREADS,
      seeds: opts.seeds ?? [1, 2],
      block: opts.block ?? null,
      grid: opts.grid ?? null,
      budget: opts.budget ?? null,
      effort: EFFORTS[opts.effort ?? 'medium'],
    };
    this.inexact = opts.inexact === true;
    this.share = opts.share ?? Number.POSITIVE_INFINITY;
    this.uses = usesOf(fn, features.functions, paramBase);
    this.goOn = opts.goOn ?? (() => true);
    const runs = canBeLaunched(fn);
    this.blocks = runs ? blockWorlds(this.look) : [];
    this.ofThreads =
      runs && opts.block === undefined && opts.grid === undefined ? new ThreadWorlds(this.look) : null;
    this.threads = this.ofThreads?.all() ?? [];
  }

  private get features(): Features {
    return this.look.features;
  }

  /** Compares with another version of the kernel. */
  against(version: Program): Judgement {
    const after = programOf(version, this.before.kernel);
    const fn = after.functions.find((f) => f.name === this.before.kernel);
    const dead =
      fn !== undefined && this.features.orders
        ? deadLoads(featuresOf(after, fn).functions)
        : this.before.dead;
    const trial = new Trial(this, { ...this.subjectOf(after), dead });
    const { effort, features } = this.look;
    const most =
      Math.max(Math.min(effort.executed, this.share), effort.perInstruction * features.instructions) *
      (this.before.blank ? MACHINE_EFFORT : 1);
    let left = false;
    const spent = { blocks: 0, threads: 0 };
    for (const world of this.worlds()) {
      const kind = isOneThread(world.shape) ? 'threads' : 'blocks';
      if (!this.goOn(world.name)) return trial.judgement(true);
      if (spent[kind] > most) {
        left = true;
        continue;
      }
      const { executed } = trial;
      trial.tryIn(world);
      spent[kind] += trial.executed - executed;
      if (trial.differences.length > 0) return trial.judgement(left);
    }
    if (this.threads.length > 0 && effort.searched > 0) trial.search(this.threads);
    return trial.judgement(left);
  }

  private *worlds(): Generator<World> {
    let endless = false;
    for (const world of this.blocks) {
      const taken: World = endless ? this.shortOf(world) : world;
      yield taken;
      // If one usual world does not end, others rarely do; the effort is saved for worlds with short loops. Runs of machine code are not
      // shortened: it may round differently, which shows in each store of a run that is cut off.
      endless ||= !this.before.blank && taken.usual && this.firsts.get(taken)?.first?.run.status === 'budget';
    }
    for (const world of this.threads) {
      yield world;
      const first = this.firsts.get(world)?.first;
      if (world.scalars === THOUSAND && this.features.loops && first?.run.status === 'done')
        yield* this.long(first.run.executed);
    }
  }

  /** The same world with a smaller budget. */
  private shortOf(world: World): World {
    let short = this.shorts.get(world);
    if (short === undefined) {
      short = { ...world, budget: Math.min(world.budget, this.look.effort.usual / SHORTER) };
      this.shorts.set(world, short);
    }
    return short;
  }

  private long(thousand: number): readonly World[] {
    this.longOnes ??= this.ofThreads!.long(thousand);
    return this.longOnes;
  }

  /** The other version as a subject of runs. */
  subjectOf(after: Program): Subject {
    return { ...this.before, program: after, machine: this.before.blank };
  }

  // ------------------------------------------------------------------ Original

  get subject(): Subject {
    return this.before;
  }

  get functions(): readonly Fn[] {
    return this.features.functions;
  }

  get effort(): Effort {
    return this.look.effort;
  }

  get isWide(): boolean {
    return this.features.wide;
  }

  get communicates(): boolean {
    return this.features.communicates || this.features.exchanges;
  }

  /** The first version's run in a world; null if the kernel's alignment or read-only promises exclude the world. Cached without options. */
  first(world: World, opts: RunOptions = {}): Tried & { readonly executed: number } {
    const plain = Object.keys(opts).length === 0;
    const known = plain ? this.firsts.get(world) : undefined;
    if (known !== undefined) return { ...known, executed: 0 };
    let executed = 0;
    let isUndefined = false;
    const attempt = (like: World): First | null => {
      const { run, used, executed: more } = runFollowing(this.before, this.uses, like, opts);
      executed += more;
      const ends = [...run.ended.values()];
      // Nor does PTX say what a jump beyond its table does (PTX ISA 9.0, brx.idx).
      isUndefined = this.before.blank && ends.includes('undefined');
      const isRefused = isUndefined || (like.alignment > 0 && ends.includes('access'));
      return isRefused ? null : { world: like, run, used };
    };
    // Wide accesses require pointers of at least their alignment. A misaligned access is undefined (PTX ISA 9.0, 6.4.1), so machine code
    // may do anything there.
    const least = this.before.blank ? MOST_ALIGNMENT : 0;
    let first: First | null = null;
    for (let a = world.alignment || least; first === null && !isUndefined && a <= MOST_ALIGNMENT; a *= 2)
      first = attempt({ ...world, alignment: a });
    // An argument may be the row length of a matrix: if wide accesses need aligned rows, all sizes become multiples of `STEPS`.
    if (first === null && !isUndefined && world.apart === null)
      first = attempt({
        ...world,
        name: `${world.name}, in steps of ${STEPS}`,
        alignment: MOST_ALIGNMENT,
        steps: STEPS,
      });
    if (first !== null && world.apart !== null && first.run.watcher.brokePromise) first = null;
    if (first !== null) addSeen(this.seen, first.run.watcher.seen);
    if (plain) this.firsts.set(world, { first, isUndefined });
    return { first, executed, isUndefined };
  }

  get reached(): Reached {
    return reachedIn(this.seen, this.features.functions, this.before.program);
  }

  get seenBefore(): Map<Code, Uint8Array> {
    return this.seen;
  }
}

/** Divisor of the usual budget for blocks after one that did not end. */
const SHORTER = 3;

/** Widths in bits of the floats that functions compute with. */
function floatsOf(functions: readonly Fn[]): Set<number> {
  const widths = new Set<number>();
  for (const fn of functions)
    for (const b of fn.blocks)
      for (const { op, mods } of b.ins) {
        if (op.class !== 'float' && op.class !== 'convert' && op.primitive !== 'atomic') continue;
        for (const g of op.groups) {
          const type = chosen(g, mods).type ?? '';
          const bits = /^b?f(16|32|64)/.exec(type)?.[1];
          if (bits !== undefined) widths.add(Number(bits));
        }
        for (const s of [...op.dsts, ...op.srcs])
          if (op.class === 'float' && (s.width === 32 || s.width === 64))
            widths.add(op.unit === 'fp16' ? 16 : s.width);
      }
  return widths;
}

/** Effort multiplier for machine code, where one instruction becomes several. */
const MACHINE_EFFORT = 8;

const THOUSAND = 1000n;

/** Alignment in bytes of the widest access. */
const MOST_ALIGNMENT = 32;
/**
 * Common factor of all sizes when rows need that alignment; it covers the elements in a row of a tile and the bytes of the widest access.
 */
const STEPS = 256n;

/**
 * Compares a kernel before and after optimization (`KernelJudge`).
 *
 * @param paramBase offset of parameters in constant bank 0
 */
export const judgeKernel = (
  before: Program,
  after: Program,
  kernel: string,
  paramBase: number,
  opts: JudgeOptions = {},
): Judgement => new KernelJudge(before, after, kernel, paramBase, opts).against(after);
