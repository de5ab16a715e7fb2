import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CachedSpec } from './document.ts';
import { discard } from './node-discard.ts';
import { evict, type Limits, namesIn, tried, used } from './node-evict.ts';
import { isHeld } from './node-held.ts';
import { makeFolders, PRIVATE, writeReplacing } from './node-write.ts';

/** Root folder of the project, two folders up from this file both in `src` and in `dist`. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** Contents of a file in which the build stores shipped specs. */
export interface BuiltSpecs {
  /** Hash of the schemas that the specs were checked against. */
  readonly schemas: string;
  /** Stamp of the schema files at that time. */
  readonly schemasStamp: string;
  /** Specs by the hash of their text. */
  readonly specs: Readonly<Record<string, CachedSpec>>;
  /** By path relative to the project: the hash of the text, and the stamp of the file at that time. */
  readonly files: Readonly<Record<string, { readonly key: string; readonly stamp: string }>>;
}

/**
 * Size, modification time and change time of a file; while they stay the same, so does its text. The modification time alone is not enough,
 * because programs can set it back; they cannot set back the change time.
 */
export function stampOf(path: string): string {
  const { size, mtimeMs, ctimeMs } = statSync(path);
  return `${size} ${mtimeMs} ${ctimeMs}`;
}

const schemaFiles = (): string[] =>
  readdirSync(join(ROOT, 'schemas'))
    .filter((f) => f.endsWith('.schema.json'))
    .sort()
    .map((f) => join(ROOT, 'schemas', f));

/** The stamps of all schema files as one text. */
export const schemasStamp = (): string =>
  schemaFiles()
    .map((f) => `${f.slice(ROOT.length)} ${stampOf(f)}`)
    .join('\n');

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let schemaHash: string | null = null;

/** Hash of all schemas, which decide whether a text is valid: a changed schema invalidates earlier results. */
export function schemasHash(): string {
  schemaHash ??= sha256(
    schemaFiles()
      .map((f) => readFileSync(f, 'utf8'))
      .join('\n'),
  );
  return schemaHash;
}

/** Machine-code forms are kept apart from the specs that every command reads. */
type BuiltFile = 'specs.json' | 'machine.json';

/** Folder of the machine-code forms, relative to the project. */
export const MACHINE_FOLDER = join('pipelines', 'machine');
/** Folder of the rows of instruction selection. */
export const SELECTION_FOLDER = join('pipelines', 'selection');

const built = new Map<BuiltFile, Pick<BuiltSpecs, 'specs' | 'files'>>();

/** The specs that the build stored in a file; empty if there is no build or a schema has changed since. */
function builtSpecs(name: BuiltFile = 'specs.json'): Pick<BuiltSpecs, 'specs' | 'files'> {
  const known = built.get(name);
  if (known !== undefined) return known;
  let found: Pick<BuiltSpecs, 'specs' | 'files'> = { specs: {}, files: {} };
  try {
    const file = JSON.parse(readFileSync(join(ROOT, 'dist', name), 'utf8')) as BuiltSpecs;
    if (file.schemasStamp === schemasStamp() || file.schemas === schemasHash()) found = file;
  } catch {
    // There is no build, so everything is read from YAML.
  }
  built.set(name, found);
  return found;
}

/** A shipped spec as the build parsed it; undefined if its text or a schema has changed since. */
export const fromBuild = (key: string): CachedSpec | undefined => builtSpecs().specs[key];

/** Like `fromBuild`, by path and without reading the file; undefined unless the stamp shows that the file is unchanged since the build. */
export function untouched(path: string): CachedSpec | undefined {
  if (!path.startsWith(ROOT) || isHeld(path)) return undefined;
  const own = path.slice(ROOT.length + 1);
  const { files, specs } = builtSpecs(
    [MACHINE_FOLDER, SELECTION_FOLDER].includes(dirname(own)) ? 'machine.json' : 'specs.json',
  );
  const known = files[own];
  if (known === undefined) return undefined;
  try {
    return stampOf(path) === known.stamp ? specs[known.key] : undefined;
  } catch {
    return undefined;
  }
}

/** The user's cache folder for Orrery; null if the system defines none. */
export function cacheFolder(): string | null {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  // A relative path is to be ignored (XDG Base Directory Specification).
  if (XDG_CACHE_HOME !== undefined && isAbsolute(XDG_CACHE_HOME)) return join(XDG_CACHE_HOME, 'orrery');
  if (process.platform === 'win32' && LOCALAPPDATA !== undefined)
    return join(LOCALAPPDATA, 'orrery', 'Cache');
  try {
    const home = homedir();
    return process.platform === 'darwin'
      ? join(home, 'Library', 'Caches', 'orrery')
      : join(home, '.cache', 'orrery');
  } catch {
    return null;
  }
}

/** True if only this user can write to a folder: files in it are trusted. */
export function isOwn(folder: string): boolean {
  const seen = tried(() => lstatSync(folder));
  if (seen?.isDirectory() !== true) return false;
  return process.getuid === undefined || (seen.uid === process.getuid() && (seen.mode & 0o022) === 0);
}

/** Length of the checksum, which is the first line of a file. */
const SUM = 64;
/** Maximum size in bytes of a cached file. */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * Reads a text that `writeChecked` stored.
 * @param about the key that was stored with it, which the checksum covers
 * @returns undefined if there is no such file, it was modified, or it was stored under another key
 */
export function readChecked(file: string, about: string): string | undefined {
  const text = tried(() => {
    if (!isOwn(dirname(file))) return undefined;
    const seen = lstatSync(file);
    return seen.isFile() && seen.size <= MOST_BYTES ? readFileSync(file, 'utf8') : undefined;
  });
  if (text === undefined || text[SUM] !== '\n') return undefined;
  const kept = text.slice(SUM + 1);
  return sha256(`${about}\n${kept}`) === text.slice(0, SUM) ? kept : undefined;
}

/**
 * Stores a text with a checksum. The folder is created if it does not exist.
 * @throws Error if others can write to the folder, or writing fails
 */
export function writeChecked(file: string, about: string, text: string): void {
  const folder = dirname(file);
  makeFolders(folder, 0o700);
  if (!isOwn(folder)) throw new Error(`others can write into ${folder}`);
  writeReplacing(file, `${sha256(`${about}\n${text}`)}\n${text}`, PRIVATE);
}

/** Folder of cached specs; null if the system defines no cache folder. */
function specFolder(): string | null {
  const folder = cacheFolder();
  return folder === null ? null : join(folder, 'specs');
}

/** Limits of the spec cache: enough for the hundred or so shipped specs and for a user's own. */
const LIMITS: Limits = { bytes: 32 * 2 ** 20, files: 500 };
const ENTRY = /^[0-9a-f]{64}\.json$/;

/** The cached spec for the hash of a text; a damaged entry counts as missing. */
export function fromCache(key: string): CachedSpec | undefined {
  const folder = specFolder();
  if (folder === null) return undefined;
  const about = key + schemasHash();
  const file = join(folder, `${sha256(about)}.json`);
  const kept = readChecked(file, about);
  if (kept === undefined) return undefined;
  used(file);
  const { kind, data } = JSON.parse(kept) as CachedSpec;
  return { kind, data };
}

/** Caches a valid spec. A failed write only costs time later, so it is not reported. */
export function toCache(key: string, spec: CachedSpec): void {
  const folder = specFolder();
  if (folder === null) return;
  const about = key + schemasHash();
  try {
    writeChecked(
      join(folder, `${sha256(about)}.json`),
      about,
      JSON.stringify({ kind: spec.kind, data: spec.data }),
    );
    evict(entriesIn(folder), LIMITS);
    // Earlier versions kept entries here, without checksums.
    for (const path of entriesIn(dirname(folder))) discard(path);
  } catch {
    // The spec is parsed again the next time.
  }
}

const entriesIn = (folder: string): string[] =>
  namesIn(folder)
    .filter((name) => ENTRY.test(name))
    .map((name) => join(folder, name));
