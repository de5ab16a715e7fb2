import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../spec/node-cache.ts';
import type { GalleryEntry, GalleryRow } from '../web/protocol.ts';

/** Kernels of the tests, which the explorer shows. */
const FOLDER = join(ROOT, 'test', 'kernels');
/** Targets for which the kernels were compiled, the one that is shown first. */
const TARGETS = ['sm_90', 'sm_80', 'sm_75'];

/** The PTX of a kernel; null where there is none. */
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

/** A kernel of the gallery with its launches and their data; null where there is none of that name. */
export function galleryEntry(name: string): GalleryEntry | null {
  if (!/^[\w-]+$/.test(name)) return null;
  const file = ptxOf(name);
  if (file === null) return null;
  const folder = join(FOLDER, name);
  const names = readdirSync(folder).sort();
  return {
    name,
    file,
    text: readFileSync(join(folder, file), 'utf8'),
    launches: names
      .filter((f) => f.endsWith('.yaml'))
      // The usual launch comes first, those for corner cases behind it.
      .sort((a, b) => a.length - b.length)
      .map((f) => ({ name: f, text: readFileSync(join(folder, f), 'utf8') }))
      .filter(({ text }) => /^kind: launch$/m.test(text)),
    data: Object.fromEntries(
      names
        .filter((f) => f.endsWith('.bin'))
        .map((f) => [f, readFileSync(join(folder, f)).toString('base64')]),
    ),
  };
}
