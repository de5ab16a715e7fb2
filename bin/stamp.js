// Marks the end of a successful build, for ensure.js.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('../dist/.built', import.meta.url), `${new Date().toISOString()}\n`);
