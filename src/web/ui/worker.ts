import { type MachineData, MachineSpecs } from '../../codegen/machine-specs.ts';
import { fileFault } from '../../ir/diagnostic.ts';
import { answer } from '../engine/answer.ts';
import { Session } from '../engine/session.ts';
import type { EngineData, Message, Reply } from '../protocol.ts';

/*
 * The worker side of the engine. Specs are fetched separately from the script: JSON is parsed faster than code.
 */

async function fetched<T>(file: string): Promise<T> {
  const answer = await fetch(new URL(file, self.location.href));
  if (!answer.ok) throw new Error(`${file}: ${answer.status} ${answer.statusText}`);
  return (await answer.json()) as T;
}

/** Makes something when it is first asked for, and again where that failed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make().catch((e: unknown) => {
      made = null;
      throw e;
    });
    return made;
  };
}

const session = once(async () => new Session(await fetched<EngineData>('./specs.json')));
const machine = once(async () => new MachineSpecs(await fetched<MachineData>('./machine.json')));

/** The session, with what a request needs. */
async function readyFor(kind: Message['kind']): Promise<Session> {
  const s = await session();
  if (kind === 'machine') s.machine ??= await machine();
  return s;
}

// Specs are read while the page is drawn; a request tells of a fault.
session().catch(() => {});

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
