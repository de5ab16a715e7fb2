// Writes dist/web: the page of the explorer, its engine as a worker script, and the specs as data. The script of the page and its styles
// are one file each, because `orrery trace` combines them into a single HTML file.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type InlineConfig } from 'vite';
import { VERDICTS_FILE } from '../cli/rules/verdicts.ts';
import { ORRERY_VERSION } from '../cli/version.ts';
import type { ShippedSpecs } from '../spec/collect.ts';
import { loadSpec } from '../spec/node.ts';
import { ROOT } from '../spec/node-cache.ts';
import { machineFiles } from '../spec/node-machine.ts';
import { selectionFiles } from '../spec/node-selection.ts';
import type { EngineData, MachineData } from '../web/protocol.ts';
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

const specs = async (paths: readonly string[], kind: 'machine' | 'selection') =>
  (await Promise.all(paths.map((path) => loadSpec(path, kind)))).map((f) => f.data);
const machine = {
  families: await specs(machineFiles(), 'machine'),
  selection: await specs(selectionFiles(), 'selection'),
} as unknown as MachineData;
writeFileSync(join(out, 'machine.json'), JSON.stringify(machine));
