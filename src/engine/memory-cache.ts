import type { CacheEntry, PrefixCache } from './cache.ts';
import { countInstructions } from './journal.ts';

/** What an entry takes beside the instructions of its program, in instructions. */
const ENTRY = 16;
/** Weight that a cache keeps where nothing else is asked for: some 5,000 snapshots of kernels of 200 instructions. */
const USUAL_LIMIT = 1_000_000;

/** What an entry may take, in instructions: as many as its program has, although it shares most of them with others. */
export const weightOf = (e: CacheEntry): number =>
  ENTRY + (e.kind === 'reads' ? e.lists.length : e.program === null ? 0 : countInstructions(e.program));

/** Results in memory, up to a limit; those that were not asked for the longest go first. */
export class MemoryCache implements PrefixCache {
  /** In the order in which they were last asked for. */
  private readonly entries = new Map<string, { readonly entry: CacheEntry; readonly weight: number }>();
  private readonly limit: number;
  private held = 0;

  /** @param limit most instructions of snapshots that are kept, as if they shared none */
  constructor(limit = USUAL_LIMIT) {
    this.limit = limit;
  }

  /** Number of entries. */
  get size(): number {
    return this.entries.size;
  }

  /** What the entries weigh together; never above the limit. */
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
