import { FIRST_PRESERVED, PRESERVED } from '../machine/calling-convention.ts';
import type { HardFile, MachineFunction, MachineOp } from './machine-op.ts';
import { liveSegments, type Segments } from './segments.ts';

/*
 * Register allocation by first fit: virtual registers get, in the order in which they become live, the lowest run of registers of which
 * no word is live at the same time. Liveness is known by word, so that the halves of a pair can be taken over one by one. A register that
 * is copied to or from another prefers the other's place, and the copy becomes superfluous.
 */

/** How many registers of each file may be used. */
export interface Limits {
  readonly R: number;
  readonly P: number;
  readonly UR: number;
  readonly B: number;
}

/** The first register of each virtual register; -1 for one that is not used. */
export interface Allocation {
  readonly of: readonly number[];
  /** A virtual register to spill, since one found no place; -1 if all have one, and `STUCK` if none can be spilled. */
  readonly spilled: number;
}

/** `Allocation.spilled` where a register has no place and no other can make room. */
export const STUCK = -2;

/** Registers that are not allocated: the stack pointer, and the pair with the descriptor of memory. */
export interface Reserved {
  readonly R: readonly number[];
  readonly UR: readonly number[];
}

/** Copies between words: for each virtual register its partners. */
interface Copy {
  readonly other: number;
  /** Register of the other minus that of this one, if the copy is to be superfluous. */
  readonly by: number;
}

/** Occupied times of one register of the hardware: [from, to) pairs, in order. */
class Occupied {
  private readonly from: number[] = [];
  private readonly to: number[] = [];

  isFree(s: Segments): boolean {
    // Both lists are in order.
    let k = this.firstEndingAfter(s.from[0] ?? 0);
    for (let i = 0; i < s.from.length; i++) {
      while (k < this.from.length && this.to[k] <= s.from[i]) k++;
      if (k < this.from.length && this.from[k] < s.to[i]) return false;
    }
    return true;
  }

  take(s: Segments): void {
    for (let i = 0; i < s.from.length; i++) {
      const at = this.firstEndingAfter(s.from[i]);
      this.from.splice(at, 0, s.from[i]);
      this.to.splice(at, 0, s.to[i]);
    }
  }

  private firstEndingAfter(t: number): number {
    let [lo, hi] = [0, this.to.length];
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.to[mid] <= t) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }
}

/** Allocates the registers of a function. */
export function allocate(fn: MachineFunction, limits: Limits, reserved: Reserved): Allocation {
  const { segments, starts } = liveSegments(fn);
  const copies = copiesOf(fn);
  const files = {
    R: Array.from({ length: limits.R }, () => new Occupied()),
    P: Array.from({ length: limits.P }, () => new Occupied()),
    UR: Array.from({ length: limits.UR }, () => new Occupied()),
    B: Array.from({ length: limits.B }, () => new Occupied()),
  };
  const blocked = {
    R: new Set(reserved.R),
    P: new Set<number>(),
    UR: new Set(reserved.UR),
    B: new Set<number>(),
  };
  const of = fn.registers.map(() => -1);
  clobber(fn, files);
  const order = fn.registers.map((_, v) => v).filter((v) => starts[v] >= 0);
  const isPlaced = (v: number): number => (fn.registers[v].place === undefined ? 1 : 0);
  order.sort((a, b) => isPlaced(a) - isPlaced(b) || starts[a] - starts[b] || a - b);
  for (const v of order) {
    const { file, words } = fn.registers[v];
    const place = files[file];
    const fits = (base: number): boolean => {
      if (base < 0 || base % words !== 0 || base + words > place.length) return false;
      for (let k = 0; k < words; k++)
        if (blocked[file].has(base + k) || !place[base + k].isFree(segments[v][k])) return false;
      return true;
    };
    const { place: asked } = fn.registers[v];
    if (asked !== undefined && !fits(asked)) return { of, spilled: STUCK };
    let base = asked ?? -1;
    for (const { other, by } of base < 0 ? [...copies[v], ...placedPartners(fn, copies, v)] : [])
      if (of[other] >= 0 && fits(of[other] - by)) {
        base = of[other] - by;
        break;
      }
    for (let at = 0; base < 0 && at + words <= place.length; at += words) if (fits(at)) base = at;
    if (base < 0) return { of, spilled: victim(fn, v, segments, of, starts) };
    of[v] = base;
    for (let k = 0; k < words; k++) place[base + k].take(segments[v][k]);
  }
  return { of, spilled: -1 };
}

/** Occupies the registers that calls do not preserve, where they return; a result is there already. */
function clobber(fn: MachineFunction, files: Readonly<Record<HardFile, readonly Occupied[]>>): void {
  let time = 0;
  for (const b of fn.blocks)
    for (const op of b.ops) {
      if (op.call !== undefined) {
        const results = new Set(
          op.occurrences.flatMap(({ v, isResult, words }) =>
            isResult ? Array.from({ length: words }, (_, k) => fn.registers[v].place! + k) : [],
          ),
        );
        const taken: Segments = { from: [time + 1], to: [time + 2] };
        for (const [file, list] of Object.entries(files) as [HardFile, readonly Occupied[]][])
          for (let n = 0; n < Math.min(list.length, FIRST_PRESERVED[file]); n++)
            if (file !== 'R' || (!results.has(n) && !PRESERVED.has(n))) list[n].take(taken);
      }
      time += 2;
    }
}

/** Which register to spill if there is no place for `v`: the one that is live longest among those that are live with it. */
function victim(
  fn: MachineFunction,
  v: number,
  segments: readonly (readonly Segments[])[],
  of: readonly number[],
  starts: readonly number[],
): number {
  const { file, words } = fn.registers[v];
  const length = (x: number): number =>
    Math.max(...segments[x].map((s) => s.from.reduce((n, f, i) => n + s.to[i] - f, 0)));
  const isLiveAt = (x: number, t: number): boolean =>
    segments[x].some((s) => s.from.some((f, i) => f <= t && t < s.to[i]));
  let [best, most] = [STUCK, -1];
  for (let x = 0; x < fn.registers.length; x++) {
    const r = fn.registers[x];
    if (r.file !== file || r.isReload || r.words < Math.min(words, 2) - 1 || starts[x] < 0) continue;
    if (x !== v && (of[x] < 0 || !isLiveAt(x, starts[v]))) continue;
    const n = length(x);
    if (n > most) [best, most] = [x, n];
  }
  return best;
}

/** Copies that lie between a register and one whose place is given; longer chains are rare. */
const MOST_COPIES = 3;

/** Registers of a given place that a register is copied to by way of others. */
function placedPartners(fn: MachineFunction, copies: readonly (readonly Copy[])[], v: number): Copy[] {
  const seen = new Set([v]);
  const out: Copy[] = [];
  let front: Copy[] = [{ other: v, by: 0 }];
  for (let depth = 0; depth < MOST_COPIES && front.length > 0; depth++) {
    const next: Copy[] = [];
    for (const from of front)
      for (const { other, by } of copies[from.other]) {
        if (seen.has(other)) continue;
        seen.add(other);
        const step = { other, by: from.by + by };
        if (fn.registers[other].place !== undefined) out.push(step);
        else next.push(step);
      }
    front = next;
  }
  return out;
}

/** Copies of words (`MOV`) by virtual register. */
function copiesOf(fn: MachineFunction): Copy[][] {
  const out: Copy[][] = fn.registers.map(() => []);
  for (const b of fn.blocks)
    for (const op of b.ops) {
      const pair = copyOf(op);
      if (pair === null) continue;
      const [d, s] = pair;
      // d.v's word is s.v's word: base(d) + d.word = base(s) + s.word.
      out[d.v].push({ other: s.v, by: d.word - s.word });
      out[s.v].push({ other: d.v, by: s.word - d.word });
    }
  return out;
}

/** Result and source of an instruction that copies one register to another; null for any other. */
export function copyOf(op: MachineOp): [MachineOp['occurrences'][0], MachineOp['occurrences'][0]] | null {
  if (op.form.row !== 'MOV' || op.form.layout !== 'R' || op.occurrences.length !== 2) return null;
  const d = op.occurrences.find((o) => o.isResult);
  const s = op.occurrences.find((o) => !o.isResult);
  return d === undefined || s === undefined ? null : [d, s];
}
