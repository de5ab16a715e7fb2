// Runs a command in a process of the server that the user has started (`orrery server start`): code is compiled and specs are read
// there already. What the server prints comes back in frames: a letter, the length in four bytes, and as many bytes.
const {
  linkSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
  readlinkSync,
} = require('node:fs');
const { dirname, join } = require('node:path');

// They run until they are interrupted, read standard input line by line, start processes that must be the command's own, or measure
// what a command costs.
const OWN = [
  ...['server', 'server-process', 'explore', 'evaluate', 'sweep', 'bisect', 'reduce', 'repro', 'start'],
  ...['measure', 'ab'],
];

/** Why a stream cannot be written to, as src/spec/node-files.ts says it. */
const REASONS = { ENOSPC: 'the disk is full' };

/** What a link leads to; '' for what is none. */
function linked(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Whether a word names an open file of this process, such as its standard output. */
const ofThisProcess = (word, before) => {
  if (word === '-') return !['-o', '--output'].includes(before);
  const path = /^(?:-o|--output=)?(.*)$/s.exec(word)[1];
  return /\/(dev|proc)\//.test(word) || /^\/(dev|proc)\//.test(linked(path));
};

/** Whether a command can run elsewhere: where nothing depends on this process, its open files or its settings of V8. */
const servable = (argv) =>
  argv.length > 0 &&
  !OWN.includes(argv[0]) &&
  !argv.some((word, i) => ofThisProcess(word, argv[i - 1])) &&
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

/** Ends a process of the server and what it has started; the server starts another one. */
function end(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Takes the lock of a process of the server. @returns whether it was free */
function take(folder, pid) {
  const lock = join(folder, `${pid}.lock`);
  const own = `${lock}.${process.pid}`;
  try {
    writeFileSync(own, String(process.pid), { mode: 0o600 });
    linkSync(own, lock);
    return true;
  } catch {
    let holder;
    try {
      holder = Number(readFileSync(lock, 'utf8'));
    } catch {
      // It has just been given back, or the server has ended.
      return false;
    }
    // Its holder was killed: nobody needs what that process may still be doing.
    if (!alive(holder)) {
      end(pid);
      rmSync(lock, { force: true });
    }
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Writes to a stream of this process, in order.
 * @param onFault is called with the error where it cannot be written to
 */
function writerOf(fd, streamOf, onFault) {
  let stream = null;
  return (bytes) => {
    let at = 0;
    while (stream === null && at < bytes.length)
      try {
        at += writeSync(fd, bytes, at);
      } catch (e) {
        if (e.code !== 'EAGAIN') return onFault(e);
        // A pipe that is full and does not wait.
        stream = streamOf();
        stream.on('error', onFault);
      }
    if (at < bytes.length) stream.write(bytes.subarray(at));
  };
}

/**
 * Divides what the server sends into frames.
 * @param onFrame is called with the letter of each, 'o' for output, 'e' for errors, 'x' for the exit code, and its bytes
 * @returns takes the next bytes; a frame that is not complete waits for more
 */
function framesOf(onFrame) {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    let at = 0;
    while (rest.length >= at + 5) {
      const next = at + 5 + rest.readUInt32LE(at + 1);
      if (rest.length < next) break;
      onFrame(String.fromCharCode(rest[at]), rest.subarray(at + 5, next));
      at = next;
    }
    rest = rest.subarray(at);
  };
}

// The test suite asks its server without a process for each command (test/support/served.mjs).
exports.servable = servable;
exports.take = take;
exports.framesOf = framesOf;

/**
 * @param folder that of the server
 * @param alone runs the command in this process; called where no process of the server is free, or none answers
 */
exports.run = (folder, alone) => {
  const argv = process.argv.slice(2);
  if (!servable(argv) || !require('node:worker_threads').isMainThread) return alone();
  let pids = [];
  let cwd = '';
  try {
    cwd = process.cwd();
    if (trusted(dirname(folder)) && trusted(folder))
      pids = readdirSync(folder).flatMap((name) =>
        name.endsWith('.sock') ? [Number(name.slice(0, -5))] : [],
      );
  } catch {
    // The server has just ended, or the folder that the command runs in is gone.
  }
  const pid = pids.find((p) => take(folder, p));
  if (pid === undefined) return alone();
  ask({ folder, pid, argv, cwd }, alone);
};

function ask({ folder, pid, argv, cwd }, alone) {
  const lock = join(folder, `${pid}.lock`);
  const { isatty } = require('node:tty');
  const terminals = [1, 2].map((fd) => isatty(fd));
  let begun = false;
  let ended = false;

  const release = () => rmSync(lock, { force: true });
  process.on('exit', release);
  // End as without a server, silently where the reader of the output has closed the pipe, and do not let the command go on.
  const onFault = (what) => (e) => {
    if (!ended) end(pid);
    if (e.code === 'EPIPE') process.exit();
    if (what !== '') process.stderr.write(`error: cannot write ${what}: ${REASONS[e.code] ?? e.code}\n`);
    process.exit(1);
  };
  const out = writerOf(1, () => process.stdout, onFault('standard output'));
  const err = writerOf(2, () => process.stderr, onFault(''));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];
  const onSignal = (signal) => {
    // The command must not go on and write its files.
    end(pid);
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
    const { columns } = terminals[0] ? process.stdout : terminals[1] ? process.stderr : {};
    const request = { argv, cwd, env: process.env, umask: process.umask(), terminals, columns };
    socket.write(`${JSON.stringify(request)}\n`);
  });
  const onBytes = framesOf((kind, content) => {
    if (kind === 'x') {
      ended = true;
      process.exitCode = Number(content);
      socket.end();
      return;
    }
    begun = true;
    (kind === 'e' ? err : out)(content);
  });
  socket.on('data', onBytes);
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
