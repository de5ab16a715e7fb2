// Commands that the suite's server runs, for the processes that start commands for tests.
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const { servable, take } = require('../../bin/client.cjs');
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

/** A process of the server and its lock, or null where all are busy. @throws where there is no server */
function free() {
  const all = folders().flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith('.sock') ? [{ folder, pid: Number(name.slice(0, -5)) }] : [])),
  );
  if (all.length === 0) throw new Error('there is no server');
  const found = all.find(({ folder, pid }) => take(folder, pid));
  return found === undefined ? null : join(found.folder, String(found.pid));
}

/** Waits for a process of the server: whatever runs alone beside a busy one is slower than to wait. Null where there is none. */
async function freed() {
  try {
    for (let tries = 0; tries < 4000; tries++) {
      const place = free();
      if (place !== null) return place;
      await sleep(5);
    }
  } catch {
    // It has not been started, or has ended.
  }
  return null;
}

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
    given.XDG_RUNTIME_DIR !== process.env.XDG_RUNTIME_DIR ||
    given.ORRERY_SERVER === 'off' ||
    (given.NODE_OPTIONS ?? '') !== '' ||
    !existsSync(bundle) ||
    !existsSync(cwd) ||
    !servable(judged)
  )
    return null;
  const place = await freed();
  if (place === null) return null;
  const request = { argv, cwd: realpathSync(cwd), env: given, umask: process.umask(), terminals: [false, false] };
  const bytes = await new Promise((done) => {
    const parts = [];
    const socket = connect(`${place}.sock`, () => socket.write(`${JSON.stringify(request)}\n`));
    socket.on('data', (part) => parts.push(part));
    // An error is followed by 'close'.
    socket.on('error', () => {});
    socket.on('close', () => done(Buffer.concat(parts)));
  });
  rmSync(`${place}.lock`, { force: true });
  const parts = { o: [], e: [], x: [], said: [] };
  for (let at = 0; at < bytes.length; ) {
    const kind = String.fromCharCode(bytes[at]);
    const next = at + 5 + bytes.readUInt32LE(at + 1);
    const content = bytes.subarray(at + 5, next);
    parts[kind].push(content);
    if (kind !== 'x') parts.said.push(content);
    at = next;
  }
  // It refused, since the schemas have changed.
  if (bytes.length === 0) return null;
  const [out, err, code, said] = [parts.o, parts.e, parts.x, parts.said].map((p) => Buffer.concat(p));
  return { code: code.length === 0 ? 1 : Number(code), out, err, said };
}
