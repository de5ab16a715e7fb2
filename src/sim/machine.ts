import { OpFlag } from '../ir/opcode.ts';
import { Kind, type Operand } from '../ir/operand.ts';
import type { Fn, Instr, Program } from '../ir/program.ts';
import { printInstr } from '../ir/text.ts';
import type { LaneRegs } from '../isa/lanes.ts';
import { completeGroups, meetBarrier, meetMembers, resume, waiting } from './converge.ts';
import { type Code, type Decoded, decode } from './decode.ts';
import {
  BufferMemory,
  FUNCTION_WINDOW,
  hex,
  LOCAL_WINDOW,
  type Memory,
  MemoryFault,
  OpenMemory,
  PARAM_WINDOW,
  type Place,
  SHARED_WINDOW,
} from './memory.ts';
import { insertPath, newPath, type Path, passTurn } from './paths.ts';
import { primitives, unknownCall } from './primitives.ts';

/** A function call of a warp: registers and call parameters. */
export interface Frame {
  readonly code: Code;
  readonly regs: LaneRegs;
  /** Call parameters, lane by lane. */
  readonly params: Uint8Array;
  readonly paramView: DataView;
  /** Calls around this one. */
  readonly depth: number;
  /** Paths inside; when there is none left the call is over. */
  live: number;
  /** First byte of this frame's local memory within a thread's. */
  readonly localBase: number;
  /** What the caller does when this returns. */
  readonly onReturn: (() => void) | null;
}

export interface AsyncCopy {
  readonly lane: number;
  readonly to: number;
  readonly from: number;
  readonly size: number;
  readonly n: number;
}

export interface Warp {
  readonly index: number;
  readonly block: BlockState;
  /** A stack; the last one runs. */
  readonly paths: Path[];
  /** How often one path took the turn of another. */
  turns: number;
  /** Lanes that ended. */
  exited: number;
  /** Lanes that exist. */
  readonly lanes: number;
  state: 'ready' | 'barrier' | 'done';
  readonly pending: AsyncCopy[];
  readonly groups: AsyncCopy[][];
  /** In an open world, what each lane stored in order: address, value, address, value, ... */
  readonly logs: readonly number[][] | null;
}

export interface Barrier {
  /** Threads that have arrived, for a barrier with a count. */
  arrived: number;
  /** The count; 0 for all threads of the block. */
  expected: number;
  /** Lanes of each warp that have arrived, for a barrier of all threads. */
  readonly lanes: Map<Warp, number>;
  readonly waiting: { readonly warp: Warp; readonly path: Path }[];
  readonly reductions: {
    readonly finish: (and: boolean, or: boolean, count: number) => void;
  }[];
  and: boolean;
  or: boolean;
  count: number;
}

export interface MBarrier {
  expected: number;
  pending: number;
  phase: number;
  tx: number;
}

export interface BlockState {
  readonly index: number;
  readonly id: readonly [number, number, number];
  readonly warps: Warp[];
  readonly shared: Memory;
  readonly barriers: Map<number, Barrier>;
  readonly mbarriers: Map<number, MBarrier>;
  readonly locals: Memory[];
  done: boolean;
}

/** What happened, counted while it ran. */
export interface Counters {
  warpInstructions: number;
  threadInstructions: number;
  readonly byUnit: Record<string, { warp: number; thread: number }>;
  divergentBranches: number;
  deepestStack: number;
  readonly transactions: Record<string, number>;
  barrierWaits: number;
  /** Executions by warps, by function and block id. */
  readonly blocks: Record<string, Record<number, number>>;
}

export const newCounters = (): Counters => ({
  warpInstructions: 0,
  threadInstructions: 0,
  byUnit: {},
  divergentBranches: 0,
  deepestStack: 0,
  transactions: {},
  barrierWaits: 0,
  blocks: {},
});

export interface MachineOptions {
  readonly grid: readonly [number, number, number];
  readonly block: readonly [number, number, number];
  readonly dynamicShared: number;
  /** Most warp instructions in all, counted exactly; a run that needs one more ends with status 'budget'. */
  readonly budget: number;
  readonly counters: Counters | null;
  /** Open world: every address exists, nothing is checked. */
  readonly open: boolean;
  readonly seed: number;
  /** Warp instructions a warp may run before the next has its turn; a block ten times that. Default: 20,000. */
  readonly slice?: number;
}

export type FaultKind = 'access' | 'trap' | 'deadlock' | 'other';

/** A fault of the simulated program: a bad access, a trap, a deadlock. */
export class SimFault extends Error {
  readonly kind: FaultKind;

  constructor(message: string, kind: FaultKind = 'other') {
    super(message);
    this.kind = kind;
  }
}

/** The instruction budget is used up. */
class OutOfBudget extends Error {}

/** Bytes of a window that an open world takes for the space itself. */
const NEAR = 2 ** 26;
/** Most frames of one warp: deeper recursion is a stack overflow. */
const DEEPEST_CALL = 256;
/** Instructions that one path may run before another of its warp gets a turn: ends spin locks inside a warp. */
const PATH_SLICE = 5000;
/** Instructions a warp may run before the next warp gets a turn: ends waits between warps. */
const WARP_SLICE = 20_000;
/** Slices of a warp that a block may run before the next resident block gets a turn: ends waits between blocks. */
const BLOCK_SLICES = 10;
/** Where open memory keeps what threads show, and how many words of it each may. */
const SHOWN = 2 ** 43 + 2 ** 42;
const MOST_SHOWN = 1024;
/** Blocks that are resident together. */
const RESIDENT = 16;

/** Runs one kernel of a program over a grid. */
export class Machine {
  readonly program: Program;
  readonly opts: MachineOptions;
  readonly global: Memory;
  /** Constant bank 0, parameters included. */
  readonly bank: DataView;
  readonly functions: Map<string, Fn>;
  readonly functionList: readonly Fn[];
  readonly symbols = new Map<string, number>();
  readonly sharedAt = new Map<string, number>();
  sharedBytes = 0;
  executed = 0;
  readonly output: string[] = [];
  readonly heap: { next: number };
  /** In an open world: what each thread stored. */
  readonly logs: number[][] = [];
  /** In an open world: the threads that a trap ended and the warps that a fault did, by block, warp and lane, and its kind. */
  readonly ended = new Map<string, FaultKind>();
  /** Told of every load from global memory; null if nobody listens. */
  followed: { note(ins: Instr, address: number): void } | null = null;
  private readonly images = new WeakMap<Code, Int32Array>();
  private readonly free: { i32: Int32Array; regs: LaneRegs }[] = [];

  /** @param kernel the one that will run: shared memory holds its variables */
  constructor(program: Program, kernel: Fn, opts: MachineOptions, global: Memory, bank: DataView) {
    this.program = program;
    this.opts = opts;
    this.global = global;
    this.bank = bank;
    this.functionList = program.functions;
    this.functions = new Map(program.functions.map((f) => [f.name, f]));
    this.heap = { next: 2 ** 43 };
    // An open world is compared with one in which dead uses are gone: there all variables keep their places.
    const used = opts.open ? null : namesReached(program, kernel);
    for (const v of program.variables)
      if (v.space === 'shared' && used?.has(v.name) !== false) {
        if (v.linkage === 'extern' && v.size === 0) continue;
        const a = Math.max(16, v.align);
        const at = Math.ceil(this.sharedBytes / a) * a;
        this.sharedAt.set(v.name, at);
        this.sharedBytes = at + v.size;
      }
    const dynamic = Math.ceil(this.sharedBytes / 16) * 16;
    for (const v of program.variables)
      if (v.space === 'shared' && !this.sharedAt.has(v.name)) this.sharedAt.set(v.name, dynamic);
    this.sharedBytes = dynamic + opts.dynamicShared;
  }

  /** Address of a symbol in its own space (shared: an offset; functions: a number of their own). */
  symbolAddress(name: string, code: Code): number {
    const shared = this.sharedAt.get(name);
    if (shared !== undefined) return shared;
    const local = code.locals.get(name);
    if (local !== undefined) return local;
    const global = this.symbols.get(name);
    if (global !== undefined) return global;
    const f = this.functionList.findIndex((x) => x.name === name);
    if (f >= 0) return FUNCTION_WINDOW + 16 * f;
    const param = code.params.get(name);
    if (param !== undefined) return param;
    const proto = this.program.prototypes.findIndex((p) => p.name === name);
    if (proto >= 0) return FUNCTION_WINDOW + 16 * (4096 + proto);
    throw new SimFault(`symbol '${name}' is not defined in this module`);
  }

  /** Registers of a function with constants and symbols in place. */
  private imageOf(code: Code): Int32Array {
    let image = this.images.get(code);
    if (image !== undefined) return image;
    image = code.image.slice();
    for (const f of code.fixups) {
      const [lo, hi] = this.fixupValue(f.operand, f.wide, code);
      for (let l = 0; l < 32; l++)
        if (f.wide) {
          image[f.at + 2 * l] = lo;
          image[f.at + 2 * l + 1] = hi;
        } else image[f.at + l] = lo;
    }
    this.images.set(code, image);
    return image;
  }

  private fixupValue(o: Operand, wide: boolean, code: Code): [number, number] {
    if (o.kind === Kind.CBank) {
      const at = o.lo >>> 0;
      if (o.hi !== 0 || at + (wide ? 8 : 4) > this.bank.byteLength) return [0, 0];
      return [this.bank.getInt32(at, true), wide ? this.bank.getInt32(at + 4, true) : 0];
    }
    if (o.sym === '') return [0, 0];
    const a = this.symbolAddress(o.sym, code) + o.lo;
    return [a | 0, Math.floor(a / 4294967296) | 0];
  }

  private newFrame(code: Code, depth: number, localBase: number, onReturn: (() => void) | null): Frame {
    const image = this.imageOf(code);
    let slab = this.free.pop();
    if (slab === undefined || slab.i32.length < code.words) {
      const buffer = new ArrayBuffer(Math.max(code.words, 2) * 4);
      const i32 = new Int32Array(buffer);
      slab = {
        i32,
        regs: { i32, f32: new Float32Array(buffer), f64: new Float64Array(buffer), p: new Int32Array(0) },
      };
    }
    slab.i32.set(image);
    const params = new Uint8Array(code.paramBytes * 32);
    return {
      code,
      regs: { i32: slab.i32, f32: slab.regs.f32, f64: slab.regs.f64, p: code.predImage.slice() },
      params,
      paramView: new DataView(params.buffer),
      depth,
      live: 0,
      localBase,
      onReturn,
    };
  }

  private releaseFrame(f: Frame): void {
    if (this.free.length < 256) this.free.push({ i32: f.regs.i32, regs: f.regs });
  }

  /** Runs the kernel to its end. @returns how it ended */
  run(kernel: Fn): 'done' | 'budget' {
    const [gx, gy, gz] = this.opts.grid;
    const total = gx * gy * gz;
    const code = decode(kernel);
    this.kernelName = kernel.name;
    let next = 0;
    const resident: BlockState[] = [];
    try {
      while (next < total || resident.length > 0) {
        while (resident.length < RESIDENT && next < total) resident.push(this.newBlock(next++, code));
        for (let i = 0; i < resident.length; ) {
          const b = resident[i];
          this.runBlock(b);
          if (b.done) resident.splice(i, 1);
          else i++;
        }
      }
    } catch (e) {
      if (e instanceof OutOfBudget) return 'budget';
      throw e;
    }
    return 'done';
  }

  private newBlock(index: number, code: Code): BlockState {
    const [gx, gy] = this.opts.grid;
    const [bx, by, bz] = this.opts.block;
    const threads = bx * by * bz;
    const { open, seed } = this.opts;
    const shared: Memory = open
      ? new OpenMemory(seed ^ 0x5eed)
      : singleBuffer('shared memory', this.sharedBytes);
    const b: BlockState = {
      index,
      id: [index % gx, Math.floor(index / gx) % gy, Math.floor(index / (gx * gy))],
      warps: [],
      shared,
      barriers: new Map(),
      mbarriers: new Map(),
      locals: [],
      done: false,
    };
    for (let w = 0; w * 32 < threads; w++) {
      const count = Math.min(32, threads - w * 32);
      const lanes = count === 32 ? -1 : (1 << count) - 1;
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
        logs,
      };
      insertPath(warp, newPath(this.newFrame(code, 0, 0, null), 0, lanes, -1));
      b.warps.push(warp);
    }
    return b;
  }

  /** Local memory of a thread; made when first used. */
  localOf(w: Warp, lane: number): Memory {
    const t = w.index * 32 + lane;
    let m = w.block.locals[t];
    if (m === undefined) {
      let bytes = 0;
      for (const { frame } of w.paths) bytes = Math.max(bytes, frame.localBase + frame.code.localBytes);
      m = this.opts.open
        ? new OpenMemory(this.opts.seed ^ 0x10ca1)
        : singleBuffer('local memory', Math.max(bytes, this.localLimit()));
      w.block.locals[t] = m;
    }
    return m;
  }

  private limit = -1;
  private localLimit(): number {
    if (this.limit < 0) {
      // All functions once, and room for recursion.
      this.limit = 0;
      for (const f of this.functionList) this.limit += decode(f).localBytes;
      this.limit = Math.max(this.limit * 4, 64);
    }
    return this.limit;
  }

  private runBlock(b: BlockState): void {
    const slice = this.opts.slice ?? WARP_SLICE;
    const limit = Math.min(this.executed + BLOCK_SLICES * slice, this.opts.budget);
    for (;;) {
      let progress = false;
      let left = 0;
      for (const w of b.warps) {
        if (w.state === 'done') continue;
        left++;
        if (w.state === 'barrier') continue;
        progress = true;
        this.runOrEnd(w, Math.min(limit, this.executed + slice));
        if (this.executed >= limit) {
          b.done = b.warps.every((x) => x.state === 'done');
          return;
        }
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
    }
  }

  /** Runs a warp; in an open world a fault ends it and nobody else, so that the others are compared all the same. */
  private runOrEnd(w: Warp, limit: number): void {
    if (!this.opts.open) return this.runWarp(w, limit);
    try {
      this.runWarp(w, limit);
    } catch (e) {
      if (!(e instanceof SimFault)) throw e;
      this.endWarp(w, e.kind);
    }
  }

  /** In an open world: ends lanes, and nobody else. */
  endLanes(w: Warp, lanes: number, kind: FaultKind): void {
    for (let m = lanes; m !== 0; m &= m - 1)
      this.ended.set(`${w.block.index}.${w.index}.${31 - Math.clz32(m & -m)}`, kind);
    w.exited |= lanes;
    this.afterExit(w);
  }

  /** In an open world: how much each thread has shown. */
  private readonly shown = new Map<number, number>();

  /** In an open world: what a thread shows of itself other than by memory, as if it stored it to a place of its own. */
  show(w: Warp, lane: number, value: number): void {
    const thread = (w.block.index * 32 + w.index) * 32 + lane;
    const n = this.shown.get(thread) ?? 0;
    if (n === MOST_SHOWN) return;
    this.shown.set(thread, n + 1);
    const address = SHOWN + 4 * (thread * MOST_SHOWN + n);
    const p = this.global.place(address, 4, true);
    p.view.setInt32(p.at, value, true);
    w.logs?.[lane].push(address, value);
  }

  private endWarp(w: Warp, kind: FaultKind): void {
    this.ended.set(`${w.block.index}.${w.index}`, kind);
    w.exited = -1;
    w.paths.length = 0;
    w.state = 'done';
    this.afterExit(w);
  }

  /** Instruction, function and source place. */
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

  private runWarp(w: Warp, limit: number): void {
    const { counters, budget } = this.opts;
    const { paths } = w;
    let inPath = 0;
    for (;;) {
      const path = paths[paths.length - 1];
      if (path === undefined) {
        w.state = 'done';
        return;
      }
      if (path.wait !== null) {
        if (!resume(this, w)) return;
        inPath = 0;
        continue;
      }
      const f = path.frame;
      const active = path.mask & ~w.exited;
      if (active === 0 || path.pc === path.join) {
        paths.pop();
        if (--f.live === 0) {
          f.onReturn?.();
          this.releaseFrame(f);
        }
        inPath = 0;
        continue;
      }
      const d = f.code.ins[path.pc];
      if (d === undefined) throw new SimFault(`control runs off the end of ${f.code.fn.name}`);
      if (this.executed >= limit) {
        if (this.executed >= budget) throw new OutOfBudget();
        return;
      }
      if (++inPath > PATH_SLICE) {
        inPath = 0;
        passTurn(w, true, path);
        continue;
      }
      this.executed++;
      let mask = active;
      if (d.guard >= 0) {
        const g = f.regs.p[d.guard];
        mask &= d.guardNot ? ~g : g;
      }
      if (counters !== null) this.count(counters, d, f, mask, path);
      if (d.lane !== null) {
        if (mask !== 0) d.lane(f.regs, f.code.operands, d.k, mask);
        path.pc++;
        continue;
      }
      switch (d.primitive) {
        case 'branch':
          if (mask === 0) path.pc++;
          else if (mask === active) path.pc = d.target;
          else
            this.diverge(w, path, d, [
              [d.target, mask],
              [path.pc + 1, active & ~mask],
            ]);
          continue;
        case 'branch-table':
          this.branchTable(w, path, d, mask, active);
          continue;
        case 'exit':
          path.pc++;
          w.exited |= mask;
          this.afterExit(w);
          continue;
        case 'return':
          path.pc++;
          if (mask === 0) continue;
          if (f.depth > 0) {
            for (const p of paths) if (p.frame === f) p.mask &= ~mask;
            continue;
          }
          w.exited |= mask;
          this.afterExit(w);
          continue;
        case 'call':
          path.pc++;
          if (mask !== 0) this.call(w, f, d, mask);
          continue;
        case 'barrier':
          if (mask === 0) path.pc++;
          else meetBarrier(this, w, path, d, mask);
          continue;
        default: {
          if (d.members >= 0 && mask !== 0) {
            meetMembers(this, w, path, d, mask);
            continue;
          }
          path.pc++;
          if (mask === 0) continue;
          try {
            primitives[d.primitive](this, w, f, d, mask);
          } catch (e) {
            if (e instanceof MemoryFault) this.fault(e.message, d, w, this.lane, 'access');
            throw e;
          }
        }
      }
    }
  }

  /** Lane that a primitive is working on, for messages. */
  lane = 0;
  /** Path that a barrier is working on. */
  arriving: Path | null = null;
  kernelName = '';

  private diverge(w: Warp, path: Path, d: Decoded, ways: readonly (readonly [number, number])[]): void {
    const { counters } = this.opts;
    const { paths } = w;
    if (counters !== null) counters.divergentBranches++;
    const join = d.join;
    path.pc = join < 0 ? -1 : join;
    // Without a common point the lanes never meet again; with the meeting point of the path itself, the entry below
    // already waits there. Either way this entry has nothing left to do.
    if (join < 0 || join === path.join) {
      paths.pop();
      path.frame.live--;
    }
    const outer = join < 0 ? path.join : join;
    for (let i = ways.length - 1; i >= 0; i--)
      if (ways[i][0] !== outer || join < 0) insertPath(w, newPath(path.frame, ways[i][0], ways[i][1], outer));
    if (counters !== null && paths.length > counters.deepestStack) counters.deepestStack = paths.length;
  }

  private branchTable(w: Warp, path: Path, d: Decoded, mask: number, active: number): void {
    const table = d.table!;
    const f = path.frame;
    const at = f.code.operands[d.k];
    const ways = new Map<number, number>();
    if (mask !== active) ways.set(path.pc + 1, active & ~mask);
    for (let m = mask; m !== 0; m &= m - 1) {
      const l = 31 - Math.clz32(m & -m);
      const i = f.regs.i32[at + l] >>> 0;
      if (i >= table.length)
        this.fault(`index ${i} is outside the jump table of ${table.length} entries`, d, w, l);
      ways.set(table[i], (ways.get(table[i]) ?? 0) | (m & -m));
    }
    if (ways.size === 1) path.pc = ways.keys().next().value!;
    else
      this.diverge(
        w,
        path,
        d,
        [...ways].sort((a, b) => a[0] - b[0]),
      );
  }

  /** Calls a function for each distinct target of the active lanes. */
  private call(w: Warp, f: Frame, d: Decoded, mask: number): void {
    if (f.depth + 1 >= DEEPEST_CALL) this.fault(`calls are nested deeper than ${DEEPEST_CALL}`, d, w, 0);
    const target = d.ins.src[0];
    if (target.kind === Kind.Sym) return this.enter(w, f, d, mask, target.sym);
    const at = f.code.operands[d.k + d.ins.dst.length];
    const groups = new Map<string, number>();
    for (let m = mask; m !== 0; m &= m - 1) {
      const l = 31 - Math.clz32(m & -m);
      const a =
        (f.regs.i32[at + 2 * l + 1] >>> 0) * 4294967296 + (f.regs.i32[at + 2 * l] >>> 0) - FUNCTION_WINDOW;
      const fn = this.functionList[a / 16];
      if (fn === undefined && this.opts.open) unknownCall(this, w, f, d, m & -m);
      else if (fn === undefined)
        this.fault(`indirect call to ${hex(a + FUNCTION_WINDOW)}, which is no function`, d, w, l);
      else groups.set(fn.name, (groups.get(fn.name) ?? 0) | (m & -m));
    }
    for (const [name, m] of groups) this.enter(w, f, d, m, name);
  }

  private enter(w: Warp, f: Frame, d: Decoded, mask: number, name: string): void {
    const fn = this.functions.get(name);
    if (fn === undefined) {
      try {
        primitives.builtin(this, w, f, d, mask);
      } catch (e) {
        if (e instanceof MemoryFault) this.fault(e.message, d, w, this.lane, 'access');
        throw e;
      }
      return;
    }
    const code = decode(fn);
    const g = this.newFrame(code, f.depth + 1, f.localBase + f.code.localBytes, () =>
      this.leave(f, g, d, mask),
    );
    const first = d.ins.dst.length;
    const args = d.ins.src;
    let k = 2;
    for (const p of fn.params) {
      const o = args[k];
      const at = f.code.operands[d.k + first + k];
      k++;
      if (o === undefined) continue;
      if (p.reg >= 0 && o.kind === Kind.Imm) fillRegister(g, code.placeOf(p.reg), o, p.size > 4);
      else if (p.reg >= 0) copyRegister(f, at, g, code.placeOf(p.reg), p.size > 4);
      else if (o.kind === Kind.Sym)
        copyParam(f, f.code.params.get(o.sym) ?? 0, g, code.params.get(p.name) ?? 0, p.size, mask);
    }
    insertPath(w, newPath(g, 0, mask, -1));
  }

  private leave(f: Frame, g: Frame, d: Decoded, mask: number): void {
    const fn = g.code.fn;
    let reg = 0;
    let k = 2 + fn.params.length;
    for (const p of fn.returns) {
      if (p.reg >= 0) {
        const to = f.code.operands[d.k + reg++];
        if (to < 0) continue;
        const from = g.code.placeOf(p.reg);
        const wide = p.size > 4;
        for (let m = mask; m !== 0; m &= m - 1) {
          const l = 31 - Math.clz32(m & -m);
          if (wide) {
            f.regs.i32[to + 2 * l] = g.regs.i32[from + 2 * l];
            f.regs.i32[to + 2 * l + 1] = g.regs.i32[from + 2 * l + 1];
          } else f.regs.i32[to + l] = g.regs.i32[from + l];
        }
      } else {
        const o = d.ins.src[k++];
        if (o !== undefined && o.kind === Kind.Sym)
          copyParam(g, g.code.params.get(p.name) ?? 0, f, f.code.params.get(o.sym) ?? 0, p.size, mask);
      }
    }
  }

  /** Lanes ended: what waited for them may go on. */
  private afterExit(w: Warp): void {
    if (w.paths.length > 1) completeGroups(this, w);
    for (const bar of w.block.barriers.values()) this.tryRelease(w.block, bar);
  }

  /** Opens a barrier when all that it expects have arrived. */
  tryRelease(b: BlockState, bar: Barrier): void {
    if (bar.expected > 0) {
      if (bar.arrived < bar.expected) return;
    } else {
      if (bar.lanes.size === 0) return;
      for (const w of b.warps) if ((~w.exited & ~(bar.lanes.get(w) ?? 0)) !== 0) return;
    }
    for (const r of bar.reductions) r.finish(bar.and, bar.or, bar.count);
    for (const { warp, path } of bar.waiting) {
      path.wait = null;
      warp.state = 'ready';
    }
    bar.arrived = 0;
    bar.expected = 0;
    bar.lanes.clear();
    bar.waiting.length = 0;
    bar.reductions.length = 0;
    bar.and = true;
    bar.or = false;
    bar.count = 0;
  }

  /** Resolves a generic address to its space and place. */
  generic(w: Warp, lane: number, address: number, size: number, write: boolean): Place {
    if (address < SHARED_WINDOW) return this.global.place(address, size, write);
    // What an open world makes up may look like an address: it is one of another space only near its beginning.
    if (this.opts.open && address < FUNCTION_WINDOW && address % SHARED_WINDOW >= NEAR)
      return this.global.place(address % SHARED_WINDOW, size, write);
    if (address < LOCAL_WINDOW) return w.block.shared.place(address - SHARED_WINDOW, size, write);
    if (address < PARAM_WINDOW) return this.localOf(w, lane).place(address - LOCAL_WINDOW, size, write);
    if (address < FUNCTION_WINDOW)
      return { view: this.bank, at: Math.min(address - PARAM_WINDOW, this.bank.byteLength - 16) };
    if (this.opts.open) return this.global.place(address % SHARED_WINDOW, size, write);
    throw new MemoryFault(`address ${hex(address)} lies in no memory`);
  }

  private count(c: Counters, d: Decoded, f: Frame, mask: number, path: Path): void {
    let n = mask - ((mask >>> 1) & 0x55555555);
    n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
    n = Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
    c.warpInstructions++;
    c.threadInstructions += n;
    const u = d.ins.op.unit;
    c.byUnit[u] ??= { warp: 0, thread: 0 };
    c.byUnit[u].warp++;
    c.byUnit[u].thread += n;
    const before = f.code.ins[path.pc - 1];
    if (before === undefined || before.block !== d.block || (before.ins.op.flags & OpFlag.Control) !== 0) {
      c.blocks[f.code.fn.name] ??= {};
      const blocks = c.blocks[f.code.fn.name];
      blocks[d.block] = (blocks[d.block] ?? 0) + 1;
    }
  }
}

/** Names that a kernel says, and those that what it reaches by them says: functions, and variables that hold addresses. */
function namesReached(program: Program, kernel: Fn): ReadonlySet<string> {
  const functions = new Map(program.functions.map((f) => [f.name, f]));
  const variables = new Map(program.variables.map((v) => [v.name, v]));
  const seen = new Set<string>();
  const work: Fn[] = [kernel];
  const meet = (name: string): void => {
    if (name === '' || seen.has(name)) return;
    seen.add(name);
    const fn = functions.get(name);
    if (fn !== undefined) work.push(fn);
    for (const r of variables.get(name)?.relocs ?? []) meet(r.symbol);
  };
  for (let fn = work.pop(); fn !== undefined; fn = work.pop())
    for (const b of fn.blocks) for (const i of b.ins) for (const o of i.src) meet(o.sym);
  return seen;
}

function singleBuffer(name: string, bytes: number): BufferMemory {
  const m = new BufferMemory(0);
  m.add(name, new Uint8Array(bytes));
  return m;
}

function copyRegister(f: Frame, from: number, g: Frame, to: number, wide: boolean): void {
  const n = wide ? 64 : 32;
  for (let i = 0; i < n; i++) g.regs.i32[to + i] = f.regs.i32[from + i];
}

/** A constant as an argument: the slot has no width of its own, so the parameter says how it lies. */
function fillRegister(g: Frame, to: number, o: Operand, wide: boolean): void {
  for (let l = 0; l < 32; l++)
    if (wide) {
      g.regs.i32[to + 2 * l] = o.lo;
      g.regs.i32[to + 2 * l + 1] = o.hi;
    } else g.regs.i32[to + l] = o.lo;
}

function copyParam(a: Frame, from: number, b: Frame, to: number, size: number, mask: number): void {
  for (let m = mask; m !== 0; m &= m - 1) {
    const l = 31 - Math.clz32(m & -m);
    const s = l * a.code.paramBytes + from;
    b.params.set(a.params.subarray(s, s + size), l * b.code.paramBytes + to);
  }
}
