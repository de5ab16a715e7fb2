import type { Fn } from './program.ts';

/** The three numbers of a kernel's directive, such as `.maxntid 16, 16`; null if it is absent. */
export function dimensions(fn: Fn, name: string): [number, number, number] | null {
  for (const d of fn.attrs.directives) {
    const [word, ...rest] = d.split(/\s+/);
    if (word !== name) continue;
    const [x, y = 1, z = 1] = rest.join('').split(',').map(Number);
    return [x, y, z];
  }
  return null;
}
