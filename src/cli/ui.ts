import { readFileSync } from 'node:fs';
import pc from 'picocolors';
import { type Diagnostic, DiagnosticError, renderDiagnostic } from '../ir/diagnostic.ts';

/** Ends the command with exit code 1 after the message has been printed. */
export class CliExit extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

export const out = (text: string): void =>
  void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
export const err = (text: string): void =>
  void process.stderr.write(text.endsWith('\n') ? text : `${text}\n`);

/** Text files that diagnostics point into, kept so that frames can be shown without reading them again. */
const texts = new Map<string, string>();
export const rememberText = (file: string, text: string): void => void texts.set(file, text);

function textOf(file: string): string | undefined {
  if (file === '' || file.startsWith('<')) return texts.get(file);
  const known = texts.get(file);
  if (known !== undefined) return known;
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Text of a file, kept for frames. */
export function readTextOrFail(file: string): string {
  const text = readFileSync(file, 'utf8');
  texts.set(file, text);
  return text;
}

/** Prints diagnostics with their frames to stderr. */
export function show(diagnostics: readonly Diagnostic[]): void {
  for (const d of diagnostics) {
    const text = renderDiagnostic(d, textOf(d.file));
    const paint = d.severity === 'error' ? pc.red : pc.yellow;
    const at = text.indexOf(':');
    err(paint(pc.bold(text.slice(0, at))) + text.slice(at));
  }
}

/** Prints diagnostics and ends the command. */
export function fail(diagnostics: readonly Diagnostic[]): never {
  show(diagnostics);
  throw new CliExit(1);
}

/** One plain error with an optional hint, and the end of the command. */
export function failWith(message: string, ...notes: readonly string[]): never {
  fail([{ severity: 'error', code: 'usage', message, file: '', line: 0, column: 0, length: 0, notes }]);
}

/** Shows warnings, stops on errors. */
export function stopOnErrors(diagnostics: readonly Diagnostic[]): void {
  show(diagnostics);
  if (diagnostics.some((d) => d.severity === 'error')) throw new CliExit(1);
}

/**
 * Columns that line up. `align` has one letter a column: l or r. Colour codes do not count as width.
 */
export function table(rows: readonly (readonly string[])[], align: string, gap = 2): string {
  const widths: number[] = [];
  for (const row of rows)
    for (let i = 0; i < row.length; i++) widths[i] = Math.max(widths[i] ?? 0, width(row[i]));
  return rows
    .map((row) =>
      row
        .map((cell, i) => {
          const pad = ' '.repeat(widths[i] - width(cell));
          return align[i] === 'r' ? pad + cell : i === row.length - 1 ? cell : cell + pad;
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    )
    .join('\n');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes start with ESC
const ANSI = /\u001b\[[0-9;]*m/g;
const width = (s: string): number => [...s.replace(ANSI, '')].length;

/** `1,234,567`. Without the system's locales, which take longer to load than a short command. */
export const grouped = (n: number): string => String(n).replace(/\d(?=(\d{3})+$)/g, '$&,');

/** `12.3 ms`, `4.56 s`. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(1)} ms`;
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Progress on stderr, only on a terminal; at most ten updates a second. */
export class Progress {
  private last = 0;
  private shown = false;
  private readonly on = process.stderr.isTTY === true;

  update(text: string): void {
    if (!this.on) return;
    const now = Date.now();
    if (now - this.last < 100) return;
    this.last = now;
    this.shown = true;
    process.stderr.write(`\r\u001b[K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
  }

  done(): void {
    if (this.shown) process.stderr.write('\r\u001b[K');
    this.shown = false;
  }
}

/** Runs a command's body and turns every outcome into an exit code; internal faults are reported as such. */
export async function guarded(body: () => void | Promise<void>): Promise<void> {
  try {
    await body();
  } catch (e) {
    if (e instanceof CliExit) {
      process.exitCode = e.code;
      return;
    }
    process.exitCode = 1;
    if (e instanceof DiagnosticError) {
      show(e.diagnostics);
      return;
    }
    const error = e as NodeJS.ErrnoException;
    if (error.code === 'EPIPE') return;
    if (typeof error.code === 'string' && error.path !== undefined) {
      err(`${pc.red(pc.bold('error'))}: cannot open ${error.path}: ${ERRNO[error.code] ?? error.code}`);
      return;
    }
    err(`${pc.red(pc.bold('error'))}: internal fault: ${error.message}`);
    err(
      '  This is a mistake in orrery, not in your input. Please report it with the command line and the input.',
    );
    if (process.env.ORRERY_TRACE !== undefined) err(error.stack ?? '');
    else err('  (ORRERY_TRACE=1 shows where it happened)');
  }
}

const ERRNO: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
};
