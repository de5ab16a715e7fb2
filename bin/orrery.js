#!/usr/bin/env node
// Runs the built command line. V8's compiled code is kept beside the script, for this build and this V8: compiling is a
// third of a cold start.
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, pid, versions } from 'node:process';
import { fileURLToPath } from 'node:url';
import { constants, Script } from 'node:vm';

const file = fileURLToPath(new URL('../dist/bundle/main.cjs', import.meta.url));

/** What `read` gives, or undefined where the file is not there. */
function there(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const source = there(() => readFileSync(file, 'utf8'));
if (source === undefined) {
  process.stderr.write('orrery is not built yet: run `npm install` (or `npm start`) in its folder first\n');
  process.exit(1);
}

const code = `${file}.${statSync(file).mtimeMs.toString(36)}-${versions.v8}-${arch}`;
const cachedData = there(() => readFileSync(code));
const script = new Script(`(function (exports, require, module, __filename) {${source}\n})`, {
  filename: file,
  cachedData,
  importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((name) => import(name)),
});
if (cachedData === undefined || script.cachedDataRejected)
  process.on('exit', () =>
    there(() => {
      writeFileSync(`${code}.${pid}`, script.createCachedData());
      renameSync(`${code}.${pid}`, code);
    }),
  );
const module = { exports: {} };
script.runInThisContext()(module.exports, createRequire(file), module, file);
