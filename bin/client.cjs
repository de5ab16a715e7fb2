// Runs a command in a process of the server that the user has started (`orrery server start`): code is compiled and specs are read
// there already. What the server prints comes back in frames: a letter, the length in four bytes, and as many bytes.
const { closeSync, lstatSync, openSync, readdirSync, readFileSync, rmSync, writeSync } = require('node:fs');
const { dirname, join } = require('node:path');

// They run until they are interrupted, read standard input line by line, or start processes that must be the command's own.
const OWN = [
  'server',
  'server-process',
  'explore',
  'evaluate',
  'sweep',
  'bisect',
  'reduce',
  'repro',
  'start',
];

/** Whether a command can run elsewhere: where nothing of it hangs on this process, its open files or its settings of V8. */
const servable = (argv) =>
  argv.length > 0 &&
  !OWN.includes(argv[0]) &&
  !argv.some(
    (a, i) => (a === '-' && !['-o', '--output'].includes(argv[i - 1])) || /^\/(dev|proc)\//.test(a),
  ) &&
  process.execArgv.length === 0 &&
  !process.env.NODE_OPTIONS;

/** Nobody else may put a socket there: whoever answers is handed the environment, and writes files in the user's name. */
function trusted(folder) {
  const { uid, mode } = lstatSync(folder);
  return uid === process.getuid() && (mode & 0o077) === 0;
}

const alive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (e) {
    return e.code === 'EPERM';
  }
};

/** Takes the lock of a process of the server. @returns whether it was free, or was held by a process that is gone */
function take(lock) {
  for (let tries = 0; tries < 2; tries++)
    try {
      const fd = openSync(lock, 'wx', 0o600);
      writeSync(fd, String(process.pid));
      closeSync(fd);
      return true;
    } catch (e) {
      if (e.code !== 'EEXIST') return false;
      const holder = Number(readFileSync(lock, 'utf8'));
      // 0: another client is just writing it.
      if (holder === 0 || alive(holder)) return false;
      rmSync(lock, { force: true });
    }
  return false;
}

/** Writes to a stream of this process, in order. */
function writerOf(fd, stream) {
  let whole = true;
  return (bytes) => {
    let at = 0;
    while (whole && at < bytes.length)
      try {
        at += writeSync(fd, bytes, at);
      } catch (e) {
        // The reader of the output has closed the pipe: end silently, as without a server.
        if (e.code === 'EPIPE') process.exit();
        if (e.code !== 'EAGAIN') throw e;
        whole = false;
      }
    // A pipe that is full and does not wait.
    if (at < bytes.length) stream().write(bytes.subarray(at));
  };
}

/**
 * @param folder that of the server
 * @param alone runs the command in this process; called where no process of the server is free, or none answers
 */
exports.run = (folder, alone) => {
  const argv = process.argv.slice(2);
  if (!servable(argv) || !require('node:worker_threads').isMainThread) return alone();
  let names = [];
  let cwd = '';
  try {
    cwd = process.cwd();
    if (trusted(dirname(folder)) && trusted(folder))
      names = readdirSync(folder).filter((n) => n.endsWith('.sock'));
  } catch {
    // The server has just ended, or the folder that the command runs in is gone.
  }
  const free = names.find((n) => take(join(folder, `${n.slice(0, -5)}.lock`)));
  if (free === undefined) return alone();
  const pid = Number(free.slice(0, -5));
  ask({ folder, pid, argv, cwd }, alone);
};

function ask({ folder, pid, argv, cwd }, alone) {
  const lock = join(folder, `${pid}.lock`);
  const { isatty } = require('node:tty');
  const out = writerOf(1, () => process.stdout);
  const err = writerOf(2, () => process.stderr);
  const terminals = [1, 2].map((fd) => isatty(fd));
  let begun = false;
  let ended = false;
  let rest = Buffer.alloc(0);

  const release = () => rmSync(lock, { force: true });
  process.on('exit', release);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const onSignal = (signal) => {
    // The command must not go on and write its files; the server starts another process.
    if (alive(pid)) process.kill(pid, 'SIGKILL');
    release();
    for (const s of signals) process.removeAllListeners(s);
    process.kill(process.pid, signal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  const leave = () => {
    for (const s of signals) process.removeListener(s, onSignal);
    process.removeListener('exit', release);
    release();
  };

  const socket = require('node:net').connect(join(folder, `${pid}.sock`), () => {
    const { columns } = terminals[0] ? process.stdout : {};
    const request = { argv, cwd, env: process.env, terminals, columns };
    socket.write(`${JSON.stringify(request)}\n`);
  });
  socket.on('data', (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let at = 0;
    while (rest.length >= at + 5) {
      const kind = String.fromCharCode(rest[at]);
      const end = at + 5 + rest.readUInt32LE(at + 1);
      if (rest.length < end) break;
      const content = rest.subarray(at + 5, end);
      at = end;
      if (kind === 'x') {
        ended = true;
        process.exitCode = Number(content);
        socket.end();
        continue;
      }
      begun = true;
      (kind === 'e' ? err : out)(content);
    }
    rest = rest.subarray(at);
  });
  // An error is followed by 'close'.
  socket.on('error', () => {});
  socket.on('close', () => {
    leave();
    if (ended) return;
    // It is gone, or does not answer for specs that have changed since.
    if (!begun) return alone();
    process.stderr.write(
      'error: the server ended in the middle of this command; ORRERY_SERVER=off runs it without\n',
    );
    process.exitCode = 1;
  });
}
