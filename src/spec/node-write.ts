import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { discard } from './node-discard.ts';

/*
 * Writes files atomically. Others who can write to the folder cannot redirect the output: the temporary name is unpredictable, and a file
 * that already has it is never opened.
 */

/** Length of the random part of a name, in bytes. */
const RANDOM = 8;

/** Random bytes from the system. Where it has a file of them, node:crypto, which loads slowly, is not needed. */
function unpredictable(): Buffer {
  const bytes = Buffer.alloc(RANDOM);
  try {
    const file = openSync('/dev/urandom', 'r');
    try {
      if (readSync(file, bytes) === RANDOM) return bytes;
    } finally {
      closeSync(file);
    }
  } catch {
    // Not every system has it.
  }
  return randomBytes(RANDOM);
}

/** An unpredictable temporary path in the same folder, from which a file can be renamed to `path`. */
export const asideOf = (path: string): string =>
  join(dirname(path), `.${basename(path).slice(0, 200)}.${unpredictable().toString('hex')}.part`);

/**
 * Creates a folder and its missing parents. `mkdirSync` with `recursive` does not terminate where the system refuses to create a folder and
 * reports its parent as missing, as in /proc (Node 20).
 *
 * @param mode permissions of each created folder; absent: the defaults
 * @throws system errors, as `mkdirSync` does
 */
export function makeFolders(path: string, mode?: number): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolders(above, mode);
  try {
    mkdirSync(path, mode === undefined ? {} : { mode });
  } catch (e) {
    // Another thread or process may just have created it.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw e;
  }
}

/** Permissions of a file that only its owner may read and write. */
export const PRIVATE = 0o600;
/** Default permissions, before the user's mask. */
const USUAL = 0o666;

/**
 * Creates a new file. Fails if the path exists, even as a link.
 *
 * @param mode permissions regardless of the user's mask; absent: the defaults
 * @throws as `openSync` and `writeFileSync` do; the file is removed again if writing fails
 */
export function writeNew(path: string, content: string | Uint8Array, mode?: number): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? USUAL);
  try {
    try {
      if (mode !== undefined) fchmodSync(file, mode);
      writeFileSync(file, content);
    } finally {
      // Closing may fail too, for what the system has not written yet; the descriptor is free then all the same.
      closeSync(file);
    }
  } catch (e) {
    discard(path);
    throw e;
  }
}

/**
 * Creates or replaces a file or folder atomically: `make` builds it under a temporary name in the same folder, which is then renamed. A
 * link is replaced, not followed.
 *
 * @throws as `make` and `renameSync` do; the temporary file is removed then
 */
export function replaceWhole(path: string, make: (aside: string) => void): void {
  const aside = asideOf(path);
  try {
    make(aside);
    renameSync(aside, path);
  } catch (e) {
    discard(aside);
    throw e;
  }
}

/** Writes a file atomically; parameters and errors as for `writeNew` and `replaceWhole`. */
export const writeReplacing = (path: string, content: string | Uint8Array, mode?: number): void =>
  replaceWhole(path, (aside) => writeNew(aside, content, mode));
