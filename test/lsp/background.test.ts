import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { WorkerBackground } from '../../src/lsp/work/background.ts';

/* Jobs of the language server, with a worker that answers when it is told to. */

class Told extends EventEmitter {
  readonly asked: unknown[] = [];
  postMessage(m: unknown): void {
    this.asked.push(m);
  }
  terminate(): Promise<number> {
    return Promise.resolve(0);
  }
}
const job = { kind: 'hints', path: 'a.ptx' } as const;

test('nothing more is told of a job that was cancelled', async () => {
  const worker = new Told();
  const background = new WorkerBackground(
    () => worker as unknown as Worker,
    () => {},
  );
  const told: unknown[] = [];
  const result = background.run('a', job, (r) => told.push(r));
  worker.emit('message', { id: 1, partial: ['first'] });
  background.cancel('a');
  worker.emit('message', { id: 1, partial: ['second'] });
  expect([await result, told]).toEqual([null, [['first']]]);
  // The next waits until the worker has ended the first.
  const next = background.run('b', job);
  expect(worker.asked).toEqual([{ id: 1, job }, { cancel: 1 }]);
  worker.emit('message', { id: 1, result: [] });
  worker.emit('message', { id: 2, result: ['b'] });
  expect(await next).toEqual(['b']);
});

test('no job begins after the end', async () => {
  let started = 0;
  const background = new WorkerBackground(
    () => {
      started++;
      return new Told() as unknown as Worker;
    },
    () => {},
  );
  background.close();
  expect([await background.run('a', job), started]).toEqual([null, 0]);
});
