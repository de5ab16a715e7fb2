// Writes dist/bundle: the command line and everything that it imports as a few scripts. Finding and loading some 140
// modules takes longer than most commands do; the modules themselves are kept for library users. To read a script and its
// compiled code takes time in proportion to its length, so what `opt` does not need is not in the scripts that it loads.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from '../spec/node-cache.ts';

const dir = join(ROOT, 'dist', 'bundle');
const cli = (name: string): string => join(ROOT, 'dist', 'cli', `${name}.js`);
rmSync(dir, { recursive: true, force: true });

/** The scripts and what is in each: a module is in the first from one of whose modules it is reached without a dynamic import. */
const SCRIPTS: readonly (readonly [script: string, modules: readonly string[]])[] = [
  ['main', ['main']],
  ['commands', ['commands']],
  ['optimize', ['opt']],
  ['emit', ['emit']],
  ['check', ['checks']],
];
const REST = 'rest';

let scriptOf: Map<string, string> | null = null;

const bundle = await rolldown({
  input: cli('main'),
  preserveEntrySignatures: 'allow-extension',
  platform: 'node',
  // Large, and needed by one command only.
  external: ['z3-solver'],
  // Many modules are imported here when they are first needed and there at once.
  checks: { ineffectiveDynamicImport: false },
});
await bundle.write({
  dir,
  format: 'cjs',
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
  minify: true,
  codeSplitting: {
    includeDependenciesRecursively: false,
    groups: [
      {
        debugName: 'scripts',
        name: (id, modules) => {
          if (scriptOf === null) {
            scriptOf = new Map();
            const reach = (module: string, script: string): void => {
              if (scriptOf!.has(module)) return;
              scriptOf!.set(module, script);
              for (const next of modules.getModuleInfo(module)?.importedIds ?? []) reach(next, script);
            };
            for (const [script, from] of SCRIPTS) for (const m of from) reach(cli(m), script);
          }
          return scriptOf.get(id) ?? REST;
        },
      },
    ],
  },
});
await bundle.close();

// Node modules that load slowly and that most commands never use are loaded on first use.
const LAZY = ['child_process', 'crypto', 'http', 'readline', 'timers/promises', 'worker_threads', 'zlib'];
const lazyModule = 'const lazyModule=(n)=>new Proxy({},{get:(_,k)=>require(n)[k]});';
for (const name of readdirSync(dir)) {
  const file = join(dir, name);
  const code = readFileSync(file, 'utf8')
    .replaceAll(
      new RegExp(`\\brequire\\((["'\`])node:(${LAZY.join('|')})\\1\\)`, 'g'),
      (_, _quote: string, name: string) => `lazyModule("node:${name}")`,
    )
    // V8 needs half the space for a script whose characters are all one byte.
    .replaceAll(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  writeFileSync(file, `${lazyModule}${code}`);
}

// The first run stores compiled code for later runs (bin/orrery.js); this one compiles what most commands need.
const sample = join(ROOT, 'test', 'kernels', 'saxpy', 'saxpy.sm_90.ptx');
spawnSync(process.execPath, [join(ROOT, 'bin', 'orrery.js'), 'opt', sample, '--check', 'auto', '--stat']);
