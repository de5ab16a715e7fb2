import type { Segments } from '../flow/segments.ts';

/** Pairs of segment and name slot, in insertion order. */
export class SlotList {
  private segments = new Int32Array(256);
  private slots = new Int32Array(256);
  length = 0;

  add(segment: number, slot: number): void {
    if (this.length === this.slots.length) {
      this.segments = longer(this.segments);
      this.slots = longer(this.slots);
    }
    this.segments[this.length] = segment;
    this.slots[this.length++] = slot;
  }

  /**
   * The pairs grouped by column of 32 slots, in insertion order.
   * @param slotOf the current slot of each added slot; -1 drops a pair
   */
  byColumn(columns: number, slotOf: Int32Array): Columns {
    const { segments, slots, length } = this;
    const start = new Int32Array(columns + 1);
    for (let i = 0; i < length; i++) if (slotOf[slots[i]] >= 0) start[(slotOf[slots[i]] >>> 5) + 1]++;
    for (let c = 0; c < columns; c++) start[c + 1] += start[c];
    const next = start.slice();
    const segment = new Int32Array(start[columns]);
    const bit = new Int32Array(start[columns]);
    for (let i = 0; i < length; i++) {
      const slot = slotOf[slots[i]];
      if (slot < 0) continue;
      const at = next[slot >>> 5]++;
      segment[at] = segments[i];
      bit[at] = 1 << (slot & 31);
    }
    return { start, segment, bit };
  }
}

/** Bits of each column: their segments, and the bits. */
export interface Columns {
  readonly start: Int32Array;
  readonly segment: Int32Array;
  readonly bit: Int32Array;
}

function longer(a: Int32Array): Int32Array<ArrayBuffer> {
  const out = new Int32Array(2 * a.length);
  out.set(a);
  return out;
}

/**
 * A set of slots for each segment: bit rows that keep only their non-empty words, in compressed rows. So a row costs
 * what lives there, at most a plain bit row plus one word for each word kept.
 */
export class LiveRows {
  /** Segment -> its first word; one more entry. */
  readonly start: Int32Array;
  /** Which 32 slots, ascending in each row, and the bits. */
  readonly column: Int32Array;
  readonly bits: Int32Array;

  constructor(start: Int32Array, column: Int32Array, bits: Int32Array) {
    this.start = start;
    this.column = column;
    this.bits = bits;
  }

  /** Index in `bits` of a column of a row, -1 if the row has nothing in it. */
  at(row: number, column: number): number {
    let low = this.start[row];
    let high = this.start[row + 1];
    while (low < high) {
      const mid = (low + high) >>> 1;
      if (this.column[mid] < column) low = mid + 1;
      else high = mid;
    }
    return low < this.start[row + 1] && this.column[low] === column ? low : -1;
  }

  has(row: number, slot: number): boolean {
    const i = this.at(row, slot >>> 5);
    return i >= 0 && (this.bits[i] & (1 << (slot & 31))) !== 0;
  }

  /** Calls `visit` with every member of a row, ascending. */
  forEach(row: number, visit: (slot: number) => void): void {
    for (let i = this.start[row]; i < this.start[row + 1]; i++)
      for (let x = this.bits[i]; x !== 0; x &= x - 1) visit((this.column[i] << 5) + 31 - Math.clz32(x & -x));
  }
}

/**
 * Solves LiveIn = gen | (LiveOut & ~kill), LiveOut = out | union of the successors' LiveIn, starting from empty sets.
 *
 * Each column of 32 names is solved separately, from its uses up to its definitions: path exploration (Brandner,
 * Boissinot, Darte, Dupont de Dinechin and Rastello, "Computing Liveness Sets for SSA-Form Programs", 2011) for 32
 * names at once. So a column costs the segments where one of its names lives, not all segments. Segments are visited
 * in backward order, in sweeps that a loop repeats.
 */
export function solveRows(
  seg: Segments,
  columns: number,
  gen: Columns,
  kill: Columns,
  out: Columns,
): LiveRows {
  const { count, predStart, pred, backward } = seg;
  const rank = new Int32Array(count);
  for (let i = 0; i < count; i++) rank[backward[i]] = i;
  const live = new Int32Array(count);
  const killed = new Int32Array(count);
  /** Bit set of the ranks of segments whose predecessors must be visited again. */
  const dirty = new Int32Array((count + 31) >>> 5);
  const touched = new Int32Array(count);
  let met = 0;
  let left = 0;
  let lowest = 0;

  const rise = (s: number, bits: number): void => {
    const more = bits & ~live[s];
    if (more === 0) return;
    if (live[s] === 0) touched[met++] = s;
    live[s] |= more;
    const r = rank[s];
    if ((dirty[r >>> 5] & (1 << (r & 31))) !== 0) return;
    dirty[r >>> 5] |= 1 << (r & 31);
    left++;
    if (r >>> 5 < lowest) lowest = r >>> 5;
  };

  let room = Math.max(256, 2 * gen.segment.length);
  let [segments, words, bits] = [new Int32Array(room), new Int32Array(room), new Int32Array(room)];
  let total = 0;
  const start = new Int32Array(count + 1);
  for (let c = 0; c < columns; c++) {
    for (let i = kill.start[c]; i < kill.start[c + 1]; i++) killed[kill.segment[i]] |= kill.bit[i];
    lowest = dirty.length;
    for (let i = gen.start[c]; i < gen.start[c + 1]; i++) rise(gen.segment[i], gen.bit[i]);
    for (let i = out.start[c]; i < out.start[c + 1]; i++)
      rise(out.segment[i], out.bit[i] & ~killed[out.segment[i]]);
    while (left > 0) {
      const from = lowest;
      lowest = dirty.length;
      for (let w = from; w < dirty.length && left > 0; w++)
        while (dirty[w] !== 0) {
          const low = dirty[w] & -dirty[w];
          dirty[w] ^= low;
          left--;
          const s = backward[(w << 5) + 31 - Math.clz32(low)];
          for (let e = predStart[s]; e < predStart[s + 1]; e++) rise(pred[e], live[s] & ~killed[pred[e]]);
        }
    }
    for (let i = kill.start[c]; i < kill.start[c + 1]; i++) killed[kill.segment[i]] = 0;
    if (total + met > room) {
      while (total + met > room) room *= 2;
      segments = resized(segments, room);
      words = resized(words, room);
      bits = resized(bits, room);
    }
    for (let i = 0; i < met; i++) {
      const s = touched[i];
      segments[total] = s;
      words[total] = c;
      bits[total++] = live[s];
      live[s] = 0;
      start[s + 1]++;
    }
    met = 0;
  }
  for (let s = 0; s < count; s++) start[s + 1] += start[s];
  const next = start.slice();
  const rows = new LiveRows(start, new Int32Array(total), new Int32Array(total));
  for (let i = 0; i < total; i++) {
    const at = next[segments[i]]++;
    rows.column[at] = words[i];
    rows.bits[at] = bits[i];
  }
  return rows;
}

function resized(a: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const out = new Int32Array(length);
  out.set(a);
  return out;
}
