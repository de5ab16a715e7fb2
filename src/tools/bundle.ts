// Writes bundle/ of the build: the command line and everything that it imports as one script. Finding and loading some 140
// modules takes longer than most commands do; the modules themselves are kept for library users.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { DIST } from './dist.ts';

const dir = join(DIST, 'bundle');
rmSync(dir, { recursive: true, force: true });
const bundle = await rolldown({
  input: join(DIST, 'cli', 'main.js'),
  platform: 'node',
  // Large, and needed by one command only.
  external: ['z3-solver'],
});
await bundle.write({ dir, format: 'cjs', codeSplitting: false, entryFileNames: 'main.cjs', minify: true });
await bundle.close();

// Node modules that load slowly and that most commands never use are loaded on first use.
const LAZY = ['child_process', 'crypto', 'http', 'readline', 'timers/promises', 'worker_threads', 'zlib'];
const file = join(dir, 'main.cjs');
const code = readFileSync(file, 'utf8')
  .replaceAll(
    new RegExp(`\\brequire\\((["'\`])node:(${LAZY.join('|')})\\1\\)`, 'g'),
    (_, _quote: string, name: string) => `lazyModule("node:${name}")`,
  )
  // V8 needs half the space for a script whose characters are all one byte.
  .replaceAll(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const lazyModule = 'const lazyModule=(n)=>new Proxy({},{get:(_,k)=>require(n)[k]});';
writeFileSync(file, `${lazyModule}${code}`);
