import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { didYouMean } from '../ir/diagnostic.ts';
import { heldText } from './node-held.ts';

/*
 * Reads files that a command or another file names, and records them: they are what reproducing the command elsewhere requires.
 */

/** What a file is read as. Inputs belong to one task of a command, specs to all of its tasks. */
type Use = 'input' | 'spec';

const files = new Map<string, Use>();

/**
 * Maximum size of a file in bytes by use; a larger one is a mistake or an attack. The largest shipped spec has 0.1 MB; a YAML text of line
 * breaks only costs 2 seconds and 100 MB of memory per megabyte.
 */
export const MOST_BYTES: Readonly<Record<Use, number>> = { input: 256 * 2 ** 20, spec: 4 * 2 ** 20 };

/** Thrown if a file exists but must not be read. `code` has the form of a system error code. */
export class Unreadable extends Error {
  readonly code: 'ENOTREG' | 'EFBIG' | 'ENOTTEXT' | 'EOUTSIDE' | 'ENAME';
  /** Additional lines for the user. */
  readonly notes: readonly string[];
  constructor(code: Unreadable['code'], message: string, notes: readonly string[] = []) {
    super(message);
    this.code = code;
    this.notes = notes;
  }
}

/** Characters that a file name must not contain, because reports, lists and scripts print it: control characters and line breaks. */
const NO_NAME = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * Contents of a file that a command or another file names, which is recorded (`namedFiles`). It must be a regular file within the size
 * limit of its use. Devices and pipes have no size and may never end, so they are not read.
 *
 * @param size exact number of bytes that it must have; absent: any number
 * @throws system errors as `readFileSync` does, and Unreadable
 */
export function readNamed(path: string, use: Use, size?: number): Buffer {
  const held = heldText(path);
  if (held !== undefined) return Buffer.from(held);
  const bytes = readRegular(path, use, size);
  // Errors quote lines of a file. A file that another file names, or that a link leads to, may be private, so it must look like an input.
  const byOthers = reached.has(resolve(path)) || lstatSync(path).isSymbolicLink();
  if (size === undefined && byOthers && !EXPECTED.test(bytes.toString('latin1')))
    throw new Unreadable('ENOTTEXT', 'it contains neither PTX nor Ori nor a spec');
  if (!files.has(resolve(path))) files.set(resolve(path), use);
  return bytes;
}

/** Like `readNamed`, for a file that is not an input of the command, such as one that the command extends. It is not recorded. */
export function readRegular(path: string, use: Use, size?: number): Buffer {
  if (NO_NAME.test(relative('.', path)))
    throw new Unreadable('ENAME', 'its name contains a control character', ['rename it']);
  // Opening a device may have side effects, so check first; the file may be replaced in between, so check again after opening.
  refuse(statSync(path), use, size);
  const { O_RDONLY, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const seen = fstatSync(file);
    refuse(seen, use, size);
    // Files of the kernel report a size of 0; some never end, and some block.
    return seen.size > 0 ? readFileSync(file) : readToEnd(file, use);
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'EAGAIN')
      throw new Unreadable(
        'ENOTREG',
        'reading it would wait for more to be written: it is not a regular file',
      );
    // The error of reading an open file names no path.
    throw e instanceof Unreadable ? e : Object.assign(e as Error, { path });
  } finally {
    closeSync(file);
  }
}

/** Checks that a file may be read; parameters as for `readNamed`. Folders pass, since reading one fails anyway. @throws Unreadable */
function refuse(seen: Stats, use: Use, size: number | undefined): void {
  if (!seen.isFile() && !seen.isDirectory()) throw new Unreadable('ENOTREG', 'it is not a regular file');
  if (seen.size > MOST_BYTES[use])
    throw new Unreadable(
      'EFBIG',
      `it has ${seen.size} bytes, more than the ${MOST_BYTES[use]} that are read`,
    );
  if (size !== undefined && seen.isFile() && seen.size !== size)
    throw new Unreadable('EFBIG', `it has ${seen.size} bytes, expected ${size}`);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a folder',
  EBUSY: 'it is in use',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'it is larger than a file may be here',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links form a cycle',
};

/** The reason of a system error in words. */
export const reason = (e: unknown): string => {
  const { code, message } = e as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? code ?? message;
};

/** A "did you mean" note with similar names in the folder of a missing file; empty if there are none. */
export function namesLike(file: string): string[] {
  try {
    return didYouMean(basename(file), readdirSync(dirname(file)));
  } catch {
    return [];
  }
}

/** A message for the user that says why a file could not be read. */
export const whyUnread = (e: unknown): string =>
  e instanceof Unreadable ? e.message : `cannot read the file: ${reason(e)}`;

/** Full paths of the files that were read, in order. */
export const namedFiles = (): readonly string[] => [...files.keys()];

/** Clears the record of files at the start of another command. */
export function forgetFiles(): void {
  files.clear();
  reached.clear();
}

/** Full paths that were named by a file and not by the user. */
const reached = new Set<string>();
/** Records that a file, not the user, named a path. */
export const noteReached = (path: string): void => void reached.add(path);

/** Matches text that every PTX module, Ori program, spec and profile contains. */
const EXPECTED = /^[^\S\n\r\u2028\u2029]*\.(?:version|program)\b|\b(?:kind|kernel)["']?\s*:/m;

/** Removes the inputs of earlier tasks from the record at the start of another task. */
export function forgetInputs(): void {
  for (const [path, use] of files) if (use === 'input') files.delete(path);
}

/** Reads standard input to its end. @throws Unreadable if it is larger than an input may be */
export const readStandardInput = (): Buffer => readToEnd(0, 'input', waitForChunk);

/** Reads an open file to its end. @throws Unreadable if it exceeds the limit of its use, and whatever `read` throws */
function readToEnd(
  file: number,
  use: Use,
  read = (into: Buffer): number => readSync(file, into, 0, into.length, null),
): Buffer {
  const parts: Buffer[] = [];
  let total = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(1 << 16);
    const n = read(part);
    if (n === 0) return Buffer.concat(parts);
    total += n;
    if (total > MOST_BYTES[use])
      throw new Unreadable('EFBIG', `it has more than the ${MOST_BYTES[use]} bytes that are read`);
    parts.push(part.subarray(0, n));
  }
}

function waitForChunk(into: Buffer): number {
  for (;;)
    try {
      return readSync(0, into, 0, into.length, null);
    } catch (e) {
      const { code } = e as NodeJS.ErrnoException;
      if (code === 'EOF') return 0;
      // A terminal, or a pipe that nobody has written to yet.
      if (code !== 'EAGAIN') throw e;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
}

/**
 * Maximum number of lines of a text. Positions of lines are kept in lists; V8 ends a process that makes one of more than 2^27 elements, and
 * gives no chance to say why.
 */
const MOST_LINES = 2 ** 25;

/** Number of line breaks, counted up to one more than the maximum. */
function breaksIn(bytes: Uint8Array): number {
  let n = 0;
  for (let at = bytes.indexOf(10); at >= 0 && n <= MOST_LINES; at = bytes.indexOf(10, at + 1)) n++;
  return n;
}

/** Decodes UTF-8. @throws Unreadable with the position of the first invalid byte, or if there are too many lines */
export function decodeText(bytes: Uint8Array): string {
  if (breaksIn(bytes) > MOST_LINES)
    throw new Unreadable('EFBIG', `it has more than the ${MOST_LINES} lines that are read`);
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw new Unreadable('ENOTTEXT', `byte ${nul} is 0: this is not text`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Unreadable('ENOTTEXT', `${placeOfBadByte(bytes)}: write the file in UTF-8`);
  }
}

function placeOfBadByte(bytes: Uint8Array): string {
  let good = 0;
  // Binary search for the longest prefix that can be decoded.
  for (let step = 2 ** Math.ceil(Math.log2(bytes.length + 1)); step >= 1; step /= 2) {
    if (good + step > bytes.length) continue;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, good + step), { stream: true });
      good += step;
    } catch {
      // The prefix contains an invalid byte.
    }
  }
  const line = bytes.subarray(0, good).reduce((n, b) => n + (b === 10 ? 1 : 0), 1);
  return `byte 0x${bytes[good].toString(16)} in line ${line} is not UTF-8`;
}
