import { appendFileSync, existsSync, truncateSync } from 'node:fs';
import { isMap } from '../ir/data.ts';
import { fileError } from '../ir/diagnostic.ts';
import { parseJson } from '../spec/json.ts';
import { namesLike, readRegular, reason, Unreadable, whyUnread } from '../spec/node-files.ts';
import { writtenPath } from '../spec/node-paths.ts';
import { writeReplacing } from '../spec/node-write.ts';
import type { Experiment } from './experiment.ts';
import { OUTPUT_VERSION } from './render/json.ts';
import { cellKey, type FinishedCell, type Identity, type Makers } from './sweep.ts';

/** First line of a results file. */
interface Head {
  readonly version: number;
  readonly kind: 'sweep';
  readonly identity: string;
  readonly makers: Makers;
  readonly title: string;
  readonly metrics: readonly string[];
  readonly arms: readonly { readonly name: string; readonly choice: Readonly<Record<string, string>> }[];
}

const headOf = (e: Experiment, identity: Identity): Head => ({
  version: OUTPUT_VERSION,
  kind: 'sweep',
  identity: identity.hash,
  makers: identity.makers,
  title: e.title,
  metrics: e.metrics.map((m) => m.name),
  arms: e.arms.map((a) => ({
    name: a.arm.name,
    choice: Object.fromEntries([...a.choice].map(([f, l]) => [f, l.name])),
  })),
});

/**
 * The results file of a sweep, in JSON lines: a header, then a line for each cell, appended when the cell is finished. A line that was
 * truncated when the process was killed is removed when the file is opened again.
 */
export class SweepFile {
  readonly cells: readonly FinishedCell[];
  /** The path with links resolved. */
  private readonly real: string;
  private readonly path: string;

  private constructor(real: string, path: string, cells: readonly FinishedCell[]) {
    this.real = real;
    this.path = path;
    this.cells = cells;
  }

  /**
   * Opens the results file of a sweep, or creates it.
   *
   * @param restart true to discard existing results
   * @throws DiagnosticError if the file holds results of another sweep, or something else
   */
  static open(path: string, experiment: Experiment, identity: Identity, restart = false): SweepFile {
    const [real, text] = writing(path, (): [string, string] => {
      const real = writtenPath(path);
      return [real, existsSync(real) ? readRegular(real, 'input').toString('utf8') : ''];
    });
    const end = restart ? 0 : text.lastIndexOf('\n') + 1;
    if (end === 0) {
      const head = `${JSON.stringify(headOf(experiment, identity))}\n`;
      writing(path, () => writeReplacing(real, head));
      return new SweepFile(real, path, []);
    }
    const cells = cellsIn(path, text.slice(0, end), identity, [
      '--restart starts over; -o names another file',
    ]);
    if (end < text.length) writing(path, () => truncateSync(real, Buffer.byteLength(text.slice(0, end))));
    return new SweepFile(real, path, cells);
  }

  /**
   * The finished cells in a file, which is not changed.
   * @throws DiagnosticError if it cannot be read, or holds results of another sweep, or something else
   */
  static read(path: string, identity: Identity): readonly FinishedCell[] {
    let text: string;
    try {
      text = readRegular(path, 'input').toString('utf8');
    } catch (e) {
      const missing = (e as NodeJS.ErrnoException).code === 'ENOENT';
      throw fileError(path, whyUnread(e), missing ? namesLike(path) : []);
    }
    return cellsIn(path, text.slice(0, text.lastIndexOf('\n') + 1), identity, [
      'all shards run with the same experiment, kernels, specs, and versions of orrery and ptxas',
    ]);
  }

  /**
   * The contents of the file for a finished sweep: the header and all cells in order. They do not depend on the order in which cells were
   * run, or on the number of processes.
   */
  static text(experiment: Experiment, identity: Identity, cells: readonly FinishedCell[]): string {
    return [headOf(experiment, identity), ...cells].map((x) => `${JSON.stringify(x)}\n`).join('');
  }

  /**
   * Appends a finished cell.
   * @throws DiagnosticError if it cannot be written
   */
  add(cell: FinishedCell): void {
    writing(this.path, () => appendFileSync(this.real, `${JSON.stringify(cell)}\n`));
  }
}

/**
 * The result of `write`.
 * @throws DiagnosticError if it throws; the message says why the file cannot be written or read
 */
function writing<T>(path: string, write: () => T): T {
  try {
    return write();
  } catch (e) {
    throw fileError(
      path,
      `results cannot be kept here: ${e instanceof Unreadable ? e.message : reason(e)}`,
      e instanceof Unreadable ? e.notes : [],
    );
  }
}

/** Maximum number of lines of a results file: even the shortest cells would take a few hundred megabytes of memory. */
const MOST_LINES = 2 ** 20;

/** The cells in a results file; the last line of a repeated cell counts. */
function cellsIn(
  path: string,
  text: string,
  identity: Identity,
  otherwise: readonly string[],
): FinishedCell[] {
  const lines = text.split('\n', MOST_LINES + 2).slice(0, -1);
  if (lines.length > MOST_LINES)
    throw fileError(path, `it has more than the ${MOST_LINES} lines that are read`, otherwise);
  const found = parsed(lines[0] ?? '') as Partial<Head> | null;
  if (found?.kind !== 'sweep')
    throw fileError(path, 'this is not a results file', [
      '`orrery sweep` writes one; there, -o names another, and --restart overwrites this one',
    ]);
  if (found.version !== OUTPUT_VERSION || found.identity !== identity.hash)
    throw fileError(path, otherMakers(found.makers, identity.makers), otherwise);
  const cells = new Map<string, FinishedCell>();
  for (const [k, line] of lines.entries()) {
    if (k === 0) continue;
    const c = parsed(line);
    // This line was truncated by a kill and the next one appended to it; both cells are run again.
    if (c === null) continue;
    if (!isCell(c))
      throw fileError(`${path}:${k + 1}`, 'this line is not the result of a cell of a sweep', otherwise);
    cells.set(cellKey(c), c);
  }
  return [...cells.values()];
}

/** True if data has the form of a finished cell; the file may come from somebody else. */
function isCell(x: unknown): x is FinishedCell {
  if (!isMap(x) || !Number.isSafeInteger(x.arm) || typeof x.file !== 'string' || !isMap(x.result))
    return false;
  const { illegal, kernels } = x.result;
  if (illegal !== undefined) return typeof illegal === 'string';
  return Array.isArray(kernels) && kernels.every(isKernel);
}

const isKernel = (x: unknown): boolean =>
  isMap(x) &&
  typeof x.kernel === 'string' &&
  isMap(x.values) &&
  Object.values(x.values).every((n) => typeof n === 'number' && Number.isFinite(n)) &&
  isMap(x.equal) &&
  typeof x.equal.ok === 'boolean' &&
  typeof x.equal.by === 'string' &&
  typeof x.equal.note === 'string';

/** A message that says why the identity of results differs from the current one. */
function otherMakers(recorded: unknown, here: Makers): string {
  const ptxas = (m: Partial<Makers>): string => (m.ptxas === undefined ? 'no ptxas' : `ptxas ${m.ptxas}`);
  const there: Partial<Makers> | undefined = isMap(recorded) ? recorded : undefined;
  if (there !== undefined && there.ptxas !== here.ptxas)
    return `these results are from a run with ${ptxas(there)}, but this run uses ${ptxas(here)}`;
  if (there !== undefined && there.orrery !== here.orrery)
    return 'these results are from another build of orrery, and this one may give different results';
  return 'these are results of another experiment, or of other kernels or specs';
}

function parsed(line: string): unknown {
  try {
    return parseJson(line);
  } catch {
    return null;
  }
}
