import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BinaryError } from '../../cubin/bytes.ts';
import { instructionCount, sectionBytes } from '../../cubin/code-size.ts';
import type { Elf } from '../../cubin/elf.ts';
import { readCubin } from '../../cubin/read.ts';
import type { PtxasUse } from '../../lab/measure.ts';
import { reason } from '../../spec/node-files.ts';
import type { Plan } from '../../spec/plan.ts';

export interface Assembled {
  readonly ok: boolean;
  /** What ptxas printed. */
  readonly messages: string;
  readonly functions: readonly PtxasUse[];
  /** null if it rejects the text, or failed. */
  readonly cubin: Uint8Array | null;
}

/** The real ptxas: `ORRERY_PTXAS`, or the first on PATH that is not `own` (a link of that name to this program). */
export const ptxasCommand = (): string => process.env.ORRERY_PTXAS ?? 'ptxas';

/** Higher levels of ptxas are the same (13.0.88). */
const HIGHEST_LEVEL = 4;

/** The level at which ptxas compiles the result of a plan. */
export const ptxasLevel = ({ level }: Pick<Plan, 'level'>): number => Math.min(level, HIGHEST_LEVEL);

/** Version and build of ptxas, as `13.0.88 cuda_13.0.r13.0/compiler.36424714_0`; null if it cannot be run. */
export function ptxasVersion(): string | null {
  const { status, stdout } = spawnSync(ptxasCommand(), ['--version'], { encoding: 'utf8' });
  if (status !== 0) return null;
  const parts = [/\bV(\d[\d.]*)/, /^Build (\S+)/m].flatMap((p) => p.exec(stdout)?.[1] ?? []);
  return parts.length > 0 ? parts.join(' ') : stdout.trim();
}

/** Whether ptxas can be run. */
export const ptxasPresent = (): boolean => ptxasVersion() !== null;

/** Result of a run of ptxas. */
export interface PtxasRun {
  /** What it printed, or the reason why it could not be run or was ended. */
  readonly messages: string;
  /** The cubin; null if ptxas rejects the text, or failed. */
  readonly cubin: Uint8Array | null;
  /** Why there is no cubin, in one line; null if there is one. */
  readonly why: string | null;
}

/** Time limit of ptxas for one text, in milliseconds. */
const LONGEST_MS = 600_000;

/**
 * Assembles a text with ptxas.
 *
 * @param options in addition to the files, as ['-arch=sm_90', '-O3']
 * @param command the program; default: the real ptxas
 */
export function runPtxas(text: string, options: readonly string[], command = ptxasCommand()): PtxasRun {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-ptxas-'));
  try {
    const [input, output] = [join(dir, 'in.ptx'), join(dir, 'out.cubin')];
    writeFileSync(input, text);
    const r = spawnSync(command, [...options, input, '-o', output], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
      timeout: LONGEST_MS,
    });
    if (r.error !== undefined) {
      const late = (r.error as NodeJS.ErrnoException).code === 'ETIMEDOUT';
      const why = late
        ? `'${command}' took more than ${LONGEST_MS / 60_000} minutes`
        : `'${command}' cannot be run: ${reason(r.error)}`;
      return { messages: why, cubin: null, why };
    }
    const died = r.signal === null ? '' : `${command} was ended by ${r.signal}: a fault of ptxas itself\n`;
    const messages = `${r.stdout}${r.stderr}${died}`;
    if (r.status !== 0) {
      const why = died === '' ? `ptxas refuses it: ${refusal(messages)}` : died.trim();
      return { messages, cubin: null, why };
    }
    if (!existsSync(output)) return { messages, cubin: null, why: `'${command}' made no cubin` };
    return { messages, cubin: new Uint8Array(readFileSync(output)), why: null };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Assembles a text with ptxas and parses the cubin; a string says why there is none.
 *
 * @param options in addition to the files, as ['-arch=sm_90', '-O3']
 * @param command the program; default: the real ptxas
 */
export function cubinOf(text: string, options: readonly string[], command = ptxasCommand()): Elf | string {
  const { cubin, why } = runPtxas(text, options, command);
  return cubin === null ? why! : takenApart(cubin, `what '${command}' made`);
}

/** A parsed cubin; a string says why it cannot be parsed. */
export function takenApart(cubin: Uint8Array, what: string): Elf | string {
  try {
    return readCubin(new Uint8Array(cubin));
  } catch (e) {
    if (!(e instanceof BinaryError)) throw e;
    return `${what} cannot be taken apart: ${e.message}`;
  }
}

/**
 * Assembles PTX and parses the report of ptxas.
 *
 * @param options of ptxas in addition to `-v` and the files, as ['-arch=sm_90', '-O3']
 */
export function assemble(text: string, options: readonly string[]): Assembled {
  const { messages, cubin } = runPtxas(text, [...options, '-v']);
  if (cubin === null) return { ok: false, messages, functions: [], cubin };
  const code = [...sectionBytes(cubin, '.text.')];
  const sizes = new Map(code.map(([name, bytes]) => [name, bytes.length]));
  const counts = new Map(code.map(([name, bytes]) => [name, instructionCount(bytes)]));
  return { ok: true, messages, functions: functionUses(messages, sizes, counts), cubin };
}

/** The first error that ptxas prints for a text, without the name of the temporary file. */
export function refusal(messages: string): string {
  const lines = messages.split('\n').map((l) => l.trim());
  const line = lines.find((l) => /\b(error|fatal)\b/.test(l)) ?? lines.find((l) => l !== '');
  return line?.replace(/^ptxas (?:\S+\.ptx, )?/, '').replace(/\s+/g, ' ') ?? 'ptxas failed without a word';
}

/** Parses the output of `ptxas -v` (13.0.88). */
export function functionUses(
  messages: string,
  code: ReadonlyMap<string, number>,
  counts: ReadonlyMap<string, number> = new Map(),
): PtxasUse[] {
  const found = new Map<
    string,
    { registers: number; spillStores: number; spillLoads: number; stack: number }
  >();
  let name = '';
  const of = () => {
    let u = found.get(name);
    if (u === undefined) {
      u = { registers: 0, spillStores: 0, spillLoads: 0, stack: 0 };
      found.set(name, u);
    }
    return u;
  };
  for (const line of messages.split('\n')) {
    const start = /(?:Compiling entry function '([^']+)'|Function properties for (\S+))/.exec(line);
    if (start !== null) name = start[1] ?? start[2];
    const frame = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (frame !== null)
      Object.assign(of(), {
        stack: Number(frame[1]),
        spillStores: Number(frame[2]),
        spillLoads: Number(frame[3]),
      });
    const used = /Used (\d+) registers/.exec(line);
    if (used !== null) of().registers = Number(used[1]);
  }
  return [...found].map(([n, u]) => ({
    name: n,
    ...u,
    code: code.get(n) ?? 0,
    instructions: counts.get(n) ?? 0,
  }));
}
