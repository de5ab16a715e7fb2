import { lowest } from '../sim/masks.ts';
import type { Barrier, Warp } from '../sim/state.ts';

/*
 * Race detection: two unordered accesses of different threads to one word, at least one of them a write. It uses vector clocks (Flanagan
 * and Freund, FastTrack, PLDI 2009): each thread keeps, for every other thread, the latest time of that thread that it has learned of.
 */

/** The last accesses to a word. */
interface Cell {
  writer: number;
  writtenAt: number;
  /** What it wrote, as `access` has it. */
  written: number;
  /** The only thread that has read the word since, and the time of its last read; -1: none, or see `reads`. */
  reader: number;
  readAt: number;
  /** For each thread, the time of its last read; null if at most one thread has read. */
  reads: Map<number, number> | null;
}

/** What has been released at an address, or by operations of a kind. */
interface Place {
  /** Released time of each thread. As long as one thread alone has released, this is that thread's own clock object. */
  clock: Int32Array;
  /** The thread whose clock object it is, and its time at the release; -1 if the clock belongs to this place. */
  owner: number;
  at: number;
  /** Clock of the first releasing thread: another thread with the same clock object contributes only its own time. */
  base: Int32Array;
  /** True if threads have adopted the clock object, which must then be copied before a change. */
  adopted: boolean;
  /** Number of releases. */
  version: number;
  /** For each thread: the version that it last acquired, and its state at its last release. */
  readonly acquired: Map<number, number>;
  readonly released: Map<number, number>;
}

/** What the threads that have arrived at a barrier release. */
interface Gathered {
  /** The time of each of these threads, and what they have learned of others. */
  readonly clock: Int32Array;
  /** The clock object that was joined last: threads that left the last barrier together have the same one. */
  last: Int32Array;
  /** The lanes of each warp that have arrived. */
  readonly lanes: Map<Warp, number>;
}

/** Clock entries that one run may process; after that the analysis is partial. */
const MOST_WORK = 30_000_000;

/** Words of a page, the unit of lookup. */
const PAGE = 64;

/** Race detector for one run. */
export class Races {
  private readonly threads: number;
  private readonly perBlock: number;
  /** For each thread, its vector clock. A thread's entry for itself lags behind `own`. */
  private readonly clocks: Int32Array[];
  private readonly own: Int32Array;
  /** For each thread: whether its clock object is shared with a place or other threads and must be copied before a change. */
  private readonly shared: Uint8Array;
  private readonly blocks = new Map<number, number>();
  /** Accessed words, by page number. */
  private readonly pages = new Map<number, (Cell | undefined)[]>();
  private lastPage = Number.NaN;
  private lastCells: (Cell | undefined)[] = [];
  /** The block of the last access, and the number of its first thread. */
  private lastBlock = -1;
  private firstThread = 0;
  /** Released state of each address and kind of operation. */
  private readonly places = new Map<unknown, Place>();
  private readonly gathered = new Map<Barrier, Gathered>();
  /** For each thread, a number that changes with every access and every acquire that brings something new. */
  private readonly states: Int32Array;
  private work = 0;
  /** Words with a race, with a description of it; at most 4096. */
  readonly words = new Map<number, string>();
  /** The subset of `words` with a race between threads of different warps. */
  readonly ofWarps = new Set<number>();
  /** Words with a race between threads of one warp whose order matters: not all write the same. */
  readonly ofLanes = new Set<number>();

  /** @param blocks number of blocks that run @param perBlock threads of each block */
  constructor(blocks: number, perBlock: number) {
    this.perBlock = perBlock;
    this.threads = blocks * perBlock;
    this.clocks = Array<Int32Array>(this.threads).fill(new Int32Array(this.threads));
    this.own = new Int32Array(this.threads).fill(1);
    this.shared = new Uint8Array(this.threads).fill(1);
    this.states = new Int32Array(this.threads).fill(1);
  }

  /** True if the analysis stopped before the end because it became too expensive. */
  get isPartial(): boolean {
    return this.work > MOST_WORK;
  }

  private threadOf(w: Warp, lane: number): number {
    const { index } = w.block;
    if (index !== this.lastBlock) {
      let slot = this.blocks.get(index);
      if (slot === undefined) this.blocks.set(index, (slot = this.blocks.size));
      this.lastBlock = index;
      this.firstThread = slot * this.perBlock;
    }
    return this.firstThread + w.index * 32 + lane;
  }

  /**
   * A thread accesses the words `first` to `last` weakly.
   * @param written a number that is the same for writes of the same value to the same place; NaN if that is not known
   */
  access(w: Warp, lane: number, first: number, last: number, write: boolean, written = Number.NaN): void {
    if (this.isPartial) return;
    const t = this.threadOf(w, lane);
    const mine = this.clocks[t];
    this.states[t]++;
    for (let word = first; word <= last; word++) {
      const c = this.cellOf(word);
      if (c.writer >= 0 && c.writer !== t && c.writtenAt > mine[c.writer])
        this.found(
          word,
          write ? 'two threads write' : 'one thread writes and another reads',
          t,
          c.writer,
          write && written === c.written,
        );
      if (!write) this.noteRead(c, t);
      else {
        if (c.reads !== null) for (const [r, at] of c.reads) this.writeAfterRead(word, t, r, at);
        else if (c.reader >= 0) this.writeAfterRead(word, t, c.reader, c.readAt);
        c.reads = null;
        c.reader = -1;
        c.writer = t;
        c.writtenAt = this.own[t];
        c.written = written;
      }
    }
  }

  private cellOf(word: number): Cell {
    const page = Math.floor(word / PAGE);
    if (page !== this.lastPage) {
      let cells = this.pages.get(page);
      if (cells === undefined) this.pages.set(page, (cells = Array<undefined>(PAGE).fill(undefined)));
      this.lastPage = page;
      this.lastCells = cells;
    }
    const at = word - page * PAGE;
    return (this.lastCells[at] ??= {
      writer: -1,
      writtenAt: 0,
      written: Number.NaN,
      reader: -1,
      readAt: 0,
      reads: null,
    });
  }

  private noteRead(c: Cell, t: number): void {
    if (c.reads !== null) c.reads.set(t, this.own[t]);
    else if (c.reader < 0 || c.reader === t) {
      c.reader = t;
      c.readAt = this.own[t];
    } else
      c.reads = new Map([
        [c.reader, c.readAt],
        [t, this.own[t]],
      ]);
  }

  private writeAfterRead(word: number, t: number, r: number, at: number): void {
    if (r !== t && at > this.clocks[t][r]) this.found(word, 'one thread writes and another reads', t, r);
  }

  /** @param isSame whether both write the same */
  private found(word: number, how: string, t: number, other: number, isSame = false): void {
    if (this.words.size >= 4096) return;
    if (!this.words.has(word)) this.words.set(word, how);
    if (t >> 5 !== other >> 5) this.ofWarps.add(word);
    else if (!isSame) this.ofLanes.add(word);
  }

  /** Lanes release: everything they have done so far is ordered before later acquires at `where`. */
  release(w: Warp, lanes: number, where: unknown): void {
    let place = this.places.get(where);
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      // Spinning threads release the same state again and again.
      if (place?.released.get(t) === this.states[t] || this.isPartial) continue;
      const clock = this.clocks[t];
      if (place === undefined) {
        place = {
          clock,
          owner: t,
          at: 0,
          base: clock,
          adopted: false,
          version: 0,
          acquired: new Map(),
          released: new Map(),
        };
        this.places.set(where, place);
      }
      if (place.owner === t && place.clock === clock) {
        place.at = this.own[t];
        this.shared[t] = 1;
      } else {
        this.makeOwn(place);
        if (clock !== place.base) {
          this.work += this.threads;
          join(place.clock, clock);
        }
        place.clock[t] = Math.max(place.clock[t], this.own[t]);
      }
      place.released.set(t, this.states[t]);
      place.version++;
      this.own[t]++;
    }
  }

  /** Gives a place a clock object of its own, which may be changed. */
  private makeOwn(place: Place): void {
    if (place.owner < 0 && !place.adopted) return;
    this.work += this.threads;
    place.clock = place.clock.slice();
    if (place.owner >= 0) place.clock[place.owner] = place.at;
    place.owner = -1;
    place.adopted = false;
  }

  /** Lanes acquire what has been released at `where`. */
  acquire(w: Warp, lanes: number, where: unknown): void {
    const place = this.places.get(where);
    if (place === undefined) return;
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      if (place.acquired.get(t) === place.version || this.isPartial) continue;
      place.acquired.set(t, place.version);
      if (this.acquireClock(t, place)) this.states[t]++;
    }
  }

  /** A thread acquires the state of a place. @returns whether it brought anything new */
  private acquireClock(t: number, place: Place): boolean {
    const { clock, owner, at } = place;
    const mine = this.clocks[t];
    const later = owner >= 0 && owner !== t && at > mine[owner];
    if (clock === mine && !later) return false;
    this.work += this.threads;
    let more = later;
    for (let k = 0; k < clock.length && !more; k++) more = clock[k] > mine[k] && k !== t;
    if (!more) return false;
    // A place that has received all that the thread knows has exactly the resulting clock.
    if (owner < 0 && place.released.get(t) === this.states[t]) {
      this.clocks[t] = clock;
      this.shared[t] = 1;
      place.adopted = true;
      return true;
    }
    const to = this.shared[t] === 1 ? mine.slice() : mine;
    join(to, clock);
    if (later) to[owner] = at;
    this.clocks[t] = to;
    this.shared[t] = 0;
    return true;
  }

  /** Lanes arrive at a barrier. */
  arrive(w: Warp, lanes: number, bar: Barrier): void {
    if (this.isPartial) return;
    let g = this.gathered.get(bar);
    if (g === undefined) {
      const last = this.clocks[this.threadOf(w, lowest(lanes))];
      this.work += this.threads;
      this.gathered.set(bar, (g = { clock: last.slice(), last, lanes: new Map() }));
    }
    this.gather(g, w, lanes);
    g.lanes.set(w, (g.lanes.get(w) ?? 0) | lanes);
  }

  private gather(g: Gathered, w: Warp, lanes: number): void {
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      const clock = this.clocks[t];
      if (clock !== g.last) {
        this.work += this.threads;
        join(g.clock, clock);
        g.last = clock;
      }
      // Clocks are told apart by their arrays: a thread that learns more after it has arrived gets another one.
      this.shared[t] = 1;
      g.clock[t] = this.own[t]++;
    }
  }

  /** A barrier opens: the waiting lanes acquire from all that have arrived. */
  open(bar: Barrier): void {
    const g = this.gathered.get(bar);
    if (g === undefined) return;
    this.gathered.delete(bar);
    for (const { warp, path } of bar.waiting)
      this.adopt(g.clock, warp, path.mask & ~warp.exited & (g.lanes.get(warp) ?? 0));
  }

  /** Lanes learn what a clock holds, which includes all that they know. */
  private adopt(clock: Int32Array, w: Warp, lanes: number): void {
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      this.clocks[t] = clock;
      this.shared[t] = 1;
      this.states[t]++;
    }
  }

  /** Lanes of a warp synchronise with each other. */
  meet(w: Warp, lanes: number): void {
    if (this.isPartial || (lanes & (lanes - 1)) === 0) return;
    const last = this.clocks[this.threadOf(w, lowest(lanes))];
    this.work += this.threads;
    const g: Gathered = { clock: last.slice(), last, lanes: new Map() };
    this.gather(g, w, lanes);
    this.adopt(g.clock, w, lanes);
  }
}

/** Joins a clock into another: the maximum of each entry. */
function join(to: Int32Array, from: Int32Array): void {
  for (let k = 0; k < to.length; k++) if (from[k] > to[k]) to[k] = from[k];
}
