// Marks the end of a successful build, for ensure.mjs.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('../dist/.built', import.meta.url), `${new Date().toISOString()}\n`);
