import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileWord } from '../ir/quote.ts';
import { ROOT } from './node-cache.ts';
import { noteReached, Unreadable } from './node-files.ts';

/*
 * Which files a file may name. Files come from others, so what they name is read only where it belongs to them or to what the user works
 * on: in the folder of the file that names it and below, in the project (the git repository, or else the folder, that the command runs
 * in), and in Orrery itself. Hidden files and folders (`.git`, `.ssh`) of those are out of reach, and so is what a link leads to outside.
 * What is written may stand in the same places but Orrery itself: whoever changed that would say what later commands do.
 */

/** Folders that files may name things in beside, separated as in PATH: what `--allow-path` adds to. */
export const ALLOWED = 'ORRERY_ALLOW_PATH';

/** Has this command, and what it starts, allow folders too. */
export function allowPaths(folders: readonly string[]): void {
  const before = process.env[ALLOWED] ?? '';
  const all = [...(before === '' ? [] : [before]), ...folders.map((f) => resolve(f))];
  if (folders.length > 0) process.env[ALLOWED] = all.join(delimiter);
}

/** A path without links. What is not there yet is where its folder is. */
export function realPath(path: string): string {
  const full = resolve(path);
  try {
    return realpathSync(full);
  } catch {
    const above = dirname(full);
    if (above === full) return full;
    // A link that leads nowhere leads there all the same.
    const to = linkAt(full);
    return to === null ? join(realPath(above), basename(full)) : resolve(realPath(above), to);
  }
}

/** What a link says; null for what is none. */
function linkAt(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

/** The way from a folder to what is in it; null for what is not. */
function wayIn(folder: string, path: string): string | null {
  const way = relative(folder, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? null : way;
}

/** Whether a path is a folder or in it, both without links. */
export const isWithin = (folder: string, path: string): boolean => wayIn(folder, path) !== null;

const isHidden = (way: string): boolean => way.split(sep).some((part) => part.startsWith('.') && part !== '');

/** Sticky, and open to everybody's writing: folders for temporary files, in which anybody may put a `.git`. */
const SHARED = 0o1002;

/** Folders that hold all that a user has, or what several users have, are no project. */
function isEverybodys(folder: string): boolean {
  if (((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & SHARED) === SHARED) return true;
  try {
    return isWithin(folder, realPath(homedir()));
  } catch {
    // The system names no home.
    return dirname(folder) === folder;
  }
}

/** The folder of the project that the command runs in; null where it runs in none. */
function project(): string | null {
  const here = realPath('.');
  for (let folder = here; ; folder = dirname(folder)) {
    if (isEverybodys(folder)) return isEverybodys(here) ? null : here;
    try {
      lstatSync(join(folder, '.git'));
      return folder;
    } catch {
      if (dirname(folder) === folder) return here;
    }
  }
}

/** What is done with a file. */
type Use = 'read' | 'write';

/** Folders in which a file of one may name things to read, or a link in it lead to what is written. */
function reach(folder: string, use: Use): string[] {
  const own = project();
  return [folder, ...(own === null ? [] : [own]), ...(use === 'read' ? [realPath(ROOT)] : [])];
}

/** Whether what is at a path belongs to a folder, or to what the user works on. */
function belongs(path: string, folder: string, use: Use = 'read'): boolean {
  const real = realPath(path);
  const allowed = (process.env[ALLOWED] ?? '').split(delimiter).filter((f) => f !== '');
  if (allowed.some((f) => isWithin(realPath(f), real))) return true;
  return reach(realPath(folder), use).some((f) => {
    const way = wayIn(f, real);
    return way !== null && !isHidden(way);
  });
}

/** Whether a path is no link, whatever its folder is. */
const isPlain = (path: string): boolean =>
  realPath(path) === join(realPath(dirname(resolve(path))), basename(resolve(path)));

/** What allows a path, and as little else as can be. */
function hint(real: string): string {
  const isFolder = statSync(real, { throwIfNoEntry: false })?.isDirectory() === true;
  return `where it is meant, --allow-path ${fileWord(isFolder ? real : dirname(real))} allows it`;
}

/**
 * The path of a file that another names, relative to that one.
 *
 * @param from the file that names it
 * @throws Unreadable where it is out of reach of that file
 */
export function namedPath(name: string, from: string): string {
  const folder = dirname(resolve(from));
  const path = resolve(folder, name);
  // The folder of a file that is itself a link is where it is, and where it leads.
  if (!belongs(path, folder) && !belongs(path, dirname(realPath(from))))
    throw new Unreadable(
      'EOUTSIDE',
      'it is neither in the folder of the file that names it nor in the project',
      [hint(realPath(path))],
    );
  noteReached(path);
  return path;
}

/**
 * Sees that a file that was found in a folder, or by a pattern, is not elsewhere by a link: in its own place, or in that of a folder on the
 * way.
 *
 * @throws Unreadable
 */
export function foundIn(folder: string, path: string): void {
  const straight = join(realPath(folder), relative(resolve(folder), resolve(path)));
  if (realPath(path) !== straight && !belongs(path, folder))
    throw new Unreadable('EOUTSIDE', 'it is a link that leads elsewhere', [hint(realPath(path))]);
}

/** Whether lines of a file that the user named may be shown: a link in a folder from others may lead to what is nobody's business. */
export const mayShow = (path: string): boolean => isPlain(path) || belongs(path, dirname(resolve(path)));

/** Streams of a process, and what takes everything, by their names. */
const STREAM = /^\/dev\/(?:std(?:out|err)|null|tty|fd\/\d+)$|^\/proc\/self\/fd\/\d+$/;

/** Whether a path is a device by its name, or a link to a stream of this process. */
export const isDevice = (path: string): boolean =>
  /^\/(dev|proc)\//.test(resolve(path)) || STREAM.test(linkAt(resolve(path)) ?? '');

/**
 * Sees that a link which a command would write through leads to what belongs to its folder or the project.
 * @returns the path without links
 * @throws Unreadable
 */
export function writtenPath(path: string): string {
  const real = realPath(path);
  if (linkAt(resolve(path)) !== null && !belongs(path, dirname(resolve(path)), 'write'))
    throw new Unreadable('EOUTSIDE', `it is a link to ${real}`, [
      'name that where it is meant, or remove the link',
    ]);
  return real;
}

/**
 * Sees that a file which a command would write below a folder that the user named stays there: its name comes from elsewhere, and a link
 * may stand in the place of a folder on the way.
 * @throws Unreadable
 */
export function writtenBelow(folder: string, path: string): void {
  const real = realPath(path);
  if (!isWithin(realPath(folder), real) && !belongs(path, folder, 'write'))
    throw new Unreadable('EOUTSIDE', `it is ${real}, by a link`, [
      'name that folder where it is meant, or remove the link',
    ]);
}
