import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';
import { fileWord } from '../ir/quote.ts';
import { ROOT } from './node-cache.ts';
import { noteReached, Unreadable } from './node-files.ts';

/*
 * Decides which paths a file may name. Input files may come from others, so a path that one names is read only inside of certain folders:
 * the folder of the naming file, the project (the git repository that the command runs in, or else the current folder), and Orrery itself.
 * Hidden files and folders in them (`.git`, `.ssh`) are out of reach, and so are targets of links outside. Outputs may be written to the
 * same folders except Orrery itself, since a change there would affect later commands.
 */

/** Environment variable with further allowed folders, separated as in PATH; `--allow-path` adds to it. */
export const ALLOWED = 'ORRERY_ALLOW_PATH';

/** Allows further folders for this process and the processes that it starts. */
export function allowPaths(folders: readonly string[]): void {
  const before = process.env[ALLOWED] ?? '';
  const all = [...(before === '' ? [] : [before]), ...folders.map((f) => resolve(f))];
  if (folders.length > 0) process.env[ALLOWED] = all.join(delimiter);
}

/** Number of links in a row that systems follow (Linux: path_resolution(7)). */
const MOST_LINKS = 40;

/**
 * A path with all links resolved as the system resolves them. For a path that does not exist, the links of its existing ancestors are
 * resolved, and those that lead to a place where nothing is yet.
 */
export function realPath(path: string, left = { links: MOST_LINKS }): string {
  const full = resolve(path);
  try {
    // In a link to `a/../b`, `..` is the folder above that which `a` leads to. `realpathSync` takes it for the one that `a` is in.
    return realpathSync.native(full);
  } catch {
    const above = dirname(full);
    if (above === full) return full;
    const real = realPath(above, left);
    const to = linkAt(full);
    if (to === null || left.links-- <= 0) return join(real, basename(full));
    let at = isAbsolute(to) ? parse(to).root : real;
    for (const part of to.split(sep)) at = part === '..' ? dirname(at) : realPath(join(at, part), left);
    return at;
  }
}

/** The target of a link as written; null if the path is not a link. */
function linkAt(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

/** The relative path from a folder to a path inside of it; null if the path is outside. */
function wayIn(folder: string, path: string): string | null {
  const way = relative(folder, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? null : way;
}

/** True if a path is a folder or inside of it. Both must be free of links. */
export const isWithin = (folder: string, path: string): boolean => wayIn(folder, path) !== null;

const isHidden = (way: string): boolean => way.split(sep).some((part) => part.startsWith('.') && part !== '');

/** Mode bits of shared folders for temporary files, sticky and writable by everyone: anyone may create a `.git` there. */
const SHARED = 0o1002;

/** True for folders that cannot be a project: shared folders, the user's home folder, and the folders that contain it. */
function isEverybodys(folder: string): boolean {
  if (((statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & SHARED) === SHARED) return true;
  try {
    return isWithin(folder, realPath(homedir()));
  } catch {
    // The system defines no home folder.
    return dirname(folder) === folder;
  }
}

/** The folder of the project that the command runs in; null if there is none. */
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

/** Folders whose contents a file in `folder` may name to be read, or a link there may lead to when it is written. */
function reach(folder: string, use: Use): string[] {
  const own = project();
  return [folder, ...(own === null ? [] : [own]), ...(use === 'read' ? [realPath(ROOT)] : [])];
}

/** True if a path, with links resolved, may be read or written on behalf of a file in `folder`. */
function belongs(path: string, folder: string, use: Use = 'read'): boolean {
  const real = realPath(path);
  const allowed = (process.env[ALLOWED] ?? '').split(delimiter).filter((f) => f !== '');
  if (allowed.some((f) => isWithin(realPath(f), real))) return true;
  return reach(realPath(folder), use).some((f) => {
    const way = wayIn(f, real);
    return way !== null && !isHidden(way);
  });
}

/** True if a path itself is not a link; its folders may be. */
const isPlain = (path: string): boolean =>
  realPath(path) === join(realPath(dirname(resolve(path))), basename(resolve(path)));

/** A note with the narrowest `--allow-path` option that allows a path. */
function hint(real: string): string {
  const isFolder = statSync(real, { throwIfNoEntry: false })?.isDirectory() === true;
  return `where it is meant, --allow-path ${fileWord(isFolder ? real : dirname(real))} allows it`;
}

/**
 * The full path of a file that another file names.
 *
 * @param name relative to the folder of `from`, or a full path
 * @param from the naming file
 * @throws Unreadable if the path is out of reach of that file
 */
export function namedPath(name: string, from: string): string {
  const folder = dirname(resolve(from));
  const path = resolve(folder, name);
  // If the naming file is a link, its own folder and the folder of its target both count.
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
 * Checks a file that was found by listing a folder or by a pattern: neither it nor a folder on the way may be a link to an outside place.
 *
 * @throws Unreadable if one is
 */
export function foundIn(folder: string, path: string): void {
  const straight = join(realPath(folder), relative(resolve(folder), resolve(path)));
  if (realPath(path) !== straight && !belongs(path, folder))
    throw new Unreadable('EOUTSIDE', 'it is a link that leads elsewhere', [hint(realPath(path))]);
}

/** True if messages may quote lines of a file that the user named: a link in a folder from others may lead to a private file. */
export const mayShow = (path: string): boolean => isPlain(path) || belongs(path, dirname(resolve(path)));

/** Paths of a process's standard streams, file descriptors and terminal, and of `/dev/null`. */
const STREAM = /^\/dev\/(?:std(?:out|err)|null|tty|fd\/\d+)$|^\/proc\/self\/fd\/\d+$/;

/** True if a path is below `/dev` or `/proc`, or is a link to a stream of this process. */
export const isDevice = (path: string): boolean =>
  /^\/(dev|proc)\//.test(resolve(path)) || STREAM.test(linkAt(resolve(path)) ?? '');

/**
 * Checks a path that a command writes to: if it is a link, its target must be in the folder of the link or in the project.
 * @returns the path with links resolved
 * @throws Unreadable if the target is elsewhere
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
 * Checks that a file that a command writes below a folder of the user's choice stays there: its name comes from elsewhere, and a folder on
 * the way may be a link.
 * @throws Unreadable if it leads outside
 */
export function writtenBelow(folder: string, path: string): void {
  const real = realPath(path);
  if (!isWithin(realPath(folder), real) && !belongs(path, folder, 'write'))
    throw new Unreadable('EOUTSIDE', `it is ${real}, by a link`, [
      'name that folder where it is meant, or remove the link',
    ]);
}
