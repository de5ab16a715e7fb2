import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { nearest } from '../ir/diagnostic.ts';
import { failWith, rememberText } from './ui.ts';

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
};

const reason = (e: unknown): string => {
  const { code, message } = e as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? code ?? message;
};

/** Names of a missing file's folder that are like it. */
function namesLike(file: string): string[] {
  try {
    const near = nearest(basename(file), readdirSync(dirname(file)));
    return near.length > 0 ? [`did you mean ${near.map((n) => `'${n}'`).join(' or ')}?`] : [];
  } catch {
    return [];
  }
}

/**
 * Text of an input file, kept for the frames of diagnostics. A file that cannot be read, or that is no text, ends the
 * command with one error.
 */
export function readText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (e) {
    const missing = (e as NodeJS.ErrnoException).code === 'ENOENT';
    failWith(`cannot read ${file}: ${reason(e)}`, ...(missing ? namesLike(file) : []));
  }
  // A text has no NUL; what follows the last one may be padding.
  const end = bytes.indexOf(0);
  if (end >= 0 && bytes.subarray(end).some((b) => b !== 0))
    failWith(
      `${file} is no text file: byte ${end} is 0`,
      'a cubin or fat binary holds no PTX text; `cuobjdump -ptx` writes out what it carries',
    );
  const text = bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
  rememberText(file, text);
  return text;
}

/** Makes a folder and those above it. Node's own way does not end where a file system refuses without a reason. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  mkdirSync(folder);
}

/** Writes a file whole or not at all. A file that cannot be written ends the command with one error. */
export function writeWhole(file: string, text: string): void {
  const aside = `${resolve(file)}.${process.pid}.part`;
  try {
    makeFolder(dirname(aside));
    writeFileSync(aside, text);
    renameSync(aside, file);
  } catch (e) {
    if (existsSync(aside)) rmSync(aside);
    failWith(`cannot write ${file}: ${reason(e)}`);
  }
}
