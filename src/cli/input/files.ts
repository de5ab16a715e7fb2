import { closeSync, constants, existsSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileWord } from '../../ir/quote.ts';
import { containedText, namedModule, type TextOrFault } from '../../lab/contained.ts';
import { shownPath } from '../../spec/node.ts';
import { discard } from '../../spec/node-discard.ts';
import {
  decodeText,
  namedFiles,
  namesLike,
  readNamed,
  readStandardInput,
  reason,
  Unreadable,
} from '../../spec/node-files.ts';
import { isDevice, writtenPath } from '../../spec/node-paths.ts';
import { asideOf, makeFolders, replaceWhole, writeNew } from '../../spec/node-write.ts';
import { CliExit, failWith, rememberText } from '../terminal/ui.ts';
import { roomFault } from './room.ts';
import { situation } from './situation.ts';

/** The file name that stands for standard input and standard output. */
export const STANDARD_INPUT = '-';
export const STANDARD_OUTPUT = '-';

/** Text of an input file, kept for the frames of diagnostics; or the reason why it cannot be read as text. */
export function textOrFault(file: string): TextOrFault {
  let bytes: Buffer;
  const named = namedModule(file);
  try {
    bytes = file === STANDARD_INPUT ? readStandardInput() : readNamed(named.file, 'input');
  } catch (e) {
    if (e instanceof Unreadable)
      return {
        fault: `cannot read ${file}: ${e.message}`,
        notes: e.code === 'ENOTREG' ? ["'-' reads standard input"] : e.notes,
      };
    const missing = (e as NodeJS.ErrnoException).code === 'ENOENT';
    return { fault: `cannot read ${file}: ${reason(e)}`, notes: missing ? namesLike(file) : [] };
  }
  const contained = containedText(named.file, bytes, named.nth);
  if (contained !== null) return typeof contained === 'string' ? remembered(file, contained) : contained;
  // A text has no NUL, except as padding at the end.
  const end = bytes.indexOf(0);
  if (end >= 0 && bytes.subarray(end).some((b) => b !== 0))
    return {
      fault: `${file} is not a text file: byte ${end} is 0`,
      notes: [],
    };
  let text: string;
  try {
    text = decodeText(end < 0 ? bytes : bytes.subarray(0, end));
  } catch (e) {
    return { fault: `${file}: ${(e as Error).message}`, notes: [] };
  }
  if (file === STANDARD_INPUT) situation.stdin = text;
  return remembered(file, text);
}

/** Keeps a text for the frames of diagnostics; or gives the reason why it is too large for this process. */
function remembered(file: string, text: string): TextOrFault {
  const cramped = roomFault(text);
  if (cramped !== null) return { ...cramped, fault: `cannot read ${file}: ${cramped.fault}` };
  rememberText(file, text);
  return text;
}

/** Text of an input file. If it cannot be read, or is not text, the command ends with one error. */
export function readText(file: string): string {
  const text = textOrFault(file);
  if (typeof text !== 'string') failWith(text.fault, ...text.notes);
  return text;
}

/** Makes the folder of a file that a command will write. A failure ends the command with one error. */
export function makeFolderOf(file: string): void {
  try {
    makeFolders(dirname(resolve(file)));
  } catch (e) {
    failWith(`cannot write ${file}: ${refusal(e)}`);
  }
}

/** Why something cannot be written. Here ENOENT means that the file system does not create names. */
const refusal = (e: unknown): string =>
  (e as NodeJS.ErrnoException).code === 'ENOENT' ? 'nothing can be made there' : reason(e);

/**
 * Creates a file or folder completely or not at all: `make` builds it under another name next to it. A failure ends the command with one
 * error.
 */
export function makeWhole(path: string, make: (aside: string) => void): void {
  try {
    // A link stays a link; its target is replaced.
    const target = writtenPath(path);
    makeFolders(dirname(target));
    replaceWhole(target, make);
  } catch (e) {
    refuseToWrite(path, e);
  }
}

/** Ends the command because a file cannot be written. */
function refuseToWrite(path: string, e: unknown): never {
  if (e instanceof Unreadable) failWith(`cannot write ${path}: ${e.message}`, ...e.notes);
  failWith(`cannot write ${path}: ${refusal(e)}`);
}

/** Identity of a file, independent of its name; null if it cannot be determined. */
function identity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return null;
  }
}

/**
 * Ends the command with an error if a file that it is going to write is one of its inputs, by this or another name.
 *
 * @param inputs the files that the command has read, unless others are given
 */
export function keepInputs(
  outputs: readonly (string | undefined)[],
  inputs: readonly string[] = namedFiles(),
): void {
  const inputsByIdentity = new Map(inputs.map((file) => [identity(file), file]));
  for (const output of outputs) {
    if (output === undefined || output === STANDARD_OUTPUT) continue;
    const id = identity(output);
    const input = id === null ? undefined : inputsByIdentity.get(id);
    if (input === undefined) continue;
    const same = resolve(output) === resolve(input);
    failWith(
      `cannot write ${output}: ${same ? 'it is an input' : `it is the same file as the input ${shownPath(input)}`}`,
      'inputs are left as they are: name another place for the result',
    );
  }
}

/**
 * Whether a path is a device, a pipe or a stream of this process, which are written in place: replacing them by a regular file would break
 * the machine. A link to one does not count, except in /dev and /proc.
 */
function isStream(path: string): boolean {
  const known = statSync(path, { throwIfNoEntry: false });
  return known !== undefined && !known.isDirectory() && (!known.isFile() || isDevice(path));
}

/**
 * Writes a file completely or not at all, or writes to a device or pipe. Its folder must exist: a missing one is more often a typo than an
 * intention. It never overwrites an input. A failure ends the command with one error.
 */
export const writeWhole = (file: string, content: string | Uint8Array): void =>
  writeTogether([[file, content]]);

/** Writes several files that belong together: all of them or none. */
export function writeTogether(
  files: readonly (readonly [path: string, content: string | Uint8Array])[],
): void {
  const made: { readonly aside: string; readonly target: string }[] = [];
  let now = '';
  try {
    for (const [file, content] of files) {
      now = file;
      seeFolderOf(file);
      keepInputs([file]);
      if (isStream(file)) {
        if (!isDevice(file)) writtenPath(file);
        writeToStream(file, content);
        continue;
      }
      const target = writtenPath(file);
      const old = statSync(target, { throwIfNoEntry: false });
      if (old?.isDirectory() === true) throw Object.assign(new Error(), { code: 'EISDIR' });
      if (made.some((m) => m.target === target))
        failWith(`cannot write ${file}: it is the same file as another that is written with it`);
      makeFolders(dirname(target));
      const aside = asideOf(target);
      writeNew(aside, content, old === undefined ? undefined : old.mode & 0o777);
      made.push({ aside, target });
    }
    for (const { aside, target } of made) renameSync(aside, target);
  } catch (e) {
    for (const { aside } of made) discard(aside);
    if (e instanceof CliExit) throw e;
    refuseToWrite(now, e);
  }
}

/** How long to wait for a reader of a pipe, and the interval between checks, in milliseconds. */
const [READER_PATIENCE, READER_LOOK] = [5000, 50];

/** Writes to a device or a pipe. */
function writeToStream(file: string, content: string | Uint8Array): void {
  const release = holdPipe(file);
  try {
    writeFileSync(file, content);
  } finally {
    release();
  }
}

/**
 * Opens a pipe that has a reader, or gets one soon, so that it can be written to: opening one without a reader would block forever.
 * Anything that is not a pipe is ignored.
 *
 * @returns a function that closes it again
 */
function holdPipe(file: string): () => void {
  const { O_WRONLY, O_NONBLOCK = 0 } = constants;
  const until = Date.now() + READER_PATIENCE;
  if (statSync(file, { throwIfNoEntry: false })?.isFIFO() !== true) return () => undefined;
  for (;;)
    try {
      const probe = openSync(file, O_WRONLY | O_NONBLOCK);
      return () => closeSync(probe);
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== 'ENXIO') throw e;
      if (Date.now() > until) failWith(`cannot write ${file}: it is a pipe without a reader`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READER_LOOK);
    }
}

/**
 * Checks that a program started by the command may write a file, under the same conditions as the command itself: not through a link to
 * elsewhere, not over an input, and not into a pipe without a reader.
 *
 * @returns a function to call when it has been written
 */
export function seeOutput(file: string, inputs: readonly string[]): () => void {
  try {
    keepInputs([file], inputs);
    if (!isDevice(file)) writtenPath(file);
    return holdPipe(file);
  } catch (e) {
    if (e instanceof CliExit) throw e;
    return refuseToWrite(file, e);
  }
}

/** Ends the command if the folder of a file that it is going to write does not exist. */
function seeFolderOf(file: string): void {
  if (!existsSync(dirname(resolve(file))))
    failWith(
      `cannot write ${file}: there is no folder '${dirname(file)}'`,
      `\`mkdir -p ${fileWord(dirname(file))}\` makes it`,
    );
}
