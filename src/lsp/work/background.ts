import { setImmediate as soon } from 'node:timers/promises';
import { type MessagePort, parentPort, type Worker } from 'node:worker_threads';
import { DiagnosticError } from '../../ir/diagnostic.ts';
import { holdText } from '../../spec/node-held.ts';
import { type Check, type Job, type ResultOf, runJob } from './jobs.ts';

/** A request to a worker, or news of texts that an editor holds. */
type ToWorker =
  | { readonly hold: string; readonly text: string | null }
  | { readonly id: number; readonly job: Job }
  | { readonly cancel: number };

type FromWorker =
  | { readonly id: number; readonly partial: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failed: string };

/** Does jobs one after the other. A job with the key of an earlier one takes its place: nobody waits for the earlier one any more. */
export interface Background {
  /** From now on, a file has this text; null: what is on disk. */
  hold(path: string, text: string | null): void;
  /** @returns the result; null if the job was replaced, cancelled or failed, or all of them were closed */
  run<J extends Job>(
    key: string,
    job: J,
    partial?: (result: ResultOf<J>) => void,
  ): Promise<ResultOf<J> | null>;
  cancel(key: string): void;
  close(): void;
}

interface Waiting {
  readonly id: number;
  readonly key: string;
  readonly job: Job;
  readonly partial: (result: unknown) => void;
  readonly done: (result: unknown) => void;
}

/** Jobs on a worker thread, which is started by the first of them. */
export class WorkerBackground implements Background {
  private readonly start: () => Worker;
  private readonly log: (text: string) => void;
  private readonly held = new Map<string, string>();
  private queue: Waiting[] = [];
  private running: Waiting | null = null;
  private worker: Worker | null = null;
  private last = 0;
  private closed = false;

  /** @param log called with the messages of jobs that failed unexpectedly */
  constructor(start: () => Worker, log: (text: string) => void) {
    this.start = start;
    this.log = log;
  }

  hold(path: string, text: string | null): void {
    if (text === null) this.held.delete(path);
    else this.held.set(path, text);
    this.worker?.postMessage({ hold: path, text } satisfies ToWorker);
  }

  run<J extends Job>(
    key: string,
    job: J,
    partial: (result: ResultOf<J>) => void = () => {},
  ): Promise<ResultOf<J> | null> {
    this.cancel(key);
    if (this.closed) return Promise.resolve(null);
    return new Promise((done) => {
      const id = ++this.last;
      this.queue.push({
        id,
        key,
        job,
        partial: partial as Waiting['partial'],
        done: done as Waiting['done'],
      });
      this.next();
    });
  }

  cancel(key: string): void {
    for (const w of this.queue) if (w.key === key) w.done(null);
    this.queue = this.queue.filter((w) => w.key !== key);
    if (this.running?.key !== key) return;
    this.running.done(null);
    this.running = { ...this.running, partial: () => {} };
    this.worker?.postMessage({ cancel: this.running.id } satisfies ToWorker);
  }

  close(): void {
    this.closed = true;
    for (const w of [...this.queue, ...(this.running === null ? [] : [this.running])]) w.done(null);
    this.queue = [];
    this.running = null;
    void this.worker?.terminate();
    this.worker = null;
  }

  private next(): void {
    if (this.running !== null) return;
    const w = this.queue.shift();
    if (w === undefined) return;
    this.running = w;
    if (this.worker === null) this.begin();
    this.worker!.postMessage({ id: w.id, job: w.job } satisfies ToWorker);
  }

  private begin(): void {
    const worker = this.start();
    this.worker = worker;
    for (const [hold, text] of this.held) worker.postMessage({ hold, text } satisfies ToWorker);
    worker.on('message', (m: FromWorker) => {
      if (this.running?.id !== m.id) return;
      if ('partial' in m) return this.running.partial(m.partial);
      if ('failed' in m) this.log(m.failed);
      this.running.done('result' in m ? m.result : null);
      this.running = null;
      this.next();
    });
    const lost = (why: string): void => {
      if (this.worker !== worker) return;
      this.log(why);
      this.worker = null;
      this.running?.done(null);
      this.running = null;
      this.next();
    };
    worker.on('error', (e: Error) => lost(`background work ended: ${e.message}`));
    worker.on('exit', () => lost('background work ended'));
  }
}

/** Jobs in this thread, for tests and hosts without threads. Texts are those of the process (`holdText`). */
export class LocalBackground implements Background {
  private readonly check: Check;
  private readonly current = new Map<string, number>();
  private last = 0;

  constructor(check: Check) {
    this.check = check;
  }

  hold(): void {
    // The server holds the text in this very process.
  }

  async run<J extends Job>(
    key: string,
    job: J,
    partial: (result: ResultOf<J>) => void = () => {},
  ): Promise<ResultOf<J> | null> {
    const id = ++this.last;
    this.current.set(key, id);
    const wanted = async (): Promise<boolean> => {
      await soon();
      return this.current.get(key) === id;
    };
    if (!(await wanted())) return null;
    try {
      const result = await runJob(job, this.check, wanted, (r) => {
        if (this.current.get(key) === id) partial(r as ResultOf<J>);
      });
      return this.current.get(key) === id ? (result as ResultOf<J>) : null;
    } catch (e) {
      if (!(e instanceof DiagnosticError)) throw e;
      return null;
    }
  }

  cancel(key: string): void {
    this.current.delete(key);
  }

  close(): void {
    this.current.clear();
  }
}

/** Serves the jobs of a `WorkerBackground` in this thread. */
export function serveJobs(check: Check, port: MessagePort | null = parentPort): void {
  const cancelled = new Set<number>();
  let chain = Promise.resolve();
  const tell = (m: FromWorker): void => port?.postMessage(m);
  port?.on('message', (m: ToWorker) => {
    if ('hold' in m) holdText(m.hold, m.text);
    else if ('cancel' in m) cancelled.add(m.cancel);
    else
      chain = chain.then(async () => {
        const { id, job } = m;
        try {
          const wanted = async (): Promise<boolean> => {
            await soon();
            return !cancelled.has(id);
          };
          tell({ id, result: await runJob(job, check, wanted, (partial) => tell({ id, partial })) });
        } catch (e) {
          // Faults of the input are reported by checks; a measurement just has no result.
          if (e instanceof DiagnosticError) tell({ id, result: null });
          else tell({ id, failed: e instanceof Error ? (e.stack ?? e.message) : String(e) });
        }
        cancelled.delete(id);
      });
  });
}
