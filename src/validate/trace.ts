import { Mem } from '../analysis/memory/memory-ops.ts';
import { LimitReached } from '../ir/limit.ts';
import type { Variable } from '../ir/program.ts';
import type { Values } from './values.ts';

/** Maximum number of effects of a region; each is compared with all others. The test kernels have up to 183. */
const MOST_EFFECTS = 3_000;

/** Pseudo memory space for what must keep its order besides memory: barriers, operations between lanes, volatile results. */
export const ORDER = 32;

/** A store or any other effect that is observable from outside. */
export interface Effect {
  /** The operation, without its operands. */
  readonly kind: string;
  /** Equal for effects that are the same operation on the same values. */
  readonly key: string;
  /** `Mem` bits and `ORDER`: the memory spaces that it touches. */
  readonly bits: number;
  /** Condition under which it happens, as a value. */
  readonly guard: number;
  /** Operand values that a solver may compare. */
  readonly operands: readonly number[];
  /** True if lanes execute it together, so that its position in the program matters. */
  readonly convergent: boolean;
  /** Address, size and value of a plain store; null for other effects. */
  readonly store: { readonly address: number; readonly bytes: number; readonly value: number } | null;
}

/** A range of bytes in memory. */
export interface Place {
  readonly bits: number;
  readonly address: number;
  readonly bytes: number;
}

/**
 * The effects of one version of a region on memory and on other threads, in program order. Paths are not kept apart: each effect has a
 * guard, which is false on paths that do not execute it.
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

  /** Appends an effect. @throws LimitReached */
  add(e: Effect): void {
    if (this.effects.length >= MOST_EFFECTS) throw new LimitReached();
    if (e.guard === this.values.no) return;
    // Commuting effects are kept in one order, so that the value of a load has one name.
    let at = this.effects.length;
    while (at > 0 && this.effects[at - 1].key > e.key && this.commute(this.effects[at - 1], e)) at--;
    this.effects.splice(at, 0, e);
  }

  /** The value of a plain load where `c` holds: the last store, or a leaf named after everything that may have changed the memory. */
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

  /** A name for all earlier effects that may matter to an effect or a load where `c` holds. */
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

  /** The part of a store's value that a load of `place` reads, if the store covers it; otherwise -1. */
  private storedTo(e: Effect, place: Place): number {
    if (e.store === null) return -1;
    const by = this.values.distance(e.store.address, place.address);
    if (by === null || by < 0n || Number(by) + place.bytes > e.store.bytes) return -1;
    if (by === 0n && place.bytes === e.store.bytes) return e.store.value;
    return this.values.node('extract', 8 * place.bytes, [e.store.value], { n: 8 * Number(by) });
  }

  /** True if two places have no common byte for any inputs. */
  private apart(
    a: { readonly address: number; readonly bytes: number },
    b: { readonly address: number; readonly bytes: number },
  ): boolean {
    const by = this.values.distance(a.address, b.address);
    if (by !== null) return by >= BigInt(a.bytes) || by <= BigInt(-b.bytes);
    const [p, q] = [this.symbolOf(a.address), this.symbolOf(b.address)];
    return p >= 0 && q >= 0 && p !== q;
  }

  /** The variable that an address points into, or -1: PTX does not define an access to one variable through the address of another. */
  private symbolOf(address: number): number {
    let found = -1;
    for (const [t, k] of this.values.sumOf(address).terms) {
      const x = this.values.opOf(t) === 'zext' ? this.values.at(t).args[0] : t;
      // Unsized arrays in shared memory all start at the same address.
      if ((this.symbols.get(x)?.size ?? 0) === 0) continue;
      if (found >= 0 || k !== 1n) return -1;
      found = x;
    }
    return found;
  }

  /**
   * The effects in canonical order, by list scheduling: among the effects with no uncommuting predecessor left, the one with the least key
   * comes first. Overwritten stores are removed, and so are stores to local memory that are not read before the function ends, where `ends`
   * holds.
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

/** Merges adjacent effects that differ only in their guards, as after a branch whose arms both end with the same effect. */
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
