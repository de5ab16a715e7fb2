import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CachedSpec } from './document.ts';
import { discard } from './node-discard.ts';

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
  if (XDG_CACHE_HOME !== undefined && XDG_CACHE_HOME !== '') return join(XDG_CACHE_HOME, 'orrery');
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

const entryFile = (key: string): string | null => {
  const folder = cacheFolder();
  return folder === null ? null : join(folder, `${sha256(key + schemasHash())}.json`);
};

/** The cached spec with this hash. A damaged entry counts as missing. */
export function fromCache(key: string): CachedSpec | undefined {
  const file = entryFile(key);
  if (file === null) return undefined;
  try {
    const c = JSON.parse(readFileSync(file, 'utf8')) as CachedSpec;
    const { kind, data } = c;
    return typeof kind === 'string' && typeof data === 'object' && data !== null ? { kind, data } : undefined;
  } catch {
    return undefined;
  }
}

/** Caches a valid spec. Failing to write costs only time later, so it is not reported. */
export function toCache(key: string, spec: CachedSpec): void {
  const file = entryFile(key);
  if (file === null) return;
  // Written aside and renamed, so that another process never reads half of it.
  const aside = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(aside, JSON.stringify({ kind: spec.kind, data: spec.data }));
    renameSync(aside, file);
  } catch {
    discard(aside);
  }
}
