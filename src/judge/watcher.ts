import { modOf, OpFlag } from '../ir/opcode.ts';
import { NO_REG } from '../ir/operand.ts';
import type { Instr } from '../ir/program.ts';
import type { Code, Decoded } from '../sim/decode.ts';
import { lowest } from '../sim/masks.ts';
import { LOCAL_WINDOW, type Location, mix, PARAM_WINDOW, SHARED_WINDOW } from '../sim/memory.ts';
import type { Contents } from '../sim/open-memory.ts';
import { holdsFloats, pageOf } from '../sim/open-memory.ts';
import type { AsyncCopy, Barrier, Frame, Warp } from '../sim/state.ts';
import { Seen, type Watch } from '../sim/watch.ts';
import { OrderLog, SHARED_PLACES, shapeOf } from './accesses.ts';
import { isStrongAccess, semOf } from './features.ts';
import { Races } from './races.ts';
import { isOneThread, type World } from './world.ts';

/** Space of an access: global memory, shared memory, or memory that only the thread itself sees. */
function spaceOf(d: Decoded, address: number): 'global' | 'shared' | 'own' {
  switch (d.ins.op.space) {
    case 'global':
      return 'global';
    case 'shared':
    case 'cluster':
      return 'shared';
    case 'generic':
      if (address < SHARED_WINDOW) return 'global';
      if (address < LOCAL_WINDOW) return 'shared';
      return address < PARAM_WINDOW ? 'own' : 'global';
    default:
      return 'own';
  }
}

/** State of the single thread in a world where simulated other threads write between its accesses. */
class Others {
  /** Number of its acquires, and of its releases. */
  acquired = 0;
  released = 0;
  /** True if it has accessed global memory since its last acquire. */
  accessed = false;
  /** For each acquire, the number of earlier releases. */
  readonly releasedBefore: number[] = [0];
  /** For each word that it has written, the number of releases and acquires at that time. */
  readonly own = new Map<number, { released: number; acquired: number }>();
  /** For each word, the number of accesses that always read memory anew. */
  readonly reads = new Map<number, number>();
}

/** Observes the operands of some instructions. */
export interface Probe {
  /** Numbers of the instructions of a function to observe. */
  wants(code: Code): Iterable<number>;
  /** Called before an observed instruction. @returns the lanes in which it gives an undefined value instead of its result */
  asked(f: Frame, pc: number, lanes: number): number;
  /** A thread loads bytes from global memory. */
  loaded(address: number, bytes: number, from: Location): void;
}

/** What is observed in a run. */
export interface Looks {
  readonly world: World;
  readonly contents: Contents;
  /** True: strong reads of a single thread return another value each time, as if others wrote all the time. */
  readonly changing: boolean;
  /** Number of blocks that run, and threads of each, in whole warps. */
  readonly blocks: number;
  readonly perBlock: number;
  readonly probe: Probe | null;
  /** Listener for every access to global memory; null for none. */
  readonly traced: Traced | null;
  readonly races: boolean;
  /** True: records the words read as read-only memory and the words written. */
  readonly promises: boolean;
  /** Loads whose results are unused. */
  readonly dead: ReadonlySet<Instr>;
  /** Increment of the clock per read. */
  readonly tick: number;
}

/** A thread accesses global memory: it loads, or it has stored what is at the address. */
export type Traced = (
  access: {
    readonly w: Warp;
    readonly d: Decoded;
    readonly lane: number;
    readonly address: number;
    readonly bytes: number;
  },
  stores: boolean,
) => void;

/** Mask that selects by hash which words other threads write at each acquire: half of them. */
const OFTEN = 1;

/**
 * Observes a run: what has executed and, as the world requires, the order of accesses of its single thread or unordered accesses of several
 * threads. If a single thread runs, other threads are simulated: after an acquire it finds new values in some of the words that it may
 * share, each volatile read returns a new value, and each clock read a later time.
 */
export class Watcher implements Watch {
  readonly seen = new Map<Code, Uint8Array>();
  readonly order: OrderLog | null;
  readonly races: Races | null;
  /** Words read through ld.global.nc, which nothing may write (PTX ISA 9.0, ld.global.nc). */
  readonly readOnly = new Set<number>();
  readonly written = new Set<number>();
  /** Words that the single thread has loaded. */
  readonly read = new Set<number>();
  /** Observer of operands and loaded values. */
  private readonly probe: Probe | null;
  private readonly others: Others | null;
  private readonly contents: Contents;
  /** True: records the words read as read-only memory and the words written. */
  private readonly promises: boolean;
  /** Loads whose results are unused. */
  private readonly dead: ReadonlySet<Instr>;
  private readonly traced: Traced | null;
  /** True if a single thread runs. */
  private readonly one: boolean;
  /** True if strong reads return another value each time. */
  private readonly changing: boolean;
  /** The last instruction that accessed memory, whether it is strong, and whether it reads read-only memory. */
  private at: Decoded | null = null;
  private strong = false;
  private nc = false;
  private clocks = 0;
  private readonly tick: number;
  private readonly scratch: Location = { view: new DataView(new ArrayBuffer(32)), at: 0 };

  constructor({
    world,
    contents,
    changing,
    blocks,
    perBlock,
    probe,
    traced,
    races,
    promises,
    dead,
    tick,
  }: Looks) {
    this.probe = probe;
    this.traced = traced;
    this.tick = tick;
    this.contents = contents;
    this.promises = promises || world.apart !== null;
    this.dead = dead;
    this.one = isOneThread(world.shape);
    this.changing = changing;
    this.order = world.orders ? new OrderLog() : null;
    this.others = world.orders ? new Others() : null;
    this.races = races ? new Races(blocks, perBlock) : null;
  }

  seenIn(code: Code): Uint8Array {
    let s = this.seen.get(code);
    if (s === undefined) {
      this.seen.set(code, (s = new Uint8Array(code.ins.length)));
      for (const pc of this.probe?.wants(code) ?? []) s[pc] = Seen.Asked;
    }
    return s;
  }

  /** Examines an instruction before the first of its lanes. */
  private look(d: Decoded): void {
    const { ins } = d;
    this.at = d;
    this.strong = isStrongAccess(ins);
    this.nc = ins.op.groupByName.has('nc') && modOf(ins.op, ins.mods, 'nc') === 'NC';
  }

  load(w: Warp, d: Decoded, lane: number, address: number, bytes: number, from: Location): Location {
    const space = spaceOf(d, address);
    if (space === 'own') return from;
    if (space === 'global') {
      this.probe?.loaded(address, bytes, from);
      this.traced?.({ w, d, lane, address, bytes }, false);
    }
    if (this.races !== null) this.noteRace(w, d, lane, address, bytes, space, false);
    if (space === 'global' && (this.promises || this.one)) {
      if (d !== this.at) this.look(d);
      if (this.nc) note(this.readOnly, address, bytes);
      if (this.one) note(this.read, address, bytes);
    }
    if (this.order === null) return from;
    if (d !== this.at) this.look(d);
    const { strong } = this;
    const at = space === 'global' ? this.asOthersLeftIt(d, address, bytes, from, strong) : from;
    if (!this.dead.has(d.ins))
      this.order.add(shapeOf(d.ins)!, this.placeOf(w, address, space), bytes, null, 0);
    if (strong) this.noteHeard(d);
    return at;
  }

  store(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void {
    const space = spaceOf(d, address);
    if (space === 'own') return;
    this.noteWrite(w, d, lane, address, bytes, space, at);
    if (this.order === null) return;
    if (d !== this.at) this.look(d);
    const { strong } = this;
    if (space === 'global' && !strong) this.noteOwn(address, bytes);
    if (!this.order.isFull) {
      const data = dataAt(at, bytes);
      this.order.add(shapeOf(d.ins)!, this.placeOf(w, address, space), bytes, data, hashOf(data));
    }
    if (strong) this.noteHeard(d);
  }

  atomic(w: Warp, d: Decoded, lane: number, address: number, bytes: number, at: Location): void {
    const space = spaceOf(d, address);
    if (space === 'own') return;
    this.noteWrite(w, d, lane, address, bytes, space);
    if (this.order === null) return;
    // Without a result, the value that an atomic operation found is invisible.
    if (space === 'global' && d.ins.dst.some((r) => r !== NO_REG)) {
      const found = this.asOthersLeftIt(d, address, bytes, at, true);
      if (found !== at) for (let k = 0; k < bytes; k++) at.view.setUint8(at.at + k, found.view.getUint8(k));
    }
    this.order.add(shapeOf(d.ins)!, this.placeOf(w, address, space), bytes, null, 0);
    this.noteHeard(d);
  }

  copy(w: Warp, { lane, to, from, size, n }: AsyncCopy, done: boolean): void {
    if (!done && this.one) note(this.read, from, n);
    const { races } = this;
    if (races === null || size === 0) return;
    const words = (at: number, bytes: number, write: boolean): void =>
      races.access(w, lane, Math.floor(at / 4), Math.floor((at + bytes - 1) / 4), write);
    // A copy may read and write at any time between its start and its end.
    if (!done && n > 0) words(from, n, false);
    words(this.placeOf(w, to, 'shared'), size, true);
  }

  execute(w: Warp, f: Frame, d: Decoded, lanes: number): void {
    const { op } = d.ins;
    if (this.races !== null) this.noteMeeting(w, d, lanes);
    if (
      this.order === null ||
      op.primitive === 'load' ||
      op.primitive === 'store' ||
      op.primitive === 'atomic'
    )
      return;
    const shape = shapeOf(d.ins);
    if (shape === null || this.dead.has(d.ins)) return;
    // The barrier's number and its thread count must match.
    let value = 0;
    if (op.primitive === 'barrier')
      for (const k of [2, 3]) value = mix(value, f.regs.i32[f.code.operands[d.k + k] + lowest(lanes)]);
    this.order.add(shape, -1, 0, null, value);
    this.noteHeard(d);
  }

  arrive(w: Warp, bar: Barrier, lanes: number): void {
    this.races?.arrive(w, lanes, bar);
  }

  open(bar: Barrier): void {
    this.races?.open(bar);
  }

  asked(f: Frame, pc: number, lanes: number): number {
    return this.probe?.asked(f, pc, lanes) ?? 0;
  }

  clock(): number {
    return ++this.clocks * this.tick;
  }

  // ------------------------------------------------------------------ order

  /** Updates acquires and releases for a strong operation. */
  private noteHeard(d: Decoded): void {
    const others = this.others!;
    const shape = shapeOf(d.ins);
    // Block and cluster scope concern only threads that run here, so they simulate nothing.
    if (shape === null || shape.scope < 3) return;
    if (shape.releases) others.released++;
    if (!shape.acquires) return;
    // Consecutive acquires count as one.
    if (others.accessed || others.acquired === 0) others.acquired++;
    others.accessed = d.ins.op.accesses.length > 0;
    others.releasedBefore[others.acquired] = others.released;
  }

  private noteOwn(address: number, bytes: number): void {
    const { own, released, acquired } = this.others!;
    this.others!.accessed = true;
    for (let word = Math.floor(address / 4); word <= Math.floor((address + bytes - 1) / 4); word++)
      own.set(word, { released, acquired });
  }

  /** The value that a load finds, given what other threads may have written since. */
  private asOthersLeftIt(
    d: Decoded,
    address: number,
    bytes: number,
    from: Location,
    strong: boolean,
  ): Location {
    const others = this.others!;
    others.accessed = true;
    const sem = semOf(d.ins);
    const always = strong && (this.changing || sem === 'VOLATILE' || sem === 'MMIO');
    if (others.acquired === 0 && !always) return from;
    let changed = false;
    const { view } = this.scratch;
    for (let word = Math.floor(address / 4); word <= Math.floor((address + bytes - 1) / 4); word++) {
      if (this.contents.pointers.has(word * 4 - ((word * 4) % 8))) continue;
      const value = this.byOthers(word, always);
      if (value === null) continue;
      if (!changed) for (let k = 0; k < bytes; k++) view.setUint8(k, from.view.getUint8(from.at + k));
      changed = true;
      for (let k = 0; k < 4; k++) {
        const at = word * 4 + k - address;
        if (at >= 0 && at < bytes) view.setUint8(at, (value >>> (8 * k)) & 0xff);
      }
    }
    return changed ? this.scratch : from;
  }

  /** Value that other threads have written to a word; null if none is visible to this thread. */
  private byOthers(word: number, always: boolean): number | null {
    const others = this.others!;
    const own = others.own.get(word);
    const value = (n: number): number => {
      const h = mix(mix(word | 0, n), this.contents.seed ^ 0x0751);
      const floats =
        this.contents.floats.has(pageOf(word * 4)) || holdsFloats(pageOf(word * 4), this.contents);
      return floats ? this.contents.float(h) : always ? (h >>> 5) % 3 : this.contents.integer(h, word & 1023);
    };
    if (always && own === undefined) {
      const n = others.reads.get(word) ?? 0;
      others.reads.set(word, n + 1);
      return n === 0 ? null : value(n + 1000);
    }
    for (let k = others.acquired; k > Math.max(0, others.acquired - 16); k--) {
      if ((mix(word | 0, k ^ 0x3331) & OFTEN) !== 0) continue;
      // Other threads do not write a word that this thread has written and not released since.
      if (own !== undefined && (own.acquired >= k || others.releasedBefore[k] <= own.released)) return null;
      return value(k);
    }
    return null;
  }

  // ------------------------------------------------------------------ promises

  /** True if a word was written that was also read as read-only memory. */
  get brokePromise(): boolean {
    for (const word of this.readOnly) if (this.written.has(word)) return true;
    return false;
  }

  // ------------------------------------------------------------------ races

  /** Address for race detection: shared memory is distinct for each block, above all global addresses. */
  private placeOf(w: Warp, address: number, space: 'global' | 'shared'): number {
    if (space === 'global') return address;
    return (
      SHARED_PLACES + w.block.index * 2 ** 26 + (address >= SHARED_WINDOW ? address - SHARED_WINDOW : address)
    );
  }

  /** What every write to memory that others see reports, atomic or not. */
  private noteWrite(
    w: Warp,
    d: Decoded,
    lane: number,
    address: number,
    bytes: number,
    space: 'global' | 'shared',
    at: Location | null = null,
  ): void {
    if (space === 'global') this.traced?.({ w, d, lane, address, bytes }, true);
    if (this.races !== null) {
      // The hash tells the number of bytes; the rest of the address is that of the word.
      const written = at === null ? Number.NaN : 4 * hashOf(dataAt(at, bytes)) + (address % 4);
      this.noteRace(w, d, lane, address, bytes, space, true, written);
    }
    if (space === 'global' && this.promises) note(this.written, address, bytes);
  }

  private noteRace(
    w: Warp,
    d: Decoded,
    lane: number,
    address: number,
    bytes: number,
    space: 'global' | 'shared',
    write: boolean,
    written = Number.NaN,
  ): void {
    const races = this.races!;
    const at = this.placeOf(w, address, space);
    const first = Math.floor(at / 4);
    if (d !== this.at) this.look(d);
    if (!this.strong) {
      races.access(w, lane, first, Math.floor((at + bytes - 1) / 4), write, written);
      return;
    }
    // Strong accesses do not race. They synchronise threads, whether by their own semantics or by fences around them.
    if (write) races.release(w, 1 << lane, first);
    if (!write || d.ins.op.primitive === 'atomic') races.acquire(w, 1 << lane, first);
  }

  private noteMeeting(w: Warp, d: Decoded, lanes: number): void {
    const races = this.races!;
    const { op } = d.ins;
    switch (op.primitive) {
      case 'warpsync':
        races.meet(w, lanes);
        return;
      case 'barrier':
      case 'fence':
      case 'load':
      case 'store':
      case 'atomic':
        return;
      default:
        // Cluster barriers, barrier objects and other ordering operations: all lanes that execute one of a kind synchronise with each
        // other.
        if ((op.flags & OpFlag.Barrier) === 0) return;
        races.release(w, lanes, op.primitive);
        races.acquire(w, lanes, op.primitive);
    }
  }
}

/** Maximum number of words recorded as read, or as written. */
const MOST_WORDS = 1 << 16;

/** Adds the words of an access. */
function note(words: Set<number>, address: number, bytes: number): void {
  if (words.size >= MOST_WORDS) return;
  for (let word = Math.floor(address / 4); word <= Math.floor((address + bytes - 1) / 4); word++)
    words.add(word);
}

function dataAt({ view, at }: Location, bytes: number): Uint8Array {
  const data = new Uint8Array(bytes);
  for (let k = 0; k < bytes; k++) data[k] = view.getUint8(at + k);
  return data;
}

function hashOf(bytes: Uint8Array): number {
  let h = bytes.length;
  for (let k = 0; k < bytes.length; k++) h = mix(h, bytes[k]);
  return h;
}
