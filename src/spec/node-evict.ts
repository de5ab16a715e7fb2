import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';

/*
 * What caches on disk share: they are used by several processes at a time, and nothing that goes wrong there is worth more than time.
 */

/** The result of `f`; undefined if the system refuses the operation. */
export function tried<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === undefined) throw e;
    return undefined;
  }
}

/** Names of what is in a folder; none where it cannot be read. */
export const namesIn = (folder: string): string[] => tried(() => readdirSync(folder)) ?? [];

/** The time of use of a file is updated only after this long, in milliseconds. */
const USED_MS = 60_000;

/** Notes that a file is used now. */
export function used(path: string): void {
  const now = new Date();
  tried(() => {
    if (now.getTime() - statSync(path).mtimeMs > USED_MS) utimesSync(path, now, now);
  });
}

/** What a cache may hold. */
export interface Limits {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Removes the files that have not been used for the longest time, until the rest is within the limits.
 * @param removed is called with the path of each
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
