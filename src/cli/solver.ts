import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Solver } from '../rules/prove/prove.ts';
import { ROOT } from '../spec/node.ts';
import { failWith } from './ui.ts';

/** The solver of the z3-solver package, or a command that reads SMT-LIB from standard input. */
export async function openSolver(command: string | undefined): Promise<{ solve: Solver; close: () => void }> {
  return command === undefined ? await packaged() : external(command);
}

async function packaged(): Promise<{ solve: Solver; close: () => void }> {
  // biome-ignore lint/suspicious/noExplicitAny: the package is optional at run time, and its low-level types are generated
  let api: any;
  try {
    const { init } = createRequire(join(ROOT, 'package.json'))('z3-solver') as {
      init: () => Promise<unknown>;
    };
    api = await init();
  } catch (e) {
    failWith(
      `the solver package z3-solver cannot be loaded (${(e as Error).message.split('\n')[0]})`,
      "install it with 'npm install z3-solver', or name a solver: --solver 'z3 -in'",
    );
  }
  const { Z3, em } = api;
  const context = Z3.mk_context(Z3.mk_config());
  return {
    close: () => em.PThread?.terminateAllThreads(),
    // One context for all: each question starts with `reset`. The package's own call passes its text on a stack that is
    // taken down while another thread still reads it, so the text is put on the heap here.
    solve: async (text, timeoutMs) => {
      const bytes = new TextEncoder().encode(
        `(reset)\n(set-option :timeout ${Math.ceil(timeoutMs)})\n${text}\0`,
      );
      const at = em._malloc(bytes.length);
      em.HEAPU8.set(bytes, at);
      try {
        return (await em.async_call(em._async_Z3_eval_smtlib2_string, context, at)) as string;
      } finally {
        em._free(at);
      }
    },
  };
}

function external(command: string): { solve: Solver; close: () => void } {
  return {
    close: () => undefined,
    solve: (text, timeoutMs) =>
      new Promise((resolve, reject) => {
        const p = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'pipe'] });
        let out = '';
        const timer = setTimeout(() => p.kill('SIGKILL'), timeoutMs + 500);
        p.stdout.on('data', (d: Buffer) => {
          out += d.toString();
        });
        p.on('error', reject);
        p.on('close', (code) => {
          clearTimeout(timer);
          if (code === 127) reject(new Error(`there is no command '${command}'`));
          else resolve(out.trim() === '' ? 'unknown' : out);
        });
        p.stdin.on('error', () => undefined);
        p.stdin.end(`${text}\n(exit)\n`);
      }),
  };
}
