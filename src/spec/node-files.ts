import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/*
 * Files that were read because a command names them, or something that it names: what has to be kept to run it again elsewhere.
 */

/** Inputs belong to one task of a command, specs to all of it. */
type Use = 'input' | 'spec';

const files = new Map<string, Use>();

/** Content of a file that a command names. Throws as `readFileSync` does. */
export function readNamed(path: string, use: Use): Buffer {
  const bytes = readFileSync(path);
  if (!files.has(resolve(path))) files.set(resolve(path), use);
  return bytes;
}

/** Full paths of what was read, in order. */
export const namedFiles = (): readonly string[] => [...files.keys()];

/** Another task begins: it does not need the inputs of those before it. */
export function forgetInputs(): void {
  for (const [path, use] of files) if (use === 'input') files.delete(path);
}
