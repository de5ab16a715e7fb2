#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (!existsSync(fileURLToPath(main))) {
  process.stderr.write('orrery is not built yet: run `npm install` (or `npm start`) in its folder first\n');
  process.exit(1);
}
await import(main.href);
