// Starts processes for a worker of the tests, any number at a time (see commands.ts), until the worker ends.
import { spawn } from 'node:child_process';
import { served } from './served.mjs';

process.on('disconnect', () => process.exit());
process.on('message', async ({ id, file, args, cwd, env, input }) => {
  const r = await served(file, args, { cwd, env });
  if (r !== null)
    return process.send({ id, code: r.code, out: `${r.out}`, err: `${r.err}`, said: `${r.said}` });
  const child = spawn(file, args, { cwd, env });
  const parts = { out: [], err: [], said: [] };
  for (const [stream, name] of [
    [child.stdout, 'out'],
    [child.stderr, 'err'],
  ])
    stream.on('data', (bytes) => {
      parts[name].push(bytes);
      parts.said.push(bytes);
    });
  const text = (name) => Buffer.concat(parts[name]).toString();
  let error;
  child.on('error', (e) => (error = e.message));
  child.on('close', (code) =>
    process.send(
      error === undefined ? { id, code, out: text('out'), err: text('err'), said: text('said') } : { id, error },
    ),
  );
  // A command that reads no input may have ended already.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
});
