import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { instructionCount, sectionBytes } from '../cubin/code-size.ts';

/** What ptxas says of one function. */
export interface FunctionUse {
  readonly name: string;
  /** 0: ptxas does not say it of a function that others call. */
  readonly registers: number;
  /** Bytes stored and loaded because registers ran out. */
  readonly spillStores: number;
  readonly spillLoads: number;
  /** Bytes of the stack frame. */
  readonly stack: number;
  /** Bytes of machine code, padding included; 0 likewise. */
  readonly code: number;
  /** Machine instructions, without the padding. */
  readonly instructions: number;
}

export interface Assembled {
  readonly ok: boolean;
  /** What ptxas printed. */
  readonly said: string;
  readonly functions: readonly FunctionUse[];
}

/** The real ptxas: `ORRERY_PTXAS`, or the first on PATH that is not `own` (a link to us of that name). */
export const ptxasCommand = (): string => process.env.ORRERY_PTXAS ?? 'ptxas';

/** Version and build of ptxas, as `13.0.88 cuda_13.0.r13.0/compiler.36424714_0`; null where it cannot be run. */
export function ptxasVersion(): string | null {
  const { status, stdout } = spawnSync(ptxasCommand(), ['--version'], { encoding: 'utf8' });
  if (status !== 0) return null;
  const parts = [/\bV(\d[\d.]*)/, /^Build (\S+)/m].flatMap((p) => p.exec(stdout)?.[1] ?? []);
  return parts.length > 0 ? parts.join(' ') : stdout.trim();
}

/** True if ptxas can be run. */
export const ptxasPresent = (): boolean => ptxasVersion() !== null;

/**
 * Assembles PTX and reads what ptxas says of it.
 *
 * @param options for ptxas beside `-v` and the files, as ['-arch=sm_90', '-O3']
 */
export function assemble(text: string, options: readonly string[]): Assembled {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-ptxas-'));
  try {
    const [input, output] = [join(dir, 'in.ptx'), join(dir, 'out.cubin')];
    writeFileSync(input, text);
    const r = spawnSync(ptxasCommand(), [...options, '-v', input, '-o', output], {
      encoding: 'utf8',
      maxBuffer: 1 << 28,
    });
    const died =
      r.signal === null ? '' : `${ptxasCommand()} was ended by ${r.signal}: a fault of ptxas itself\n`;
    const said = `${r.stdout ?? ''}${r.stderr ?? ''}${died}`;
    if (r.status !== 0) return { ok: false, said: r.error?.message ?? said, functions: [] };
    const cubin = readFileSync(output);
    const code = [...sectionBytes(cubin, '.text.')];
    const sizes = new Map(code.map(([name, bytes]) => [name, bytes.length]));
    const counts = new Map(code.map(([name, bytes]) => [name, instructionCount(bytes)]));
    return { ok: true, said, functions: functionUses(said, sizes, counts) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The first thing that ptxas says against a text, without the name of the temporary file. */
export function refusal(said: string): string {
  const lines = said.split('\n').map((l) => l.trim());
  const line = lines.find((l) => /\b(error|fatal)\b/.test(l)) ?? lines.find((l) => l !== '');
  return line?.replace(/^ptxas (?:\S+\.ptx, )?/, '').replace(/\s+/g, ' ') ?? 'ptxas failed without a word';
}

/** Reads what `ptxas -v` prints (13.0.88). */
export function functionUses(
  said: string,
  code: ReadonlyMap<string, number>,
  counts: ReadonlyMap<string, number> = new Map(),
): FunctionUse[] {
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
  for (const line of said.split('\n')) {
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
