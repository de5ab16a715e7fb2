// Commands that the suite's server runs, for the processes that start commands for tests.
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { converse, reserve, servable } = require('../../bin/client.cjs');
const { buildOf, serverFolder } = require('../../bin/server-folder.cjs');

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = join(root, 'bin', 'orrery.js');
const bundle = join(root, 'dist', 'bundle', 'main.cjs');

/** Commands that a user's server does not run (`OWN` in bin/client.cjs), but this one does if a test asks for it (see warm.ts). */
const WARM_TOO = ['sweep', 'bisect', 'reduce', 'repro', 'measure', 'ab', 'diff'];

/** Folders of the servers of this build, whatever flags V8 was started with. */
function folders() {
  const any = /[^-]*$/;
  const build = buildOf(bundle).replace(any, '');
  const parent = dirname(serverFolder(build));
  return readdirSync(parent)
    .filter((name) => name.replace(any, '') === build)
    .map((name) => join(parent, name));
}

/** A free process of the server; null if all are busy. @throws if there is no server */
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

/** Polling interval for a free process, in milliseconds. */
const CHECK = 10;
/** 20 s: no command of a test takes that long, so a server that is busy for longer hangs. */
const MOST_CHECKS = 2000;

/** Waits for a free process, since running separately beside a busy server is slower than waiting. Null if there is no server. */
async function freed() {
  try {
    for (let tries = 0; tries < MOST_CHECKS; tries++) {
      const to = await free();
      if (to !== null) return to;
      await sleep(CHECK);
    }
  } catch {
    // The server has not been started, or has ended.
  }
  return null;
}

/** Waiters queue up, so that only one polls for all. */
let queue = Promise.resolve(null);

/**
 * Runs a command in the server as bin/client.cjs would; starting the client costs 0.08 s of processor time, twice as much as most commands.
 *
 * @returns null for a command that must run in a separate process
 */
export async function served(file, args, { cwd, env, timeout }) {
  const { ORRERY_TESTS_WARM: warm, ...given } = env;
  const [, ...argv] = args;
  const judged = warm !== undefined && WARM_TOO.includes(argv[0]) ? argv.slice(1) : argv;
  if (
    (file !== process.execPath && file !== 'node') ||
    args[0] === undefined ||
    resolve(cwd, args[0]) !== script ||
    // A user's own server is not for tests.
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
  let late = false;
  await new Promise((onEnd) => {
    // A command that hangs is given up; its process ends with this one.
    const timer = timeout === undefined ? undefined : setTimeout(() => onEnd((late = true)), timeout);
    converse(to, request, {
      onFrame: (kind, content, socket) => {
        answered = true;
        parts[kind].push(content);
        if (kind === 'x') socket.end();
        else parts.said.push(content);
      },
      onEnd: () => {
        clearTimeout(timer);
        onEnd();
      },
    });
  });
  if (!late) to.release();
  // It refused because the schemas have changed.
  if (!answered && !late) return null;
  const [out, err, said] = [parts.o, parts.e, parts.said].map((p) => Buffer.concat(p));
  // No exit code: as if a signal had ended it, which no test mistakes for a reported error.
  return { code: late || parts.x.length === 0 ? null : Number(parts.x[0]), out, err, said };
}
