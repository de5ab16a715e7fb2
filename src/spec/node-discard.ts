import { rmSync } from 'node:fs';

/**
 * Removes a file or folder that was begun beside the one that it was to become. That this fails must not hide what went wrong before:
 * where a part of the path is a file, Node 20 and 22 throw although `force` is set.
 */
export function discard(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It was never made.
  }
}
