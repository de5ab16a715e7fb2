// Commands that the suite's server runs, for the processes that start commands for tests.
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { converse, reserve, servable } = require('../../bin/client.cjs');
const { buildOf, serverFolder } = require('../../bin/server-folder.cjs');

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = join(root, 'bin', 'orrery.js');
const bundle = join(root, 'dist', 'bundle', 'main.cjs');

/** Commands that a user's server does not run (`OWN` in bin/client.cjs), and this one does where a test asks for it (see warm.ts). */
const WARM_TOO = ['sweep', 'bisect', 'reduce', 'repro', 'measure', 'ab'];

/** Folders of servers of this build, whatever flags V8 was given here. */
function folders() {
  const any = /[^-]*$/;
  const build = buildOf(bundle).replace(any, '');
  const parent = dirname(serverFolder(build));
  return readdirSync(parent)
    .filter((name) => name.replace(any, '') === build)
    .map((name) => join(parent, name));
}

/** A process of the server, or null where all are busy. @throws where there is no server */
async function free() {
  let there = false;
  for (const folder of folders()) {
    const to = await new Promise((found) => reserve(folder, found));
    if (to) return to;
    there ||= to === null;
  }
  if (!there) throw new Error('there is no server');
  return null;
}

/** How often to look for a free process, in milliseconds. */
const CHECK = 10;
/** 20 s: no command of a test takes as long, so a server that is busy for longer hangs. */
const MOST_CHECKS = 2000;

/** Waits for a process of the server: whatever runs alone beside a busy one is slower than to wait. Null where there is none. */
async function freed() {
  try {
    for (let tries = 0; tries < MOST_CHECKS; tries++) {
      const to = await free();
      if (to !== null) return to;
      await sleep(CHECK);
    }
  } catch {
    // It has not been started, or has ended.
  }
  return null;
}

/** Whoever waits already: the next one waits behind it, so that one looks for all. */
let queue = Promise.resolve(null);

/**
 * What the server makes of a command, as it would for bin/client.cjs: to start that costs 0.08 s of processor time, twice what most
 * commands do.
 * @returns null for what must run in a process of its own
 */
export async function served(file, args, { cwd, env, timeout }) {
  const { ORRERY_TESTS_WARM: warm, ...given } = env;
  const [, ...argv] = args;
  const judged = warm !== undefined && WARM_TOO.includes(argv[0]) ? argv.slice(1) : argv;
  if (
    file !== process.execPath ||
    args[0] !== script ||
    timeout !== undefined ||
    // A server of the user's own is not for tests.
    process.env.ORRERY_TESTS_SERVER === undefined ||
    given.XDG_RUNTIME_DIR !== process.env.ORRERY_TESTS_SERVER ||
    given.ORRERY_SERVER === 'off' ||
    (given.NODE_OPTIONS ?? '') !== '' ||
    !existsSync(bundle) ||
    !existsSync(cwd) ||
    !servable(judged)
  )
    return null;
  queue = queue.then(freed);
  const to = await queue;
  if (to === null) return null;
  const request = { argv, cwd: realpathSync(cwd), env: given, umask: process.umask(), terminals: [false, false] };
  const parts = { o: [], e: [], x: [], said: [] };
  let answered = false;
  await new Promise((onEnd) =>
    converse(to, request, {
      onFrame: (kind, content, socket) => {
        answered = true;
        parts[kind].push(content);
        if (kind === 'x') socket.end();
        else parts.said.push(content);
      },
      onEnd,
    }),
  );
  to.release();
  // It refused, since the schemas have changed.
  if (!answered) return null;
  const [out, err, said] = [parts.o, parts.e, parts.said].map((p) => Buffer.concat(p));
  // No code: as if a signal had ended it, which no test takes for an error that was told.
  return { code: parts.x.length === 0 ? null : Number(parts.x[0]), out, err, said };
}
