import { lowest } from '../sim/masks.ts';
import type { Barrier, Warp } from '../sim/state.ts';

/*
 * Accesses of two threads to one word, of which one writes and that nothing orders, found by vector clocks (Flanagan and Freund,
 * FastTrack, PLDI 2009): a thread knows of each other one how far it had come when it last heard of it.
 */

/** Who has accessed a word last. */
interface Cell {
  writer: number;
  writtenAt: number;
  /** The only thread that has read since, and when it read last; -1: none, or `reads` says. */
  reader: number;
  readAt: number;
  /** By thread: when it read last. */
  reads: Map<number, number> | null;
}

/** What has been made known at a barrier or place. */
interface Known {
  /** By thread: how far it is known to have come. While one thread alone has told, it is that thread's own. */
  clock: Int32Array;
  /** The thread whose clock it is, and how far it had come; -1 if it is the place's own. */
  owner: number;
  at: number;
  /** The clock of the thread that told first: others that have the same one bring nothing but how far they have come. */
  base: Int32Array;
  /** Whether threads have taken the clock for theirs, so that it is copied before it changes. */
  taken: boolean;
  /** How often something was added. */
  version: number;
  /** By thread: the version that it has heard, and its own state when it last told. */
  readonly heard: Map<number, number>;
  readonly told: Map<number, number>;
}

/** Entries of clocks that are looked at in one run: what comes later counts as unknown. */
const MOST_WORK = 30_000_000;

/** Words of a page, which are found together. */
const PAGE = 64;

export class Races {
  private readonly threads: number;
  private readonly perBlock: number;
  /** By thread: how far it knows each other one to have come. Its entry for itself lags behind `own`. */
  private readonly clocks: Int32Array[];
  private readonly own: Int32Array;
  /** By thread: whether a place or other threads have the same clock, so that it is copied before it changes. */
  private readonly shared: Uint8Array;
  private readonly blocks = new Map<number, number>();
  /** By number of a page: its words that have been accessed. */
  private readonly pages = new Map<number, (Cell | undefined)[]>();
  private lastPage = Number.NaN;
  private lastCells: (Cell | undefined)[] = [];
  /** What waits at each barrier or place knows. */
  private readonly known = new Map<unknown, Known>();
  /** By thread: a number that changes when it accesses something, or hears something new. */
  private readonly states: Int32Array;
  private work = 0;
  /** Words with a race, and one that says who. */
  readonly words = new Map<number, string>();
  /** Those of them for which threads of different warps race. */
  readonly ofWarps = new Set<number>();

  /** @param blocks blocks that run, of so many threads each */
  constructor(blocks: number, perBlock: number) {
    this.perBlock = perBlock;
    this.threads = blocks * perBlock;
    this.clocks = Array.from({ length: this.threads }, () => new Int32Array(this.threads));
    this.own = new Int32Array(this.threads).fill(1);
    this.shared = new Uint8Array(this.threads);
    this.states = new Int32Array(this.threads).fill(1);
  }

  /** Whether so much happened that the rest was not looked at. */
  get isPartial(): boolean {
    return this.work > MOST_WORK;
  }

  private threadOf(w: Warp, lane: number): number {
    let slot = this.blocks.get(w.block.index);
    if (slot === undefined) this.blocks.set(w.block.index, (slot = this.blocks.size));
    return slot * this.perBlock + w.index * 32 + lane;
  }

  /** A thread reads or writes words, first to last, weakly. */
  access(w: Warp, lane: number, first: number, last: number, write: boolean): void {
    if (this.isPartial) return;
    const t = this.threadOf(w, lane);
    const mine = this.clocks[t];
    this.states[t]++;
    for (let word = first; word <= last; word++) {
      const c = this.cellOf(word);
      if (c.writer >= 0 && c.writer !== t && c.writtenAt > mine[c.writer])
        this.found(word, write ? 'two threads write' : 'one thread writes and another reads', t, c.writer);
      if (!write) this.noteRead(c, t);
      else {
        if (c.reads !== null) for (const [r, at] of c.reads) this.writeAfterRead(word, t, r, at);
        else if (c.reader >= 0) this.writeAfterRead(word, t, c.reader, c.readAt);
        c.reads = null;
        c.reader = -1;
        c.writer = t;
        c.writtenAt = this.own[t];
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
    return (this.lastCells[at] ??= { writer: -1, writtenAt: 0, reader: -1, readAt: 0, reads: null });
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

  private found(word: number, how: string, t: number, other: number): void {
    if (this.words.size >= 4096) return;
    if (!this.words.has(word)) this.words.set(word, how);
    if (t >> 5 !== other >> 5) this.ofWarps.add(word);
  }

  /** Lanes make known at a place, or to those who will hear there, what they have done so far. */
  release(w: Warp, lanes: number, where: unknown): void {
    let known = this.known.get(where);
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      // Threads that spin tell the same again and again.
      if (known?.told.get(t) === this.states[t] || this.isPartial) continue;
      const clock = this.clocks[t];
      if (known === undefined) {
        known = {
          clock,
          owner: t,
          at: 0,
          base: clock,
          taken: false,
          version: 0,
          heard: new Map(),
          told: new Map(),
        };
        this.known.set(where, known);
      }
      if (known.owner === t && known.clock === clock) {
        known.at = this.own[t];
        this.shared[t] = 1;
      } else {
        this.makeOwn(known);
        if (clock !== known.base) {
          this.work += this.threads;
          join(known.clock, clock);
        }
        known.clock[t] = Math.max(known.clock[t], this.own[t]);
      }
      known.told.set(t, this.states[t]);
      known.version++;
      this.own[t]++;
    }
  }

  /** Gives a place a clock of its own, which may change. */
  private makeOwn(known: Known): void {
    if (known.owner < 0 && !known.taken) return;
    this.work += this.threads;
    known.clock = known.clock.slice();
    if (known.owner >= 0) known.clock[known.owner] = known.at;
    known.owner = -1;
    known.taken = false;
  }

  /** Lanes hear what has been made known at a place. */
  acquire(w: Warp, lanes: number, where: unknown): void {
    const known = this.known.get(where);
    if (known === undefined) return;
    for (let r = lanes; r !== 0; r &= r - 1) {
      const t = this.threadOf(w, lowest(r));
      if (known.heard.get(t) === known.version || this.isPartial) continue;
      known.heard.set(t, known.version);
      if (this.hears(t, known)) this.states[t]++;
    }
  }

  /** A thread hears what a place knows. @returns whether it was new */
  private hears(t: number, known: Known): boolean {
    const { clock, owner, at } = known;
    const mine = this.clocks[t];
    const later = owner >= 0 && owner !== t && at > mine[owner];
    if (clock === mine && !later) return false;
    this.work += this.threads;
    let more = later;
    for (let k = 0; k < clock.length && !more; k++) more = clock[k] > mine[k] && k !== t;
    if (!more) return false;
    // A place that has been told all that the thread knows has the clock that it gets.
    if (owner < 0 && known.told.get(t) === this.states[t]) {
      this.clocks[t] = clock;
      this.shared[t] = 1;
      known.taken = true;
      return true;
    }
    const to = this.shared[t] === 1 ? mine.slice() : mine;
    join(to, clock);
    if (later) to[owner] = at;
    this.clocks[t] = to;
    this.shared[t] = 0;
    return true;
  }

  /** A barrier opens: who waits there hears of all who have arrived. */
  open(bar: Barrier): void {
    for (const { warp, path } of bar.waiting) this.acquire(warp, path.mask & ~warp.exited, bar);
    this.known.delete(bar);
  }

  /** Lanes of a warp wait for each other. */
  meet(w: Warp, lanes: number): void {
    const here = {};
    this.release(w, lanes, here);
    this.acquire(w, lanes, here);
    this.known.delete(here);
  }
}

/** Adds what one clock knows to another. */
function join(to: Int32Array, from: Int32Array): void {
  for (let k = 0; k < to.length; k++) if (from[k] > to[k]) to[k] = from[k];
}
