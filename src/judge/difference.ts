import type { Instr } from '../ir/program.ts';
import { halfToNumber } from '../isa/floats.ts';
import { LINE, type OpenMemory, PIECE, type Piece } from '../sim/open-memory.ts';
import { LOG, NARROW } from '../sim/primitives/log.ts';
import type { Run } from './run.ts';

/** A way in which two runs differ. */
export interface Difference {
  /** Kind of the difference, independent of world, addresses and values. */
  readonly kind: string;
  readonly text: string;
  /** Address of the differing byte, if memory differs. */
  readonly address?: number;
  /** Instruction of the second program that shows the difference, if there is one. */
  readonly ins?: Instr | null;
  /** True if a run with a larger budget cannot resolve it. */
  readonly certain?: boolean;
}

/** Slowdown factor beyond which an optimized program counts as not terminating. A speed-up may be arbitrarily large. */
const SLOWER = 8;

/**
 * Compares what two runs with the same budget wrote, and how their threads ended.
 *
 * @param others more runs of the first program, with other values for what PTX leaves undefined; bytes that differ in one are ignored
 */
export function differencesOf(a: Run, b: Run, budget: number, others: readonly Run[] = []): Difference[] {
  const found: Difference[] = [];
  const say = (kind: string, text: string) => void found.push({ kind, text });
  const unfinished = a.status === 'budget' || b.status === 'budget';
  if (a.status === 'done' && b.status === 'budget' && budget > SLOWER * a.executed)
    return [
      {
        kind: 'does not end',
        text: `ends in ${a.executed} warp instructions before, but not in ${b.executed} after`,
      },
    ];
  if (!unfinished) {
    if (a.status !== b.status || a.fault?.kind !== b.fault?.kind || a.fault?.subject !== b.fault?.subject) {
      const end = (r: Run) => `${r.status}${r.fault === null ? '' : ` (${r.fault.message.split('\n')[0]})`}`;
      const kind = (r: Run) => `${r.status}${r.fault === null ? '' : ` (${r.fault.kind})`}`;
      return [{ kind: `before: ${kind(a)}; after: ${kind(b)}`, text: `before: ${end(a)}; after: ${end(b)}` }];
    }
    compareEnds(a, b, (text) => say('threads end otherwise', text));
  }
  const memory = (text: string, address?: number) =>
    void found.push({ kind: 'memory differs', text, ...(address === undefined ? {} : { address }) });
  // A warp's work before a fault may be reordered; a trap keeps its place.
  if (unfinished || [...a.ended.values()].some((kind) => kind !== 'trap')) {
    if (a.endless || !unfinished) compareLogs(a.logs, b.logs, b.machine ? a.floats : null, memory);
    if (unfinished)
      compareWithEnd(a, b, (text) => void found.unshift({ kind: 'memory differs', text, certain: true }));
  } else {
    const memories = others.map((r) => r.memory);
    compareWritten(a.memory, b.memory, memories, b.machine ? a.floats : null, memory);
  }
  return found;
}

function compareEnds(a: Run, b: Run, say: (s: string) => void): void {
  for (const w of new Set([...a.ended.keys(), ...b.ended.keys()])) {
    const [x, y] = [a.ended.get(w), b.ended.get(w)];
    if (x !== y) say(`block, warp and lane ${w} end by ${x ?? 'exit'} before and by ${y ?? 'exit'} after`);
  }
}

type Logs = Run['logs'];

/**
 * Compares the stores of each thread to each address, in order, as far as both runs got.
 *
 * @param floats for machine code, the widths of the program's floats: NaNs may then have other payloads; otherwise null
 */
function compareLogs(a: Logs, b: Logs, floats: ReadonlySet<number> | null, say: (s: string) => void): void {
  if (storeAlike(a, b) && a.every((log, t) => (log.length === 0) === (b[t].length === 0))) return;
  for (let t = 0; t < Math.min(a.length, b.length); t++) {
    const [p, q] = byPlace(a[t], b[t]);
    for (const [address, i] of unlikeStores(p, q, floats)) {
      say(`store ${i} of thread ${t} to 0x${Math.floor(address).toString(16)} differs`);
      return;
    }
    // A thread that stores only to words the other run never wrote is a difference too. The sizes of stores may differ: stores of bytes
    // may have been joined.
    const theirs = new Set([...q.keys()].map(wordAt));
    if (p.size > 0 && q.size > 0 && ![...p.keys()].some((x) => theirs.has(wordAt(x)))) {
      say(`thread ${t} stores to other addresses`);
      return;
    }
  }
}

/**
 * Addresses at which the store sequences of a thread differ in two runs, as far as both got, each with the number of the first differing
 * store.
 */
function* unlikeStores(
  p: ReadonlyMap<number, Stores>,
  q: ReadonlyMap<number, Stores>,
  floats: ReadonlySet<number> | null,
): Generator<readonly [address: number, store: number]> {
  for (const [address, { values }] of p) {
    const others = q.get(address)?.values ?? [];
    const at = values.findIndex(
      (v, i) => i < others.length && v !== others[i] && (floats === null || !bothNaN(v, others[i], floats)),
    );
    if (at >= 0) yield [address, at];
  }
}

/** Keys (thread and address) of the stores that differ between two runs, as far as both got; NaNs may differ. */
export function storesApart(a: Run, b: Run): Set<string> {
  const out = new Set<string>();
  for (let t = 0; t < Math.min(a.logs.length, b.logs.length); t++)
    for (const [address] of unlikeStores(...byPlace(a.logs[t], b.logs[t]), a.floats))
      out.add(`${t} ${address}`);
  return out;
}

/** If just one run has ended: finds a byte that the unfinished run has written and the ended one has not. */
function compareWithEnd(a: Run, b: Run, say: (s: string) => void): void {
  if (a.status === b.status || a.ended.size + b.ended.size > 0) return;
  const [ended, other] = a.status === 'done' ? [a.memory, b.memory] : [b.memory, a.memory];
  for (const [key, p] of other.pieces) {
    if (p.stored === 0) continue;
    for (let i = 0; i < PIECE; i++) {
      if (p.written[p.from + i] === 0 || ended.isWritten(key * PIECE + i, 1)) continue;
      say(
        `byte 0x${(key * PIECE + i).toString(16)} is written only ${a.status === 'done' ? 'after' : 'before'}`,
      );
      return;
    }
  }
}

/**
 * The first thread, if any, whose last store to some address differs. It serves when threads overwrite each other's stores: an optimizer
 * may not remove a thread's last store. Threads that store to different sets of addresses, as with wider words, are skipped.
 */
export function lastStores(a: Logs, b: Logs): Difference[] {
  for (let t = 0; t < a.length; t++) {
    const [p, q] = [byAddress(a[t]), byAddress(b[t])];
    if (p.size !== q.size || Math.max(a[t].length, b[t].length) >= LOG) continue;
    for (const [address, values] of p) {
      const others = q.get(address);
      if (others !== undefined && others[others.length - 1] !== values[values.length - 1])
        return [
          {
            kind: 'memory differs',
            text: `the last store of thread ${t} to 0x${Math.floor(address).toString(16)} differs`,
          },
        ];
    }
  }
  return [];
}

/** True if each thread makes the same stores in the same order, as far as both runs got. */
export const storeAlike = (a: Logs, b: Logs): boolean =>
  a.every((log, t) => log.every((x, i) => i >= b[t].length || x === b[t][i]));

/**
 * How many stores of a thread to one place may be missing. If the program has fewer store instructions than before, also how many may be
 * missing per remaining store: an unrolled loop stores only the last of several iterations.
 */
const MOST_MISSING = 4;
const MISSING_EACH = 7;
/** A store among the first so many of a shorter log must be in a full one, which holds 32 times as many. */
const EARLY = LOG / 2 / 32;

/**
 * True if each thread stores to each place a subsequence of what it stores in a longer run, with few values missing: an optimizer removes
 * stores that are overwritten.
 */
export const storeLess = (some: Logs, all: Logs, fewerStores: boolean): boolean =>
  some.every((log, t) => {
    const [own, theirs] = byPlace(log, all[t]);
    const isFull = all[t].length >= LOG;
    return [...own].every(([place, { values, first }]) => {
      const more = theirs.get(place)?.values ?? [];
      // Stores after the end of a full log are unknown.
      if (more.length === 0 && isFull) return first >= EARLY;
      let at = 0;
      const last = more.findIndex((v) => v === values[at] && ++at === values.length);
      if (last < 0 && isFull) return true;
      return (
        last >= 0 &&
        last + 1 - values.length <= Math.max(MOST_MISSING, fewerStores ? MISSING_EACH * values.length : 0)
      );
    });
  });

/** What a thread stores to a place. */
interface Stores {
  readonly values: number[];
  /** Number of the first store in the log. */
  readonly first: number;
}

/** Added to the address of a byte of a word that two logs store in other sizes. */
const BYTE = NARROW / 2;

/**
 * The stores of two logs by place: a logged address, which tells the size of the store, or, where a word is stored in other sizes by the
 * two, an address of a byte.
 */
function byPlace(a: readonly number[], b: readonly number[]): [Map<number, Stores>, Map<number, Stores>] {
  const [x, y] = [keysByWord(a), keysByWord(b)];
  const isMixed = (word: number): boolean => {
    const [own, other] = [x.get(word), y.get(word)];
    if (own === undefined || other === undefined) return false;
    return own.size !== other.size || [...own].some((key) => !other.has(key));
  };
  const of = (log: readonly number[]): Map<number, Stores> => {
    const out = new Map<number, Stores>();
    const add = (place: number, value: number, first: number): void => {
      const known = out.get(place);
      if (known === undefined) out.set(place, { values: [value], first });
      else known.values.push(value);
    };
    for (let i = 0; i < log.length; i += 2) {
      if (!isMixed(wordAt(log[i]))) {
        add(log[i], log[i + 1], i / 2);
        continue;
      }
      const address = Math.floor(log[i]);
      const size = (log[i] - address) / NARROW || 4;
      for (let k = 0; k < size; k++) add(address + k + BYTE, (log[i + 1] >>> (8 * k)) & 0xff, i / 2);
    }
    return out;
  };
  return [of(a), of(b)];
}

/** The logged addresses of each word. */
function keysByWord(log: readonly number[]): Map<number, Set<number>> {
  const out = new Map<number, Set<number>>();
  for (let i = 0; i < log.length; i += 2) {
    const word = wordAt(log[i]);
    const known = out.get(word);
    if (known === undefined) out.set(word, new Set([log[i]]));
    else known.add(log[i]);
  }
  return out;
}

/** The word that holds a logged address. */
const wordAt = (address: number): number => Math.floor(address / 4);

function byAddress(log: readonly number[]): Map<number, number[]> {
  const out = new Map<number, number[]>();
  for (let i = 0; i < log.length; i += 2) {
    const values = out.get(log[i]);
    if (values === undefined) out.set(log[i], [log[i + 1]]);
    else values.push(log[i + 1]);
  }
  return out;
}

function byteOf(memory: OpenMemory, address: number): number {
  const { view, at } = memory.place(address, 1, false);
  return view.getUint8(at);
}

/** True if a byte differs, or only one side wrote it, between runs with different undefined values. */
function isUndefined(p: Piece | undefined, r: Piece | undefined, i: number): boolean {
  const [wp, wr] = [p?.written[p.from + i] ?? 0, r?.written[r.from + i] ?? 0];
  return wp !== wr || (wp === 1 && p!.bytes[p!.from + i] !== r!.bytes[r!.from + i]);
}

/** Canonical NaNs, as arithmetic produces them: the word of a single, the high word of a double. */
const CANONICAL: readonly number[] = [0x7fffffff, 0x7ff80000, 0xfff80000];

/** Tolerance for a result, in multiples of its change when the last bits of approximations change. */
const TOLERANCE = 16;

/** Integers are treated as approximations only if they change by at most this; beyond it a nudge has changed their meaning. */
const MOST_STEPS = 64;

/** Interpretations of eight bytes: the size of each number, and how it is read. */
const READINGS: readonly {
  readonly bytes: number;
  readonly integer: boolean;
  read(v: DataView, at: number): number;
}[] = [
  { bytes: 4, integer: false, read: (v, at) => v.getFloat32(at, true) },
  { bytes: 8, integer: false, read: (v) => v.getFloat64(0, true) },
  { bytes: 2, integer: false, read: (v, at) => halfToNumber(v.getUint16(at, true), 'f16') },
  { bytes: 2, integer: false, read: (v, at) => halfToNumber(v.getUint16(at, true), 'bf16') },
  { bytes: 4, integer: true, read: (v, at) => v.getInt32(at, true) },
];

/**
 * True if, in some interpretation, all numbers in eight bytes agree up to approximation errors. The first two values are compared; the rest
 * are nudged runs.
 */
function areNear(values: readonly DataView[]): boolean {
  const same = (x: DataView, y: DataView, at: number, bytes: number): boolean => {
    for (let k = at; k < at + bytes; k++) if (x.getUint8(k) !== y.getUint8(k)) return false;
    return true;
  };
  const [p, q, ...nudged] = values;
  return READINGS.some(({ bytes, integer, read }) => {
    for (let at = 0; at < 8; at += bytes) {
      if (same(p, q, at, bytes)) continue;
      const moving = nudged.filter((n) => !same(p, n, at, bytes));
      if (moving.length === 0) return false;
      if (moving.some((n) => same(q, n, at, bytes))) continue;
      const [a, b, others] = [read(p, at), read(q, at), moving.map((n) => read(n, at))];
      const moved = others.reduce((most, n) => Math.max(most, Math.abs(n - a)), 0);
      if (!Number.isFinite(a) || !Number.isFinite(b) || !Number.isFinite(moved)) {
        // A number may be infinite or NaN in only one of the two if a nudge has the same effect.
        if (integer || others.every((n) => Number.isFinite(n) === Number.isFinite(a))) return false;
        continue;
      }
      if ((integer && moved > MOST_STEPS) || Math.abs(b - a) > TOLERANCE * moved) return false;
    }
    return true;
  });
}

/**
 * True if two runs differ only in memory, and only as far as results depend on the last bits of approximations.
 *
 * @param nudged runs of the first program with other last bits in approximations
 */
export function differOnlyIn(a: Run, b: Run, nudged: readonly Run[]): boolean {
  const endsLike = (r: Run): boolean =>
    differencesOf(a, r, Number.POSITIVE_INFINITY).every((d) => d.kind === 'memory differs');
  const alike = nudged.filter(endsLike);
  // If the end of the run itself depends on approximations, another end is no evidence.
  if (!endsLike(b) || alike.length === 0) return alike.length < nudged.length;
  if (a.status !== 'done' || b.status !== 'done') return false;
  for (const key of new Set([...a.memory.pieces.keys(), ...b.memory.pieces.keys()])) {
    const [p, q] = [a.memory.pieces.get(key), b.memory.pieces.get(key)];
    const others = alike.map((r) => r.memory.pieces.get(key));
    for (let i = 0; i < PIECE; i += 8) {
      const bytes = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => i + k);
      if (!bytes.some((k) => isUndefined(p, q, k))) continue;
      const writes = (x: Piece | undefined, k: number): number => x?.written[x.from + k] ?? 0;
      const elsewhere = bytes.some(
        (k) =>
          writes(p, k) !== writes(q, k) &&
          !(writes(p, k) === 0 && q!.bytes[q!.from + k] === byteOf(a.memory, key * PIECE + k)) &&
          others.every((r) => writes(r, k) === writes(p, k)),
      );
      if (elsewhere) return false;
      // A piece that some run never touched is unchanged there.
      if ([p, q, ...others].some((x) => x === undefined)) continue;
      const values = [p, q, ...others].map(
        (x) => new DataView(x!.bytes.buffer, x!.bytes.byteOffset + x!.from + i, 8),
      );
      if (
        !areNear(values) &&
        !bytes.every((k) => !isUndefined(p, q, k) || byteOfBothNaN(p!, q!, k, a.floats))
      )
        return false;
    }
  }
  return true;
}

/** True if both patterns are NaNs, one of them canonical. `magnitude` masks the bits below the sign. */
const areNaNs = (
  x: number,
  y: number,
  magnitude: number,
  infinity: number,
  canonical: readonly number[],
): boolean =>
  (x & magnitude) > infinity &&
  (y & magnitude) > infinity &&
  (canonical.includes(x >>> 0) || canonical.includes(y >>> 0));

const HALF_NAN: readonly number[] = [0x7fff];
const halvesAreNaNs = (x: number, y: number): boolean => areNaNs(x, y, 0x7fff, 0x7c00, HALF_NAN);
const wordsAreNaNs = (x: number, y: number, infinity: number): boolean =>
  areNaNs(x, y, 0x7fffffff, infinity, CANONICAL);

/**
 * True if all parts in which two words differ are NaNs in both, one of them canonical.
 *
 * @param floats widths of the program's floats; integers are not NaNs
 */
function bothNaN(x: number, y: number, floats: ReadonlySet<number>): boolean {
  if (floats.has(32) && wordsAreNaNs(x, y, 0x7f800000)) return true;
  return (
    floats.has(16) &&
    [0, 16].every((shift) => {
      const [h, k] = [(x >>> shift) & 0xffff, (y >>> shift) & 0xffff];
      return h === k || halvesAreNaNs(h, k);
    })
  );
}

/** Like `bothNaN` for a byte of memory, which may also belong to a double. */
function byteOfBothNaN(p: Piece, q: Piece, i: number, floats: ReadonlySet<number>): boolean {
  const word = (x: Piece, k: number): number => {
    const at = x.from + k;
    return x.bytes[at] | (x.bytes[at + 1] << 8) | (x.bytes[at + 2] << 16) | (x.bytes[at + 3] << 24);
  };
  const [single, half, pair] = [i & ~3, i & ~1, (i & ~7) + 4];
  return (
    (floats.has(16) && halvesAreNaNs(word(p, half) & 0xffff, word(q, half) & 0xffff)) ||
    (floats.has(32) && wordsAreNaNs(word(p, single), word(q, single), 0x7f800000)) ||
    (floats.has(64) && wordsAreNaNs(word(p, pair), word(q, pair), 0x7ff00000))
  );
}

/** True if two runs stored to the same bytes and ended the same way. */
export function writesAlike(a: Run, b: Run): boolean {
  if (
    a.status !== b.status ||
    differencesOf(a, b, Number.POSITIVE_INFINITY).some((d) => d.kind !== 'memory differs')
  )
    return false;
  for (const key of new Set([...a.memory.pieces.keys(), ...b.memory.pieces.keys()])) {
    const [p, q] = [a.memory.pieces.get(key), b.memory.pieces.get(key)];
    for (let i = 0; i < PIECE; i++)
      if ((p?.written[p.from + i] ?? 0) !== (q?.written[q.from + i] ?? 0)) return false;
  }
  return true;
}

function compareWritten(
  a: OpenMemory,
  b: OpenMemory,
  others: readonly OpenMemory[],
  floats: ReadonlySet<number> | null,
  say: (s: string, address: number) => void,
): void {
  for (const key of new Set([...a.pieces.keys(), ...b.pieces.keys()])) {
    const p = a.pieces.get(key);
    const q = b.pieces.get(key);
    const stored = (p?.stored ?? 0) | (q?.stored ?? 0);
    for (let line = 0; line < PIECE / LINE; line++) {
      if ((stored & (1 << line)) === 0) continue;
      for (let i = line * LINE; i < (line + 1) * LINE; i++) {
        const wp = p?.written[p.from + i] ?? 0;
        const wq = q?.written[q.from + i] ?? 0;
        if (wp === 0 && wq === 0) continue;
        if (wp === wq && p!.bytes[p!.from + i] === q!.bytes[q!.from + i]) continue;
        // Some bytes of an undefined word may be equal by chance; machine code gives others.
        const bytes = floats === null ? [i] : [0, 1, 2, 3].map((k) => (i & ~3) + k);
        if (others.some((o) => bytes.some((k) => isUndefined(p, o.pieces.get(key), k)))) continue;
        if (floats !== null && wp === wq && byteOfBothNaN(p!, q!, i, floats)) continue;
        // A store of the value that is already there may be removed.
        if (wq === 0 && p!.bytes[p!.from + i] === byteOf(b, key * PIECE + i)) continue;
        // Machine code may store a whole word to change half of it; the other half keeps its value.
        if (floats !== null && wp === 0 && q!.bytes[q!.from + i] === byteOf(a, key * PIECE + i)) continue;
        const address = key * PIECE + i;
        const byte = `byte 0x${address.toString(16)}`;
        const what =
          wp === wq
            ? `is ${p!.bytes[p!.from + i]} before and ${q!.bytes[q!.from + i]} after`
            : `is written only ${wp === 1 ? 'before' : 'after'}`;
        say(`${byte} ${what}`, address);
        return;
      }
    }
  }
}
