import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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
  /** By the hash of the text. */
  readonly specs: Readonly<Record<string, CachedSpec>>;
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let schemaHash: string | null = null;

/** Everything that decides whether a text is valid, so that a changed schema does not find old verdicts. */
export function schemasHash(): string {
  schemaHash ??= sha256(
    readdirSync(join(ROOT, 'schemas'))
      .filter((f) => f.endsWith('.schema.json'))
      .sort()
      .map((f) => readFileSync(join(ROOT, 'schemas', f), 'utf8'))
      .join('\n'),
  );
  return schemaHash;
}

let built: BuiltSpecs['specs'] | null = null;

/** A shipped spec as the build found it; undefined where the text, or a schema, has changed since. */
export function fromBuild(key: string): CachedSpec | undefined {
  if (built === null) {
    built = {};
    try {
      const file = JSON.parse(readFileSync(join(ROOT, 'dist', 'specs.json'), 'utf8')) as BuiltSpecs;
      if (file.schemas === schemasHash()) built = file.specs;
    } catch {
      // Not built: everything is read from YAML.
    }
  }
  return built[key];
}

/** Folder of the user's cache; null where the system names none. */
function cacheFolder(): string | null {
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
