import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../src/spec/node-cache.ts';
import { Session } from '../../src/web/engine/session.ts';
import { Tables } from '../../src/web/model/tables.ts';
import type { EngineData } from '../../src/web/protocol.ts';
import { DEFAULT_REQUEST, type Request, type RunRow, type Source } from '../../src/web/recording.ts';

const data = (): EngineData =>
  JSON.parse(readFileSync(join(ROOT, 'dist', 'web', 'specs.json'), 'utf8')) as EngineData;

/** A session with the specs that the page receives. */
export const newSession = (): Session => new Session(data());

/** A test kernel as the explorer opens it. */
export function kernelSource(name: string, request: Partial<Request> = {}, sm = 'sm_90'): Source {
  const file = `${name}.${sm}.ptx`;
  const text = readFileSync(join(ROOT, 'test', 'kernels', name, file), 'utf8');
  return { file, text, request: { ...DEFAULT_REQUEST, ...request }, documents: {} };
}

/** A page without a document: it queries the session and keeps the tables. */
export class Page {
  readonly tables = new Tables();
  readonly session = newSession();

  /** The run of a source, which must exist. */
  run(source: Source): RunRow {
    const answer = this.session.run(source);
    if (!answer.ok) throw new Error(answer.faults.map((f) => f.message).join('\n'));
    this.tables.add(answer.rows);
    return answer.run;
  }
}
