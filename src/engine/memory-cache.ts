import type { CacheEntry, PrefixCache } from './cache.ts';
import { countInstructions } from './journal.ts';

/** Weight of an entry besides the instructions of its program, in instructions. */
const ENTRY = 16;
/** Default capacity: about 5,000 snapshots of kernels with 200 instructions. */
const USUAL_LIMIT = 1_000_000;

/** Weight of an entry in instructions: those of its program, although it shares most of them with other entries. */
export const weightOf = (e: CacheEntry): number =>
  ENTRY + (e.kind === 'reads' ? e.lists.length : e.program === null ? 0 : countInstructions(e.program));

/** Results in memory, up to a capacity; the least recently used ones are dropped first. */
export class MemoryCache implements PrefixCache {
  /** In order of last use. */
  private readonly entries = new Map<string, { readonly entry: CacheEntry; readonly weight: number }>();
  private readonly limit: number;
  private held = 0;

  /** @param limit most instructions in cached snapshots, counted as if nothing were shared */
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
