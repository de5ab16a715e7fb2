import { fileFault } from '../../ir/diagnostic.ts';
import { answer } from '../engine/answer.ts';
import { Session } from '../engine/session.ts';
import type { EngineData, Message, Reply } from '../protocol.ts';

/*
 * The worker side of the engine. Specs are fetched separately from the script: JSON is parsed faster than code.
 */

const session = fetch(new URL('./specs.json', self.location.href))
  .then((r) => r.json() as Promise<EngineData>)
  .then((data) => new Session(data));

self.onmessage = async ({ data }: MessageEvent<Message>) => {
  try {
    self.postMessage(answer(await session, data));
  } catch (e) {
    const reply: Reply = {
      id: data.id,
      faults: [fileFault('', `the engine cannot start: ${(e as Error).message}`)],
    };
    self.postMessage(reply);
  }
};
