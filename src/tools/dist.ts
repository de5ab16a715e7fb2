import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The build folder that contains this tool. During a build, it is a temporary folder that replaces `dist` at the end. */
export const DIST = join(dirname(fileURLToPath(import.meta.url)), '..');
