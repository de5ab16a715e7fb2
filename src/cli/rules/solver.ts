import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Solver } from '../../rules/prove/solver.ts';
import { ROOT } from '../../spec/node.ts';
import { failWith } from '../terminal/ui.ts';

/** The solver of the z3-solver package, wrapped to behave like the binary of a solver. */
const PACKAGED: readonly string[] = [process.execPath, join(ROOT, 'bin', 'z3.mjs')];

/** Whether the solver of the package is installed. */
export function packagedSolver(): boolean {
  try {
    createRequire(join(ROOT, 'package.json')).resolve('z3-solver');
    return true;
  } catch {
    return false;
  }
}

/**
 * The solver of the z3-solver package, or a command that reads SMT-LIB from standard input. It is one process that answers query after
 * query, started by the first query, and again after it ended or was stopped at a limit.
 */
export function openSolver(command: string | undefined): { solve: Solver; close: () => void } {
  if (command === undefined && !packagedSolver())
    failWith(
      'the solver package z3-solver is not installed',
      "install it with 'npm install z3-solver', or name a solver: --solver 'z3 -in'",
    );
  const p = new SolverProcess(command === undefined ? PACKAGED : command.trim().split(/\s+/));
  return { solve: (text, limit) => p.ask(text, limit), close: () => p.stop() };
}

class SolverProcess {
  private readonly words: readonly string[];
  private child: ChildProcessWithoutNullStreams | null = null;
  private received = '';
  private complaint = '';
  private queryCount = 0;
  /** Whether the current or last process has answered a query. */
  private hasAnswered = false;
  private stopped = false;
  private wake: () => void = () => undefined;

  constructor(words: readonly string[]) {
    this.words = words;
  }

  async ask(text: string, limit: number): Promise<string> {
    const child = this.running();
    const end = `answer-${this.queryCount++}-ends`;
    this.received = '';
    child.stdin.write(`${text}\n(echo "${end}")\n`);
    const deadline = setTimeout(() => this.stop(), limit);
    try {
      for (;;) {
        const at = this.received.indexOf(end);
        if (at >= 0) {
          this.hasAnswered = true;
          return this.received.slice(0, at).replace(/"$/, '');
        }
        if (this.child === null) {
          if (!this.hasAnswered && !this.stopped) throw this.fault();
          return this.received;
        }
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  stop(): void {
    this.stopped = true;
    this.child?.kill('SIGKILL');
    this.child = null;
    this.wake();
  }

  private running(): ChildProcessWithoutNullStreams {
    if (this.child !== null) return this.child;
    const child = spawn(this.words[0], this.words.slice(1), { stdio: 'pipe' });
    this.child = child;
    this.complaint = '';
    this.hasAnswered = false;
    this.stopped = false;
    child.stdout.setEncoding('utf8').on('data', (d: string) => {
      if (this.child !== child) return;
      this.received += d;
      // A solver with a limit of its own reports it and exits.
      if (/^(unsat|sat|unknown|timeout)\b/m.test(this.received)) this.hasAnswered = true;
      this.wake();
    });
    child.stderr.setEncoding('utf8').on('data', (d: string) => {
      this.complaint += d;
    });
    const ended = (): void => {
      if (this.child !== child) return;
      this.child = null;
      this.wake();
    };
    child.on('error', (e: NodeJS.ErrnoException) => {
      this.complaint = e.code === 'ENOENT' ? 'there is no such command' : e.message;
      ended();
    });
    child.on('close', ended);
    // Text written to a process that has ended is lost; the missing answer shows that.
    child.stdin.on('error', () => undefined);
    return child;
  }

  /** A process that exits before its first answer is not a solver. */
  private fault(): Error {
    const why = this.complaint.trim().split('\n')[0] || 'it ended without an answer';
    return new Error(`cannot use '${this.words.join(' ')}' as a solver: ${why}`);
  }
}
