import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CachedSpec } from './document.ts';

/** Folder of the project: the same two steps up from the sources and from the build. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The file that the build makes of all shipped specs. */
export interface BuiltSpecs {
  /** Hash of the schemas that the specs were checked against. */
  readonly schemas: string;
  /** Stamp of the folder of schemas then. */
  readonly schemasStamp: string;
  /** By the hash of the text. */
  readonly specs: Readonly<Record<string, CachedSpec>>;
  /** By path in the project: the hash of the text, and the stamp of the file that had it. */
  readonly files: Readonly<Record<string, { readonly key: string; readonly stamp: string }>>;
}

/**
 * Size and times of a file. As long as they stay, so does its text: the time of the last change of status cannot be set back, as that
 * of the last change of the text can.
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

/** Everything that decides whether a text is valid, so that a changed schema does not find old verdicts. */
export function schemasHash(): string {
  schemaHash ??= sha256(
    schemaFiles()
      .map((f) => readFileSync(f, 'utf8'))
      .join('\n'),
  );
  return schemaHash;
}

let built: Pick<BuiltSpecs, 'specs' | 'files'> | null = null;

/** What the build left; nothing where it did not run, or where a schema has changed since. */
function builtSpecs(): Pick<BuiltSpecs, 'specs' | 'files'> {
  if (built === null) {
    built = { specs: {}, files: {} };
    try {
      const file = JSON.parse(readFileSync(join(ROOT, 'dist', 'specs.json'), 'utf8')) as BuiltSpecs;
      if (file.schemasStamp === schemasStamp() || file.schemas === schemasHash()) built = file;
    } catch {
      // Not built: everything is read from YAML.
    }
  }
  return built;
}

/** A shipped spec as the build found it; undefined where the text, or a schema, has changed since. */
export const fromBuild = (key: string): CachedSpec | undefined => builtSpecs().specs[key];

/** The spec of a shipped file that nobody has touched since the build, without reading it; undefined if that is not certain. */
export function untouched(path: string): CachedSpec | undefined {
  if (!path.startsWith(ROOT)) return undefined;
  const { files, specs } = builtSpecs();
  const known = files[path.slice(ROOT.length + 1)];
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

/** A spec with this hash that was valid before. A damaged entry is no entry. */
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

/** Keeps a valid spec. A cache that cannot be written only costs time, so nothing is said. */
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
    try {
      rmSync(aside, { force: true });
    } catch {
      // Nothing more can be done about it.
    }
  }
}
