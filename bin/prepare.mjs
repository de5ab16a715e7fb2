// npm runs this at the end of `npm ci`, and before the first `npx orrery` in a clone. If it fails there, npx shows no message, and its
// cache keeps a folder without a package.json, on which each later `npx orrery` in this clone fails. So npx takes the build that is
// there: the command itself says if that is older than the sources, and what is wrong in a spec.
import { existsSync } from 'node:fs';

const built = new URL('../dist/.built', import.meta.url);
if (process.env.npm_command !== 'exec' || !existsSync(built)) await import('./build.mjs');
