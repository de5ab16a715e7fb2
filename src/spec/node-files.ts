import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/*
 * The files that a command reads, directly or through a file that names them: what reproducing it elsewhere needs.
 */

/** Inputs belong to one task of a command, specs to all of its tasks. */
type FileRole = 'input' | 'spec';

const files = new Map<string, FileRole>();

/** Content of a file that a command names; recorded. Throws as `readFileSync` does. */
export function readNamed(path: string, use: FileRole): Buffer {
  const bytes = readFileSync(path);
  if (!files.has(resolve(path))) files.set(resolve(path), use);
  return bytes;
}

/** Full paths of what was read, in order. */
export const namedFiles = (): readonly string[] => [...files.keys()];

/** Begins another task, which does not need the inputs of earlier ones. */
export function forgetInputs(): void {
  for (const [path, use] of files) if (use === 'input') files.delete(path);
}
