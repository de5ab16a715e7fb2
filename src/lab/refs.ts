import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { fileError } from '../ir/diagnostic.ts';
import { visible } from '../ir/quote.ts';
import type { SpecFile, SpecKind } from '../spec/document.ts';
import {
  isShipped,
  loadShipped,
  loadSpec,
  ROOT,
  shippedFiles,
  shownPath,
  specOf,
  specsFromTexts,
} from '../spec/node.ts';
import { decodeText, MOST_BYTES, readRegular, Unreadable, whyUnread } from '../spec/node-files.ts';
import { foundIn, isWithin } from '../spec/node-paths.ts';
import type { Specs } from '../spec/resolve.ts';

/** What stands before the hash of a submodule in `objectsIn`. */
export const SUBMODULE = 'submodule';

/** Maximum size of git's output in bytes. */
const MOST_OUTPUT = 1 << 28;

const fail = (message: string, notes: readonly string[] = []): never => {
  throw fileError('', message, notes);
};

/** The error for output of git that is too large; the repository may be somebody else's. */
const tooMuch = (): never =>
  fail(`git gives more than the ${MOST_OUTPUT} bytes that are read`, [
    'the commit holds files that are too large',
  ]);

const noGit = (): never => fail('git cannot be run', ['a ref needs git on PATH']);

/** Settings that take precedence over those of a repository. */
const SETTINGS = ['core.fsmonitor=false', 'safe.bareRepository=explicit'].flatMap((s) => ['-c', s]);

/**
 * Runs git on a repository that may come from somebody else. Its configuration can name remotes and commands to run, so nothing is fetched,
 * and embedded bare repositories (folders with files such as HEAD and config) are not used. Objects are read as they are: a replacement
 * (`git replace`) would show another commit under the hash of the one that is asked for.
 */
const runGit = (folder: string, args: readonly string[], input?: string) =>
  spawnSync('git', [...SETTINGS, ...args], {
    cwd: folder,
    input,
    maxBuffer: MOST_OUTPUT,
    env: {
      ...process.env,
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_NO_LAZY_FETCH: '1',
      GIT_NO_REPLACE_OBJECTS: '1',
      GIT_OPTIONAL_LOCKS: '0',
    },
  });

function git(folder: string, args: readonly string[], input?: string): Buffer | null {
  const r = runGit(folder, args, input);
  if (r.error !== undefined)
    return (r.error as NodeJS.ErrnoException).code === 'ENOBUFS' ? tooMuch() : noGit();
  return r.status === 0 ? r.stdout : null;
}

const hasSpecs = (folder: string): boolean => existsSync(join(folder, 'pipelines', 'phases.yaml'));

/**
 * The repository with the specs: that of the current folder if it has specs, otherwise Orrery's own.
 * @returns its top folder; null if neither has specs, or git cannot be run
 */
function specRepository(): string | null {
  for (const folder of [process.cwd(), ROOT]) {
    const r = runGit(folder, ['rev-parse', '--show-toplevel']);
    // Not `trim`: the name of a folder may end with spaces.
    const top = r.status === 0 ? r.stdout.toString().replace(/\r?\n$/, '') : '';
    // Its configuration may say that the working tree is another folder (core.worktree).
    const isAbove = top !== '' && isWithin(realpathSync(top), realpathSync(folder));
    if (isAbove && existsSync(join(top, '.git')) && hasSpecs(top)) return top;
  }
  return null;
}

function repository(): string {
  const top = specRepository();
  if (top !== null) return top;
  if (spawnSync('git', ['--version']).error !== undefined) return noGit();
  return fail('there is no git repository with specs here', [
    'a ref names a commit of the repository that holds pipelines/phases.yaml',
  ]);
}

/**
 * The working tree of the repository in which refs are looked up, as a place for `specsOfPlace`; undefined if it is this installation.
 */
export function foreignWorkingTree(): string | undefined {
  const top = specRepository();
  return top === null || realpathSync(top) === realpathSync(ROOT) ? undefined : top;
}

/**
 * What stands at a place, by path: hashes of contents as git makes them.
 *
 * @param place folder or commit, as for `specsOfPlace`
 * @param names paths of the files and folders of a folder that count; null: all
 * @returns null for all of a folder, which may hold anything beside what is versioned
 * @throws DiagnosticError where the place is no commit, or a file cannot be read
 */
export function objectsIn(
  place: string,
  names: readonly string[] | null,
): ReadonlyMap<string, string> | null {
  const top = specRepository();
  if (isFolderPlace(place)) {
    if (names === null) return null;
    const format = top === null ? null : git(top, ['rev-parse', '--show-object-format']);
    const algorithm = format?.toString().trim() === 'sha256' ? 'sha256' : 'sha1';
    return new Map(names.flatMap((name) => filesBelow(place, name, algorithm)));
  }
  const own = top ?? repository();
  const found = new Map<string, string>();
  for (const { path, mode, hash } of treeOf(own, commitOf(own, place), [])) {
    const object = mode in NO_FILES ? `${NO_FILES[mode]} ${hash}` : hash;
    // Names that are not UTF-8 may read the same.
    found.set(path, found.has(path) ? `${found.get(path)} ${object}` : object);
  }
  return found;
}

/** What a tree of git may hold beside files, by its mode. */
const NO_FILES: Readonly<Record<string, string>> = { 120000: 'link', 160000: SUBMODULE };

/** An entry of a tree of git. */
interface Entry {
  readonly path: string;
  readonly mode: string;
  readonly hash: string;
}

/**
 * Checks that an entry of a commit is a file. A checkout reads what a link leads to, and git gives the text of the link, which can be a
 * spec itself.
 *
 * @throws DiagnosticError if it is a link or a submodule
 */
function checkFile({ path, mode }: Entry, ref: string): void {
  if (mode in NO_FILES)
    fail(`'${visible(path)}' of commit '${ref}' is a ${NO_FILES[mode]}`, ['specs of a commit are files']);
}

/** All files that a commit has at paths and below them; no paths: all that it has. @throws DiagnosticError if git cannot say it */
function treeOf(top: string, commit: string, paths: readonly string[]): Entry[] {
  const listed = git(top, ['ls-tree', '-r', '-z', commit, '--', ...paths]);
  if (listed === null) return fail(`git cannot list the files of commit ${commit}`);
  return listed
    .toString()
    .split('\0')
    .flatMap((row) => {
      const [, mode, hash, path] = /^(\d+) \w+ (\w+)\t([\s\S]*)$/.exec(row) ?? [];
      return path === undefined ? [] : [{ path, mode, hash }];
    });
}

/**
 * Files of a folder with the hashes that git gives to their unfiltered contents. Git itself would first run the filters of the repository,
 * which are programs.
 */
function filesBelow(place: string, path: string, algorithm: string): [path: string, hash: string][] {
  const full = join(place, path);
  const seen = lstatSync(full, { throwIfNoEntry: false });
  const hashOf = (content: Buffer): string =>
    createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex');
  if (seen === undefined) return [];
  if (seen.isSymbolicLink()) return [[path, `link ${hashOf(readlinkSync(full, { encoding: 'buffer' }))}`]];
  if (seen.isDirectory())
    return readdirSync(full).flatMap((f) => filesBelow(place, `${path}/${f}`, algorithm));
  try {
    return [[path, hashOf(readRegular(full, 'input'))]];
  } catch (e) {
    throw fileError(shownPath(full), whyUnread(e));
  }
}

/** Hash of the commit that a ref names; null if it names none. */
function commitNamed(top: string, ref: string): string | null {
  // `--end-of-options`: a ref may begin with a dash.
  const commit = git(top, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]);
  return commit === null ? null : commit.toString().trim();
}

/** Like `commitNamed`. @throws DiagnosticError if the ref names no commit */
const commitOf = (top: string, ref: string): string =>
  commitNamed(top, ref) ??
  fail(`'${ref}' names no commit in ${shownPath(top)}`, ['a branch, a tag, HEAD~1 or a hash does']);

/**
 * The specs of a commit. The current code parses and runs them.
 * @throws DiagnosticError if the ref does not exist, or this code cannot read its specs
 */
export async function specsAt(ref: string): Promise<Specs> {
  const top = repository();
  const hash = commitOf(top, ref);
  const entries = treeOf(top, hash, ['pipelines', 'knobs']);
  for (const e of entries) if (!e.path.endsWith('.md')) checkFile(e, ref);
  const specs = entries.filter((e) => isShipped(e.path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const odd = specs.find(({ path }) => visible(path) !== path);
  if (odd !== undefined) return fail(`commit '${ref}' holds a spec that is called '${visible(odd.path)}'`);
  const blobs = git(top, ['cat-file', '--batch'], `${specs.map((e) => e.hash).join('\n')}\n`);
  if (specs.length === 0 || blobs === null) return fail(`commit '${ref}' holds no specs`);
  const files: { file: string; text: string }[] = [];
  let at = 0;
  for (const { path, hash: object } of specs) {
    const end = blobs.indexOf(10, at);
    const [name, type, bytes] = blobs.toString('utf8', at, end).split(' ');
    if (name !== object || type !== 'blob')
      return fail(`'${path}' of commit '${ref}' is not in ${shownPath(top)}`, [
        'a partial clone has not fetched it, and nothing is fetched here: `git fetch --refetch --no-filter` does',
      ]);
    const size = Number(bytes);
    if (size > MOST_BYTES.spec)
      return fail(
        `'${path}' of commit '${ref}' has ${size} bytes, more than the ${MOST_BYTES.spec} that are read`,
      );
    const file = `${ref}:${path}`;
    files.push({ file, text: textOf(file, blobs.subarray(end + 1, end + 1 + size)) });
    at = end + 1 + size + 1;
  }
  return specsFromTexts(files);
}

/** A text as a file with these bytes would be read. @throws DiagnosticError if it is not UTF-8 */
function textOf(file: string, bytes: Uint8Array): string {
  try {
    return decodeText(bytes);
  } catch (e) {
    if (!(e instanceof Unreadable)) throw e;
    throw fileError(file, e.message, e.notes);
  }
}

/**
 * The text of a file at a place; null if there is none.
 *
 * @param place folder or commit, as for `specsOfPlace`
 * @throws DiagnosticError if it exists and cannot be read, or is a link out of the folder, which may be somebody else's
 */
export function textInPlace(place: string, name: string): string | null {
  if (isFolderPlace(place)) {
    const path = join(place, name);
    if (!existsSync(path)) return null;
    try {
      foundIn(place, path);
      return readRegular(path, 'input').toString();
    } catch (e) {
      throw fileError(path, whyUnread(e));
    }
  }
  const top = repository();
  const entry = treeOf(top, commitOf(top, place), [name]).find((e) => e.path === name);
  if (entry === undefined) return null;
  checkFile(entry, place);
  return git(top, ['cat-file', 'blob', entry.hash])?.toString() ?? null;
}

const isFolder = (place: string): boolean => existsSync(place) && statSync(place).isDirectory();

/** True for paths that cannot be refs: full paths, and those that begin with `.` or `..`. */
const isPath = (place: string): boolean => isAbsolute(place) || /^\.\.?(?:[/\\]|$)/.test(place);

/**
 * True if a place is a folder and not a commit. A working tree of somebody else may contain a folder with specs whose name is that of the
 * commit to compare with, so an ambiguous name is an error.
 *
 * @throws DiagnosticError if a name is both a commit and a folder with specs
 */
function isFolderPlace(place: string): boolean {
  if (!isFolder(place)) return false;
  const top = isPath(place) ? null : specRepository();
  if (top === null || commitNamed(top, place) === null) return true;
  if (!hasSpecs(place)) return false;
  return fail(`'${place}' is a commit in ${shownPath(top)}, and a folder with specs here`, [
    `'./${place}' is the folder, and '${place}^{commit}' the commit`,
  ]);
}

/**
 * A spec at a place; null if there is none.
 *
 * @param place folder or commit, as for `specsOfPlace`
 * @throws DiagnosticError with its faults
 */
export async function specInPlace(place: string, name: string, kind: SpecKind): Promise<SpecFile | null> {
  if (isFolderPlace(place)) {
    const path = join(place, name);
    return existsSync(path) ? loadSpec(path, kind) : null;
  }
  const text = textInPlace(place, name);
  return text === null ? null : specOf(`${place}:${name}`, text, kind);
}

/** Checks that no spec of a folder is a link to an outside place: it may be a working tree of somebody else. */
function checkLinks(folder: string): void {
  for (const path of shippedFiles(folder))
    try {
      foundIn(folder, path);
    } catch (e) {
      throw fileError(shownPath(path), whyUnread(e), e instanceof Unreadable ? e.notes : []);
    }
}

/**
 * The specs of a place: a folder that contains `pipelines` and `knobs`, or a commit.
 * @throws DiagnosticError if there is no such place, or its specs cannot be read
 */
export async function specsOfPlace(place: string): Promise<Specs> {
  if (isFolderPlace(place)) {
    const folder = resolve(place);
    if (!hasSpecs(folder))
      return fail(`the folder '${place}' holds no specs`, ['it is one with pipelines/ and knobs/ in it']);
    checkLinks(folder);
    return loadShipped(folder);
  }
  return specsAt(place);
}
