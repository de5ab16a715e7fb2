import { fstatSync, readFileSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { whereOf } from '../../engine/where.ts';
import { append } from '../../ir/append.ts';
import {
  type Diagnostic,
  DiagnosticError,
  fileFault,
  gathered,
  renderDiagnostic,
} from '../../ir/diagnostic.ts';
import { fileWord, visible } from '../../ir/quote.ts';
import { tried } from '../../spec/node-evict.ts';
import { forgetInputs, MOST_BYTES, reason } from '../../spec/node-files.ts';
import { mayShow } from '../../spec/node-paths.ts';
import { atEnd, beforeEachCommand, Exit, endCommand } from '../command-state.ts';
import { pc, pcErr, printable, uncoloured } from './colours.ts';
import { inWorker } from './in-worker.ts';

export { pc, pcErr, uncoloured };

/** Ends the command with exit code 1 after the message has been printed. */
export class CliExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Ends the command if a stream cannot be written to. */
function onFault(this: NodeJS.WriteStream, e: NodeJS.ErrnoException): void {
  endedBy(this, e);
  process.exit();
}
function endedBy(stream: NodeJS.WriteStream, e: NodeJS.ErrnoException): void {
  // The reader may close the pipe early (`orrery phases | head`): the command then ends silently.
  if (e.code === 'EPIPE') return;
  process.exitCode = 1;
  if (stream === process.stdout) plainError(`cannot write standard output: ${reason(e)}`);
}
for (const stream of [process.stdout, process.stderr]) stream.on('error', onFault);

/**
 * Makes a stream to a file write everything that it is given: Node takes a partial write of the system, as on a full disk, for a complete
 * one.
 */
function writeWholly(stream: NodeJS.WriteStream, fd: number): void {
  stream.write = (content: string | Uint8Array, ...rest: unknown[]): boolean => {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    } catch (e) {
      onFault.call(stream, e as NodeJS.ErrnoException);
    }
    const done = rest.at(-1);
    if (typeof done === 'function') done();
    return true;
  };
}
if (!inWorker())
  for (const [stream, fd] of [
    [process.stdout, 1],
    [process.stderr, 2],
  ] as const)
    if (tried(() => fstatSync(fd).isFile()) === true) writeWholly(stream, fd);

/** Whether the command has printed its result. */
let resultPrinted = false;

/** Output of a task. */
export interface Printed {
  out: string;
  err: string;
}
/** Buffer for the output of the current task; null: it goes to the streams. */
let capture: Printed | null = null;

const asLine = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);

/**
 * Writes a text unescaped if standard output is not a terminal: a program, a page or a script that was requested. Text for people goes
 * through `out`.
 */
export const outExactly = (text: string): void =>
  print(process.stdout.isTTY === true ? printable(text) : text);

/** Prints a text in which only our colours control the terminal, whatever names it contains. */
export const out = (text: string): void => print(printable(text));

function print(text: string): void {
  if (capture !== null) capture.out += asLine(text);
  else {
    resultPrinted = true;
    process.stdout.write(asLine(text));
  }
}

/** The same on standard error. */
export const err = (text: string): void => {
  if (capture !== null) capture.err += asLine(printable(text));
  else process.stderr.write(asLine(printable(text)));
};

/** Runs one of several sequential tasks, and keeps its output, so that outputs can be shown in the order of the tasks. */
export async function captured(body: () => Promise<void>): Promise<Printed & { readonly code: number }> {
  const printed: Printed = { out: '', err: '' };
  capture = printed;
  forgetInputs();
  try {
    return Object.assign(printed, { code: await outcome(body) });
  } finally {
    capture = null;
  }
}

/** Text files that diagnostics point into, kept so that frames can be shown without reading them again. */
const texts = new Map<string, string>();
export const rememberText = (file: string, text: string): void => void texts.set(file, text);

/** Text of a file whose lines may be shown; undefined if there is none. */
function textOf(file: string): string | undefined {
  if (file === '' || file.startsWith('<')) return texts.get(file);
  const text = texts.get(file) ?? textAt(file);
  return text !== undefined && mayShow(file) ? text : undefined;
}

function textAt(file: string): string | undefined {
  try {
    // A file that is not regular has no lines to show, and reading it may never end.
    const seen = statSync(file);
    return seen.isFile() && seen.size <= MOST_BYTES.input ? readFileSync(file, 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

/** Diagnostics that were shown, for `answerInJson`. */
let shown: Diagnostic[] = [];
const printed = new Set<string>();
const keyOf = (d: Diagnostic): string => JSON.stringify(d);

beforeEachCommand(() => {
  resultPrinted = false;
  capture = null;
  shown = [];
  printed.clear();
  texts.clear();
});
process.on('exit', () => {
  endCommand();
  // Commander exits the process itself, before the stream has reported that it failed.
  if (process.stdout.errored != null) endedBy(process.stdout, process.stdout.errored);
});

/** Makes a failing command print JSON too if a script requested it: `{ "errors": [...] }`, with the text of standard error. */
export function answerInJson(): void {
  atEnd(() => {
    if ((process.exitCode ?? 0) === 0 || resultPrinted) return;
    const errors = shown.filter((d) => d.severity === 'error');
    out(JSON.stringify({ errors }, null, 2));
  });
}

/** Records an error of the command-line parser, which prints it itself. */
export const noteUsage = (text: string, notes: readonly string[] = []): void => {
  const message = text.trim().replace(/^error: /, '');
  shown.push(fileFault('', message, notes, 'usage'));
};

/**
 * Prints diagnostics with their frames to stderr; equal ones are merged. A warning at a line that the command has printed before is not
 * repeated: each target has a plan, and with it the warnings of one order.
 */
export function show(diagnostics: readonly Diagnostic[]): void {
  const fresh = diagnostics.filter((d) => d.severity !== 'warning' || d.line === 0 || !printed.has(keyOf(d)));
  for (const d of diagnostics) printed.add(keyOf(d));
  append(shown, diagnostics);
  for (const d of gathered(fresh)) {
    const text = renderDiagnostic(d, textOf(d.file));
    const paint = d.severity === 'error' ? pcErr.red : pcErr.yellow;
    const at = text.indexOf(':');
    err(paint(pcErr.bold(text.slice(0, at))) + text.slice(at));
  }
}

/** Prints diagnostics and ends the command. */
export function fail(diagnostics: readonly Diagnostic[]): never {
  show(diagnostics);
  throw new CliExit(1);
}

/** Prints one plain error with optional hints, and ends the command. */
export function failWith(message: string, ...notes: readonly string[]): never {
  fail([fileFault('', message, notes, 'usage')]);
}

/** Shows warnings, and ends the command if there are errors. */
export function stopOnErrors(diagnostics: readonly Diagnostic[]): void {
  show(diagnostics);
  if (diagnostics.some((d) => d.severity === 'error')) throw new CliExit(1);
}

/** A text clipped to a number of columns. */
export const clipped = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`;

/** `12.3 ms`, `4.56 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(1)} ms`;
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Assumed width of a terminal that reports none, or 0. */
export const USUAL_COLUMNS = 80;
/** Width of a line; unlimited if the stream is not a terminal. */
export const columnsOf = (stream: NodeJS.WriteStream): number =>
  stream.isTTY === true ? stream.columns || USUAL_COLUMNS : Number.POSITIVE_INFINITY;

/** Width for which tables and texts are laid out if the stream is not a terminal: files, pipes and logs. */
const LAID_OUT = 100;
/** Width for which tables and texts on standard output are laid out. */
export const tableColumns = (): number =>
  process.stdout.isTTY === true ? columnsOf(process.stdout) : LAID_OUT;

/** One line, whatever path or text the message quotes. */
const plainError = (message: string): void => err(`${pcErr.red(pcErr.bold('error'))}: ${visible(message)}`);

/**
 * Ends the command with one error if a promise or callback fails that nothing awaits: Node would print source code. After another error it
 * adds nothing.
 */
export function endOnStrayFaults(): void {
  const stray = async (e: unknown): Promise<void> => {
    if ((process.exitCode ?? 0) === 0)
      await guarded(() => {
        throw e;
      });
  };
  process.on('unhandledRejection', (e) => void stray(e));
  process.on('uncaughtException', (e) => void stray(e).finally(() => process.exit()));
}

/** Runs a command's body and sets the exit code of the process by its outcome. */
export async function guarded(body: () => void | Promise<void>): Promise<void> {
  const code = await outcome(body);
  if (code !== 0) process.exitCode = code;
}

/** Runs a body and maps every outcome to an exit code; internal errors are reported as such. */
async function outcome(body: () => void | Promise<void>): Promise<number> {
  try {
    await body();
    return 0;
  } catch (e) {
    if (e instanceof CliExit) return e.code;
    if (e instanceof Exit) throw e;
    if (e instanceof DiagnosticError) {
      const ours = e.diagnostics.some((d) => d.code === 'phase-fault') ? await reproducerNotes(e) : [];
      show(e.diagnostics.map((d, i) => (i > 0 ? d : { ...d, notes: [...(d.notes ?? []), ...ours] })));
      return 1;
    }
    const error = (e instanceof Error ? e : new Error(String(e))) as NodeJS.ErrnoException;
    if (error.code === 'EPIPE') return 1;
    const message = systemFault(error);
    if (message !== null) {
      noteUsage(message);
      plainError(message);
      return 1;
    }
    const where = whereOf(error);
    const at =
      where === null ? '' : ` in phase ${where.phase}${where.fn === null ? '' : `, function ${where.fn}`}`;
    const notes = await reproducerNotes(error);
    noteUsage(`internal fault${at}: ${error.message}`, notes);
    plainError(`internal fault${at}: ${error.message}`);
    for (const n of notes) err(`  ${n}`);
    if (process.env.ORRERY_TRACE !== undefined) err(error.stack ?? '');
    else err('  (ORRERY_TRACE=1 shows where it happened)');
    return 1;
  }
}

/** A refusal of the operating system as text; null for other kinds of errors. */
function systemFault(e: NodeJS.ErrnoException): string | null {
  if (e.syscall === 'uv_cwd') return 'the folder that this command runs in is gone';
  if (typeof e.code !== 'string') return null;
  if (e.path !== undefined) return `cannot open ${e.path}: ${reason(e)}`;
  // Code that writes requested files reports their names itself.
  return NO_ROOM.has(e.code) && e.syscall !== 'read'
    ? `a temporary file cannot be written: ${reason(e)}; TMPDIR can name another folder than ${tmpdir()}`
    : null;
}

/** Error codes of the system for a file that is open but cannot grow. */
const NO_ROOM: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO']);

/** Writes the reproducer, and gives notes that say where it is. */
async function reproducerNotes(e: unknown): Promise<readonly string[]> {
  const file = (await import('../debug/reproducer.ts')).writeReproducer(e);
  const ours = 'This is a mistake in orrery, not in your input. Please report it with';
  return file === null
    ? [`${ours} the command line and the input.`]
    : [
        `${ours} ${file},`,
        `which holds command, input and plan: \`orrery repro ${fileWord(file)}\` runs it again`,
      ];
}
