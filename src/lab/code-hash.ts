import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let code: string | null = null;

/** Hash of Orrery's own code, as 16 hexadecimal digits: cached results of other code are not valid. */
export function codeHash(): string {
  if (code !== null) return code;
  const here = dirname(fileURLToPath(import.meta.url));
  // Either the whole command line is bundled into one script, or this module is in one of several sibling folders.
  const folder = basename(here) === 'bundle' ? here : dirname(here);
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const f of files.filter((f) => /(?<!\.d)\.(ts|js|cjs)$/.test(f)).sort())
    hash.update(f).update(readFileSync(join(folder, f)));
  code = hash.digest('hex').slice(0, 16);
  return code;
}
