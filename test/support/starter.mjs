// Starts processes for a worker of the tests, one at a time: reads requests (see start-processes.ts) from one pipe and writes what
// `spawnSync` gave to another, each after the length of its JSON in bytes, until the worker closes the first.
import { spawnSync } from 'node:child_process';
import { openSync, readSync, writeSync } from 'node:fs';
import { served } from './served.mjs';

const [requests, answers] = [openSync(process.argv[2], 'r'), openSync(process.argv[3], 'w')];

/** The next `size` bytes, or null at the end. */
function take(size) {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const n = readSync(requests, bytes, at, size - at, null);
    if (n === 0) return null;
    at += n;
  }
  return bytes;
}

for (let head = take(4); head !== null; head = take(4)) {
  const { command, args, input, ...options } = JSON.parse(take(head.readUInt32LE(0)).toString());
  const warm = await served(command, args, options);
  const r =
    warm === null
      ? spawnSync(command, args, { ...options, input: Buffer.from(input, 'base64') })
      : { status: warm.code, signal: null, stdout: warm.out, stderr: warm.err };
  const answer = Buffer.from(
    JSON.stringify({
      pid: r.pid,
      status: r.status,
      signal: r.signal,
      stdout: r.stdout?.toString('base64') ?? '',
      stderr: r.stderr?.toString('base64') ?? '',
      error: r.error && { message: r.error.message, ...r.error },
    }),
  );
  const size = Buffer.alloc(4);
  size.writeUInt32LE(answer.length, 0);
  const whole = Buffer.concat([size, answer]);
  for (let at = 0; at < whole.length; ) at += writeSync(answers, whole, at);
}
