import { DiskCache } from '../../lab/disk-cache.ts';
import { atEnd } from '../command-state.ts';
import { failWith } from '../terminal/ui.ts';

/** Options of the cache for results of phases. */
export interface CacheOptions {
  readonly cache?: string;
  readonly cacheLimit?: string;
}

const MEGABYTE = 1 << 20;

/** The cache that the options name. Pending results are written however the command ends, unless it is killed. */
export function cacheOf(o: CacheOptions): DiskCache | undefined {
  if (o.cache === undefined) {
    if (o.cacheLimit !== undefined) failWith('--cache-limit needs --cache', '--cache FOLDER names a cache');
    return undefined;
  }
  const megabytes = o.cacheLimit === undefined ? null : Number(o.cacheLimit);
  if (megabytes !== null && !(Number.isFinite(megabytes) && megabytes >= 0))
    failWith(`--cache-limit ${o.cacheLimit} is not a size`, 'it is a number of megabytes');
  const disk = new DiskCache(o.cache, ...(megabytes === null ? [] : [megabytes * MEGABYTE]));
  atEnd(() => disk.close());
  return disk;
}
