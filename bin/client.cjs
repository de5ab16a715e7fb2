// Runs a command in a process of the server that the user has started (`orrery server start`): code is compiled and specs are read
// there already. The keeper of the server says which of its processes is free, and ends that process if this one ends before it is done;
// nothing is sent a signal from here. What the server prints comes back in frames: a letter, the length in four bytes, and as many bytes.
const { lstatSync, readFileSync, readlinkSync, writeSync } = require('node:fs');
const { connect } = require('node:net');
const { dirname, join } = require('node:path');
const { KEEPER, STATE } = require('./server-folder.cjs');

// They run until they are interrupted, read standard input line by line, start processes and threads that must be the command's own, or
// measure what a command costs.
const OWN = [
  ...[
    'server',
    'server-process',
    'explore',
    'lsp',
    'evaluate',
    'sweep',
    'bisect',
    'reduce',
    'repro',
    'start',
  ],
  ...['measure', 'ab', 'diff'],
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

/** What the server and its clients know each other by; null where no server has said it, or others could have. */
function tokensOf(folder) {
  try {
    if (!trusted(dirname(folder)) || !trusted(folder)) return null;
    const { client, server } = JSON.parse(readFileSync(join(folder, STATE), 'utf8')).tokens;
    return typeof client === 'string' && typeof server === 'string' ? { client, server } : null;
  } catch {
    // It has just ended, or has left something else there.
    return null;
  }
}

/** How long the keeper may take to answer, which does nothing else, and a process, which may be warming up, in milliseconds. */
const KEEPER_PATIENCE = 1000;
const PROCESS_PATIENCE = 10_000;

/**
 * Asks the keeper of a server for a process.
 * @param answered is called once: with undefined where there is no server, with null where none is free or the keeper does not answer,
 * else with the path of the socket of a process, the tokens, and `release`, which says that the process is not needed any more; it is
 * ended if this process ends without that
 */
function reserve(folder, answered) {
  const tokens = tokensOf(folder);
  if (tokens === null) return answered(undefined);
  const socket = connect(join(folder, KEEPER));
  let open = true;
  const give = (found) => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    if (!found) socket.destroy();
    answered(found);
  };
  const timer = setTimeout(give, KEEPER_PATIENCE, null);
  socket.on('error', (e) => give(e.code === 'ENOENT' || e.code === 'ECONNREFUSED' ? undefined : null));
  socket.on('close', () => give(null));
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (part) => {
    text += part;
    if (!text.endsWith('\n')) return;
    let said = null;
    try {
      said = JSON.parse(text);
    } catch {
      // Whoever that is, it is no keeper.
    }
    if (said?.server !== tokens.server || !Number.isInteger(said.process)) return give(null);
    // From now on the process is ended with this one.
    socket.write('begin\n');
    give({ path: join(folder, `${said.process}.sock`), tokens, release: () => socket.end('done\n') });
  });
  socket.write(`${JSON.stringify({ do: 'run', client: tokens.client })}\n`);
}

/**
 * Has a process run a command, once it has shown that it is one of the server.
 * @param to what `reserve` gave
 * @param how `onFrame` is called with each frame of output, `onEnd` once, with whether the process has answered at all
 */
function converse(to, request, { onFrame, onEnd }) {
  const socket = connect(to.path);
  let known = false;
  const timer = setTimeout(() => socket.destroy(), PROCESS_PATIENCE);
  const onBytes = framesOf((kind, content) => {
    if (known) return onFrame(kind, content, socket);
    if (kind !== 'h' || content.toString() !== to.tokens.server) return socket.destroy();
    known = true;
    clearTimeout(timer);
    socket.write(`${JSON.stringify({ ...request, client: to.tokens.client })}\n`);
  });
  socket.on('data', onBytes);
  // An error is followed by 'close'.
  socket.on('error', () => {});
  socket.on('close', () => {
    clearTimeout(timer);
    onEnd(known);
  });
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
 * @param onFrame is called with the letter of each, 'h' for the token of the server, 'o' for output, 'e' for errors, 'x' for the exit
 * code, and its bytes
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
exports.reserve = reserve;
exports.converse = converse;

/**
 * @param folder that of the server
 * @param alone runs the command in this process; called where no process of the server is free, or none answers
 */
exports.run = (folder, alone) => {
  const argv = process.argv.slice(2);
  if (!servable(argv) || !require('node:worker_threads').isMainThread) return alone();
  let cwd;
  try {
    cwd = process.cwd();
  } catch {
    // The folder that the command runs in is gone.
    return alone();
  }
  reserve(folder, (to) => (to ? ask(to, argv, cwd, alone) : alone()));
};

function ask(to, argv, cwd, alone) {
  const { isatty } = require('node:tty');
  const terminals = [1, 2].map((fd) => isatty(fd));
  let begun = false;
  let ended = false;
  // End as without a server, silently where the reader of the output has closed the pipe; the command ends with this process.
  const onFault = (what) => (e) => {
    if (e.code === 'EPIPE') process.exit();
    if (what !== '') process.stderr.write(`error: cannot write ${what}: ${REASONS[e.code] ?? e.code}\n`);
    process.exit(1);
  };
  const out = writerOf(1, () => process.stdout, onFault('standard output'));
  const err = writerOf(2, () => process.stderr, onFault(''));
  const { columns } = terminals[0] ? process.stdout : terminals[1] ? process.stderr : {};
  const request = { argv, cwd, env: process.env, umask: process.umask(), terminals, columns };
  converse(to, request, {
    onFrame: (kind, content, socket) => {
      if (kind === 'x') {
        ended = true;
        process.exitCode = Number(content);
        to.release();
        socket.end();
        return;
      }
      begun = true;
      (kind === 'e' ? err : out)(content);
    },
    onEnd: () => {
      if (ended) return;
      to.release();
      // It is gone, or does not answer for specs that have changed since.
      if (!begun) return alone();
      process.stderr.write(
        'error: the server ended in the middle of this command; ORRERY_SERVER=off runs it without\n',
      );
      process.exitCode = 1;
    },
  });
}
