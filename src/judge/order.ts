import { isReadOnlyLoad } from '../analysis/memory/memory-ops.ts';
import type { Instr } from '../ir/program.ts';
import { type Item, type OrderLog, SHARED_PLACES, WARP } from './accesses.ts';

/** A violation of memory order: a description, and the instruction of the second program that shows it. */
export interface Disorder {
  readonly text: string;
  readonly ins: Instr | null;
}

/** Which of the two runs are complete: what follows the end of one that was cut off is unknown. */
export interface Ends {
  readonly before: boolean;
  readonly after: boolean;
}

const hex = (a: number): string => `0x${a.toString(16)}`;
const placeOf = (x: Item): string =>
  x.bytes === 0 ? x.words.toLowerCase() : `${x.bytes} bytes at ${hex(x.at)}`;

/** Prefix sums of fences by scope, to query the fences between two items. */
class Fences {
  private readonly counts: Int32Array[];
  readonly any: boolean;
  constructor(items: readonly Item[], counts: (x: Item) => boolean) {
    this.any = items.some((x) => x.what === 'fence' && counts(x));
    if (!this.any) {
      this.counts = [];
      return;
    }
    this.counts = [0, 1, 2, 3, 4].map((scope) => {
      const sums = new Int32Array(items.length + 1);
      items.forEach((x, k) => {
        sums[k + 1] = sums[k] + (x.what === 'fence' && counts(x) && x.scope >= scope ? 1 : 0);
      });
      return sums;
    });
  }
  /** Widest scope of a fence between items `i` and `k`; -1 if there is none. */
  between(i: number, k: number): number {
    if (!this.any || this.counts[0][k] - this.counts[0][i + 1] === 0) return -1;
    for (let scope = 4; scope >= 0; scope--)
      if (this.counts[scope][k] - this.counts[scope][i + 1] > 0) return scope;
    return -1;
  }
}

/** The order of one thread's operations that PTX guarantees to other threads (PTX ISA 9.0, 8.7 to 8.10). */
class Order {
  readonly items: readonly Item[];
  private readonly releasing: Fences;
  private readonly acquiring: Fences;
  private readonly total: Fences;

  constructor(items: readonly Item[]) {
    this.items = items;
    // A proxy fence orders nothing else.
    this.releasing = new Fences(items, (x) => x.releases && x.words === 'NONE');
    this.acquiring = new Fences(items, (x) => x.acquires && x.words === 'NONE');
    this.total = new Fences(items, (x) => x.total);
  }

  /** Widest scope in which a thread that observes the strong item `k` also observes `i`; -1 if there is none. */
  doneBefore(i: number, k: number): number {
    const { releases, scope } = this.items[k];
    return Math.max(releases ? scope : -1, this.releasing.between(i, k));
  }

  /** True if `doneBefore` is -1 for a strong item and every other one. */
  releasesNothing(k: number): boolean {
    return !this.items[k].releases && !this.releasing.any;
  }

  /** Widest scope in which `k` observes everything that happened before what the strong item `i` observed; -1 if there is none. */
  foundAfter(i: number, k: number): number {
    const { acquires, scope } = this.items[i];
    return Math.max(acquires ? scope : -1, this.acquiring.between(i, k));
  }

  /** True if `foundAfter` is -1 for a strong item and every other one. */
  acquiresNothing(k: number): boolean {
    return !this.items[k].acquires && !this.acquiring.any;
  }

  /** True if `agreed` is -1 for all items. */
  get agreesOnNothing(): boolean {
    return !this.total.any;
  }

  /** Widest scope in which all threads agree on the order of two strong accesses; -1 if there is none. */
  agreed(i: number, k: number): number {
    return this.total.between(i, k);
  }
}

const mayWrite = (x: Item): boolean =>
  x.what === 'store' || x.what === 'atomic' || x.what === 'barrier' || x.what === 'wait';
const mayRead = (x: Item): boolean =>
  x.what === 'load' || x.what === 'atomic' || x.what === 'barrier' || x.what === 'wait';

/**
 * Finds what the second of two runs of one thread allows other threads to observe and the first does not: a strong access that is missing,
 * new, of another size or of narrower scope; a store that is not yet done when others learn of it; a load that may return older values than
 * the thread has already observed; a weak access to a word that had only strong accesses.
 *
 * An access may move down past an acquire and up past a release. A relaxed load may be removed or merged with an adjacent one; a relaxed
 * store may be removed if another overwrites it at once. A stronger order than before is no difference.
 *
 * @param wide whether the kernel orders accesses for other blocks; otherwise block barriers are ignored, because multi-thread worlds check
 * them
 * @param describe text of an item for messages
 */
export function disorder(
  a: OrderLog,
  b: OrderLog,
  ends: Ends,
  wide: boolean,
  describe: (x: Item) => string,
): Disorder | null {
  const complete = { before: ends.before && !a.isFull, after: ends.after && !b.isFull };
  const kept = ({ items }: OrderLog): readonly Item[] =>
    wide ? orderingBarriers(items) : items.filter((x) => x.what !== 'barrier');
  return new Comparison(kept(a), kept(b), complete, describe).run();
}

/**
 * Items without barriers that order nothing more: repeats of the one before, and meetings of a warp beside a barrier of the block. Two
 * barriers with nothing between them but what no barrier orders are beside each other.
 */
function orderingBarriers(items: readonly Item[]): readonly Item[] {
  const out: Item[] = [];
  for (const x of items) {
    const last = out.findLastIndex((y) => !isUnordered(y));
    if (last >= 0 && covers(out[last], x)) continue;
    for (let k = last; k >= 0 && (isUnordered(out[k]) || covers(x, out[k])); k--)
      if (!isUnordered(out[k])) out.splice(k, 1);
    out.push(x);
  }
  return out;
}

/** Is an item a load of memory that nothing writes while the kernel runs? */
const isUnordered = (x: Item): boolean => x.what === 'load' && !x.strong && isReadOnlyLoad(x.ins);

/** Does a barrier order all that an adjacent one does? Whom it meets is for worlds of several threads. */
const covers = (x: Item, y: Item): boolean =>
  x.what === 'barrier' &&
  y.what === 'barrier' &&
  ((x.words === y.words &&
    x.value === y.value &&
    x.acquires === y.acquires &&
    x.releases === y.releases &&
    x.scope >= y.scope) ||
    (x.acquires && x.releases && x.scope > 0 && y.words === WARP));

class Comparison {
  private readonly a: Order;
  private readonly b: Order;
  private readonly ends: Ends;
  private readonly describe: (x: Item) => string;
  /** For each strong item of the first run: index of its counterpart in the second, or -1; and vice versa. */
  private readonly inB: Int32Array;
  private readonly inA: Int32Array;

  constructor(a: readonly Item[], b: readonly Item[], ends: Ends, describe: (x: Item) => string) {
    this.a = new Order(a);
    this.b = new Order(b);
    this.ends = ends;
    this.describe = describe;
    this.inB = new Int32Array(a.length).fill(-1);
    this.inA = new Int32Array(b.length).fill(-1);
  }

  run(): Disorder | null {
    return (
      this.fixedOnes() ??
      this.match() ??
      this.stores() ??
      this.loads() ??
      this.proxies() ??
      (this.ends.before ? this.weaker() : null)
    );
  }

  /** Compares volatile accesses and clock reads one by one. */
  private fixedOnes(): Disorder | null {
    const [x, y] = [this.a.items.filter((i) => i.fixed), this.b.items.filter((i) => i.fixed)];
    for (let k = 0; k < Math.max(x.length, y.length); k++) {
      const [s, t] = [x[k], y[k]];
      if (s === undefined)
        return this.ends.before ? { text: `${this.describe(t)} is new`, ins: t.ins } : null;
      if (t === undefined)
        return this.ends.after ? { text: `${this.describe(s)} is missing`, ins: s.ins } : null;
      if (
        s.what !== t.what ||
        s.at !== t.at ||
        s.bytes !== t.bytes ||
        s.value !== t.value ||
        s.words !== t.words
      )
        return { text: `${this.describe(s)} became ${this.describe(t)}`, ins: t.ins };
    }
    return null;
  }

  /** Pairs strong accesses of the same address, size and value, in order, and checks the unpaired ones. */
  private match(): Disorder | null {
    const keyOf = (x: Item): string => `${x.what} ${x.words} ${x.at} ${x.bytes} ${x.value}`;
    const waiting = new Map<string, number[]>();
    this.b.items.forEach((y, k) => {
      if (!y.strong || y.what === 'fence' || y.what === 'clock') return;
      const list = waiting.get(keyOf(y));
      if (list === undefined) waiting.set(keyOf(y), [k]);
      else list.push(k);
    });
    for (const [i, x] of this.a.items.entries()) {
      if (!x.strong || x.what === 'fence' || x.what === 'clock') continue;
      const k = waiting.get(keyOf(x))?.shift();
      if (k !== undefined) {
        this.inB[i] = k;
        this.inA[k] = i;
        // Only the block itself sees its shared memory, so a narrower scope suffices there.
        if (this.b.items[k].scope < x.scope && x.bytes > 0 && x.at < SHARED_PLACES)
          return {
            text: `${this.describe(x)} became ${this.describe(this.b.items[k])}`,
            ins: this.b.items[k].ins,
          };
        continue;
      }
      if (!this.ends.after || this.mayBeMissing(i)) continue;
      return { text: `${this.describe(x)} (${placeOf(x)}) is missing`, ins: x.ins };
    }
    if (!this.ends.before) return null;
    for (const list of waiting.values())
      for (const k of list) {
        const y = this.b.items[k];
        if (y.what === 'atomic' && !y.fixed && this.a.items.some((x) => x.what === 'atomic' && meets(x, y)))
          continue;
        return { text: `${this.describe(y)} (${placeOf(y)}) is new`, ins: y.ins };
      }
    return null;
  }

  /** True if a strong item of the first run may lack a counterpart. */
  private mayBeMissing(i: number): boolean {
    const { items } = this.a;
    const x = items[i];
    // Relaxed atomic operations may be merged or replaced; the final memory decides.
    if (x.what === 'atomic' && !x.acquires && !x.releases)
      return this.b.items.some((y) => y.strong && meets(x, y));
    if (x.fixed || x.acquires || x.releases) return false;
    if (x.what === 'load') {
      // If the second run loads an overlapping range instead, the load was not removed but changed.
      return !this.b.items.some((y, k) => y.what === 'load' && y.strong && this.inA[k] < 0 && meets(x, y));
    }
    if (x.what !== 'store') return false;
    for (let k = i + 1; k < items.length; k++) {
      const y = items[k];
      if (!y.strong) continue;
      if (y.what === 'store' && y.at <= x.at && y.at + y.bytes >= x.at + x.bytes) return true;
      if (y.what !== 'load' || meets(x, y)) return false;
    }
    return false;
  }

  /** Checks what other threads may rely on once they observe a strong write. */
  private stores(): Disorder | null {
    const { a, b } = this;
    // For each byte: the last item that wrote it.
    const [left, right] = [new Map<number, number>(), new Map<number, number>()];
    const note = (to: Map<number, number>, x: Item, at: number): void => {
      if (x.data !== null) for (let n = 0; n < x.bytes; n++) to.set(x.at + n, at);
    };
    const valueAt = (items: readonly Item[], at: number, byte: number): number =>
      items[at].data![byte - items[at].at];
    let done = 0;
    for (const [i, x] of a.items.entries()) {
      const k = this.inB[i];
      if (x.strong && mayWrite(x) && k >= 0 && !a.releasesNothing(i)) {
        // The stores that the second run has done by then; counterparts need not come in the same order.
        if (k < done) {
          right.clear();
          done = 0;
        }
        for (; done < k; done++) note(right, b.items[done], done);
        for (const [byte, from] of left) {
          const how = a.doneBefore(from, i);
          if (how < 0) continue;
          const to = right.get(byte);
          const isThere = to !== undefined && valueAt(b.items, to, byte) === valueAt(a.items, from, byte);
          if (!isThere)
            return {
              text: `the store to ${hex(byte)} before ${this.describe(x)} is not done yet`,
              ins: b.items[k].ins,
            };
          if (b.doneBefore(to, k) < how)
            return {
              text: `a thread that observes ${this.describe(x)} need not see the earlier store to ${hex(byte)}`,
              ins: b.items[k].ins,
            };
        }
      }
      note(left, x, i);
    }
    return this.early();
  }

  /** Finds stores that may become visible before the strong reads that they must follow. */
  private early(): Disorder | null {
    const { a, b } = this;
    const reads = [...a.items.keys()].filter(
      (i) => a.items[i].strong && mayRead(a.items[i]) && this.inB[i] >= 0 && !a.acquiresNothing(i),
    );
    if (reads.length === 0) return null;
    const mine = new Map<string, number[]>();
    a.items.forEach((x, i) => {
      if (x.data === null) return;
      for (let n = 0; n < x.bytes; n++) push(mine, `${x.at + n} ${x.data[n]}`, i);
    });
    for (const [k, y] of b.items.entries()) {
      if (y.data === null) continue;
      for (let n = 0; n < y.bytes; n++) {
        const from = mine.get(`${y.at + n} ${y.data[n]}`);
        if (from === undefined) continue;
        const late = (i: number): number | undefined =>
          reads.find((q) => {
            if (q >= i) return false;
            const how = a.foundAfter(q, i);
            return how >= 0 && (this.inB[q] > k || b.foundAfter(this.inB[q], k) < how);
          });
        if (from.some((i) => late(i) === undefined)) continue;
        const q = late(from[0])!;
        return {
          text: `the store to ${hex(y.at + n)} after ${this.describe(a.items[q])} may become visible before it`,
          ins: y.ins,
        };
      }
    }
    return null;
  }

  /** Finds loads that may return older values than before, or newer ones than a release allows. */
  private loads(): Disorder | null {
    const { a, b } = this;
    const keysOf = (x: Item): string[] => {
      if (x.strong) return [`${x.at} ${x.bytes}`];
      const out: string[] = [];
      for (let word = Math.floor(x.at / 4); word * 4 < x.at + x.bytes; word++) out.push(`${word}`);
      return out;
    };
    const strong = [...a.items.keys()].filter(
      (i) =>
        a.items[i].strong &&
        this.inB[i] >= 0 &&
        a.items[i].what !== 'barrier' &&
        !(a.acquiresNothing(i) && a.releasesNothing(i) && a.agreesOnNothing),
    );
    if (strong.length === 0) return null;
    const mine = new Map<string, number[]>();
    a.items.forEach((x, i) => {
      if (x.what === 'load') for (const key of keysOf(x)) push(mine, key, i);
    });
    for (const [k, y] of b.items.entries()) {
      if (y.what !== 'load') continue;
      for (const key of keysOf(y)) {
        const from = mine.get(key);
        if (from === undefined) continue;
        const passed = (i: number): Disorder | null => {
          for (const s of strong) {
            if (s === i) continue;
            const [x, to] = [a.items[s], this.inB[s]];
            if (to === k) continue;
            if (s < i && mayRead(x)) {
              const how = a.foundAfter(s, i);
              if (how >= 0 && (to > k || b.foundAfter(to, k) < how))
                return {
                  text: `a load of ${placeOf(y)} after ${this.describe(x)} may return an older value`,
                  ins: y.ins,
                };
            }
            if (s > i && mayWrite(x)) {
              const how = a.doneBefore(i, s);
              if (how >= 0 && (to < k || b.doneBefore(k, to) < how))
                return {
                  text: `a load of ${placeOf(y)} before ${this.describe(x)} may return a newer value`,
                  ins: y.ins,
                };
            }
            if (y.strong) {
              const how = s < i ? a.agreed(s, i) : a.agreed(i, s);
              if (how >= 0 && (s < i ? to > k || b.agreed(to, k) < how : to < k || b.agreed(k, to) < how))
                return {
                  text: `threads need not agree on the order of ${this.describe(x)} and a load of ${placeOf(y)}`,
                  ins: y.ins,
                };
            }
          }
          return null;
        };
        const found = from.map(passed);
        if (found.every((d) => d !== null)) return found[0];
      }
    }
    return null;
  }

  /** Compares the number of proxy fences and other special fences of each kind. */
  private proxies(): Disorder | null {
    if (!this.ends.after) return null;
    const count = (items: readonly Item[]): Map<string, number> => {
      const out = new Map<string, number>();
      items.forEach((x, k) => {
        const before = items[k - 1];
        const repeated = before !== undefined && before.what === 'fence' && before.words === x.words;
        if (x.what === 'fence' && x.words !== 'NONE' && !repeated)
          out.set(x.words, (out.get(x.words) ?? 0) + 1);
      });
      return out;
    };
    const [x, y] = [count(this.a.items), count(this.b.items)];
    for (const [words, n] of x)
      if ((y.get(words) ?? 0) < n) {
        const gone = this.a.items.find((i) => i.what === 'fence' && i.words === words)!;
        return { text: `${this.describe(gone)} is missing`, ins: gone.ins };
      }
    return null;
  }

  /** Finds a word that is now accessed weakly and was only accessed strongly. */
  private weaker(): Disorder | null {
    const [x, y] = [touchesOf(this.a.items), touchesOf(this.b.items)];
    for (const [word, t] of y) {
      const s = x.get(word);
      if (s === undefined) continue;
      const at = hex(word * 4);
      if (t.weakWrite && !s.weakWrite && s.strongWrite)
        return { text: `${at} is written by a weak store, before only by strong operations`, ins: null };
      if (t.weakRead && !s.weakRead && s.strongRead)
        return { text: `${at} is read by a weak load, before only by strong ones`, ins: null };
    }
    return null;
  }
}

const meets = (x: Item, y: Item): boolean => x.at < y.at + y.bytes && y.at < x.at + x.bytes;

function push<K>(to: Map<K, number[]>, key: K, value: number): void {
  const list = to.get(key);
  if (list === undefined) to.set(key, [value]);
  else list.push(value);
}

interface Touch {
  weakRead: boolean;
  weakWrite: boolean;
  strongRead: boolean;
  strongWrite: boolean;
}

/** Kinds of accesses to each word of memory. */
function touchesOf(items: readonly Item[]): Map<number, Touch> {
  const out = new Map<number, Touch>();
  for (const x of items)
    for (let word = Math.floor(x.at / 4); x.bytes > 0 && word * 4 < x.at + x.bytes; word++) {
      let t = out.get(word);
      if (t === undefined)
        out.set(word, (t = { weakRead: false, weakWrite: false, strongRead: false, strongWrite: false }));
      if (x.what === 'load' || x.what === 'atomic') t[x.strong ? 'strongRead' : 'weakRead'] = true;
      if (x.what === 'store' || x.what === 'atomic') t[x.strong ? 'strongWrite' : 'weakWrite'] = true;
    }
  return out;
}
