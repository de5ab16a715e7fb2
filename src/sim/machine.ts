import { namesReached } from '../analysis/memory/shared-layout.ts';
import { LimitReached } from '../ir/limit.ts';
import type { Fn, Program } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import { tryRelease } from './barriers.ts';
import {
  blocksOfCluster,
  clusterCount,
  clustersOf,
  inCluster,
  newCluster,
  openCluster,
  statedCluster,
} from './clusters.ts';
import { completeGroups, waiting } from './converge.ts';
import { type Code, type Decoded, decode } from './decode.ts';
import { type FaultKind, SimFault } from './faults.ts';
import { FramePool, Frames, stackLimit, topOf } from './frames.ts';
import { lowest } from './masks.ts';
import {
  BufferMemory,
  FUNCTION_WINDOW,
  hex,
  LOCAL_WINDOW,
  type Location,
  type Memory,
  MemoryFault,
  mix,
  PARAM_WINDOW,
  SHARED_WINDOW,
} from './memory.ts';
import { type Contents, contentsFor, OpenMemory } from './open-memory.ts';
import { insertPath, newPath } from './paths.ts';
import { waitingBytes } from './primitives/async.ts';
import { runWarp, type WarpHost } from './run-warp.ts';
import { Schedule } from './schedule.ts';
import type { Followed, MachineOptions } from './simulation.ts';
import type { BlockState, ClusterState, Frame, Path, Warp } from './state.ts';
import { Symbols } from './symbols.ts';
import type { Watch } from './watch.ts';

/** In an open world an address belongs to a window's space only within this many bytes of the window's start. */
const NEAR = 2 ** 26;
/** Minimum local memory of a thread in bytes. */
const LEAST_LOCAL = 64;
/** Instructions that a warp may run before the next warp gets a turn; bounded, since a warp may spin until another one acts. */
const WARP_SLICE = 20_000;
/** The same for warps of a block that changed nothing in its last turn and may be waiting for another block. */
const IDLE_SLICE = 1000;
/** Slices of a warp that a block may run before the next resident block gets a turn, for the same reason. */
const BLOCK_SLICES = 10;
/** Address in open memory of the words that threads show (see `show`), and the maximum number of words per thread. */
const SHOWN = 2 ** 43 + 2 ** 42;
const MOST_SHOWN = 1024;
/** Address in open memory of the words that blocks show (see `showOnce`). */
const SHOWN_ONCE = 2 ** 43 + 2 ** 42 + 2 ** 41;
/** Number of blocks that are resident together at first. */
const RESIDENT = 16;
/**
 * With a budget beyond this, a run does not start if its grid has more warps than the budget has instructions. A smaller budget runs out
 * quickly, so the run simply starts and uses it up.
 */
const SOON = 1_000_000;
/**
 * Maximum bytes held by all resident threads together: local memory, call frames, shared memory of their blocks, and allocations. Four
 * times what a launch may load, which is room for 1,000 blocks that wait for each other.
 */
const MOST_HELD = 2 ** 30;
/** Bytes that an instruction may allocate and clear at no extra charge; beyond that each 2^BYTES_LOG2 bytes count as one instruction. */
const USUAL_BYTES = 2 ** 16;
const BYTES_LOG2 = 13;
/** Bytes of a frame besides its registers and parameters: 1,740 were measured with Node.js 20. */
const FRAME_BYTES = 2048;
/** Warp instructions that all resident blocks run without a change before the number of resident blocks doubles. */
const PATIENCE = 1_000_000;

/** Runs one kernel of a program over a grid. */
export class Machine implements WarpHost {
  readonly program: Program;
  readonly opts: MachineOptions;
  readonly schedule: Schedule | null;
  readonly watch: Watch | null;
  readonly global: Memory;
  /** Constant bank 0, including parameters. */
  readonly bank: DataView;
  readonly functions: ReadonlyMap<string, Fn>;
  readonly functionList: readonly Fn[];
  readonly symbols: Symbols;
  readonly sharedBytes: number;
  readonly constants = { from: 0, to: 0 };
  readonly stackLimit: number;
  executed = 0;
  changes = 0;
  readonly output: string[] = [];
  /** Total length of `output` in characters. */
  printed = 0;
  readonly heap: { next: number };
  /** Warps of the whole grid. */
  readonly warps: number;
  /** Bytes that resident threads hold now; see `hold`. */
  private held = 0;
  /** Value of `executed` at which the run ends: the budget, less what instructions were charged beyond one each. */
  most: number;
  /** In an open world: the stores of each thread. */
  readonly logs: number[][] = [];
  /** In an open world: the kind of fault that ended a thread (key `block.warp.lane`, by a trap) or a warp (key `block.warp`). */
  readonly ended = new Map<string, FaultKind>();
  /** Listener for loads from global memory; null for none. */
  followed: Followed | null = null;
  private readonly frames: Frames;

  /** @param kernel the kernel to run; shared memory is laid out for the variables that it reaches */
  constructor(program: Program, kernel: Fn, opts: MachineOptions, global: Memory, bank: DataView) {
    this.program = program;
    this.opts = opts;
    this.most = opts.budget;
    this.schedule = opts.schedule === undefined ? null : new Schedule(opts.schedule);
    this.watch = opts.watch ?? null;
    this.global = global;
    this.bank = bank;
    this.functionList = program.functions;
    const functions = new Map(program.functions.map((f) => [f.name, f]));
    for (const a of program.aliases) {
      const f = functions.get(a.of);
      if (f !== undefined) functions.set(a.name, f);
    }
    this.functions = functions;
    this.heap = { next: 2 ** 43 };
    const [blocks, threads] = [opts.grid, opts.block].map((n) => n[0] * n[1] * n[2]);
    this.warps =
      (opts.only?.blocks?.length ?? blocks) * (opts.only?.warps?.length ?? Math.ceil(threads / 32));
    this.stackLimit = stackLimit(program.functions, opts.stack);
    // Runs in an open world before and after optimization are compared, and optimization may remove dead uses of variables. So all
    // variables keep their places.
    const used = opts.open ? null : namesReached(program, kernel);
    this.symbols = new Symbols(program, used, opts.dynamicShared, opts.sharedAt);
    this.sharedBytes = this.symbols.sharedBytes;
    this.frames = new Frames(
      this.symbols,
      bank,
      this.watch,
      opts.undefined ?? 0,
      opts.frames ?? new FramePool(),
    );
  }

  symbolAddress(name: string, code: Code): number {
    return this.symbols.addressOf(name, code);
  }

  newFrame(code: Code, depth: number, localBase: number, onReturn: ((lanes: number) => void) | null): Frame {
    this.hold(frameBytes(code));
    return this.frames.make(code, depth, localBase, onReturn);
  }

  releaseFrame(f: Frame): void {
    this.held -= frameBytes(f.code);
    this.frames.release(f);
  }

  hold(bytes: number): void {
    if (this.held + bytes > MOST_HELD)
      throw new SimFault(
        `the threads that run together hold more than ${MOST_HELD} bytes: local and shared memory, registers, allocations`,
      );
    this.held += bytes;
    if (bytes > USUAL_BYTES) this.spend(bytes >> BYTES_LOG2);
  }

  spend(instructions: number): void {
    if (!this.opts.open) this.most -= instructions;
  }

  /** Runs the kernel to its end. @returns how it ended */
  run(kernel: Fn): 'done' | 'budget' {
    const code = decode(kernel);
    this.kernelName = kernel.name;
    const dims = this.clusterDims(kernel);
    const { grid, only } = this.opts;
    // The clusters that contain a selected block; null for all.
    const chosen = only?.blocks == null ? null : clustersOf(only.blocks, grid, dims);
    const total = chosen?.length ?? clusterCount(grid, dims);
    if (this.opts.budget > SOON && this.warps > this.opts.budget) return 'budget';
    let next = 0;
    let room = RESIDENT;
    let idle = 0;
    const resident: BlockState[] = [];
    try {
      while (next < total || resident.length > 0) {
        // Blocks that hold much memory run in smaller numbers, unless they wait for other blocks.
        const fits = (): boolean => resident.length === 0 || room > RESIDENT || this.held < MOST_HELD / 2;
        for (; resident.length < room && next < total && fits(); next++)
          resident.push(...this.newCluster(chosen?.[next] ?? next, code, dims));
        const { changes, executed } = this;
        for (let i = 0; i < resident.length; ) {
          const b = resident[i];
          this.runBlock(b);
          if (!b.done) {
            i++;
            continue;
          }
          resident.splice(i, 1);
          this.held -= bytesOf(b.shared);
          for (const m of b.locals) if (m !== undefined) this.held -= bytesOf(m);
          for (const w of b.warps) this.held -= waitingBytes(w);
        }
        // Blocks that wait for a block that is not resident never end, so more blocks become resident.
        idle = this.changes === changes ? idle + this.executed - executed : 0;
        if (idle < PATIENCE) continue;
        idle = 0;
        room *= 2;
      }
    } catch (e) {
      if (e instanceof LimitReached) return 'budget';
      throw e;
    } finally {
      this.frames.releaseAll();
    }
    return 'done';
  }

  /** Blocks of a cluster along each axis, from the launch or else the kernel; an open world has clusters only if the options say so. */
  private clusterDims(kernel: Fn): readonly [number, number, number] {
    if (this.opts.open) return this.opts.cluster ?? [1, 1, 1];
    return this.opts.cluster ?? statedCluster(kernel.attrs.directives) ?? [1, 1, 1];
  }

  private newCluster(k: number, code: Code, dims: readonly [number, number, number]): BlockState[] {
    const cluster = this.opts.open && this.opts.cluster === undefined ? null : newCluster(dims);
    const blocks = blocksOfCluster(this.opts.grid, dims, k).map((i) => this.newBlock(i, code, cluster));
    cluster?.blocks.push(...blocks);
    return blocks;
  }

  private newBlock(index: number, code: Code, cluster: ClusterState | null): BlockState {
    const [gx, gy] = this.opts.grid;
    const [bx, by, bz] = this.opts.block;
    const threads = bx * by * bz;
    const { open } = this.opts;
    const shared: Memory = open
      ? new OpenMemory(this.contentsOf(0x5eed))
      : this.singleBuffer('shared memory', this.sharedBytes);
    const b: BlockState = {
      index,
      id: [index % gx, Math.floor(index / gx) % gy, Math.floor(index / (gx * gy))],
      warps: [],
      shared,
      barriers: new Map(),
      mbarriers: new Map(),
      warpgroups: new Map(),
      locals: [],
      cluster,
      onOpen: this.watch === null ? null : (bar) => this.watch!.open(bar),
      idle: false,
      done: false,
    };
    const { only } = this.opts;
    for (let w = 0; w * 32 < threads; w++) {
      if (only?.warps?.includes(w) === false || only?.blocks?.includes(index) === false) continue;
      const count = Math.min(32, threads - w * 32);
      const lanes = (count === 32 ? -1 : (1 << count) - 1) & (only?.lanes ?? -1);
      if (lanes === 0) continue;
      const logs = open ? Array.from({ length: 32 }, (): number[] => []) : null;
      if (logs !== null) this.logs.push(...logs);
      const warp: Warp = {
        index: w,
        block: b,
        paths: [],
        turns: 0,
        exited: ~lanes,
        lanes,
        state: 'ready',
        pending: [],
        groups: [],
        flights: null,
        logs,
      };
      const frame = this.newFrame(code, 0, 0, null);
      const { apart } = this.opts;
      const each = (): number[] =>
        Array.from({ length: count }, (_, l) => 1 << l).filter((x) => (x & lanes) !== 0);
      const paths = apart === undefined ? [lanes] : each();
      // The path on top of the stack runs first.
      if (apart === 'first') paths.reverse();
      for (const mask of paths) insertPath(warp, newPath(frame, 0, mask, -1));
      b.warps.push(warp);
    }
    return b;
  }

  /** Contents of shared or local memory of an open world before any write; `which` keeps the two apart. */
  private contentsOf(which: number): Contents {
    const { seed, contents = contentsFor(seed) } = this.opts;
    const { undefined: unset = 0 } = this.opts;
    const word = unset === 0 ? 0 : BLANK;
    const any =
      this.opts.blank === true
        ? { integer: () => word, float: () => word }
        : unset === 0
          ? {}
          : { integer: (h: number) => h, float: (h: number) => h };
    return {
      ...contents,
      ...any,
      seed: seed ^ which ^ unset,
      pointers: NO_PLACES,
      floats: NO_PLACES,
      doubles: NO_PLACES,
      given: NO_WORDS,
    };
  }

  private singleBuffer(name: string, bytes: number): BufferMemory {
    this.hold(bytes);
    const m = new BufferMemory(0);
    m.add(name, new Uint8Array(bytes));
    return m;
  }

  localOf(w: Warp, lane: number): Memory {
    const t = w.index * 32 + lane;
    let m = w.block.locals[t];
    if (m === undefined) {
      let bytes = LEAST_LOCAL;
      for (const { frame } of w.paths) bytes = Math.max(bytes, frame.localBase + topOf(frame, 1 << lane));
      m = this.opts.open
        ? new OpenMemory(this.contentsOf(0x10ca1))
        : this.singleBuffer('local memory', bytes);
      w.block.locals[t] = m;
    }
    return m;
  }

  growLocals(w: Warp, mask: number, bytes: number): void {
    for (let r = mask; r !== 0; r &= r - 1) {
      const m = w.block.locals[w.index * 32 + lowest(r)];
      if (!(m instanceof BufferMemory) || bytesOf(m) >= bytes) continue;
      this.hold(bytes - bytesOf(m));
      m.growLast(bytes);
      this.held += bytesOf(m) - bytes;
    }
  }

  private runBlock(b: BlockState): void {
    const slice = this.schedule?.turn() ?? this.opts.slice ?? (b.idle ? IDLE_SLICE : WARP_SLICE);
    const limit = this.executed + BLOCK_SLICES * slice;
    for (;;) {
      const before = this.changes;
      let progress = false;
      let left = 0;
      for (const w of this.schedule?.shuffled(b.warps) ?? b.warps) {
        if (w.state === 'done') continue;
        left++;
        if (w.state === 'barrier') continue;
        progress = true;
        this.runOrEnd(w, Math.min(this.most, this.executed + slice));
      }
      if (left === 0) {
        b.done = true;
        return;
      }
      if (!progress) {
        if (this.opts.open) {
          for (const w of b.warps) if (w.state !== 'done') this.endWarp(w, 'deadlock');
          continue;
        }
        const where = b.warps.flatMap((w) => waiting(this, w)).slice(0, 4);
        throw new SimFault(
          `deadlock in block (${b.id.join(', ')}) of ${this.kernelName}: ${where.join('; ')}`,
          'deadlock',
        );
      }
      // Every warp has had its turn. The other blocks get theirs now if nothing changed, otherwise after this block's slices.
      b.idle = this.changes === before;
      if (b.idle || this.executed >= limit) return;
    }
  }

  /** Runs a warp. In an open world a fault ends that warp alone, so that the others can still be compared. */
  private runOrEnd(w: Warp, limit: number): void {
    if (!this.opts.open) return runWarp(this, w, limit);
    try {
      runWarp(this, w, limit);
    } catch (e) {
      if (!(e instanceof SimFault)) throw e;
      this.endWarp(w, e.kind);
    }
  }

  endLanes(w: Warp, lanes: number, kind: FaultKind): void {
    for (let m = lanes; m !== 0; m &= m - 1) this.ended.set(`${w.block.index}.${w.index}.${lowest(m)}`, kind);
    w.exited |= lanes;
    this.afterExit(w);
  }

  /** In an open world: the number of words that each thread has shown. */
  private readonly shown = new Map<number, number>();
  private readonly lastShown = new Map<number, number>();

  show(w: Warp, lane: number, value: number, unlessLast = false): void {
    const thread = (w.block.index * 32 + w.index) * 32 + lane;
    const n = this.shown.get(thread) ?? 0;
    if (n === MOST_SHOWN || (unlessLast && this.lastShown.get(thread) === value)) return;
    this.lastShown.set(thread, value);
    this.shown.set(thread, n + 1);
    const address = SHOWN + 4 * (thread * MOST_SHOWN + n);
    const p = this.global.place(address, 4, true);
    p.view.setInt32(p.at, value, true);
    w.logs?.[lane].push(address, value);
  }

  showOnce(b: BlockState, key: number, value: number): void {
    const p = this.global.place(SHOWN_ONCE + 4 * ((mix(b.index, key) >>> 0) % 2 ** 30), 4, true);
    p.view.setInt32(p.at, value, true);
  }

  private endWarp(w: Warp, kind: FaultKind): void {
    this.ended.set(`${w.block.index}.${w.index}`, kind);
    w.exited = -1;
    for (const f of new Set(w.paths.map((p) => p.frame))) this.releaseFrame(f);
    w.paths.length = 0;
    w.state = 'done';
    this.afterExit(w);
  }

  describe(d: Decoded, f: Frame | undefined): string {
    const loc = this.program.locs[d.ins.loc];
    const src =
      loc === undefined || loc.line === 0
        ? ''
        : `, PTX line ${loc.line}${loc.srcLine > 0 ? `, source line ${loc.srcLine}` : ''}`;
    return `'${printInstr(d.ins)}' in ${f?.code.fn.name ?? '?'}${src}`;
  }

  fault(message: string, d: Decoded, w: Warp, lane: number, kind: FaultKind = 'other'): never {
    const t = w.index * 32 + lane;
    const [bx, by] = this.opts.block;
    const thread = [t % bx, Math.floor(t / bx) % by, Math.floor(t / (bx * by))];
    throw new SimFault(
      `${message}\n  at ${this.describe(d, w.paths[w.paths.length - 1]?.frame)}\n  thread (${thread.join(', ')}) of block (${w.block.id.join(', ')})`,
      kind,
    );
  }

  /** Lane that a primitive is processing, for fault messages. */
  lane = 0;
  readonly scratch = new Int32Array(32);
  /** Path that a barrier primitive is processing. */
  arriving: Path | null = null;
  kernelName = '';
  yieldTurn = false;
  unpromised = false;

  /** After lanes have ended: releases whatever waited for them. */
  afterExit(w: Warp): void {
    this.changes++;
    if (w.paths.length > 1) completeGroups(this, w);
    for (const bar of w.block.barriers.values()) tryRelease(w.block, bar);
    if (w.block.cluster !== null) openCluster(w.block.cluster);
  }

  generic(w: Warp, lane: number, address: number, size: number, write: boolean): Location {
    if (address < SHARED_WINDOW) return this.global.place(address, size, write);
    // In an open world random values may look like addresses: an address belongs to another space only near the start of its window.
    if (this.opts.open && address < FUNCTION_WINDOW && address % SHARED_WINDOW >= NEAR)
      return this.global.place(address % SHARED_WINDOW, size, write);
    if (address < LOCAL_WINDOW) {
      const { block, at } = inCluster(w.block, address);
      return block.shared.place(at, size, write);
    }
    if (address < PARAM_WINDOW) return this.localOf(w, lane).place(address - LOCAL_WINDOW, size, write);
    if (address < FUNCTION_WINDOW) {
      const at = address - PARAM_WINDOW;
      if (!write && at + size <= this.bank.byteLength) return { view: this.bank, at };
      if (!this.opts.open)
        throw new MemoryFault(
          write
            ? `address ${hex(address)} belongs to a kernel parameter, which is read-only`
            : `address ${hex(address)} lies past the end of the kernel parameters`,
        );
    }
    if (this.opts.open) return this.global.place(address % SHARED_WINDOW, size, write);
    throw new MemoryFault(`address ${hex(address)} lies in no memory`);
  }
}

/** Word in blank memory when undefined values are to be non-zero: four equal bytes, so that it reads the same at any alignment. */
const BLANK = 0x5a5a5a5a;

const NO_PLACES: ReadonlySet<number> = new Set();
const NO_WORDS: ReadonlyMap<number, number> = new Map();

/** Size of a memory that consists of one buffer; 0 for open memory. */
const bytesOf = (m: Memory): number => (m instanceof BufferMemory ? m.buffers[0].bytes.length : 0);

/** Bytes charged for one call of a function. */
const frameBytes = (code: Code): number => FRAME_BYTES + 4 * code.words + 32 * code.paramBytes;
