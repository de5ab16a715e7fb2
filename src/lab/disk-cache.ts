import { randomBytes } from 'node:crypto';
import { lstatSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { CacheEntry, PrefixCache, ReadLists } from '../engine/cache.ts';
import { MemoryCache } from '../engine/memory-cache.ts';
import { fileError } from '../ir/diagnostic.ts';
import { hashText } from '../ir/hash.ts';
import { keyHashes } from '../ir/keyed-hash.ts';
import type { Isa } from '../ir/opcode.ts';
import { evict, namesIn, tried, used } from '../spec/node-evict.ts';
import { MOST_BYTES, reason } from '../spec/node-files.ts';
import { hashKey, sealed, unsealed } from '../spec/node-seal.ts';
import { makeFolders, writeReplacing } from '../spec/node-write.ts';
import { packBatch, unpackBatch } from './cache-batch.ts';
import { codeHash } from './code-hash.ts';

/*
 * A cache of phase results on disk:
 *
 *     FOLDER / hash of the code / input / batches
 *
 * Batches are written atomically and never modified. A killed process loses what it has not written yet, and concurrent processes at worst
 * write the same result twice. A failure to read or write only costs time. A batch is used only if it carries the seal of this user
 * (node-seal.ts): results become code, and the folder may come from somebody else. Links in the folder are not followed, and only regular
 * files are read.
 */

/** Default limit on the size of the folder in bytes. */
export const USUAL_LIMIT = 1 << 30;
/** Number of results that are collected before they are written as one batch. */
const BATCH = 1000;
/** If an input has at least this many batches, they are merged when they are loaded. */
const MANY = 8;
/** A temporary file that is older than this, in milliseconds, is a leftover of a killed process. */
const LEFT_OVER_MS = 3_600_000;

/** Of code, and of inputs; earlier versions had shorter ones of inputs. */
const FOLDER = /^(?:[0-9a-f]{16}|[0-9a-f]{32})$/;
const BATCH_FILE = /^[0-9a-f]{16}\.orc$/;
const PART_FILE = /^\.[0-9a-f]{16}\.orc\.[0-9a-f]{16}\.part$/;

/** A folder of phase results, shared by any number of processes. */
export class DiskCache {
  readonly folder: string;
  private readonly limit: number;
  private readonly shelves = new Map<string, Shelf>();
  private wrote = false;

  /**
   * @param limit maximum bytes that remain after a process that wrote something closes the cache
   * @throws DiagnosticError if the folder cannot be created
   */
  constructor(folder: string, limit = USUAL_LIMIT) {
    this.folder = folder;
    this.limit = limit;
    // All processes and threads of this user name results alike, and nobody else can.
    keyHashes(hashKey());
    try {
      makeFolders(join(folder, codeHash()));
    } catch (e) {
      throw fileError(folder, `cannot keep results there: ${reason(e)}`, [
        '--cache names a folder, or one to make',
      ]);
    }
  }

  /** The results for one input; `isa` is the instruction set for which it was lowered. */
  shelf(inputKey: string, isa: Isa): Shelf {
    const name = hashText(`${inputKey}|${isa.hash}`);
    let s = this.shelves.get(name);
    if (s === undefined) {
      s = new Shelf(join(this.folder, codeHash(), name), isa);
      this.shelves.set(name, s);
    }
    return s;
  }

  /** Writes the collected results of a shelf and drops the shelf from memory. */
  release(shelf: PrefixCache | undefined): void {
    for (const [name, s] of this.shelves) {
      if (s !== shelf) continue;
      s.flush();
      this.wrote ||= s.wrote;
      this.shelves.delete(name);
    }
  }

  /** Writes all collected results, and removes the least recently used batches if the limit is exceeded. */
  close(): void {
    for (const s of [...this.shelves.values()]) this.release(s);
    if (this.wrote) this.evict();
    this.wrote = false;
  }

  private evict(): void {
    const now = Date.now();
    const batches = filesBelow(this.folder).filter((path) => {
      if (!path.endsWith('.part')) return true;
      tried(() => {
        if (now - statSync(path).mtimeMs > LEFT_OVER_MS) rmSync(path);
      });
      return false;
    });
    const limits = { bytes: this.limit, files: Number.POSITIVE_INFINITY };
    // `rmdirSync` removes only empty folders.
    evict(batches, limits, (path) => tried(() => rmdirSync(dirname(path))));
  }
}

/** True if a path is a folder and not a link to one. */
const isFolder = (path: string): boolean => tried(() => lstatSync(path))?.isDirectory() === true;

/** The key that the seal of a batch covers: the names of its folders, which are hashes of the code and of the input. */
const aboutOf = (folder: string): string => `${basename(dirname(folder))}/${basename(folder)}`;

/** The content of a batch file; undefined if it cannot be read or this user has not written it. */
export function readBatch(path: string): Uint8Array | undefined {
  return tried(() => {
    // Opening a pipe would block until it has a writer.
    const seen = lstatSync(path);
    if (!seen.isFile() || seen.size > MOST_BYTES.input) return undefined;
    return unsealed(readFileSync(path), aboutOf(dirname(path)));
  });
}

/** Batch files of all inputs, and temporary files. Other files are ignored. */
function filesBelow(folder: string): string[] {
  return namesIn(folder)
    .filter((c) => FOLDER.test(c) && isFolder(join(folder, c)))
    .flatMap((c) =>
      namesIn(join(folder, c))
        .filter((i) => FOLDER.test(i) && isFolder(join(folder, c, i)))
        .flatMap((i) =>
          namesIn(join(folder, c, i))
            .filter((f) => BATCH_FILE.test(f) || PART_FILE.test(f))
            .map((f) => join(folder, c, i, f)),
        ),
    );
}

/** The results for one input: those that were on disk at the first access, and those of this process. */
export class Shelf implements PrefixCache {
  /** True once a batch was written. */
  wrote = false;
  private readonly folder: string;
  private readonly isa: Isa;
  private readonly memory = new MemoryCache();
  private readonly fresh = new Map<string, CacheEntry>();
  private loaded = false;

  constructor(folder: string, isa: Isa) {
    this.folder = folder;
    this.isa = isa;
  }

  get(key: string): CacheEntry | undefined {
    if (!this.loaded) this.load();
    return this.memory.get(key) ?? this.fresh.get(key);
  }

  set(key: string, entry: CacheEntry): void {
    if (!this.loaded) this.load();
    this.memory.set(key, entry);
    this.fresh.set(key, entry);
    if (this.fresh.size >= BATCH) this.flush();
  }

  /** Writes the results found since the last write. */
  flush(): void {
    if (this.fresh.size === 0) return;
    if (tried(() => this.write(this.fresh)) !== undefined) this.wrote = true;
    this.fresh.clear();
  }

  private load(): void {
    this.loaded = true;
    if (!this.isThere()) return;
    const names = namesIn(this.folder).filter((f) => BATCH_FILE.test(f));
    const all = new Map<string, CacheEntry>();
    const read: string[] = [];
    for (const path of names.map((f) => join(this.folder, f))) {
      const bytes = readBatch(path);
      const batch = bytes === undefined ? null : unpackBatch(bytes, this.isa);
      if (batch === null) continue;
      read.push(path);
      for (const [key, entry, weight] of batch) {
        const merged = joined(all.get(key), entry);
        all.set(key, merged);
        this.memory.set(key, merged, weight);
      }
    }
    if (read.length >= MANY && tried(() => this.write(all)) !== undefined) {
      for (const path of read) tried(() => rmSync(path));
      return;
    }
    for (const path of read) used(path);
  }

  /** True if the folder exists and neither it nor its parent is a link. */
  private isThere(): boolean {
    return isFolder(dirname(this.folder)) && isFolder(this.folder);
  }

  private write(entries: ReadonlyMap<string, CacheEntry>): true | undefined {
    const bytes = sealed(packBatch(entries, this.isa), aboutOf(this.folder));
    const path = join(this.folder, `${randomBytes(8).toString('hex')}.orc`);
    makeFolders(this.folder);
    if (!this.isThere()) return undefined;
    writeReplacing(path, bytes);
    return true;
  }
}

/** Merges two entries of one key: the union of lists of reads, or, of two results, one that was verified. */
function joined(a: CacheEntry | undefined, b: CacheEntry): CacheEntry {
  if (a === undefined || a.kind !== b.kind) return b;
  if (a.kind === 'result') return b.kind === 'result' && a.verified === 'no' ? b : a;
  const lists = new Map([...a.lists, ...(b as ReadLists).lists].map((l) => [l.join('\n'), l]));
  return { kind: 'reads', lists: [...lists.values()] };
}
