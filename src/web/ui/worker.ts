import { fileFault } from '../../ir/diagnostic.ts';
import { answer } from '../engine/answer.ts';
import { Session } from '../engine/session.ts';
import type { EngineData, Message, Reply } from '../protocol.ts';

/*
 * The engine's end of the line. Specs are fetched beside the script: as JSON they are parsed faster than as code.
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
