import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { DiagnosticError, fileFault } from '../ir/diagnostic.ts';
import type { Experiment } from './experiment.ts';
import { OUTPUT_VERSION } from './render/json.ts';
import { cellKey, type FinishedCell } from './sweep.ts';

/** First line of a file of results. */
interface Head {
  readonly version: number;
  readonly kind: 'sweep';
  readonly identity: string;
  readonly title: string;
  readonly metrics: readonly string[];
  readonly arms: readonly { readonly name: string; readonly choice: Readonly<Record<string, string>> }[];
}

const headOf = (e: Experiment, identity: string): Head => ({
  version: OUTPUT_VERSION,
  kind: 'sweep',
  identity,
  title: e.title,
  metrics: e.metrics.map((m) => m.name),
  arms: e.arms.map((a) => ({
    name: a.arm.name,
    choice: Object.fromEntries([...a.choice].map(([f, l]) => [f, l.name])),
  })),
});

/**
 * Results of a sweep as JSON lines: a head, then a line for each finished cell, written when it is finished. A line that a
 * kill cut short is taken away when the file is opened again.
 */
export class SweepFile {
  readonly path: string;
  readonly cells: readonly FinishedCell[];

  private constructor(path: string, cells: readonly FinishedCell[]) {
    this.path = path;
    this.cells = cells;
  }

  /**
   * Opens the results of a sweep, or begins them.
   *
   * @param restart forget what is there
   * @throws DiagnosticError where the file holds results of another sweep, or something else
   */
  static open(path: string, experiment: Experiment, identity: string, restart = false): SweepFile {
    const head = headOf(experiment, identity);
    if (restart || !existsSync(path)) {
      writeFileSync(path, `${JSON.stringify(head)}\n`);
      return new SweepFile(path, []);
    }
    const text = readFileSync(path, 'utf8');
    const end = text.lastIndexOf('\n') + 1;
    const lines = text.slice(0, end).split('\n').slice(0, -1);
    if (lines.length === 0) return SweepFile.open(path, experiment, identity, true);
    const found = parsed(lines[0]) as Partial<Head> | null;
    if (found?.kind !== 'sweep')
      throw new DiagnosticError([
        fileFault(path, 'this is no file of results', ['-o names another; --restart overwrites this one']),
      ]);
    if (found.version !== OUTPUT_VERSION || found.identity !== identity)
      throw new DiagnosticError([
        fileFault(path, 'these are results of another experiment, or of other kernels or specs', [
          '--restart runs it anew; -o names another file',
        ]),
      ]);
    if (end < text.length) truncateSync(path, Buffer.byteLength(text.slice(0, end)));
    const cells = new Map<string, FinishedCell>();
    for (const line of lines.slice(1)) {
      const c = parsed(line) as FinishedCell | null;
      if (c !== null) cells.set(cellKey(c), c);
    }
    return new SweepFile(path, [...cells.values()]);
  }

  /** Adds a finished cell. */
  add(cell: FinishedCell): void {
    appendFileSync(this.path, `${JSON.stringify(cell)}\n`);
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
