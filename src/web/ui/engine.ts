import { DiagnosticError } from '../../ir/diagnostic.ts';
import type { Ask, Questions, Reply } from '../protocol.ts';

/** Why a request failed, for a page that shows no place: the messages of the faults that the engine found in it, or of another error. */
export const failureText = (e: unknown): string =>
  e instanceof DiagnosticError
    ? e.diagnostics.map((d) => d.message).join('\n')
    : String((e as Error).message);

/** Thrown by pending requests when the engine is restarted. */
export class Cancelled extends Error {}

interface Waiting {
  readonly answer: (value: never) => void;
  readonly fail: (e: Error) => void;
}

/** The engine in its worker. Requests are answered in order; to abort a long one, the worker is terminated and another one started. */
export class Engine {
  private worker: Worker;
  private next = 0;
  /** Whether the worker died, or could not be loaded. */
  private ended = false;
  private readonly waiting = new Map<number, Waiting>();

  constructor() {
    this.worker = this.begin();
  }

  ask<K extends Ask>(kind: K, ask: Questions[K]['ask']): Promise<Questions[K]['answer']> {
    const id = this.next++;
    if (this.ended) this.worker = this.begin();
    return new Promise((answer, fail) => {
      this.waiting.set(id, { answer: answer as Waiting['answer'], fail });
      this.worker.postMessage({ id, kind, ask });
    });
  }

  /** Aborts all pending requests. The new worker has no results of earlier runs. */
  restart(): void {
    this.worker.terminate();
    for (const w of this.waiting.values()) w.fail(new Cancelled());
    this.waiting.clear();
    this.worker = this.begin();
  }

  private begin(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const w = this.waiting.get(data.id);
      this.waiting.delete(data.id);
      if (w === undefined) return;
      if ('answer' in data) w.answer(data.answer as never);
      else w.fail(new DiagnosticError(data.faults));
    };
    worker.onerror = (e) => {
      for (const w of this.waiting.values()) w.fail(new Error(`the engine stopped: ${e.message}`));
      this.waiting.clear();
      this.ended = true;
    };
    this.ended = false;
    return worker;
  }
}
