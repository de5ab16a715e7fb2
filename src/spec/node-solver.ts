import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DiagnosticError } from '../ir/diagnostic.ts';
import type { Solver } from '../rules/prove/solver.ts';
import { fileFault, ROOT } from './node.ts';

/** The solver that comes with the development dependencies: z3 as WebAssembly, in a process of its own. */
const PACKAGED: readonly string[] = [process.execPath, join(ROOT, 'bin/z3.js')];

/** Is the packaged solver installed? */
export function packagedSolver(): boolean {
  try {
    createRequire(join(ROOT, 'package.json')).resolve('z3-solver');
    return true;
  } catch {
    return false;
  }
}

/** A solver in a process of its own, and the way to end it. */
export interface RunningSolver {
  readonly ask: Solver;
  stop(): void;
}

/**
 * Starts a solver; the process starts with the first question, and again after it ended.
 * @param command a solver that reads SMT-LIB from standard input (`z3 -in`); null: the packaged one
 * @throws DiagnosticError if it is not there
 */
export function startSolver(command: string | null): RunningSolver {
  if (command === null && !packagedSolver())
    throw new DiagnosticError([
      fileFault('', 'the package z3-solver is not installed', [
        'it is a development dependency: `npm install` in a clone of the repository',
        "or name a solver that reads SMT-LIB from standard input: --solver 'z3 -in'",
      ]),
    ]);
  const words = command === null ? PACKAGED : command.trim().split(/\s+/);
  const process = new SolverProcess(words);
  return { ask: (text, limit) => process.ask(text, limit), stop: () => process.stop() };
}

class SolverProcess {
  private readonly words: readonly string[];
  private child: ChildProcess | null = null;
  private received = '';
  private complaint = '';
  private asked = 0;
  /** Called when output arrives or the process ends. */
  private wake: () => void = () => {};
  private failure: NodeJS.ErrnoException | null = null;

  constructor(words: readonly string[]) {
    this.words = words;
  }

  async ask(text: string, limit: number): Promise<string> {
    const child = this.running();
    const end = `end-${this.asked++}`;
    this.received = '';
    child.stdin!.write(`${text}\n(echo "${end}")\n`);
    const deadline = setTimeout(() => this.stop(), limit);
    try {
      for (;;) {
        const at = this.received.indexOf(end);
        if (at >= 0) return this.received.slice(0, at).replace(/"$/, '');
        if (this.failure !== null) throw this.fault();
        if (this.child === null) {
          if (this.received === '' && this.complaint !== '') throw this.fault();
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
    this.child?.kill('SIGKILL');
    this.child = null;
    this.wake();
  }

  private running(): ChildProcess {
    if (this.child !== null) return this.child;
    const child = spawn(this.words[0], this.words.slice(1), { stdio: 'pipe' });
    this.child = child;
    this.complaint = '';
    child.stdout.setEncoding('utf8').on('data', (d: string) => {
      if (this.child !== child) return;
      this.received += d;
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
      this.failure = e;
      ended();
    });
    child.on('close', ended);
    // What is written to a process that has ended is lost, which the missing answer shows.
    child.stdin.on('error', () => {});
    return child;
  }

  private fault(): DiagnosticError {
    const what = this.failure?.code === 'ENOENT' ? 'there is no such program' : (this.failure?.message ?? this.complaint.trim().split('\n')[0]);
    return new DiagnosticError([
      fileFault('', `cannot run the solver '${this.words.join(' ')}': ${what}`, [
        "a solver reads SMT-LIB from standard input: --solver 'z3 -in', --solver 'cvc5 --incremental'",
      ]),
    ]);
  }
}
