import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT } from '../../spec/node-cache.ts';
import { readRegular } from '../../spec/node-files.ts';
import { namedPath } from '../../spec/node-paths.ts';
import type { GalleryEntry, GalleryRow } from '../../web/protocol.ts';

/** Folder of the test kernels, which the gallery shows. */
const FOLDER = join(ROOT, 'test', 'kernels');
/** Targets for which the kernels were compiled, in order of preference. */
const TARGETS = ['sm_90', 'sm_80', 'sm_75'];

/** Maximum bytes of a launch file, and of all launches of a kernel with their data. */
const [MOST_TEXT, MOST_DATA] = [1 << 20, 64 << 20];

/** Maximum number of data files of all launches of a kernel, whether they can be read or not; a launch has no more parameters than that. */
const MOST_FILES = 5000;

/** The PTX of a kernel; null if there is none. */
function ptxOf(name: string): string | null {
  const file = TARGETS.map((sm) => `${name}.${sm}.ptx`).find((f) => existsSync(join(FOLDER, name, f)));
  return file ?? null;
}

/** Kernels of the gallery. */
export function galleryRows(): GalleryRow[] {
  if (!existsSync(FOLDER)) return [];
  return readdirSync(FOLDER)
    .sort()
    .flatMap((name) => {
      const file = ptxOf(name);
      if (file === null) return [];
      const text = readFileSync(join(FOLDER, name, file), 'utf8');
      return [{ name, title: name.replaceAll('-', ' '), lines: text.split('\n').length }];
    });
}

/** A kernel of the gallery with its launches and their data; null if there is none with that name. */
export function galleryEntry(name: string): GalleryEntry | null {
  if (!/^[\w-]+$/.test(name)) return null;
  const file = ptxOf(name);
  if (file === null) return null;
  const folder = join(FOLDER, name);
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  return { name, file, text, ...launchesOf(path), sources: sourcesOf(path, text) };
}

/** Maximum bytes of one text that PTX was compiled from, and of their names. */
const MOST_SOURCE = 1 << 20;
const MOST_SOURCES = 100;

/**
 * The texts that PTX was compiled from, by the names in its `.file` directives: files of that base name beside it. Others are left out,
 * for PTX of somebody else may name any file of this machine.
 */
export function sourcesOf(file: string, text: string): Readonly<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const [, name] of [...text.matchAll(/^[ \t]*\.file[ \t]+\d+[ \t]+"([^"\n]*)"/gm)].slice(
    0,
    MOST_SOURCES,
  )) {
    const beside = basename(name.replaceAll('\\', '/'));
    if (!/\.(cu|cuh|c|cc|cpp|cxx|h|hpp|cl|py|jl|ll|f90)$/i.test(beside)) continue;
    const source = besideOf(beside, file, MOST_SOURCE)?.toString('utf8');
    if (source !== undefined && !source.includes('\0')) out[name] = source;
  }
  return out;
}

/** `saxpy` for `saxpy.sm_90.ptx`: launches of a kernel apply to every target that it was compiled for. */
const stem = (file: string): string => basename(file).replace(/(\.sm_\w+)?\.\w+$/, '');

/** Launch files next to a module, and the data that they name. Unreadable ones are omitted, since the module can be shown without them. */
export function launchesOf(file: string): Pick<GalleryEntry, 'launches' | 'data'> {
  const folder = dirname(file);
  let left = MOST_DATA;
  const launches = readdirSync(folder)
    .filter((f) => f.endsWith('.yaml'))
    // The usual launch comes first, those for corner cases after it.
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .flatMap((name) => {
      const bytes = besideOf(name, file, Math.min(left, MOST_TEXT));
      const text = bytes?.toString('utf8') ?? '';
      if (!/^kind: launch$/m.test(text) || stem(/^module: *(\S+)/m.exec(text)?.[1] ?? '') !== stem(file))
        return [];
      left -= text.length;
      return [{ name, text }];
    });
  const named = new Set(
    launches.flatMap(({ text }) => [...text.matchAll(/\b(?:data|expect): *([^\s,}]+)/g)].map((m) => m[1])),
  );
  const data: Record<string, string> = {};
  for (const name of [...named].slice(0, MOST_FILES)) {
    const bytes = besideOf(name, file, left);
    if (bytes === null) continue;
    left -= bytes.length;
    data[name] = bytes.toString('base64');
  }
  return { launches, data };
}

/** Contents of a file next to a module; null for one that is larger than `most`, out of reach, or cannot be read. */
function besideOf(name: string, module: string, most: number): Buffer | null {
  try {
    const path = namedPath(name, module);
    return statSync(path).size > most ? null : readRegular(path, 'input');
  } catch {
    return null;
  }
}
