import { rmSync } from 'node:fs';

/**
 * Removes a temporary file or folder during error handling. Never throws, so as not to hide the original error: if a part of the path is a
 * file, Node 20 and 22 throw although `force` is set.
 */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It was never created.
  }
}
