import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the build that this tool belongs to: one that is made aside, until it takes the place of `dist`. */
export const DIST = join(dirname(fileURLToPath(import.meta.url)), '..');
