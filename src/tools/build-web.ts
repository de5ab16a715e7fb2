// Writes dist/web: the page of the explorer, its engine as a worker script, and the specs as data. The script of the page and its styles
// are one file each, because `orrery trace` combines them into a single HTML file.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type InlineConfig } from 'vite';
import { VERDICTS_FILE } from '../cli/rules/verdicts.ts';
import { ORRERY_VERSION } from '../cli/version.ts';
import type { MachineData } from '../codegen/machine-specs.ts';
import type { ShippedSpecs } from '../spec/collect.ts';
import { ROOT } from '../spec/node-cache.ts';
import type { EngineData } from '../web/protocol.ts';
import { DIST } from './dist.ts';

const out = join(DIST, 'web');
const config: InlineConfig = {
  configFile: false,
  root: join(ROOT, 'src', 'web', 'ui'),
  // All addresses are relative, so that a site can be served from any folder.
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es', rollupOptions: { output: { entryFileNames: '[name].js' } } },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 4000,
    rollupOptions: {
      checks: { pluginTimings: false },
      output: {
        codeSplitting: false,
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        assetFileNames: '[name][extname]',
      },
    },
  },
};
await build(config);

const { shipped } = (await import(pathToFileURL(join(DIST, 'shipped.js')).href)) as {
  shipped: ShippedSpecs;
};
const data: EngineData = {
  shipped,
  verdicts: JSON.parse(readFileSync(join(ROOT, VERDICTS_FILE), 'utf8')),
  version: ORRERY_VERSION,
};
writeFileSync(join(out, 'specs.json'), JSON.stringify(data));

const { machine } = (await import(pathToFileURL(join(DIST, 'machine-data.js')).href)) as {
  machine: MachineData;
};
writeFileSync(join(out, 'machine.json'), JSON.stringify(machine));
