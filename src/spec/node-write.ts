import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { discard } from './node-discard.ts';

/*
 * Files appear whole or not at all, and nobody who can write into a folder decides what is written to: the name under which a file is
 * made cannot be foreseen, and nothing that has it already is opened.
 */

/** Where something that is to have a path is made: beside it, under a name that nobody can foresee. */
export const asideOf = (path: string): string =>
  join(dirname(path), `.${basename(path).slice(0, 200)}.${randomBytes(8).toString('hex')}.part`);

/**
 * Makes a folder, and those above it that are not there. `mkdirSync` with `recursive` never ends where the system takes no folder and
 * says that the one above is missing, as in /proc (Node 20).
 *
 * @param mode permissions of each that is made; absent: the usual ones
 */
export function makeFolders(path: string, mode?: number): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolders(above, mode);
  try {
    mkdirSync(path, mode === undefined ? {} : { mode });
  } catch (e) {
    // Another thread or process has just made it.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw e;
  }
}

/** Permissions of a file that only its user may read. */
export const PRIVATE = 0o600;
/** Permissions of others, less what the user's mask takes away. */
const USUAL = 0o666;

/**
 * Makes a new file that nothing has the name of, and nothing is a link to.
 *
 * @param mode its permissions, whatever the user's mask; absent: the usual ones
 * @throws as `openSync` and `writeSync` do; nothing is left of it then
 */
export function writeNew(path: string, content: string | Uint8Array, mode?: number): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode ?? USUAL);
  try {
    if (mode !== undefined) fchmodSync(file, mode);
    writeFileSync(file, content);
    closeSync(file);
  } catch (e) {
    // Closing it again may be what failed.
    discard(path);
    throw e;
  }
}

/**
 * Makes a file or folder whole, or not at all: `make` builds it under another name beside it, and it takes the place of what has the path
 * now. A link is replaced, not followed.
 *
 * @throws as `make` and `renameSync` do; nothing is left of it then
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

/** Writes a file whole, or not at all; parameters and errors as for `writeNew` and `replaceWhole`. */
export const writeReplacing = (path: string, content: string | Uint8Array, mode?: number): void =>
  replaceWhole(path, (aside) => writeNew(aside, content, mode));
