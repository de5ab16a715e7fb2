#!/usr/bin/env node
// Runs the built command line. V8's compiled code is kept beside the script, for this build and this V8: compiling is a
// third of a cold start.
// No ES module: to import Node's own modules into one reads every property of them, and with those half of Node.
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { setFlagsFromString } = require('node:v8');
const { constants, Script } = require('node:vm');
const { buildOf, serverFolder } = require('./server-folder.cjs');

// A worker takes the flags of its process.
if (process.env.ORRERY_WORKER === undefined)
  require('./compile-late.cjs').setFlags(process.argv[2] === 'server-process' || process.argv[2] === 'lsp');
// The young generation starts with 1 MB and doubles; a short run then collects garbage some ten times. Growing by four takes a tenth
// off a small kernel's CPU time, and changes neither the time nor the memory of a large one.
setFlagsFromString('--semi-space-growth-factor=4');

const file = join(__dirname, '..', 'dist', 'bundle', 'main.cjs');

/** What `read` gives, or undefined where the file is not there. */
function there(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Whether a build is being made: it takes the place of the last one when it is whole (build.mjs). */
const building = () =>
  there(() => readdirSync(join(__dirname, '..')))?.some((name) => name.startsWith('dist.next-')) === true;

/** Longest time that one build takes to give place to the next, in ms: two folders are renamed. */
const CHANGE = 1000;

/** What `read` gives as soon as one build has given place to the next; undefined if none is there then. */
function settled(read) {
  const until = Date.now() + CHANGE;
  for (let changing = true; ; changing = building()) {
    const found = there(read);
    if (found !== undefined || !changing || Date.now() > until) return found;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
}

const build = settled(() => buildOf(file));
if (build === undefined) {
  process.stderr.write(
    building()
      ? 'orrery is being built for the first time: run this again when that is done\n'
      : 'orrery is not built yet: run `npm install` (or `npm start`) in its folder first\n',
  );
  process.exit(1);
}

// Specs are read as they are now, code is what was built: after an update the two may not fit.
process.on('exit', (status) => {
  if (status === 1 && there(() => require('./newest.cjs').isStale(join(__dirname, '..'))) === true)
    process.stderr.write('  src has changed since orrery was built: `npm run build` builds it anew\n');
});

/** Runs the command in this process. */
function alone() {
  const source = settled(() => readFileSync(file, 'latin1'));
  const code = `${file}.${build}`;
  const cachedData = there(() => readFileSync(code));
  const script = new Script(`(function (exports, require, module, __filename) {${source}\n})`, {
    filename: file,
    cachedData,
    importModuleDynamically: constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((name) => import(name)),
  });
  const bundle = { exports: {} };
  if (cachedData === undefined || script.cachedDataRejected)
    process.on('exit', () => there(() => bundle.exports.writeReplacing(code, script.createCachedData())));
  script.runInThisContext()(bundle.exports, createRequire(file), bundle, file);
}

const folder = serverFolder(build);
if (process.env.ORRERY_SERVER !== 'off' && existsSync(folder)) require('./client.cjs').run(folder, alone);
else alone();
