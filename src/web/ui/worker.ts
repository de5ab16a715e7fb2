import { fileFault } from '../../ir/diagnostic.ts';
import { answer } from '../engine/answer.ts';
import { MachineSpecs } from '../engine/machine-specs.ts';
import { Session } from '../engine/session.ts';
import type { EngineData, MachineData, Message, Reply } from '../protocol.ts';

/*
 * The worker side of the engine. Specs are fetched separately from the script: JSON is parsed faster than code.
 */

const fetched = async <T>(file: string): Promise<T> =>
  (await (await fetch(new URL(file, self.location.href))).json()) as T;

const session = fetched<EngineData>('./specs.json').then((data) => new Session(data));
let machine: Promise<MachineSpecs> | null = null;

/** The session, with what a request needs. */
async function readyFor(kind: Message['kind']): Promise<Session> {
  const s = await session;
  if (kind !== 'machine' || s.machine !== null) return s;
  machine ??= fetched<MachineData>('./machine.json').then((data) => new MachineSpecs(data));
  s.machine = await machine;
  return s;
}

/** Requests are answered in the order in which they came. */
let turn: Promise<void> = Promise.resolve();

self.onmessage = ({ data }: MessageEvent<Message>) => {
  turn = turn.then(async () => {
    try {
      self.postMessage(answer(await readyFor(data.kind), data));
    } catch (e) {
      const reply: Reply = {
        id: data.id,
        faults: [fileFault('', `the engine cannot start: ${(e as Error).message}`)],
      };
      self.postMessage(reply);
    }
  });
};
