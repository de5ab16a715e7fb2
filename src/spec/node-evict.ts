import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';

/*
 * Helpers for caches on disk. Several processes use them at a time, and a failure must only cost time, so system errors are ignored.
 */

/** The result of `f`; undefined if it throws a system error, that is, one with a `code`. Other errors pass through. */
export function tried<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === undefined) throw e;
    return undefined;
  }
}

/** Names of the entries of a folder; empty if it cannot be read. */
export const namesIn = (folder: string): string[] => tried(() => readdirSync(folder)) ?? [];

/** A file's time of last use is updated at most this often, in milliseconds. */
const USED_MS = 60_000;

/** Marks a file as used now. */
export function used(path: string): void {
  const now = new Date();
  tried(() => {
    if (now.getTime() - statSync(path).mtimeMs > USED_MS) utimesSync(path, now, now);
  });
}

/** Maximum size of a cache. */
export interface Limits {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Removes the least recently used files until the rest is within the limits.
 * @param removed is called with the path of each removed file
 */
export function evict(
  paths: readonly string[],
  limits: Limits,
  removed: (path: string) => void = () => undefined,
): void {
  const found = paths.flatMap((path) => {
    const s = tried(() => statSync(path));
    return s === undefined ? [] : [{ path, size: s.size, used: s.mtimeMs }];
  });
  let bytes = found.reduce((sum, f) => sum + f.size, 0);
  let files = found.length;
  if (bytes <= limits.bytes && files <= limits.files) return;
  found.sort((a, b) => a.used - b.used || (a.path < b.path ? -1 : 1));
  for (const { path, size } of found) {
    if (bytes <= limits.bytes && files <= limits.files) return;
    tried(() => rmSync(path));
    bytes -= size;
    files--;
    removed(path);
  }
}
