import { resolve } from 'node:path';

/*
 * Texts that an editor holds and has not saved. Whatever reads such a file gets that text instead, and nothing of it is written: neither
 * the file, nor a cache of what was parsed.
 */

const held = new Map<string, string>();

/** From now on, a file has this text, whatever is on disk; null: what is on disk. */
export function holdText(path: string, text: string | null): void {
  if (text === null) held.delete(resolve(path));
  else held.set(resolve(path), text);
}

/** The text that an editor holds for a file; undefined if none does. */
export const heldText = (path: string): string | undefined =>
  held.size === 0 ? undefined : held.get(resolve(path));

/** Whether an editor holds a text for a file. */
export const isHeld = (path: string): boolean => held.size > 0 && held.has(resolve(path));
