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

/*
 * The files that a command reads, directly or through a file that names them: what reproducing it elsewhere needs.
 */

/** Inputs belong to one task of a command, specs to all of its tasks. */
type Use = 'input' | 'spec';

const files = new Map<string, Use>();

/**
 * Most bytes of a file of each use that are read: more is a mistake, or an attack. The largest spec that ships has 0.1 MB; YAML of line
 * breaks alone costs 2 seconds and 100 MB of memory a megabyte.
 */
export const MOST_BYTES: Readonly<Record<Use, number>> = { input: 256 * 2 ** 20, spec: 4 * 2 ** 20 };

/** Why a file is not read although it is there. `code` is what a system error would have. */
export class Unreadable extends Error {
  readonly code: 'ENOTREG' | 'EFBIG' | 'ENOTTEXT' | 'EOUTSIDE' | 'ENAME';
  /** Further lines for people. */
  readonly notes: readonly string[];
  constructor(code: Unreadable['code'], message: string, notes: readonly string[] = []) {
    super(message);
    this.code = code;
    this.notes = notes;
  }
}

/** What no name may hold that reports, lists and scripts print: controls and line breaks. */
const NO_NAME = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * Content of a file that a command names: a regular file, of no more than its use may have. Devices and pipes have no size, and may
 * never end; nothing is read of them.
 *
 * @param size what it must have, where that is known; another is not read
 * @throws as `readFileSync` does, and Unreadable
 */
export function readNamed(path: string, use: Use, size?: number): Buffer {
  const bytes = readRegular(path, use, size);
  // What a file names, or a link leads to, is not told of in errors before it is certain that such a file may be meant.
  const byOthers = reached.has(resolve(path)) || lstatSync(path).isSymbolicLink();
  if (size === undefined && byOthers && !EXPECTED.test(bytes.toString('latin1')))
    throw new Unreadable('ENOTTEXT', 'it holds nothing that a file is named for: no PTX, no Ori, no spec');
  if (!files.has(resolve(path))) files.set(resolve(path), use);
  return bytes;
}

/** The same of a file that is no input of the command, such as one that it goes on to write. */
export function readRegular(path: string, use: Use, size?: number): Buffer {
  if (NO_NAME.test(relative('.', path)))
    throw new Unreadable('ENAME', 'its name holds a control character', ['rename it']);
  // Opening a device may do something; what is there may be another thing a moment later, so that is looked at again.
  refuse(statSync(path), use, size);
  const { O_RDONLY, O_NONBLOCK = 0 } = constants;
  const file = openSync(path, O_RDONLY | O_NONBLOCK);
  try {
    const seen = fstatSync(file);
    refuse(seen, use, size);
    // The kernel's own files say that they are empty: some never end, and some wait.
    return seen.size > 0 ? readFileSync(file) : readToEnd(file, use);
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'EAGAIN')
      throw new Unreadable('ENOTREG', 'it waits for more to be written: it is no regular file');
    // What is read of an open file has no path of its own.
    throw e instanceof Unreadable ? e : Object.assign(e as Error, { path });
  } finally {
    closeSync(file);
  }
}

/** Sees that something is a file that may be read: parameters as for `readNamed`. @throws Unreadable */
function refuse(seen: Stats, use: Use, size: number | undefined): void {
  if (!seen.isFile() && !seen.isDirectory()) throw new Unreadable('ENOTREG', 'it is no regular file');
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
  ENOTDIR: 'a part of the path is no folder',
  EEXIST: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'it is larger than a file may be here',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links lead in a circle',
};

/** Why the system refuses, in words. */
export const reason = (e: unknown): string => {
  const { code, message } = e as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? code ?? message;
};

/** A note with names of a missing file's folder that are like it; none if there are none. */
export function namesLike(file: string): string[] {
  try {
    return didYouMean(basename(file), readdirSync(dirname(file)));
  } catch {
    return [];
  }
}

/** Why a file could not be read, for people. */
export const whyUnread = (e: unknown): string =>
  e instanceof Unreadable ? e.message : `cannot read the file: ${reason(e)}`;

/** Full paths of what was read, in order. */
export const namedFiles = (): readonly string[] => [...files.keys()];

/** Begins another command, which has read nothing yet. */
export function forgetFiles(): void {
  files.clear();
  reached.clear();
}

/** Full paths that a file named, not the user. */
const reached = new Set<string>();
export const noteReached = (path: string): void => void reached.add(path);

/** What a module, a program, a spec or a profile has somewhere. */
const EXPECTED = /^[^\S\n\r\u2028\u2029]*\.(?:version|program)\b|\b(?:kind|kernel)["']?\s*:/m;

/** Begins another task, which does not need the inputs of earlier ones. */
export function forgetInputs(): void {
  for (const [path, use] of files) if (use === 'input') files.delete(path);
}

/** Standard input to its end, no more than an input may have. @throws Unreadable */
export const readStandardInput = (): Buffer => readToEnd(0, 'input', waitForChunk);

/** What is open to its end, no more than its use may have. @throws Unreadable, and as `read` does */
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

/** Text of bytes in UTF-8. @throws Unreadable that says where it is none */
export function decodeText(bytes: Uint8Array): string {
  const nul = bytes.indexOf(0);
  if (nul >= 0) throw new Unreadable('ENOTTEXT', `byte ${nul} is 0: this is no text`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Unreadable('ENOTTEXT', `${placeOfBadByte(bytes)}: write the file in UTF-8`);
  }
}

function placeOfBadByte(bytes: Uint8Array): string {
  let good = 0;
  // The longest beginning that can be decoded, by halves.
  for (let step = 2 ** Math.ceil(Math.log2(bytes.length + 1)); step >= 1; step /= 2) {
    if (good + step > bytes.length) continue;
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, good + step), { stream: true });
      good += step;
    } catch {
      // A fault before there.
    }
  }
  const line = bytes.subarray(0, good).reduce((n, b) => n + (b === 10 ? 1 : 0), 1);
  return `byte 0x${bytes[good].toString(16)} in line ${line} is no UTF-8`;
}
