// Writes dist/bundle: the command line with everything that it imports, as one script. Finding and loading about 140 modules takes longer
// than most commands. The modules themselves are kept for users of the library.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { DIST } from './dist.ts';

const dir = join(DIST, 'bundle');
rmSync(dir, { recursive: true, force: true });
const bundle = await rolldown({
  input: join(DIST, 'cli', 'main.js'),
  platform: 'node',
  // It is large, and only one command needs it.
  external: ['z3-solver'],
});
await bundle.write({ dir, format: 'cjs', codeSplitting: false, entryFileNames: 'main.cjs', minify: true });
await bundle.close();

// Node modules that load slowly and that most commands never use are loaded on first use.
const LAZY = [
  'child_process',
  'crypto',
  'http',
  'net',
  'os',
  'readline',
  'timers/promises',
  'worker_threads',
  'zlib',
];
const file = join(dir, 'main.cjs');
const code = readFileSync(file, 'utf8')
  .replaceAll(
    new RegExp(`\\brequire\\((["'\`])node:(${LAZY.join('|')})\\1\\)`, 'g'),
    (_, _quote: string, name: string) => `lazyModule("node:${name}")`,
  )
  // V8 stores a script in half the space if all characters fit in one byte.
  .replaceAll(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const lazyModule = 'const lazyModule=(n)=>new Proxy({},{get:(_,k)=>require(n)[k]});';
writeFileSync(file, `${lazyModule}${code}`);
