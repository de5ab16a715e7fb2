import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CachedSpec } from './document.ts';
import { discard } from './node-discard.ts';
import { evict, type Limits, namesIn, tried, used } from './node-evict.ts';
import { makeFolders, PRIVATE, writeReplacing } from './node-write.ts';

/** Root folder of the project: two folders up, from the sources and from the build alike. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** What the build stores about shipped specs, in one file. */
export interface BuiltSpecs {
  /** Hash of the schemas that the specs were checked against. */
  readonly schemas: string;
  /** Stamp of the schema files at that time. */
  readonly schemasStamp: string;
  /** By the hash of the text. */
  readonly specs: Readonly<Record<string, CachedSpec>>;
  /** By path in the project: the hash of the text, and the stamp of the file that had it. */
  readonly files: Readonly<Record<string, { readonly key: string; readonly stamp: string }>>;
}

/**
 * Size and times of a file; as long as they are the same, so is its text. The modification time alone would not do, since programs can
 * set it back; they cannot set back the change time.
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

/** Stamp of all schemas. */
export const schemasStamp = (): string =>
  schemaFiles()
    .map((f) => `${f.slice(ROOT.length)} ${stampOf(f)}`)
    .join('\n');

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let schemaHash: string | null = null;

/** Hash of everything that decides whether a text is valid: a changed schema invalidates earlier results. */
export function schemasHash(): string {
  schemaHash ??= sha256(
    schemaFiles()
      .map((f) => readFileSync(f, 'utf8'))
      .join('\n'),
  );
  return schemaHash;
}

/** Forms of machine code are apart from the specs that every command reads. */
type BuiltFile = 'specs.json' | 'machine.json';

/** Where the forms of machine code are in the project. */
export const MACHINE_FOLDER = join('pipelines', 'machine');

const built = new Map<BuiltFile, Pick<BuiltSpecs, 'specs' | 'files'>>();

/** What the build stored in a file; empty if there was no build or a schema has changed since. */
function builtSpecs(name: BuiltFile = 'specs.json'): Pick<BuiltSpecs, 'specs' | 'files'> {
  const known = built.get(name);
  if (known !== undefined) return known;
  let found: Pick<BuiltSpecs, 'specs' | 'files'> = { specs: {}, files: {} };
  try {
    const file = JSON.parse(readFileSync(join(ROOT, 'dist', name), 'utf8')) as BuiltSpecs;
    if (file.schemasStamp === schemasStamp() || file.schemas === schemasHash()) found = file;
  } catch {
    // Not built: everything is read from YAML.
  }
  built.set(name, found);
  return found;
}

/** A shipped spec as the build parsed it; undefined if its text or a schema has changed since. */
export const fromBuild = (key: string): CachedSpec | undefined => builtSpecs().specs[key];

/** The same by path, without reading the file; undefined unless it is certain that the file is unchanged since the build. */
export function untouched(path: string): CachedSpec | undefined {
  if (!path.startsWith(ROOT)) return undefined;
  const own = path.slice(ROOT.length + 1);
  const { files, specs } = builtSpecs(dirname(own) === MACHINE_FOLDER ? 'machine.json' : 'specs.json');
  const known = files[own];
  if (known === undefined) return undefined;
  try {
    return stampOf(path) === known.stamp ? specs[known.key] : undefined;
  } catch {
    return undefined;
  }
}

/** Folder of the user's cache; null where the system names none. */
export function cacheFolder(): string | null {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  // What is no full path counts as none (XDG Base Directory Specification).
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

/** Whether a folder is the user's own: what others could write into it would be believed. */
export function isOwn(folder: string): boolean {
  const seen = tried(() => lstatSync(folder));
  if (seen?.isDirectory() !== true) return false;
  return process.getuid === undefined || (seen.uid === process.getuid() && (seen.mode & 0o022) === 0);
}

/** Characters of a checksum, which is the first line of a file. */
const SUM = 64;
/** Most bytes of a file that is read. */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * A text that `writeChecked` has kept; undefined where there is none, it was changed, or it is about something else.
 * @param about what it is about: part of the checksum
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

/** Keeps a text in a folder of the user's own, which is made if it is not there. @throws Error, where it cannot be kept */
export function writeChecked(file: string, about: string, text: string): void {
  const folder = dirname(file);
  makeFolders(folder, 0o700);
  if (!isOwn(folder)) throw new Error(`others can write into ${folder}`);
  writeReplacing(file, `${sha256(`${about}\n${text}`)}\n${text}`, PRIVATE);
}

/** Where specs are kept; null where the system names no folder. */
function specFolder(): string | null {
  const folder = cacheFolder();
  return folder === null ? null : join(folder, 'specs');
}

/** What is kept of specs: some hundred of those that ship, and a user's own. */
const LIMITS: Limits = { bytes: 32 * 2 ** 20, files: 500 };
const ENTRY = /^[0-9a-f]{64}\.json$/;

/** The cached spec with this hash. A damaged entry counts as missing. */
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

/** Caches a valid spec. Failing to write costs only time later, so it is not reported. */
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
    // Where earlier versions kept them, without checksums.
    for (const path of entriesIn(dirname(folder))) discard(path);
  } catch {
    // It is read again the next time.
  }
}

const entriesIn = (folder: string): string[] =>
  namesIn(folder)
    .filter((name) => ENTRY.test(name))
    .map((name) => join(folder, name));
