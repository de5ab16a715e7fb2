import { Mem } from '../analysis/memory/memory-ops.ts';
import type { Variable } from '../ir/program.ts';
import type { Values } from './values.ts';

/** Stores and other effects that one region may have, each of which is compared with all others: the test kernels have up to 183. */
const MOST_EFFECTS = 3_000;

/** Beside memory: what keeps its place among barriers, operations between lanes, and results that change by themselves. */
export const ORDER = 32;

/** One store, or anything else that others can tell from nothing. */
export interface Effect {
  /** The operation, without its operands. */
  readonly kind: string;
  /** Equal for effects that are the same operation on the same values. */
  readonly key: string;
  /** `Mem` bits and `ORDER`: what it touches or keeps its place in. */
  readonly bits: number;
  /** Condition under which it happens, as a value. */
  readonly guard: number;
  /** Operands that a solver may compare. */
  readonly operands: readonly number[];
  /** Whether lanes do it together, so that it counts where in the program they are. */
  readonly convergent: boolean;
  /** A plain store, with its address, bytes and value; null: something else. */
  readonly store: { readonly address: number; readonly bytes: number; readonly value: number } | null;
}

/** Bytes of memory that are read or written. */
export interface Place {
  readonly bits: number;
  readonly address: number;
  readonly bytes: number;
}

export class TooManyEffects extends Error {}

/**
 * What one version of a region does to memory and to others, in program order, with the conditions under which it does it. Paths are not
 * kept apart: an effect of a branch not taken has a guard that is false.
 */
export class Trace {
  readonly effects: Effect[] = [];
  private readonly values: Values;
  /** Leaves that stand for addresses of variables. */
  private readonly symbols: ReadonlyMap<number, Variable>;

  constructor(values: Values, symbols: ReadonlyMap<number, Variable>) {
    this.values = values;
    this.symbols = symbols;
  }

  add(e: Effect): void {
    if (this.effects.length >= MOST_EFFECTS) throw new TooManyEffects();
    if (e.guard === this.values.no) return;
    // Effects that commute stand in one order, so that what a load finds has one name.
    let at = this.effects.length;
    while (at > 0 && this.effects[at - 1].key > e.key && this.commute(this.effects[at - 1], e)) at--;
    this.effects.splice(at, 0, e);
  }

  /** What a plain load finds where `c` holds: what was stored last, or a leaf named by all that may have changed that memory. */
  load(place: Place, c: number): number {
    const { values, effects } = this;
    const over: { guard: number; value: number }[] = [];
    let end = effects.length;
    let found = -1;
    for (let i = effects.length - 1; i >= 0; i--) {
      if (!this.touches(effects[i], place, c)) continue;
      const stored = this.storedTo(effects[i], place);
      if (stored < 0) break;
      end = i;
      if (values.implies(c, effects[i].guard)) {
        found = stored;
        break;
      }
      over.push({ guard: values.under(effects[i].guard, c), value: stored });
    }
    if (found < 0) {
      const key = `load ${place.bytes} ${place.address} ${place.bits} ${this.stateKey(place, c, end)}`;
      found = values.leaf(key, 8 * place.bytes);
    }
    for (const { guard, value } of over.reverse()) found = values.select(guard, value, found);
    return found;
  }

  /** Names everything before that may matter to an effect or a load where `c` holds. */
  stateKey(place: Place | { readonly bits: number }, c: number, end = this.effects.length): string {
    const parts: string[] = [];
    this.values.spend(1 + end);
    for (let i = 0; i < end; i++) {
      const e = this.effects[i];
      const matters = 'address' in place ? this.touches(e, place, c) : (e.bits & place.bits) !== 0;
      if (matters && !this.values.exclude(e.guard, c))
        parts.push(`${e.key}?${this.values.under(e.guard, c)}`);
    }
    return parts.length < 2 ? parts.join() : `#${this.shared(parts.join())}`;
  }

  private static readonly names = new WeakMap<Values, Map<string, number>>();
  private shared(text: string): number {
    let names = Trace.names.get(this.values);
    if (names === undefined) Trace.names.set(this.values, (names = new Map()));
    let n = names.get(text);
    if (n === undefined) names.set(text, (n = names.size));
    return n;
  }

  private touches(e: Effect, place: Place, c: number): boolean {
    if ((e.bits & place.bits) === 0 || this.values.exclude(e.guard, c)) return false;
    return e.store === null || !this.apart(e.store, place);
  }

  /** What of a store a load of the place reads, if it is all of that; else -1. */
  private storedTo(e: Effect, place: Place): number {
    if (e.store === null) return -1;
    const by = this.values.distance(e.store.address, place.address);
    if (by === null || by < 0n || Number(by) + place.bytes > e.store.bytes) return -1;
    if (by === 0n && place.bytes === e.store.bytes) return e.store.value;
    return this.values.node('extract', 8 * place.bytes, [e.store.value], { n: 8 * Number(by) });
  }

  /** Are two places without a common byte, whatever the inputs are? */
  private apart(
    a: { readonly address: number; readonly bytes: number },
    b: { readonly address: number; readonly bytes: number },
  ): boolean {
    const by = this.values.distance(a.address, b.address);
    if (by !== null) return by >= BigInt(a.bytes) || by <= BigInt(-b.bytes);
    const [p, q] = [this.symbolOf(a.address), this.symbolOf(b.address)];
    return p >= 0 && q >= 0 && p !== q;
  }

  /** The variable in which an address is, or -1: PTX defines no access of one variable through the address of another. */
  private symbolOf(address: number): number {
    let found = -1;
    for (const [t, k] of this.values.sumOf(address).terms) {
      const x = this.values.opOf(t) === 'zext' ? this.values.at(t).args[0] : t;
      // Unsized arrays in shared memory begin at the same place.
      if ((this.symbols.get(x)?.size ?? 0) === 0) continue;
      if (found >= 0 || k !== 1n) return -1;
      found = x;
    }
    return found;
  }

  /**
   * The effects in an order that equal traces share: of those that no order or common byte holds back, the one with the least key comes
   * first. Stores that others overwrite are gone, and so are stores to local memory where `ends` says that the function ends.
   */
  canonical(ends: number): Effect[] {
    const left = this.withoutDead(ends);
    const n = left.length;
    this.values.spend(1 + (n * n) / 16);
    const waits = new Int32Array(n);
    const later: number[][] = left.map(() => []);
    for (let i = 0; i < n; i++)
      for (let j = i + 1; j < n; j++)
        if (!this.commute(left[i], left[j])) {
          later[i].push(j);
          waits[j]++;
        }
    const ready = left.map((_, i) => i).filter((i) => waits[i] === 0);
    const out: Effect[] = [];
    const before = (i: number, j: number): boolean =>
      left[i].key < left[j].key || (left[i].key === left[j].key && left[i].guard < left[j].guard);
    while (ready.length > 0) {
      let k = 0;
      for (let i = 1; i < ready.length; i++) if (before(ready[i], ready[k])) k = i;
      const [i] = ready.splice(k, 1);
      out.push(left[i]);
      for (const j of later[i]) if (--waits[j] === 0) ready.push(j);
    }
    return merged(out, this.values);
  }

  private commute(a: Effect, b: Effect): boolean {
    if ((a.bits & b.bits) === 0) return true;
    if (a.store !== null && b.store !== null && this.apart(a.store, b.store)) return true;
    return this.values.exclude(a.guard, b.guard);
  }

  private withoutDead(ends: number): Effect[] {
    const { values, effects } = this;
    return effects.filter((e, i) => {
      if (e.store === null) return true;
      const read = effects.slice(i + 1).some((f) => f.store === null && (f.bits & Mem.Local) !== 0);
      if (e.bits === Mem.Local && !read && values.implies(e.guard, ends)) return false;
      for (let j = i + 1; j < effects.length; j++) {
        const f = effects[j];
        if ((f.bits & e.bits) === 0 || values.exclude(e.guard, f.guard)) continue;
        if (f.store === null) return true;
        const by = values.distance(f.store.address, e.store.address);
        if (by === null || by < 0n || Number(by) + e.store.bytes > f.store.bytes) continue;
        if (values.implies(e.guard, f.guard)) return false;
      }
      return true;
    });
  }
}

/** Neighbours that do the same under different conditions are one, as after a branch whose sides both end with it. */
function merged(effects: readonly Effect[], values: Values): Effect[] {
  const out: Effect[] = [];
  for (const e of effects) {
    const last = out.at(-1);
    const alike = last !== undefined && last.key === e.key && !e.convergent;
    if (alike && values.exclude(last.guard, e.guard))
      out[out.length - 1] = { ...e, guard: values.either(last.guard, e.guard) };
    else out.push(e);
  }
  return out;
}
