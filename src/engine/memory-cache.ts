import type { CacheEntry, PrefixCache } from './cache.ts';
import { countInstructions } from './journal.ts';

/** Fixed part of the weight of an entry, in instructions. */
const ENTRY = 16;
/** Default capacity: about 5,000 snapshots of kernels with 200 instructions. */
const USUAL_LIMIT = 1_000_000;

/** Weight of an entry in instructions. All instructions of its program count, although entries share most of them. */
export const weightOf = (e: CacheEntry): number =>
  ENTRY + (e.kind === 'reads' ? e.lists.length : e.program === null ? 0 : countInstructions(e.program));

/** An in-memory cache with a maximum weight; the least recently used entries are dropped first. */
export class MemoryCache implements PrefixCache {
  /** In order of last use. */
  private readonly entries = new Map<string, { readonly entry: CacheEntry; readonly weight: number }>();
  private readonly limit: number;
  private held = 0;

  /** @param limit maximum total weight (`weightOf`) */
  constructor(limit = USUAL_LIMIT) {
    this.limit = limit;
  }

  /** Number of entries. */
  get size(): number {
    return this.entries.size;
  }

  /** Total weight of the entries; never above the limit. */
  get weight(): number {
    return this.held;
  }

  get(key: string): CacheEntry | undefined {
    const found = this.entries.get(key);
    if (found === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, found);
    return found.entry;
  }

  set(key: string, entry: CacheEntry, weight = weightOf(entry)): void {
    this.drop(key);
    if (weight > this.limit) return;
    this.entries.set(key, { entry, weight });
    this.held += weight;
    for (const old of this.entries.keys()) {
      if (this.held <= this.limit) break;
      this.drop(old);
    }
  }

  private drop(key: string): void {
    const found = this.entries.get(key);
    if (found === undefined) return;
    this.entries.delete(key);
    this.held -= found.weight;
  }
}
